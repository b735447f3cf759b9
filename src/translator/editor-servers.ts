// Which of the editor's servers run beside the translator, for a gateway on another machine. What runs them is loaded with the first.
import { handled } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { messageOf } from "../base/message.js";
import type { Log, World } from "../base/ports/world.js";
import { directoriesOf, type EditorRequest } from "./book.js";
import type { Connection } from "./connection.js";
import { type RpcId, type RpcRequest, sessionIdOf } from "./messages.js";
import type { Directories, OwnServers } from "./own-servers.js";

export type LoadOwnServers = (tell: (sessionId: string, words: string) => void) => Promise<OwnServers>;

/** The start of a translator does not wait for it. */
export function ownServers(world: World): LoadOwnServers {
  return async (tell) => {
    const { OwnServers } = await import("./own-servers.js");
    return new OwnServers({ world, tell });
  };
}

interface EditorServersOptions {
  /** Absent: the gateway is of this machine, and runs them itself. */
  readonly load: LoadOwnServers | undefined;
  readonly tell: (sessionId: string, words: string) => void;
  readonly log: Log;
}

export const FORK = "session/fork";
export const SET_SERVERS = "_tenon/session/set_mcp_servers";
const MCP_MESSAGE = "mcp/message";

export class EditorServers {
  readonly #options: EditorServersOptions;
  /** Messages of the gateway to them, by its ids. */
  readonly #serving = new Map<RpcId, AbortController>();
  #loading: Promise<OwnServers> | undefined;
  #own: OwnServers | undefined;

  constructor(options: EditorServersOptions) {
    this.#options = options;
  }

  /** The parameters as the gateway gets them; undefined: as they are. Never rejects. */
  placed(params: JsonValue | undefined, about: Directories): Promise<JsonObject> | undefined {
    if (!this.#options.load || !isJsonObject(params)) return undefined;
    const { mcpServers } = params;
    if (mcpServers === undefined || (!this.#loading && !bringsServers(mcpServers))) return undefined;
    return this.#place(params, about);
  }

  async #place(params: JsonObject, about: Directories): Promise<JsonObject> {
    const { load, tell, log } = this.#options;
    try {
      this.#loading ??= load?.(tell);
      this.#own = await this.#loading;
      return { ...params, mcpServers: (await this.#own?.place(about, params["mcpServers"])) ?? [] };
    } catch (error) {
      log.error("translator.servers", { error: messageOf(error) });
      tell(about.sessionId, `The servers of the editor cannot be started on this machine: ${messageOf(error)}`);
      return { ...params, mcpServers: [] };
    }
  }

  /** Of requests in a session that is open. `directories`: of that session. */
  placedFor(
    { key, method, params }: EditorRequest,
    directories: readonly string[] | undefined,
  ): Promise<JsonObject> | undefined {
    if (method === SET_SERVERS) {
      return this.placed(params, { sessionId: sessionIdOf(params) ?? "", directories: directories ?? [] });
    }
    if (method !== FORK || !isJsonObject(params)) return undefined;
    return this.placed(params, { sessionId: forkId(key), directories: directoriesOf(params) });
  }

  /** The copy has this id now. */
  forked(key: number, sessionId: string): void {
    this.#own?.rename(forkId(key), sessionId);
  }

  forkFailed(key: number): void {
    this.#own?.forget(forkId(key));
  }

  forget(sessionId: string): void {
    this.#own?.forget(sessionId);
  }

  /** False: it is for the editor. */
  serves(connection: Connection, { id, method, params }: RpcRequest): boolean {
    const own = this.#own;
    if (!own || method !== MCP_MESSAGE || !own.isOwn(params)) return false;
    const { serverId, requestId } = params;
    const controller = new AbortController();
    this.#serving.set(id, controller);
    const serving = async () => {
      const outcome = await own.request(params, {
        signal: controller.signal,
        notify: (notice, about) =>
          connection.notify(MCP_MESSAGE, { ...defined({ serverId, requestId }), method: notice, params: about }),
      });
      if (this.#serving.get(id) !== controller) return; // the connection is gone
      this.#serving.delete(id);
      connection.answer(id, outcome);
    };
    handled(serving(), this.#options.log, "answer for a server");
    return true;
  }

  cancel(id: JsonValue | undefined): void {
    if (typeof id === "string" || typeof id === "number") this.#serving.get(id)?.abort();
  }

  /** Nobody hears answers to what the gateway asked before. */
  disconnected(): void {
    for (const controller of this.#serving.values()) controller.abort();
    this.#serving.clear();
    this.#own?.disconnected();
  }

  async close(): Promise<void> {
    this.disconnected();
    const own = await this.#loading?.catch(() => undefined);
    await own?.[Symbol.asyncDispose]();
  }
}

/** Those of type `acp` the editor has itself. */
function bringsServers(mcpServers: JsonValue): boolean {
  if (!Array.isArray(mcpServers)) return isJsonObject(mcpServers) && Object.keys(mcpServers).length > 0;
  return mcpServers.some((entry) => !isJsonObject(entry) || entry["type"] !== "acp");
}

/** Servers of a copy are under this id until the gateway has given it one. */
function forkId(key: number): string {
  return `fork ${key}`;
}
