// What is known of a kept result besides its bytes, and how that is written down to be found again.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, parseJson } from "../../base/json/json.js";

/** `json`: the text is JSON. `base64`: the text stands for bytes. `bytes`: the bytes themselves. */
export type KeptForm = "text" | "json" | "base64" | "bytes";

export interface KeptResult {
  /** `r<n>`, counted in its session. */
  readonly handle: string;
  readonly form: KeptForm;
  /** Size of what is kept: of `base64` the text, not what it stands for. */
  readonly bytes: number;
  /** Not counted for files that were taken over. */
  readonly lines?: number;
  /** `server / tool`. */
  readonly origin: string;
  readonly mimeType?: string;
  /** Of a resource. */
  readonly uri?: string;
}

const HANDLE = /^r[1-9]\d{0,8}$/;

export function isHandle(text: string): boolean {
  return HANDLE.test(text);
}

export function handleNumber(handle: string): number {
  return Number(handle.slice(1));
}

const ENDINGS = { text: "txt", json: "json", base64: "b64", bytes: "bin" } as const satisfies Record<KeptForm, string>;

/** Made from the handle, never read from the index: nothing that is written there leads out of the folder. */
export function fileName({ handle, form }: Pick<KeptResult, "handle" | "form">): string {
  return `${handle}.${ENDINGS[form]}`;
}

/** One line of the index. A result that had to make room gets a second line that says so. */
export type IndexLine =
  | { readonly kind: "kept"; readonly result: KeptResult }
  | { readonly kind: "gone"; readonly handle: string };

export function writeLine(line: IndexLine): string {
  return `${JSON.stringify(line.kind === "kept" ? line.result : { handle: line.handle, gone: true })}\n`;
}

/** Undefined for a line that a crash tore, and for anything else that was not written here. */
export function readLine(text: string): IndexLine | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { handle, form, bytes, lines, origin, mimeType, uri, gone } = parsed.value;
  if (typeof handle !== "string" || !isHandle(handle)) return undefined;
  if (gone === true) return { kind: "gone", handle };
  if (!isForm(form) || typeof bytes !== "number" || typeof origin !== "string") return undefined;
  const result: KeptResult = {
    handle,
    form,
    bytes,
    origin,
    ...defined({
      lines: typeof lines === "number" ? lines : undefined,
      mimeType: typeof mimeType === "string" ? mimeType : undefined,
      uri: typeof uri === "string" ? uri : undefined,
    }),
  };
  return { kind: "kept", result };
}

function isForm(value: unknown): value is KeptForm {
  return typeof value === "string" && Object.hasOwn(ENDINGS, value);
}
