// What must hold of Tenon's own tools, of what it tells the model at first, and of the commands about it.
export const BUILTIN_REQUIREMENTS = [
  {
    id: "L19",
    text: "files are read and written where the person has them: in the client's editor, unsaved buffers included, else on the disk; inside the session's directories only",
  },
  {
    id: "L20",
    text: "a change of a file is shown as a diff, on the card and in the question that asks for permission",
  },
  {
    id: "L21",
    text: "Tenon's own tools that only read run without asking and side by side; those that write or reach beyond the machine ask",
  },
  {
    id: "L22",
    text: "commands run in a terminal of the client that is embedded and released, else here: streamed, ended in time and on cancel with all they started, in the background with their output until they are stopped",
  },
  { id: "L23", text: "fetch_url reaches no private address and nothing without TLS, wherever a page leads" },
  {
    id: "L24",
    text: "plans are shown as plan updates; questions of the model reach the person as a form, else as a choice, on the card of the call that asks",
  },
  {
    id: "L25",
    text: "the system prompt has the directory, the date and the project's AGENTS.md, and is the same for every request of a session",
  },
  { id: "L26", text: "/compact and /cost answer in any editor, and the model goes on from the summary" },
] as const;
