// `/mcp`: where the session's servers stand, and what can be done about them.

import type { ServerSpec } from "../../mcp/index.js";
import type { ServerChange, ServerStatus } from "../events.js";
import { sandboxWords } from "../servers/sandbox.js";
import { type Command, type CommandContext, oneLine } from "./command.js";

export const mcpCommand: Command = {
  name: "mcp",
  description: "The MCP servers of this session and their state; restarts, switches, adds and removes them",
  input:
    "[restart|enable|disable|remove <server> | login <server> [paste] | add <server> <url or command and arguments>]",
  async run(words, context) {
    const [verb = "", ...rest] = words.split(/\s+/u).filter((word) => word !== "");
    if (verb === "") return overview(context.servers.statuses);
    return await perform(verb, rest.join(" "), context);
  },
};

async function perform(verb: string, name: string, context: CommandContext): Promise<string> {
  switch (verb) {
    case "restart":
    case "enable":
    case "disable":
    case "remove":
    case "login":
      if (name === "") return `Say which server: \`/mcp ${verb} <server>\`.`;
      if (verb === "login") return await login(name, context);
      return await outcome(await context.servers[verb](name), name, context);
    case "add": {
      const read = readServerWords(name);
      if (!read.ok) return `Nothing changed: ${oneLine(read.reason, 500)}.`;
      return await outcome(await context.servers.add(read.spec), read.spec.name, context);
    }
    default:
      return `There is no \`/mcp ${oneLine(verb, 40)}\`: use restart, enable, disable, add, remove or login.`;
  }
}

/** With the state of the server after the change. */
async function outcome(switched: ServerChange, name: string, context: CommandContext): Promise<string> {
  if (!switched.ok) return `Nothing changed: ${oneLine(switched.reason, 500)}.`;
  await context.servers.settled(context.signal);
  const server = context.servers.statuses.find((one) => one.name === name);
  return [oneLine(switched.text, 500), ...(server ? [serverLine(server)] : [])].join("\n");
}

/** `paste`: the browser is on another machine, so the address it ends at is asked for. */
async function login(words: string, context: CommandContext): Promise<string> {
  const isNamed = context.servers.statuses.some((one) => one.name === words);
  const [, before = words] = (isNamed ? undefined : /^(.*\S)\s+paste$/u.exec(words)) ?? [];
  const talk = { show: (text: string) => context.show(text), isPasted: before !== words };
  return await outcome(await context.logins.login(before, talk, context.signal), before, context);
}

function overview(servers: readonly ServerStatus[]): string {
  if (servers.length === 0) return "No MCP servers in this session.";
  return servers.map((server) => serverLine(server)).join("\n");
}

function serverLine(status: ServerStatus): string {
  const { name, origin, state, toolCount, sandbox, error, hint, note, problems = [] } = status;
  const tools = toolCount === 1 ? "1 tool" : `${toolCount} tools`;
  const lines = [
    `- **${oneLine(name)}** (${origin}): ${state}, ${tools}${sandbox ? `, ${sandboxWords(sandbox)}` : ""}`,
  ];
  if (error !== undefined) lines.push(`  ${oneLine(error, 500)}`);
  if (hint !== undefined && state === "failed") lines.push(`  ${oneLine(hint)}`);
  if (note !== undefined) lines.push(`  ${oneLine(note)}`);
  for (const problem of problems) lines.push(`  ${oneLine(problem)}`);
  return lines.join("\n");
}

export type ReadServer =
  | { readonly ok: true; readonly spec: ServerSpec }
  | { readonly ok: false; readonly reason: string };

const FORM = "write /mcp add <server> <url>, or /mcp add <server> <command> <arguments…>";

function readServerWords(words: string): ReadServer {
  const [name, target, ...args] = [...words.matchAll(/"((?:[^"\\]|\\.)*)"|\S+/gu)].map(([whole, quoted]) =>
    quoted === undefined ? whole : quoted.replaceAll(/\\(.)/gu, "$1"),
  );
  if (name === undefined || target === undefined) return { ok: false, reason: FORM };
  if (/^https?:\/\//iu.test(target)) {
    if (args.length > 0) return { ok: false, reason: `a url has no arguments; ${FORM}` };
    return { ok: true, spec: { kind: "http", name, url: target, headers: {} } };
  }
  return { ok: true, spec: { kind: "stdio", name, command: target, args, env: {} } };
}
