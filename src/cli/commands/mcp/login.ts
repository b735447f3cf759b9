// `tenon mcp login` and `tenon mcp logout`: logs a person in to a server, or removes and revokes the log-in.
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { OAUTH_LIMITS } from "../../../base/limits.js";
import { grantAccount, grantPerson, loadConfig, type ReadyServer, whyNotReady } from "../../../config/index.js";
import { type LoggedIn, type LoginOptions, login, logout, type RemoteSpec } from "../../../mcp/index.js";
import { isLogInable } from "../../../session/index.js";
import { type Given, misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report, warn } from "../../context.js";
import { EXIT, stoppable } from "../../exit.js";
import { grantKeyStatus, grantKeyText, personalGrants } from "../../logins.js";
import { secretResolver } from "../../secrets.js";
import { visibleLine } from "../../terminal/text.js";
import { browserWay, deviceWay, type LineSource, openBrowser } from "./login-terminal.js";

type LogoutValues = Values<"json", "account">;
export type LoginValues = Values<"json" | "device" | "no-browser", "account" | "timeout">;

/** The parts of this process that a log-in uses. */
interface LoginProcess {
  readonly signal: AbortSignal;
  readonly lines: LineSource;
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
  const opener = values["no-browser"] === true ? undefined : open;
  const way =
    values.device === true
      ? deviceWay(context, () => world.now())
      : browserWay({ context, world, lines, open: opener, port });
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
  if (found.length === 0 && /^https?:\/\//iu.test(named) && URL.canParse(named)) {
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
