// The project's lock of tool definitions, read and written. It can only tighten, so it applies before the project is trusted.

import { dirname } from "node:path";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { FOREIGN_LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { type LockedTools, lockText, parseLock, type ToolsLock } from "../tools/index.js";
import { withConfigLock } from "./edit.js";
import type { Problem } from "./layers/layer.js";
import { isInside, projectFiles } from "./layers/paths.js";

/** What people know it by, whatever the project. */
export const LOCK_NAME = ".tenon/tools.lock";

/** Undefined when there is none. Never rejects: one that cannot be read holds back, and says so. */
export async function readToolsLock(world: World, path: string, within: string): Promise<ToolsLock | undefined> {
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

export function lockProblems(lock: ToolsLock | undefined, file: string): readonly Problem[] {
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
