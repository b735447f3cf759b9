// The methods about the gateway itself: its status, changes of all sessions of an account, tokens, and its end.
import type { Notify, SharedAccess } from "../../acp/index.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { VERSION } from "../../base/version.js";
import type { Session } from "../../session/index.js";
import type { AuditLog } from "../access/audit.js";
import type { PairingCodes } from "../access/pairing.js";
import { type Principal, SCOPES } from "../access/principal.js";
import { isTokenName, type Tokens } from "../access/tokens.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { NodeInfo, Nodes } from "../nodes/nodes.js";
import type { GatewayChange, GatewayStatus, ListedNode, PageAnswer, Scope, TokensAnswer } from "../protocol.js";
import { seenQuestions } from "./joined-session.js";
import type { SharedSessions } from "./shared-sessions.js";

export interface GatewayMethodsOptions {
  readonly sessions: SharedSessions;
  readonly principal: Principal;
  readonly tokens: Tokens;
  readonly audit: Pick<AuditLog, "write">;
  readonly node: string;
  readonly codes: PairingCodes;
  /** Where the page is, for a browser of this machine or of another. */
  readonly pageAddress: (from: "here" | "elsewhere") => Promise<PageAddress>;
  /** For administrators. */
  readonly details: () => Pick<GatewayStatus, "pid" | "startedAt" | "listen" | "roots" | "rssBytes" | "connections">;
  /** Undefined where this gateway is alone. */
  readonly nodes?: Pick<Nodes, "list" | "self">;
  /** Turns that run get this long. */
  stop(drainMs?: number): void;
}

export interface PageAddress {
  readonly url: string;
  /** Only browsers of this machine reach it. */
  readonly isNear: boolean;
}

/** Scopes were checked before anything comes here. */
export class GatewayMethods {
  readonly methods: SharedAccess["methods"] = {
    "_tenon/gateway/status": () => this.#status(),
    "_tenon/gateway/watch": (_, notify) => this.#watch(notify),
    "_tenon/gateway/tokens": (params) => this.#changeTokens(params),
    "_tenon/gateway/page": (params) => this.#page(params),
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

  async #status(): Promise<GatewayStatus> {
    const { sessions, principal, node, details, nodes } = this.#options;
    const isAdmin = principal.scopes.has("admin");
    const open = sessions.open(isAdmin ? undefined : principal.account).map(({ session }) => session);
    // Without the database the rest is told all the same.
    const listed = isAdmin ? await nodes?.list().catch(() => undefined) : undefined;
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
      ...defined({ nodes: listed?.map((one) => listedNode(one, nodes?.self.value)) }),
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
    const open = sessions.open(principal.account);
    return {
      sessions: [
        ...open.map(({ id, session, title }) => changeOf(id, session, { mayAnswer, ...defined({ title }) })),
        ...sessions.held(principal.account).map((sessionId) => ({ sessionId, state: "waiting" as const })),
      ],
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

  /** A link to the page with a code in its fragment, which no server and no log ever sees. */
  async #page(params: JsonObject): Promise<PageAnswer> {
    const { principal, codes, audit, pageAddress, sessions } = this.#options;
    const { sessionId, name, from = "here" } = params;
    const { scopes = DEFAULT_SCOPES.filter((scope) => principal.scopes.has(scope)) } = params;
    if (from !== "here" && from !== "elsewhere") throw invalid('from must be "here" or "elsewhere"');
    if (name !== undefined && (typeof name !== "string" || !isTokenName(name))) {
      throw invalid("the name of a device has 1 to 64 letters, digits, spaces or ._@-");
    }
    const granted = readScopes(scopes);
    if (!granted) throw invalid(`scopes must be among ${SCOPES.join(", ")}`);
    const missing = granted.find((scope) => !principal.scopes.has(scope));
    if (missing !== undefined) {
      throw new TenonError("access.denied", `the scope "${missing}" cannot be given by a client that does not have it`);
    }
    const { account } = principal;
    const isThere = async (id: string) => sessions.find(account, id) ?? (await sessions.store(account).has(id));
    if (sessionId !== undefined && (typeof sessionId !== "string" || !(await isThere(sessionId)))) {
      throw new TenonError("session.not_found", `there is no session ${JSON.stringify(sessionId)}`);
    }
    const { url, isNear } = await pageAddress(from);
    const expiresInMs = from === "here" ? GATEWAY_LIMITS.page.inspectMs : GATEWAY_LIMITS.tokens.expireMs;
    const code = await codes.create({ account, scopes: granted, expiresInMs, ...defined({ name }) });
    audit.write("code.created", { account, by: principal.tokenId ?? principal.name, scopes: granted.join(",") });
    const session = sessionId === undefined ? "" : `&session=${encodeURIComponent(sessionId)}`;
    const goodMs = GATEWAY_LIMITS.page.codes.goodMs;
    return { url: `${url}#pair=${code}${session}`, expiresAt: sessions.world.now() + goodMs, isNear };
  }

  #stop({ drainMs }: JsonObject): object {
    if (drainMs !== undefined && (typeof drainMs !== "number" || !(drainMs >= 0))) {
      throw new TenonError("session.invalid_request", "drainMs must be a number of milliseconds");
    }
    this.#options.stop(drainMs);
    return {};
  }
}

function listedNode(node: NodeInfo, self: string | undefined): ListedNode {
  const { id, name, version, leaseLeftMs, sessions, isDraining } = node;
  return { id, name, version, leaseLeftMs, sessions, isDraining, isSelf: id === self };
}

const DEFAULT_SCOPES: readonly Scope[] = ["read", "prompt", "approve"];

function isScope(one: unknown): one is Scope {
  return SCOPES.some((scope) => scope === one);
}

/** Each once at most: a list of any length would be kept and written. */
function readScopes(given: unknown): readonly Scope[] | undefined {
  const isWhole = Array.isArray(given) && given.length <= SCOPES.length && given.every(isScope);
  return isWhole ? given : undefined;
}

function invalid(words: string): TenonError {
  return new TenonError("session.invalid_request", words);
}

function readNewToken({ name, account, scopes, expiresInMs }: JsonObject): Parameters<Tokens["create"]>[0] {
  const malformed = (what: string) => invalid(`${what} of a new token is malformed`);
  if (typeof name !== "string") throw malformed("the name");
  if (account !== undefined && typeof account !== "string") throw malformed("the account");
  const granted = readScopes(scopes);
  if (scopes !== undefined && !granted) throw malformed("the list of scopes");
  if (expiresInMs !== undefined && typeof expiresInMs !== "number") throw malformed("expiresInMs");
  return {
    name,
    ...defined({ account, scopes: granted, expiresInMs }),
  };
}

/** Of those in memory: the others are resting, and are counted by listing them. */
export function countByState(sessions: readonly Session[]): GatewayStatus["sessions"] {
  const counts = { idle: 0, running: 0, waiting: 0 };
  for (const { state } of sessions) if (state !== "resting") counts[state] += 1;
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
  const { cwd, usage, clients } = session.view();
  return {
    sessionId,
    state: session.isClosed ? "resting" : session.state,
    ...{ cwd, questions, usage, clients: clients.map(({ client, name, role }) => ({ client, name, role })) },
    ...defined({ title: session.title ?? title }),
  };
}
