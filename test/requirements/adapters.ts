// What must hold of the adapters to other libraries, of the examples and of the pages for people who come from elsewhere.

export const ADAPTER_REQUIREMENTS = [
  {
    id: "V201",
    text: "toAnthropicTools: definitions, tool_use blocks and tool_result blocks work with Anthropic's own client",
  },
  {
    id: "V202",
    text: "toOpenAiTools with api chat: definitions, tool calls and tool messages work with OpenAI's own client",
  },
  {
    id: "V203",
    text: "toOpenAiTools: definitions, function calls and their outputs work with OpenAI's own client (Responses)",
  },
  {
    id: "V204",
    text: "toGeminiTools: declarations, function calls and responses work with Google's own client, also as a callable tool",
  },
  { id: "V205", text: "toAiSdkTools: the AI SDK runs the tools; failures are its tool errors; images reach the model" },
  { id: "V206", text: "toLangChainTools: a LangChain model binds the tools; results are its own tool messages" },
  { id: "V207", text: "toOpenAiAgentsTools: the runner of the OpenAI Agents SDK runs the tools" },
  { id: "V210", text: "adapters give each provider names that it takes, and call the tool by its own" },
  { id: "V211", text: "the schemas of real servers' tools are valid in every adapter's form" },
  { id: "V212", text: "arguments are given back in the tool's own form; unreadable ones are told to the model" },
  {
    id: "V213",
    text: "execute never rejects: failed, refused, cancelled and unknown calls are results of the provider's kind",
  },
  { id: "V214", text: "the signal of a caller or a framework reaches the call" },
  {
    id: "V215",
    text: "adapters follow the set: tools come and go, and calls of the list before still find their tool",
  },
  {
    id: "V216",
    text: "provider options are part of the definition; unknown ones and tools without a form are reported",
  },
  { id: "V450", text: "ten lines make an agent: a model, a server, a prompt, its answer" },
  {
    id: "V451",
    text: "servers of one session: no other session sees them, and they are added and removed while it is open",
  },
  { id: "V452", text: "tools of a server are filtered by its entry and by code" },
  { id: "V453", text: "tools are renamed and described anew by code; the server is called by its own names" },
  { id: "V454", text: "a function decides about calls: what it refuses is not sent" },
  { id: "V455", text: "a model of an embedder's own runs a turn with tools" },
  { id: "V456", text: "a tool that is a function is called with checked arguments, and can be taken out" },
  { id: "V457", text: "a runtime works inside a web server, one session per visitor, streaming" },
  { id: "V458", text: "an application on the AI SDK uses Tenon's tools in its own loop" },
  { id: "V459", text: "an ACP client starts the agent, hands over a server and prompts" },
  { id: "V460", text: "two clients of a gateway share one session" },
  { id: "V461", text: "servers in the options of the runtime are discovered, offered and called without more code" },
  { id: "V462", text: "by hand: connect, discover, choose, change, register" },
  { id: "V463", text: "provider options of a tool reach each provider in its own form" },
  { id: "V464", text: "tools are tracked by server, and taken out by server; changes are events" },
  { id: "V465", text: "a server that dies is connected again by itself, and its next call works" },
  { id: "V466", text: "a token from a variable authenticates with a remote server and is shown nowhere" },
  { id: "V467", text: "every example checks itself, is run in CI and imports only what is published" },
  {
    id: "V470",
    text: "docs/coming-from has a page for each of tsagent, magenta.nvim, AIDK and OpenClaw; every line of Tenon on it is part of a program or command that is run",
  },
] as const;
