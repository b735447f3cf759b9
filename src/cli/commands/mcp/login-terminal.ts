// Logging in from a terminal: with a browser here, an address pasted from one elsewhere, or a code typed on any device.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { messageOf } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { World } from "../../../base/ports/world.js";
import type { DevicePrompt, DeviceWay, RedirectWay } from "../../../mcp/index.js";
import { addressWarnings, type LoginPage, loopbackWay, readPasted, webPage } from "../../../session/index.js";
import type { CommandContext } from "../../context.js";
import { visible, visibleLine } from "../../terminal/text.js";

/** The input that a person types or pipes in. */
export interface LineSource {
  readonly input: Readable & { unref?(): unknown };
  /** Whether a person types into it. */
  readonly isTerminal: boolean;
  /** Where the question is printed. */
  readonly output: NodeJS.WritableStream;
  /** Ctrl-C: a key, not a signal, while a line is edited. */
  readonly onInterrupt: () => void;
}

export interface TerminalOptions {
  readonly context: Pick<CommandContext, "errorOutput" | "palette">;
  readonly world: World;
  readonly lines: LineSource;
  /** Undefined: the person opens it. Resolves with why it could not be opened. */
  readonly open?: ((url: URL) => Promise<string | undefined>) | undefined;
  readonly port?: number | undefined;
}

export function browserWay(options: TerminalOptions): RedirectWay {
  const { world, port } = options;
  return loopbackWay({ world, port, show: (page, signal) => show(page, options, signal) });
}

/** The whole address stands alone on its line: the person decides by it, and copies it. */
async function show(
  page: LoginPage,
  { context, open, lines }: TerminalOptions,
  signal: AbortSignal,
): Promise<URLSearchParams | undefined> {
  const { palette, errorOutput } = context;
  const print = (line: string) => errorOutput.write(`${line}\n`);
  const host = new URL(page.issuer).host;
  print(`Log in to ${palette.bold(visibleLine(page.server))} at ${palette.bold(visibleLine(host))} on this page:`);
  print(page.url.href);
  for (const warning of page.warnings) print(palette.yellow(`! ${visible(warning)}`));
  const problem = await open?.(page.url);
  if (problem !== undefined) {
    print(palette.dim(`No browser could be opened (${visibleLine(problem)}): open it yourself.`));
  }
  const waiting =
    "Waiting for your browser to come back. If it is on another machine, paste here the address it ends at.";
  print(palette.dim(waiting));
  for await (const line of typedLines("address › ", lines, signal)) {
    if (line.trim() === "") continue;
    const read = readPasted(line, page);
    if (read.ok) return read.query;
    print(`That cannot be used: ${visible(read.reason)}.`);
  }
  return undefined; // the browser's request is still awaited
}

/**
 * Every line until the signal aborts or the input ends; does not keep the process alive. Node edits the line in a
 * terminal: the terminal's own editing cuts lines at 4,096 characters, and addresses with codes are longer.
 */
async function* typedLines(question: string, source: LineSource, signal: AbortSignal): AsyncGenerator<string> {
  const { input, isTerminal, output, onInterrupt } = source;
  if (signal.aborted) return;
  const shown = defined({ output: isTerminal ? output : undefined });
  const reader = createInterface({ input, terminal: isTerminal, historySize: 0, ...shown });
  const close = () => reader.close();
  signal.addEventListener("abort", close, { once: true });
  if (isTerminal) {
    reader.on("SIGINT", onInterrupt);
    reader.setPrompt(question);
    reader.prompt();
  }
  try {
    for await (const line of reader) {
      yield line;
      if (isTerminal) reader.prompt();
    }
  } finally {
    signal.removeEventListener("abort", close);
    reader.close();
    input.pause();
    input.unref?.();
    if (isTerminal) output.write("\n");
  }
}

export function deviceWay({ errorOutput, palette }: TerminalOptions["context"], now: () => number): DeviceWay {
  return {
    kind: "device",
    async show({ server, userCode, verificationUri, verificationUriComplete: complete, expiresAtMs }: DevicePrompt) {
      const minutes = Math.max(1, Math.round((expiresAtMs - now()) / 60_000));
      const lines = [
        `Log in to ${palette.bold(visibleLine(server))}: open this page on any device`,
        verificationUri.href,
        ...addressWarnings(verificationUri).map((warning) => palette.yellow(`! ${visible(warning)}`)),
        `and type the code ${palette.bold(visibleLine(userCode))} within ${minutes} min.`,
        ...(complete ? ["Or open this one, which has the code in it:", complete.href] : []),
        palette.dim("Waiting until you have."),
      ];
      for (const line of lines) errorOutput.write(`${line}\n`);
    },
  };
}

interface Opener {
  readonly command: string;
  readonly args: readonly string[];
}

/** Each takes the address as one argument and interprets nothing in it. */
export function openerFor(platform: NodeJS.Platform, address: string): Opener {
  if (platform === "darwin") return { command: "open", args: [address] };
  if (platform === "win32") return { command: "rundll32.exe", args: ["url.dll,FileProtocolHandler", address] };
  return { command: "xdg-open", args: [address] };
}

/**
 * Opens a web page, never through a shell. Resolves once the opener has started, or with why it could not. The opener may
 * become the browser itself, so it outlives this process.
 */
export async function openBrowser(
  url: URL,
  { platform, env }: { readonly platform: NodeJS.Platform; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<string | undefined> {
  const page = webPage(url);
  if (!page) return "it is no web page";
  const { command, args } = openerFor(platform, page.href);
  // NODE_OPTIONS is for Tenon, not for the browser.
  const { NODE_OPTIONS: _ours, ...rest } = env;
  return await new Promise((resolve) => {
    try {
      const child = spawn(command, args, { env: rest, stdio: "ignore", detached: true, shell: false });
      child.on("error", (error) => resolve(error.message));
      child.once("spawn", () => resolve(undefined));
      child.unref();
    } catch (error) {
      resolve(messageOf(error)); // no process left to start it in
    }
  });
}
