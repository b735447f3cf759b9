// The editor's servers that run beside the translator: programs of this machine, and addresses that only it can reach.
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { ACP_LIMITS, readClientServers } from "../acp/index.js";
import { orAborted } from "../base/async/deadline.js";
import { Scope } from "../base/async/scope.js";
import { isPrivateAddress } from "../base/io/net-policy.js";
import type { EndGrace } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import { loadConfig, remoteProblem } from "../config/index.js";
import {
  HeldCalls,
  type ProvidedAnswer,
  type ProvidedRequest,
  ServerPool,
  ServerProvider,
  type ServerSpec,
} from "../mcp/index.js";
import { configuredServer } from "../session/index.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import { ERRORS, failure, type Outcome } from "./messages.js";

export interface OwnServersOptions {
  readonly world: World;
  /** Tells the person why a server cannot be used: the gateway does not hear what is on this machine. */
  readonly tell: (sessionId: string, words: string) => void;
}

/** Without a provider it may not be started. */
interface PlacedServer {
  /** Any change of what is run, or where, gives another. */
  readonly key: string;
  readonly serverId: string;
  readonly provider?: ServerProvider;
  readonly problem?: string;
}

export interface Directories {
  readonly sessionId: string;
  /** The session's own first. */
  readonly directories: readonly string[];
}

/** Of no use later. */
const MOMENTARY: ReadonlySet<string> = new Set(["notifications/progress", "notifications/message"]);

const SERVER_GONE = -33_001;
const NO_ANSWER = -33_002;

export class OwnServers implements AsyncDisposable {
  readonly #options: OwnServersOptions;
  readonly #scope: Scope;
  readonly #pool: ServerPool;
  readonly #held: HeldCalls;
  /** By session and name. */
  readonly #placed = new Map<string, Map<string, PlacedServer>>();
  readonly #byId = new Map<string, PlacedServer>();
  /** How the ids of this process begin: nobody else's are taken for its own. */
  readonly #prefix: string;
  readonly #told = new Set<string>();
  #notices: { readonly left: number; readonly atMs: number };
  #count = 0;
  /** One change after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(options: OwnServersOptions) {
    const { world } = options;
    this.#options = options;
    this.#scope = new Scope(world.log);
    this.#pool = new ServerPool({ world });
    this.#held = new HeldCalls(world);
    this.#notices = { left: TRANSLATOR_LIMITS.notices.burst, atMs: world.monotonicMs() };
    this.#prefix = `tenon-${Buffer.from(world.randomBytes(12)).toString("base64url")}-`;
  }

  /** The entries as the gateway gets them: of those that run here it has a name and an id. The same again changes nothing. */
  async place(about: Directories, mcpServers: JsonValue | undefined): Promise<JsonValue> {
    return await this.#inTurn(() => this.#place(about, mcpServers));
  }

  /** Under the id that the gateway gave the session. */
  rename(from: string, to: string): void {
    const placed = this.#placed.get(from);
    if (!placed) return;
    this.#placed.delete(from);
    this.#placed.set(to, placed);
  }

  /** The editor has left the session. */
  forget(sessionId: string): void {
    this.#scope.run("end the servers of a session", () =>
      this.#inTurn(async () => {
        for (const placed of this.#placed.get(sessionId)?.values() ?? []) this.#end(placed);
        this.#placed.delete(sessionId);
      }),
    );
  }

  isOwn(params: JsonValue | undefined): params is JsonObject {
    return (
      isJsonObject(params) && typeof params["serverId"] === "string" && params["serverId"].startsWith(this.#prefix)
    );
  }

  /** A message of the gateway to one of them. Never rejects. */
  async request(params: JsonObject, { signal, notify }: Pick<ProvidedRequest, "signal" | "notify">): Promise<Outcome> {
    const { serverId, method } = params;
    const placed = typeof serverId === "string" ? this.#byId.get(serverId) : undefined;
    if (!placed) return failure(SERVER_GONE, "the editor has taken the server back", "mcp.unavailable");
    if (typeof method !== "string") return failure(ERRORS.invalidParams, "mcp/message needs a method", "mcp.protocol");
    const { provider, problem = "" } = placed;
    if (!provider) return failure(NO_ANSWER, problem, "mcp.launch_refused");
    const inner = isJsonObject(params["params"]) ? params["params"] : {};
    const paced: typeof notify = (notice, about) => {
      if (!MOMENTARY.has(notice) || this.#mayTell()) notify(notice, about);
    };
    return toOutcome(await provider.request({ method, params: inner, signal, notify: paced }));
  }

  #mayTell(): boolean {
    const { perSecond, burst } = TRANSLATOR_LIMITS.notices;
    const nowMs = this.#options.world.monotonicMs();
    const { left, atMs } = this.#notices;
    const room = Math.min(burst, left + ((nowMs - atMs) * perSecond) / 1_000);
    this.#notices = { left: Math.max(0, room - 1), atMs: nowMs };
    return room >= 1;
  }

  /** Nobody goes on with the calls that wait. */
  disconnected(): void {
    this.#held.releaseAll("the connection to the gateway is gone");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inTurn(async () => {
      for (const sessionId of [...this.#placed.keys()]) {
        for (const placed of this.#placed.get(sessionId)?.values() ?? []) this.#end(placed, LIMITS.exitGrace);
      }
      this.#placed.clear();
    });
    await this.#scope.close();
    await this.#pool.close(LIMITS.exitGrace);
  }

  async #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(change);
    this.#changing = turn.catch(() => undefined);
    return await turn;
  }

  async #place({ sessionId, directories }: Directories, mcpServers: JsonValue | undefined): Promise<JsonValue> {
    const { world } = this.#options;
    const given = entriesOf(mcpServers);
    // The gateway refuses that many, and need not see what they are.
    if (given.length > ACP_LIMITS.lists.mcpServers) return given.map(() => ({}));
    const read = async (entry: JsonValue) => ({ entry, ...(await readEntry(entry, world)) });
    const entries = await Promise.all(given.map(read));
    const before = this.#placed.get(sessionId) ?? new Map<string, PlacedServer>();
    const specs = new Map(entries.flatMap(({ spec }) => (spec ? [[spec.name, spec] as const] : [])));
    const keyOf = (spec: ServerSpec) => canonicalJson(JSON.parse(JSON.stringify([spec, directories])));
    const fresh = [...specs.values()].filter((spec) => before.get(spec.name)?.key !== keyOf(spec));
    const opened = await this.#open(fresh, { sessionId, directories });
    const placed = new Map<string, PlacedServer>();
    for (const [name, spec] of specs) {
      const same = before.get(name);
      const made = opened.get(name);
      if (made) placed.set(name, { ...made, key: keyOf(spec) });
      else if (same) placed.set(name, same);
    }
    for (const [name, server] of before) if (placed.get(name) !== server) this.#end(server);
    for (const server of placed.values()) this.#byId.set(server.serverId, server);
    this.#placed.set(sessionId, placed);
    return entries.map(({ entry, spec, isUseless }) => {
      const server = spec && placed.get(spec.name);
      return server ? asAcp(entry, server.serverId) : isUseless ? bare(entry) : entry;
    });
  }

  /** As the configuration of this machine has it for servers of editors: its sandbox, and what the folder may decide. */
  async #open(
    specs: readonly ServerSpec[],
    { sessionId, directories }: Directories,
  ): Promise<ReadonlyMap<string, Omit<PlacedServer, "key">>> {
    const { world } = this.#options;
    const opened = new Map<string, Omit<PlacedServer, "key">>();
    if (specs.length === 0) return opened;
    const [cwd = "/"] = directories;
    const config = await loadConfig({ world, cwd, clientServers: specs });
    for (const { name } of specs) {
      const server = config.servers.find((one) => one.name === name && one.place.layer === "client");
      const { wanted, rejected } = server ? configuredServer(server, config.project) : {};
      this.#count += 1;
      const serverId = `${this.#prefix}${this.#count}`;
      if (!wanted) {
        const { reason = "the configuration of this machine does not allow it" } = rejected ?? {};
        this.#tell(
          sessionId,
          name,
          `${reason}. Give full paths in its entry, so that it does not depend on the folder.`,
        );
        const problem = "it may not be started on the client's machine, where the reason was told";
        opened.set(name, { serverId, problem });
        continue;
      }
      const { spec, settings = {}, pool } = wanted;
      const provider = new ServerProvider({
        world,
        serverId,
        held: this.#held,
        roots: () => rootsOf(directories),
        open: ({ peer, limits }) => {
          const client = { name: "tenon", version: VERSION };
          const options = { world, cwd, client, session: sessionId, ...settings, ...defined({ peer }) };
          const request = { spec, options: { ...options, limits: { ...settings.limits, ...limits } } };
          return this.#pool.open({ ...request, ...defined({ settings: pool }) });
        },
        onProblem: ({ message, hint }) => this.#tell(sessionId, name, hint === "" ? message : `${message}. ${hint}`),
      });
      opened.set(name, { serverId, provider });
    }
    return opened;
  }

  #end({ serverId, provider }: PlacedServer, grace?: EndGrace): void {
    this.#byId.delete(serverId);
    if (provider) this.#scope.run("end a server", () => provider.close(grace));
  }

  /** Once for each reason. */
  #tell(sessionId: string, name: string, reason: string): void {
    const words = `The server "${name}" of the editor, which runs on this machine, cannot be used: ${reason}`;
    const key = JSON.stringify([sessionId, words]);
    if (this.#told.has(key)) return;
    if (this.#told.size >= TRANSLATOR_LIMITS.toldReasons) this.#told.clear();
    this.#told.add(key);
    this.#options.tell(sessionId, words);
  }
}

/** A map from names to entries is what some clients pass on. */
function entriesOf(raw: JsonValue | undefined): readonly JsonValue[] {
  if (!isJsonObject(raw)) return typeof raw === "object" && raw !== null ? raw : [];
  return Object.entries(raw).map(([name, entry]) => (isJsonObject(entry) ? { name, ...entry } : { name }));
}

/** `spec`: it must run here. `isUseless`: the gateway is to say what is wrong with it. */
async function readEntry(
  entry: JsonValue,
  world: World,
): Promise<{ readonly spec?: ServerSpec; readonly isUseless: boolean }> {
  const [spec] = readClientServers([entry]).servers;
  if (!spec) return { isUseless: true };
  const isOwn = remoteProblem(spec) !== undefined || ("url" in spec && (await isPrivateName(spec.url, world)));
  return { isUseless: false, ...defined({ spec: isOwn ? spec : undefined }) };
}

/** As this machine resolves it. What it does not know the gateway may. */
async function isPrivateName(url: string, world: World): Promise<boolean> {
  using deadline = world.deadline(TRANSLATOR_LIMITS.lookupMs);
  const found = await orAborted(world.lookup(new URL(url).hostname), deadline.signal).catch(() => []);
  return found.length > 0 && found.every(({ address }) => isPrivateAddress(address));
}

/** With how its tools are to be treated, and without anything of what is run. */
function asAcp(entry: JsonValue, serverId: string): JsonObject {
  const { name, toolInclude, _meta: meta } = isJsonObject(entry) ? entry : {};
  const tenon = isJsonObject(meta) ? meta["tenon"] : undefined;
  const { include, required } = isJsonObject(tenon) ? tenon : {};
  const ours = defined({ include, required });
  const _meta = Object.keys(ours).length > 0 ? { tenon: ours } : undefined;
  return { type: "acp", name: name ?? "", serverId, ...defined({ toolInclude, _meta }) };
}

/** Variables and headers of an entry that nobody can use are nobody's business either. */
function bare(entry: JsonValue): JsonValue {
  if (!isJsonObject(entry)) return entry;
  const { name, type } = entry;
  return defined({ name, type });
}

function rootsOf(directories: readonly string[]): readonly { readonly uri: string; readonly name: string }[] {
  return directories.map((path, index) => ({
    uri: pathToFileURL(path).href,
    name: index === 0 ? "session" : basename(path),
  }));
}

/** An error of the server is a result of the message that carried its request. */
function toOutcome(answer: ProvidedAnswer): Outcome {
  switch (answer.kind) {
    case "result":
      return { result: { result: answer.result } };
    case "error": {
      const { code, message, data } = answer.error;
      return { result: { error: { code, message, ...defined({ data }) } } };
    }
    case "failed":
      return { error: { code: answer.code, message: answer.message } };
  }
}
