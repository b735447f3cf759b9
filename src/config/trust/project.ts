// Sorts a project's entries by what the person decided about them. Nothing of an entry is used here but its text.

import { dirname, posix, relative, resolve, win32 } from "node:path";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { hashJson, isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { escapeUnseen, type World } from "../../base/ports/world.js";
import type { LaunchConcern, PinnedFile, StdioSpec } from "../../mcp/index.js";
import type { LayerSet } from "../collect-layers.js";
import { isRemoteEntry, type StdioEntry } from "../layers/entry.js";
import { realPathOf } from "../layers/paths.js";
import { parseTemplate, textsOf } from "../layers/read-entry.js";
import {
  type DisabledServer,
  disabledServer,
  emptyLayer,
  identityOf,
  isDisabled,
  isWritten,
  type Layer,
  type LayerServer,
  type LayerValue,
  mergeLayers,
  type Place,
  type Problem,
  placeText,
  type ServerIdentity,
  type ShadowedServer,
  shadowedBy,
  type WrittenServer,
  winnerOf,
} from "../layers/read-layer.js";
import type { TrustStore } from "./store.js";

export interface ApprovedProgram {
  readonly command: string;
  /** What lies in the project, as it was approved. */
  readonly files: readonly PinnedFile[];
}

export interface JudgedProject {
  /** What was approved, as a layer: all that may take part in merging. */
  readonly approved: Layer;
  /** The program that was approved for each stdio server of it. */
  readonly programs: ReadonlyMap<string, ApprovedProgram>;
  readonly others: readonly (UntrustedServer | DisabledServer | ShadowedServer)[];
  /** Undecided. */
  readonly questions: readonly TrustQuestion[];
  /** About its settings, decided or not; undefined when it has none. */
  readonly settings?: TrustQuestion;
  readonly problems: readonly Problem[];
}

export async function judgeProject(
  layers: LayerSet,
  context: CommandPlace & { readonly store: TrustStore },
): Promise<JudgedProject> {
  const { projectPath: project, user, foreign } = layers;
  // A project is one authority: its own files replace each other before the person is asked.
  const own = mergeLayers(layers.project);
  const stronger = mergeLayers(layers.above).servers;
  const weaker = [user, ...foreign].flatMap(({ servers: ofLayer }) => ofLayer);
  const servers: LayerServer[] = [];
  const programs = new Map<string, ApprovedProgram>();
  const others: (UntrustedServer | DisabledServer | ShadowedServer)[] = [];
  const questions: TrustQuestion[] = [];
  const problems: Problem[] = [];

  const decide = async (asked: TrustQuestion, replaces?: Place) => {
    const { decision, isChanged, isOutdated, problems: found } = await context.store.verdictOn(asked);
    const more = defined({ isOutdated: isOutdated || undefined, replaces });
    const question: TrustQuestion = { ...asked, isChanged, ...more };
    problems.push(...found);
    if (decision === "undecided") questions.push(question);
    return { decision, question };
  };

  const judge = async (server: LayerServer<WrittenServer>): Promise<void> => {
    const { name, place } = server;
    if (isDisabled(server)) {
      // Not asked about and not merged: else a project could take a server of the user's away by naming it.
      others.push(disabledServer(server, `disabled in ${placeText(place)}`));
      return;
    }
    const replaces = weaker.find((replaced) => replaced.name === name)?.place;
    const { decision, question } = await decide(await serverQuestion(server, { ...context, project }), replaces);
    if (decision === "approved") {
      servers.push(server);
      const { resolvedCommand: command, files = [] } = question;
      if (command !== undefined) programs.set(name, { command, files });
    } else others.push({ status: "untrusted", ...identityOf(server), question, isDenied: decision === "denied" });
  };

  for (const stack of own.servers.values()) {
    const server = winnerOf(stack);
    const { name, place } = server;
    const above = stronger.get(name);
    const by = above ? winnerOf(above).place : place;
    for (const shadowed of above ? stack : shadowedBy(stack)) {
      others.push({ status: "shadowed", ...identityOf(shadowed), by });
    }
    if (above || !isWritten(server)) continue;
    // An entry that cannot be checked is left out; the others are not affected.
    await judge(server).catch((error: unknown) => {
      const reason = `it cannot be checked: ${messageOf(error)}`;
      others.push(disabledServer(server, reason));
      problems.push({ severity: "error", place, message: reason, server: name });
    });
  }
  const values = [...own.values.values()];
  const asked = settingsQuestion(values, project);
  const settings = asked && (await decide(asked));
  const approved = { ...emptyLayer("project"), servers, values: settings?.decision === "approved" ? values : [] };
  return { approved, programs, others, questions, problems, ...defined({ settings: settings?.question }) };
}

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
  /** The same, links followed. */
  readonly program?: string;
  /** Programs and scripts that lie in the project: the approval covers what is in them now. */
  readonly files?: readonly PinnedFile[];
  /** For a server that does not come from the project: why the folder would decide what it runs. */
  readonly reasons?: readonly string[];
  /** The hash of the same question before approvals covered program and content. */
  readonly formerHash?: string;
  /** It was approved in that form. */
  readonly isOutdated?: boolean;
  /** Each `${VAR}` and `{file:…}` it would be given. */
  readonly references: readonly string[];
  /** Something else of this name was decided on before. */
  readonly isChanged: boolean;
  /** The server of the same name that it would replace. */
  readonly replaces?: Place;
}

/** A server that needs an approval which it does not have. Nothing of it was started or contacted. */
export interface UntrustedServer extends ServerIdentity {
  readonly status: "untrusted";
  readonly question: TrustQuestion;
  readonly isDenied: boolean;
}

/** In the project of this real path. */
type QuestionContext = CommandPlace & { readonly project: string };

/** `isChanged` and `replaces` are not part of what is asked, so not of the hash either. */
async function serverQuestion(
  { name, place, definition }: LayerServer<WrittenServer>,
  context: QuestionContext,
): Promise<TrustQuestion> {
  const { entry, written } = definition;
  const { project } = context;
  const found = isRemoteEntry(entry) ? undefined : await programOf(entry, context);
  const references = [...new Set(textsOf(written).flatMap(referencesIn))];
  // A file is named relative to the file that names it: in another folder the same words mean another file.
  const hasFile = references.some((reference) => reference.startsWith("{file:"));
  const folder = defined({ folder: hasFile ? relative(project, dirname(place.file ?? "")) : undefined });
  const bound = { project, server: name, written, command: found?.resolvedCommand ?? null, ...folder };
  const hash = hashJson({ v: 1, ...bound });
  const question = { server: name, hash, project, place, written, references, isChanged: false };
  if (!found) return question;
  const files = found.files.map((file) => ({ path: file.path, hash: file.hash }));
  const covering = hashJson({ v: 2, ...bound, program: found.program, files });
  return { ...question, ...found, hash: covering, formerHash: hash };
}

/** Undefined when nothing would be started. */
async function programOf(
  entry: StdioEntry,
  context: QuestionContext,
): Promise<Required<Pick<TrustQuestion, "resolvedCommand" | "program" | "files">> | undefined> {
  const { world, env, cwd, project } = context;
  const written = withVariables(entry.command, env);
  const command = written === undefined ? undefined : await commandPath(written, context);
  if (command === undefined) return undefined;
  const args = (entry.args ?? []).map((arg) => withVariables(arg, env) ?? arg);
  const folder = entry.cwd === undefined ? cwd : resolve(cwd, withVariables(entry.cwd, env) ?? entry.cwd);
  const { pinnedProgram } = await import("../../mcp/index.js");
  const files = await pinnedProgram({ command, args, cwd: folder, project }, world);
  return { resolvedCommand: command, program: await realPathOf(world, command), files };
}

/** What is asked about a server that does not come from the project, and that the session's folder could replace. */
export function launchQuestion(
  server: LayerServer,
  spec: StdioSpec,
  concern: LaunchConcern,
  project: string,
): TrustQuestion {
  const { name, place, definition } = server;
  const { reasons, files, program, key } = concern;
  const written = definition.kind === "entry" ? definition.written : { command: spec.command, args: spec.args };
  return {
    server: name,
    hash: hashJson({ v: 2, project, server: name, launch: key }),
    project,
    place,
    written,
    references: [],
    isChanged: false,
    reasons,
    files,
    ...defined({ program }),
  };
}

/** Values of a project's files beside its servers; undefined when there are none. */
function settingsQuestion(values: readonly LayerValue[], project: string): TrustQuestion | undefined {
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
  const { reasons, program, files = [], isOutdated } = question;
  const what = server === undefined ? "settings" : `server ${JSON.stringify(server)}`;
  const changed = isChanged ? ", which is not what was decided on before" : "";
  const rest = Object.keys(written).filter((key) => !SHOWN_KEYS.includes(key));
  const first = reasons
    ? `The ${what} (${placeText(place)}) would run something of the folder ${project}${changed}:`
    : `The project ${project} has the ${what} (${placeText(place)})${changed}:`;
  const lines = [first, ...[...SHOWN_KEYS, ...rest].flatMap((key) => fieldLines(key, written[key]))];
  for (const reason of reasons ?? []) lines.push(`because: ${reason}`);
  const started = resolvedCommand ?? program;
  const link = program === undefined || program === started ? "" : ` (a link to ${program})`;
  if (started !== undefined) lines.push(`starts: ${started}${link}`);
  for (const { path } of files) lines.push(`covers what is now in: ${path} (not the files it loads)`);
  if (isOutdated) {
    lines.push(
      "asked again: it was approved before, but an approval now also covers the real path of the program and the content of the project's file",
    );
  }
  if (references.length > 0) lines.push(`is given: ${references.join(", ")}`);
  if (replaces) lines.push(`replaces: the server of that name in ${placeText(replaces)}`);
  return lines.map(escapeUnseen);
}

function fieldLines(key: string, value: JsonValue | undefined): readonly string[] {
  if (value === undefined) return [];
  if (!isJsonObject(value)) return [`${key}: ${JSON.stringify(value)}`];
  return Object.entries(value).map(([name, field]) => `${key}.${name}: ${JSON.stringify(field)}`);
}

/** Questions about one file belong together: one answer is for all of them, and for nothing else. */
export function questionsByFile(questions: readonly TrustQuestion[]): readonly (readonly TrustQuestion[])[] {
  const groups = new Map<string, TrustQuestion[]>();
  for (const question of questions) {
    const { place, reasons } = question;
    const key = `${place.file ?? place.layer}\0${reasons === undefined}`;
    groups.set(key, [...(groups.get(key) ?? []), question]);
  }
  return [...groups.values()];
}

// Which file a command means, as the system itself would find it: what is approved and what is started must be the same.

interface CommandPlace {
  readonly world: World;
  readonly env: World["env"];
  /** The session's directory: the base of relative commands. */
  readonly cwd: string;
}

/** The full path; undefined when there is no such file, or none that can be looked at. A bare name is looked up in PATH, where links are left as they are: version managers live by them. */
export async function commandPath(command: string, place: CommandPlace): Promise<string | undefined> {
  const { world, cwd } = place;
  const paths = world.platform === "win32" ? win32 : posix;
  const isBare = !command.includes("/") && !(world.platform === "win32" && command.includes("\\"));
  if (isBare) return inPath(command, place);
  const full = withEnding(paths.resolve(cwd, command), place);
  return full === undefined ? undefined : (await world.files.find(full).catch(() => undefined))?.realPath;
}

function inPath(command: string, place: CommandPlace): string | undefined {
  const { world, env } = place;
  const isWindows = world.platform === "win32";
  const paths = isWindows ? win32 : posix;
  const value = Object.entries(env).find(([name]) => (isWindows ? name.toUpperCase() : name) === "PATH")?.[1];
  if (value === undefined) return undefined;
  for (const folder of value.split(paths.delimiter)) {
    // Relative and empty entries mean the session's folder: a server is not started from those.
    const full = folder.replace(/^"(.*)"$/u, "$1");
    if (!paths.isAbsolute(full)) continue;
    const found = withEnding(paths.join(full, command), place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withEnding(path: string, { world, env }: CommandPlace): string | undefined {
  if (world.platform !== "win32") return world.files.isFile(path) ? path : undefined;
  const known = (env["PATHEXT"] ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((part) => part !== "");
  const endings = win32.extname(path) === "" ? known : ["", ...known];
  return endings.map((ending) => path + ending.toLowerCase()).find((candidate) => world.files.isFile(candidate));
}
