// What must hold when an ACP agent has much to do: many sessions, bad servers, bad input, fast models.

export const ACP_LOAD_REQUIREMENTS = [
  {
    id: "P60",
    text: "sessions of one process with different servers, some hung, failed, slow, crashing or flooding: no tool, notice or update of one ever appears in another",
  },
  {
    id: "P61",
    text: "100 sessions with two servers each open and close in one process: file descriptors, children and heap return to the start",
  },
  { id: "P62", text: "fuzzed ACP input: no crash, no unhandled rejection, no output that is not valid ACP" },
  { id: "P63", text: "session/new answers within 10 ms at the median with ten servers" },
  {
    id: "P64",
    text: "chunks of an answer reach the client at the rate of the bare SDK at least, each within a millisecond; an idle session holds as much among a thousand as alone",
  },
] as const;
