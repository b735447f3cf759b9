// What a gateway listens for: changes of a server's lists and of resources, whatever its era and however often it is restarted.
import { orAborted } from "../../base/async/deadline.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { ServerConnection } from "../connection/connection.js";
import { PROVIDE_LIMITS } from "../limits.js";
import type { Link } from "../protocol/link.js";
import { META } from "../versions.js";

const TOOLS = "toolsListChanged";
const TOOLS_CHANGED = "notifications/tools/list_changed";
const UPDATED = "notifications/resources/updated";

/** By the name in the filter. Those of tools are told whether the server says so or not: they are listed again when it restarts. */
const LISTS: Readonly<Record<string, { readonly capability: string; readonly method: string }>> = {
  [TOOLS]: { capability: "tools", method: TOOLS_CHANGED },
  promptsListChanged: { capability: "prompts", method: "notifications/prompts/list_changed" },
  resourcesListChanged: { capability: "resources", method: "notifications/resources/list_changed" },
};

interface Follower {
  /** Methods of the notifications it wants. */
  readonly methods: ReadonlySet<string>;
  readonly uris: ReadonlySet<string>;
  readonly signal: AbortSignal;
  readonly notify: (method: string, params: JsonObject) => void;
}

export class Subscriptions {
  readonly #connection: Pick<ServerConnection, "link" | "state" | "tools">;
  readonly #followers = new Set<Follower>();
  #link: Link | undefined;

  constructor(connection: Pick<ServerConnection, "link" | "state" | "tools">) {
    this.#connection = connection;
    connection.tools.subscribe(() => this.#announce(TOOLS_CHANGED, {}));
    connection.state.subscribe(({ kind }) => {
      if (kind === "ready") this.#attach();
    });
    this.#attach(); // it may be ready already
  }

  /** Until the signal aborts; then the answer to the request. */
  async follow(
    filter: JsonValue | undefined,
    { signal, notify }: Pick<Follower, "signal" | "notify">,
  ): Promise<JsonObject> {
    const wanted = isJsonObject(filter) ? filter : {};
    const { capabilities = {} } = this.#connection.link ?? {};
    const lists = Object.entries(LISTS).filter(([name, { capability }]) => {
      const offered = capabilities[capability];
      return wanted[name] === true && isJsonObject(offered) && (name === TOOLS || offered["listChanged"] === true);
    });
    const { resourceSubscriptions: given } = wanted;
    const mayFollow = isJsonObject(capabilities["resources"]) && capabilities["resources"]["subscribe"] === true;
    const named = mayFollow && Array.isArray(given) ? given.filter((uri) => typeof uri === "string") : [];
    const uris = named.slice(0, PROVIDE_LIMITS.followedResources);
    const methods = new Set(lists.map(([, { method }]) => method));
    const notifications: JsonObject = {
      ...Object.fromEntries(lists.map(([name]) => [name, true])),
      ...defined({ resourceSubscriptions: uris.length > 0 ? uris : undefined }),
    };
    const follower: Follower = { methods, uris: new Set(uris), signal, notify };
    this.#followers.add(follower);
    notify("notifications/subscriptions/acknowledged", {
      notifications,
      _meta: { [META.subscriptionId]: this.#followers.size },
    });
    if (this.#connection.link) this.#followResources(this.#connection.link, follower);
    await aborted(signal);
    this.#followers.delete(follower);
    return { resultType: "complete" };
  }

  /** A server that was started anew may have other lists: its notices of that went nowhere. */
  #attach(): void {
    const { link } = this.#connection;
    if (!link || link === this.#link) return;
    const isAgain = this.#link !== undefined;
    this.#link = link;
    link.onNotification((method, params) => {
      if (method !== TOOLS_CHANGED) this.#announce(method, params);
    });
    for (const follower of this.#followers) this.#followResources(link, follower);
    const lists = Object.values(LISTS).filter(({ method }) => method !== TOOLS_CHANGED);
    if (isAgain) for (const { method } of lists) this.#announce(method, {});
  }

  #announce(method: string, params: JsonObject): void {
    for (const { methods, uris, notify } of this.#followers) {
      const { uri } = params;
      if (methods.has(method) || (method === UPDATED && typeof uri === "string" && uris.has(uri)))
        notify(method, params);
    }
  }

  #followResources(link: Link, { uris, signal }: Follower): void {
    if (uris.size === 0) return;
    const requests = async () => {
      if (link.listen) return await link.listen({ resourceSubscriptions: [...uris] }, signal);
      const each = { signal: new AbortController().signal, timeoutMs: PROVIDE_LIMITS.subscribeMs };
      await Promise.all([...uris].map((uri) => link.request("resources/subscribe", { uri }, each)));
      await aborted(signal);
      const isWanted = (uri: string) => [...this.#followers].some((one) => one.uris.has(uri) && !one.signal.aborted);
      const left = [...uris].filter((uri) => !isWanted(uri));
      await Promise.all(left.map((uri) => link.request("resources/unsubscribe", { uri }, each)));
    };
    requests().catch(() => {}); // neither way rejects
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  await orAborted(new Promise<never>(() => {}), signal).catch(() => undefined);
}
