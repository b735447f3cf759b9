// The MCP servers of a recording: each says again what it said then, under the ids of now.

import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { ReplayedConnection } from "../../base/ports/trace.js";
import type { Comparison } from "./comparison.js";
import { mcpName, mcpSaid } from "./expectation.js";
import { withIds } from "./names.js";
import { plain } from "./plain.js";

export class ReplayedServers {
  readonly #comparison: Comparison;
  readonly #connections = new Map<number, { hear(entry: JsonObject): void; readonly ids: Map<string, JsonValue> }>();

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  connect(server: string, onEntry: (entry: JsonObject) => void): ReplayedConnection {
    const met = this.#comparison.meet(`open ${server}`, server, `a connection to ${server}`);
    const connection = met?.entry.connection;
    const ids = new Map<string, JsonValue>();
    if (connection !== undefined) this.#connections.set(connection, { hear: onEntry, ids });
    return {
      send: (message) => {
        const said = plain(message);
        const meant = mcpSaid(said);
        if (connection === undefined || meant === undefined) return;
        const expected = this.#comparison.meet(`mcp ${connection}`, meant, `${mcpName(said)} to ${server}`);
        const { id } = expected?.entry.message ?? {};
        if (id !== undefined && said["id"] !== undefined) ids.set(JSON.stringify(id), said["id"]);
      },
      close: () => {
        if (connection !== undefined) this.#connections.delete(connection);
      },
    };
  }

  say(connection: number, message: JsonObject): void {
    const open = this.#connections.get(connection);
    open?.hear(withIds(message, open.ids));
  }
}
