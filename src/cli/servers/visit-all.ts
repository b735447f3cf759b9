// Connects to every server that is ready, several at a time, and tells of each what was found.
import { defined } from "../../base/json/defined.js";
import type { EffectiveConfig, EffectiveServer, ReadyServer } from "../../config/index.js";
import type { CommandContext } from "../configuration/context.js";
import { stoppable } from "../stoppable.js";
import { progress } from "../terminal/progress.js";
import { someAtOnce, visit } from "./connect.js";
import { type Look, lookAt } from "./look.js";

export interface LookedServer {
  readonly server: EffectiveServer;
  /** Undefined for one that was not connected to. */
  readonly look?: Look;
}

/** In the order of the configuration; `only` leaves the others out of it. */
export async function visitAll(
  config: EffectiveConfig,
  context: CommandContext,
  { timeoutMs, only }: { readonly timeoutMs: number; readonly only?: string },
): Promise<readonly LookedServer[]> {
  const servers = config.servers.filter(({ name }) => only === undefined || name === only);
  const ready = servers.filter((server) => server.status === "ready");
  if (ready.length === 0) return servers.map((server) => ({ server }));
  using shown = progress(context, waitingFor(ready));
  const open = new Set(ready);
  const looks = await stoppable((signal) =>
    someAtOnce(ready, async (server): Promise<readonly [EffectiveServer, Look]> => {
      const look = await visit(server, { config, context }, { timeoutMs, signal }, async (visited) =>
        lookAt(visited, timeoutMs),
      );
      open.delete(server);
      shown.update(waitingFor([...open]));
      return [server, look];
    }),
  );
  const found = new Map(looks);
  return servers.map((server) => {
    const look = found.get(server);
    return { server, ...defined({ look }) };
  });
}

function waitingFor(servers: readonly ReadyServer[]): string {
  return `Connecting to ${servers.map(({ name }) => name).join(", ")}…`;
}
