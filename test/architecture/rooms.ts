// The rooms of `src/` as data: which may import which, in what way, and which packages each may touch.

export interface Room {
  /** Rooms it may import, always through their `index.ts` (`base` by file: it has no door). */
  readonly rooms: readonly string[];
  /** Rooms it may only take types from. */
  readonly types?: readonly string[];
  /** Packages it may import; a name that ends in `/` stands for a scope. Anything new needs an argument in its commit. */
  readonly packages?: readonly string[];
  /** Where the real world is: process, clock, files, sockets. Elsewhere they come in through the World port. */
  readonly isWorldly?: boolean;
}

const ACP_SDK = "@agentclientprotocol/sdk";
const EVERY_ROOM = [
  "mcp",
  "models",
  "tools",
  "config",
  "builtin",
  "engine",
  "session",
  "acp",
  "gateway",
  "postgres",
  "translator",
  "wrap",
  "serve",
  "page",
  "world",
];

export const ROOMS: Readonly<Record<string, Room>> = {
  base: { rooms: [], packages: ["stemmer"] },
  mcp: { rooms: ["base"], packages: ["oauth4webapi"] },
  models: { rooms: ["base"], packages: ["@ai-sdk/"] },
  tools: { rooms: ["base", "mcp"] },
  config: {
    rooms: ["base", "mcp", "tools"],
    types: ["models"],
    packages: ["jsonc-parser", "smol-toml", "yaml", "zod"],
  },
  builtin: { rooms: ["base", "tools"], packages: ["diff", "htmlparser2"] },
  engine: { rooms: ["base", "models", "tools"] },
  session: { rooms: ["base", "mcp", "config", "tools", "builtin", "models", "engine"] },
  acp: { rooms: ["base", "session"], types: ["mcp", "tools", "engine"], packages: [ACP_SDK] },
  // `ws` frames the WebSocket of a connection that the World accepted; `prom-client` writes the page of figures.
  gateway: {
    rooms: ["base", "session", "acp"],
    types: ["mcp", "tools", "config", "engine"],
    packages: [ACP_SDK, "ws", "prom-client"],
  },
  // `pg` opens its own sockets.
  postgres: { rooms: ["base", "session", "tools", "gateway"], packages: ["pg"] },
  // `own-servers.ts`, which is loaded when an editor hands over a server, uses more than the rest.
  translator: { rooms: ["base", "config", "gateway", "acp", "mcp", "session"] },
  // Another agent's sessions: it runs their servers as `session` does, and reads raw messages as the translator does.
  wrap: { rooms: ["base", "config", "mcp", "tools", "session", "acp", "translator"] },
  // Of `acp` it takes the lines of stdio, of `gateway` who gets in and where it listens.
  serve: { rooms: ["base", "mcp", "tools", "session", "acp", "gateway"] },
  client: { rooms: ["base", "config", "gateway", "translator", "world"] },
  // Runs in a browser: of `base` it takes what is free of Node, and of other rooms nothing.
  page: {
    rooms: ["base"],
    packages: ["preact", "@preact/signals", "marked", "diff", "uplot"],
    isWorldly: true,
  },
  world: { rooms: ["base"], packages: ["@opentelemetry/api", "ws"], isWorldly: true },
  // Its entry files are what the package exports.
  library: {
    rooms: ["base", "session", "config", "tools", "mcp", "models", "acp", "client", "world", "testing"],
  },
  testing: { rooms: ["base", "mcp", "acp", "world"], packages: [ACP_SDK, "zod"], isWorldly: true },
  // `uqr` draws a link as a QR code in the terminal; `marked` and `diff` read what the chat shows.
  cli: { rooms: ["base", ...EVERY_ROOM, "testing"], packages: ["uqr", "marked", "diff"], isWorldly: true },
};

/** Built-in modules that reach outside the process. Pure ones (crypto, path, stream, url, util…) are free to all. */
export const WORLDLY_MODULES: ReadonlySet<string> = new Set(
  [
    [
      "child_process",
      "cluster",
      "console",
      "dgram",
      "dns",
      "fs",
      "http",
      "http2",
      "https",
      "inspector",
      "module",
      "net",
    ],
    ["os", "perf_hooks", "process", "readline", "repl", "timers", "tls", "tty", "v8", "vm", "worker_threads"],
  ].flat(),
);

/** Globals with the same reach, and `globalThis`, which leads to all of them. */
export const WORLDLY_GLOBALS: ReadonlySet<string> = new Set(
  [
    ["process", "console", "fetch", "setTimeout", "setInterval", "setImmediate", "performance", "crypto", "globalThis"],
    ["WebSocket", "EventSource", "XMLHttpRequest"],
  ].flat(),
);

/** Members of pure globals that are not pure themselves. */
export const WORLDLY_MEMBERS: ReadonlySet<string> = new Set(["Date.now", "Math.random", "AbortSignal.timeout"]);

/** Rooms that talk to no model of a session: servers' prompts have roles too, and `testing` and `cli` play models. */
export const FREE_OF_MODELS: ReadonlySet<string> = new Set(["mcp", "testing", "cli"]);

/** The modules that build messages for a model. Anything new needs an argument in its commit: who marked the content? */
export const MESSAGE_BUILDERS: ReadonlySet<string> = new Set([
  "src/engine/transcript.ts", // takes MarkedContent only
  "src/engine/model-call.ts", // a constant
  "src/engine/compact.ts", // the conversation itself, marked summaries of it, and results that were presented, shortened
  "src/models/providers/to-prompt.ts", // the last step: marks hidden characters of everything
  "src/library/adapters/providers.ts", // the text of a ToolResult, which `callDirect` presented; the embedder sends it
]);

/** The modules that vouch for content: put together from marked words, or read from a journal that was written marked. */
export const MARKED_BY: ReadonlySet<string> = new Set([
  "src/session/conversation/server-prompts.ts",
  "src/session/conversation/conversation.ts",
  "src/session/conversation/expansion.ts",
  "src/session/journal/history.ts",
  "src/session/conversation/tasks.ts",
]);

/** The modules that build regular expressions. Anything new needs an argument in its commit: what bounds the time of a match? */
export const PATTERN_BUILDERS: ReadonlySet<string> = new Set([
  "src/base/text/pattern.ts", // of one character each
  "src/base/text/secrets.ts", // alternatives of plain text
  "src/base/text/marking.ts", // of constants
  "src/builtin/grep.ts", // only to see whether it is valid: it runs in a thread with a deadline
  "src/builtin/match-worker.ts", // that thread
  "src/mcp/transport/large/message-splitter.ts", // of a number of our own
  "src/mcp/protocol/lists.ts", // of constants
  "src/cli/terminal/highlight.ts", // of constants
  "src/models/dialect/write.ts", // only to see whether it is valid
  // The offline model reads the prompt of the person who runs it, by words of plain text.
  "src/models/offline/arguments.ts",
  "src/models/offline/values.ts",
  "src/models/offline/values.ts",
  "src/models/offline/plan.ts",
  "src/models/offline/values.ts",
]);

/** Modules with nested repetitions whose parts cannot stand for the same text, or after which nothing can fail. */
export const NESTED_REPETITIONS: ReadonlySet<string> = new Set([
  "src/base/text/secrets.ts", // words divided by what is in no word
  "src/config/edit.ts", // nothing follows
  "src/mcp/transport/launchers/guarded-launch.ts", // parts of a path divided by slashes
  "src/mcp/transport/launchers/words.ts", // nothing follows
  "src/models/failures/provider-errors.ts", // nothing follows
  "src/models/offline/explain.ts", // words divided by spaces
  "src/models/offline/values.ts", // nothing follows
  "src/models/offline/values.ts", // words divided by what is in no word
  "src/tools/tool.ts", // words divided by what is in no word
  "src/tools/policy/command.ts", // words divided by spaces
]);
