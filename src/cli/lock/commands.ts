// `tenon mcp lock` and `tenon mcp diff`, as they are declared.
import { type Command, command, JSON_OPTION } from "../table/command.js";

const SERVERS = {
  name: "SERVER",
  summary: "its name in tenon mcp list",
  completes: "server",
  isOptional: true,
  isMany: true,
} as const;

const TIMEOUT_OPTION = {
  type: "string",
  value: "SECONDS",
  summary: "wait no longer than this for a server to be ready",
} as const;

export const LOCK_COMMANDS: readonly Command[] = [
  command({
    name: "lock",
    summary: "write down how the tools of servers are defined, so that a change is noticed",
    details: [
      "Connects to the servers and keeps every tool's definition in .tenon/tools.lock, a file to commit. Sessions in this project then hold back a tool that is not as it was locked, until somebody has looked.",
      "Without names: the servers this project brings, and those in the lock already. Entries of other servers stay as they are.",
    ],
    arguments: [SERVERS],
    options: {
      json: JSON_OPTION,
      all: { type: "boolean", summary: "every server a session here would have, your own too" },
      timeout: TIMEOUT_OPTION,
    },
    examples: [
      { line: "tenon mcp lock github", does: "locks the tools of one server, or accepts how they are now" },
      { line: "tenon mcp lock", does: "the same for those of the project" },
    ],
    load: async () => (await import("./lock.js")).runLock,
  }),
  command({
    name: "diff",
    summary: "compare the tools of now with .tenon/tools.lock; exits with 1 when they differ",
    arguments: [SERVERS],
    options: { json: JSON_OPTION, timeout: TIMEOUT_OPTION },
    examples: [
      { line: "tenon mcp diff", does: "shows added, removed and changed tools, and what changed in them" },
      { line: "tenon mcp diff github --json", does: "the same of one server, for a program" },
    ],
    load: async () => (await import("./diff.js")).runDiff,
  }),
];
