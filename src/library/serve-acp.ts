// An ACP agent on a runtime: an editor, or any other client, over a pair of byte streams.
import { HostAccess, loadAgent, type OpenedSession } from "../acp/index.js";
import { TenonError } from "../base/errors.js";
import type { NewSession, StoredRequest } from "../session/index.js";
import { objectWith } from "./options.js";
import { LibraryRuntime, type Runtime } from "./runtime.js";
import { readServers } from "./servers.js";

/**
 * The two directions of a connection, as bytes: what the client sends, and what it is sent.
 *
 * @example
 * const streams: AcpStreams = { input: Readable.toWeb(process.stdin), output: Writable.toWeb(process.stdout) };
 */
export interface AcpStreams {
  readonly input: ReadableStream<Uint8Array>;
  readonly output: WritableStream<Uint8Array>;
}

/**
 * Serves one ACP client. Its sessions have the client's servers and those of the runtime; what policy asks is put to the client.
 * Resolves once the client has closed its side; the sessions it opened end with the connection. `output` is not closed.
 *
 * @example
 * const runtime = await createRuntime({ model: "anthropic/claude-sonnet-4-5", builtin: "all" });
 * await serveAcp(runtime, { input: Readable.toWeb(process.stdin), output: Writable.toWeb(process.stdout) });
 * await runtime.close();
 */
export async function serveAcp(runtime: Runtime, streams: AcpStreams): Promise<void> {
  // An object without them would be a client that has left at once.
  const given: Partial<AcpStreams> | undefined = streams;
  const { input, output } = given ?? {};
  if (!input || !output || !READABLE.fits(input) || !WRITABLE.fits(output)) {
    throw new TenonError("usage.invalid", "serveAcp needs input, a ReadableStream, and output, a WritableStream", {
      hint: "Readable.toWeb and Writable.toWeb of node:stream make them of other streams.",
    });
  }
  if (!(runtime instanceof LibraryRuntime)) {
    throw new TenonError("usage.invalid", "serveAcp needs a runtime that createRuntime made", { hint: "" });
  }
  const { createAgent, byteStream } = await loadAgent();
  const connection = createAgent({ access: new RuntimeAccess(runtime) }).connect(byteStream(input, output));
  await connection.closed;
}

const READABLE = objectWith("getReader");
const WRITABLE = objectWith("getWriter");

/** Sessions of a client with the servers and the registered tools of the runtime. */
class RuntimeAccess extends HostAccess {
  readonly #runtime: LibraryRuntime;

  constructor(runtime: LibraryRuntime) {
    super(runtime.host);
    this.#runtime = runtime;
  }

  override async create(request: NewSession): Promise<OpenedSession> {
    return this.#shared(await super.create(await this.#withServers(request)));
  }

  override async load(request: StoredRequest): Promise<OpenedSession> {
    return this.#shared(await super.load({ ...(await this.#withServers(request)), id: request.id }));
  }

  override async fork(request: StoredRequest): Promise<OpenedSession> {
    return this.#shared(await super.fork({ ...(await this.#withServers(request)), id: request.id }));
  }

  /** Of two servers with the same name the client's counts. */
  async #withServers(request: NewSession): Promise<NewSession> {
    const { servers = [], rejected = [] } = request;
    const own = await readServers(this.#runtime.host.world, request.cwd, this.#runtime.options.mcpServers);
    const taken = new Set(servers.map(({ name }) => name));
    return {
      ...request,
      servers: [...servers, ...own.given.servers.filter(({ name }) => !taken.has(name))],
      rejected: [...rejected, ...(own.given.rejected ?? [])],
      settings: Object.fromEntries(Object.entries(own.given.settings ?? {}).filter(([name]) => !taken.has(name))),
    };
  }

  #shared(opened: OpenedSession): OpenedSession {
    for (const source of this.#runtime.registered) opened.session.tools.add(source);
    return opened;
  }
}
