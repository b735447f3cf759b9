// A server's tools: listed once, then followed as they change, without ever being driven by the server's pace.
import { Cell, type ReadonlyCell } from "../../base/async/cell.js";
import { backoffDelayMs } from "../../base/async/deadline.js";
import { Pace } from "../../base/async/pace.js";
import { handled, type Scope } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { MCP_LIMITS } from "../limits.js";
import type { Link } from "../protocol/link.js";
import type { LeftOut } from "../protocol/lists.js";
import { type DiscoveredTools, internTools, listTools, type McpTool, sameTool, sameTools } from "../protocol/tools.js";
import { launchFingerprint, type ServerSpec } from "../spec.js";
import type { ConnectionOptions } from "./options.js";

const CHANGED = "notifications/tools/list_changed";

/**
 * `load` lists everything once. From then on each `list_changed` is followed: a burst is waited for, but never longer than
 * a fixed time after its first notice, so a storm cannot starve the list; one request at a time, and none sooner than a
 * fixed time after the last, so a storm cannot make us ask for ever. A notice costs a comparison or two.
 */
export class ToolList {
  readonly #link: Link;
  readonly #world: World;
  readonly #pace: Pace;
  readonly #onListed: (discovered: DiscoveredTools) => void;
  readonly #over = new AbortController();
  #current: DiscoveredTools | undefined;
  #isStale = false;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #lastStartMs = 0;
  #failures = 0;

  constructor(link: Link, world: World, onListed: (discovered: DiscoveredTools) => void) {
    this.#link = link;
    this.#world = world;
    this.#pace = Pace.of(world);
    this.#onListed = onListed;
    link.onNotification((method) => {
      if (method === CHANGED) this.#hear();
    });
    handled(
      link.broken.finally(() => this.#stop()),
      world.log,
      "stop listing with the connection",
    );
  }

  /** Throws a TenonError when the server gave no list, or the reason of the signal. */
  async load(signal: AbortSignal): Promise<void> {
    this.#lastStartMs = this.#world.monotonicMs();
    const listed = await listTools(this.#link, this.#world, AbortSignal.any([signal, this.#over.signal]));
    await this.#take(listed);
    if (listed.brokenOff) {
      this.#failures = 1; // half of them is better than none, and the rest is asked for again
      this.#isStale = true;
    }
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#running;
  }

  #stop(): void {
    this.#over.abort();
    this.#timer?.clear();
    this.#timer = undefined;
  }

  #hear(): void {
    if (this.#isStale) return;
    this.#isStale = true;
    this.#failures = 0;
    this.#schedule();
  }

  /** Before the first list there is nothing to renew: `load` looks again when it is done. */
  #schedule(): void {
    if (!this.#isStale || !this.#current || this.#timer || this.#running || this.#over.signal.aborted) return;
    const { quietMs, everyMs } = MCP_LIMITS.relist;
    const sinceMs = this.#world.monotonicMs() - this.#lastStartMs;
    const backoffMs =
      this.#failures === 0 ? 0 : backoffDelayMs(MCP_LIMITS.reconnect, this.#failures, this.#world.random());
    this.#timer = this.#world.after(Math.max(quietMs, everyMs - sinceMs, backoffMs), () => {
      this.#timer = undefined;
      this.#running = this.#renew().finally(() => {
        this.#running = undefined;
        this.#schedule();
      });
      handled(this.#running, this.#world.log, "renew a list of tools");
    });
  }

  /** Never rejects: a list that cannot be renewed stays as it is. */
  async #renew(): Promise<void> {
    this.#isStale = false;
    this.#lastStartMs = this.#world.monotonicMs();
    try {
      using deadline = this.#world.deadline(LIMITS.connectTimeoutMs, this.#over.signal);
      const listed = await listTools(this.#link, this.#world, deadline.signal);
      if (listed.brokenOff) throw listed.brokenOff; // half a list would take tools away that are still there
      await this.#take(listed);
      this.#failures = 0;
    } catch (thrown) {
      if (this.#over.signal.aborted) return;
      this.#failures += 1;
      const willRetry = this.#failures < MCP_LIMITS.relist.attempts;
      this.#world.log.warn("mcp.relist_failed", { error: messageOf(thrown), willRetry });
      if (willRetry) this.#isStale = true;
    }
  }

  async #take(listed: DiscoveredTools): Promise<void> {
    const before = this.#current;
    const isSame = before !== undefined && (await sameTools(before.tools, listed.tools, this.#pace));
    const tools = isSame
      ? before.tools
      : await internTools(await kept(before?.tools ?? [], listed.tools, this.#pace), this.#pace);
    if (this.#over.signal.aborted) return;
    const discovered = { ...listed, tools };
    this.#current = discovered;
    const hasSameProblems = before?.problems.join("\n") === listed.problems.join("\n");
    if (!isSame || !hasSameProblems) this.#onListed(discovered);
  }
}

const CHUNK = 200;

/** Tools that did not change stay the same objects: what is remembered about them stays valid. */
async function kept(before: readonly McpTool[], after: readonly McpTool[], pace: Pace): Promise<readonly McpTool[]> {
  if (before.length === 0) return after;
  const known = new Map(before.map((tool) => [tool.name, tool]));
  const tools: McpTool[] = [];
  for (let start = 0; start < after.length; start += CHUNK) {
    await pace.run(() => {
      for (const tool of after.slice(start, start + CHUNK)) {
        const old = known.get(tool.name);
        tools.push(old && sameTool(old, tool) ? old : tool);
      }
    });
  }
  return tools;
}

export class CurrentTools {
  readonly #spec: ServerSpec;
  readonly #options: Pick<ConnectionOptions, "world" | "cache">;
  readonly #list = new Cell<readonly McpTool[]>([]);
  #index: { readonly list: readonly McpTool[]; readonly byName: ReadonlyMap<string, McpTool> } | undefined;
  #problems: readonly string[] = [];
  #leftOut: readonly LeftOut[] = [];
  #hasListed = false;

  constructor(spec: ServerSpec, options: Pick<ConnectionOptions, "world" | "cache">) {
    this.#spec = spec;
    this.#options = options;
  }

  get list(): ReadonlyCell<readonly McpTool[]> {
    return this.#list;
  }

  /** What was left out of the list or changed in it, each in one sentence. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  get leftOut(): readonly LeftOut[] {
    return this.#leftOut;
  }

  /** Servers have up to 12,000 tools: those of the current list are looked up by name from the first call on. */
  find(name: string): McpTool | undefined {
    const list = this.#list.value;
    if (this.#index?.list !== list) {
      this.#index = { list, byName: new Map(list.map((known) => [known.name, known])) };
    }
    return this.#index.byName.get(name);
  }

  /** A warm session has its tools before the server has started; the live list replaces them. */
  async recall(): Promise<void> {
    const cached = await this.#options.cache?.readTools(launchFingerprint(this.#spec));
    if (cached && !this.#hasListed) this.#list.set(cached.tools);
  }

  /** The server listed them; they are remembered in the background. */
  listed({ tools, problems, leftOut = [], brokenOff }: DiscoveredTools, serverVersion: string, scope: Scope): void {
    const { world, cache } = this.#options;
    const { name } = this.#spec;
    for (const problem of problems) world.log.warn("mcp.tool_set_aside", { server: name, problem });
    this.#hasListed = true;
    this.#problems = problems;
    this.#leftOut = leftOut;
    this.#list.set(tools);
    if (brokenOff) return; // half a list is no memory to start from
    scope.run(`remember ${name}`, async () => {
      await cache?.writeTools(launchFingerprint(this.#spec), { serverVersion, tools });
    });
  }
}
