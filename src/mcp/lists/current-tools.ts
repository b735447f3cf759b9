// The tools of one server as they are known now: remembered from an earlier time until the server itself has listed them.
import { Cell, type ReadonlyCell } from "../../base/async/cell.js";
import type { Scope } from "../../base/async/scope.js";
import { launchFingerprint } from "../fingerprint.js";
import type { ConnectionOptions } from "../options.js";
import type { ServerSpec } from "../spec.js";
import type { DiscoveredTools } from "./discovery.js";
import type { McpTool } from "./tolerate.js";

export class CurrentTools {
  readonly #spec: ServerSpec;
  readonly #options: Pick<ConnectionOptions, "world" | "cache">;
  readonly #list = new Cell<readonly McpTool[]>([]);
  #index: { readonly list: readonly McpTool[]; readonly byName: ReadonlyMap<string, McpTool> } | undefined;
  #problems: readonly string[] = [];
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
  listed({ tools, problems, brokenOff }: DiscoveredTools, serverVersion: string, scope: Scope): void {
    const { world, cache } = this.#options;
    const { name } = this.#spec;
    for (const problem of problems) world.log.warn("mcp.tool_set_aside", { server: name, problem });
    this.#hasListed = true;
    this.#problems = problems;
    this.#list.set(tools);
    if (brokenOff) return; // half a list is no memory to start from
    scope.run(`remember ${name}`, async () => {
      await cache?.writeTools(launchFingerprint(this.#spec), { serverVersion, tools });
    });
  }
}
