// The words that are for the chat itself and not for the agent: /help, /tools, /mcp, /quit.

import type { Screen } from "../terminal/screen.js";
import { formatElapsed, type Palette } from "../terminal/stream.js";
import { renderTable, visible, visibleLine } from "../terminal/text.js";
import { preview } from "./describe.js";
import type { ServerReport } from "./session.js";

export interface CommandPorts {
  readonly screen: Screen;
  readonly palette: Palette;
  readonly status: () => Promise<readonly ServerReport[]>;
}

const COMMANDS = [
  ["/help", "these words"],
  ["/tools", "the tools of this session, by server; with words after it: searches them"],
  ["/tools add <tool>", "puts a tool in front of the model; so does @tool:<tool> in a prompt"],
  ["/why <tool>", "why a tool is, or is not, in front of the model"],
  ["/mcp", "the MCP servers of this session and their state"],
  ["/quit", "end the chat (so do Ctrl-D, and Ctrl-C twice)"],
] as const;

const ERROR_LINES = 12;

const OWN: readonly string[] = ["help", "tools", "mcp", "quit", "exit"];

/** The command a line is, or undefined when it is for the agent, which has commands of its own. */
export function commandOf(line: string): string | undefined {
  const word = /^\/([a-z]+)\s*$/iu.exec(line.trim())?.[1]?.toLowerCase();
  return word !== undefined && OWN.includes(word) ? word : undefined;
}

/** Resolves with "quit" when the chat shall end. */
export async function runCommand(command: string, ports: CommandPorts): Promise<"quit" | "go on"> {
  const { screen, palette } = ports;
  switch (command) {
    case "help":
      for (const row of renderTable(COMMANDS, { columns: screen.columns, indent: 2 })) screen.line(row);
      screen.line(palette.dim("  Anything else is sent to the agent. Ctrl-C stops its answer."));
      return "go on";
    case "tools":
      showTools(await ports.status(), ports);
      return "go on";
    case "mcp":
      showServers(await ports.status(), ports);
      return "go on";
    case "quit":
    case "exit":
      return "quit";
    default:
      return "go on";
  }
}

function showTools(servers: readonly ServerReport[], { screen, palette }: CommandPorts): void {
  if (servers.length === 0)
    screen.line(
      palette.dim("  No MCP servers in this session. tenon mcp add configures one, --mcp-config FILE adds some."),
    );
  for (const server of servers) {
    screen.line(`${palette.bold(visibleLine(server.name))} ${palette.dim(`(${summary(server)})`)}`);
    const rows = server.tools.map((tool) => [
      visibleLine(tool.name),
      visibleLine(tool.title ?? ""),
      visibleLine(tool.description),
    ]);
    for (const row of renderTable(rows, { columns: screen.columns, indent: 2 })) screen.line(row);
  }
}

function showServers(servers: readonly ServerReport[], { screen, palette }: CommandPorts): void {
  if (servers.length === 0)
    screen.line(
      palette.dim("  No MCP servers in this session. tenon mcp add configures one, --mcp-config FILE adds some."),
    );
  const rows = servers.map((server) => [visibleLine(server.name), server.state, summary(server)]);
  renderTable(rows, { columns: screen.columns - 2 }).forEach((row, at) => {
    const server = servers[at];
    if (!server) return;
    screen.line(`${mark(server, palette)} ${row}`);
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

function mark(server: ServerReport, palette: Palette): string {
  switch (server.state) {
    case "ready":
      return palette.green("✓");
    case "failed":
      return palette.red("✗");
    case "connecting":
    case "reconnecting":
      return palette.yellow("…");
    case "idle":
      return palette.dim("○");
    case "closed":
      return palette.dim("–");
  }
}

function summary({ state, toolCount, connectMs }: ServerReport): string {
  const tools = `${toolCount} ${toolCount === 1 ? "tool" : "tools"}`;
  switch (state) {
    case "ready":
      return connectMs === undefined ? tools : `${tools}, connected in ${formatElapsed(connectMs)}`;
    case "failed":
      return connectMs === undefined ? "not connected" : `not connected, after ${formatElapsed(connectMs)}`;
    case "connecting":
      return "no tools yet";
    case "idle":
      return `${tools}, starts when first used`;
    case "reconnecting":
      return `${tools}, being restarted`;
    case "closed":
      return "ended";
  }
}
