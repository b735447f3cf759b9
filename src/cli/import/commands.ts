// `tenon mcp import`, as it is declared.
import { type Command, command, JSON_OPTION } from "../table/command.js";

export const IMPORT_COMMANDS: readonly Command[] = [
  command({
    name: "import",
    summary: "show the servers your other clients have, and copy them to your configuration",
    details: [
      "Reads the files of claude-desktop, claude-code, cursor, vscode, zed, windsurf, codex, opencode and magenta. They are never changed. Without --from nothing is copied: you see what there is, and what would become of it.",
      'To use such servers without copying them, name the clients in your own config.json: "import": ["cursor"]. They then follow those files.',
    ],
    arguments: [{ name: "SERVER", summary: "only these", isOptional: true, isMany: true }],
    options: {
      json: JSON_OPTION,
      from: {
        type: "string",
        multiple: true,
        value: "CLIENT,…",
        summary: 'copy the servers of these; of two with the same server the first counts; "all" for every client',
      },
      "dry-run": { type: "boolean", summary: "show what would be done and do nothing" },
      replace: { type: "boolean", summary: "replace servers of the same name that are not the same" },
      project: {
        type: "boolean",
        summary: "to this project's .tenon/config.json instead of your own file",
      },
      secrets: {
        type: "string",
        value: "WHERE",
        choices: ["file", "keyring", "env"],
        summary: "where values that look like secrets go: into the file, your keyring, or variables you set",
      },
    },
    examples: [
      { line: "tenon mcp import", does: "shows what your other clients have" },
      { line: "tenon mcp import --from cursor --dry-run", does: "shows what copying Cursor's servers would do" },
      { line: "tenon mcp import --from claude-desktop,cursor", does: "copies them; again, it changes nothing" },
      {
        line: "tenon mcp import --from vscode --secrets keyring github",
        does: "copies one, its token to your keyring",
      },
    ],
    load: async () => (await import("./import.js")).runImport,
  }),
];
