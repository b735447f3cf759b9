// The tools that clients of a session run themselves: who has which, under which names, and what becomes of them without their client.
import { TenonError } from "../../base/errors.js";
import type { JsonValue } from "../../base/json/json.js";
import type { Timer, World } from "../../base/ports/world.js";
import { type McpTool, readSingleTool } from "../../mcp/index.js";
import type { AbsentServer, CatalogTool, SessionCatalog } from "../../tools/index.js";
import type { Notify } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ClientName, ToolCaller } from "../ports.js";
import { ExtraSource } from "./extra-source.js";

const { extraTools: MAX } = SESSION_LIMITS;

/** `replace`: these and no others; `add`: one of the same name is replaced; `remove`: by name; `clear`: all of the key. */
export type SetToolsMode = "replace" | "add" | "remove" | "clear";

export interface SetToolsRequest {
  /** Tells the sets of one client apart; its name for people and models too. */
  readonly key: string;
  readonly mode: SetToolsMode;
  /** As they came: each is read by itself. */
  readonly tools: readonly (JsonValue | undefined)[];
}

export interface SetToolsAnswer {
  /** All that the key has now, with the names by which models call them. */
  readonly tools: readonly { readonly name: string; readonly offeredAs: string }[];
  readonly rejected: readonly RejectedTool[];
}

interface RejectedTool {
  readonly name: string;
  readonly reason: string;
}

export interface ExtraToolsOptions {
  readonly world: World;
  readonly catalog: Pick<SessionCatalog, "add" | "knows" | "toolsOf">;
  /** The way to a client that is attached. */
  readonly caller: (client: string) => ToolCaller | undefined;
  /** Another client has the name of a source from now on. */
  readonly onNameTaken: (source: string) => void;
  /** A source is gone, as far as is known for good. */
  readonly onDropped: (source: string) => void;
  /** What is gone has changed. */
  readonly onAbsent: () => void;
  readonly onNotice: Notify;
}

interface HeldTool {
  readonly tool: McpTool;
  readonly heapBytes: number;
}

interface ToolSet {
  readonly owner: ClientName;
  readonly key: string;
  readonly source: ExtraSource;
  readonly takeOut: () => void;
  tools: ReadonlyMap<string, HeldTool>;
  grace?: Timer;
}

export class ExtraTools implements Disposable {
  readonly #options: ExtraToolsOptions;
  readonly #sets = new Map<string, ToolSet>();
  /** By name of the source, the client that had it last; the latest last. */
  readonly #owners = new Map<string, string>();
  /** By name of the source. */
  readonly #gone = new Map<string, AbsentServer>();

  constructor(options: ExtraToolsOptions) {
    this.#options = options;
  }

  /** Sets that were there, with the reason why they are not. */
  get absent(): readonly AbsentServer[] {
    return [...this.#gone.values()];
  }

  /** For the person who is asked about a call: who runs it. */
  about({ origin, source }: Pick<CatalogTool, "origin" | "source">): readonly string[] {
    const set = origin === "extra" ? this.#named(source) : undefined;
    return set ? [`The program ${quoted(set)}, a client of this session, brought this tool and runs it.`] : [];
  }

  has(source: string): boolean {
    return this.#named(source) !== undefined;
  }

  /** Throws `access.limited` when there are too many keys. Entries that cannot be used are named, and the rest counts. */
  set(owner: ClientName, { key, mode, tools }: SetToolsRequest): SetToolsAnswer {
    const id = JSON.stringify([owner.client, key]);
    const known = this.#sets.get(id);
    const before = new Map(known?.tools);
    if (mode === "clear" || mode === "remove") {
      const rejected = mode === "remove" ? withdrawn(before, tools) : [];
      if (mode === "clear") before.clear();
      return { tools: known ? this.#put(known, before, known.source.rejected) : [], rejected };
    }
    const read = readTools(tools, mode === "add" ? before : new Map());
    if (!known && read.tools.size === 0) return { tools: [], rejected: read.rejected };
    return {
      tools: this.#put(known ?? this.#open(id, owner, key), read.tools, read.rejected),
      rejected: read.rejected,
    };
  }

  /** Who is attached now. Those who come back in time have their tools again. */
  follow(clients: readonly ClientName[]): void {
    const here = new Set(clients.map(({ client }) => client));
    for (const set of this.#sets.values()) {
      if (!here.has(set.owner.client)) this.#wait(set);
      else if (set.grace) {
        set.grace.clear();
        delete set.grace;
        set.source.state.set({ kind: "ready" });
      }
    }
  }

  /** By the client's own word: nobody waits for it. */
  left(client: string): void {
    for (const set of this.#sets.values()) {
      if (set.owner.client === client) this.#drop(set, `the program ${quoted(set)} left this session`);
    }
  }

  [Symbol.dispose](): void {
    for (const { grace } of this.#sets.values()) grace?.clear();
    this.#sets.clear();
  }

  #put(set: ToolSet, tools: ReadonlyMap<string, HeldTool>, rejected: readonly RejectedTool[]): SetToolsAnswer["tools"] {
    const { source } = set;
    if (tools.size === 0) {
      this.#drop(set, `the program ${quoted(set)} took them out`);
      return [];
    }
    source.rejected = rejected;
    set.tools = tools;
    source.tools.set([...tools.values()].map(({ tool }) => tool));
    const offered = this.#options.catalog.toolsOf("extra", source.name);
    return offered.map(({ tool, raw }) => ({ name: raw.name, offeredAs: tool.id }));
  }

  #open(id: string, owner: ClientName, key: string): ToolSet {
    const { world, catalog, caller, onNameTaken, onNotice } = this.#options;
    const own = [...this.#sets.values()].filter((set) => set.owner.client === owner.client);
    const [most, whose] = own.length >= MAX.keysPerClient ? [MAX.keysPerClient, "a client"] : [MAX.keys, "a session"];
    if (own.length >= MAX.keysPerClient || this.#sets.size >= MAX.keys) {
      const words = `no tools can be added under the key ${JSON.stringify(key)}: ${whose} may have ${most} keys`;
      throw new TenonError("access.limited", words, { hint: "Clear another key first." });
    }
    const name = this.#freeName(key);
    if (this.#owners.get(name) !== owner.client) onNameTaken(name);
    this.#remember(name, owner.client);
    const program = owner.name;
    const source = new ExtraSource({ world, name, key, program, caller: () => caller(owner.client) });
    const set: ToolSet = { owner, key, source, takeOut: catalog.add(source), tools: new Map() };
    this.#sets.set(id, set);
    if (!caller(owner.client)) this.#wait(set); // until it is attached
    if (this.#gone.delete(name)) this.#options.onAbsent();
    onNotice("info", `The program ${quoted(set)} added tools to this session, as "${name}".`);
    return set;
  }

  /** No other source's: a program must not stand in the place of a server. */
  #freeName(key: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? key : `${key}-${number}`;
      if (!this.#options.catalog.knows(name)) return name;
    }
  }

  /** What the session allowed of a name that is forgotten is forgotten with it. */
  #remember(name: string, client: string): void {
    this.#owners.delete(name);
    this.#owners.set(name, client);
    for (const oldest of this.#owners.keys()) {
      if (this.#owners.size <= MAX.keys + MAX.remembered) return;
      if (!this.#named(oldest)) this.#owners.delete(oldest);
    }
  }

  #named(source: string): ToolSet | undefined {
    return [...this.#sets.values()].find((set) => set.source.name === source);
  }

  #wait(set: ToolSet): void {
    if (set.grace) return;
    const seconds = MAX.graceMs / 1_000;
    const reason = `its program ${quoted(set)} is not connected, and has ${seconds} s to come back`;
    set.source.state.set({ kind: "broken", reason, isAwaited: true });
    set.grace = this.#options.world.after(MAX.graceMs, () => {
      this.#drop(set, `the program ${quoted(set)} left, and did not come back within ${seconds} s`);
    });
  }

  #drop(set: ToolSet, reason: string): void {
    const { source, owner, key } = set;
    const { name } = source;
    set.grace?.clear();
    this.#sets.delete(JSON.stringify([owner.client, key]));
    source.state.set({ kind: "failed", reason });
    const tools = source.tools.value.map((tool) => tool.name);
    this.#gone.delete(name);
    this.#gone.set(name, { name, origin: "extra", kind: "gone", reason, tools });
    for (const oldest of this.#gone.keys()) {
      if (this.#gone.size <= MAX.remembered) break;
      this.#gone.delete(oldest);
    }
    set.takeOut();
    this.#options.onDropped(name);
    this.#options.onAbsent();
    this.#options.onNotice("info", `The tools of "${name}" are gone: ${reason}.`);
  }
}

function quoted({ owner }: ToolSet): string {
  return JSON.stringify(owner.name);
}

/** Takes those with these names out; names those that were not there. */
function withdrawn(tools: Map<string, HeldTool>, named: SetToolsRequest["tools"]): readonly RejectedTool[] {
  const names = named.slice(0, MAX.tools).map((one) => {
    const name = typeof one === "object" && one !== null && "name" in one ? one.name : one;
    return typeof name === "string" ? name : "?";
  });
  return names.filter((name) => !tools.delete(name)).map((name) => ({ name, reason: "there is no such tool" }));
}

/** As those of a server are read. Its hints are not taken: nobody has said that they are true. */
export function readTools(
  given: SetToolsRequest["tools"],
  before: ReadonlyMap<string, HeldTool>,
): { readonly tools: ReadonlyMap<string, HeldTool>; readonly rejected: readonly RejectedTool[] } {
  const tools = new Map(before);
  const rejected: RejectedTool[] = [];
  const seen = new Set<string>();
  let taken = [...before.values()].reduce((sum, { heapBytes }) => sum + heapBytes, 0);
  for (const [index, raw] of given.entries()) {
    if (index >= MAX.tools * 2) {
      rejected.push({ name: "?", reason: `${given.length - index} more entries are left out: too many` });
      break;
    }
    const { read, heapBytes } = readSingleTool(raw);
    if (!read.ok) {
      rejected.push({ name: read.name, reason: read.reason });
      continue;
    }
    const { key, item } = read;
    const { annotations: _hints, taskSupport: _task, ...tool } = item;
    const replaced = tools.get(key);
    const sum = taken + heapBytes - (replaced?.heapBytes ?? 0);
    const isFull = !replaced && tools.size >= MAX.tools;
    if (isFull || sum > MAX.heapBytes) {
      const reason = isFull
        ? `a key may have ${MAX.tools} tools`
        : `the definitions of a key may take ${MAX.heapBytes} bytes`;
      rejected.push({ name: key, reason });
      continue;
    }
    if (seen.has(key)) rejected.push({ name: key, reason: "it is defined twice: the last one counts" });
    taken = sum;
    seen.add(key);
    tools.set(key, { tool, heapBytes });
  }
  return { tools, rejected };
}
