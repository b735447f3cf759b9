// The words that are for the chat itself and not for the agent: /help, /tools, /mcp, /cancel, /quit.

import { formatElapsed, type Palette } from "../terminal/stream.js";
import { renderTable, visible, visibleLine } from "../terminal/text.js";
import { preview } from "./describe.js";
import type { ChatTerminal } from "./line-reader.js";
import type { ChatSession, ServerReport } from "./session.js";

type CommandPorts = Pick<ChatTerminal, "screen" | "palette" | "shared"> & { readonly session: ChatSession };

const COMMANDS = [
  ["/help", "these words"],
  ["/tools", "the tools of this session, by server; with words after it: searches them"],
  ["/tools add <tool>", "puts a tool in front of the model; so does @tool:<tool> in a prompt"],
  ["/why <tool>", "why a tool is, or is not, in front of the model"],
  ["/mcp", "the MCP servers of this session and their state"],
] as const;

const LAST_COMMANDS = {
  own: [["/quit", "end the chat (so do Ctrl-D, and Ctrl-C twice)"]],
  shared: [
    ["/cancel", "stop the turn that runs, whoever sent it; first of all prompts of yours that wait"],
    ["/quit", "leave; the session goes on (so do Ctrl-D, and Ctrl-C twice)"],
  ],
} as const;

const ERROR_LINES = 12;

type ChatCommand = "help" | "tools" | "mcp" | "cancel" | "quit";

/** The command a line is, or undefined when it is for the agent, which has commands of its own. */
export function commandOf(line: string, isShared = false): ChatCommand | undefined {
  const word = /^\/([a-z]+)\s*$/iu.exec(line.trim())?.[1]?.toLowerCase();
  if (word === "quit" || word === "exit") return "quit";
  if (isShared && word === "cancel") return word;
  return word === "help" || word === "tools" || word === "mcp" ? word : undefined;
}

export async function runCommand(command: Exclude<ChatCommand, "quit">, ports: CommandPorts): Promise<void> {
  if (command === "help") return showHelp(ports);
  if (command === "cancel") return await ports.session.cancel();
  const servers = await ports.session.status();
  if (servers.length === 0) {
    const text = "  No MCP servers in this session. tenon mcp add configures one, --mcp-config FILE adds some.";
    ports.screen.line(ports.palette.dim(text));
  }
  (command === "tools" ? showTools : showServers)(servers, ports);
}

function showHelp({ screen, palette, shared }: CommandPorts): void {
  const rows = [...COMMANDS, ...(shared ? LAST_COMMANDS.shared : LAST_COMMANDS.own)];
  for (const row of renderTable(rows, { columns: screen.columns, indent: 2 })) screen.line(row);
  const stops = shared ? "the answer to a prompt of yours" : "its answer";
  screen.line(palette.dim(`  Anything else is sent to the agent. Ctrl-C stops ${stops}.`));
}

function showTools(servers: readonly ServerReport[], { screen, palette }: CommandPorts): void {
  for (const server of servers) {
    screen.line(`${palette.bold(visibleLine(server.name))} ${palette.dim(`(${summaryOf(server)})`)}`);
    const rows = server.tools.map((tool) => [
      visibleLine(tool.name),
      visibleLine(tool.title ?? ""),
      visibleLine(tool.description),
    ]);
    for (const row of renderTable(rows, { columns: screen.columns, indent: 2 })) screen.line(row);
  }
}

function showServers(servers: readonly ServerReport[], { screen, palette }: CommandPorts): void {
  const rows = servers.map((server) => [visibleLine(server.name), server.state, summaryOf(server)]);
  renderTable(rows, { columns: screen.columns - 2 }).forEach((row, at) => {
    const server = servers[at];
    if (!server) return;
    screen.line(`${palette[STATES[server.state].style](STATES[server.state].sign)} ${row}`);
    if (server.note !== undefined) screen.line(`    ${palette.dim(visibleLine(server.note))}`);
    if (server.state !== "failed") return;
    const cause = visible(server.error ?? "")
      .trimEnd()
      .split("\n")
      .filter((line) => line !== "");
    for (const line of preview(cause, { maxLines: ERROR_LINES, columns: screen.columns - 4 }))
      screen.line(`    ${palette.red(line)}`);
    if (server.hint !== undefined) screen.line(`    ${palette.dim(visibleLine(server.hint))}`);
  });
}

type State = ServerReport["state"];

const STATES: Readonly<Record<State, { readonly sign: string; readonly style: keyof Palette }>> = {
  ready: { sign: "✓", style: "green" },
  failed: { sign: "✗", style: "red" },
  connecting: { sign: "…", style: "yellow" },
  reconnecting: { sign: "…", style: "yellow" },
  idle: { sign: "○", style: "dim" },
  closed: { sign: "–", style: "dim" },
};

function summaryOf({ state, toolCount, connectMs }: ServerReport): string {
  const tools = `${toolCount} ${toolCount === 1 ? "tool" : "tools"}`;
  const took = (words: string) => (connectMs === undefined ? "" : `, ${words} ${formatElapsed(connectMs)}`);
  const summaries: Readonly<Record<State, string>> = {
    ready: `${tools}${took("connected in")}`,
    failed: `not connected${took("after")}`,
    connecting: "no tools yet",
    idle: `${tools}, starts when first used`,
    reconnecting: `${tools}, being restarted`,
    closed: "ended",
  };
  return summaries[state];
}
