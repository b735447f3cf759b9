// The commands of the chat itself; every other word behind a slash is the agent's or a server's prompt, and an unknown one is refused.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { isAbsolute, relative } from "node:path";
import { nearest } from "../../base/text/nearest.js";
import { renderDiff } from "../terminal/diff.js";
import type { Candidate } from "../terminal/live/completion.js";
import { formatElapsed, type Palette } from "../terminal/stream.js";
import { displayWidth, padToWidth, renderTable, visible, visibleLine, wrapText } from "../terminal/text.js";
import { preview } from "./describe.js";
import type { ChatRecord, FileChange } from "./record.js";
import type { ChatSession, ListedSession, ServerReport } from "./session.js";
import type { ChatTerminal } from "./terminal.js";

export interface CommandPorts extends Pick<ChatTerminal, "screen" | "palette" | "shared"> {
  readonly session: ChatSession;
  readonly record: ChatRecord;
  readonly cwd: string;
  /** Opens another session in the place of this one: a stored one by its id, else a new one. */
  readonly open: (id?: string) => Promise<void>;
  /** Writes the conversation into a file; its path. Undefined where that is not to be had. */
  readonly exportSession?: (id: string, file: string) => Promise<string>;
  /** Into the clipboard of the terminal; undefined in plain mode. */
  readonly copy?: (text: string) => void;
}

interface Command {
  readonly name: string;
  readonly input?: string;
  readonly summary: string;
  /** Where it is to be had: in a session of its own, in one that is shared; both unless said. */
  readonly only?: "own" | "shared";
  /** It needs no turn to be over. */
  readonly isImmediate?: boolean;
  /** A text is sent to the agent instead. */
  readonly run: (words: string, ports: CommandPorts) => Promise<string | undefined | void>;
}

const INIT_PROMPT =
  "Look at this project and write a file AGENTS.md for agents that work on it: how to build it, how to run its tests and one of them, how it is laid out, and conventions that cannot be seen in a single file. Keep it short. If there is one already, improve it instead.";

const COMMANDS: readonly Command[] = [
  { name: "help", summary: "the commands there are", isImmediate: true, run: async (_, ports) => showHelp(ports) },
  { name: "new", summary: "begin a new session", only: "own", run: async (_, { open }) => await open() },
  { name: "resume", input: "[number or id]", summary: "go on with an earlier session", only: "own", run: resume },
  { name: "sessions", summary: "the sessions of this folder", isImmediate: true, run: listSessions },
  {
    name: "export",
    input: "[file]",
    summary: "write the conversation into a file (.md, .html, .json)",
    run: exportSession,
  },
  { name: "copy", summary: "the last answer into the clipboard", isImmediate: true, run: copy },
  {
    name: "diff",
    summary: "what this session changed in files",
    isImmediate: true,
    run: async (_, ports) => showDiff(ports),
  },
  // A shared session may run on another machine, and its files are there.
  { name: "undo", summary: "take back the changes of files of the last turn", only: "own", run: undo },
  {
    name: "mode",
    input: "[name]",
    summary: "what is asked about; Shift-Tab changes it too",
    isImmediate: true,
    run: setMode,
  },
  { name: "thinking", input: "[level]", summary: "how much the model thinks", isImmediate: true, run: setThinking },
  { name: "init", summary: "let the agent write AGENTS.md for this project", run: async () => INIT_PROMPT },
  {
    name: "tools",
    summary: "the tools of this session; with words: searches them",
    isImmediate: true,
    run: servers(showTools),
  },
  {
    name: "mcp",
    summary: "the MCP servers of this session and their state",
    isImmediate: true,
    run: servers(showServers),
  },
  {
    name: "cancel",
    summary: "stop the turn that runs, whoever sent it; first of all prompts of yours that wait",
    only: "shared",
    isImmediate: true,
    run: async (_, { session }) => await session.cancel(),
  },
  { name: "quit", summary: "leave (so do Ctrl-D, and Ctrl-C twice)", isImmediate: true, run: async () => {} },
];

/** With words behind them these are the agent's. */
const BARE_ONLY: ReadonlySet<string> = new Set(["tools", "mcp", "help"]);

export interface ChatCommand {
  readonly command: Command;
  readonly words: string;
}

/** The command a line is, or undefined when it is for the agent, which has commands of its own. */
export function commandOf(line: string, isShared = false): ChatCommand | undefined {
  const [, typed = "", words = ""] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/iu.exec(line.trim()) ?? [];
  const name = typed.toLowerCase() === "exit" ? "quit" : typed.toLowerCase();
  if (words !== "" && BARE_ONLY.has(name)) return undefined;
  const command = COMMANDS.find((one) => one.name === name && one.only !== (isShared ? "own" : "shared"));
  return command && { command, words: words.trim() };
}

/** Why a line is neither sent nor run; undefined when it is a prompt, or a command that there is. */
export function refusalOf(
  line: string,
  { commands }: Pick<ChatRecord, "commands">,
  isShared: boolean,
): string | undefined {
  const [, name] = /^(\/[\p{L}\p{N}_.:-]+)(?:\s|$)/u.exec(line.trim()) ?? [];
  if (name === undefined || commands === undefined || commandOf(line, isShared)) return undefined;
  const known = [...ownCommands(isShared), ...commands].map(({ text }) => text);
  if (known.includes(name)) return undefined;
  // A prompt of a server that is not ready yet is not listed yet: the agent waits for it.
  if (name.includes(":")) return undefined;
  const near = nearest(
    name.slice(1),
    known.map((one) => one.slice(1)),
  );
  return `There is no command ${name}.${near === undefined ? "" : ` Did you mean /${near}?`} /help lists them; nothing was sent.`;
}

/** For completion and help. */
export function ownCommands(isShared: boolean): readonly Candidate[] {
  return COMMANDS.filter(({ only }) => only !== (isShared ? "own" : "shared")).map(({ name, summary }) => ({
    text: `/${name}`,
    note: summary,
  }));
}

function showHelp({ screen, palette, shared, record }: CommandPorts): void {
  const own = COMMANDS.filter(({ only }) => only !== (shared ? "own" : "shared"));
  const rows = own.map(
    ({ name, input, summary }) => [`/${name}${input === undefined ? "" : ` ${input}`}`, summary] as const,
  );
  const names = new Set(own.map(({ name }) => `/${name}`));
  const others = (record.commands ?? []).filter(({ text }) => !names.has(text));
  const all = [...rows, ...others.map(({ text, note }) => [visibleLine(text), visibleLine(note)] as const)];
  for (const row of helpLines(all, screen.columns)) screen.line(row);
  screen.line(
    palette.dim("  @file puts a file into the prompt, !command runs a command of yours, Ctrl-O unfolds everything."),
  );
  const stops = shared ? "the answer to a prompt of yours" : "its answer";
  screen.line(palette.dim(`  Anything else is sent to the agent. Esc or Ctrl-C stops ${stops}.`));
}

/** Less than this of a summary beside the name is hard to read. */
const LEAST_SUMMARY = 24;

/** Nothing is cut: summaries go on below their beginning; where there is no room beside the names, below these. */
function helpLines(rows: readonly (readonly [name: string, summary: string])[], columns: number): string[] {
  const widest = Math.max(...rows.map(([name]) => displayWidth(name)));
  const width = Math.min(widest, Math.floor(columns / 2));
  const isBeside = columns - width - 4 >= LEAST_SUMMARY;
  const margin = " ".repeat(isBeside ? width + 4 : 4);
  return rows.flatMap(([name, summary]) => {
    const lines = wrapText(summary, columns - margin.length);
    if (!isBeside || displayWidth(name) > width) return [`  ${name}`, ...lines.map((line) => margin + line)];
    const [first = "", ...more] = lines;
    return [`  ${padToWidth(name, width)}  ${first}`, ...more.map((line) => margin + line)];
  });
}

async function listSessions(_: string, ports: CommandPorts): Promise<void> {
  const { screen, palette, session, cwd } = ports;
  const found = (await session.list(cwd)).slice(0, SESSIONS_SHOWN);
  if (found.length === 0) return screen.line(palette.dim("  No sessions of this folder."));
  const rows = found.map(({ id, title }, index) =>
    [`${index + 1}.`, id, id === session.id ? `${title} (this one)` : title].map(visibleLine),
  );
  for (const row of renderTable(rows, { columns: screen.columns, indent: 2 })) screen.line(row);
  if (!ports.shared) screen.line(palette.dim("  /resume NUMBER goes on with one."));
}

const SESSIONS_SHOWN = 20;

async function resume(words: string, ports: CommandPorts): Promise<void> {
  const { session, cwd, open } = ports;
  if (words === "") return await listSessions("", ports);
  const found = await session.list(cwd);
  const wanted: ListedSession | undefined = /^\d{1,2}$/u.test(words)
    ? found[Number(words) - 1]
    : found.find(({ id }) => id.startsWith(words));
  if (!wanted) throw new Error(`there is no session ${visibleLine(words)} in this folder: /sessions lists them`);
  if (wanted.id !== session.id) await open(wanted.id);
}

async function exportSession(
  words: string,
  { session, exportSession: write, screen, palette }: CommandPorts,
): Promise<void> {
  if (!write || session.id === undefined)
    throw new Error("it is kept elsewhere: tenon sessions export writes it on its own machine");
  const path = await write(session.id, words === "" ? `tenon-${session.id.slice(0, 8)}.md` : words);
  screen.line(palette.dim(`  written to ${visibleLine(path)}`));
}

async function copy(_: string, { copy: put, record, screen, palette }: CommandPorts): Promise<void> {
  if (!put) throw new Error("there is no clipboard in plain mode");
  if (record.answer.trim() === "") throw new Error("there is no answer yet");
  put(record.answer);
  screen.line(palette.dim(`  ${record.answer.length} characters copied, if your terminal allows it (OSC 52)`));
}

/** The first text and the last one of each file. */
function showDiff({ record, screen, palette, cwd }: CommandPorts): void {
  const files = new Map<string, FileChange>();
  for (const change of record.changes.flat()) {
    const first = files.get(change.path);
    files.set(change.path, first ? { ...first, newText: change.newText } : change);
  }
  const changed = [...files.values()].filter(({ oldText, newText }) => oldText !== newText);
  if (changed.length === 0) return screen.line(palette.dim("  This session has changed no file."));
  for (const change of changed) {
    const { title, lines } = renderDiff({ ...change, path: shown(change.path, cwd) }, palette);
    screen.line(title);
    for (const line of lines) screen.line(`  ${line}`);
  }
}

/** Only what is still as the turn left it: what was changed since is not thrown away. */
async function undo(_: string, { record, screen, palette, cwd }: CommandPorts): Promise<void> {
  const at = record.changes.findLastIndex((turn) => turn.length > 0);
  const turn = record.changes[at] ?? [];
  if (turn.length === 0) throw new Error("there is nothing to take back: no turn of this session changed a file");
  const other = turn.findLast(({ path, newText }, index) => {
    const isLast = !turn.slice(index + 1).some((later) => later.path === path);
    return isLast && textOf(path) !== newText;
  });
  if (other) throw new Error(`${visibleLine(shown(other.path, cwd))} was changed since: nothing was taken back`);
  for (const { path, oldText } of [...turn].reverse()) {
    if (oldText === undefined) rmSync(path, { force: true });
    else writeFileSync(path, oldText);
  }
  record.changes.splice(at, 1);
  const paths = [...new Set(turn.map(({ path }) => shown(path, cwd)))];
  screen.line(
    palette.dim(`  taken back: ${visibleLine(paths.join(", "))}. The model does not know of it; say so if it matters.`),
  );
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function shown(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside;
}

async function setMode(words: string, { record: { status }, session, screen, palette }: CommandPorts): Promise<void> {
  if (words === "") {
    for (const { id, name } of status.modes)
      screen.line(`  ${id === status.mode ? "▸" : " "} ${visibleLine(id)}  ${palette.dim(visibleLine(name))}`);
    return;
  }
  await session.set("mode", words);
  status.mode = words;
  screen.line(palette.dim(`  mode: ${visibleLine(words)}`));
}

async function setThinking(
  words: string,
  { record: { status }, session, screen, palette }: CommandPorts,
): Promise<void> {
  const levels = status.thinkingLevels;
  if (levels.length === 0) throw new Error(`the model ${visibleLine(status.model)} has no levels of thinking`);
  if (words === "")
    return screen.line(
      `  thinking: ${visibleLine(status.thinking)} ${palette.dim(`(${visibleLine(levels.join(", "))})`)}`,
    );
  await session.set("thinking", words);
  status.thinking = words;
  screen.line(palette.dim(`  thinking: ${visibleLine(words)}`));
}

function servers(show: (servers: readonly ServerReport[], ports: CommandPorts) => void): Command["run"] {
  return async (_, ports) => {
    const all = await ports.session.status();
    if (all.length === 0) {
      const text = "  No MCP servers in this session. tenon mcp add configures one, --mcp-config FILE adds some.";
      ports.screen.line(ports.palette.dim(text));
    }
    show(all, ports);
  };
}

function showTools(all: readonly ServerReport[], { screen, palette }: CommandPorts): void {
  for (const server of all) {
    screen.line(`${palette.bold(visibleLine(server.name))} ${palette.dim(`(${summaryOf(server)})`)}`);
    const rows = server.tools.map(({ name, title, description }) => [name, title ?? "", description].map(visibleLine));
    for (const row of renderTable(rows, { columns: screen.columns, indent: 2 })) screen.line(row);
  }
}

const ERROR_LINES = 12;

function showServers(all: readonly ServerReport[], { screen, palette }: CommandPorts): void {
  const rows = all.map((server) => [visibleLine(server.name), server.state, summaryOf(server)]);
  renderTable(rows, { columns: screen.columns - 2 }).forEach((row, at) => {
    const server = all[at];
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
