// `tenon gateway token`: the tokens of this user's gateway, whether it runs or not.

import { defined } from "../../../base/json/defined.js";
import type { World } from "../../../base/ports/world.js";
import { tenonPaths } from "../../../config/index.js";
import {
  AuditLog,
  type ListedToken,
  type NewToken,
  SCOPES,
  type Scope,
  type Tokens,
  tokensInFile,
} from "../../../gateway/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report, tableLines } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { openTokens, storeAddress } from "./store.js";

type TokenValues = Values<"json", "account" | "expires" | "store", "scopes">;

export const runToken: Run<TokenValues> = async ({ values, words: [action, name] }, context) => {
  const { world } = context;
  const url = storeAddress({ store: values.store }, context);
  if (url === undefined)
    return await changeTokens(tokensInFile(world, stateDirOf(world)), { action, name, values }, context);
  await using store = await openTokens(world, url);
  await changeTokens(store.tokens, { action, name, values }, context);
};

function stateDirOf({ env }: World): string {
  return tenonPaths(env).stateDir;
}

async function changeTokens(
  file: Tokens,
  { action, name, values }: Record<"action" | "name", string | undefined> & { readonly values: TokenValues },
  context: CommandContext,
): Promise<void> {
  if (action === "list") return await listTokens(file, values.json, context);
  if (name === undefined) throw misused(`say which token: tenon gateway token ${action} NAME`);
  await using audit = await AuditLog.open(context.world, stateDirOf(context.world));
  if (action === "revoke") {
    const revoked = await file.revoke(name);
    if (!revoked)
      throw refused(
        `there is no token ${JSON.stringify(name)} that could be revoked`,
        "tenon gateway token list shows them. A device is named by its id.",
      );
    audit.write("token.revoked", { token: revoked.id, name: revoked.name, account: revoked.account });
    report(context, values.json, { revoked }, [`${visibleLine(revoked.name)} is revoked; its connections end now.`]);
    return;
  }
  const { token, listed } = await file.create(newToken(name, values));
  audit.write("token.created", { token: listed.id, name, account: listed.account, scopes: listed.scopes.join(",") });
  report(context, values.json, { token, ...listed }, [
    token,
    context.palette.dim(`This is the only time it is shown. It may ${listed.scopes.join(", ")}; ${endOf(listed)}.`),
    context.palette.dim(
      "Put it into a file of mode 600: tenon acp --gateway URL --token-file FILE, tenon attach likewise.",
    ),
  ]);
}

function newToken(name: string, { scopes, account, expires }: TokenValues): NewToken {
  return { name, ...defined({ account, scopes: scopes && readScopes(scopes), expiresInMs: readTime(expires) }) };
}

export function readScopes(given: readonly string[]): readonly Scope[] {
  const words = given.flatMap((words) => words.split(",")).map((word) => word.trim());
  return words.map((word) => {
    const scope = SCOPES.find((one) => one === word);
    if (scope === undefined) throw misused(`there is no scope ${JSON.stringify(word)}; there is ${SCOPES.join(", ")}`);
    return scope;
  });
}

const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };

function readTime(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (given === "never") return Number.POSITIVE_INFINITY;
  const [, count = "", unit = ""] = /^(\d{1,6})([dhm])$/u.exec(given) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? 0);
  if (!(ms > 0)) throw misused("--expires takes a time such as 90d, 12h or 30m, or never");
  return ms;
}

async function listTokens(file: Tokens, isJson: boolean | undefined, context: CommandContext): Promise<void> {
  const tokens = await file.list();
  const rows = tokens.map((token) => [
    token.id,
    visibleLine(token.name),
    token.account,
    token.scopes.join(","),
    endOf(token, context.world.now()),
    token.lastUsedAt === undefined ? "never" : dayOf(token.lastUsedAt),
    token.isDevice ? "device" : "token",
  ]);
  const lines =
    rows.length === 0
      ? ["There are no tokens. tenon gateway token create NAME makes one."]
      : tableLines(["ID", "NAME", "ACCOUNT", "SCOPES", "STATE", "LAST USED", "KIND"], rows, context);
  report(context, isJson, { tokens }, lines);
}

function endOf({ revokedAt, expiresAt }: ListedToken, nowMs = 0): string {
  if (revokedAt !== undefined) return `revoked ${dayOf(revokedAt)}`;
  if (expiresAt === undefined) return "never expires";
  return `${expiresAt <= nowMs ? "expired" : "expires"} ${dayOf(expiresAt)}`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
