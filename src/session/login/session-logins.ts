// The log-ins of a session: asks the person at the start of a turn, once for each refusal, or with `/mcp login`.
import { orAborted } from "../../base/async/deadline.js";
import { Scope } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { uuidV7 } from "../../base/id.js";
import { LOGIN_LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { type ElicitAnswer, type Grant, isForPeople, login, resourceOf } from "../../mcp/index.js";
import type { Notify, ServerChange, ServerStatus } from "../events.js";
import type { ElicitQuestion, SessionPorts } from "../ports.js";
import type { OpenServer } from "../servers/entry.js";
import { isLogInable, loginCommand } from "../servers/server-login.js";
import type { SessionServers } from "../servers/servers.js";
import { type LoginPage, pageMarkdown, pageMessage, readPasted } from "./login-page.js";
import { loopbackWay } from "./loopback.js";

/** A server of the session. */
export type LoginTarget = Pick<OpenServer, "connection" | "login"> & {
  readonly source: Pick<OpenServer["source"], "origin">;
};

export interface SessionLoginsOptions {
  readonly world: World;
  readonly servers: Pick<SessionServers, "connected"> & { readonly open: readonly LoginTarget[] };
  /** The client that is attached now. */
  ports(): SessionPorts | undefined;
  readonly onNotice: Notify;
  /** How a person tries again, for a client without `/mcp login`: a sentence. */
  tryAgain?(server: string): string;
}

/** How `/mcp login` reaches the person. */
export interface LoginTalk {
  /** Shows Markdown in the conversation without recording it, for a client that cannot show pages itself. */
  show(text: string): Promise<void>;
  /** The browser is on another machine: the person pastes the address it ended at. */
  readonly isPasted: boolean;
  /** Takes the page instead of every other way to show it. */
  readonly onPage?: (page: LoginPage) => void;
}

type Outcome = { readonly ok: true; readonly issuer: string } | { readonly ok: false; readonly reason: string };

export class SessionLogins implements AsyncDisposable {
  readonly #options: SessionLoginsOptions;
  readonly #world: World;
  readonly #scope: Scope;
  /** Servers the person was asked about since they last worked. */
  readonly #asked = new Set<string>();
  /** Servers that refused a request, with the log-in stored at that time. */
  readonly #refused = new Map<string, Promise<StoredLogin | undefined>>();
  readonly #running = new Map<string, { readonly controller: AbortController; readonly outcome: Promise<Outcome> }>();

  constructor(options: SessionLoginsOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
  }

  /** A server that has worked since may lead to another question. */
  onStatus({ name, state, needsLogin }: ServerStatus): void {
    if (needsLogin) this.refused(name);
    if (state !== "ready") return;
    this.#asked.delete(name);
    this.#refused.delete(name);
  }

  /** The server refused a call or the connection. */
  refused(name: string): void {
    const target = this.#options.servers.open.find(({ connection }) => connection.spec.name === name);
    if (target) this.#refused.set(name, storedLogin(target));
  }

  /**
   * Shows the person the log-in pages of servers that refused, one after the other, if the client can show pages. A slow
   * log-in continues while the turn begins. Waits for servers that were logged in to elsewhere meanwhile, as in a terminal.
   */
  async ask(signal: AbortSignal): Promise<void> {
    if (this.#refused.size === 0) return;
    const refused = this.#options.servers.open.filter(({ connection, login: how }) => {
      return how !== undefined && isForPeople(how.oauth.settings) && this.#refused.has(connection.spec.name);
    });
    const lacking: LoginTarget[] = [];
    for (const target of refused) if (!(await this.#hasNewLogin(target))) lacking.push(target);
    if (lacking.length < refused.length) await this.#options.servers.connected(signal);
    if (await this.#askFor(lacking, signal)) await this.#options.servers.connected(signal);
  }

  /** It has a newer log-in than the refused one, or is connecting again. */
  async #hasNewLogin(target: LoginTarget): Promise<boolean> {
    const { connection } = target;
    if (connection.state.value.kind === "connecting") return true;
    const then = await this.#refused.get(connection.spec.name);
    const now = await storedLogin(target);
    if (!now || now.missingScope !== undefined || now.accessToken === then?.accessToken) return false;
    this.#refused.delete(connection.spec.name);
    connection.restart();
    return true;
  }

  async #askFor(targets: readonly LoginTarget[], signal: AbortSignal): Promise<boolean> {
    let isAny = false;
    for (const target of targets) {
      const { name } = target.connection.spec;
      if (signal.aborted || this.#asked.has(name) || !this.#shows("url")) continue;
      this.#asked.add(name);
      using patience = this.#world.deadline(LOGIN_LIMITS.turnWaitMs, signal);
      const outcome = await orAborted(this.#begin(target), patience.signal).catch(() => undefined);
      isAny ||= outcome?.ok === true;
      if (outcome?.ok !== false) continue;
      const again = this.#options.tryAgain?.(name) ?? `/mcp login ${name} tries again.`;
      this.#options.onNotice("warning", `not logged in to "${name}": ${outcome.reason}. ${again}`);
    }
    return isAny;
  }

  /** `/mcp login`: in any state of the server, since the person may want to use another account. */
  async login(name: string, talk: LoginTalk, signal: AbortSignal): Promise<ServerChange> {
    const target = this.#options.servers.open.find(({ connection }) => connection.spec.name === name);
    if (!target) return { ok: false, reason: `this session has no connected server "${name}"` };
    if (!target.login) return { ok: false, reason: whyNot(target, name) };
    this.#asked.add(name);
    const outcome = await orAborted(this.#begin(target, talk), signal).catch(() => undefined);
    if (!outcome) return { ok: false, reason: "not logged in yet; who comes back from the page in time still is" };
    if (!outcome.ok) return outcome;
    return { ok: true, text: `Logged in to "${name}" at ${outcome.issuer}.` };
  }

  /** The page itself, for a client that opens it: the log-in goes on until the person is back from it. Or why there is none. */
  async page(name: string): Promise<{ readonly url: string } | { readonly reason: string }> {
    let tell: (page: { readonly url: string }) => void = () => {};
    const shown = new Promise<{ readonly url: string }>((resolve) => {
      tell = resolve;
    });
    const talk = { show: async () => {}, isPasted: false, onPage: ({ url }: LoginPage) => tell({ url: url.href }) };
    const over = this.login(name, talk, this.#scope.signal);
    return await Promise.race([shown, over.then((change) => ({ reason: change.ok ? change.text : change.reason }))]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.close();
  }

  /**
   * One log-in per server at a time; one that the person asks for replaces one that was offered. It continues when the turn
   * that began it is cancelled: the person may be at the page.
   */
  #begin(target: LoginTarget, talk?: LoginTalk): Promise<Outcome> {
    const { name } = target.connection.spec;
    const before = this.#running.get(name);
    if (before && !talk) return before.outcome;
    before?.controller.abort(new DOMException("begun anew", "AbortError"));
    const controller = new AbortController();
    const outcome = new Promise<Outcome>((resolve) => {
      this.#scope.run(`log in to ${name}`, async (signal) => {
        const result = await this.#perform(target, talk, AbortSignal.any([signal, controller.signal]));
        if (this.#running.get(name)?.controller === controller) this.#running.delete(name);
        resolve(result);
      });
    });
    this.#running.set(name, { controller, outcome });
    return outcome;
  }

  async #perform(
    { connection, source, login: how }: LoginTarget,
    talk: LoginTalk | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { spec } = connection;
    if (!how || !isLogInable(spec)) return { ok: false, reason: "one cannot log in to it" };
    const way = loopbackWay({
      world: this.#world,
      port: how.oauth.settings.callbackPort,
      show: (page, until) => this.#show(page, { talk, command: loginCommand(spec, source.origin) }, until),
    });
    try {
      const { key } = await login(spec, { ...how, world: this.#world, oauth: { ...how.oauth, way } }, signal);
      this.#refused.delete(spec.name);
      this.#asked.delete(spec.name);
      connection.restart();
      return { ok: true, issuer: key.issuer };
    } catch (error) {
      return { ok: false, reason: messageOf(error) };
    }
  }

  async #show(
    page: LoginPage,
    { talk, command }: { readonly talk: LoginTalk | undefined; readonly command: string },
    signal: AbortSignal,
  ): Promise<URLSearchParams | undefined> {
    if (talk?.onPage) talk.onPage(page);
    else if (this.#shows("url")) await this.#elicitPage(page, signal);
    else if (talk) await talk.show(pageMarkdown(page, command));
    else throw new TenonError("cancelled", "nobody is there to log in");
    return talk?.isPasted ? await this.#askForAddress(page, signal) : undefined;
  }

  async #elicitPage(page: LoginPage, signal: AbortSignal): Promise<void> {
    const ports = this.#options.ports();
    const id = this.#newId();
    const request = { mode: "url", message: pageMessage(page), url: page.url.href, elicitationId: id } as const;
    // The person may return before the client reports that the page was opened.
    const complete = () => ports?.elicitationCompleted?.(id);
    signal.addEventListener("abort", complete, { once: true });
    const answer = await this.#elicit({ id, server: page.server, request }, signal);
    if (answer.action === "accept") return;
    signal.removeEventListener("abort", complete);
    throw new TenonError("cancelled", "it was declined");
  }

  async #askForAddress(page: LoginPage, signal: AbortSignal): Promise<URLSearchParams> {
    if (!this.#shows("form")) throw new TenonError("cancelled", "this client has no way to ask for the address");
    for (let again = ""; ; ) {
      const message = `${again}Paste the address your browser ended at; it begins with ${page.redirectUri}`;
      const request = { mode: "form", message, requestedSchema: ADDRESS_FORM } as const;
      const answer = await this.#elicit({ id: this.#newId(), server: page.server, request }, signal);
      const typed = answer.action === "accept" ? answer.content?.["address"] : undefined;
      if (typeof typed !== "string") throw new TenonError("cancelled", "no address was given");
      const pasted = readPasted(typed, page);
      if (pasted.ok) return pasted.query;
      again = `That cannot be used: ${pasted.reason}. `;
    }
  }

  async #elicit(question: ElicitQuestion, signal: AbortSignal): Promise<ElicitAnswer> {
    const ports = this.#options.ports();
    return ports?.elicit ? await orAborted(ports.elicit(question, signal), signal) : { action: "decline" };
  }

  #newId(): string {
    return uuidV7(this.#world.now(), (count) => this.#world.randomBytes(count));
  }

  #shows(mode: "form" | "url"): boolean {
    const ports = this.#options.ports();
    return ports?.elicit !== undefined && (ports.elicitModes ?? ["form", "url"]).includes(mode);
  }
}

const ADDRESS_FORM = {
  type: "object",
  properties: { address: { type: "string", title: "Address" } },
  required: ["address"],
} as const;

type StoredLogin = Pick<Grant, "accessToken" | "missingScope">;

/** Never rejects: an unreadable log-in is read again with the server. */
async function storedLogin({ connection, login: how }: LoginTarget): Promise<StoredLogin | undefined> {
  const { spec } = connection;
  if (!how || !isLogInable(spec)) return undefined;
  const { store, account } = how.oauth;
  try {
    const [key] = await store.find(resourceOf(spec.url), account);
    return key && (await store.read(key));
  } catch {
    return undefined;
  }
}

function whyNot({ connection }: LoginTarget, name: string): string {
  const { spec } = connection;
  if (spec.kind !== "http" && spec.kind !== "sse") return `"${name}" is not reached over the network: it has no log-in`;
  if (!isLogInable(spec)) return `"${name}" is given a token by its configuration: correct that one`;
  return "this program keeps no log-ins";
}
