// What must hold of other clients' servers and of the lock of tool definitions (issue 9).

export const IMPORT_REQUIREMENTS = [
  {
    id: "I1",
    text: "tenon mcp import reads the files of Claude Desktop, Claude Code, Cursor, VS Code, Zed, Windsurf, Codex, opencode and magenta, and says of every entry what would become of it and why",
  },
  {
    id: "I2",
    text: "import --dry-run does nothing but say exactly what import then does; a second import changes nothing; the other clients' files are never written",
  },
  {
    id: "I3",
    text: "a secret that stands in another client's file is never printed, and goes to the keyring or a variable where the person wants it",
  },
  {
    id: "I4",
    text: "\"import\" in the user's file uses other clients' servers as they are, below the user's own, and running sessions follow their files",
  },
  {
    id: "I5",
    text: "other clients' files in a project are the project's: 0 processes before approval, bound to exactly their words, and never copied to the user's own file",
  },
  {
    id: "I6",
    text: "texts of other clients are neither run nor expanded beyond what those clients themselves fill in",
  },
  {
    id: "I7",
    text: "tenon mcp lock writes the definitions of tools as one stable text, tenon mcp diff shows what differs and exits with 1",
  },
  {
    id: "I8",
    text: "a tool that is not as it was locked is held back in the editor until the person has looked or it is locked anew; why and a notice say so",
  },
  { id: "I9", text: "where nobody can be asked a tool that is not as it was locked stays held back, also with --yes" },
  {
    id: "I10",
    text: "a lock that cannot be read is told of and holds back; a lock of a project nobody trusts can only tighten",
  },
] as const;
