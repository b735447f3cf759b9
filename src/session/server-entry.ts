// A server of a session: as it is wanted, as it is open, or why it cannot be used.
import { defined } from "../base/json/defined.js";
import type { ServerSandbox } from "../config/index.js";
import type { ConnectionOptions, PoolSettings, ServerConnection, ServerSpec } from "../mcp/index.js";
import type { SourceSettings, ToolOrigin, ToolSource } from "../tools/index.js";
import type { LoginSettings, ServerLogin } from "./login/server-login.js";

/** A server entry that cannot be used, with what is wrong with it. */
export interface RejectedServer {
  readonly name: string;
  readonly reason: string;
  readonly origin?: ToolOrigin;
  readonly hint?: string;
}

/** A server the session shall have, and how its connection is to behave. */
export interface WantedServer {
  readonly spec: ServerSpec;
  readonly origin: ToolOrigin;
  readonly settings?: Pick<ConnectionOptions, "limits" | "tools" | "allowHosts" | "urlSource" | "secrets">;
  /** What the configuration says of its sandbox, also where that asks for none. */
  readonly sandbox?: ServerSandbox;
  /** Whose log-ins a remote server may use, and what its entry says about logging in. */
  readonly login?: LoginSettings;
  /** How the catalog is to treat its tools: filters, other names, include modes. A change of it needs no new connection. */
  readonly catalog?: SourceSettings;
  /** The user's word that what the server says about its tools is true. */
  readonly trustsAnnotations?: boolean;
  /** The user's word that what the server answers is no content from outside. */
  readonly trustsResults?: boolean;
  /** The project's real path, for a project's server. */
  readonly project?: string;
  /** The first turn waits longer for it. */
  readonly isRequired?: boolean;
  /** Started when one of its tools is first used, if they are remembered; like any other if not. */
  readonly isLazy?: boolean;
  /** Other sessions of this process may use the same server. One of the client is never shared. */
  readonly mayShare?: boolean;
  /** What the user says about all servers together. */
  readonly pool?: PoolSettings;
}

/** A server of the session, whatever state it is in. */
export interface OpenServer extends Pick<WantedServer, "catalog" | "trustsAnnotations" | "trustsResults" | "project"> {
  readonly connection: ServerConnection;
  readonly source: ToolSource;
  /** Whether other sessions use the same server now. */
  isShared?(): boolean;
  /** Undefined when one cannot log in to it. */
  readonly login?: ServerLogin | undefined;
}

/** What the catalog and the policy are told of a server: a change of it needs no new connection. */
export function treatment({
  catalog = {},
  trustsAnnotations = false,
  trustsResults = false,
  project,
}: WantedServer): Omit<OpenServer, "connection" | "source" | "login" | "isShared"> {
  return { catalog, trustsAnnotations, trustsResults, ...defined({ project }) };
}
