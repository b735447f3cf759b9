// Reads one configuration file into a layer. A malformed entry is left out and reported with its position.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LAUNCH_LIMITS } from "../../base/limits.js";
import type { FoundPath, World } from "../../base/ports/world.js";
import { nearest } from "../../base/text/nearest.js";
import type { ServerSpec } from "../../mcp/index.js";
import type { PolicyRule } from "../../tools/index.js";
import { CONFIG_LIMITS } from "../limits.js";
import { type Document, emptyRecord, type KeyPath, parseDocument } from "./document.js";
import type { ConfigValues, ImportName, ServerEntry } from "./entry.js";
import { type Finding, kindOf } from "./findings.js";
import { isInside } from "./paths.js";
import { nameProblem, readEntry, readRules, type Schemas, USER_ONLY_KEYS, userOnlyMessage } from "./read-entry.js";

export interface LayerFile {
  readonly kind: "user" | "project" | "command-line";
  readonly path: string;
  /** Shared with other clients (`.mcp.json`, `--mcp-config`): only `mcpServers` is read, foreign keys are not remarked on. */
  readonly isShared: boolean;
  /** A project's file must lie in this folder, links followed. */
  readonly within?: string;
  /** A file named by an option must exist. */
  readonly isRequired?: boolean;
}

/** Never rejects: what cannot be read is a problem of the layer. */
export async function readLayer(world: World, file: LayerFile): Promise<Layer> {
  const { kind, path } = file;
  const failed = (message: string, more: { readonly isUnread?: true } = {}): Layer =>
    emptyLayer(kind, path, [{ severity: "error", place: { layer: kind, file: path }, message, ...more }]);
  try {
    const found = await world.files.find(path);
    if (!found) return file.isRequired ? failed("there is no such file") : emptyLayer(kind, path);
    const refusal = whyNotRead(found, CONFIG_LIMITS.configMaxBytes, file.within);
    if (refusal !== undefined) return failed(refusal);
    // By its real path: a link that is turned elsewhere from now on is not followed.
    const text = await world.files.readText(found.realPath);
    const schemas = await import("./schema.js");
    return layerOf(text, file, schemas);
  } catch (error) {
    return failed(`the file cannot be read: ${messageOf(error)}`, { isUnread: true });
  }
}

/** Undefined when it may be read. `within`: the folder it must lie in. */
export function whyNotRead(found: FoundPath, maxBytes: number, within: string | undefined): string | undefined {
  if (found.kind !== "file")
    return found.kind === "folder" ? "this is a folder, not a file" : "this is no regular file";
  if (found.bytes > maxBytes) return `the file is larger than ${maxBytes} bytes`;
  if (within === undefined || isInside(found.realPath, within)) return undefined;
  return `the file is a link that leads out of the project, to ${found.realPath}; it is not read`;
}

const MAX_SHOWN_NAME = 64;

/** The entries of a section by name; of a project's only the first. One sentence for all others: a file may name thousands. */
export function serverEntries(
  section: JsonValue | undefined,
  label: string,
  layer: LayerKind,
): {
  readonly entries: readonly (readonly [string, JsonValue | undefined])[];
  readonly fault?: Pick<Finding, "at" | "message">;
} {
  if (!isJsonObject(section)) {
    const message = `${label} must be an object of entries by name, got ${kindOf(section)}`;
    return { entries: [], fault: { at: "value", message } };
  }
  const entries = Object.entries(section);
  const { projectServers, namedServers } = LAUNCH_LIMITS;
  if (layer !== "project" || entries.length <= projectServers) return { entries };
  const left = entries.slice(projectServers);
  const shown = left.slice(0, namedServers).map(([name]) => JSON.stringify(name.slice(0, MAX_SHOWN_NAME)));
  const more = left.length > namedServers ? ` and ${left.length - namedServers} more` : "";
  const message = `a project file may bring ${projectServers} servers; the ${left.length} after these are not loaded: ${shown.join(", ")}${more}`;
  return { entries: entries.slice(0, projectServers), fault: { at: "key", message } };
}

/** Pure: the text of a file to its layer. */
export function layerOf(text: string, file: LayerFile, schemas: Schemas): Layer {
  const document = parseDocument(text, file.kind === "project" ? LAUNCH_LIMITS.projectServers : undefined);
  return new LayerReader(document, file, schemas).read();
}

class LayerReader {
  readonly #document: Document;
  readonly #file: LayerFile;
  readonly #schemas: Schemas;
  readonly #problems: Problem[] = [];
  readonly #servers: LayerServer[] = [];
  readonly #invalid: RejectedEntry[] = [];
  readonly #values: LayerValue[] = [];
  readonly #rules: PolicyRule[] = [];

  constructor(document: Document, file: LayerFile, schemas: Schemas) {
    this.#document = document;
    this.#file = file;
    this.#schemas = schemas;
  }

  read(): Layer {
    const { kind, path: file } = this.#file;
    for (const { severity, message, position } of this.#document.problems) {
      this.#problems.push({ severity, message, place: { layer: kind, file, ...position } });
    }
    const { value } = this.#document;
    if (isJsonObject(value)) for (const [key, field] of Object.entries(value)) this.#readKey(key, field);
    else if (value !== undefined) this.#report([], "value", { message: `expected an object, got ${kindOf(value)}` });
    return {
      kind,
      file,
      servers: this.#servers,
      invalid: this.#invalid,
      values: this.#values,
      rules: this.#rules,
      problems: this.#problems,
    };
  }

  #readKey(key: string, value: JsonValue | undefined): void {
    const known = ["mcpServers", ...this.#schemas.VALUE_KEYS];
    if (key === "$schema") return;
    if (key === "mcpServers") this.#readServers(value);
    else if (key === "permissions" && !this.#file.isShared && isJsonObject(value)) this.#readPermissions(value);
    else if (this.#file.kind === "project" && Object.hasOwn(USER_ONLY_KEYS, key)) {
      this.#report([key], "key", { message: userOnlyMessage(key, USER_ONLY_KEYS[key] ?? "") });
    } else if (this.#file.isShared) {
      const meant = nearest(key, ["mcpServers"]);
      if (meant !== undefined) this.#report([key], "key", { message: `unknown key "${key}"`, suggestion: meant });
    } else if (!known.includes(key)) {
      const suggestion = nearest(key, known);
      const severity = suggestion === undefined ? "warning" : "error";
      const message = `unknown key ${JSON.stringify(key)} is ignored`;
      this.#report([key], "key", { severity, message, ...defined({ suggestion }) });
    } else this.#readValue(key, value);
  }

  #readServers(value: JsonValue | undefined): void {
    const { entries, fault } = serverEntries(value, "mcpServers", this.#file.kind);
    for (const [name, entry] of entries) this.#readServer(name, entry);
    if (fault) this.#report(["mcpServers"], fault.at, fault);
  }

  #readServer(name: string, written: JsonValue | undefined): void {
    const path: KeyPath = ["mcpServers", name];
    const place = this.#place(path, "key");
    const checked = readEntry(written, this.#file.kind, this.#schemas);
    const before = this.#problems.length;
    const badName = nameProblem(name);
    const isBroken = this.#document.isBroken(path);
    if (badName !== undefined) this.#report(path, "key", { message: badName }, name);
    if (isBroken) this.#report(path, "key", { message: "left out: there is a syntax error in its entry" }, name);
    // What is wrong with the rest of a broken text is guesswork.
    else for (const finding of checked.findings) this.#report([...path, ...finding.path], finding.at, finding, name);
    if (badName !== undefined || isBroken || !checked.value || !isJsonObject(written)) {
      const asWritten = isJsonObject(written) ? written : undefined;
      const problems = this.#problems.slice(before);
      this.#invalid.push({ status: "invalid", name, place, problems, ...defined({ written: asWritten }) });
      return;
    }
    const placeOf = (inside: KeyPath) => this.#place([...path, ...inside], "value");
    this.#servers.push({ name, place, definition: { kind: "entry", entry: checked.value, written, placeOf } });
  }

  /** Rules are read one by one, and a project may have some; the rest is the user's. */
  #readPermissions({ rules, ...rest }: JsonObject): void {
    const isProject = this.#file.kind === "project";
    const path = ["permissions", "rules"];
    if (!isProject) this.#readValue("permissions", rest);
    else if (Object.keys(rest).length > 0) {
      this.#report(["permissions"], "key", {
        message: userOnlyMessage("permissions", USER_ONLY_KEYS["permissions"] ?? ""),
      });
    }
    if (rules === undefined) return;
    const read = readRules(rules, {
      isProject,
      schemas: this.#schemas,
      placeOf: (index) => placeText(this.#place([...path, index], "value")),
      isBroken: (index) => this.#document.isBroken(index === undefined ? ["permissions"] : [...path, index]),
    });
    for (const finding of read.findings) this.#report([...path, ...finding.path], finding.at, finding);
    this.#rules.push(...read.rules);
  }

  #readValue(key: string, value: JsonValue | undefined): void {
    if (this.#document.isBroken([key])) {
      this.#report([key], "key", { message: `${key} is left out: there is a syntax error in it` });
      return this.#failClosed(key);
    }
    const given: JsonObject = { [key]: value };
    const checked = this.#schemas.check(this.#schemas.configValues, given);
    for (const finding of checked.findings) this.#report(finding.path, finding.at, finding);
    const kept = checked.kept?.[key];
    if (checked.value && kept !== undefined) this.#addLeaves([key], kept);
    else this.#failClosed(key);
  }

  /** A sandbox that cannot be read was meant to hold something: until it is corrected, servers get the strictest one. */
  #failClosed(key: string): void {
    if (key !== "sandbox") return;
    const place = this.#place([key], "key");
    for (const origin of ["user", "project", "client"]) {
      this.#values.push({ path: [key, origin, "mode"], value: "read-only", place });
    }
    this.#report([key], "key", { message: "until sandbox is corrected, every server runs in the sandbox read-only" });
  }

  #addLeaves(path: readonly string[], value: JsonValue): void {
    if (isJsonObject(value)) {
      for (const [key, field] of Object.entries(value)) if (field !== undefined) this.#addLeaves([...path, key], field);
    } else this.#values.push({ path, value, place: this.#place(path, "value") });
  }

  #place(path: KeyPath, what: "key" | "value"): Place {
    return { layer: this.#file.kind, file: this.#file.path, ...this.#document.locate(path, what) };
  }

  #report(
    path: KeyPath,
    at: "key" | "value",
    what: Pick<Problem, "message" | "suggestion"> & Partial<Pick<Finding, "severity">>,
    server?: string,
  ): void {
    const { message, suggestion, severity = "error" } = what;
    this.#problems.push({ severity, place: this.#place(path, at), message, ...defined({ server, suggestion }) });
  }
}

/** From the weakest to the strongest: each overrules those before it. */
export const LAYER_KINDS = ["default", "user", "project", "environment", "command-line", "client"] as const;
export type LayerKind = (typeof LAYER_KINDS)[number];

export interface Place {
  readonly layer: LayerKind;
  readonly file?: string;
  /** Both from 1, as editors count. */
  readonly line?: number;
  readonly column?: number;
  /** The environment's variable or the command line's option. */
  readonly name?: string;
  /** The other client whose file it is (`import`). */
  readonly client?: ImportName;
}

export interface Problem {
  /** An error leaves something out; a warning only says that something has no effect. */
  readonly severity: "error" | "warning";
  readonly place: Place;
  /** The server whose entry it is about. */
  readonly server?: string;
  /** What is wrong and what was expected, without place, server and suggestion. */
  readonly message: string;
  /** The file may be as it was: reading it failed. Until it can be read again, what it said before holds. */
  readonly isUnread?: true;
  /** What was probably meant. */
  readonly suggestion?: string;
}

/** `file:line:column`, as terminals and editors link it. */
export function placeText(place: Place): string {
  const { file, line, column, name, layer } = place;
  if (file === undefined) return name ?? LAYER_NAMES[layer];
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

/** The whole of it in one line. */
export function problemText(problem: Problem): string {
  const server = problem.server === undefined ? "" : `server ${JSON.stringify(problem.server)}: `;
  const hint = problem.suggestion === undefined ? "" : `; did you mean ${JSON.stringify(problem.suggestion)}?`;
  return `${placeText(problem.place)}: ${server}${problem.message}${hint}`;
}

export const LAYER_NAMES: Readonly<Record<LayerKind, string>> = {
  default: "built-in defaults",
  user: "user configuration",
  project: "project configuration",
  environment: "environment",
  "command-line": "command line",
  client: "client",
};

// One layer of configuration: the servers, values and problems of one file, of the environment, or of the client.

/** An entry as it was written, checked but not interpolated. */
export interface WrittenServer {
  readonly kind: "entry";
  readonly entry: ServerEntry;
  /** Exactly what the file says: approvals are bound to it. */
  readonly written: JsonObject;
  readonly placeOf: (path: KeyPath) => Place;
}

/** A server that came ready-made, from an ACP client or an embedder. */
interface GivenServer {
  readonly kind: "spec";
  readonly spec: ServerSpec;
}

export interface LayerServer<Definition extends WrittenServer | GivenServer = WrittenServer | GivenServer> {
  readonly name: string;
  readonly place: Place;
  readonly definition: Definition;
}

/** One value that is not an object: `providers.anthropic.apiKey`, with where it was said. Lists count as one value. */
export interface LayerValue {
  readonly path: readonly string[];
  readonly value: JsonValue;
  readonly place: Place;
}

export interface Layer {
  readonly kind: LayerKind;
  readonly file?: string;
  readonly servers: readonly LayerServer[];
  readonly invalid: readonly RejectedEntry[];
  readonly values: readonly LayerValue[];
  /** Of `permissions.rules`; each layer's stay apart, since the first that matches decides. */
  readonly rules?: readonly PolicyRule[];
  /** All of the layer, those of invalid servers among them. */
  readonly problems: readonly Problem[];
}

export function emptyLayer(kind: LayerKind, file?: string, problems: readonly Problem[] = []): Layer {
  return { kind, ...defined({ file }), servers: [], invalid: [], values: [], problems };
}

export function isWritten(server: LayerServer): server is LayerServer<WrittenServer> {
  return server.definition.kind === "entry";
}

export function isDisabled(server: LayerServer): boolean {
  return server.definition.kind === "entry" && server.definition.entry.disabled === true;
}

export interface ServerIdentity {
  readonly name: string;
  readonly place: Place;
  /** The entry as it is written, for files; show it through `maskEntry`. */
  readonly written?: JsonObject;
}

export interface DisabledServer extends ServerIdentity {
  readonly status: "disabled";
  readonly reason: string;
  /** Switched off in its file: no mistake, and not reported. */
  readonly isIntended?: boolean;
  /** A secret is still being fetched: a watched configuration changes again when it has come. */
  readonly isWaiting: boolean;
}

/** An entry that cannot be used. */
export interface RejectedEntry extends ServerIdentity {
  readonly status: "invalid";
  readonly problems: readonly Problem[];
}

export interface ShadowedServer extends ServerIdentity {
  readonly status: "shadowed";
  readonly by: Place;
}

export function disabledServer(server: LayerServer, reason: string, isWaiting = false): DisabledServer {
  return { status: "disabled", ...identityOf(server), reason, isWaiting };
}

export function identityOf({ name, place, definition }: LayerServer): ServerIdentity {
  return { name, place, ...defined({ written: definition.kind === "entry" ? definition.written : undefined }) };
}

// Merges layers, from the weakest to the strongest. Pure. Servers are replaced whole, by name; everything else merges by key.

/** The entries of one name, the strongest last: that one counts, it shadows the others. */
export type ServerStack = readonly [...shadowed: LayerServer[], winner: LayerServer];

/** Merging two merged configurations is merging all their layers: nothing is lost on the way. */
export interface Merged {
  readonly servers: ReadonlyMap<string, ServerStack>;
  /** By path, each with where it was said last. */
  readonly values: ReadonlyMap<string, LayerValue>;
}

/** In the order given: the last is the strongest. */
export function mergeLayers(layers: readonly Layer[]): Merged {
  const servers = new Map<string, ServerStack>();
  const values = new Map<string, LayerValue>();
  for (const layer of layers) {
    for (const server of layer.servers) servers.set(server.name, [...(servers.get(server.name) ?? []), server]);
    for (const value of layer.values) values.set(keyOf(value.path), value);
  }
  return { servers, values };
}

export function winnerOf(stack: ServerStack): LayerServer {
  return stack[stack.length - 1] ?? stack[0];
}

export function shadowedBy(stack: ServerStack): readonly LayerServer[] {
  return stack.slice(0, -1);
}

/** A value with where it came from. */
export interface Sourced<T> {
  readonly value: T;
  readonly place: Place;
}

/** A value of `configOf` with where it was said. */
export function sourced<T>({ values }: Merged, path: readonly string[], value: T | undefined): Sourced<T> | undefined {
  const place = values.get(keyOf(path))?.place;
  return value === undefined || !place ? undefined : { value, place };
}

/** All values as one object, as a file would have them; the schema has checked each. */
export function configOf({ values }: Merged): ConfigValues {
  const config: Record<string, unknown> = emptyRecord();
  for (const { path, value } of values.values()) {
    let target = config;
    for (const step of path.slice(0, -1)) target = inner(target, step);
    target[path.at(-1) ?? ""] = value;
  }
  return config;
}

function inner(parent: Record<string, unknown>, key: string): Record<string, unknown> {
  const made: Record<string, unknown> = emptyRecord();
  parent[key] ??= made;
  return isRecord(parent[key]) ? parent[key] : made;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function keyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}
