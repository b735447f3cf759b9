// What a session gets: every server with its status and the reason for it, every value with the place it came from.
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { ServerSpec } from "../mcp/index.js";
import type { CatalogLimits, PolicyRule, ToolsLock } from "../tools/index.js";
import type { ModelEntry, PermissionMode, ProviderName, SandboxMode, ThinkingLevel } from "./layers/entry.js";
import {
  type DisabledServer,
  type LayerValue,
  type Problem,
  placeText,
  problemText,
  type RejectedEntry,
  type ServerIdentity,
  type ShadowedServer,
  type Sourced,
} from "./layers/layer.js";
import type { ServerSettings } from "./servers/spec.js";
import type { TrustQuestion, UntrustedServer } from "./trust/question.js";

export interface ReadyServer extends ServerIdentity {
  readonly status: "ready";
  readonly spec: ServerSpec;
  readonly settings: ServerSettings;
}

export type EffectiveServer = ReadyServer | UntrustedServer | DisabledServer | RejectedEntry | ShadowedServer;

/** A notice for the person that is not a problem. */
export interface Notice {
  readonly text: string;
  readonly server?: string;
}

/** Before interpolation: see `providerEnvironment`. */
export type ProviderValues = Readonly<Partial<Record<"apiKey" | "baseUrl", Sourced<string>>>>;

export interface EffectiveConfig {
  /** One entry per entry of every layer, sorted by name; at most one of a name is ready. */
  readonly servers: readonly EffectiveServer[];
  readonly model?: Sourced<string>;
  readonly thinking?: Sourced<ThinkingLevel>;
  /** What is said about single models, by `provider/name`. */
  readonly models: Readonly<Record<string, ModelEntry>>;
  readonly permissionMode?: Sourced<PermissionMode>;
  /** Only ever true by the user's own word. */
  readonly mayBypass: boolean;
  /** What happens to calls that send or write once content from outside was read. */
  readonly afterUntrusted: "ask" | "off";
  /** In the order in which they are tried: command line, user, project. A project's only ask or deny. */
  readonly rules: readonly PolicyRule[];
  readonly allowHosts: readonly string[];
  /** Variables that commands get although they look like secrets. */
  readonly commandVariables?: readonly string[];
  /** What no server of any layer runs below. */
  readonly leastSandbox: SandboxMode;
  readonly providers: Readonly<Partial<Record<ProviderName, ProviderValues>>>;
  /** How many tools are put in front of the model, and whether it is remembered which prompts led to which tools. */
  readonly tools: { readonly limits: Partial<CatalogLimits>; readonly hasMemory: boolean };
  /** What the project's tools are to be, as its team has locked them. */
  readonly toolsLock?: ToolsLock;
  /** Text the user adds to the system prompt, or puts in place of Tenon's introduction. */
  readonly systemPrompt: { readonly append?: string; readonly override?: string };
  /** Every value in force, with where it was said. */
  readonly values: readonly LayerValue[];
  /** What could be approved: undecided questions, those of servers first. */
  readonly questions: readonly TrustQuestion[];
  /** About the project's settings, decided or not; undefined when it has none. */
  readonly projectSettings?: TrustQuestion;
  readonly notices: readonly Notice[];
  readonly problems: readonly Problem[];
  /** The project's real path. */
  readonly project: string;
  /** Files and folders whose change would change this. */
  readonly watched: readonly string[];
}

const LISTS = ["servers", "rules", "allowHosts", "values", "questions", "notices", "problems", "watched"] as const;
const OBJECTS = ["models", "providers", "tools", "systemPrompt"] as const;

/** Whether this is one that was written down; what is in its parts was Tenon's own word then. */
export function isEffectiveConfig(value: JsonValue): value is JsonObject & EffectiveConfig {
  if (!isJsonObject(value)) return false;
  return LISTS.every((key) => Array.isArray(value[key])) && OBJECTS.every((key) => isJsonObject(value[key]));
}

export function readyServers(config: EffectiveConfig): readonly ReadyServer[] {
  return config.servers.filter((server) => server.status === "ready");
}

/** Whatever must not be shown or written: what was fetched for it, and what stands in it where only secrets do. */
export function secretsIn(config: EffectiveConfig): readonly string[] {
  const ofServers = readyServers(config).flatMap(({ settings: { secrets, oauth = {} } }) => [
    ...secrets,
    ...[oauth.clientSecret, oauth.privateKey, oauth.assertion, oauth.idp?.clientSecret, oauth.idp?.idToken],
  ]);
  const ofProviders = Object.values(config.providers).map(({ apiKey }) => apiKey?.value);
  return [...ofServers, ...ofProviders].filter((secret) => secret !== undefined);
}

/** Why a server is not used, in one sentence; undefined when it is. */
export function whyNotReady(server: EffectiveServer): string | undefined {
  switch (server.status) {
    case "ready":
      return undefined;
    case "untrusted":
      return whyUntrusted(server);
    case "disabled":
      return server.reason;
    case "invalid":
      return server.problems.map(problemText).join("; ");
    case "shadowed":
      return `replaced by the server of the same name in ${placeText(server.by)}`;
  }
}

function whyUntrusted({ question: { reasons }, isDenied, place }: UntrustedServer): string {
  const why = reasons ? `: in this folder ${reasons.join("; ")}` : `; it comes from the project (${placeText(place)})`;
  const unapproved = reasons ? "not approved" : "not trusted yet";
  return isDenied ? `denied by you${why}` : `${unapproved}${why}: see tenon trust`;
}
