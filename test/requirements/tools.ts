// What must hold of the tools of a session (issue 5).

export const TOOL_REQUIREMENTS = [
  {
    id: "T1",
    text: "a tool's name to the model is safe for every provider and stays for the life of the session; it knows its server, its layer and its definition's hash",
  },
  {
    id: "T2",
    text: "client over project over user by server name; whoever is shadowed is told once, with who shadows whom",
  },
  {
    id: "T3",
    text: "include modes always, manual and search, per server and tool: from configuration, from _meta.tenon.include, by /tools and @tool: at run time",
  },
  {
    id: "T4",
    text: "10 servers and 100 tools are offered as always, a warning comes above 5 processes, all configurable; beyond it nothing is dropped: it moves behind search, and the person is told",
  },
  {
    id: "T5",
    text: "the first prompt chooses a head start, later ones what they clearly need; tenon_search_tools finds tools that are callable at once, helped by one line a server in the system prompt; a direct call loads a tool; one server cannot crowd out the others",
  },
  {
    id: "T6",
    text: "with 300 generated tools beside a real server at most 100 are offered, and the one the prompt needs is called in the same turn by a model that only follows what it is offered",
  },
  {
    id: "T7",
    text: "the bytes of the offered list and of the system prompt never change within a session except by appending, until a compaction or another model; changes apply between model calls",
  },
  {
    id: "T8",
    text: "allow and deny, renaming, describing, prefixing, pinned arguments, defaults, provider options and transformers in code shape tools; the server is called by its own name",
  },
  {
    id: "T9",
    text: "a schema that no form of a provider exists for is set aside with a reason and costs no turn; arguments are checked against the raw schema",
  },
  {
    id: "T10",
    text: "policy rules, first match wins: allow, ask, deny on server, tool, annotations and argument conditions; annotations count for trusted servers only; a project's rules only tighten",
  },
  {
    id: "T11",
    text: "approvals last once, for the session or always, bound to the definition: a change asks again with the difference, and one in mid-session is held back; who cannot ask denies, and says so",
  },
  {
    id: "T12",
    text: "every call ends as exactly one outcome, whatever the model wrote; calls that only read run together, others in order; each state is told",
  },
  {
    id: "T13",
    text: "12 MB of text, an image of 5 MB, 1,000 blocks, an unknown block, invalid UTF-8: one outcome each within the sizes, and the whole text is read back by handle",
  },
  {
    id: "T14",
    text: '{"$result": handle, pointer} in any argument is filled in by the host: large values pass from tool to tool without passing through the model',
  },
  {
    id: "T15",
    text: "control, bidi and invisible characters never reach model or screen unmarked; results carry their origin, and nobody else can write Tenon's own lines",
  },
  { id: "T16", text: "resources of servers are listed and read through tenon_read_resource" },
  {
    id: "T17",
    text: "an embedder adds, replaces and clears tool sources of its own in a session, with the same naming, policy and results",
  },
  {
    id: "T18",
    text: "why a tool is not there is answered, in chat and by the library, for each of: filtered, shadowed, quarantined, over budget, below the search cut, server failed, not approved",
  },
  {
    id: "T19",
    text: "which prompts led to which tool is remembered per project in a local, deletable file, ranks tools in later sessions, and can be switched off",
  },
  {
    id: "T20",
    text: "npm run bench -- search takes any labelled set and prints one JSON line with recall, nDCG, times and memory",
  },
] as const;
