// The commands of `tenon sessions`: conversations that are kept on this machine.
import { command, type Group, JSON_OPTION } from "./command.js";

const SESSION = {
  name: "SESSION",
  summary: "its id, or the beginning of it",
  completes: "session",
} as const;

export const SESSIONS: Group = {
  kind: "group",
  name: "sessions",
  summary: "conversations kept on this machine",
  fallback: "list",
  commands: [
    command({
      name: "list",
      summary: "those of this directory, the one used last first",
      options: {
        json: JSON_OPTION,
        all: { type: "boolean", summary: "of every directory" },
        limit: { type: "string", short: "n", value: "COUNT", summary: "no more than so many; 20 unless given" },
      },
      examples: [{ line: "tenon sessions list --all", does: "lists the last twenty of every project" }],
      load: async () => (await import("../sessions/list.js")).runSessionList,
    }),
    command({
      name: "show",
      summary: "read one: prompts, answers, tool calls",
      arguments: [SESSION],
      options: { json: JSON_OPTION },
      examples: [{ line: "tenon sessions show 0199", does: "prints the conversation whose id begins so" }],
      load: async () => (await import("../sessions/show.js")).runSessionShow,
    }),
    command({
      name: "export",
      summary: "write one as Markdown, HTML or JSON",
      arguments: [SESSION],
      options: {
        json: JSON_OPTION,
        format: {
          type: "string",
          value: "FORMAT",
          choices: ["markdown", "html", "json"],
          summary: "markdown unless the file's name says html or json",
        },
        output: {
          type: "string",
          short: "o",
          value: "FILE",
          completes: "file",
          summary: "into this file instead of the output",
        },
        force: { type: "boolean", summary: "replace a file that is there" },
      },
      examples: [
        { line: "tenon sessions export 0199 -o talk.html", does: "writes one page that loads nothing from anywhere" },
      ],
      load: async () => (await import("../sessions/export.js")).runSessionExport,
    }),
    command({
      name: "delete",
      summary: "remove all there is of one or more",
      arguments: [{ ...SESSION, isMany: true }],
      options: { json: JSON_OPTION },
      examples: [{ line: "tenon sessions delete 0199a1", does: "removes it, unless it is open somewhere" }],
      load: async () => (await import("../sessions/delete.js")).runSessionDelete,
    }),
  ],
};
