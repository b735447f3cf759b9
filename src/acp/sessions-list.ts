// `session/list`: the stored sessions as ACP lists them.

import type { ListSessionsRequest, ListSessionsResponse } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import type { SessionHost, SessionSummary } from "../session/index.js";

export async function listSessions(
  host: SessionHost,
  { cwd, cursor }: Pick<ListSessionsRequest, "cwd" | "cursor">,
): Promise<ListSessionsResponse> {
  const page = await host.listSessions(
    defined({ cwd: cwd == null ? undefined : cwd, cursor: cursor == null ? undefined : cursor }),
  );
  const { nextCursor } = page;
  return { sessions: page.sessions.map(infoOf), ...defined({ nextCursor }) };
}

function infoOf({
  id,
  cwd,
  additionalDirectories,
  title,
  updatedMs,
}: SessionSummary): ListSessionsResponse["sessions"][number] {
  return {
    sessionId: id,
    cwd,
    ...defined({ additionalDirectories: additionalDirectories.length > 0 ? [...additionalDirectories] : undefined }),
    title,
    updatedAt: new Date(updatedMs).toISOString(),
  };
}
