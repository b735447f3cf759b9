// Requirements of the right tool in every turn: N1xx names, N2xx starts, N3xx failures, N4xx choice, N5xx the list, N6xx settings, N7xx what the editor sees, N8xx editors.

export const TURN_REQUIREMENTS = [
  // N100 to N199: names a model can read.
  // N200 to N299: slow first starts, restarts, order and number of servers.
  // N300 to N399: failures are failures to every model.
  // N400 to N499: choice per request.
  // N500 to N599: the list tells the truth.
  // N600 to N699: modes and settings.
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
] as const;
