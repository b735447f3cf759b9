// What must hold, as pure data. Scenarios cite these ids; the coverage gate fails when one that is not deferred is uncited.

export const REQUIREMENTS = [
  // A. Client-supplied servers over ACP
  {
    id: "A1",
    text: "session/new, load, resume and fork take mcpServers: stdio, http, sse and acp",
    deferred: { issue: 7, why: "load, resume, fork and acp servers come with the complete agent" },
  },
  {
    id: "A2",
    text: "each client server is connected for this session only, eagerly, in parallel, in the background: session/new does not wait",
  },
  {
    id: "A3",
    text: "client servers are never written to disk and gone when the session ends; env and headers are never journaled or logged",
    deferred: { issue: 7, why: "headers and the caches around them come later; the journal's part is S12" },
  },
  {
    id: "A4",
    text: "all tools of client servers are offered as always in the first turn; over the tool budget: behind search, and told",
    deferred: { issue: 5, why: "the budget and search come with the tools room" },
  },
  {
    id: "A5",
    text: "on a server-name conflict the client's wins over project and user, with a warning; tools of different servers coexist",
  },
  {
    id: "A6",
    text: "a server that fails to connect does not fail the session; the others work; the cause goes to the client and to stderr, never to stdout",
  },
  {
    id: "A7",
    text: "no connection, credential, tool or notice of one session is visible to another",
    deferred: { issue: 7, why: "notices and the three-session test come with the complete agent" },
  },
  {
    id: "A8",
    text: "servers end on close, delete, client disconnect, new session, gateway disconnect, process exit and SIGKILL",
  },
  {
    id: "A9",
    text: "mcpCapabilities advertises http, sse and acp",
    deferred: { issue: 7, why: "acp servers come with the complete agent" },
  },
  {
    id: "A10",
    text: "cwd is the session's working directory: roots, relative paths, cwd of stdio servers; session over process",
  },
  {
    id: "A11",
    text: "the client can override the include mode per server and tool",
    deferred: { issue: 5, why: "include modes come with the tools room" },
  },
  {
    id: "A12",
    text: "servers can be added and removed mid-session",
    deferred: { issue: 7, why: "commands and _tenon/session/set_mcp_servers come with the complete agent" },
  },
  {
    id: "A13",
    text: "real servers (filesystem, git, everything) work the whole way: client, agent, session, server",
  },

  // B. Agent-level tools, inclusion, search
  {
    id: "B1",
    text: "servers configured at user and project level merge by server name; an entry is replaced whole",
  },
  {
    id: "B2",
    text: "include modes always, manual and search per server with per-tool overrides",
    deferred: { issue: 5, why: "include modes come with the tools room" },
  },
  {
    id: "B3",
    text: "search picks tools for the request from those in search mode; session tools are never filtered by it",
    deferred: { issue: 5, why: "search" },
  },
  {
    id: "B4",
    text: "session context and request context, with scores, are inspectable",
    deferred: { issue: 5, why: "search" },
  },
  { id: "B5", text: "configuration errors are reported per entry; valid entries work" },

  // C. Tools as types and states
  {
    id: "C1",
    text: "outside the tools room a tool's name, request, response and message are opaque branded types",
    deferred: { issue: 5, why: "only the id is branded in the spine" },
  },
  {
    id: "C2",
    text: "built-in tools stay strictly typed with exhaustive checks beside generic MCP tools",
    deferred: { issue: 6, why: "built-in tools" },
  },
  {
    id: "C3",
    text: "a call has states pending, processing, done and error, each rendered to the person; arguments are validated",
    deferred: { issue: 5, why: "validation against the raw schema comes with the tools room" },
  },
  {
    id: "C4",
    text: "tool lists and specs are owned by the tools room and follow the live state of the connections",
    deferred: { issue: 5, why: "the live catalog comes with the tools room" },
  },
  {
    id: "C5",
    text: "names are namespaced by server and safe for every provider; two servers may have the same tool; duplicates within a server: last wins, warned",
  },

  // D. Engine and library
  { id: "D1", text: "configure, discover, register, inject, execute: each step is callable on its own" },
  { id: "D2", text: "servers in the runtime's options are discovered automatically when work starts" },
  {
    id: "D3",
    text: "transports stdio, sse and streamable http (websocket accepted as a name for it); bearer auth",
  },
  {
    id: "D4",
    text: "filter before registering; transform name, description and schema; a renamed tool still calls the server's own name",
    deferred: { issue: 5, why: "shaping" },
  },
  { id: "D5", text: "provider options per tool reach the provider", deferred: { issue: 5, why: "shaping" } },
  { id: "D6", text: "JSON Schema keeps its meaning to the model", deferred: { issue: 5, why: "dialects" } },
  {
    id: "D7",
    text: "every tool knows its server; a server's tools can be unregistered together",
    deferred: { issue: 5, why: "the live catalog" },
  },
  { id: "D8", text: "connections reconnect by themselves" },
  {
    id: "D9",
    text: "results become content blocks of every kind; errors are marked as errors; an empty result says so",
    deferred: { issue: 5, why: "results" },
  },
  { id: "D10", text: "a result always reaches the model in the next step; exactly one per call" },

  // E. Connections, lifecycle, limits, security
  {
    id: "E1",
    text: "connect, discover, call and disconnect are idempotent and safe in any order",
  },
  {
    id: "E2",
    text: "timeouts for connect, initialise, call and shutdown grace, all configurable",
  },
  {
    id: "E3",
    text: "a crash marks the server unhealthy, fails the calls in flight, is told; its tools answer with an error until it is back",
  },
  { id: "E4", text: "list_changed is honoured between model calls" },
  {
    id: "E5",
    text: "child environment: a minimal baseline plus what the entry lists; secrets of the host never",
  },
  {
    id: "E6",
    text: "URL policy: HTTPS except loopback; the allow-list is configurable",
  },
  { id: "E7", text: "a rate limit per server" },
  {
    id: "E8",
    text: "limits per session on servers and tools offered as always; a warning on many stdio processes",
    deferred: { issue: 5, why: "the tool budget" },
  },
  { id: "E9", text: "output is bounded in memory and in the model's context", deferred: { issue: 5, why: "results" } },
  {
    id: "E10",
    text: "OAuth is done by Tenon; expired credentials mid-session become a tool error that says so",
    deferred: { issue: 8, why: "log-in" },
  },
  {
    id: "E11",
    text: "resources and prompts of servers are usable",
    deferred: { issue: 7, why: "prompts become commands of the complete agent" },
  },
  {
    id: "E12",
    text: "tool schemas are cached across sessions, invalidated on change and failure",
  },

  // F. Gateway
  {
    id: "F1",
    text: "a translator speaks ACP to the editor and the gateway's protocol behind; sessions live in the gateway",
    deferred: { issue: "gateway", why: "no issue is filed yet" },
  },
  {
    id: "F2",
    text: "session-scoped extra tools are registered, read and cleared by session key; the registering side executes them",
    deferred: { issue: "gateway", why: "no issue is filed yet" },
  },
  {
    id: "F3",
    text: "tool events of bridged tools are relayed like native ones",
    deferred: { issue: "gateway", why: "no issue is filed yet" },
  },
  {
    id: "F4",
    text: "gateway disconnect: pending prompts end with a clear error or resume; connections are cleaned up",
    deferred: { issue: "gateway", why: "no issue is filed yet" },
  },
  {
    id: "F5",
    text: "session store with create, get, list, remove and an end hook",
    deferred: { issue: "gateway", why: "no issue is filed yet" },
  },

  // S. The spine (issue 2)
  { id: "S1", text: "npm run demo without a terminal runs its script of prompts and exits 0, with no network request" },
  {
    id: "S2",
    text: "acpx drives tenon acp with server-everything given by the client: the echo is in its JSON output",
  },
  {
    id: "S3",
    text: "with one hung, one failing and one good server session/new answers as fast as with none, and the good tool works in the first turn",
  },
  { id: "S4", text: "a planted fault in each wall makes the responsible step of npm run check fail" },
  { id: "S5", text: "spawn to the initialize answer takes at most 2.5 times an empty node -e 0" },
  { id: "S6", text: "session/new answers within 10 ms at the median with any number of servers" },
  {
    id: "S7",
    text: "malformed JSON, unknown methods, an unknown session, a relative cwd and a second prompt get the right error, and the process lives on",
  },
  { id: "S8", text: "the offline model says once per session that it is offline and how to set a real model" },
  {
    id: "S9",
    text: "the offline model picks the fitting tool, fills its arguments, reports the result, and says what is missing when nothing fits",
  },
  {
    id: "S10",
    text: "tenon chat -p exits 0 when answered, 1 when failed, 2 on wrong usage, 5 when permission was denied",
  },
  { id: "S11", text: "tenon chat takes --mcp-config, --yes, --json (ACP updates as NDJSON) and --model" },
  { id: "S12", text: "the session's journal is appended as decided and holds no secret" },
  { id: "S13", text: "close, end of stdin, SIGTERM and SIGINT leave no child or grandchild" },
  { id: "S14", text: "the packed tarball works in an empty project: types, ESM, command line" },
  { id: "S15", text: "createRuntime: create a session with servers, attach, prompt it, iterate its events, close" },
  { id: "S16", text: "session/cancel ends the turn with the stop reason cancelled, and the next prompt works" },
  { id: "S17", text: "a tool runs only after permission; a refusal reaches the model and the person" },
  { id: "S18", text: "stdout carries the protocol and nothing else; the log goes to stderr or a file" },
  {
    id: "S19",
    text: "a turn streams tool_call, tool_call_update and agent_message_chunk in order and ends with a true stop reason",
  },
  // M. The connections (issue 3)
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
  // G. Configuration and trust (issue 4)
  {
    id: "G1",
    text: "built-in defaults, user file, project files, environment, command line and client are layers in this order; every value keeps where it came from",
  },
  {
    id: "G2",
    text: "servers in configuration are started by a command or reached by a url, and Tenon's extras (allow, deny, disabled and the like) take effect",
  },
  {
    id: "G3",
    text: "variables, defaults, files and the user's commands are filled in; a missing value disables that server with a clear reason",
  },
  {
    id: "G4",
    text: "what a project brings is inert until the person has approved it, shown in full, by command or through session/request_permission; headless means no",
  },
  {
    id: "G5",
    text: "configuration files are watched: running sessions follow changes of servers between turns, with a notice",
  },
  {
    id: "G6",
    text: "tenon mcp list, add, get, remove, enable, disable and tenon trust, each with --json and true exit codes",
  },
  {
    id: "G7",
    text: "for every published trap: 0 processes started and 0 requests sent before approval, interactively and headless",
  },
  { id: "G8", text: "every mutation of any field of an approved server entry asks again, and nothing else does" },
  {
    id: "G9",
    text: "whatever bytes a configuration file holds, they are errors with a place and cost nobody else anything",
  },
  {
    id: "G10",
    text: "a project with a valid, a misspelt and a broken entry: the valid one works after trust, the others are told with file, line, column and a suggestion, in the editor and on the command line",
  },
  {
    id: "G11",
    text: "from an empty home, tenon mcp add and then tenon chat -p use a real server with the offline model",
  },
] as const;

export type RequirementId = (typeof REQUIREMENTS)[number]["id"];
