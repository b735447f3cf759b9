// `tenon mcp logout`: forgets the log-ins at a server, and has them revoked where that is offered.
import { defined } from "../../base/json/defined.js";
import { type LoggedOut, logout } from "../../mcp/index.js";
import type { Given } from "../command.js";
import { type CommandContext, print, printJson, warn } from "../context.js";
import { EXIT, stoppable } from "../exit.js";
import { visibleLine } from "../terminal/text.js";
import { findSubject } from "./subject.js";

export interface LogoutValues {
  readonly json?: boolean | undefined;
  readonly account?: string | undefined;
}

export async function runLogout(given: Given<LogoutValues>, context: CommandContext): Promise<number> {
  return await stoppable((signal) => logOutHere(given, context, signal));
}

export async function logOutHere(
  { words, values }: Pick<Given<LogoutValues>, "words" | "values">,
  context: CommandContext,
  signal: AbortSignal,
): Promise<number> {
  const { spec, options } = await findSubject(words[0] ?? "", values.account, context);
  const done = await logout(spec, options, signal);
  if (values.json === true) {
    const loggedOut = done.map(({ key, revocation, reason }) => {
      return { issuer: key.issuer, account: key.account, revocation, ...defined({ reason }) };
    });
    printJson(context, { server: spec.name, loggedOut });
    return EXIT.done;
  }
  const name = context.palette.bold(visibleLine(spec.name));
  if (done.length === 0) print(context, [`There is no log-in to ${name} here.`]);
  for (const one of done) print(context, [`Logged out of ${name} at ${visibleLine(one.key.issuer)}${told(one)}`]);
  for (const { revocation, reason } of done) {
    if (revocation !== "failed") continue;
    warn(
      context,
      `The log-in is gone from this machine, but it could not be revoked there: ${reason ?? "no reason was given"}`,
    );
  }
  return EXIT.done;
}

function told({ revocation }: LoggedOut): string {
  if (revocation === "done") return "; it was revoked there too";
  return revocation === "not_offered" ? "; that server offers no way to revoke it" : "";
}
