// The servers whose tools are in a session's catalog now, and what is known of each that decides about its calls.

import { defined } from "../../base/json/defined.js";
import { hashJson } from "../../base/json/hash.js";
import type { World } from "../../base/ports/world.js";
import { commandPath } from "../../config/index.js";
import { launchFingerprint, type ServerSpec } from "../../mcp/index.js";
import type { CatalogTool, SessionCatalog, SourceSettings, ToolOrigin, ToolSource } from "../../tools/index.js";
import type { ServerFacts } from "../permission/clearance.js";
import type { OpenServer } from "../servers/entry.js";

export class FollowedServers {
  readonly #catalog: Pick<SessionCatalog, "add" | "remove">;
  readonly #facts = new Map<string, ServerFacts>();
  readonly #specs = new Map<string, ServerSpec>();
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

  /** How a server is started or reached; undefined when it is not there. */
  specOf({ origin, source }: Pick<CatalogTool, "origin" | "source">): ServerSpec | undefined {
    return this.#specs.get(keyOf(origin, source));
  }

  /** Makes the sources those of the servers that are open now. */
  follow(servers: readonly OpenServer[]): void {
    // First what goes: one of another layer that takes its place replaces it, and shadows nobody.
    const present = new Set(servers.map(({ source }) => keyOf(source.origin, source.name)));
    for (const [key, { source }] of [...this.#followed].filter(([known]) => !present.has(known))) {
      this.#followed.delete(key);
      this.#facts.delete(key);
      this.#specs.delete(key);
      this.#catalog.remove(source.origin, source.name);
    }
    for (const server of servers) {
      const { source, catalog: settings = {} } = server;
      const key = keyOf(source.origin, source.name);
      this.#facts.set(key, factsAbout(server));
      this.#specs.set(key, server.connection.spec);
      const before = this.#followed.get(key);
      if (before?.source === source && JSON.stringify(before.settings) === JSON.stringify(settings)) continue;
      this.#followed.set(key, { source, settings });
      this.#catalog.add(source, settings);
    }
  }
}

function factsAbout({
  connection: { spec },
  trustsAnnotations = false,
  trustsResults = false,
}: OpenServer): ServerFacts {
  return {
    trustsAnnotations,
    trustsResults,
    ...defined({ cwd: spec.kind === "stdio" && spec.cwd !== undefined ? spec.cwd : undefined }),
  };
}

/**
 * Which program or service a server is: how it is launched, in which folder, and the real path of its program. Undefined
 * for a client's own server, which only has a name, and where the program is not found.
 */
export async function programOf(
  spec: ServerSpec,
  { world, cwd }: { readonly world: World; readonly cwd: string },
): Promise<string | undefined> {
  if (spec.kind === "acp") return undefined;
  const launch = launchFingerprint(spec);
  if (spec.kind !== "stdio") return hashJson({ launch });
  const found = await commandPath(spec.command, { world, cwd, env: { ...world.env, ...spec.env } });
  const real = found === undefined ? undefined : await world.files.find(found);
  return real && hashJson({ launch, cwd: spec.cwd ?? null, program: real.realPath });
}

function keyOf(origin: ToolOrigin, name: string): string {
  return `${origin}\0${name}`;
}
