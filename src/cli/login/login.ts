// `tenon mcp login`: brings the person to the server's log-in page and keeps what comes of it.
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../base/limits.js";
import { type LoggedIn, type LoginWay, login } from "../../mcp/index.js";
import { type Given, misused } from "../command.js";
import { type CommandContext, print, printJson } from "../context.js";
import { EXIT, stoppable } from "../exit.js";
import { visibleLine } from "../terminal/text.js";
import { openBrowser } from "./browser.js";
import { grantsStanding, standingText } from "./grants.js";
import { findSubject, type Subject } from "./subject.js";
import type { LineSource } from "./typed-lines.js";
import { browserWay, deviceWay } from "./ways.js";

export interface LoginValues {
  readonly json?: boolean | undefined;
  readonly account?: string | undefined;
  readonly device?: boolean | undefined;
  readonly "no-browser"?: boolean | undefined;
  readonly timeout?: string | undefined;
}

/** What of this process it uses. */
export interface LoginPlace {
  readonly lines: LineSource;
  open(url: URL): Promise<string | undefined>;
}

export async function runLogin(given: Given<LoginValues>, context: CommandContext): Promise<number> {
  const { env } = process;
  return await stoppable((signal) =>
    logInHere(given, context, {
      signal,
      lines: {
        input: process.stdin,
        isTerminal: process.stdin.isTTY === true && process.stderr.isTTY === true,
        output: process.stderr,
        onInterrupt: () => process.kill(process.pid, "SIGINT"),
      },
      open: (url) => openBrowser(url, { platform: process.platform, env }),
    }),
  );
}

export async function logInHere(
  { words, values }: Pick<Given<LoginValues>, "words" | "values">,
  context: CommandContext,
  place: LoginPlace & { readonly signal: AbortSignal },
): Promise<number> {
  const timeoutMs = timeoutOf(values.timeout);
  const subject = await findSubject(words[0] ?? "", values.account, context);
  const way = wayOf(values, subject, { context, place });
  using deadline = context.world.deadline(timeoutMs, place.signal);
  const { spec, options } = subject;
  const loggedIn = await login(spec, { ...options, oauth: { ...options.oauth, way } }, deadline.signal).catch(
    (error: unknown) => {
      throw deadline.expired ? tooLate(spec.name, timeoutMs) : error;
    },
  );
  await tell(subject, loggedIn, values.json === true, context);
  return EXIT.done;
}

function wayOf(
  values: LoginValues,
  { options }: Subject,
  { context, place }: { readonly context: CommandContext; readonly place: LoginPlace },
): LoginWay {
  const { world } = context;
  if (values.device === true) return deviceWay(context, () => world.now());
  const open = values["no-browser"] === true ? undefined : (url: URL) => place.open(url);
  return browserWay({ context, world, lines: place.lines, open, port: options.oauth.settings.callbackPort });
}

async function tell({ spec }: Subject, loggedIn: LoggedIn, isJson: boolean, context: CommandContext): Promise<void> {
  const { key, scope, expiresAtMs, isRenewable } = loggedIn;
  const standing = await grantsStanding(context.world);
  if (isJson) {
    return printJson(context, {
      server: spec.name,
      ...key,
      ...defined({ scope, expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString() }),
      isRenewable,
      ...defined({ store: standing }),
    });
  }
  const { palette } = context;
  const scopes = scope === undefined ? "" : `, for ${visibleLine(scope)}`;
  const until =
    expiresAtMs === undefined ? "" : ` until ${new Date(expiresAtMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  print(context, [
    `${palette.green("✓")} Logged in to ${palette.bold(visibleLine(spec.name))} at ${visibleLine(key.issuer)}${scopes}`,
    palette.dim(
      isRenewable
        ? "It renews itself. Open sessions that were refused use it from their next call on."
        : `It is good${until}; then log in again.`,
    ),
    ...(standing ? [palette.dim(standingText(standing))] : []),
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

function tooLate(name: string, timeoutMs: number): TenonError {
  return new TenonError("mcp.unauthorized", `nobody logged in to "${name}" within ${timeoutMs / 1000} s`, {
    hint: "Run it again; --timeout gives you longer.",
  });
}
