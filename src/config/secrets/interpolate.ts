// Fills the references in an entry's values. Keys are never touched; a value that cannot be had disables its server, with the reason.
import { isAbsolute, join, resolve } from "node:path";
import { messageOf } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { KeyPath } from "../layers/document.js";
import { pathText } from "../layers/findings.js";
import { placeText, type WrittenServer } from "../layers/layer.js";
import { isInside } from "../layers/paths.js";
import { type Part, parseTemplate } from "../layers/template.js";
import type { SecretRequest, Secrets } from "./secrets.js";

export interface InterpolationSource {
  readonly world: World;
  readonly env: World["env"];
  /** The folder of the file the text stands in: the base of `{file:…}`. */
  readonly folder: string;
  /** For a project's text: the project's real path, which files must lie in. */
  readonly within?: string;
  /** Only the user's own configuration may run commands and read the keyring. */
  readonly secrets?: Secrets;
  /** When it aborts, secrets that are still being fetched are not waited for. */
  readonly patience: AbortSignal;
}

export interface Interpolated {
  readonly text: string;
  /** What came from elsewhere: to be masked wherever it would be shown or written. */
  readonly secrets: readonly string[];
}

/** One value that cannot be had. */
export interface Missing {
  readonly kind: "missing" | "waiting";
  /** In one sentence, with the reference and the place. */
  readonly reason: string;
}

/** What everybody on the machine knows: masking it would only make logs unreadable. */
const PLAIN_VARIABLES: ReadonlySet<string> = new Set(
  "HOME USER LOGNAME USERNAME USERPROFILE SHELL PWD PATH TMPDIR TEMP TMP LANG TZ".split(" "),
);

type Filled = { readonly value: string; readonly isSecret: boolean } | Missing;

/** `mayBeSecret`: the value as a whole may be `!command` or `keyring:name`. Never rejects. */
export async function interpolate(
  given: { readonly text: string; readonly path: KeyPath; readonly mayBeSecret: boolean },
  placeOf: WrittenServer["placeOf"],
  source: InterpolationSource,
): Promise<Interpolated | Missing> {
  const parts = await Promise.all(parseTemplate(given.text, given).map((part) => fill(part, source)));
  let text = "";
  const secrets: string[] = [];
  for (const part of parts) {
    if ("reason" in part) {
      const where = `${pathText(given.path)} in ${placeText(placeOf(given.path))}`;
      return { kind: part.kind, reason: `${part.reason} (${where})` };
    }
    text += part.value;
    if (part.isSecret && part.value !== "") secrets.push(part.value);
  }
  return { text, secrets };
}

export function isMissing(result: Interpolated | Missing): result is Missing {
  return "reason" in result;
}

async function fill(part: Part, source: InterpolationSource): Promise<Filled> {
  switch (part.kind) {
    case "text":
      return { value: part.text, isSecret: false };
    case "variable":
      return fillVariable(part, source);
    case "file":
      return await fillFile(part.path, part.written, source);
    case "command":
    case "keyring":
      return await fillSecret(part, source);
    case "malformed":
      return missing(`${part.written} is no reference Tenon knows; write $\${ for a literal \${`);
  }
}

function fillVariable(part: Part & { readonly kind: "variable" }, { env }: InterpolationSource): Filled {
  const value = Object.hasOwn(env, part.name) ? env[part.name] : undefined;
  // As in a shell: the default also stands in for an empty value.
  if (part.fallback !== undefined && !value) return { value: part.fallback, isSecret: false };
  if (value === undefined) return missing(`the environment variable ${part.name} is not set`);
  return { value, isSecret: !PLAIN_VARIABLES.has(part.name) };
}

async function fillFile(path: string, written: string, source: InterpolationSource): Promise<Filled> {
  const { world, folder, within, env } = source;
  try {
    const found = await world.files.find(placeOfFile(path, folder, within === undefined ? env["HOME"] : undefined));
    if (within !== undefined && found && !isInside(found.realPath, within)) {
      return missing(`${written} leads out of the project`);
    }
    if (found?.kind !== "file") return missing(`${written}: there is no such file`);
    if (found.bytes > LIMITS.configValueMaxBytes) {
      return missing(`${written} is larger than ${LIMITS.configValueMaxBytes} bytes`);
    }
    const text = (await world.files.readText(found.realPath)).replace(/\r?\n$/u, "");
    return text.includes("\0") ? missing(`${written} is no text`) : { value: text, isSecret: true };
  } catch (error) {
    return missing(`${written} cannot be read: ${messageOf(error)}`);
  }
}

/** `~/` works in the user's own file only: a project has no home directory. */
function placeOfFile(path: string, folder: string, home: string | undefined): string {
  const wanted = path.trim();
  if (home !== undefined && wanted.startsWith("~/")) return join(home, wanted.slice(2));
  return isAbsolute(wanted) ? wanted : resolve(folder, wanted);
}

async function fillSecret(
  part: Part & { readonly kind: "command" | "keyring" },
  { secrets, patience }: InterpolationSource,
): Promise<Filled> {
  const form = part.kind === "command" ? '"!command"' : '"keyring:name"';
  if (!secrets) return missing(`${form} works in the user's own configuration only`);
  const request: SecretRequest =
    part.kind === "command" ? { kind: "command", command: part.command } : { kind: "keyring", name: part.name };
  const answer = await secrets.get(request, patience);
  switch (answer.kind) {
    case "found":
      return { value: answer.value.replace(/\r?\n$/u, ""), isSecret: true };
    case "missing":
      return missing(answer.reason);
    case "waiting":
      return { kind: "waiting", reason: `waiting for ${part.kind === "command" ? "its command" : "the keyring"}` };
  }
}

function missing(reason: string): Missing {
  return { kind: "missing", reason };
}
