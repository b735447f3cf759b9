// How an editor is to start Tenon: by its name where that leads here, else by its full path.
import { posix, win32 } from "node:path";
import type { World } from "../../base/ports/world.js";

export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface OwnProgram {
  /** The Node that runs this. */
  readonly node: string;
  /** The file this process was started with. */
  readonly script: string;
}

export async function agentCommand(world: World, { node, script }: OwnProgram): Promise<AgentCommand> {
  const own = await realPath(world, script);
  for (const file of inPath(world)) {
    if (world.files.isFile(file) && (await realPath(world, file)) === own) return { command: "tenon", args: ["acp"] };
  }
  return { command: node, args: [own, "acp"] };
}

function inPath({ env, platform }: World): readonly string[] {
  const paths = platform === "win32" ? win32 : posix;
  const folders = (env["PATH"] ?? "").split(paths.delimiter).filter((folder) => paths.isAbsolute(folder));
  return folders.map((folder) => paths.join(folder, platform === "win32" ? "tenon.cmd" : "tenon"));
}

async function realPath({ files }: World, path: string): Promise<string> {
  return (await files.find(path).catch(() => undefined))?.realPath ?? path;
}
