// What must hold, as pure data. Scenarios cite these ids; the coverage gate fails when one that is not deferred is uncited.

import { ACP_LOAD_REQUIREMENTS } from "./requirements/acp-load.js";
import { BUILTIN_REQUIREMENTS } from "./requirements/builtin.js";
import { CLIENT_SERVER_REQUIREMENTS } from "./requirements/client-servers.js";
import { CONFIGURATION_REQUIREMENTS } from "./requirements/configuration.js";
import { CONNECTION_REQUIREMENTS } from "./requirements/connections.js";
import { TOOL_REQUIREMENTS } from "./requirements/tools.js";

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
    deferred: { issue: 7, why: "notices and the three-session test come with the complete agent" },
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
  },
  { id: "E9", text: "output is bounded in memory and in the model's context" },
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
  // L. Models and the loop (issue 6)
  {
    id: "L1",
    text: "text, thoughts and tool-call arguments stream alike from Anthropic Messages, OpenAI Chat and Responses, and Gemini, however their chunks are cut; what they sign goes back to them as it was",
  },
  {
    id: "L2",
    text: "the calls of an answer run in parallel where allowed; results go back in the model's order, exactly one per call, in each provider's form, pictures included",
  },
  {
    id: "L3",
    text: "usage and cost are told per model call, turn and session, with the tokens read from and written to the provider's cache",
  },
  {
    id: "L4",
    text: "the beginning of a conversation stays the same byte for byte, with cache markers where the provider wants them, and its cache is hit, measured by the usage it reports",
  },
  {
    id: "L5",
    text: "authentication, quota, rate limit, overload, context overflow, content filter, network down and malformed streams each become a readable message in the conversation and a proper stop reason or error, never an empty end_turn",
  },
  {
    id: "L6",
    text: "rate limit and overload are waited out visibly, as long as the provider says, a bounded number of times",
  },
  { id: "L7", text: "a stream that is cut in the middle of an answer is kept, marked and can be gone on from" },
  {
    id: "L8",
    text: "cancel aborts the model's request and the tools within 100 ms at every stage; the next prompt works and the transcript is valid for the provider",
  },
  {
    id: "L9",
    text: "seeded random cancels: the next prompt always works, and the transcript always validates for each provider",
  },
  {
    id: "L10",
    text: "a tool whose schema the provider refuses, named or not, is found, set aside and named to the person; the turn goes on, and it is not offered again until its definition changes",
  },
  {
    id: "L11",
    text: "a conversation of 200 turns with large tool results stays within the window, and the last turn can still read the first result by handle",
  },
  {
    id: "L12",
    text: "with a text result of 12 MB in a turn the next request to the model stays under 300 KB; over 20 turns with 500 tools the offered tools change only by appending, at a fifth of the cost of sending them all",
  },
  {
    id: "L13",
    text: "a turn ends with its true stop reason: the model's own end, a refusal, the output limit, the turn limit, repetition, cancel",
  },
  {
    id: "L14",
    text: "images and embedded resources of a prompt reach the models that take them and are named to those that do not",
  },
  {
    id: "L15",
    text: "keys of providers are never logged, never in a journal, never given to a child process",
  },
  {
    id: "L16",
    text: "found tools reach the model without breaking the provider's cache: in its own form where it has one, else through the stable wrapper",
  },
  { id: "L17", text: "with no network and no key the offline model serves every scenario of the spine" },
  {
    id: "L18",
    text: "how large a model's context is comes from the configuration, from the provider's list of models where it has one, and from a bundled table",
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
  | (typeof CLIENT_SERVER_REQUIREMENTS)[number]
  | (typeof CONNECTION_REQUIREMENTS)[number]
  | (typeof BUILTIN_REQUIREMENTS)[number]
  | (typeof CONFIGURATION_REQUIREMENTS)[number]
  | (typeof TOOL_REQUIREMENTS)[number];

export const REQUIREMENTS: readonly Requirement[] = [
  ...HERE,
  ...ACP_LOAD_REQUIREMENTS,
  ...CLIENT_SERVER_REQUIREMENTS,
  ...CONNECTION_REQUIREMENTS,
  ...BUILTIN_REQUIREMENTS,
  ...CONFIGURATION_REQUIREMENTS,
  ...TOOL_REQUIREMENTS,
];

export type RequirementId = Requirement["id"];
