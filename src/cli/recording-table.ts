// The commands about what agents did: a check of their protocol, a recording run again, a recording as a page.
import { type Command, command, flag, JSON_OPTION, text, texts } from "./command.js";

export const ACP_CHECK: Command = command({
  name: "acp-check",
  summary: "check how any ACP agent treats the MCP servers its client passes on; needs no key",
  after: { name: "COMMAND ARGS…", summary: "the agent to check", isOptional: true },
  options: {
    list: flag("the checks, and why each matters"),
    only: texts("ID,ID", 'only these checks; "leak" stands for all leak.…'),
    skip: texts("ID,ID", "all but these"),
    timeout: text("SECONDS", "for any one answer of the agent"),
    env: texts("NAME=VALUE", "for the agent; {url} is the address of the built-in model, {origin} without /v1"),
    "model-env": texts("NAME", "the same as --env NAME={url}"),
    "model-flag": texts("WORD", "one more word for the agent's command; {url}, {model}"),
    "auth-method": text("ID", "log in that way first"),
    "keep-home": flag("with your own home directory instead of an empty one"),
    json: JSON_OPTION,
    server: text("SCRIPT", "be one of the servers of a check", { isHidden: true }),
  },
  examples: { "tenon acp-check -- tenon acp": "checks Tenon itself" },
  load: async () => (await import("./commands/acp-check.js")).runAcpCheckCommand,
});

export const REPLAY: Command = command({
  name: "replay",
  summary: "run a recorded session again and find the first difference",
  details: [
    "The file is one that `tenon acp --trace FILE` or `tenon chat --trace FILE` wrote. This version of the agent gets the recorded messages of the client, the servers, the model and this machine, in that order. Its own messages are compared with the recorded ones.",
    "Nothing is started, nothing leaves the process and no file of yours is touched: Tenon's own tools are answered from the recording too.",
    "It exits with 0 when nothing differs, and with 1 at the first difference.",
  ],
  arguments: [{ name: "FILE", summary: "the recording", completes: "file" }],
  options: { run: text("N", "which run of the file, from 1; the last unless given"), json: JSON_OPTION },
  examples: { "tenon replay run.ndjson": "says where this version acts otherwise than the one that recorded it" },
  load: async () => (await import("./commands/replay/replay.js")).runReplay,
});

export const TRACE_PAGE: Command = command({
  name: "trace",
  summary: "write the waterfall of a recorded run as one HTML file",
  details: [
    "The file is one that --trace wrote, or the journal of a session. The page has model calls, tool calls, questions and server starts by turn, with arguments and results. It needs no network and no other file.",
  ],
  arguments: [{ name: "FILE", summary: "the recording, or a journal", completes: "file" }],
  options: {
    output: text("FILE", "where to write it; FILE.html unless given", { short: "o", completes: "file" }),
    run: text("N", "which run of the recording, from 1; the last unless given"),
    json: JSON_OPTION,
  },
  examples: { "tenon trace run.ndjson -o run.html": "writes run.html, to be opened in a browser" },
  load: async () => (await import("./commands/replay/trace-page.js")).runTrace,
});
