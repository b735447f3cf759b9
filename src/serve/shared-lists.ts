// Resources, templates and prompts of all servers as one list each, and the way back to the server an entry is of.
import { orAborted } from "../base/async/deadline.js";
import { handled } from "../base/async/scope.js";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import {
  complete,
  getPrompt,
  isErrorBody,
  type Link,
  listPrompts,
  listResources,
  listResourceTemplates,
  type McpPrompt,
  type McpResource,
  type McpResourceTemplate,
  type ProvidedAnswer,
  readResource,
  refusal,
  type ServerConnection,
  Subscriptions,
  toResource,
  toWire,
} from "../mcp/index.js";
import { mcpToolId } from "../tools/index.js";
import { SERVE_LIMITS } from "./limits.js";

const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;
const LEGACY_NOT_FOUND = -32_002;

export interface SharedListsOptions {
  readonly world: World;
  /** Those of the client, in the order of the configuration. */
  connections(): readonly ServerConnection[];
  /** Waits for servers that start. False: none does. */
  started(signal: AbortSignal): Promise<boolean>;
  /** Prompts have their servers' own names as far as these differ. */
  readonly hasOwnNames: boolean;
  readonly isModern: boolean;
  /** A list changed, a resource did, or a server logged something. */
  onNotice(method: string, params: JsonObject): void;
}

/** An entry of a list with the server it is of. */
interface Owned<T> {
  readonly connection: ServerConnection;
  readonly item: T;
}

const FOLLOWED = { promptsListChanged: true, resourcesListChanged: true } as const;

export class SharedLists {
  readonly #options: SharedListsOptions;
  readonly #closed = new AbortController();
  readonly #followed = new WeakMap<ServerConnection, Subscriptions>();
  readonly #links = new WeakSet<Link>();
  readonly #resources: RecentList<McpResource>;
  readonly #templates: RecentList<McpResourceTemplate>;
  readonly #prompts: RecentList<McpPrompt>;
  /** By URI, the ways to stop following. */
  readonly #subscriptions = new Map<string, AbortController>();

  constructor(options: SharedListsOptions) {
    this.#options = options;
    const { world } = options;
    const { signal } = this.#closed;
    this.#resources = new RecentList(world, () => this.#all("resources", listResources, signal));
    this.#templates = new RecentList(world, () => this.#all("resources", listResourceTemplates, signal));
    this.#prompts = new RecentList(world, () => this.#all("prompts", listPrompts, signal));
  }

  close(): void {
    this.#closed.abort();
    for (const subscription of this.#subscriptions.values()) subscription.abort();
  }

  /** To be called when servers have changed: those that are ready are heard from then on. */
  follow(): void {
    for (const connection of this.#options.connections()) {
      const { link } = connection;
      if (!link || this.#closed.signal.aborted) continue;
      if (!this.#links.has(link)) {
        this.#links.add(link);
        link.onNotification((method, params) => {
          if (method === "notifications/message") this.#tell(method, params);
        });
      }
      if (this.#followed.has(connection)) continue;
      const subscriptions = new Subscriptions(connection);
      this.#followed.set(connection, subscriptions);
      this.#listen(subscriptions, FOLLOWED, this.#closed.signal);
      const { prompts, resources } = link.capabilities;
      if (isJsonObject(prompts)) this.#tell("notifications/prompts/list_changed", {});
      if (isJsonObject(resources)) this.#tell("notifications/resources/list_changed", {});
    }
  }

  async resources(signal: AbortSignal): Promise<readonly JsonObject[]> {
    const all = await this.#resources.renewed(signal);
    return unique(all, ({ uri }) => uri).map(({ item }) => ({ ...item }));
  }

  async templates(signal: AbortSignal): Promise<readonly JsonObject[]> {
    const all = await this.#templates.renewed(signal);
    return unique(all, ({ uriTemplate }) => uriTemplate).map(({ item }) => ({ ...item }));
  }

  async prompts(signal: AbortSignal): Promise<readonly JsonObject[]> {
    await this.#prompts.renewed(signal);
    const named = await this.#named(signal);
    return [...named].map(([name, { item }]) => {
      const { title, description, arguments: given } = item;
      const shown = given.map(({ name: own, title: label, description: about, isRequired }) => {
        return { name: own, required: isRequired, ...defined({ title: label, description: about }) };
      });
      return { name, description, arguments: shown, ...defined({ title }) };
    });
  }

  async read(uri: string, signal: AbortSignal): Promise<ProvidedAnswer> {
    const owner = await this.#ownerOf(uri, signal);
    if (!owner?.link) return this.#notFound(uri);
    const { link } = owner;
    return await answered(async () => {
      const contents = await readResource(link, uri, { signal });
      return { contents: contents.map(toResource) };
    });
  }

  async get({ name, arguments: given = {} }: JsonObject, signal: AbortSignal): Promise<ProvidedAnswer> {
    if (typeof name !== "string" || !isJsonObject(given)) {
      return refusal(INVALID_PARAMS, "prompts/get needs a name, and arguments that are an object");
    }
    const found = await this.#promptOf(name, signal);
    const link = found?.connection.link;
    if (!found || !link) return refusal(INVALID_PARAMS, `Unknown prompt: ${name.slice(0, 200)}`);
    const texts = Object.entries(given).flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : []));
    return await answered(async () => {
      const { description, messages } = await getPrompt(link, found.item.name, Object.fromEntries(texts), { signal });
      const shown = messages.flatMap(({ role, content }) => content.map((block) => ({ role, content: toWire(block) })));
      return { messages: shown, ...defined({ description }) };
    });
  }

  async complete({ ref, argument, context }: JsonObject, signal: AbortSignal): Promise<ProvidedAnswer> {
    const { type, name, uri } = isJsonObject(ref) ? ref : {};
    const { name: of, value } = isJsonObject(argument) ? argument : {};
    if (typeof of !== "string" || typeof value !== "string") {
      return refusal(INVALID_PARAMS, "completion/complete needs an argument with a name and a value");
    }
    const given = isJsonObject(context) && isJsonObject(context["arguments"]) ? context["arguments"] : {};
    const texts = Object.entries(given).flatMap(([key, text]) => (typeof text === "string" ? [[key, text]] : []));
    const about = { argument: { name: of, value }, given: Object.fromEntries(texts) };
    const none = { completion: { values: [], hasMore: false } };
    if (type === "ref/prompt" && typeof name === "string") {
      const found = await this.#promptOf(name, signal);
      const link = found?.connection.link;
      if (!found || !link) return refusal(INVALID_PARAMS, `Unknown prompt: ${name.slice(0, 200)}`);
      if (!link.capabilities["completions"]) return { kind: "result", result: none };
      const target = { kind: "prompt", name: found.item.name } as const;
      return await answered(async () => ({
        completion: { ...(await complete(link, { target, ...about }, { signal })) },
      }));
    }
    if (type !== "ref/resource" || typeof uri !== "string") {
      return refusal(INVALID_PARAMS, "completion/complete needs a ref of a prompt or a resource");
    }
    const link = (await this.#ownerOf(uri, signal))?.link;
    if (!link?.capabilities["completions"]) return { kind: "result", result: none };
    const target = { kind: "resource", uri } as const;
    return await answered(async () => ({
      completion: { ...(await complete(link, { target, ...about }, { signal })) },
    }));
  }

  /** Until the signal aborts, or `unsubscribe` is called. */
  async subscribe(uri: string, signal: AbortSignal): Promise<ProvidedAnswer> {
    const owner = this.#subscriptions.has(uri) ? undefined : await this.#ownerOf(uri, signal);
    if (this.#subscriptions.has(uri)) return DONE;
    if (this.#subscriptions.size >= SERVE_LIMITS.followedResources) {
      const words = `${SERVE_LIMITS.followedResources} resources are followed, which is the most there may be`;
      return refusal(INTERNAL_ERROR, words);
    }
    const subscriptions = owner && this.#followed.get(owner);
    if (!subscriptions) return this.#notFound(uri);
    const stop = new AbortController();
    this.#subscriptions.set(uri, stop);
    this.#listen(subscriptions, { resourceSubscriptions: [uri] }, stop.signal);
    return DONE;
  }

  unsubscribe(uri: string): ProvidedAnswer {
    this.#subscriptions.get(uri)?.abort();
    this.#subscriptions.delete(uri);
    return DONE;
  }

  #listen(subscriptions: Subscriptions, filter: JsonObject, signal: AbortSignal): void {
    const notify = (method: string, params: JsonObject) => {
      if (method !== "notifications/subscriptions/acknowledged") this.#tell(method, params);
    };
    handled(subscriptions.follow(filter, { signal, notify }), this.#options.world.log, "follow a server's lists");
  }

  #tell(method: string, params: JsonObject): void {
    if (method.endsWith("/list_changed")) this.#dropLists();
    if (!this.#closed.signal.aborted) this.#options.onNotice(method, params);
  }

  #dropLists(): void {
    for (const list of [this.#resources, this.#templates, this.#prompts]) list.drop();
  }

  /** Of every server that is ready; one that gives no list costs the others nothing. */
  async #all<T>(
    capability: string,
    list: (link: Link, world: World, signal: AbortSignal) => Promise<{ readonly items: readonly T[] }>,
    signal: AbortSignal,
  ): Promise<readonly Owned<T>[]> {
    const { world } = this.#options;
    const lists = this.#options.connections().map(async (connection): Promise<readonly Owned<T>[]> => {
      const { link, spec } = connection;
      if (!link || !isJsonObject(link.capabilities[capability])) return [];
      try {
        return (await list(link, world, signal)).items.map((item) => ({ connection, item }));
      } catch (error) {
        world.log.warn("serve.list_failed", { server: spec.name, capability, error: messageOf(error) });
        return [];
      }
    });
    return (await Promise.all(lists)).flat();
  }

  async #named(signal: AbortSignal): Promise<ReadonlyMap<string, Owned<McpPrompt>>> {
    const named = new Map<string, Owned<McpPrompt>>();
    for (const owned of await this.#prompts.recent(signal)) {
      const own = owned.item.name;
      const long = servedName(mcpToolId(owned.connection.spec.name, own));
      const name = this.#options.hasOwnNames && !named.has(own) ? own : long;
      if (!named.has(name)) named.set(name, owned);
    }
    return named;
  }

  async #promptOf(name: string, signal: AbortSignal): Promise<Owned<McpPrompt> | undefined> {
    return await this.#found(async () => (await this.#named(signal)).get(name), signal);
  }

  async #ownerOf(uri: string, signal: AbortSignal): Promise<ServerConnection | undefined> {
    return await this.#found(() => this.#listedOwner(uri, signal), signal);
  }

  /** What nobody has may be of a server that still starts. */
  async #found<T>(find: () => Promise<T | undefined>, signal: AbortSignal): Promise<T | undefined> {
    const found = await find();
    if (found !== undefined || !(await this.#options.started(signal))) return found;
    this.follow();
    this.#dropLists();
    return await find();
  }

  /** The first server that lists it, else the one with the template that fits it best by its beginning. */
  async #listedOwner(uri: string, signal: AbortSignal): Promise<ServerConnection | undefined> {
    const listed = await this.#resources.recent(signal);
    const exact = listed.find(({ item }) => item.uri === uri);
    if (exact) return exact.connection;
    const templates = await this.#templates.recent(signal);
    const fitting = templates.flatMap(({ connection, item: { uriTemplate } }) => {
      const start = uriTemplate.split("{", 1)[0] ?? "";
      return uri === uriTemplate || (start !== "" && uri.startsWith(start))
        ? [{ connection, length: start.length }]
        : [];
    });
    return fitting.toSorted((one, other) => other.length - one.length)[0]?.connection;
  }

  #notFound(uri: string): ProvidedAnswer {
    const code = this.#options.isModern ? INVALID_PARAMS : LEGACY_NOT_FOUND;
    return { kind: "error", error: { code, message: "Resource not found", data: { uri } } };
  }
}

/** What was fetched a moment ago is good enough to know whose an entry is. */
class RecentList<T> {
  readonly #world: Pick<World, "monotonicMs">;
  readonly #fetch: () => Promise<readonly Owned<T>[]>;
  #last: { readonly atMs: number; readonly all: Promise<readonly Owned<T>[]> } | undefined;

  constructor(world: Pick<World, "monotonicMs">, fetch: () => Promise<readonly Owned<T>[]>) {
    this.#world = world;
    this.#fetch = fetch;
  }

  drop(): void {
    this.#last = undefined;
  }

  async renewed(signal: AbortSignal): Promise<readonly Owned<T>[]> {
    this.drop();
    return await this.recent(signal);
  }

  async recent(signal: AbortSignal): Promise<readonly Owned<T>[]> {
    const nowMs = this.#world.monotonicMs();
    if (!this.#last || nowMs - this.#last.atMs > SERVE_LIMITS.recentListMs)
      this.#last = { atMs: nowMs, all: this.#fetch() };
    return await orAborted(this.#last.all, signal);
  }
}

const DONE: ProvidedAnswer = { kind: "result", result: {} };

/** Names of Tenon's catalog begin with `mcp__`, which clients put before them again. */
export function servedName(id: string): string {
  return id.startsWith("mcp__") ? id.slice(5) : id;
}

/** Of equal entries of several servers the first counts. */
function unique<T>(all: readonly Owned<T>[], keyOf: (item: T) => string): readonly Owned<T>[] {
  return [...new Map(all.toReversed().map((owned) => [keyOf(owned.item), owned])).values()].toReversed();
}

/** An error of the server is passed on as it came. */
async function answered(work: () => Promise<JsonObject>): Promise<ProvidedAnswer> {
  try {
    return { kind: "result", result: await work() };
  } catch (error) {
    if (error instanceof TenonError && isErrorBody(error.cause)) return { kind: "error", error: error.cause };
    return refusal(INTERNAL_ERROR, messageOf(error));
  }
}
