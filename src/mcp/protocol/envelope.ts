// What we say of ourselves: the versions we speak, the abilities we declare, and the `_meta` of every modern request.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { META, MODERN_VERSION } from "../versions.js";
import type { Peer } from "./peer.js";

/** By this name the modern era knows long-running calls: without it no server may answer with one. */
const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The log level servers are asked for; a modern server sends no log lines unless it is asked. */
const LOG_LEVEL = "info";

export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Only what the peer can answer: a server that asks for more would wait for nobody. */
export function clientCapabilities(peer: Peer | undefined): JsonObject {
  const modes = peer?.elicit ? elicitModes(peer) : [];
  return defined({
    roots: peer?.roots ? {} : undefined,
    sampling: peer?.sample ? {} : undefined,
    elicitation: modes.length > 0 ? Object.fromEntries(modes.map((mode) => [mode, {}])) : undefined,
  });
}

export function elicitModes(peer: Peer): readonly ("form" | "url")[] {
  return peer.elicitModes ?? ["form", "url"];
}

/** The same for every request of a connection, so it is built once. */
export function envelopeOf(client: ClientInfo, peer: Peer | undefined): JsonObject {
  return {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientInfo]: { name: client.name, version: client.version },
    [META.clientCapabilities]: { ...clientCapabilities(peer), extensions: { [TASKS_EXTENSION]: {} } },
    ...defined({ [META.logLevel]: peer?.log ? LOG_LEVEL : undefined }),
  };
}

/** A `_meta` of the request's own is kept; the envelope wins. */
export function withEnvelope(params: JsonObject, envelope: JsonObject): JsonObject {
  const meta = params["_meta"];
  // `Object.assign`, since Node 20 is slow at a property after a spread, and this is in every call.
  return Object.assign({}, params, { _meta: isJsonObject(meta) ? { ...meta, ...envelope } : envelope });
}
