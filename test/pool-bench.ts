// What the tests of the pool stand on: sessions with peers that remember what they were asked, on a world where nothing is real.
import { LIMITS } from "../src/base/limits.js";
import type { ServerCache } from "../src/mcp/connection/cache.js";
import type { ServerConnection } from "../src/mcp/connection/connection.js";
import type { ConnectionOptions } from "../src/mcp/connection/options.js";
import type { CallOutcome } from "../src/mcp/protocol/call.js";
import type { ElicitRequest, Peer, ServerLog } from "../src/mcp/protocol/peer.js";
import { ServerPool } from "../src/mcp/sharing/server-pool.js";
import type { ServerSpec, StdioSpec } from "../src/mcp/spec.js";
import {
  type Behaviour,
  echoTool,
  type FakeWorld,
  fakeWorld,
  spawnsServer,
  type ToolScript,
} from "../src/testing/index.js";

export const SPEC: StdioSpec = { kind: "stdio", name: "s", command: "/bin/server", args: [], env: {} };
const never: AbortSignal = new AbortController().signal;

/** Asks the person, and replies with what they said. */
export const ASKING: ToolScript = {
  name: "ask",
  reply: { kind: "ask_client", method: "elicitation/create", params: { message: "who?", requestedSchema: {} } },
};
/** The same after a while, whatever is cancelled meanwhile. */
const STUBBORN: ToolScript = {
  ...ASKING,
  name: "stubborn",
  steps: [{ do: "delay", ms: 2_000 }],
  ignoresCancel: true,
};
export const SLOW: ToolScript = {
  name: "slow",
  steps: [{ do: "delay", ms: 5_000 }],
  reply: { kind: "text", text: "done" },
};
export const PID: ToolScript = { name: "pid", reply: { kind: "pid" } };
export const TOOLS: Behaviour = { tools: [echoTool(), ASKING, STUBBORN, SLOW, PID] };

/** A session, as far as a server can tell. */
export class Guest implements Peer {
  readonly name: string;
  readonly server: ServerConnection;
  readonly asked: ElicitRequest[] = [];
  readonly logged: ServerLog[] = [];
  readonly overheardLines: ServerLog[] = [];
  readonly declined: string[] = [];
  readonly #root: string;

  constructor(name: string, root: string, open: (guest: Guest) => ServerConnection) {
    this.name = name;
    this.#root = root;
    this.server = open(this);
  }

  readonly roots = (): readonly { readonly uri: string }[] => [{ uri: `file://${this.#root}` }];

  readonly elicit = async (request: ElicitRequest): ReturnType<NonNullable<Peer["elicit"]>> => {
    this.asked.push(request);
    return { action: "accept", content: { name: this.name } };
  };

  log(entry: ServerLog): void {
    this.logged.push(entry);
  }

  overheard(entry: ServerLog): void {
    this.overheardLines.push(entry);
  }

  unanswered(method: string, reason: string): void {
    this.declined.push(`${method}: ${reason}`);
  }

  call(tool: string, signal: AbortSignal = never): Promise<CallOutcome> {
    return this.server.call(tool, { text: this.name }, { signal, onProgress: () => {} });
  }
}

export interface GuestOptions extends Partial<Omit<ConnectionOptions, "world">> {
  readonly spec?: ServerSpec;
  readonly mayShare?: boolean;
  readonly idleMs?: number;
  readonly maxProcesses?: number;
  readonly maxMemoryBytes?: number;
  readonly isLazy?: boolean;
}

export class PoolBench implements AsyncDisposable {
  readonly world: FakeWorld;
  readonly pool: ServerPool;
  readonly #cache: { readonly cache?: ServerCache };

  constructor(behaviour: Behaviour = TOOLS, { cache, world }: { cache?: ServerCache; world?: FakeWorld } = {}) {
    this.world = world ?? fakeWorld({ spawn: spawnsServer(behaviour) });
    this.#cache = cache ? { cache } : {};
    this.pool = new ServerPool({ world: this.world, ...this.#cache });
  }

  /** Opened and started; connected once the clock has moved. */
  guest(name: string, given: GuestOptions = {}): Guest {
    const { spec = SPEC, mayShare = true, idleMs, maxProcesses, maxMemoryBytes, isLazy = false, ...rest } = given;
    const options = {
      world: this.world,
      cwd: "/project",
      client: { name: "t", version: "1" },
      session: name,
      ...this.#cache,
      ...rest,
    };
    const settings = {
      ...(idleMs === undefined ? {} : { idleMs }),
      ...(maxProcesses === undefined ? {} : { maxProcesses }),
      ...(maxMemoryBytes === undefined ? {} : { maxMemoryBytes }),
    };
    const guest = new Guest(name, options.cwd, (peer) =>
      this.pool.open({ spec, options: { ...options, peer }, mayShare, settings }),
    );
    if (isLazy) guest.server.startWhenUsed();
    else guest.server.start();
    return guest;
  }

  async guests(count: number, given: GuestOptions = {}): Promise<readonly Guest[]> {
    const guests = Array.from({ length: count }, (_, index) => this.guest(`g${index + 1}`, given));
    await this.world.advance(100);
    return guests;
  }

  /** Processes that live now. */
  get living(): number {
    return this.world.children.filter((child) => child.isGroupAlive()).length;
  }

  /** What is under way, with so much time for it. */
  async after<T>(ms: number, work: Promise<T>): Promise<T> {
    await this.world.advance(ms);
    return await work;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.after(20_000, this.pool.close(LIMITS.exitGrace));
  }
}

export function textOf(outcome: CallOutcome): string {
  return JSON.stringify(outcome);
}
