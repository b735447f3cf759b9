// The sessions of one account as one connection reaches them: identity, role and environment are bound here, never asked again.
import {
  type LoadOptions,
  type OpenedSession,
  type SessionAccess,
  type SessionHandle,
  type SharedAccess,
  type TellAll,
  tenonMeta,
} from "../../acp/index.js";
import { TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { markForeign } from "../../base/text/marking.js";
import { VERSION } from "../../base/version.js";
import {
  type ClientRole,
  type ListRequest,
  type NewSession,
  type SessionPage,
  type SessionStore,
  type SessionSummary,
  type StoredRequest,
  type StoredView,
  storedView,
} from "../../session/index.js";
import type { AuditLog } from "../access/audit.js";
import { allowedDirectory, type ClientKeys, type Principal } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { GatewayCapability, InitializeAnswerMeta, ListedSessionMeta } from "../protocol.js";
import type { GatewayMethods } from "./gateway-methods.js";
import { allowedServers, type JoinedClient, JoinedSession } from "./joined-session.js";
import { sessionEnvironment } from "./runtimes.js";
import type { OpenFor, OpenSession, SharedSessions } from "./shared-sessions.js";

export interface ClientAccessOptions {
  readonly sessions: SharedSessions;
  readonly principal: Principal;
  readonly keys: ClientKeys;
  readonly audit: Pick<AuditLog, "write">;
  /** The directories that sessions may be in; all unless given. */
  readonly roots: readonly string[];
  /** Of this gateway, for people. */
  readonly node: string;
  /** Of the machine: two gateways with the same have the same files. */
  readonly host: string;
  readonly methods: GatewayMethods;
  /** There are other nodes: a client may name a session to them as soon as it knows it. */
  readonly hasNodes?: boolean;
  /** The client is at another node, which shows it the records itself. */
  readonly isLinked?: boolean;
  /** Ends the connection in a way after which a client connects again. */
  reconnect(): void;
}

export class ClientAccess implements SessionAccess {
  readonly world: World;
  /** Known only for a directory: a session tells it. */
  readonly modelProblem = undefined;
  readonly shared: SharedAccess;
  readonly #options: ClientAccessOptions;
  readonly #disconnected: () => void;
  #client: JoinedClient;
  #env: World["env"] | undefined;
  #tell: TellAll = () => {};
  /** Its connection ends, so that it connects again. */
  #isLeaving = false;

  constructor(options: ClientAccessOptions) {
    const { sessions, principal, keys } = options;
    this.#options = options;
    this.world = sessions.world;
    this.#disconnected = sessions.connected();
    this.#client = {
      client: keys.issue(principal.account).id,
      name: principal.name,
      ...this.#roleOf({}),
    };
    this.shared = {
      client: () => this.#client.client,
      introduce: (params) => this.#introduce(params),
      listed: (session) => this.#listed(session),
      connected: (tell) => {
        this.#tell = tell;
      },
      // A database that was away for a moment, or a session that moved: connected again, the client goes on where it is.
      lost: () => {
        if (options.hasNodes) options.reconnect();
      },
      closed: () => {
        options.methods.close();
        this.#disconnected();
      },
      methods: options.methods.methods,
    };
  }

  /** Whose name is on what this connection does. */
  get client(): JoinedClient {
    return this.#client;
  }

  get account(): string {
    return this.#options.principal.account;
  }

  /** In every session that it has open. */
  tell(...notice: Parameters<TellAll>): void {
    this.#tell(...notice);
  }

  get principal(): Principal {
    return this.#options.principal;
  }

  /** In memory here. */
  isOpen(id: string): boolean {
    return this.#options.sessions.find(this.account, id) !== undefined;
  }

  get store(): SessionStore {
    return this.#options.sessions.store(this.account);
  }

  /** The session that `session/new` with these parameters answers with, if it is there. Throws as `create` does. */
  async meant(params: JsonObject): Promise<string | undefined> {
    const meta = tenonMeta(params);
    const { cwd } = params;
    if (typeof cwd !== "string") return undefined;
    const attach = readAttach(meta["attach"]);
    const real = attach === "latest" ? await this.#placed({ cwd }).catch(() => ({ cwd })) : { cwd };
    return (await this.#attachable(attach, real.cwd)) ?? textIn(meta, "id");
  }

  /** Why this node may not open a session there; undefined: it may. */
  async problemIn(directories: readonly string[]): Promise<TenonError | undefined> {
    try {
      for (const path of directories) await allowedDirectory(this.world, path, this.#options.roots);
      return undefined;
    } catch (error) {
      return toTenonError(error);
    }
  }

  /** With `attach`, or an id that this client has used before, the session that is there already. */
  async create(request: NewSession, meta: JsonObject): Promise<OpenedSession> {
    const { sessions } = this.#options;
    const place = await this.#placed(request);
    const [id, label] = [textIn(meta, "id"), textIn(meta, "label")];
    if (id !== undefined && !UUID_V7.test(id)) {
      throw new TenonError("session.invalid_request", "_meta.tenon.id must be a UUID of version 7");
    }
    const attach = readAttach(meta["attach"]);
    const create = async (as: string | undefined) =>
      await this.#attachOrCreate(place, attach, defined({ id, label: as }));
    if (attach === undefined || attach === "latest") return await create(label);
    return await sessions.inLine(this.account, attach.label, () => create(attach.label));
  }

  async #attachOrCreate(
    place: NewSession,
    attach: Attach | undefined,
    { id, label }: { readonly id?: string; readonly label?: string },
  ): Promise<OpenedSession> {
    const { sessions } = this.#options;
    const earlier = await this.#attachable(attach, place.cwd);
    if (earlier !== undefined) {
      const open = await sessions.join(await this.#asBegun({ ...place, id: earlier }, true), this.#opener);
      return { session: this.#enter(open), showsOwn: true };
    }
    const isThere = id !== undefined && (await sessions.store(this.account).has(id));
    const known = isThere ? await this.#asBegun({ ...place, id }) : { ...place, ...defined({ id }) };
    const open = await sessions.create({ ...known, ...defined({ label }) }, this.#opener);
    if (this.#options.hasNodes) await this.store.has(open.id); // waits until it is there
    return { session: this.#enter(open), showsOwn: true };
  }

  async load(request: StoredRequest, { meta, isReplayed }: LoadOptions): Promise<OpenedSession> {
    const { sessions } = this.#options;
    const known = sessions.find(this.account, request.id);
    const given = known ? allowedServers(request, this.#client) : await this.#asBegun(request);
    const { systemPrompt, ...rest } = given;
    const mayPrompt = this.#options.principal.scopes.has("prompt");
    const open = await sessions.join(
      { ...rest, ...defined({ systemPrompt: mayPrompt ? systemPrompt : undefined }) },
      this.#opener,
    );
    const { lastSeq } = open.session.log;
    const first = this.#options.isLinked ? lastSeq : 0;
    const after = isReplayed ? first : readAfter(meta["after"], lastSeq);
    return { session: this.#enter(open, meta), after };
  }

  async fork(request: StoredRequest): Promise<OpenedSession> {
    await this.#mustExist(request.id);
    const open = await this.#options.sessions.fork(await this.#placed(request), this.#opener);
    return { session: this.#enter(open), after: open.session.log.lastSeq };
  }

  list(request: ListRequest): Promise<SessionPage> {
    return this.#options.sessions.store(this.account).list(request);
  }

  async statusOf(id: string): Promise<"open" | "saved"> {
    if (this.#options.sessions.find(this.account, id)) return "open";
    await this.#mustExist(id);
    return "saved";
  }

  async setTitle(id: string, words: string): Promise<string> {
    await this.#mustExist(id);
    return await this.#options.sessions.setTitle(this.account, id, words);
  }

  async delete(id: string): Promise<void> {
    await this.#options.sessions.delete(this.account, id);
  }

  async leave(session: SessionHandle, cause: "closed" | "lost" = "lost"): Promise<void> {
    if (session instanceof JoinedSession) session.leave(cause);
  }

  async records(id: string, after: number, limit: number): ReturnType<SessionAccess["records"]> {
    await this.#mustExist(id);
    return await this.#options.sessions.store(this.account).read(id, after, limit);
  }

  peek(id: string): SessionHandle | undefined {
    const { sessions } = this.#options;
    const open = sessions.find(this.account, id);
    return open && new JoinedSession(sessions, open, this.#client);
  }

  async stored(id: string): Promise<StoredView> {
    await this.#mustExist(id);
    const view = await storedView(this.#options.sessions.store(this.account), id);
    const mayAnswer = this.#client.role === "controller" && this.#client.may.approve;
    return mayAnswer ? view : { ...view, questions: view.questions.map((question) => ({ ...question, shown: {} })) };
  }

  get #opener(): OpenFor {
    return { account: this.account, client: this.#client.client, ...defined({ env: this.#env }) };
  }

  #enter(open: OpenSession, meta: JsonObject = {}): JoinedSession {
    const role = meta["role"] === "observer" ? "observer" : this.#client.role;
    const joined = new JoinedSession(this.#options.sessions, open, { ...this.#client, role });
    this.#options.sessions.enter(open, joined);
    return joined;
  }

  #introduce(params: unknown): { readonly meta: InitializeAnswerMeta; readonly capability: GatewayCapability } {
    const { principal, node, host, sessions } = this.#options;
    sessions.assertUsable();
    const given = tenonMeta(params);
    const client = isJsonObject(given["client"]) ? given["client"] : {};
    const { id, key } = this.#identify(client);
    this.#client = { client: id, name: nameOf(client, params, principal), ...this.#roleOf(given) };
    this.#env = principal.isLocal ? readEnvironment(given["env"], this.world) : undefined;
    const meta: InitializeAnswerMeta = {
      client: { id, key },
      host,
      account: principal.account,
      scopes: [...principal.scopes],
      version: VERSION,
    };
    const capability: GatewayCapability = { gateway: 1, node, methods: Object.keys(this.shared.methods) };
    return { meta, capability };
  }

  /** An id without its key is somebody else's: such a client gets an identity of its own, and the attempt is written down. */
  #identify({ id, key }: JsonObject): { readonly id: string; readonly key: string } {
    const { keys, principal, audit } = this.#options;
    if (id === undefined && key === undefined) return keys.issue(principal.account);
    if (typeof id === "string" && typeof key === "string" && keys.isIssued(principal.account, id, key)) {
      return { id, key };
    }
    audit.write("denied", { account: principal.account, token: principal.tokenId ?? null, reason: "forged client id" });
    return keys.issue(principal.account);
  }

  /** Lowered to what the scopes allow. */
  #roleOf({ role, unattended }: JsonObject): Omit<JoinedClient, "client" | "name"> {
    const { scopes, isLocal } = this.#options.principal;
    const mayControl = scopes.has("prompt") || scopes.has("approve");
    const given: ClientRole = role === "observer" || !mayControl ? "observer" : "controller";
    const onDenied = (method: string) => {
      const { audit, principal } = this.#options;
      const { account, tokenId, name } = principal;
      audit.write("denied", { account, token: tokenId ?? null, name, method });
    };
    const may = { approve: scopes.has("approve"), tools: scopes.has("tools"), isLocal, onDenied };
    const sharesPlace = isLocal && scopes.has("prompt");
    const reconnect = (reason?: string) => {
      if (reason !== undefined && !this.#isLeaving) this.tell("warning", reason);
      this.#isLeaving = true;
      this.#options.reconnect();
    };
    return { role: given, may, isUnattended: unattended === true, sharesPlace, reconnect };
  }

  /** Of one that is not in memory here, the store knows whether another node has it. */
  #listed({ id, state: stored = "resting" }: SessionSummary): ListedSessionMeta {
    const open = this.#options.sessions.find(this.account, id);
    const here = this.#options.sessions.stateOf(this.account, id);
    const state = here === "resting" ? stored : here;
    const { questions, clients } = open?.session.view() ?? {};
    return { state, ...defined({ questions: questions?.length, clients: clients?.length }) };
  }

  /** The session that `attach` of `session/new` means, if there is one. */
  async #attachable(attach: Attach | undefined, cwd: string): Promise<string | undefined> {
    if (attach === undefined) return undefined;
    const { sessions } = this.#options;
    if (attach !== "latest") return await sessions.labelled(this.account, attach.label);
    const [stored] = (await this.list({ cwd, pageSize: 1 })).sessions;
    // Those in which nothing was said yet are not in the list.
    const fresh = sessions.open(this.account).filter(({ session, closing }) => {
      return !closing && session.cwd === cwd && session.turnCount === 0;
    });
    const newest = fresh.reduce<OpenSession | undefined>(
      (last, one) => (last && last.openedMs > one.openedMs ? last : one),
      undefined,
    );
    return newest && newest.openedMs >= (stored?.updatedMs ?? 0) ? newest.id : stored?.id;
  }

  async #mustExist(id: string): Promise<void> {
    const { sessions } = this.#options;
    if (sessions.find(this.account, id) || (await sessions.store(this.account).has(id))) return;
    throw new TenonError("session.not_found", `there is no session "${id}"`, { hint: "List the sessions there are." });
  }

  /** A session is where it was begun: whoever opens it again, also to read it only, does not decide where its work is done. */
  async #asBegun(request: StoredRequest, isAnywhere = false): Promise<StoredRequest> {
    const found = await this.#options.sessions.store(this.account).place(request.id);
    if (!found) return await this.#placed(request); // its beginning is damaged
    const { title: _, ...stored } = found;
    const real = async (path: string) => (await this.world.files.find(path).catch(() => undefined))?.realPath ?? path;
    if (!isAnywhere && request.cwd !== stored.cwd && (await real(request.cwd)) !== (await real(stored.cwd))) {
      const words = `session "${request.id}" is in ${stored.cwd}, not in ${request.cwd}`;
      throw new TenonError("session.invalid_request", words, { hint: `Give ${stored.cwd} as cwd.` });
    }
    return await this.#placed({ ...request, ...stored });
  }

  /** In a directory that is there and allowed, with the servers that this client may bring. */
  async #placed<T extends NewSession>(request: T): Promise<T> {
    const { roots } = this.#options;
    const check = async (path: string) => {
      const real = await allowedDirectory(this.world, path, roots);
      return roots.length === 0 ? path : real;
    };
    const cwd = await check(request.cwd);
    const additionalDirectories = await Promise.all((request.additionalDirectories ?? []).map(check));
    return { ...allowedServers(request, this.#client), cwd, additionalDirectories };
  }
}

/** Which session `session/new` may answer with, if there is one. */
type Attach = "latest" | { readonly label: string };

function readAttach(attach: JsonValue | undefined): Attach | undefined {
  if (attach === undefined || attach === null || attach === "latest") return attach ?? undefined;
  const label = isJsonObject(attach) ? textIn(attach, "label") : undefined;
  if (label !== undefined) return { label };
  throw new TenonError("session.invalid_request", '_meta.tenon.attach must be "latest" or {label}');
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u;

function textIn(meta: JsonObject, name: string): string | undefined {
  const value = meta[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= GATEWAY_LIMITS.sessions.textChars) return value;
  const { textChars } = GATEWAY_LIMITS.sessions;
  throw new TenonError("session.invalid_request", `_meta.tenon.${name} must be a text of 1 to ${textChars} characters`);
}

function readAfter(given: JsonValue | undefined, lastSeq: number): number {
  if (given === undefined || given === null) return lastSeq;
  if (typeof given === "number" && Number.isInteger(given) && given >= 0 && given <= lastSeq) return given;
  const words = `_meta.tenon.after must be a number from 0 to ${lastSeq}, the last of this session; got ${JSON.stringify(given)}`;
  throw new TenonError("session.invalid_request", words);
}

/** For people: what the client calls itself, on one line. */
function nameOf(client: JsonObject, params: unknown, { name }: Principal): string {
  const info = isJsonObject(params) && isJsonObject(params["clientInfo"]) ? params["clientInfo"] : {};
  const given = [client["name"], info["title"], info["name"]].find((text) => typeof text === "string" && text !== "");
  if (typeof given !== "string") return name;
  return markForeign(given).replaceAll(/\s+/gu, " ").slice(0, GATEWAY_LIMITS.sessions.textChars);
}

function readEnvironment(given: JsonValue | undefined, world: World): World["env"] | undefined {
  if (given === undefined || given === null) return undefined;
  const entries = isJsonObject(given) ? Object.entries(given) : undefined;
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === "string";
  const { names, chars } = GATEWAY_LIMITS.sessions.environment;
  const size = entries?.reduce((sum, [name, value]) => sum + name.length + JSON.stringify(value).length, 0) ?? 0;
  if (!entries?.every(isText) || entries.length > names || size > chars) {
    const words = `_meta.tenon.env must be an object of at most ${names} texts and ${chars} characters`;
    throw new TenonError("session.invalid_request", words);
  }
  return sessionEnvironment(world.env, Object.fromEntries(entries));
}
