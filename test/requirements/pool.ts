// What must hold of servers that sessions of one process share (issue 8).

export const POOL_REQUIREMENTS = [
  {
    id: "N1",
    text: "ten sessions with the same two user-level servers run two server processes, and every session can call both",
  },
  {
    id: "N2",
    text: "what differs in command, secrets, settings or directory is not shared; nor are a client's servers, nor one whose entry says so",
  },
  {
    id: "N3",
    text: "a server that asks something of its client gets a private process per session, at once and in every later process; each question reaches its own session's person and nobody else",
  },
  {
    id: "N4",
    text: "nothing of one session is visible in another that shares its server: results, progress, log lines, notices, cancels, its end",
  },
  {
    id: "N5",
    text: "sessions are counted: a shared server lives while one uses it, stays idle for a bounded time, then ends; all end with Tenon, however it ends",
  },
  {
    id: "N6",
    text: "to switch a shared server off, on or start it anew in one session changes nothing for the others; one that crashed comes back for all",
  },
  {
    id: "N7",
    text: "server processes are bounded in number and memory for all sessions together: one more is refused with what takes the room and what to do, and none that runs is ended",
  },
  {
    id: "N8",
    text: "one session cannot use up the limits of a server it shares: calls of the others still get their turn",
  },
] as const;
