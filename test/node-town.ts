// Several gateways in this process that share their sessions: real sockets, and between the nodes a bus that tests can disturb.
import { join } from "node:path";
import { expect } from "vitest";
import { Cell } from "../src/base/async/cell.js";
import { loadGateway, type RunningGateway } from "../src/gateway/index.js";
import { fileGatewayStore } from "../src/gateway/nodes/file-store.js";
import type { GatewayStore, NodeHint, NodeInfo, NodeMessage, Nodes } from "../src/gateway/nodes/nodes.js";
import type { Model } from "../src/models/index.js";
import { createHost } from "../src/session/index.js";
import type { OwnedSession, SessionStore } from "../src/session/store/session-store.js";
import { nodeWorld } from "../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "./scenarios/agent.js";
import { type Frame, WireClient } from "./scenarios/gateway/wire-client.js";

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Calls the tools that the prompt names (`call NAME {…}`), then says what they answered; or says the words of the prompt one by one. */
const caller: Model = {
  id: "test/caller",
  stream: async function* ({ messages }) {
    const last = messages.at(-1);
    const said = last?.role === "user" ? last.content.map((one) => ("text" in one ? one.text : "")).join("") : "";
    const calls = [...said.matchAll(/call (\S+) ?(\{.*?\})?/gu)];
    if (last?.role === "user" && calls.length > 0) {
      for (const [index, [, name = "", argumentsJson = "{}"]] of calls.entries()) {
        yield { kind: "tool_call", call: { callId: `c${index}`, name, argumentsJson } };
      }
      yield { kind: "finish", reason: "tool_calls" };
      return;
    }
    const results = last?.role === "tool" ? last.results.map(({ content }) => JSON.stringify(content)).join(" ") : said;
    for (const word of results.slice(0, 2_000).split(" ")) {
      yield { kind: "text", text: `${word} ` };
      await new Promise((resolve) => setImmediate(resolve));
    }
    yield { kind: "finish", reason: "stop" };
  },
};

type Listener = Parameters<Nodes["listen"]>[0];

/** Between nodes, in memory: what PostgreSQL is for real ones. */
export class NodeBus {
  readonly nodes: Map<string, BusNode> = new Map();
  readonly owners: Map<string, string> = new Map();
  readonly lastSeqs: Map<string, () => number> = new Map();
  /** Under way: a database knows the owner as soon as anybody else is refused. */
  readonly acquiring: Set<Promise<unknown>> = new Set();
  /** Before a message is delivered, and before the store is read. */
  pause: () => Promise<void> = async () => {};
  pauseRead: () => Promise<void> = async () => {};
  /** So many of the next messages are lost. */
  loses = 0;
  /** Whether a hint is lost. */
  losesHint: () => boolean = () => false;
  readonly #lines = new Map<string, Promise<void>>();

  deliver(from: string, { node: to, ...message }: NodeMessage): void {
    const line = `${from} ${to} ${message.link}`;
    const before = this.#lines.get(line);
    const mine = (async () => {
      await before;
      await this.pause();
      const { nodes } = this;
      if (this.loses > 0) this.loses -= 1;
      else if (nodes.has(from)) nodes.get(to)?.listener?.onMessage({ ...message, node: from });
    })();
    this.#lines.set(line, mine);
  }

  hint(from: string, hint: NodeHint): void {
    for (const [id, node] of this.nodes) {
      if (id !== from && !this.losesHint()) setImmediate(() => node.hinted.forEach((hear) => hear(hint)));
    }
  }
}

export class BusNode implements Nodes {
  readonly self: Cell<string | undefined>;
  readonly leaseMs = 3_000;
  readonly problem: Cell<string | undefined> = new Cell<string | undefined>(undefined);
  readonly hinted: Set<(hint: NodeHint) => void> = new Set();
  listener: Listener | undefined;
  readonly #bus: NodeBus;
  readonly #roots: readonly string[];

  constructor(bus: NodeBus, id: string, roots: readonly string[]) {
    this.#bus = bus;
    this.#roots = roots;
    this.self = new Cell<string | undefined>(id);
    bus.nodes.set(id, this);
  }

  get info(): NodeInfo {
    const id = this.self.value ?? "";
    const sessions = [...this.#bus.owners.values()].filter((owner) => owner === id).length;
    return {
      id,
      name: `name of ${id}`,
      version: "1",
      roots: this.#roots,
      isDraining: false,
      leaseLeftMs: 2_000,
      sessions,
    };
  }

  async list(): Promise<readonly NodeInfo[]> {
    return [...this.#bus.nodes.values()].map(({ info }) => info);
  }

  async ownerOf(_account: string, id: string): Promise<NodeInfo | undefined> {
    await this.#bus.pause();
    await Promise.allSettled(this.#bus.acquiring);
    return this.#bus.nodes.get(this.#bus.owners.get(id) ?? "")?.info;
  }

  async lastSeqs(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return new Map(ids.map((id) => [id, this.#bus.lastSeqs.get(id)?.() ?? 0]));
  }

  async left(): Promise<[]> {
    return [];
  }

  async takeOver(): Promise<[]> {
    return [];
  }

  async giveBack(): Promise<void> {}

  figures(): ReturnType<Nodes["figures"]> {
    return { appendBatches: 0, appendMs: 0, appendedRecords: 0, refusedAppends: 0, leaseLeftMs: 2_000, inboxDepth: 0 };
  }

  async drain(): Promise<void> {}

  send(message: NodeMessage): void {
    this.#bus.deliver(this.self.value ?? "", message);
  }

  listen(listener: Listener): Disposable {
    this.listener = listener;
    return { [Symbol.dispose]: () => (this.listener = undefined) };
  }

  hint(hint: NodeHint): void {
    this.#bus.hint(this.self.value ?? "", hint);
  }

  onHint(listener: (hint: NodeHint) => void): Disposable {
    this.hinted.add(listener);
    return { [Symbol.dispose]: () => void this.hinted.delete(listener) };
  }
}

/** A node of the bus: its sessions are files that all nodes share. */
function busStore(bus: NodeBus, node: string, files: GatewayStore, nodes: Nodes): GatewayStore {
  const noted = (owned: OwnedSession): OwnedSession => {
    const release = owned.release.bind(owned);
    bus.owners.set(owned.id, node);
    bus.lastSeqs.set(owned.id, () => owned.lastSeq);
    return Object.assign(owned, {
      release: async () => {
        await release();
        if (bus.owners.get(owned.id) === node) bus.owners.delete(owned.id);
      },
    });
  };
  const accounts = new Map<string, SessionStore>();
  const sessionsOf = (account: string): SessionStore => {
    const store = files.account(account).sessions;
    const create = store.create.bind(store);
    const acquire = store.acquire.bind(store);
    const read = store.read.bind(store);
    return Object.assign(store, {
      create: (...given: Parameters<SessionStore["create"]>) => noted(create(...given)),
      acquire: async (...given: Parameters<SessionStore["acquire"]>) => {
        const work = acquire(...given).then((acquired) => ({ ...acquired, owned: noted(acquired.owned) }));
        bus.acquiring.add(work);
        return await work.finally(() => bus.acquiring.delete(work));
      },
      read: async (...given: Parameters<SessionStore["read"]>) => {
        await bus.pauseRead();
        return await read(...given);
      },
    });
  };
  return {
    account: (name) => {
      const sessions = accounts.get(name) ?? sessionsOf(name);
      accounts.set(name, sessions);
      return { ...files.account(name), sessions };
    },
    clientSecret: () => files.clientSecret(),
    tokens: files.tokens,
    codes: files.codes,
    problem: () => undefined,
    nodes,
    [Symbol.asyncDispose]: async () => {
      bus.nodes.delete(node);
      await files[Symbol.asyncDispose]();
    },
  };
}

export interface TownNode {
  readonly id: string;
  readonly gateway: RunningGateway;
  readonly url: string;
  readonly socketPath: string;
  readonly nodes: Nodes;
}

/** Makes what a node keeps; over a bus unless given. */
export type MakeStore = (id: string, roots: readonly string[]) => Promise<GatewayStore>;

export class Town implements AsyncDisposable {
  readonly home: TemporaryFolder = new TemporaryFolder();
  readonly project: TemporaryFolder = new TemporaryFolder();
  readonly bus: NodeBus = new NodeBus();
  readonly logged: string[] = [];
  readonly #nodes = new Map<string, TownNode>();
  readonly #clients: TownClient[] = [];
  readonly #make: MakeStore;
  readonly #model: Model;
  /** The files of the page, where it is built. */
  pageFolder = "";

  constructor(make?: MakeStore, model: Model = caller) {
    this.#make = make ?? ((id, roots) => this.#onBus(id, roots));
    this.#model = model;
  }

  async #onBus(id: string, roots: readonly string[]): Promise<GatewayStore> {
    const world = nodeWorld({ env: cleanEnv(this.home.path), log: QUIET });
    const files = fileGatewayStore(world, join(this.home.path, "shared"));
    return busStore(this.bus, id, files, new BusNode(this.bus, id, roots));
  }

  async start(id: string, roots: readonly string[] = []): Promise<TownNode> {
    const note = (event: string, fields?: object) => this.logged.push(JSON.stringify([id, event, fields]));
    const log = { debug: () => {}, info: () => {}, warn: note, error: note };
    const world = nodeWorld({ env: cleanEnv(this.home.path), log });
    const stateDir = join(this.home.path, id);
    const { RunningGateway: Gateway } = await loadGateway();
    const rules = { unattended: "wait", maxQueuedPrompts: 8, openTurns: "continue" } as const;
    const socket = join(stateDir, "gateway.sock");
    const store = await this.#make(id, roots);
    const { nodes } = store;
    if (!nodes) throw new Error("a store of several nodes");
    const gateway = await Gateway.start({
      ...{ world, stateDir, store, roots, pageFolder: this.pageFolder, host: `host of ${id}`, onStop: () => {} },
      listen: [
        { kind: "socket", path: socket },
        { kind: "tcp", host: "127.0.0.1", port: 0 },
      ],
      openRuntime: async ({ kept, stateDir: own }) => {
        return createHost({
          world,
          model: this.#model,
          stateDir: own,
          store: kept.sessions,
          builtin: ["read_file"],
          ...rules,
        });
      },
    });
    const address = gateway.addresses.find((at) => at.includes("127.0.0.1")) ?? "";
    const node = { id, gateway, nodes, url: `ws://${address}/acp`, socketPath: socket };
    this.#nodes.set(id, node);
    return node;
  }

  async stop(id: string): Promise<void> {
    const node = this.#nodes.get(id);
    this.#nodes.delete(id);
    await node?.gateway[Symbol.asyncDispose]();
  }

  async connect(node: string): Promise<WireClient> {
    return await WireClient.open(`ws+unix:${this.#nodes.get(node)?.socketPath}:/acp`);
  }

  /** The user of the machine. */
  async client(node: string, name: string, capabilities: object = {}): Promise<TownClient> {
    const client = new TownClient(await this.connect(node), this.project.path);
    await client.wire.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: capabilities,
      _meta: { tenon: { client: { name } } },
    });
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { wire } of this.#clients) await wire.close().catch(() => undefined);
    for (const id of [...this.#nodes.keys()]) await this.stop(id);
    for (const folder of [this.home, this.project]) folder[Symbol.dispose]();
  }
}

type Answer = (frame: Frame) => unknown;

export class TownClient {
  readonly wire: WireClient;
  readonly #cwd: string;
  readonly #answers = new Map<string, Answer>();

  constructor(wire: WireClient, cwd: string) {
    this.wire = wire;
    this.#cwd = cwd;
    wire.web.on("message", (data) => {
      const frame: Frame = JSON.parse(String(data));
      const answer = frame.method !== undefined && frame.id !== undefined ? this.#answers.get(frame.method) : undefined;
      const result = answer?.(frame);
      if (result !== undefined) this.answer(frame, result);
    });
  }

  /** Answers every request of that method; undefined: not now. */
  answers(method: string, answer: Answer): void {
    this.#answers.set(method, answer);
  }

  answer({ id }: Frame, result: unknown): void {
    this.wire.web.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }

  async ask(method: string, params: object = {}): Promise<NonNullable<Frame["result"]>> {
    const { result, error } = await this.wire.request(method, params);
    if (error) throw Object.assign(new Error(error.message), { code: error.code, data: error.data });
    return result ?? {};
  }

  async create(meta: object = {}, mcpServers: readonly object[] = []): Promise<string> {
    const { sessionId } = await this.ask("session/new", { cwd: this.#cwd, mcpServers, _meta: { tenon: meta } });
    return String(sessionId);
  }

  /** Everything until its answer, which is the last. */
  async load(sessionId: string, meta: object = {}): Promise<readonly Frame[]> {
    const from = this.wire.received.length;
    const answer = await this.wire.request("session/load", { sessionId, ...this.#place, _meta: { tenon: meta } });
    if (answer.error) throw new Error(answer.error.message);
    return this.wire.received.slice(from, this.wire.received.indexOf(answer) + 1);
  }

  async resume(sessionId: string, after?: number): Promise<Frame> {
    const tenon = after === undefined ? {} : { after };
    return await this.wire.request("session/resume", { sessionId, ...this.#place, _meta: { tenon } });
  }

  /** Everything until its answer, which is the last. */
  async prompt(sessionId: string, text: string, promptId?: string): Promise<readonly Frame[]> {
    const from = this.wire.received.length;
    const prompt = [{ type: "text", text }];
    const _meta = { tenon: promptId === undefined ? {} : { promptId } };
    const answer = await this.wire.request("session/prompt", { sessionId, prompt, _meta });
    if (answer.error) throw new Error(answer.error.message);
    return this.wire.received.slice(from, this.wire.received.indexOf(answer) + 1);
  }

  get #place(): object {
    return { cwd: this.#cwd, mcpServers: [] };
  }
}

interface NumberedFrame {
  readonly seq?: number;
  readonly partOf?: number;
  readonly part?: number;
}

/** The numbers of updates, as `7` and `7.0` for its first part. */
export function numbers(frames: readonly Frame[], sessionId: string): readonly string[] {
  return frames.flatMap(({ method, params }) => {
    if (method !== "session/update" || params?.["sessionId"] !== sessionId) return [];
    const meta: { tenon?: NumberedFrame } = Object(params["_meta"]);
    const { seq, partOf, part } = meta.tenon ?? {};
    if (partOf !== undefined) return [`${partOf}.${part}`];
    return seq === undefined ? [] : [String(seq)];
  });
}

/** Numbered updates as they came. */
export function numbered(frames: readonly Frame[], sessionId: string): readonly unknown[] {
  return frames.filter((frame) => numbers([frame], sessionId).length > 0).map(({ params }) => params);
}

/** A tool that a client runs. */
export const SUM: {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object" };
} = {
  name: "sum",
  description: "Adds",
  inputSchema: { type: "object" },
};

/** Of the updates among them. */
export function textOf(frames: readonly Frame[]): string {
  return JSON.stringify(frames.map(({ params }) => params?.["update"]));
}

/** From 1 on, each once: parts of a record come before its number. */
export function expectWhole(frames: readonly Frame[], sessionId: string): void {
  const seen = numbers(frames, sessionId);
  expect(new Set(seen).size).toBe(seen.length);
  const order = seen.map((one) => Number(one.split(".")[0]));
  expect(order).toEqual([...order].sort((one, other) => one - other));
}
