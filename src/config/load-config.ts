// All layers together: which servers and values a session gets, and why the others are not among them.
import { dirname } from "node:path";
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { LAUNCH_LIMITS, LIMITS } from "../base/limits.js";
import { recorded } from "../base/ports/trace.js";
import type { ServerSpec } from "../mcp/index.js";
import type { EmbeddingSettings } from "../models/index.js";
import type { CatalogLimits, PolicyRule, ToolsLock } from "../tools/index.js";
import {
  type ConfigRequest,
  embeddingValues,
  type LayerSet,
  notifyValues,
  providerValues,
  readLayers,
  withClient,
} from "./collect-layers.js";
import {
  type ChatNotices,
  isRemoteEntry,
  type ModelEntry,
  type NotifyEntry,
  type PermissionMode,
  type ProviderName,
  type SandboxMode,
  type ThinkingLevel,
} from "./layers/entry.js";
import { type PossiblePaths, possiblePaths } from "./layers/paths.js";
import {
  configOf,
  type DisabledServer,
  disabledServer,
  identityOf,
  isDisabled,
  isWritten,
  LAYER_NAMES,
  type Layer,
  type LayerServer,
  type LayerValue,
  type Merged,
  mergeLayers,
  type Place,
  type Problem,
  placeText,
  type RejectedEntry,
  type ServerIdentity,
  type ServerStack,
  type ShadowedServer,
  type Sourced,
  shadowedBy,
  sourced,
  winnerOf,
} from "./layers/read-layer.js";
import { type InterpolationSource, type ResolveSecret, Secrets } from "./secrets/secrets.js";
import { givenSettings, type LayerRules, leastOfAll, type ServerSettings, toSpec } from "./servers/spec.js";
import {
  type JudgedProject,
  judgeProject,
  launchQuestion,
  questionsByFile,
  type TrustQuestion,
  type UntrustedServer,
} from "./trust/project.js";
import { TrustStore } from "./trust/store.js";

export interface LoadRequest extends ConfigRequest {
  /** How `!command` and `keyring:name` of the user's own file are answered; without it such servers are disabled. */
  readonly resolveSecret?: ResolveSecret;
}

/** Never rejects. Starts nothing and sends nothing; secrets of the user's own servers are fetched, and waited for. */
export async function loadConfig(request: LoadRequest): Promise<EffectiveConfig> {
  const secrets = new Secrets(request.world, request.resolveSecret);
  using deadline = request.world.deadline(LIMITS.secretTimeoutMs * 2);
  return await loadWith(request, secrets, deadline.signal);
}

/** The same with secrets that outlive one load; when `patience` aborts, those still under way are not waited for. */
export async function loadWith(
  request: ConfigRequest,
  secrets: Secrets,
  patience: AbortSignal,
  layers?: Promise<LayerSet>,
): Promise<EffectiveConfig> {
  return await recorded(request.world, {
    ask: "configuration",
    about: { cwd: request.cwd, client: (request.clientServers ?? []).map(({ name }) => name) },
    work: async () => {
      const loading = loadNow(request, secrets, patience, layers ?? readLayers(request));
      const config = await loading.catch((error: unknown) => unreadable(request, error));
      request.world.trace?.hide(secretsIn(config)); // before it is recorded with them in it
      return config;
    },
    read: (recorded) => (isEffectiveConfig(recorded) ? recorded : undefined),
  });
}

async function loadNow(
  request: ConfigRequest,
  secrets: Secrets,
  patience: AbortSignal,
  read: Promise<LayerSet>,
): Promise<EffectiveConfig> {
  const { world, cwd } = request;
  const env = request.env ?? world.env;
  const layers = withClient(await read, request.clientServers);
  const store = new TrustStore(world, possiblePaths(env).trustDir);
  const judged = await judgeProject(layers, { world, env, cwd, store });
  const merged = mergeLayers([...layers.foreign, layers.user, judged.approved, ...layers.above]);
  const rules = rulesOf(merged, possiblePaths(env));
  const makers: Makers = { request, layers, judged, rules, secrets, patience, store, questions: [], problems: [] };
  const stacks = [...merged.servers.values()];
  const statuses = (await Promise.all(stacks.map((stack) => statusesOf(stack, makers)))).flat();
  const all = [...layers.foreign, layers.user, ...layers.project, ...layers.above];
  const servers = [...statuses, ...judged.others, ...all.flatMap(({ invalid }) => invalid)];
  return {
    ...valuesOf(merged, rules),
    rules: rulesInOrder(request, layers),
    servers: inOrderGiven(servers, all),
    questions: [...judged.questions, ...makers.questions].sort(
      (one, other) => Number(!one.server) - Number(!other.server),
    ),
    ...defined({ projectSettings: judged.settings, toolsLock: layers.toolsLock }),
    notices: [...stacks.flatMap(shadowNotices), ...trustNotices(judged)],
    problems: [...layers.problems, ...judged.problems, ...makers.problems, ...statuses.flatMap(idleKeys)],
    project: layers.projectPath,
    watched: layers.watched,
  };
}

/** The strongest layer first, within it as they are written: they are connected and listed in this order. */
function inOrderGiven(servers: readonly EffectiveServer[], layers: readonly Layer[]): readonly EffectiveServer[] {
  const named = layers.toReversed().flatMap((layer) => [...layer.servers, ...layer.invalid].map(({ name }) => name));
  const places = new Map(named.toReversed().map((name, index) => [name, named.length - index]));
  return servers.toSorted((one, other) => (places.get(one.name) ?? 0) - (places.get(other.name) ?? 0));
}

/** For a configuration that cannot be loaded: uses no server, asks about every tool, and reports the reason. */
function unreadable({ world, cwd, clientServers = [] }: ConfigRequest, error: unknown): EffectiveConfig {
  const message = `the configuration cannot be read: ${messageOf(error)}`;
  world.log.error("config.unreadable", { error: message, stack: error instanceof Error ? error.stack : undefined });
  const place: Place = { layer: "user" };
  return {
    servers: clientServers.map(({ name }): EffectiveServer => {
      return { status: "disabled", name, place: { layer: "client" }, reason: message, isWaiting: false };
    }),
    ...valuesOf(mergeLayers([]), { allowHosts: [], sandbox: { paths: possiblePaths({}) } }),
    afterUntrusted: "ask",
    leastSandbox: "read-only",
    tools: { limits: {}, hasMemory: false },
    rules: [],
    questions: [],
    notices: [],
    problems: [{ severity: "error", place, message }],
    project: cwd,
    watched: [],
  };
}

interface Makers {
  readonly request: ConfigRequest;
  readonly layers: LayerSet;
  readonly judged: JudgedProject;
  readonly rules: LayerRules;
  readonly secrets: Secrets;
  readonly patience: AbortSignal;
  readonly store: TrustStore;
  /** About servers that the session's folder could replace. */
  readonly questions: TrustQuestion[];
  readonly problems: Problem[];
}

async function statusesOf(stack: ServerStack, makers: Makers): Promise<readonly EffectiveServer[]> {
  const winner = winnerOf(stack);
  const status = await statusOf(winner, makers).catch((error: unknown) => disabledServer(winner, messageOf(error)));
  const shadowed = shadowedBy(stack).map((server): EffectiveServer => {
    return { status: "shadowed", ...identityOf(server), by: winner.place };
  });
  return [status, ...shadowed];
}

async function statusOf(server: LayerServer, makers: Makers): Promise<EffectiveServer> {
  const { name, place, definition } = server;
  const identity = identityOf(server);
  const { rules } = makers;
  if (definition.kind === "spec") {
    const { spec } = definition;
    return await inFolder({ status: "ready", ...identity, spec, settings: givenSettings(rules) }, server, makers);
  }
  if (isDisabled(server) || !isWritten(server)) {
    return { ...disabledServer(server, `disabled in ${placeText(place)}`), isIntended: true };
  }
  const program = place.layer === "project" ? makers.judged.programs.get(name) : undefined;
  if (place.layer === "project" && program === undefined && !isRemoteEntry(definition.entry)) {
    // What was approved is that there is no such file: one that turns up later was not.
    const reason = `its command ${JSON.stringify(definition.entry.command)} is not found (${placeText(place)})`;
    return disabledServer(server, reason);
  }
  const result = await toSpec(server, rules, sourceFor(place, makers), program);
  if (result.kind !== "ready") return disabledServer(server, result.reason, result.kind === "waiting");
  const { spec, settings } = result;
  return await inFolder({ status: "ready", ...identity, spec, settings }, server, makers);
}

/** A server that does not come from the project, and that the session's folder could replace, is asked about first. */
async function inFolder(ready: ReadyServer, server: LayerServer, makers: Makers): Promise<EffectiveServer> {
  const { spec } = ready;
  const { request, layers, store } = makers;
  if (spec.kind !== "stdio" || ready.place.layer === "project" || spec.approved?.by === "program") return ready;
  const { launchConcern } = await import("../mcp/index.js");
  const concern = await launchConcern(spec, request.cwd, request.world).catch(() => undefined); // told when it is started
  if (!concern) return ready;
  const asked = launchQuestion(server, spec, concern, layers.projectPath);
  const { decision, isChanged, problems } = await store.verdictOn(asked);
  makers.problems.push(...problems);
  if (decision === "approved") {
    return { ...ready, spec: { ...spec, approved: { by: "folder", files: concern.files, key: concern.key } } };
  }
  const question = { ...asked, isChanged };
  if (decision === "undecided") makers.questions.push(question);
  return { ...identityOf(server), status: "untrusted", question, isDenied: decision === "denied" };
}

/** What an entry may draw on depends on the layer it stands in. */
function sourceFor(place: Place, { request, layers, secrets, patience }: Makers): InterpolationSource {
  const { world } = request;
  return {
    world,
    env: request.env ?? world.env,
    folder: place.file === undefined ? request.cwd : dirname(place.file),
    patience,
    ...defined({
      within: place.layer === "project" ? layers.projectPath : undefined,
      secrets: place.layer === "user" ? secrets : undefined,
    }),
  };
}

/** Rules of a project apply before it is trusted: they can only tighten, and their reasons are not shown. */
function rulesInOrder({ commandLine }: ConfigRequest, { user, project }: LayerSet): readonly PolicyRule[] {
  const ofProject = project.flatMap(({ rules = [] }) => rules).filter(({ effect }) => effect !== "allow");
  return [...(commandLine?.rules ?? []), ...(user.rules ?? []), ...ofProject];
}

const BYTES_PER_MB = 1_048_576;

function rulesOf(merged: Merged, paths: PossiblePaths): LayerRules {
  const { allowHosts = [], sandbox, serverLimits: { idleMs, maxProcesses, maxMemoryMb } = {} } = configOf(merged);
  const maxMemoryBytes = maxMemoryMb === undefined ? undefined : maxMemoryMb * BYTES_PER_MB;
  return {
    allowHosts,
    sandbox: { ...sandbox, paths },
    pool: defined({ idleMs, maxProcesses, maxMemoryBytes }),
  };
}

type FromAllLayers = "servers" | "rules" | "questions" | "projectSettings" | "toolsLock" | "notices" | "problems";
type Values = Omit<EffectiveConfig, FromAllLayers | "project" | "watched">;

function valuesOf(merged: Merged, { allowHosts, sandbox }: LayerRules): Values {
  const { model, thinking, models = {}, permissions, chat, commands, systemPrompt = {}, tools = {} } = configOf(merged);
  const { memory, ...limits } = tools;
  const notify = notifyValues(merged);
  return {
    mayBypass: permissions?.allowBypass === true,
    afterUntrusted: permissions?.afterUntrusted ?? "off",
    chatNotices: chat?.notices ?? "on",
    allowHosts,
    commandVariables: commands?.env?.allow ?? [],
    leastSandbox: leastOfAll(sandbox),
    providers: providerValues(merged),
    models,
    tools: { limits: defined(limits), hasMemory: memory !== false },
    systemPrompt: defined(systemPrompt),
    values: [...merged.values.values()],
    ...defined({
      embeddings: embeddingValues(merged),
      notify: notify.length > 0 ? notify : undefined,
      model: sourced(merged, ["model"], model),
      permissionMode: sourced(merged, ["permissions", "mode"], permissions?.mode),
      thinking: sourced(merged, ["thinking"], thinking),
    }),
  };
}

function shadowNotices(stack: ServerStack): readonly Notice[] {
  const winner = winnerOf(stack);
  const told = shadowedBy(stack).filter((shadowed) => !isReplacedOnPurpose(shadowed, winner));
  return told.map(({ name, place }) => {
    const twice = place.layer === "client" && winner.place.layer === "client";
    const text = twice
      ? `the client sent two servers named ${JSON.stringify(name)}; the last one counts`
      : `the server ${JSON.stringify(name)} of the ${where(winner.place)} replaces the one of the ${where(place)}`;
    return { text, server: name };
  });
}

/** Of an imported server: the user's own entry of that name, or the same entry at another client. */
function isReplacedOnPurpose(shadowed: LayerServer, winner: LayerServer): boolean {
  if (shadowed.place.client === undefined || winner.place.layer !== "user") return false;
  if (winner.place.client === undefined) return true;
  const written = ({ definition }: LayerServer) => canonicalJson(definition.kind === "entry" ? definition.written : {});
  return written(shadowed) === written(winner);
}

function where(place: Place): string {
  return place.file === undefined ? LAYER_NAMES[place.layer] : `${LAYER_NAMES[place.layer]} (${placeText(place)})`;
}

/** One for each file. A denied entry is no news. */
function trustNotices({ questions }: JudgedProject): readonly Notice[] {
  return questionsByFile(questions).map((group): Notice => {
    const [first] = group;
    if (group.length === 1 && first) {
      const { server, place, isChanged, isOutdated } = first;
      const what = server === undefined ? "settings" : `server ${JSON.stringify(server)}`;
      const since = isOutdated ? "approved in an older form" : "not trusted yet";
      const why = isChanged ? "changed since it was decided on" : since;
      const text = `the project's ${what} (${placeText(place)}) is ${why}, so it is not used; see tenon trust`;
      return server === undefined ? { text } : { text, server };
    }
    const names = group.map(({ server }) => (server === undefined ? "its settings" : JSON.stringify(server)));
    const { namedServers } = LAUNCH_LIMITS;
    const more = names.length > namedServers ? ` and ${names.length - namedServers} more` : "";
    const shown = names.slice(0, namedServers).join(", ");
    const file = first?.place.file ?? "the project";
    return {
      text: `${group.length} entries of ${file} are not trusted yet, so they are not used: ${shown}${more}; see tenon trust`,
    };
  });
}

/** Warns of keys that have no effect. */
function idleKeys(server: EffectiveServer): readonly Problem[] {
  if (server.status !== "ready") return [];
  const { place, spec, settings } = server;
  const messages = settings.sandbox.refused.map(
    (key) => `a project cannot loosen your sandbox for projects: its sandbox.${key} is ignored`,
  );
  if (spec.kind === "stdio" && settings.account !== undefined) {
    messages.unshift("account has no effect on a server that is started here, only on one with a url");
  }
  const name = `server ${JSON.stringify(server.name)}`;
  return messages.map((message): Problem => ({ severity: "warning", place, message: `${name}: ${message}` }));
}

export interface ReadyServer extends ServerIdentity {
  readonly status: "ready";
  readonly spec: ServerSpec;
  readonly settings: ServerSettings;
}

export type EffectiveServer = ReadyServer | UntrustedServer | DisabledServer | RejectedEntry | ShadowedServer;

/** A notice for the person that is not a problem. */
interface Notice {
  readonly text: string;
  readonly server?: string;
}

/** Before interpolation: see `providerEnvironment`. */
export interface ProviderValues {
  readonly apiKey?: Sourced<string>;
  readonly baseUrl?: Sourced<string>;
}

/** Before interpolation: see `embeddingEnvironment`. */
export interface EmbeddingValues extends ProviderValues {
  readonly settings: EmbeddingSettings;
}

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
  readonly chatNotices: ChatNotices;
  /** In the order in which they are tried: command line, user, project. A project's only ask or deny. */
  readonly rules: readonly PolicyRule[];
  readonly allowHosts: readonly string[];
  /** Variables that commands get although they look like secrets. */
  readonly commandVariables?: readonly string[];
  /** What no server of any layer runs below. */
  readonly leastSandbox: SandboxMode;
  readonly providers: Readonly<Partial<Record<ProviderName, ProviderValues>>>;
  /** The model that tools behind search are compared with by meaning; none unless given. Only ever the user's word. */
  readonly embeddings?: EmbeddingValues;
  /** Before interpolation: see `notifyTargets`. Only ever the user's word. */
  readonly notify?: readonly Sourced<NotifyEntry>[];
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

/** Whatever must not be shown or written: what was fetched for it, and what stands in it where only secrets do. */
export function secretsIn(config: EffectiveConfig): readonly string[] {
  const ready = config.servers.filter((server) => server.status === "ready");
  const ofServers = ready.flatMap(({ settings: { secrets, oauth = {} } }) => [
    ...secrets,
    ...[oauth.clientSecret, oauth.privateKey, oauth.assertion, oauth.idp?.clientSecret, oauth.idp?.idToken],
  ]);
  const ofProviders = Object.values(config.providers).map(({ apiKey }) => apiKey?.value);
  const ofNotify = (config.notify ?? []).flatMap(({ value: { url, token } }) => [url, token]);
  return [...ofServers, ...ofProviders, ...ofNotify, config.embeddings?.apiKey?.value].filter(
    (secret) => secret !== undefined,
  );
}
