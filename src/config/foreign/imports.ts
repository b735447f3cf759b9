// Every file of some other clients, for this person and this project: what `import` keeps live and `tenon mcp import` copies.
import type { World } from "../../base/ports/world.js";
import type { ImportName } from "../entry.js";
import { foreignPlaces } from "./places.js";
import { type ForeignFile, type ForeignRead, readForeign } from "./read-foreign.js";

export interface ImportRequest {
  readonly world: World;
  readonly env: World["env"];
  /** The session's directory, as given and with links followed. */
  readonly cwd: string;
  readonly projectPath: string;
  /** Whether projects' files are looked at. */
  readonly hasProject: boolean;
  /** For which configuration all of them are translated; each for its owner's unless given. */
  readonly layer?: "user" | "project";
}

export interface ImportedFiles {
  /** In the order of the names, and of one client the weaker first. */
  readonly reads: readonly ForeignRead[];
  /** Whether they are there or not. */
  readonly paths: readonly string[];
}

/** Never rejects. */
export async function readImports(names: readonly ImportName[], request: ImportRequest): Promise<ImportedFiles> {
  const files = (await Promise.all([...new Set(names)].map((client) => filesOf(client, request)))).flat();
  const { world, cwd, projectPath } = request;
  const context = { world, project: [...new Set([cwd, projectPath])] };
  const reads = await Promise.all(files.map((file) => readForeign(world, file, context)));
  return { reads, paths: files.map(({ path }) => path) };
}

async function filesOf(client: ImportName, request: ImportRequest): Promise<readonly ForeignFile[]> {
  const { world, env, cwd, projectPath, layer } = request;
  const { user, project } = foreignPlaces(client, { platform: world.platform, env, cwd });
  // Where the home is the project, the person's own file lies where a project's would: it is theirs.
  const own = new Set(await Promise.all(user.map((path) => realPathOf(world, path))));
  const files: ForeignFile[] = user.map((path) => ({ client, path, owner: "user", layer: layer ?? "user" }));
  for (const path of request.hasProject ? project : []) {
    if (own.has(await realPathOf(world, path))) continue;
    files.push({ client, path, owner: "project", layer: layer ?? "project", within: projectPath });
  }
  return files;
}

/** What cannot be resolved stays as it is: then nothing is read there either. */
async function realPathOf(world: World, path: string): Promise<string> {
  return (await world.files.find(path).catch(() => undefined))?.realPath ?? path;
}
