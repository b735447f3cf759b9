// What must hold for another ACP agent behind `tenon wrap`.

export const WRAP_REQUIREMENTS = [
  {
    id: "V400",
    text: "an agent that waits for every server, shares servers by directory and name, hands them its whole environment, never ends one and tells nothing fails the checks of acp-check about hung, failed and isolated servers, environment and leaks; behind tenon wrap it passes them",
  },
  {
    id: "V401",
    text: "methods, fields and notifications that nobody knows pass in both directions as they are; requests of two processes of the agent with the same id each get their own answer",
  },
  {
    id: "V402",
    text: "the user's servers are added to those of the editor; the project's once the person has approved them, asked before a prompt, in the same session; filters, names and pinned arguments of their entries hold",
  },
  {
    id: "V403",
    text: "an agent that speaks nothing but stdio and the older era uses servers over HTTP, SSE and ACP, and servers of the modern era only; of one that needs a log-in the person is told the command",
  },
  {
    id: "V404",
    text: "a server that crashes fails the call it was in, is told, is started again, and is used by the next call without the agent doing anything",
  },
  {
    id: "V405",
    text: "an agent process that crashes costs its own session only: its requests are answered, the editor is told, its questions are withdrawn, its servers end; with the last process the wrapper ends with its exit code",
  },
  {
    id: "V406",
    text: "lines of the agent or the editor that are no messages stop nothing; an agent that cannot be started is told with the cause",
  },
  {
    id: "V407",
    text: "a bridge reaches the one server that its token is for, and none without a token; it ends with the session",
  },
  {
    id: "V408",
    text: "a prompt that is cancelled while it waits for servers or an answer of the person is answered as cancelled, and the agent never gets it; a prompt fails without a required server",
  },
  {
    id: "V409",
    text: "with --one-process all sessions run in one process of the agent, each still with servers of its own that end with it",
  },
  {
    id: "V410",
    text: "further processes of the agent are introduced and logged in as the first was; a fork that only the process of its session knows is made there; no update comes before the answer that opens its session; sessions can be closed whatever the agent can",
  },
  {
    id: "V411",
    text: "a process of the agent says and asks nothing in the name of a session that another process has, and takes none over by giving its id; one that closes its output and runs on is ended, and what it was asked is answered",
  },
] as const;
