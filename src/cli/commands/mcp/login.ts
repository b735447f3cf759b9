// `tenon mcp login` and `tenon mcp logout`: logs a person in to a server, or removes and revokes the log-in.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { messageOf, TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../../base/limits.js";
import type { SpawnRequest } from "../../../base/ports/world.js";
import { isUrl } from "../../../base/text/url.js";
import { grantAccount, grantPerson, loadConfig, type ReadyServer, whyNotReady } from "../../../config/index.js";
import {
  type DevicePrompt,
  type DeviceWay,
  type LoggedIn,
  type LoginOptions,
  login,
  logout,
  type RemoteSpec,
} from "../../../mcp/index.js";
import {
  addressWarnings,
  isLogInable,
  type LoginPage,
  loopbackWay,
  readPasted,
  webPage,
} from "../../../session/index.js";
import { type Given, misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report, warn } from "../../context.js";
import { EXIT, stoppable } from "../../exit.js";
import { grantKeyStatus, grantKeyText, personalGrants, secretResolver } from "../../secrets.js";
import { visible, visibleLine } from "../../terminal/text.js";

type LogoutValues = Values<"json", "account">;
export type LoginValues = Values<"json" | "device" | "no-browser", "account" | "timeout">;

/** The parts of this process that a log-in uses. */
interface LoginProcess {
  readonly signal: AbortSignal;
  readonly lines: LineSource;
  /** Resolves with why it could not be opened. */
  readonly open: (url: URL) => Promise<string | undefined>;
}

export const runLogin: Run<LoginValues> = async (given, context) => {
  const { env, platform, stdin, stderr } = process;
  const lines = {
    input: stdin,
    isTerminal: stdin.isTTY === true && stderr.isTTY === true,
    output: stderr,
    onInterrupt: () => process.kill(process.pid, "SIGINT"),
  };
  const open = (url: URL) => openBrowser(url, { platform, env });
  return await stoppable((signal) => logInHere(given, context, { signal, lines, open }));
};

export async function logInHere(
  { words, values }: Pick<Given<LoginValues>, "words" | "values">,
  context: CommandContext,
  { signal, lines, open }: LoginProcess,
): Promise<number> {
  const timeoutMs = timeoutOf(values.timeout);
  const { spec, options } = await findServer(words[0] ?? "", values.account, context);
  const { world } = context;
  const port = options.oauth.settings.callbackPort;
  const opening = values["no-browser"] ? { lines } : { lines, open };
  const show = (page: LoginPage, shown: AbortSignal) => showPage(page, { ...opening, signal: shown }, context);
  const way = values.device ? deviceWay(context) : loopbackWay({ world, port, show });
  using deadline = world.deadline(timeoutMs, signal);
  const loggedIn = await login(spec, { ...options, oauth: { ...options.oauth, way } }, deadline.signal).catch(
    (error: unknown) => {
      if (!deadline.expired) throw error;
      throw new TenonError("mcp.unauthorized", `nobody logged in to "${spec.name}" within ${timeoutMs / 1000} s`, {
        hint: "Run it again; --timeout gives you longer.",
      });
    },
  );
  await reportLogin(spec.name, loggedIn, values.json, context);
  return EXIT.done;
}

async function reportLogin(server: string, loggedIn: LoggedIn, isJson: boolean | undefined, context: CommandContext) {
  const { key, scope, expiresAtMs, isRenewable } = loggedIn;
  const { palette } = context;
  const store = await grantKeyStatus(context.world);
  const expiresAt = expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString();
  const scopes = scope === undefined ? "" : `, for ${visibleLine(scope)}`;
  const until = expiresAt === undefined ? "" : ` until ${expiresAt.slice(0, 16).replace("T", " ")} UTC`;
  const renewal = isRenewable
    ? "It renews itself. Open sessions that were refused use it from their next call on."
    : `It is good${until}; then log in again.`;
  report(context, isJson, { server, ...key, ...defined({ scope, expiresAt }), isRenewable, ...defined({ store }) }, [
    `${palette.green("✓")} Logged in to ${palette.bold(visibleLine(server))} at ${visibleLine(key.issuer)}${scopes}`,
    palette.dim(renewal),
    ...(store ? [palette.dim(grantKeyText(store))] : []),
  ]);
}

function timeoutOf(text: string | undefined): number {
  if (text === undefined) return OAUTH_LIMITS.loginMs;
  const seconds = Number(text);
  if (!(seconds > 0 && seconds * 1000 <= OAUTH_LIMITS.loginMs)) {
    throw misused(`--timeout must be a number of seconds up to ${OAUTH_LIMITS.loginMs / 1000}`);
  }
  return seconds * 1000;
}

export const runLogout: Run<LogoutValues> = async (given, context) => {
  return await stoppable((signal) => logOutHere(given, context, signal));
};

const REVOCATIONS = {
  done: "; it was revoked there too",
  not_offered: "; that server offers no way to revoke it",
  failed: "",
} as const;

export async function logOutHere(
  { words, values }: Pick<Given<LogoutValues>, "words" | "values">,
  context: CommandContext,
  signal: AbortSignal,
): Promise<number> {
  const { spec, options } = await findServer(words[0] ?? "", values.account, context);
  const done = await logout(spec, options, signal);
  const name = context.palette.bold(visibleLine(spec.name));
  const loggedOut = done.map(({ key: { issuer, account }, ...result }) => ({ issuer, account, ...result }));
  const lines = loggedOut.map(({ issuer, revocation }) => {
    return `Logged out of ${name} at ${visibleLine(issuer)}${REVOCATIONS[revocation]}`;
  });
  const said = lines.length === 0 ? [`There is no log-in to ${name} here.`] : lines;
  report(context, values.json, { server: spec.name, loggedOut }, said);
  if (values.json) return EXIT.done;
  for (const { reason = "no reason was given" } of done.filter(({ revocation }) => revocation === "failed")) {
    warn(context, `The log-in is gone from this machine, but it could not be revoked there: ${reason}`);
  }
  return EXIT.done;
}

/** A server of the configuration by its name, or one of an editor by its address. Throws if it has no log-in. */
async function findServer(
  named: string,
  account: string | undefined,
  { world, cwd, keyring }: CommandContext,
): Promise<{ readonly spec: RemoteSpec; readonly options: LoginOptions }> {
  const config = await loadConfig({ world, cwd, resolveSecret: secretResolver(world, keyring) });
  const store = personalGrants(world, keyring);
  const { allowHosts } = config;
  const found = config.servers.filter(({ name }) => name === named);
  if (found.length === 0 && /^https?:\/\//iu.test(named) && isUrl(named)) {
    const spec: RemoteSpec = { kind: "http", name: named, url: new URL(named).href, headers: {} };
    const mine = account ?? grantAccount({ origin: "client" });
    return { spec, options: { world, oauth: { store, account: mine, settings: {} }, allowHosts } };
  }
  const quoted = JSON.stringify(named);
  const server = found.find((one): one is ReadyServer => one.status === "ready");
  if (!server) {
    const [reason] = found.map((one) => whyNotReady(one));
    if (reason !== undefined) throw refused(`the server ${quoted} is not used: ${reason}`, "See tenon mcp list.");
    const hint =
      "See tenon mcp list. A server your editor hands over is named by its address: tenon mcp login https://…";
    throw refused(`there is no server ${quoted}`, hint);
  }
  const { spec, settings } = server;
  if (!isLogInable(spec)) {
    const isRemote = "url" in server.spec;
    const why = isRemote ? "is given its token by its entry" : "runs on this machine";
    const hint = isRemote
      ? `Remove its auth or Authorization header first: tenon mcp get ${named}`
      : "Use it as it is.";
    throw refused(`the server ${quoted} ${why}: it has no log-in`, hint);
  }
  if (account !== undefined && settings.origin === "project") {
    const hint = "Leave --account out, or add the server to your own configuration.";
    throw refused(`the server ${quoted} is the project's: it has one log-in, its own`, hint);
  }
  const owner = { ...settings, account: account ?? settings.account, project: config.project };
  const oauth = { store, account: grantAccount(owner), person: grantPerson(owner), settings: settings.oauth ?? {} };
  return { spec, options: { world, oauth, allowHosts, urlSource: settings.urlSource } };
}

// Logging in from a terminal: with a browser here, an address pasted from one elsewhere, or a code typed on any device.

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

/**
 * The whole address stands alone on its line: the person decides by it, and copies it. Without `open` the person opens it.
 */
async function showPage(
  page: LoginPage,
  { lines, open, signal }: Pick<LoginProcess, "lines" | "signal"> & Partial<Pick<LoginProcess, "open">>,
  { palette, errorOutput }: CommandContext,
): Promise<URLSearchParams | undefined> {
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

function deviceWay({ errorOutput, palette, world }: CommandContext): DeviceWay {
  return {
    kind: "device",
    async show({ server, userCode, verificationUri, verificationUriComplete: complete, expiresAtMs }: DevicePrompt) {
      const minutes = Math.max(1, Math.round((expiresAtMs - world.now()) / 60_000));
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

/** Each takes the address as one argument and interprets nothing in it. */
export function openerFor(platform: NodeJS.Platform, address: string): Pick<SpawnRequest, "command" | "args"> {
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
