// An authorization server over HTTP on a loopback port: strict like a real one, and wrong where a test wants it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { isJsonObject, parseJson } from "../../../base/json/json.js";
import { Feed } from "../../kit/feed.js";
import { closeListener, listenOnLoopback, readBody } from "../../kit/loopback.js";
import { type HttpFault, HttpFaults } from "../../kit/mcp-server/http-faults.js";
import { Endpoints, endpointOf } from "./endpoints.js";
import type { AuthEndpoint, AuthRecord, AuthServerOptions, LabProvider } from "./options.js";

/** Requests to an endpoint that wait until the test releases them. */
export interface HeldEndpoint {
  /** How many have come so far. */
  readonly count: number;
  /** Resolves when that many have come. */
  arrived(count: number): Promise<void>;
  /** Answers those that wait, and holds no more. */
  release(): void;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export class AuthServer implements AsyncDisposable {
  readonly origin: string;
  readonly #server: Server;
  /** Its tokens, clients and keys. */
  readonly endpoints: Endpoints;
  readonly #records = new Feed<AuthRecord>("request to the authorization server");
  readonly #faults = new HttpFaults<AuthRecord>();
  readonly #holds = { before: new Map<AuthEndpoint, Promise<void>>(), after: new Map<AuthEndpoint, Promise<void>>() };
  readonly #closing = new AbortController();
  readonly #bugs: unknown[] = [];
  #options: AuthServerOptions;

  constructor(server: Server, origin: string, options: AuthServerOptions) {
    this.#server = server;
    this.origin = origin;
    this.#options = options;
    this.endpoints = new Endpoints(origin, () => this.#options);
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => {
        this.#bugs.push(error);
        response.destroy();
      });
    });
  }

  get issuer(): string {
    return this.endpoints.places.issuer;
  }

  /** `host:port`, for `allowHosts`. */
  get host(): string {
    return new URL(this.origin).host;
  }

  /** Behaves differently from now on. */
  script(changes: AuthServerOptions): void {
    this.#options = { ...this.#options, ...changes };
  }

  /** Every request so far, in order of arrival. */
  get records(): readonly AuthRecord[] {
    return this.#records.items;
  }

  /** The requests to one endpoint; for `token` optionally of one grant type. */
  recordsOf(endpoint: AuthEndpoint, grantType?: string): readonly AuthRecord[] {
    return this.records.filter(
      (record) =>
        record.endpoint === endpoint && (grantType === undefined || record.params["grant_type"] === grantType),
    );
  }

  /** The number of granted refreshes. */
  get refreshCount(): number {
    return this.recordsOf("token", "refresh_token").filter(({ answer }) => answer?.status === 200).length;
  }

  /** How often a refresh token was sent a second time: a lost race, or a theft. */
  get reuseCount(): number {
    return this.endpoints.tokens.reuses;
  }

  /** For the `trusts` of another server: this one as identity provider. */
  get asProvider(): LabProvider {
    return { issuer: this.issuer, publicKey: this.endpoints.publicKey };
  }

  /** Revokes all tokens, or those of one account. */
  revokeTokens(account?: string): void {
    this.endpoints.tokens.revokeWhere((token) => account === undefined || token.account === account);
  }

  /** Answers the next requests to an endpoint with a fault: all of them, or `times` of them. */
  misbehave(endpoint: AuthEndpoint, fault: HttpFault, times?: number): void {
    this.#faults.plant((record) => record.endpoint === endpoint, fault, times);
  }

  behave(): void {
    this.#faults.clear();
  }

  /**
   * Requests to the endpoint wait until they are released: before any check, or `after` all work, when only the answer is
   * missing.
   */
  hold(endpoint: AuthEndpoint, when: "before" | "after" = "before"): HeldEndpoint {
    const holds = this.#holds[when];
    const from = this.#records.items.length;
    let letGo = () => {};
    const held = new Promise<void>((resolve) => (letGo = resolve));
    holds.set(endpoint, held);
    const came = () => this.#records.items.slice(from).filter((record) => record.endpoint === endpoint).length;
    return {
      get count() {
        return came();
      },
      arrived: async (count) => {
        if (came() < count) await this.#records.find(() => came() >= count, { from });
      },
      release: () => {
        if (holds.get(endpoint) === held) holds.delete(endpoint);
        letGo();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#faults.stop();
    await closeListener(this.#server);
    this.#records.end(new Error("the authorization server is closed"));
    if (this.#bugs.length > 0) throw new AggregateError(this.#bugs, "the authorization server failed");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const { pathname, searchParams } = new URL(request.url ?? "/", this.origin);
    const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
    const parsed = isForm || body === "" ? undefined : parseJson(body);
    const record: Writable<AuthRecord> = {
      endpoint: endpointOf(pathname),
      method: request.method ?? "",
      path: request.url ?? "/",
      params: Object.fromEntries(isForm ? new URLSearchParams(body) : searchParams),
      json: parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined,
      headers: request.headers,
      answer: undefined,
    };
    this.#records.push(record);
    if (this.#faults.strike(record, response)) return;
    await this.#holds.before.get(record.endpoint);
    const delayMs = this.#options.delaysMs?.[record.endpoint];
    if (delayMs !== undefined) await setTimeout(delayMs, undefined, { signal: this.#closing.signal }).catch(() => {});
    if (response.destroyed) return;
    record.answer = this.endpoints.answer(record, pathname);
    await this.#holds.after.get(record.endpoint);
    const { status, headers, body: answer } = record.answer;
    response.writeHead(status, { ...(answer && { "content-type": "application/json" }), ...headers });
    response.end(answer && JSON.stringify(answer));
  }
}

/** Listens on 127.0.0.1, on a port of the system's choice. */
export async function authServer(options: AuthServerOptions = {}): Promise<AuthServer> {
  const server = createServer();
  server.on("error", () => {}); // no file descriptors left: the caller sees it
  const origin = new URL(await listenOnLoopback(server, options.address));
  if (options.hostname !== undefined) origin.hostname = options.hostname;
  return new AuthServer(server, origin.origin, options);
}
