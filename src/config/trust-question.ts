// What the person is asked before anything of a project's files takes effect: all of it, and a hash of exactly that.
import { dirname, relative } from "node:path";
import { hashJson } from "../base/hash.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.js";
import { type CommandPlace, commandPath } from "./command-path.js";
import { isRemoteEntry } from "./entry.js";
import type { LayerServer, LayerValue, WrittenServer } from "./layer.js";
import { type Place, placeText } from "./place.js";
import { parseTemplate, textsOf } from "./template.js";

export interface TrustQuestion {
  /** The server's name; undefined when it is about the project's settings. */
  readonly server?: string;
  /** What an approval is bound to: any change of what is asked gives another. */
  readonly hash: string;
  /** The project's real path. */
  readonly project: string;
  readonly place: Place;
  /** Everything it says, as it says it: literals as they are, references as references. */
  readonly written: JsonObject;
  /** The file that would be started. */
  readonly resolvedCommand?: string;
  /** Each `${VAR}` and `{file:…}` it would be given. */
  readonly references: readonly string[];
  /** Something else of this name was decided on before. */
  readonly isChanged: boolean;
  /** The server of the same name that it would replace. */
  readonly replaces?: Place;
}

export interface QuestionContext extends CommandPlace {
  /** The project's real path. */
  readonly project: string;
}

/** `isChanged` and `replaces` are not part of what is asked, so not of the hash either. */
export async function serverQuestion(
  server: LayerServer<WrittenServer>,
  context: QuestionContext,
): Promise<TrustQuestion> {
  const { entry, written } = server.definition;
  const command = isRemoteEntry(entry) ? undefined : withVariables(entry.command, context.env);
  const resolvedCommand = command === undefined ? undefined : await commandPath(command, context);
  const references = [...new Set(textsOf(written).flatMap(referencesIn))];
  // A file is named relative to the file that names it: in another folder the same words mean another file.
  const folder = references.some((reference) => reference.startsWith("{file:"))
    ? { folder: relative(context.project, dirname(server.place.file ?? "")) }
    : {};
  const { project } = context;
  const hash = hashJson({ v: 1, project, server: server.name, written, command: resolvedCommand ?? null, ...folder });
  return {
    server: server.name,
    hash,
    project,
    place: server.place,
    written,
    references,
    isChanged: false,
    ...(resolvedCommand === undefined ? {} : { resolvedCommand }),
  };
}

/** Values of a project's files beside its servers; undefined when there are none. */
export function settingsQuestion(values: readonly LayerValue[], project: string): TrustQuestion | undefined {
  const [first] = values;
  if (!first) return undefined;
  const pairs = values.map(({ path, value }) => [path.join("."), value]);
  const written: JsonObject = Object.fromEntries(pairs);
  const hash = hashJson({ v: 1, project, settings: written });
  return { hash, project, place: first.place, written, references: [], isChanged: false };
}

/** Undefined when a variable is missing: then nothing would be started either. */
function withVariables(text: string, env: CommandPlace["env"]): string | undefined {
  let filled = "";
  for (const part of parseTemplate(text, { mayBeSecret: false })) {
    if (part.kind === "text") filled += part.text;
    else if (part.kind === "variable") {
      const set = Object.hasOwn(env, part.name) ? env[part.name] : undefined;
      const value = part.fallback !== undefined && !set ? part.fallback : set;
      if (value === undefined) return undefined;
      filled += value;
    } else return undefined;
  }
  return filled;
}

function referencesIn(text: string): readonly string[] {
  return parseTemplate(text, { mayBeSecret: false }).flatMap((part) => ("written" in part ? [part.written] : []));
}

const SHOWN_KEYS = ["type", "transport", "command", "args", "cwd", "env", "url", "headers", "auth", "oauth"];

/** The question for people, one fact a line, nothing cut, nothing that could hide or reorder text on a screen. */
export function questionLines(question: TrustQuestion): readonly string[] {
  const { server, place, written, project, resolvedCommand, references, isChanged, replaces } = question;
  const what = server === undefined ? "settings" : `server ${JSON.stringify(server)}`;
  const changed = isChanged ? ", which is not what was decided on before" : "";
  const rest = Object.keys(written).filter((key) => !SHOWN_KEYS.includes(key));
  const lines = [
    `The project ${project} brings the ${what} (${placeText(place)})${changed}:`,
    ...[...SHOWN_KEYS, ...rest].flatMap((key) => fieldLines(key, written[key])),
  ];
  if (resolvedCommand !== undefined) lines.push(`starts: ${resolvedCommand}`);
  if (references.length > 0) lines.push(`is given: ${references.join(", ")}`);
  if (replaces) lines.push(`replaces: the server of that name in ${placeText(replaces)}`);
  return lines.map(visible);
}

function fieldLines(key: string, value: JsonValue | undefined): readonly string[] {
  if (value === undefined) return [];
  if (!isJsonObject(value)) return [`${key}: ${JSON.stringify(value)}`];
  return Object.entries(value).map(([name, field]) => `${key}.${name}: ${JSON.stringify(field)}`);
}

function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (hidden) =>
    Array.from({ length: hidden.length }, (_, at) => `\\u${hidden.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
      "",
    ),
  );
}
