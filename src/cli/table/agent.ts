// The commands that run an agent: for an editor, in this terminal, and to check one.
import { type Command, command, JSON_OPTION } from "./command.js";

const MODEL_OPTION = {
  type: "string",
  value: "PROVIDER/NAME",
  summary: "choose the model; tenon models lists them",
} as const;
const TRACE_OPTION = {
  type: "string",
  value: "FILE",
  completes: "file",
  summary: "record all ACP, MCP and model messages there as NDJSON, without secrets",
} as const;

export const ACP: Command = command({
  name: "acp",
  summary: "serve an ACP editor over stdio",
  details: ["Editors start this themselves: tenon setup prints what to put into their configuration."],
  options: {
    model: MODEL_OPTION,
    trace: TRACE_OPTION,
    setup: {
      type: "boolean",
      summary: "keep the key of a model provider in the system's keyring; editors run this in a terminal",
    },
  },
  examples: [
    { line: "tenon acp --trace /tmp/tenon.ndjson", does: "serves, and records everything that goes over the wires" },
    { line: "tenon acp --setup", does: "asks for a provider and its key, once" },
  ],
  load: async () => (await import("../commands/acp-words.js")).runAcpWords,
});

export const CHAT: Command = command({
  name: "chat",
  summary: "talk to it in this terminal",
  options: {
    prompt: { type: "string", short: "p", value: "TEXT", summary: "answer once and exit" },
    "mcp-config": {
      type: "string",
      value: "FILE",
      completes: "file",
      summary: 'add MCP servers: {"mcpServers": {name: {command, args, env} | {type, url, headers}}}',
    },
    model: MODEL_OPTION,
    yes: { type: "boolean", summary: "approve every tool call (never what a project's files bring)" },
    json: { type: "boolean", summary: "print the ACP updates as NDJSON" },
    trace: TRACE_OPTION,
  },
  examples: [
    { line: "tenon chat", does: "starts a conversation; /help shows what can be typed" },
    { line: 'tenon chat -p "list the files here"', does: "answers one prompt and exits" },
  ],
  load: async () => (await import("../commands/chat.js")).runChatCommand,
});

export const ACP_CHECK: Command = command({
  name: "acp-check",
  summary: "try how any ACP agent treats the MCP servers its client hands over; needs no key",
  after: { name: "COMMAND ARGS…", summary: "the agent to check", isOptional: true },
  options: {
    list: { type: "boolean", summary: "the checks, and why each matters" },
    only: {
      type: "string",
      multiple: true,
      value: "ID,ID",
      summary: 'only these checks; "leak" stands for all leak.…',
    },
    skip: { type: "string", multiple: true, value: "ID,ID", summary: "all but these" },
    timeout: { type: "string", value: "SECONDS", summary: "for any one answer of the agent" },
    env: {
      type: "string",
      multiple: true,
      value: "NAME=VALUE",
      summary: "for the agent; {url} is the model that is brought along, {origin} without /v1",
    },
    "model-env": { type: "string", multiple: true, value: "NAME", summary: "the same as --env NAME={url}" },
    "model-flag": {
      type: "string",
      multiple: true,
      value: "WORD",
      summary: "one more word for the agent's command; {url}, {model}",
    },
    "auth-method": { type: "string", value: "ID", summary: "log in that way first" },
    "keep-home": { type: "boolean", summary: "with your own home directory instead of an empty one" },
    json: JSON_OPTION,
    server: { type: "string", value: "SCRIPT", isHidden: true, summary: "be one of the servers of a check" },
  },
  examples: [{ line: "tenon acp-check -- tenon acp", does: "checks Tenon itself" }],
  load: async () => (await import("../commands/acp-check.js")).runAcpCheckCommand,
});
