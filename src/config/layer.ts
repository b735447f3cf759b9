// One layer of configuration: the servers, values and problems of one file, of the environment, or of whoever calls.
import { defined } from "../base/json/defined.js";
import type { JsonObject, JsonValue } from "../base/json/json.js";
import type { ServerSpec } from "../mcp/index.js";
import type { PolicyRule } from "../tools/index.js";
import type { ServerEntry } from "./entry.js";
import type { LayerKind, Place, Problem } from "./place.js";
import type { KeyPath } from "./text-tree.js";

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

/** An entry that cannot be used. */
export interface InvalidServer {
  readonly name: string;
  readonly place: Place;
  readonly problems: readonly Problem[];
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
  readonly invalid: readonly InvalidServer[];
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

/** Who it is, as it is told of any server: name, place, and its entry as written where it has one. */
export function identityOf({ name, place, definition }: LayerServer): {
  readonly name: string;
  readonly place: Place;
  readonly written?: JsonObject;
} {
  return { name, place, ...defined({ written: definition.kind === "entry" ? definition.written : undefined }) };
}
