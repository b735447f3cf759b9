// The layers of one session, read from where each of them lives.
import { resolve } from "node:path";
import type { World } from "../base/ports/world.js";
import type { ServerSpec } from "../mcp/index.js";
import type { PolicyRule, ToolsLock } from "../tools/index.js";
import type { ImportRequest } from "./foreign/read.js";
import type { ImportName } from "./layers/entry.js";
import { configOf, emptyLayer, type Layer, type LayerServer, mergeLayers, type Problem } from "./layers/layer.js";
import { ignoredPathVariables, possiblePaths, projectFiles, realPathOf } from "./layers/paths.js";
import { readLayer } from "./layers/read-layer.js";
import { environmentLayer } from "./providers.js";
import { lockProblems, readToolsLock } from "./tools-lock.js";

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
