// `session/list`: the stored sessions as ACP lists them.
import type { ListSessionsRequest, ListSessionsResponse } from "@agentclientprotocol/sdk";
import type { SessionHost, SessionSummary } from "../session/index.js";

export async function listSessions(
  host: SessionHost,
  { cwd, cursor }: Pick<ListSessionsRequest, "cwd" | "cursor">,
): Promise<ListSessionsResponse> {
  const page = await host.listSessions({ ...(cwd == null ? {} : { cwd }), ...(cursor == null ? {} : { cursor }) });
  const { nextCursor } = page;
  return { sessions: page.sessions.map(infoOf), ...(nextCursor === undefined ? {} : { nextCursor }) };
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
    ...(additionalDirectories.length > 0 ? { additionalDirectories: [...additionalDirectories] } : {}),
    title,
    updatedAt: new Date(updatedMs).toISOString(),
  };
}
