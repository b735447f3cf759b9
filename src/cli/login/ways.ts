// The ways to log in from a terminal: a browser here, an address pasted from one elsewhere, or a code typed on any device.
import type { World } from "../../base/ports/world.js";
import type { DevicePrompt, DeviceWay, RedirectWay } from "../../mcp/index.js";
import { addressWarnings, type LoginPage, loopbackWay, readPasted } from "../../session/index.js";
import type { CommandContext } from "../context.js";
import { visible, visibleLine } from "../terminal/text.js";
import { type LineSource, typedLines } from "./typed-lines.js";

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

/** The address stands alone on its line, whole: it is what the person decides about, and what they copy. */
async function show(
  page: LoginPage,
  { context, open, lines }: TerminalOptions,
  signal: AbortSignal,
): Promise<URLSearchParams | undefined> {
  const { palette, errorOutput } = context;
  const tell = (line: string) => errorOutput.write(`${line}\n`);
  const host = new URL(page.issuer).host;
  tell(`Log in to ${palette.bold(visibleLine(page.server))} at ${palette.bold(visibleLine(host))} on this page:`);
  tell(page.url.href);
  for (const warning of page.warnings) tell(palette.yellow(`! ${visible(warning)}`));
  const problem = await open?.(page.url);
  if (problem !== undefined)
    tell(palette.dim(`No browser could be opened (${visibleLine(problem)}): open it yourself.`));
  tell(
    palette.dim(
      "Waiting for your browser to come back. If it is on another machine, paste here the address it ends at.",
    ),
  );
  return await pasted(page, { lines, tell }, signal);
}

/** Undefined when nothing is typed: the browser is waited for all the same. */
async function pasted(
  page: LoginPage,
  { lines, tell }: { readonly lines: LineSource; readonly tell: (line: string) => void },
  signal: AbortSignal,
): Promise<URLSearchParams | undefined> {
  for await (const line of typedLines("address › ", lines, signal)) {
    if (line.trim() === "") continue;
    const read = readPasted(line, page);
    if (read.ok) return read.query;
    tell(`That cannot be used: ${visible(read.reason)}.`);
  }
  return undefined;
}

export function deviceWay({ errorOutput, palette }: TerminalOptions["context"], now: () => number): DeviceWay {
  return {
    kind: "device",
    async show({ server, userCode, verificationUri, verificationUriComplete, expiresAtMs }: DevicePrompt) {
      const minutes = Math.max(1, Math.round((expiresAtMs - now()) / 60_000));
      const lines = [
        `Log in to ${palette.bold(visibleLine(server))}: open this page on any device`,
        verificationUri.href,
        ...addressWarnings(verificationUri).map((warning) => palette.yellow(`! ${visible(warning)}`)),
        `and type the code ${palette.bold(visibleLine(userCode))} within ${minutes} min.`,
        ...(verificationUriComplete
          ? ["Or open this one, which has the code in it:", verificationUriComplete.href]
          : []),
        palette.dim("Waiting until you have."),
      ];
      for (const line of lines) errorOutput.write(`${line}\n`);
    },
  };
}
