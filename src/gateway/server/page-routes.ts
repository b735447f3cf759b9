// The page of a gateway over HTTP: its files, which anybody may have, and how a browser logs in, by a token or a pairing code.
import type { IncomingMessage, ServerResponse } from "node:http";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type JsonObject, parseObject } from "../../base/json/json.js";
import { messageOf } from "../../base/message.js";
import type { World } from "../../base/ports/world.js";
import type { AuditLog } from "../access/audit.js";
import { addressOf, type Entrance, type Guard, isRefusal, type Refusal } from "../access/guard.js";
import type { CodeGrant, PairingCodes } from "../access/pairing.js";
import type { Principal } from "../access/principal.js";
import { isTokenName, type LiveTokens, type NewDevice } from "../access/tokens.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { ListedToken, PageUser } from "../protocol.js";
import { readBody } from "./http-answers.js";
import { type PageFile, readPageFiles } from "./page-files.js";
import type { RequestBudgets } from "./requests.js";

export interface PageRoutesOptions {
  readonly world: World;
  readonly access: { readonly tokens: LiveTokens; readonly audit: AuditLog; readonly codes: PairingCodes };
  readonly guard: Guard;
  /** A log-in is written to the disk: it counts as a request of its token. */
  readonly budgets: Pick<RequestBudgets, "take">;
  readonly pageFolder?: string;
}

type TcpEntrance = Entrance & { readonly kind: "tcp" };

interface Place {
  readonly path: string;
  readonly entrance: TcpEntrance;
}

/** Of every answer of the page: nothing of other sites runs in it, and no other site has a part of it. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const ASSETS = "/assets/";
const FORMS = ["/login", "/pair", "/logout"];

export class PageRoutes {
  readonly #options: PageRoutesOptions;
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  constructor(options: PageRoutesOptions) {
    this.#options = options;
  }

  has(path: string): boolean {
    return path === "/" || path === "/me" || FORMS.includes(path) || path.startsWith(ASSETS);
  }

  /** For a browser that is about to come: its first view need not wait for files to be compressed. */
  async ready(): Promise<void> {
    await this.#pageFiles();
  }

  /** Never rejects: a browser that is not answered would wait. */
  async answer(request: IncomingMessage, response: ServerResponse, place: Place): Promise<void> {
    try {
      await this.#answer(request, response, place);
    } catch (error) {
      this.#options.world.log.error("gateway.page_failed", { path: place.path, error: messageOf(error) });
      if (response.headersSent) response.destroy();
      else answerJson(response, 500, problem("internal", "The gateway failed at this. Its log says more."));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, { path, entrance }: Place): Promise<void> {
    const isForm = FORMS.includes(path);
    const { guard } = this.#options;
    const methods = isForm ? ["POST"] : ["GET", ...(path === "/me" ? [] : ["HEAD"])];
    const isAllowed = methods.includes(request.method ?? "");
    const refusal = isForm && isAllowed ? guard.checkPage(request, entrance) : guard.checkPlace(request, entrance);
    if (refusal) return refuse(response, refusal);
    if (!isAllowed)
      return answerJson(response, 405, problem("method", "Method Not Allowed"), { allow: methods.join(", ") });
    if (path === "/me") return this.#me(request, response, entrance);
    if (!isForm) return await this.#file(request, response, path);
    const principal = path === "/logout" ? this.#principal(request, entrance) : undefined;
    const body = await this.#body(request, response);
    if (body === undefined) return;
    if (path === "/login") return await this.#login(body, request, { response, entrance });
    if (path === "/pair") return await this.#pair(body, request, { response, entrance });
    await this.#logout(principal, response, entrance);
  }

  async #file(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const files = await this.#pageFiles();
    const file = files.get(path === "/" ? "index.html" : path.slice(ASSETS.length));
    if (!file && path === "/") {
      const words = "This gateway was installed without its page. It serves ACP at /acp.\n";
      response.writeHead(404, { ...HEADERS, "content-type": "text/plain; charset=utf-8" });
      response.end(request.method === "HEAD" ? undefined : words);
      return;
    }
    if (!file) return refuse(response, this.#options.guard.refuse("unknown_path", addressOf(request)));
    const { encoding, body } = file.for(String(request.headers["accept-encoding"] ?? ""));
    const etag = `"${file.hash}${encoding === undefined ? "" : `-${encoding}`}"`;
    const headers = {
      ...HEADERS,
      etag,
      "cache-control": file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
      ...defined({ "content-encoding": encoding }),
    };
    const known = String(request.headers["if-none-match"] ?? "")
      .split(",")
      .map((tag) => tag.trim());
    if (known.includes(etag)) {
      response.writeHead(304, headers);
      response.end();
      return;
    }
    response.writeHead(200, { ...headers, "content-type": file.type, "content-length": body.length });
    response.end(request.method === "HEAD" ? undefined : body);
  }

  async #pageFiles(): Promise<ReadonlyMap<string, PageFile>> {
    const { world, pageFolder } = this.#options;
    this.#files ??= readPageFiles(world, pageFolder);
    return await this.#files;
  }

  /** Nothing is tried by a browser without a cookie: that is no failed log-in. */
  async #me(request: IncomingMessage, response: ServerResponse, entrance: TcpEntrance): Promise<void> {
    const cookie = cookieOf(request, entrance);
    const hasNone = cookie === undefined && request.headers.authorization === undefined;
    if (hasNone) return answerJson(response, 401, problem("no_token", "Log in first."));
    if (cookie !== undefined) await this.#options.access.tokens.lookFor(cookie); // it may be another node's
    const principal = this.#principal(request, entrance);
    if (!isRefusal(principal)) return answerJson(response, 200, userOf(principal));
    // A cookie that is over is taken back: each try with it would count as a failed log-in.
    if (principal.status === 401) response.setHeader("set-cookie", setCookie("", 0, entrance));
    refuse(response, principal);
  }

  #principal(request: IncomingMessage, entrance: TcpEntrance): Principal | Refusal {
    return this.#options.guard.admit(request, entrance, cookieOf(request, entrance));
  }

  /** Undefined: it was no JSON object, and that is answered. */
  async #body(request: IncomingMessage, response: ServerResponse): Promise<JsonObject | undefined> {
    const remote = addressOf(request);
    const { bodyMaxBytes } = GATEWAY_LIMITS.page;
    const isAnnounced = Number(request.headers["content-length"] ?? 0) > bodyMaxBytes;
    const text = isAnnounced ? undefined : await readBody(request, bodyMaxBytes);
    const { guard } = this.#options;
    if (text === undefined) {
      refuse(response, guard.refuse("body_too_large", remote), `A body has at most ${bodyMaxBytes} bytes.`);
      return undefined;
    }
    // Forms of other sites cannot send this type.
    const isJson = /^application\/json\s*(;|$)/iu.test(request.headers["content-type"] ?? "");
    const body = isJson ? parseObject(text === "" ? "{}" : text) : undefined;
    if (!body) refuse(response, guard.refuse("malformed", remote), "The body must be a JSON object.");
    return body;
  }

  async #login({ token }: JsonObject, request: IncomingMessage, to: Answered): Promise<void> {
    const { access, guard } = this.#options;
    const verdict = typeof token === "string" ? access.tokens.verify(token) : "unknown";
    if (typeof verdict === "string") {
      const words = "This token is not known here, has expired or was revoked.";
      return refuse(to.response, guard.refuse(`${verdict}_token`, addressOf(request)), words);
    }
    const waitMs = this.#options.budgets.take(verdict);
    if (waitMs > 0) {
      const retry = { "retry-after": String(Math.ceil(waitMs / 1_000)) };
      return answerJson(to.response, 429, problem("limited", "This token was used too often: wait a moment."), retry);
    }
    const { account, scopes, name, tokenId, expiresAt } = verdict;
    const leftMs = expiresAt === undefined ? undefined : expiresAt - this.#options.world.now();
    const expiresInMs = Math.min(leftMs ?? Number.POSITIVE_INFINITY, GATEWAY_LIMITS.tokens.expireMs);
    await this.#enter(
      { account, scopes: [...scopes], name, expiresInMs, ...defined({ parent: tokenId }) },
      request,
      to,
    );
  }

  async #pair({ code, name }: JsonObject, request: IncomingMessage, to: Answered): Promise<void> {
    const { access, guard } = this.#options;
    const refusal = guard.checkCodes(addressOf(request));
    if (refusal) return refuse(to.response, refusal);
    const verdict = typeof code === "string" ? await access.codes.take(code) : "unknown";
    if (typeof verdict === "string") {
      return refuse(to.response, guard.refuse(`${verdict}_code`, addressOf(request)), CODE_WORDS[verdict]);
    }
    await this.#enter({ ...verdict, name: deviceName(verdict, name) }, request, to);
  }

  async #enter(device: NewDevice, request: IncomingMessage, { response, entrance }: Answered): Promise<void> {
    const { access, world } = this.#options;
    const remote = addressOf(request);
    try {
      const { cookie, listed } = await access.tokens.kept.createDevice(device);
      await access.tokens.ready();
      const { account, name, scopes, expiresAt = world.now() } = listed;
      const by = device.parent === undefined ? "code" : "token";
      access.audit.write("logged_in", { account, ...whichOf(listed), name, scopes: scopes.join(","), by, remote });
      const leftSeconds = Math.max(1, Math.floor((expiresAt - world.now()) / 1_000));
      const user: PageUser = { account, scopes, name };
      answerJson(response, 200, user, { "set-cookie": setCookie(cookie, leftSeconds, entrance) });
    } catch (error) {
      world.log.error("gateway.login_failed", { error: messageOf(error) });
      const words =
        error instanceof TenonError && error.code === "usage.invalid" ? error.message : "the tokens cannot be written";
      answerJson(response, 503, problem("unavailable", `The gateway could not let this browser in: ${words}.`));
    }
  }

  async #logout(
    principal: Principal | Refusal | undefined,
    response: ServerResponse,
    entrance: TcpEntrance,
  ): Promise<void> {
    const { access } = this.#options;
    if (!principal || isRefusal(principal))
      return answerJson(response, 401, problem("no_token", "Nobody was logged in."));
    const { account, tokenId, name } = principal;
    // A token that a program logs out with stays: it is not the browser's.
    const removed = tokenId === undefined ? undefined : await access.tokens.kept.removeDevice(tokenId);
    if (removed) {
      await access.tokens.ready();
      access.audit.write("logged_out", { account, ...whichOf(removed), name });
    }
    answerJson(response, 200, {}, { "set-cookie": setCookie("", 0, entrance) });
  }
}

interface Answered {
  readonly response: ServerResponse;
  readonly entrance: TcpEntrance;
}

const CODE_WORDS = {
  unknown: "This code is not known here. tenon gateway pair makes a new one.",
  used: "This code was used already. tenon gateway pair makes a new one.",
  expired: "This code is too old: a code is good for 5 minutes. tenon gateway pair makes a new one.",
  void: "There were too many wrong codes, so this one is void. tenon gateway pair makes a new one.",
} as const;

/** The name given with the code counts; else what the browser calls itself, where that could be the name of a token. */
function deviceName({ name }: CodeGrant, given: unknown): string {
  return name ?? (typeof given === "string" && isTokenName(given) ? given : "a paired browser");
}

/** In the audit file. */
function whichOf({ id, parent }: ListedToken): { readonly token: string; readonly device: string } {
  return { token: parent ?? id, device: id };
}

function userOf({ account, scopes, name }: Principal): PageUser {
  return { account, scopes: [...scopes], name };
}

/** Browsers send a cookie to all ports of a host: two gateways of one machine must not take each other's place. */
function cookieName({ isTls, port }: TcpEntrance): string {
  return isTls ? "__Host-tenon" : `tenon-${port}`;
}

function setCookie(value: string, maxAgeSeconds: number, entrance: TcpEntrance): string {
  const secure = entrance.isTls ? "; Secure" : "";
  return `${cookieName(entrance)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure}`;
}

/** The cookie of the page. One that was sent twice is none: another server of the host may have set the other. */
export function cookieOf({ headers }: IncomingMessage, entrance: TcpEntrance): string | undefined {
  const name = cookieName(entrance);
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim().split("=", 2));
  const values = pairs.filter(([key]) => key === name).map(([, value = ""]) => value);
  return values.length === 1 ? values[0] : undefined;
}

function problem(code: string, message: string): object {
  return { error: { code, message } };
}

const REFUSED: Readonly<Record<number, string>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  429: "Too many failed attempts: wait a minute.",
};

/** Words only for what people can do something about; the reason is in the audit file. */
function refuse(response: ServerResponse, { status, reason, retryAfterSeconds }: Refusal, words?: string): void {
  const message = status === 429 ? REFUSED[429] : (words ?? REFUSED[status]);
  const code = words === undefined ? "refused" : reason;
  const retry = retryAfterSeconds?.toString();
  const headers = { connection: "close", ...defined({ "retry-after": retry }) };
  answerJson(response, status, problem(status === 429 ? "too_many_failures" : code, message ?? "Refused"), headers);
}

function answerJson(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const usual = { ...HEADERS, "content-type": "application/json", "cache-control": "no-store" };
  response.writeHead(status, { ...usual, ...headers });
  response.end(`${JSON.stringify(value)}\n`);
}
