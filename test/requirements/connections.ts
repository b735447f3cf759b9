// What must hold of the connections (issue 3).

export const CONNECTION_REQUIREMENTS = [
  {
    id: "M1",
    text: "a server spec is stdio, http or sse, known by its aliases too, with bearer auth and headers; its fingerprint covers everything that decides what is run",
  },
  {
    id: "M2",
    text: "a connection is always in one of seven states, and what people are told of it is derived from that: server, era, tools, last error, the end of stderr, timings",
  },
  {
    id: "M3",
    text: "both protocol eras are spoken; the era is probed in place with a short deadline, a 5xx, HTML or 202 means legacy, and the verdict is kept on disk",
  },
  {
    id: "M4",
    text: "stdio: minimal environment, the session's cwd, the end of stderr in errors, garbage tolerated, large messages never lose the connection, restarts with backoff",
  },
  {
    id: "M5",
    text: "remote: Streamable HTTP with SSE fallback, https outside loopback, redirects checked, sessions re-opened, no GET storms, DELETE on close, 401 and 403 as a state, no call replayed",
  },
  {
    id: "M6",
    text: "tools, resources, templates and prompts are listed in pages with caps; what is malformed is set aside with a reason; list_changed is coalesced; lists are remembered on disk",
  },
  {
    id: "M7",
    text: "a call has a deadline that progress extends to a cap, can be cancelled, is limited in rate and number, is checked against its schema without stalling, and is never replayed",
  },
  {
    id: "M8",
    text: "what servers ask (roots, elicitation, sampling, logging) goes up through a port; only what can be answered is declared, the rest is declined at once",
  },
  { id: "M9", text: "the MCP conformance suite for clients passes in both requirement sets where no OAuth is needed" },
  {
    id: "M10",
    text: "server-everything over stdio, SSE and Streamable HTTP, server-filesystem, server-memory, context7 and a session-based HTTP server work in full",
  },
  {
    id: "M11",
    text: "whatever a server does, every call ends once, typed and in time; other connections, the event loop and memory are unharmed",
  },
  {
    id: "M12",
    text: "start and stop of every kind of server in every way, SIGKILL of the host included, leaves no process",
  },
] as const;
