// The methods about the gateway itself: its status, changes of all sessions of an account, tokens, and its end.
import type { Notify, SharedAccess } from "../../acp/index.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { VERSION } from "../../base/version.js";
import type { Session } from "../../session/index.js";
import type { AuditLog } from "../access/audit.js";
import { type Principal, SCOPES } from "../access/principal.js";
import type { TokenFile } from "../access/tokens.js";
import type { GatewayChange, GatewayStatus, Scope, TokensAnswer, WireSessionState } from "../protocol.js";
import { seenQuestions } from "./joined-session.js";
import type { SharedSessions } from "./shared-sessions.js";

export interface GatewayMethodsOptions {
  readonly sessions: SharedSessions;
  readonly principal: Principal;
  readonly tokens: TokenFile;
  readonly audit: Pick<AuditLog, "write">;
  readonly node: string;
  /** For administrators. */
  readonly details: () => Pick<GatewayStatus, "pid" | "startedAt" | "listen" | "roots" | "rssBytes">;
  /** Turns that run get this long. */
  stop(drainMs?: number): void;
}

/** Scopes were checked before anything comes here. */
export class GatewayMethods {
  readonly methods: SharedAccess["methods"] = {
    "_tenon/gateway/status": () => this.#status(),
    "_tenon/gateway/watch": (_, notify) => this.#watch(notify),
    "_tenon/gateway/tokens": (params) => this.#changeTokens(params),
    "_tenon/gateway/stop": (params) => this.#stop(params),
  };
  readonly #options: GatewayMethodsOptions;
  #unwatch: (() => void) | undefined;

  constructor(options: GatewayMethodsOptions) {
    this.#options = options;
  }

  /** The connection is over. */
  close(): void {
    this.#unwatch?.();
  }

  #status(): GatewayStatus {
    const { sessions, principal, node, details } = this.#options;
    const isAdmin = principal.scopes.has("admin");
    const open = sessions.open(isAdmin ? undefined : principal.account).map(({ session }) => session);
    return {
      version: VERSION,
      protocol: 1,
      node,
      account: principal.account,
      isDraining: sessions.isDraining,
      sessions: countByState(open),
      clients: open.reduce((sum, session) => sum + session.view().clients.length, 0),
      questions: open.reduce((sum, session) => sum + session.questions.open.length, 0),
      ...(isAdmin ? details() : {}),
    };
  }

  /** Again: from the beginning. */
  #watch(notify: Notify): { readonly sessions: readonly GatewayChange[] } {
    const { sessions, principal } = this.#options;
    const mayAnswer = principal.scopes.has("approve");
    this.#unwatch?.();
    this.#unwatch = sessions.watch(({ account, id, session, title }) => {
      if (account === principal.account) {
        notify("_tenon/gateway/changed", changeOf(id, session, { mayAnswer, ...defined({ title }) }));
      }
    });
    return {
      sessions: sessions.open(principal.account).map(({ id, session }) => changeOf(id, session, { mayAnswer })),
    };
  }

  async #changeTokens(params: JsonObject): Promise<TokensAnswer> {
    const { tokens, audit, principal } = this.#options;
    const { action, id } = params;
    const by = { account: principal.account, by: principal.tokenId ?? principal.name };
    switch (action) {
      case "list":
        return { tokens: await tokens.list() };
      case "create": {
        const { token, listed } = await tokens.create(readNewToken(params));
        audit.write("token.created", { ...by, token: listed.id, name: listed.name });
        return { tokens: [listed], token };
      }
      case "revoke": {
        const revoked = typeof id === "string" ? await tokens.revoke(id) : undefined;
        if (!revoked) throw new TenonError("session.invalid_request", `there is no token ${JSON.stringify(id)}`);
        audit.write("token.revoked", { ...by, token: revoked.id, name: revoked.name });
        return { tokens: [revoked] };
      }
      default:
        throw new TenonError("session.invalid_request", 'action must be "list", "create" or "revoke"');
    }
  }

  #stop({ drainMs }: JsonObject): object {
    if (drainMs !== undefined && (typeof drainMs !== "number" || !(drainMs >= 0))) {
      throw new TenonError("session.invalid_request", "drainMs must be a number of milliseconds");
    }
    this.#options.stop(drainMs);
    return {};
  }
}

function readNewToken({ name, account, scopes, expiresInMs }: JsonObject): Parameters<TokenFile["create"]>[0] {
  const isScope = (one: unknown): one is Scope => SCOPES.some((scope) => scope === one);
  const invalid = (what: string) => new TenonError("session.invalid_request", `${what} of a new token is malformed`);
  if (typeof name !== "string") throw invalid("the name");
  if (account !== undefined && typeof account !== "string") throw invalid("the account");
  if (scopes !== undefined && !(Array.isArray(scopes) && scopes.every(isScope))) throw invalid("the list of scopes");
  if (expiresInMs !== undefined && typeof expiresInMs !== "number") throw invalid("expiresInMs");
  return {
    name,
    ...defined({ account, scopes: Array.isArray(scopes) ? scopes.filter(isScope) : undefined, expiresInMs }),
  };
}

export function countByState(sessions: readonly Session[]): Record<WireSessionState, number> {
  const counts = { resting: 0, idle: 0, running: 0, waiting: 0 };
  for (const { state } of sessions) counts[state] += 1;
  return counts;
}

function changeOf(
  sessionId: string,
  session: Session | undefined,
  { mayAnswer, title }: { readonly mayAnswer: boolean; readonly title?: string },
): GatewayChange {
  if (!session) return { sessionId, ...defined({ title }) };
  const open = seenQuestions(session.questions.open, mayAnswer);
  const questions = open.map(({ id, of, askedMs, turn, toolCallId, shown }) => ({
    ...{ id, of, askedAt: askedMs, shown },
    ...defined({ turn, toolCallId }),
  }));
  return { sessionId, state: session.isClosed ? "resting" : session.state, questions, ...defined({ title }) };
}
