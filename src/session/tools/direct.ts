// Tools of a session for a program with a model of its own: listed by their include modes, called outside of turns.
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { BUILTIN_NAMES, type BuiltinName } from "../../builtin/index.js";
import type { ServerConnection } from "../../mcp/index.js";
import {
  CALL_TOOL,
  type CatalogTool,
  failed,
  prepareCall,
  runDirect,
  SEARCH_TOOLS,
  searchMetaSource,
  type ToolDefinition,
  type ToolOutcome,
  type ToolProgress,
} from "../../tools/index.js";
import type { OpenServer } from "../servers/entry.js";
import type { SessionServers } from "../servers/servers.js";
import type { SessionTools } from "./tools.js";

export interface DirectToolsOptions {
  readonly world: Pick<World, "soon">;
  readonly tools: SessionTools;
  readonly servers: SessionServers;
  /** Tenon's own tools that may be used; all of them unless given. */
  readonly builtin?: readonly BuiltinName[];
  /** Its configuration is waited for. */
  readonly session: { readonly configured: Promise<void> };
}

export interface DirectCall {
  /** By which questions about the call name it. */
  readonly toolCallId: string;
  /** As the catalog has it (`CatalogTool.id`). */
  readonly name: string;
  readonly arguments: JsonObject;
  readonly signal: AbortSignal;
  onProgress(progress: ToolProgress): void;
}

export interface DirectListing {
  readonly always: readonly CatalogTool[];
  /** Those that a search finds. */
  readonly search: readonly CatalogTool[];
}

export class DirectTools {
  /** The two tools by which all others are found and called. */
  readonly searchTools: readonly ToolDefinition[];
  readonly #options: DirectToolsOptions;
  readonly #meta: ReturnType<typeof searchMetaSource>;
  readonly #listeners = new Set<() => void>();
  /** Ways to stop following the servers there are. */
  #stops: (() => void)[] = [];
  #isDue = false;

  constructor(options: DirectToolsOptions) {
    this.#options = options;
    const { catalog } = options.tools;
    this.#meta = searchMetaSource({
      // What is found can be called in any case: nothing is put in front of a model of ours.
      search: (request, signal) => catalog.search({ ...request, isTrial: true }, signal),
      waitFor: (name, signal, onProgress) => catalog.waitFor(name, signal, onProgress),
    });
    this.searchTools = this.#meta.tools.value.filter(({ name }) => name === SEARCH_TOOLS || name === CALL_TOOL);
    this.follow(options.servers.open);
  }

  /** Waits for the configuration, and within the bounds of a turn for servers that start. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.#options.session.configured;
    await this.#options.servers.settled(signal);
  }

  /** Tools whose definition changed since a person approved it are not among them. */
  async list(): Promise<DirectListing> {
    const { catalog, permissions } = this.#options.tools;
    const { always, search } = catalog.byMode();
    const offer = catalog.peek();
    await permissions.prepare([...always, ...search].flatMap(({ id }) => offer.find(id) ?? []));
    const now = catalog.byMode();
    const usable = (tool: CatalogTool) => this.#isUsable(tool);
    return { always: now.always.filter(usable), search: now.search.filter(usable) };
  }

  /** With the policy and the questions of every call; nothing of it is recorded. Never rejects. */
  async call(call: DirectCall): Promise<ToolOutcome> {
    const { name, arguments: given, toolCallId, signal } = call;
    if (name === SEARCH_TOOLS) return await this.#meta.call({ ...call, tool: name });
    if (name === CALL_TOOL) return await this.#unwrapped(call);
    const { tools } = this.#options;
    await this.#ownerStarted(name, signal);
    const offer = tools.catalog.peek();
    const known = offer.find(name)?.tool;
    if (known && !this.#isOffered(known))
      return failed(`There is no tool named ${JSON.stringify(name.slice(0, 200))}.`);
    const prepared = prepareCall({ toolCallId, name, argumentsJson: JSON.stringify(given) }, offer);
    return await runDirect(
      prepared,
      { ...tools.ports(), journal: { intent: () => undefined }, onUsed: () => {} },
      {
        signal,
        onEvent: (event) => {
          if (event.kind === "progress") call.onProgress(event.progress);
        },
      },
    );
  }

  /** Waits for servers that connect: for the one whose tool may have this name, or for all of them. False: none does. */
  async started(signal: AbortSignal, name?: string): Promise<boolean> {
    if (name !== undefined) return await this.#ownerStarted(name, signal);
    const isStarting = this.connections.some(
      ({ state: { value } }) => value.kind === "idle" || value.kind === "connecting",
    );
    if (isStarting) await this.#options.servers.started(signal);
    return isStarting;
  }

  /** All servers, whatever their state, in the order of the configuration. */
  get connections(): readonly ServerConnection[] {
    return this.#options.servers.open.map(({ connection }) => connection);
  }

  /** Calls back after the state or the tools of a server changed, or the servers did. Returns the way to stop. */
  onChange(listener: () => void): () => void {
    const one = () => listener();
    this.#listeners.add(one);
    return () => this.#listeners.delete(one);
  }

  follow(servers: readonly OpenServer[]): void {
    for (const stop of this.#stops) stop();
    const changed = () => this.#changed();
    this.#stops = servers.flatMap(({ connection: { state, tools } }) => [
      state.subscribe(changed),
      tools.subscribe(changed),
    ]);
    changed();
  }

  /** What a server has is known before it is decided whether it may be called. */
  async #ownerStarted(name: string, signal: AbortSignal): Promise<boolean> {
    const offer = this.#options.tools.catalog.peek();
    const starting = offer.find(name) ? undefined : offer.starting?.(name);
    await starting?.started(signal);
    return starting !== undefined;
  }

  /** Listed, or found by search: not held back for its changed definition, and not one that a person adds by hand. */
  #isOffered(tool: CatalogTool): boolean {
    const { always, search } = this.#options.tools.catalog.byMode();
    return this.#isUsable(tool) && [...always, ...search].some(({ id }) => id === tool.id);
  }

  #isUsable({ origin, definition }: CatalogTool): boolean {
    const { builtin = BUILTIN_NAMES } = this.#options;
    return origin !== "builtin" || builtin.some((name) => name === definition.name);
  }

  async #unwrapped(call: DirectCall): Promise<ToolOutcome> {
    const { name, arguments: given = {} } = call.arguments;
    if (typeof name !== "string" || !isJsonObject(given)) {
      return failed(`${CALL_TOOL} needs "name", the exact name of a tool, and "arguments", an object`);
    }
    if (name === CALL_TOOL) return failed(`${CALL_TOOL} cannot call itself`);
    return await this.call({ ...call, name, arguments: given });
  }

  /** Several changes in one go are told as one. */
  #changed(): void {
    if (this.#isDue || this.#listeners.size === 0) return;
    this.#isDue = true;
    this.#options.world.soon(() => {
      this.#isDue = false;
      for (const listener of [...this.#listeners]) listener();
    });
  }
}
