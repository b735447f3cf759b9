// Finds stored sessions by their id or the beginning of it.

import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { tenonPaths } from "../../config/index.js";
import { listSessions, type SessionSummary, StoredSessions } from "../../session/index.js";
import type { CommandContext } from "../configuration/context.js";

export function storedSessions({ world }: CommandContext): StoredSessions {
  return new StoredSessions(world, tenonPaths(world.env).stateDir);
}

export async function allSessions(context: CommandContext, cwd?: string): Promise<readonly SessionSummary[]> {
  const { folder } = storedSessions(context);
  const sessions: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const request = defined({ cwd, cursor });
    const page = await listSessions(context.world, folder, request);
    sessions.push(...page.sessions);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return sessions;
}

/** Throws `session.not_found`, or `usage.invalid` where several begin so. */
export async function sessionLike(text: string, context: CommandContext): Promise<SessionSummary> {
  const found = (await allSessions(context)).filter(({ id }) => id.startsWith(text));
  const exact = found.find(({ id }) => id === text) ?? found[0];
  if (!exact) {
    throw new TenonError("session.not_found", `there is no session ${JSON.stringify(text)}`, {
      hint: "See tenon sessions list --all.",
    });
  }
  if (exact.id !== text && found.length > 1) {
    throw new TenonError("usage.invalid", `${found.length} sessions begin with ${JSON.stringify(text)}`, {
      hint: `One of: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(", ")}${found.length > 5 ? ", …" : ""}`,
    });
  }
  return exact;
}
