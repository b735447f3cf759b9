// One session's hold on a shared server: its calls, its answers, its end. The others do not notice any of it.
import { Cell } from "../../base/async/cell.js";
import { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { McpConnection } from "../connection/connection.js";
import type { CallOptions, CallOutcome } from "../protocol/call.js";
import type { Link } from "../protocol/link.js";
import { type Peer, PeerAnswers } from "../protocol/peer.js";
import type { TaskHandle } from "../protocol/task.js";
import { joinSignals, type LinkUser } from "./shared-link.js";
import type { SharedServer } from "./shared-server.js";

export interface LeaseOptions {
  readonly world: World;
  readonly peer: Peer;
  /** Whose it is, for those who ask what a session uses. */
  readonly session?: string;
  /** The server turned out to ask: the session must have one of its own. */
  onEvicted(lease: Lease): void;
}

export class Lease {
  readonly linkUser: LinkUser = {};
  readonly peer: Peer;
  /** The session that has it. */
  readonly session: string | undefined;
  readonly connection: McpConnection;
  readonly #options: LeaseOptions;
  readonly #server: SharedServer;
  readonly #answers: PeerAnswers;
  readonly #over = new AbortController();
  /** Calls and other requests under way. */
  readonly #running = new Cell(0);
  readonly #views = new WeakMap<Link, Link>();
  #releasing: Promise<void> | undefined;

  constructor(server: SharedServer, options: LeaseOptions) {
    this.#server = server;
    this.connection = server.connection;
    this.#options = options;
    this.peer = options.peer;
    this.session = options.session;
    this.#answers = new PeerAnswers(options.peer, options.world.log);
  }

  /** Aborts when the session has left. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get link(): Link | undefined {
    const { link } = this.connection;
    return link && !this.signal.aborted ? this.view(link) : undefined;
  }

  /** Whether others use the same server now. */
  get hasOthers(): boolean {
    return this.#server.hasOthersThan(this);
  }

  /** One that failed, or waits, is tried again at once: for the session that comes it is the first time. */
  start(): void {
    const { kind } = this.connection.state.value;
    if (kind === "failed" || kind === "waiting") this.connection.restart();
    else this.connection.start();
  }

  startWhenUsed(): void {
    if (this.connection.state.value.kind === "idle") this.connection.startWhenUsed();
  }

  async call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    return await this.#follow(tool, options, (own) => this.connection.call(tool, args, own));
  }

  async resume(tool: string, task: TaskHandle, options: CallOptions): Promise<CallOutcome> {
    return await this.#follow(tool, options, (own) => this.connection.resume(tool, task, own));
  }

  /** From the moment a call has a link until its outcome, what the server asks there may be for it. */
  async #follow(
    tool: string,
    options: CallOptions,
    run: (own: CallOptions) => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const { name } = this.connection.spec;
    if (this.signal.aborted) return { kind: "failed", error: notConnected(name) };
    const ends = new Map<Link, (isAnswered: boolean) => void>();
    const view = (link: Link) => {
      if (!ends.has(link)) ends.set(link, this.#server.linkOf(link).usage.begin(this.linkUser));
      return this.view(link);
    };
    using over = joinSignals(options.signal, this.signal);
    const { signal } = over;
    const outcome = await this.track(run({ ...options, signal, sharingSession: { id: this.linkUser, view } }));
    for (const end of ends.values()) end(outcome.kind === "answered" || outcome.kind === "failed");
    const isCutOff = outcome.kind === "cancelled" && !options.signal.aborted;
    return isCutOff ? cutOff(name, tool, ends.size > 0) : outcome;
  }

  /** Known to be under way until it has settled. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.#running.set(this.#running.value + 1);
    try {
      return await work;
    } finally {
      this.#running.set(this.#running.value - 1);
    }
  }

  /** The link as this session may use it. */
  view(link: Link): Link {
    const known = this.#views.get(link);
    if (known) return known;
    const view = this.#server.linkOf(link).viewFor(this);
    this.#views.set(link, view);
    return view;
  }

  /** Answers what a request of this session asks for. */
  readonly answer = async (method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    this.#server.onAnswering(method);
    return await this.#answers.answer(method, params, signal);
  };

  evict(): void {
    this.#options.onEvicted(this);
  }

  /** Resolves once nothing of this session is under way. */
  async drained(signal: AbortSignal): Promise<void> {
    await this.#running.until((count) => count === 0, signal);
  }

  /** Its server ends with it, unless others use it, or it may rest: then it stays for a while, for the next session. */
  release(grace: EndGrace, mayRest = false): Promise<void> {
    // Not a cancel: a task goes on at the server, and may be asked for again.
    this.#over.abort(new TenonError("session.closed", "the session has left the server"));
    this.#releasing ??= this.#server.release(this, grace, mayRest);
    return this.#releasing;
  }
}

function notConnected(server: string): TenonError {
  return new TenonError("mcp.not_ready", `server "${server}" is not connected: it is closed`);
}

/** The session left while the call ran: for it that is the end of the connection. */
function cutOff(server: string, tool: string, wasBegun: boolean): CallOutcome {
  if (!wasBegun) return { kind: "failed", error: notConnected(server) };
  const text = `${server} / ${tool}: the connection was closed; whether it took effect is unknown`;
  return { kind: "unknown", error: new TenonError("mcp.connection_lost", text) };
}
