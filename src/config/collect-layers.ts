// The layers of one session, read from where each of them lives.
import { dirname, resolve } from "node:path";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { FOREIGN_LIMITS, LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import type { ServerSpec } from "../mcp/index.js";
import { type LockedTools, lockText, type PolicyRule, parseLock, type ToolsLock } from "../tools/index.js";
import { withConfigLock } from "./edit.js";
import type { ImportRequest } from "./foreign/read.js";
import { type ImportName, type NotifyEntry, type NotifyTarget, PROVIDERS, type ProviderName } from "./layers/entry.js";
import { ignoredPathVariables, isInside, possiblePaths, projectFiles, realPathOf } from "./layers/paths.js";
import {
  configOf,
  emptyLayer,
  type Layer,
  type LayerServer,
  type Merged,
  mergeLayers,
  type Problem,
  readLayer,
  type Sourced,
  sourced,
} from "./layers/read-layer.js";
import type { EffectiveConfig, EmbeddingValues, LoadRequest, ProviderValues } from "./load-config.js";
import { interpolate, isMissing, Secrets } from "./secrets/secrets.js";

export interface ConfigRequest {
  readonly world: World;
  /** The session's directory, a full path: the project whose files are read. */
  readonly cwd: string;
  /** The world's own unless given. */
  readonly env?: World["env"];
  readonly commandLine?: {
    readonly model?: string;
    /** The file named by `--mcp-config`, relative to `cwd`. */
    readonly mcpConfig?: string;
    /** Tried before all others. */
    readonly rules?: readonly PolicyRule[];
  };
  /** What the ACP client or the embedder hands over. */
  readonly clientServers?: readonly ServerSpec[];
}

/** All of them, each where it belongs in the order from the weakest to the strongest. */
export interface LayerSet {
  /** Files of other clients in the user's home that `import` names. */
  readonly foreign: readonly Layer[];
  readonly user: Layer;
  /** What `import` names, then `.mcp.json`, then `.tenon/config.json`. */
  readonly project: readonly Layer[];
  /** Environment, command line; then the client, see `withClient`. */
  readonly above: readonly Layer[];
  readonly toolsLock: ToolsLock | undefined;
  readonly problems: readonly Problem[];
  /** The project's real path. */
  readonly projectPath: string;
  readonly watched: readonly string[];
}

/** All but the client's. Never rejects. */
export async function readLayers(request: ConfigRequest): Promise<LayerSet> {
  const { world, cwd } = request;
  const env = request.env ?? world.env;
  const paths = possiblePaths(env);
  const [projectPath, user, commandLine] = await Promise.all([
    realPathOf(world, cwd),
    paths.configFile === undefined
      ? emptyLayer("user")
      : readLayer(world, { kind: "user", path: paths.configFile, isShared: false }),
    readCommandLine(request),
  ]);
  const { trust, import: names = [] } = configOf(mergeLayers([user]));
  const isIgnored = trust?.projects === "ignore";
  const imported = await importedLayers(names, user, { world, env, cwd, projectPath, hasProject: !isIgnored });
  const ofProject = isIgnored ? [] : await readProject(world, cwd, projectPath, paths.configFile);
  const project = [...imported.layers.filter(({ kind }) => kind === "project"), ...ofProject];
  const foreign = imported.layers.filter(({ kind }) => kind === "user");
  const lockFile = projectFiles(cwd).lock;
  const toolsLock = isIgnored ? undefined : await readToolsLock(world, lockFile, projectPath);
  const above = [environmentLayer(env), ...commandLine];
  const files = [
    ...(isIgnored ? [] : Object.values(projectFiles(cwd))),
    ...[user, ...commandLine].map(({ file }) => file),
    ...imported.paths,
  ];
  const watched = [...files, paths.trustDir].filter((path) => path !== undefined);
  const variables = ignoredPathVariables(env).map((name): Problem => {
    const message = "this is no full path, so it is ignored";
    return { severity: "warning", place: { layer: "environment", name }, message };
  });
  const real = await Promise.all(watched.map((path) => realPathOf(world, path)));
  return {
    foreign,
    user,
    project,
    above,
    toolsLock,
    problems: [
      ...variables,
      ...lockProblems(toolsLock, lockFile),
      ...[...foreign, user, ...project, ...above].flatMap(({ problems }) => problems),
    ],
    projectPath,
    watched: [...new Set([...watched, ...real])],
  };
}

/** The weakest first: of two clients the one that `import` names first counts. */
async function importedLayers(
  names: readonly ImportName[],
  user: Layer,
  request: ImportRequest,
): Promise<{ readonly layers: readonly Layer[]; readonly paths: readonly string[] }> {
  if (names.length === 0) return { layers: [], paths: [] };
  // Only for those who import.
  const { readImports, foreignLayer } = await import("./foreign/read.js");
  const { reads, paths } = await readImports([...new Set(names)].reverse(), request);
  const taken = new Set(user.servers.map(({ name }) => name));
  return { layers: reads.map((read) => foreignLayer(read, taken)), paths };
}

async function readProject(
  world: World,
  cwd: string,
  projectPath: string,
  userFile: string | undefined,
): Promise<readonly Layer[]> {
  const { shared, own } = projectFiles(cwd);
  const layers = [readLayer(world, { kind: "project", path: shared, isShared: true, within: projectPath })];
  // Where the home is the project, the user's own file lies where a project's would: it is the user's.
  const isUsers = userFile !== undefined && (await realPathOf(world, own)) === (await realPathOf(world, userFile));
  if (!isUsers) layers.push(readLayer(world, { kind: "project", path: own, isShared: false, within: projectPath }));
  return await Promise.all(layers);
}

async function readCommandLine({ world, cwd, commandLine }: ConfigRequest): Promise<readonly Layer[]> {
  const { model, mcpConfig } = commandLine ?? {};
  const layers: Layer[] = [];
  if (mcpConfig !== undefined) {
    const path = resolve(cwd, mcpConfig);
    layers.push(await readLayer(world, { kind: "command-line", path, isShared: true, isRequired: true }));
  }
  if (model !== undefined) {
    const place = { layer: "command-line", name: "--model" } as const;
    layers.push({ ...emptyLayer("command-line"), values: [{ path: ["model"], value: model, place }] });
  }
  return layers;
}

/** The same layers with the servers that a client handed over. */
export function withClient(layers: LayerSet, specs: readonly ServerSpec[] = []): LayerSet {
  const servers = specs.map((spec): LayerServer => {
    return { name: spec.name, place: { layer: "client" }, definition: { kind: "spec", spec } };
  });
  return { ...layers, above: [...layers.above, { ...emptyLayer("client"), servers }] };
}

/** What people know it by, whatever the project. */
export const LOCK_NAME = ".tenon/tools.lock";

/** Undefined when there is none. Never rejects: one that cannot be read holds back, and says so. */
async function readToolsLock(world: World, path: string, within: string): Promise<ToolsLock | undefined> {
  const broken = (problem: string): ToolsLock => ({ file: LOCK_NAME, problem, servers: {} });
  try {
    const found = await world.files.find(path);
    if (!found) return undefined;
    if (found.kind !== "file") return broken("it is no file");
    if (!isInside(found.realPath, within)) return broken("it is a link that leads out of the project");
    if (found.bytes > FOREIGN_LIMITS.lockMaxBytes)
      return broken(`it is larger than ${FOREIGN_LIMITS.lockMaxBytes} bytes`);
    return parseLock(await world.files.readText(found.realPath), LOCK_NAME);
  } catch (error) {
    return { ...broken(`it cannot be read: ${messageOf(error)}`), isUnread: true };
  }
}

function lockProblems(lock: ToolsLock | undefined, file: string): readonly Problem[] {
  const place = { layer: "project", file } as const;
  if (lock?.problem !== undefined) {
    const message = `${lock.problem}; no tool of an MCP server is used until it is corrected or deleted`;
    return [{ severity: "error", place, message, ...defined({ isUnread: lock.isUnread ? true : undefined }) }];
  }
  const broken = Object.entries(lock?.servers ?? {}).flatMap(([name, tools]) => (tools ? [] : [name]));
  return broken.map((server) => {
    const message = `what it says cannot be read: none of its tools is used; tenon mcp lock ${server} writes it anew`;
    return { severity: "error", place, server, message };
  });
}

/**
 * Puts servers into the lock, the others in it staying as they are; one that cannot be read is written anew. Returns the
 * file. Throws `config.invalid` where it would lie outside the project.
 */
export async function writeToolsLock(
  world: World,
  project: string,
  servers: Readonly<Record<string, LockedTools>>,
): Promise<string> {
  const { lock: path } = projectFiles(project);
  for (const place of [dirname(path), path]) {
    const found = await world.files.find(place);
    if (!found || isInside(found.realPath, project)) continue;
    const message = `${place} leads out of the project, to ${found.realPath}; it is not written`;
    throw new TenonError("config.invalid", message, { hint: "Remove the link." });
  }
  return await withConfigLock(world, path, async () => {
    const before = await readToolsLock(world, path, project);
    const kept = Object.entries(before?.servers ?? {}).flatMap(([name, tools]) =>
      tools ? [[name, tools] as const] : [],
    );
    await world.files.saveText(path, lockText(Object.fromEntries([...kept, ...Object.entries(servers)])));
    return path;
  });
}

const FIELDS = ["apiKey", "baseUrl"] as const;

export function providerValues(merged: Merged): Readonly<Partial<Record<ProviderName, ProviderValues>>> {
  const { providers = {} } = configOf(merged);
  const given = PROVIDERS.filter((name) => providers[name]);
  const at = (name: ProviderName, field: (typeof FIELDS)[number]) =>
    sourced(merged, ["providers", name, field], providers[name]?.[field]);
  return Object.fromEntries(
    given.map((name) => [name, defined({ apiKey: at(name, "apiKey"), baseUrl: at(name, "baseUrl") })]),
  );
}

export function embeddingValues(merged: Merged): EmbeddingValues | undefined {
  const entry = configOf(merged).search?.embeddings;
  if (!entry) return undefined;
  const { apiKey, baseUrl, model, ...more } = entry;
  const at = (field: (typeof FIELDS)[number], value: string | undefined) =>
    sourced(merged, ["search", "embeddings", field], value);
  const settings = { model, ...defined(more) };
  return { settings, ...defined({ apiKey: at("apiKey", apiKey), baseUrl: at("baseUrl", baseUrl) }) };
}

export function notifyValues(merged: Merged): readonly Sourced<NotifyEntry>[] {
  const given = configOf(merged).gateway?.notify ?? [];
  const entries = "url" in given ? [given] : given;
  const place = (path: readonly string[]) => sourced(merged, path, given)?.place;
  const found = place(["gateway", "notify", "url"]) ?? place(["gateway", "notify"]);
  return found ? entries.map((value) => ({ value, place: found })) : [];
}

/** How long a question waits before it is told elsewhere. */
const NOTIFY_AFTER_S = 20;

/** Of `gateway.notify`, with what its references stand for. Never rejects; one that cannot be had is left out, with a problem. */
export async function notifyTargets(
  { notify = [] }: Pick<EffectiveConfig, "notify">,
  { world, resolveSecret }: Pick<LoadRequest, "world" | "resolveSecret">,
): Promise<{ readonly targets: readonly NotifyTarget[]; readonly problems: readonly Problem[] }> {
  const { env } = world;
  const secrets = new Secrets(world, resolveSecret);
  using deadline = world.deadline(LIMITS.secretTimeoutMs * 2);
  const targets: NotifyTarget[] = [];
  const problems: Problem[] = [];
  for (const { value, place } of notify) {
    const source = { world, env, folder: dirname(place.file ?? ""), secrets, patience: deadline.signal };
    const fill = async (field: "url" | "token", text: string) => {
      const filled = await interpolate(
        { text, path: ["gateway", "notify", field], mayBeSecret: true },
        () => place,
        source,
      );
      if (!isMissing(filled)) return filled.text;
      problems.push({ severity: "error", place, message: filled.reason });
      return undefined;
    };
    const url = await fill("url", value.url);
    const token = value.token === undefined ? undefined : await fill("token", value.token);
    if (url === undefined || (value.token !== undefined && token === undefined)) continue;
    const { form = "json", contents = false, after = NOTIFY_AFTER_S } = value;
    targets.push({ url, form, hasContents: contents, afterMs: after * 1_000, ...defined({ token }) });
  }
  // Who has the address of a channel can post there.
  world.trace?.hide(targets.flatMap(({ url, token }) => [url, ...(token === undefined ? [] : [token])]));
  return { targets, problems };
}

interface ProviderEnvironment {
  /** The environment with what the user's file adds; what is set in the environment itself is stronger. */
  readonly env: World["env"];
  /** What came from elsewhere, for masking. */
  readonly secrets: readonly string[];
  readonly problems: readonly Problem[];
}

/** For `loadModel`. Never rejects; a value that cannot be had is left out, with a problem. */
export async function providerEnvironment(
  config: Pick<EffectiveConfig, "providers">,
  request: Pick<LoadRequest, "world" | "env" | "resolveSecret">,
  only: readonly ProviderName[] = PROVIDERS,
): Promise<ProviderEnvironment> {
  const env = request.env ?? request.world.env;
  const wanted = only.flatMap((name) =>
    FIELDS.map((field) => ({ name, field, given: config.providers[name]?.[field], path: ["providers", name, field] })),
  );
  return await filledEnvironment(wanted, request, env);
}

/**
 * For `embeddingModel`: the environment with what `search.embeddings` says, else with what its provider has. At an address
 * of its own it gets no key but its own: a key goes to the server it is for.
 */
export async function embeddingEnvironment(
  { embeddings, providers }: Pick<EffectiveConfig, "embeddings" | "providers">,
  request: Pick<LoadRequest, "world" | "env" | "resolveSecret">,
): Promise<ProviderEnvironment> {
  const said = embeddings?.settings.model.split("/", 1)[0];
  const name = PROVIDERS.find((one) => one === (said === "gemini" ? "google" : said)) ?? "openai-compatible";
  const { apiKey, baseUrl } = embeddings ?? {};
  const env = request.env ?? request.world.env;
  const replaced = FIELDS.filter((field) => baseUrl || (field === "apiKey" && apiKey));
  const hidden = new Set(replaced.flatMap((field) => PROVIDER_VARIABLES[name][field]));
  const base = Object.fromEntries(Object.entries(env).filter(([variable]) => !hidden.has(variable)));
  const values: ProviderValues = baseUrl
    ? defined({ apiKey, baseUrl })
    : { ...providers[name], ...defined({ apiKey }) };
  const wanted = FIELDS.map((field) => ({ name, field, given: values[field], path: ["search", "embeddings", field] }));
  return await filledEnvironment(wanted, request, base);
}

interface WantedValue {
  readonly name: ProviderName;
  readonly field: (typeof FIELDS)[number];
  readonly given: ProviderValues[keyof ProviderValues];
  readonly path: readonly string[];
}

/** `base` with the values that it does not have yet. */
async function filledEnvironment(
  wanted: readonly WantedValue[],
  request: Pick<LoadRequest, "world" | "env" | "resolveSecret">,
  base: World["env"],
): Promise<ProviderEnvironment> {
  const { world } = request;
  const env = request.env ?? world.env;
  const secrets = new Secrets(world, request.resolveSecret);
  using deadline = world.deadline(LIMITS.secretTimeoutMs * 2);
  const added: Record<string, string> = {};
  const masked: string[] = [];
  const problems: Problem[] = [];
  for (const { name, field, given, path } of wanted) {
    const variables = PROVIDER_VARIABLES[name][field];
    const [variable] = variables;
    if (!given || variable === undefined || variables.some((set) => base[set]?.trim())) continue;
    const { place } = given;
    const source = { world, env, folder: dirname(place.file ?? ""), secrets, patience: deadline.signal };
    const filled = await interpolate({ text: given.value, path, mayBeSecret: field === "apiKey" }, () => place, source);
    if (isMissing(filled)) problems.push({ severity: "error", place, message: filled.reason });
    else {
      added[variable] = filled.text;
      masked.push(...(field === "apiKey" ? [filled.text] : filled.secrets));
    }
  }
  world.trace?.hide(masked);
  return { env: { ...base, ...added }, secrets: masked, problems };
}

// The layer of the environment, and the variables model providers are configured by.

/** The same variables as the models room reads: the first that is set counts, and it is stronger than the user's file. */
const PROVIDER_VARIABLES: Readonly<Record<ProviderName, Record<(typeof FIELDS)[number], readonly string[]>>> = {
  anthropic: { apiKey: ["ANTHROPIC_API_KEY"], baseUrl: ["ANTHROPIC_BASE_URL"] },
  openai: { apiKey: ["OPENAI_API_KEY"], baseUrl: ["OPENAI_BASE_URL"] },
  google: { apiKey: ["GEMINI_API_KEY"], baseUrl: ["GOOGLE_GEMINI_BASE_URL"] },
  "openai-compatible": { apiKey: ["TENON_API_KEY"], baseUrl: ["TENON_BASE_URL", "OPENAI_BASE_URL"] },
};

/** `TENON_MODEL`. Keys and addresses of providers stay in the environment, where the models room finds them. */
function environmentLayer(env: World["env"]): Layer {
  const model = env["TENON_MODEL"]?.trim();
  const place = { layer: "environment", name: "TENON_MODEL" } as const;
  return { ...emptyLayer("environment"), values: model ? [{ path: ["model"], value: model, place }] : [] };
}
