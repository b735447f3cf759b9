// A server of a session: as it is wanted, as it is open, or why it cannot be used.
import { defined } from "../../base/json/defined.js";
import {
  type EffectiveConfig,
  type EffectiveServer,
  grantAccount,
  grantPerson,
  type ReadyServer,
  type ServerSandbox,
  type ServerSettings,
  sourceSettings,
  whyNotReady,
} from "../../config/index.js";
import { type ConnectionOptions, foreignOwner, type PoolSettings, type ServerConnection } from "../../mcp/index.js";
import type { AbsentServer, SourceSettings, ToolSource } from "../../tools/index.js";
import type { OutputOwner, RejectedServer } from "../options.js";
import { inSandbox } from "./sandbox.js";
import type { LoginSettings, ServerLogin } from "./server-login.js";

/** A server the session shall have, and how its connection is to behave. */
export interface WantedServer extends OutputOwner {
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
  /** A turn waits longer for it, and fails without it. */
  readonly isRequired?: boolean;
  /** Started when one of its tools is first used, if they are remembered; like any other if not. */
  readonly isLazy?: boolean;
  /** Other sessions of this process may use the same server. One of the client is never shared. */
  readonly mayShare?: boolean;
  /** What the user says about all servers together. */
  readonly pool?: PoolSettings;
}

/** A server of the session, whatever state it is in. */
export interface OpenServer {
  /** As it is wanted now: how its tools are treated may change without a new connection. */
  readonly wanted: WantedServer;
  readonly connection: ServerConnection;
  readonly source: ToolSource;
  /** Undefined when one cannot log in to it. */
  readonly login?: ServerLogin | undefined;
}

/** What the session knows of a tool's server. */
export interface ServerFacts {
  /** The user's word that the server's hints are true. */
  readonly trustsAnnotations?: boolean;
  /** The user's word that what the server answers is no content from outside. */
  readonly trustsResults?: boolean;
  /** Where it runs, if not in the session's directory: its relative paths begin there. */
  readonly cwd?: string;
  /** A client runs or reaches it, under a name of its choice, see `foreignOwner`. */
  readonly isOfClient?: boolean;
}

/** Every call asks for them. */
const facts = new WeakMap<OpenServer, ServerFacts>();

export function factsOf(server: OpenServer): ServerFacts {
  const known = facts.get(server);
  if (known) return known;
  const { trustsAnnotations = false, trustsResults = false } = server.wanted;
  const { spec } = server.connection;
  const cwd = spec.kind === "stdio" ? spec.cwd : undefined;
  const isOfClient = foreignOwner(spec) !== undefined;
  const made = { trustsAnnotations, trustsResults, isOfClient, ...defined({ cwd }) };
  facts.set(server, made);
  return made;
}

/** The servers of a configuration: to connect, to report as failed, and not used with the reason. */
export interface ConfiguredServers {
  readonly wanted: readonly WantedServer[];
  readonly rejected: readonly RejectedServer[];
  readonly absent: readonly AbsentServer[];
}

export function configuredServers({ servers, project }: EffectiveConfig): ConfiguredServers {
  const read = servers.map((server) => configuredServer(server, project));
  return {
    wanted: read.flatMap(({ wanted }) => wanted ?? []),
    rejected: read.flatMap(({ rejected }) => rejected ?? []),
    absent: servers.flatMap((server) => absentOf(server) ?? []),
  };
}

/** One to connect, one to report, or neither: shadowed, untrusted and switched-off servers are reported in other ways. */
export function configuredServer(
  server: EffectiveServer,
  project: string,
): { readonly wanted?: WantedServer; readonly rejected?: RejectedServer } {
  switch (server.status) {
    case "ready":
      return { wanted: wantedOf(server, project) };
    case "disabled":
    case "invalid": {
      if (server.status === "disabled" && server.isIntended) return {};
      const reason = whyNotReady(server) ?? "it cannot be used";
      const origin = server.place.layer === "project" ? "project" : "user";
      return { rejected: { name: server.name, origin, reason, isRequired: isRequired(server) } };
    }
    case "untrusted": {
      const reason = server.question.reasons && whyNotReady(server);
      if (reason === undefined) return {};
      const origin = server.place.layer === "client" ? "client" : "user";
      return { rejected: { name: server.name, origin, reason, hint: LAUNCH_HINT, isRequired: isRequired(server) } };
    }
    case "shadowed":
      return {};
  }
}

function isRequired({ written }: EffectiveServer): boolean {
  return written?.["required"] === true;
}

const LAUNCH_HINT =
  "Approve it for this folder when Tenon asks, or give full paths in its entry, so that it does not depend on the folder.";

/** Answers why a tool is not there. */
function absentOf(server: EffectiveServer): AbsentServer | undefined {
  const reason = whyNotReady(server);
  if (reason === undefined || server.status === "ready") return undefined;
  const { layer } = server.place;
  const origin = layer === "project" || layer === "client" ? layer : "user";
  return { name: server.name, origin, kind: ABSENCE[server.status], reason };
}

const ABSENCE = {
  untrusted: "not_trusted",
  disabled: "disabled",
  invalid: "failed",
  shadowed: "shadowed",
} as const;

function wantedOf({ spec, settings }: ReadyServer, project: string): WantedServer {
  const { origin, sandbox, mayShare, pool } = settings;
  return {
    origin,
    sandbox,
    mayShare,
    pool,
    ...entryFacts(settings),
    spec: inSandbox(spec, sandbox),
    login: {
      account: grantAccount({ ...settings, project }),
      person: grantPerson({ ...settings, project }),
      settings: settings.oauth ?? {},
    },
    ...defined({ project: origin === "project" ? project : undefined }),
  };
}

/** What an entry says of a server that is neither how it is reached nor whose it is. */
function entryFacts(settings: ServerSettings): Omit<WantedServer, "spec" | "origin"> {
  const { limits, tools, allowHosts, urlSource, secrets } = settings;
  const { trustsAnnotations, trustsResults, isRequired, isLazy } = settings;
  return {
    settings: { limits, tools, allowHosts, urlSource, secrets },
    catalog: sourceSettings(settings),
    trustsAnnotations,
    trustsResults,
    isRequired,
    isLazy,
  };
}

/** A server that was given as a whole entry. Of a sandbox the stricter of both counts. */
export function withSettings(server: WantedServer, settings: ServerSettings): WantedServer {
  const login = { account: grantAccount(settings), person: grantPerson(settings), settings: settings.oauth ?? {} };
  return { ...server, ...entryFacts(settings), spec: inSandbox(server.spec, settings.sandbox), login };
}
