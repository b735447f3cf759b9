// Requirements of the right tool in every turn: N1xx names, N2xx starts, N3xx failures, N4xx choice, N5xx the list, N6xx settings, N7xx what the editor sees, N8xx editors.

export const TURN_REQUIREMENTS = [
  // N100 to N199: names a model can read.
  { id: "N100", text: "40 odd server names yield valid, unique names in which the tool's own name can be read" },
  {
    id: "N101",
    text: "a hash is in a name only where it would equal another one; a long server name is shortened to its end",
  },
  {
    id: "N102",
    text: "a name stays with its tool for the life of the session, also after it is loaded, and from old journals",
  },
  { id: "N103", text: "a call by a name of the former rule reaches its tool" },
  // N200 to N299: slow first starts, restarts, order and number of servers.
  {
    id: "N200",
    text: "a first turn waits for each server as long as it usually takes, unknown ones 2.5 s at most, and not for one that did not become ready the last time",
  },
  {
    id: "N201",
    text: "the model is told which servers still start, may wait for one with wait_for_server, and gets its tools in the same turn; the list before them is unchanged",
  },
  {
    id: "N202",
    text: "a call of a tool from the cache, or named although it is not listed, waits for its server, and ends with the cause when that does not start",
  },
  {
    id: "N203",
    text: "a server that npx has to download is called in the first turn by a model that may call declared tools only; the person sees the wait",
  },
  {
    id: "N204",
    text: "a required server (entry, or _meta.tenon.required of a client's entry) is waited for, or the turn fails with its cause",
  },
  { id: "N205", text: "servers added in the middle of a session are waited for in the same way" },
  {
    id: "N210",
    text: "a call made while its server restarts waits for it, up to 10 s within its own limit; a successful call resets the backoff; no call runs twice",
  },
  { id: "N220", text: "servers are launched, listed and offered in the order given" },
  {
    id: "N221",
    text: "servers above the limit of processes or memory wait for a place, say so, and start when there is one",
  },
  // N300 to N399: failures are failures to every model.
  {
    id: "N300",
    text: "a result with isError reaches Anthropic as is_error; for OpenAI Chat, Responses, Gemini and compatible servers the text of every failed call begins with an error line that no server can write",
  },
  {
    id: "N301",
    text: "a result with isError and no content says that there are no details, to the model and to the editor",
  },
  {
    id: "N302",
    text: "Tenon's own errors (unreachable, rate limit, not connected) are not headed as data of the server; errors in the server's words are",
  },
  {
    id: "N303",
    text: "null for an optional argument whose schema does not allow null is dropped before validation, in nested objects too; where null is allowed it is sent, and for a required argument it is refused",
  },
  {
    id: "N950",
    text: "the MCP conformance suite passes completely through tenon acp, driven by an ACP client; a sample of it runs in CI",
  },
  // N400 to N499: choice per request.
  {
    id: "N400",
    text: "with 300 tools behind search each prompt finds the tool it clearly needs in the offered list, whose bytes before it are unchanged; small talk adds nothing",
  },
  {
    id: "N420",
    text: "with search.embeddings a prompt finds the tool that says the same in other words, over the OpenAI form (OpenAI, Ollama, LM Studio) and over Google's; texts of tools are embedded once, and their vectors kept on disk by model and text",
  },
  {
    id: "N421",
    text: "an embeddings endpoint that is unreachable, slow, limits requests or answers wrongly costs at most a bounded wait: words rank the tools, and the person is told once",
  },
  {
    id: "N422",
    text: "a project cannot have prompts or descriptions of tools sent to an embeddings endpoint; a provider's key goes to no address of search.embeddings, and no key reaches a log, a trace or a notice",
  },
  {
    id: "N423",
    text: "a recorded session that searched by meaning is replayed without the endpoint; doctor, mcp tools --search and mcp why say whether meaning was used",
  },
  // N500 to N599: the list tells the truth.
  { id: "N500", text: "tools of a removed or failed server answer with the cause as long as they are in the list" },
  { id: "N501", text: "tools of a removed or failed server leave the list with a compaction or a change of the model" },
  { id: "N502", text: "the remembered list of a server that failed is not offered to new sessions" },
  { id: "N503", text: "a missing description reads: Tool <name> of <server>" },
  { id: "N504", text: "allow and deny are reflected in the counts of tools, in sessions and on the command line" },
  // N600 to N699: modes and settings.
  {
    id: "N600",
    text: "agent is another name of the include mode search wherever one is read: a configuration, a client's entry, the setting of a session, /tools",
  },
  {
    id: "N601",
    text: "toolInclude in a client's entry says how its tools come before the model, for the server and for single tools; what is wrong with it is told and costs only itself",
  },
  {
    id: "N602",
    text: "tenon acp and tenon chat take --config DIR, an agent directory of its own, and --mcp-config FILE: two agents in one editor share no server, no session and no approval; paths that a project could stand for are refused",
  },
  {
    id: "N603",
    text: "/mcp add takes the words of tenon mcp add, with --, quotes, variables and headers, and says what is wrong with them; /mcp with a server's name shows what is known of it, and no secret",
  },
  {
    id: "N604",
    text: "/tools remove takes a tool, or all of a server, away from the model until the person brings it back; a call of it answers why",
  },
  // N700 to N799: what the editor sees, terminals of clients.
  {
    id: "N700",
    text: "calls of servers' tools are of kind `other`, in cards and in questions, unless the user's configuration trusts the server's hints",
  },
  {
    id: "N701",
    text: "the title of a question shows the server, the tool and short arguments on one bounded line, hidden characters marked and what looks like a secret left out",
  },
  {
    id: "N702",
    text: "a failure that was told between turns is told again within the next turn under the same call id, to clients that have no notices",
  },
  { id: "N703", text: "a notice that is no failure is no failed call, where the client shows no notices" },
  { id: "N704", text: "a command's folder is not sent as a location" },
  { id: "N705", text: "values of config options have names that make sense without the name of the option" },
  { id: "N706", text: "`updatedAt` of a session is the time of its last turn, whatever was set or closed since" },
  { id: "N707", text: "the offline model reports no context window" },
  {
    id: "N708",
    text: "a question has at most one option of each ACP kind, and none grants a whole server",
  },
  {
    id: "N709",
    text: "the title of a session is what the person wrote: no tags of clients, no command of Tenon's; given by the first prompt that has words",
  },
  { id: "N710", text: "counts agree with their nouns, and files that setup makes end with a newline" },
  {
    id: "N720",
    text: "before the first command of a connection one probe shows that the client's terminal keeps words apart; where it does not, commands run here and the person is told once",
  },
  {
    id: "N721",
    text: "a client's terminal that hangs or fails at the probe is not used: commands run here within a bounded time, and the person is told once",
  },
  {
    id: "N722",
    text: "a client's terminal that keeps words apart is probed once per connection, not before the first command, and the probe's terminal is released",
  },
  // N800 to N899: editors, registry, documented extensions.
  {
    id: "N800",
    text: "tenon setup prints Lua with which CodeCompanion's own MCP servers come along, and with which avante gives Tenon keys, HOME and XDG variables and asks the person; for every editor it says whether its MCP servers come along",
  },
  {
    id: "N801",
    text: 'a log-in in a terminal is offered to clients that announce auth.terminal or _meta["terminal-auth"], to the latter with the whole command line',
  },
  {
    id: "N802",
    text: "the entry for the ACP registry fits the registry's schema and rules, with the version of the package and an icon of 16x16 in currentColor",
  },
  {
    id: "N803",
    text: "every method and every field of _meta that is Tenon's own is described in docs/reference/acp.md, and nothing else is",
  },
] as const;
