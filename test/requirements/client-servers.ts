// What must hold of the servers a client hands over, and of what servers ask of the person (issue 7).

export const CLIENT_SERVER_REQUIREMENTS = [
  {
    id: "P40",
    text: "MCP servers of the client's own (type acp) are ordinary connections over mcp/message: tools, progress, list changes, cancel, and the carrier's errors; http, sse and acp are advertised",
  },
  {
    id: "P41",
    text: "client servers written as real editors write them connect; each that cannot be used is told with its reason and costs no other",
  },
  {
    id: "P42",
    text: "where servers stand is told to programs: _meta.tenon.mcp on the answer that opens a session and on updates about servers, and _tenon/mcp/status",
  },
  {
    id: "P43",
    text: "_tenon/session/set_mcp_servers changes a session's servers at any time: what stays is left alone, what goes ends with its processes, running calls end properly",
  },
  {
    id: "P44",
    text: "forms and pages of servers reach the person as elicitations; a client without them is declared to no server, and declines with a notice",
  },
  { id: "P45", text: "a real server's sampling asks for permission and gets an answer of the session's model" },
  { id: "P46", text: "progress and log lines of a server are shown on its running call, bounded" },
  { id: "P47", text: "a server that wants a log-in says so, with what to do about it" },
  { id: "P48", text: "acpx hands over servers over stdio, http and sse" },
] as const;
