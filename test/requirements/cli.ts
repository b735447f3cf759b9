// What must hold of the command line: what people see, are told, and can do next.

export const CLI_REQUIREMENTS = [
  {
    id: "Q1",
    text: "tenon mcp test shows every step of connecting with its time, and for a failure names the server, the step, the cause and the next command; its exit code says which kind of failure it was",
  },
  {
    id: "Q2",
    text: "tenon mcp list connects to all servers at once and shows state, source, protocol version, tools, tokens and start time; nothing that is not trusted is touched, and --no-connect starts nothing",
  },
  {
    id: "Q3",
    text: "tenon doctor looks at Node, configuration, keys, servers, sandbox, keyring, kept data and the agent itself, names what is wrong with its cure, and exits 1 for it",
  },
  {
    id: "Q4",
    text: "every command and group has help with usage and examples; wrong words exit 2 and say what was probably meant; bash completes commands, options and servers",
  },
  {
    id: "Q5",
    text: "tenon mcp tools lists and searches tools; call reads its words by the tool's schema and prints the answer",
  },
  {
    id: "Q6",
    text: "tenon mcp why answers for filtered, shadowed, quarantined, over budget, below the search cut, server failed, not approved and not trusted, with what to do next",
  },
  {
    id: "Q7",
    text: "what servers write to stderr is kept across sessions in a bounded private file without their secrets, and tenon mcp logs shows its end",
  },
  {
    id: "Q8",
    text: "sessions are listed, shown, exported as Markdown and HTML in which nothing said can become markup, and deleted",
  },
  {
    id: "Q9",
    text: "tenon setup prints, or merges into the editor's file, an entry that the editor's own schema accepts; comments and everything else in the file stay, and a second run changes nothing",
  },
  { id: "Q10", text: "what was answered always or never is listed, and forgotten on request" },
  {
    id: "Q11",
    text: "tenon models lists the models of every provider with a key, with window and price, and never the key",
  },
  {
    id: "Q12",
    text: "tenon mcp add takes the words that READMEs of servers print for other programs, and add-json their JSON; both warn of plain secrets and missing programs without printing a value",
  },
  {
    id: "Q13",
    text: "tenon mcp tools SERVER TOOL shows the signature of a tool; resources, read and prompts show what a server has beside tools; read and call write data into a file",
  },
  {
    id: "Q14",
    text: "tenon mcp call on a terminal leaves nothing of its spinner: its output is only the call and the answer",
  },
  {
    id: "Q15",
    text: "tenon mcp list shows a row per server while it connects, fits the width of the terminal, and exits with 1 for a broken server when asked to",
  },
  {
    id: "Q16",
    text: "what a server asks during tenon mcp call is put to the person at the terminal, and its tools that ask are there",
  },
] as const;
