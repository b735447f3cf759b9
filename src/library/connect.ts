// One server by hand: connect it, look at its tools, change them, and register those that are wanted in any session.
import { TenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import type { Log, World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import { sourceSettings } from "../config/index.js";
import { McpConnection } from "../mcp/index.js";
import { failed, mcpSource, type SourceCall, shaper } from "../tools/index.js";
import { currentFolder } from "../world/index.js";
import { toolResult } from "./events.js";
import { checkOptions, OBJECT, type OptionKind, objectWith, SIGNAL, TEXT, worldOf } from "./options.js";
import { type NamedServerEntry, readServer, type ServerEntry } from "./servers.js";
import type { Tool } from "./tool.js";
import type { CallOptions, ToolResult } from "./tool-set.js";

/**
 * Options of `connect`.
 *
 * @example
 * const server = await connect(entry, { cwd: "/home/me/project", signal: AbortSignal.timeout(10_000) });
 */
export interface ConnectOptions {
  /** Where the server runs, and what relative paths begin at; the directory of the process unless given. */
  readonly cwd?: string;
  /** Gives up waiting; the server is ended then. */
  readonly signal?: AbortSignal;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
  readonly world?: World;
}

/**
 * A server that was connected by hand. It is connected again by itself when it breaks; close it to end it.
 *
 * @example
 * const server = await connect({ name: "files", command: "my-server" });
 * const tools = await server.discover();
 * for (const tool of tools.filter(({ name }) => name.startsWith("read_"))) session.register({ ...tool, name: `files_${tool.name}` });
 */
export interface ConnectedServer extends AsyncDisposable {
  readonly name: string;
  /** Its tools now, without those that its entry leaves out. A copy with another name still calls the server by its own. */
  discover(): Promise<readonly Tool[]>;
  /** Calls a tool by the server's own name for it. One that the entry leaves out fails with `tool.unknown`. */
  call(name: string, args: JsonObject, options?: CallOptions): Promise<ToolResult>;
  /** Calls `listener` after the server's list of tools has changed; returns the way to stop. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

const CONNECT_OPTIONS: Readonly<Record<keyof ConnectOptions, OptionKind>> = {
  cwd: TEXT,
  signal: SIGNAL,
  env: OBJECT,
  log: objectWith("debug", "info", "warn", "error"),
  world: OBJECT,
};

function named(entry: NamedServerEntry): { readonly name: string; readonly written: ServerEntry } {
  try {
    const { name, ...written } = { ...entry };
    return { name, written };
  } catch {
    // Nothing of what a getter threw is shown: it may hold a value of the entry.
    throw new TenonError("config.invalid", "the entry of the server cannot be read: one of its properties throws", {
      hint: "Correct the entry.",
    });
  }
}

/**
 * Connects one server and waits until it is ready. Rejects with `config.invalid` for a malformed entry, and with the cause when the
 * server does not start.
 *
 * @example
 * const server = await connect({ name: "notes", type: "http", url: "http://localhost:3000/mcp" });
 * console.log((await server.discover()).map(({ name }) => name));
 * await server.close();
 */
export async function connect(entry: NamedServerEntry, options: ConnectOptions = {}): Promise<ConnectedServer> {
  checkOptions(options, CONNECT_OPTIONS, "connect");
  const world = worldOf(options);
  const { cwd = currentFolder(), signal = new AbortController().signal } = options;
  const { name, written } = named(entry);
  const { spec, settings } = await readServer(world, cwd, name, written);
  const { limits, tools, allowHosts, urlSource, secrets } = settings;
  const client = { name: "tenon", version: VERSION };
  const connection = new McpConnection(spec, { world, cwd, client, limits, tools, allowHosts, urlSource, secrets });
  connection.start();
  const problem = await connection.ready(signal);
  if (problem || signal.aborted) {
    await connection.close();
    throw (
      connection.lastError ?? problem ?? new TenonError("cancelled", `connecting ${JSON.stringify(name)} was cancelled`)
    );
  }
  const source = mcpSource(connection, "client");
  const shape = shaper(source, sourceSettings(settings), []);
  const run = async (tool: string, args: JsonObject, context: Pick<SourceCall, "signal" | "onProgress">) => {
    const raw = connection.tools.value.find((known) => known.name === tool);
    const shaped = raw && shape(raw);
    if (shaped?.kind !== "kept") {
      const words = `the server ${JSON.stringify(name)} has no tool ${JSON.stringify(tool)}, or its entry leaves it out`;
      return toolResult(failed(words, "tool.unknown"));
    }
    const all = { ...shaped.defaults, ...args, ...shaped.pinned };
    return toolResult(await source.call({ tool, arguments: all, ...context }));
  };
  return {
    name,
    discover: async () => {
      const problemNow = await connection.ready(new AbortController().signal);
      if (problemNow) throw problemNow;
      return connection.tools.value.flatMap((raw): readonly Tool[] => {
        const shaped = shape(raw);
        if (shaped.kind !== "kept") return [];
        const { definition } = shaped;
        return [
          {
            ...definition,
            source: name,
            run: async (args, { signal: given, onProgress }) =>
              await run(raw.name, args, { signal: given, onProgress }),
          },
        ];
      });
    },
    call: async (tool, args, { signal: given = new AbortController().signal } = {}) =>
      await run(tool, args, { signal: given, onProgress: () => {} }),
    onChange: (listener) => connection.tools.subscribe(() => listener()),
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}
