// The servers whose tools are in a session's catalog now, and what is known of each that decides about its calls.
import { launchFingerprint } from "../../mcp/index.js";
import type { CatalogTool, SessionCatalog, SourceSettings, ToolOrigin, ToolSource } from "../../tools/index.js";
import type { ServerFacts } from "../permission/clearance.js";
import type { OpenServer } from "../server-entry.js";

export class FollowedServers {
  readonly #catalog: Pick<SessionCatalog, "add" | "remove">;
  readonly #facts = new Map<string, ServerFacts>();
  readonly #followed = new Map<string, { readonly source: ToolSource; readonly settings: SourceSettings }>();

  constructor(catalog: Pick<SessionCatalog, "add" | "remove">) {
    this.#catalog = catalog;
  }

  get sources(): readonly ToolSource[] {
    return [...this.#followed.values()].map(({ source }) => source);
  }

  /** Nothing is known of what is no server's. */
  factsOf({ origin, source }: Pick<CatalogTool, "origin" | "source">): ServerFacts {
    return this.#facts.get(keyOf(origin, source)) ?? {};
  }

  /** Makes the sources those of the servers that are open now. */
  follow(servers: readonly OpenServer[]): void {
    // First what goes: one of another layer that takes its place replaces it, and shadows nobody.
    const present = new Set(servers.map(({ source }) => keyOf(source.origin, source.name)));
    for (const [key, { source }] of [...this.#followed].filter(([known]) => !present.has(known))) {
      this.#followed.delete(key);
      this.#facts.delete(key);
      this.#catalog.remove(source.origin, source.name);
    }
    for (const server of servers) {
      const { source, catalog: settings = {} } = server;
      const key = keyOf(source.origin, source.name);
      this.#facts.set(key, factsAbout(server));
      const before = this.#followed.get(key);
      if (before?.source === source && JSON.stringify(before.settings) === JSON.stringify(settings)) continue;
      this.#followed.set(key, { source, settings });
      this.#catalog.add(source, settings);
    }
  }
}

function factsAbout({ connection: { spec }, trustsAnnotations = false, project }: OpenServer): ServerFacts {
  return {
    fingerprint: launchFingerprint(spec),
    trustsAnnotations,
    ...(project === undefined ? {} : { project }),
    ...(spec.kind === "stdio" && spec.cwd !== undefined ? { cwd: spec.cwd } : {}),
  };
}

function keyOf(origin: ToolOrigin, name: string): string {
  return `${origin}\0${name}`;
}
