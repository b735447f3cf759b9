// Whole text files, read and written where the person has them: in the client's editor if it offers that, else on the disk.
import { createHash } from "node:crypto";
import { messageOf } from "../base/errors.js";
import type { Files } from "../base/ports/world.js";
import type { ToolOutcome } from "../tools/index.js";
import type { Folders, LocatedPath } from "./folders.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { BuiltinPorts } from "./ports.js";
import { failed } from "./tool.js";

export type Loaded =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "absent" }
  /** There is something, and it is no text that could be changed. A whole sentence. */
  | { readonly kind: "unusable"; readonly reason: string };

export class Texts {
  readonly #files: Files;
  readonly #folders: Folders;
  readonly #ports: Pick<BuiltinPorts, "fs">;

  /** The ports are asked anew for every file: a session may change hands. */
  constructor(files: Files, folders: Folders, ports: Pick<BuiltinPorts, "fs">) {
    this.#files = files;
    this.#folders = folders;
    this.#ports = ports;
  }

  /** Exactly what is there: nothing is replaced or normalised, so that it can be written back. */
  async load(place: LocatedPath, signal: AbortSignal): Promise<Loaded> {
    const { found } = place;
    const shown = this.#folders.show(place.path);
    if (found && found.kind !== "file") return { kind: "unusable", reason: `${shown} is not a file.` };
    if (found && found.bytes > BUILTIN_LIMITS.editMaxBytes) {
      const reason = `${shown} has ${found.bytes} bytes; at most ${BUILTIN_LIMITS.editMaxBytes} are edited.`;
      return { kind: "unusable", reason };
    }
    // The disk is asked first even where there is an editor: an editor may show bytes as text that are none.
    const onDisk = found ? await this.#fromDisk(place, found.bytes) : { kind: "absent" as const };
    if (onDisk.kind === "unusable") return onDisk;
    return (await this.fromEditor(place, signal)) ?? onDisk;
  }

  /** Undefined when there is no editor to ask. */
  async fromEditor(place: LocatedPath, signal: AbortSignal): Promise<Loaded | undefined> {
    const { fs } = this.#ports;
    if (!fs?.readText) return undefined;
    try {
      return { kind: "text", text: await fs.readText(place.path, {}, signal) };
    } catch (thrown) {
      signal.throwIfAborted();
      if (!place.found) return { kind: "absent" };
      // Not read past the editor: it may keep files from agents on purpose.
      const reason = `The editor did not give ${this.#folders.show(place.path)}: ${messageOf(thrown)}`;
      return { kind: "unusable", reason };
    }
  }

  async #fromDisk(place: LocatedPath, bytes: number): Promise<Loaded> {
    const raw = await this.#files.readBytes(place.realPath, { start: 0, length: bytes });
    const shown = this.#folders.show(place.path);
    const sniffed = sniff(raw.subarray(0, BUILTIN_LIMITS.sniffBytes));
    if (sniffed.kind !== "text") {
      const what = sniffed.kind === "image" ? "an image" : sniffed.what;
      return { kind: "unusable", reason: `${shown} is ${what}, not UTF-8 text.` };
    }
    try {
      return { kind: "text", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw) };
    } catch {
      return { kind: "unusable", reason: `${shown} is not valid UTF-8: editing it as text would damage it.` };
    }
  }

  /** The file a change is made from, to be compared: its real path and its content. */
  async basisOf({ realPath, found }: LocatedPath, loaded: Loaded): Promise<string> {
    if (loaded.kind === "text") return `text ${hashOf(loaded.text)} ${realPath}`;
    if (loaded.kind === "absent") return `absent ${realPath}`;
    const bytes = found?.bytes ?? 0;
    const length = Math.min(bytes, BUILTIN_LIMITS.editMaxBytes);
    const raw = found?.kind === "file" ? await this.#files.readBytes(realPath, { start: 0, length }) : "";
    return `bytes ${bytes} ${hashOf(raw)} ${realPath}`;
  }

  /**
   * Whether the file on the disk is still what a change was made from, right before it is written. An editor's buffer was
   * read just now, and is not asked for twice.
   */
  async isStill(place: LocatedPath, basis: string, signal: AbortSignal): Promise<boolean> {
    if (this.#ports.fs?.readText) return true;
    const found = await this.#files.find(place.path);
    const now: LocatedPath = { ...place, realPath: found?.realPath ?? place.realPath, found };
    return (await this.basisOf(now, await this.load(now, signal))) === basis;
  }

  /** Undefined when it is saved. */
  async save(place: LocatedPath, text: string, signal: AbortSignal): Promise<ToolOutcome | undefined> {
    signal.throwIfAborted();
    const shown = this.#folders.show(place.path);
    const { fs } = this.#ports;
    try {
      if (fs?.writeText) await fs.writeText(place.path, text, signal);
      else await this.#files.saveText(place.realPath, text);
      return undefined;
    } catch (thrown) {
      if (signal.aborted) return { kind: "unknown", reason: `cancelled while the editor was writing ${shown}` };
      return failed(`${shown} could not be written: ${messageOf(thrown)}`);
    }
  }
}

function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

// What the first bytes of a file say it is: an image models can see, text, or something neither.
export type Sniffed =
  | { readonly kind: "text" }
  | { readonly kind: "image"; readonly mimeType: string }
  | { readonly kind: "binary"; readonly what: string };

const ascii = (text: string): number[] => [...Buffer.from(text, "latin1")];
const anything = (count: number): undefined[] => Array.from({ length: count }, () => undefined);
const image = (mimeType: string): Sniffed => ({ kind: "image", mimeType });
const binary = (what: string): Sniffed => ({ kind: "binary", what });

/** Images are those every provider takes. */
const SIGNATURES: readonly (readonly [bytes: readonly (number | undefined)[], sniffed: Sniffed])[] = [
  [[0x89, ...ascii("PNG\r\n"), 0x1a, 0x0a], image("image/png")],
  [[0xff, 0xd8, 0xff], image("image/jpeg")],
  [ascii("GIF87a"), image("image/gif")],
  [ascii("GIF89a"), image("image/gif")],
  [[...ascii("RIFF"), ...anything(4), ...ascii("WEBP")], image("image/webp")],
  [ascii("%PDF-"), binary("a PDF")],
  [[0x1f, 0x8b], binary("gzip data")],
  [[0xff, 0xfe], binary("UTF-16 text")],
  [[0xfe, 0xff], binary("UTF-16 text")],
];

export function sniff(start: Uint8Array): Sniffed {
  const known = SIGNATURES.find(([bytes]) => bytes.every((byte, at) => byte === undefined || byte === start[at]));
  if (known && start.length >= known[0].length) return known[1];
  return start.includes(0) ? binary("binary data") : { kind: "text" };
}
