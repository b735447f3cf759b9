// What must hold, as pure data. Scenarios cite these ids; the coverage gate fails when one that is not deferred is uncited.

import { ACP_LOAD_REQUIREMENTS } from "./requirements/acp-load.js";
import { ADAPTER_REQUIREMENTS } from "./requirements/adapters.js";
import { BUILTIN_REQUIREMENTS } from "./requirements/builtin.js";
import { CLI_REQUIREMENTS } from "./requirements/cli.js";
import { CLIENT_SERVER_REQUIREMENTS } from "./requirements/client-servers.js";
import { CONFIGURATION_REQUIREMENTS } from "./requirements/configuration.js";
import { CONNECTION_REQUIREMENTS } from "./requirements/connections.js";
import { DOCS_REQUIREMENTS } from "./requirements/docs.js";
import { GATEWAY_REQUIREMENTS } from "./requirements/gateway.js";
import { HARDENING_REQUIREMENTS } from "./requirements/hardening.js";
import { IMPORT_REQUIREMENTS } from "./requirements/imports.js";
import { LIBRARY_REQUIREMENTS } from "./requirements/library.js";
import { MODEL_REQUIREMENTS } from "./requirements/models.js";
import { NODE_REQUIREMENTS } from "./requirements/nodes.js";
import { OAUTH_REQUIREMENTS } from "./requirements/oauth.js";
import { POOL_REQUIREMENTS } from "./requirements/pool.js";
import { REPLAY_REQUIREMENTS } from "./requirements/replay.js";
import { SANDBOX_REQUIREMENTS } from "./requirements/sandbox.js";
import { SERVE_REQUIREMENTS } from "./requirements/serve.js";
import { TASK_REQUIREMENTS } from "./requirements/tasks.js";
import { TERMINAL_REQUIREMENTS } from "./requirements/terminal.js";
import { TOOL_REQUIREMENTS } from "./requirements/tools.js";
import { TURN_REQUIREMENTS } from "./requirements/turns.js";
import { WRAP_REQUIREMENTS } from "./requirements/wrap.js";

const HERE = [
  // A. Client-supplied servers over ACP
  { id: "A1", text: "session/new, load, resume and fork take mcpServers: stdio, http, sse and acp" },
  {
    id: "A2",
    text: "each client server is connected for this session only, eagerly, in parallel, in the background: session/new does not wait",
  },
  {
    id: "A3",
    text: "client servers are never written to disk and gone when the session ends; env and headers are never journaled or logged",
  },
  {
    id: "A4",
    text: "all tools of client servers are offered as always in the first turn; over the tool budget: behind search, and told",
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
  },
  {
    id: "A8",
    text: "servers end on close, delete, client disconnect, new session, gateway disconnect, process exit and SIGKILL",
  },
  { id: "A9", text: "mcpCapabilities advertises http, sse and acp" },
  {
    id: "A10",
    text: "cwd is the session's working directory: roots, relative paths, cwd of stdio servers; session over process",
  },
  {
    id: "A11",
    text: "the client can override the include mode per server and tool",
  },
  { id: "A12", text: "servers can be added and removed mid-session" },
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
  },
  {
    id: "B3",
    text: "search picks tools for the request from those in search mode; session tools are never filtered by it",
  },
  {
    id: "B4",
    text: "session context and request context, with scores, are inspectable",
  },
  { id: "B5", text: "configuration errors are reported per entry; valid entries work" },

  // C. Tools as types and states
  {
    id: "C1",
    text: "outside the tools room a tool's name, request, response and message are opaque branded types",
  },
  {
    id: "C2",
    text: "built-in tools stay strictly typed with exhaustive checks beside generic MCP tools",
  },
  {
    id: "C3",
    text: "a call has states pending, processing, done and error, each rendered to the person; arguments are validated",
  },
  {
    id: "C4",
    text: "tool lists and specs are owned by the tools room and follow the live state of the connections",
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
  },
  { id: "D5", text: "provider options per tool reach the provider" },
  { id: "D6", text: "JSON Schema keeps its meaning to the model" },
  {
    id: "D7",
    text: "every tool knows its server; a server's tools can be unregistered together",
  },
  { id: "D8", text: "connections reconnect by themselves" },
  {
    id: "D9",
    text: "results become content blocks of every kind; errors are marked as errors; an empty result says so",
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
    text: "a crash marks the server unhealthy, ends the calls in flight as unknown, is told; calls made meanwhile wait for its restart, within a bound, then fail with the cause",
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
  },
  { id: "E9", text: "output is bounded in memory and in the model's context" },
  {
    id: "E10",
    text: "OAuth is done by Tenon; expired credentials mid-session become a tool error that says so",
  },
  {
    id: "E11",
    text: "resources and prompts of servers are usable",
  },
  {
    id: "E12",
    text: "tool schemas are cached across sessions, invalidated on change and failure",
  },

  // F. Gateway
  {
    id: "F1",
    text: "a translator speaks ACP to the editor and the gateway's protocol behind; sessions live in the gateway",
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
  // O. Seeing inside
  {
    id: "O1",
    text: "--trace FILE records every ACP, MCP and model message of a run in order, enough to replay it, and no secret of the client, the environment or the provider",
  },
  {
    id: "O2",
    text: "turns, model requests and tool calls are OpenTelemetry spans by the GenAI and MCP conventions for whoever registers an SDK; a client's trace is continued and told to servers",
  },
  {
    id: "O3",
    text: "a server's sampling reaches the session's model only with a person's yes, within the session's budget, and shows the person what is sent",
  },
  // P. Sessions that survive (issue 7)
  {
    id: "P1",
    text: "session/load replays the whole conversation as updates and then answers; the model goes on knowing all of it",
  },
  { id: "P2", text: "session/resume goes on with a session and replays nothing" },
  { id: "P3", text: "session/list is paged, the session used last first, filtered by cwd, with title and time" },
  { id: "P4", text: "session/fork copies a session with its results; session/delete removes all there is of one" },
  {
    id: "P5",
    text: "kill -9 in the middle of turns, by seeds, then load: every update the client had read is replayed, no journal is corrupted, no process is left, and no prompt is run again",
  },
  {
    id: "P6",
    text: "servers given to load, resume and fork take the place of the earlier ones, and are read as leniently as in session/new",
  },
  {
    id: "P7",
    text: "a session that is open, here or in another process, is not opened a second time, and that is said",
  },
  {
    id: "P8",
    text: "a damaged journal shows all that comes before the damage, says what it does not show, and goes on",
  },
  {
    id: "P9",
    text: "acpx drives sessions over their life: opens, resumes or loads in another process, cancels, and switches modes",
  },
  { id: "P10", text: "a client with an old ACP SDK works, with a server it gives and a session it takes up again" },
  // P20… What a person sets and types (issue 7)
  {
    id: "P20",
    text: "modes ask, plan, auto-edit, and bypass only where the user's own configuration allows it: in every answer that opens a session, in force with the next call, each change told, and kept with the session",
  },
  {
    id: "P21",
    text: "config options mode, model, thinking and include: only what can be had, in force with the next model call, each change told; what cannot be had is refused by name",
  },
  {
    id: "P22",
    text: "slash commands are announced when a session opens and whenever they change; /mcp starts anew, switches, adds and removes servers of the session; /model lists and changes the model",
  },
  {
    id: "P23",
    text: "every prompt of a connected server is a command; its arguments by place or by name; what is missing is asked for with what the server suggests",
  },
  {
    id: "P24",
    text: "resource links of connected servers, @server:uri and files of the session's directories are read and attached, bounded; what fails is told and costs only itself",
  },
  {
    id: "P25",
    text: "authenticate is harmless where a model can answer and says which variables would help where none can; a terminal method for clients that have one; logout",
  },
  {
    id: "P26",
    text: "a client's system prompt is appended or takes the place of Tenon's own; additional directories; session titles, status, and usage with the session's cost",
  },
  {
    id: "P27",
    text: "requests sent in one burst with initialize wait instead of failing; updates keep order and none comes before the answer that creates its session",
  },
] as const;

/** Some are in files of their own: M of the connections, G of the configuration, T of the tools, P40… of client servers, P60… of load. */
type Requirement =
  | (typeof HERE)[number]
  | (typeof ACP_LOAD_REQUIREMENTS)[number]
  | (typeof CLI_REQUIREMENTS)[number]
  | (typeof CLIENT_SERVER_REQUIREMENTS)[number]
  | (typeof CONNECTION_REQUIREMENTS)[number]
  | (typeof BUILTIN_REQUIREMENTS)[number]
  | (typeof CONFIGURATION_REQUIREMENTS)[number]
  | (typeof ADAPTER_REQUIREMENTS)[number]
  | (typeof GATEWAY_REQUIREMENTS)[number]
  | (typeof NODE_REQUIREMENTS)[number]
  | (typeof HARDENING_REQUIREMENTS)[number]
  | (typeof IMPORT_REQUIREMENTS)[number]
  | (typeof DOCS_REQUIREMENTS)[number]
  | (typeof LIBRARY_REQUIREMENTS)[number]
  | (typeof MODEL_REQUIREMENTS)[number]
  | (typeof OAUTH_REQUIREMENTS)[number]
  | (typeof POOL_REQUIREMENTS)[number]
  | (typeof REPLAY_REQUIREMENTS)[number]
  | (typeof SANDBOX_REQUIREMENTS)[number]
  | (typeof SERVE_REQUIREMENTS)[number]
  | (typeof TASK_REQUIREMENTS)[number]
  | (typeof TERMINAL_REQUIREMENTS)[number]
  | (typeof TOOL_REQUIREMENTS)[number]
  | (typeof TURN_REQUIREMENTS)[number]
  | (typeof WRAP_REQUIREMENTS)[number];

export const REQUIREMENTS: readonly Requirement[] = [
  ...HERE,
  ...ACP_LOAD_REQUIREMENTS,
  ...ADAPTER_REQUIREMENTS,
  ...CLI_REQUIREMENTS,
  ...CLIENT_SERVER_REQUIREMENTS,
  ...CONNECTION_REQUIREMENTS,
  ...BUILTIN_REQUIREMENTS,
  ...CONFIGURATION_REQUIREMENTS,
  ...GATEWAY_REQUIREMENTS,
  ...NODE_REQUIREMENTS,
  ...HARDENING_REQUIREMENTS,
  ...IMPORT_REQUIREMENTS,
  ...DOCS_REQUIREMENTS,
  ...LIBRARY_REQUIREMENTS,
  ...MODEL_REQUIREMENTS,
  ...OAUTH_REQUIREMENTS,
  ...POOL_REQUIREMENTS,
  ...REPLAY_REQUIREMENTS,
  ...SANDBOX_REQUIREMENTS,
  ...SERVE_REQUIREMENTS,
  ...TASK_REQUIREMENTS,
  ...TERMINAL_REQUIREMENTS,
  ...TOOL_REQUIREMENTS,
  ...TURN_REQUIREMENTS,
  ...WRAP_REQUIREMENTS,
];

export type RequirementId = Requirement["id"];
