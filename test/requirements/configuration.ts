// What must hold of configuration and trust (issue 4).

export const CONFIGURATION_REQUIREMENTS = [
  {
    id: "G1",
    text: "built-in defaults, user file, project files, environment, command line and client are layers in this order; every value keeps where it came from",
  },
  {
    id: "G2",
    text: "servers in configuration are started by a command or reached by a url, and Tenon's extras (allow, deny, disabled and the like) take effect",
  },
  {
    id: "G3",
    text: "variables, defaults, files and the user's commands are filled in; a missing value disables that server with a clear reason",
  },
  {
    id: "G4",
    text: "what a project brings is inert until the person has approved it, shown in full, by command or through session/request_permission; headless means no",
  },
  {
    id: "G5",
    text: "configuration files are watched: running sessions follow changes of servers between turns, with a notice",
  },
  {
    id: "G6",
    text: "tenon mcp list, add, get, remove, enable, disable and tenon trust, each with --json and true exit codes",
  },
  {
    id: "G7",
    text: "for every published trap: 0 processes started and 0 requests sent before approval, interactively and headless",
  },
  { id: "G8", text: "every mutation of any field of an approved server entry asks again, and nothing else does" },
  {
    id: "G9",
    text: "whatever bytes a configuration file holds, they are errors with a place and cost nobody else anything",
  },
  {
    id: "G10",
    text: "a project with a valid, a misspelt and a broken entry: the valid one works after trust, the others are told with file, line, column and a suggestion, in the editor and on the command line",
  },
  {
    id: "G11",
    text: "from an empty home, tenon mcp add and then tenon chat -p use a real server with the offline model",
  },
  {
    id: "G12",
    text: "keyring:name is filled in from the system's keyring, tenon secret puts it there unseen; what is missing is told with its cure",
  },
  {
    id: "G13",
    text: "a lazy server whose tools are known has no process until one of them is first used, then exactly one",
  },
] as const;
