// Whose a resource is: the server that lists it, or has a template it fits.

import { isJsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { type Link, listResources, listResourceTemplates, type McpConnection } from "../../mcp/index.js";

/** What is needed of a connection. */
export type ResourceServer = Pick<McpConnection, "spec" | "link">;

interface Known {
  readonly uris: ReadonlySet<string>;
  /** What stands before the first placeholder of each template. */
  readonly beginnings: readonly string[];
}

const CHANGED = "notifications/resources/list_changed";

/** Asked once for each link, until it says that something changed: a prompt with links must not list everything anew. */
const lists = new WeakMap<Link, Promise<Known>>();
const heard = new WeakSet<Link>();

/** Undefined when it is nobody's. A server that cannot list what it has is passed over. */
export async function ownerOf(
  uri: string,
  servers: readonly ResourceServer[],
  world: World,
  signal: AbortSignal,
): Promise<ResourceServer | undefined> {
  const having = servers.filter(hasResources);
  const known = await Promise.all(
    having.map(async ({ link }) => link && (await knownOf(link, world, signal).catch(() => undefined))),
  );
  const listing = having.find((_, index) => known[index]?.uris.has(uri));
  return listing ?? having.find((_, index) => known[index]?.beginnings.some((start) => uri.startsWith(start)));
}

export function hasResources({ link }: ResourceServer): boolean {
  return link !== undefined && isJsonObject(link.capabilities["resources"]);
}

function knownOf(link: Link, world: World, signal: AbortSignal): Promise<Known> {
  const asked = lists.get(link);
  if (asked) return asked;
  if (!heard.has(link)) {
    heard.add(link);
    link.onNotification((method) => {
      if (method === CHANGED) lists.delete(link);
    });
  }
  const asking = ask(link, world, signal);
  lists.set(link, asking);
  asking.catch(() => lists.delete(link)); // whoever asked hears of it; the next one asks again
  return asking;
}

async function ask(link: Link, world: World, signal: AbortSignal): Promise<Known> {
  const [resources, templates] = await Promise.all([
    listResources(link, world, signal),
    listResourceTemplates(link, world, signal).catch(() => ({ items: [] })),
  ]);
  const beginnings = templates.items.map(({ uriTemplate }) => uriTemplate.slice(0, firstPlace(uriTemplate)));
  return {
    uris: new Set(resources.items.map(({ uri }) => uri)),
    // `{+path}` and `file://{path}` would be everybody's.
    beginnings: beginnings.filter((start) => /^[a-z][a-z0-9+.-]*:(?:\/\/)?./iu.test(start)),
  };
}

function firstPlace(template: string): number {
  const at = template.indexOf("{");
  return at < 0 ? template.length : at;
}
