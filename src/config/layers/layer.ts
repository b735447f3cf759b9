// Where a value came from, and what is wrong with it: layer, file, line and column go with everything that was read.

import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { ServerSpec } from "../../mcp/index.js";
import type { PolicyRule } from "../../tools/index.js";
import { emptyRecord, type KeyPath } from "./document.js";
import type { ConfigValues, ImportName, ServerEntry } from "./entry.js";

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
export interface GivenServer {
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
