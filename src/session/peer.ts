// What one server may ask of a session: its directories, the person, the model. What nobody can answer is not declared.

import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { orAborted } from "../base/async/deadline.js";
import { uuidV7 } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "../mcp/index.js";
import type { NoticeLevel } from "./event.js";
import { SESSION_LIMITS } from "./limits.js";
import type { RunningCalls } from "./peer-calls.js";
import type { SessionPorts } from "./ports.js";

type Sample = NonNullable<Peer["sample"]>;

export interface ServerPeerOptions {
  readonly world: World;
  readonly server: string;
  /** The session's own directories, the one it runs in first. */
  readonly directories: readonly string[];
  readonly calls: RunningCalls;
  /** Who is attached now. */
  ports(): SessionPorts | undefined;
  /** Puts a request to the model, once somebody approved it. */
  readonly sample?: Sample;
  /** Gets what the server logs. */
  onLog?(entry: ServerLog): void;
  onNotice(level: NoticeLevel, text: string): void;
}

export class ServerPeer implements Peer {
  readonly #options: ServerPeerOptions;
  /** Ours by the server's own: two servers may use the same. */
  readonly #elicitations = new Map<string, string>();
  readonly #told = new Set<string>();

  constructor(options: ServerPeerOptions) {
    this.#options = options;
  }

  readonly roots = (): readonly Root[] =>
    this.#options.directories.map((directory, index) => ({
      uri: pathToFileURL(directory).href,
      name: index === 0 ? "session" : basename(directory),
    }));

  get elicit(): Peer["elicit"] {
    return this.#options.ports()?.elicit && ((request, signal) => this.#elicit(request, signal));
  }

  get elicitModes(): Peer["elicitModes"] {
    return this.#options.ports()?.elicitModes;
  }

  get sample(): Peer["sample"] {
    const { sample } = this.#options;
    if (!sample || !this.#options.ports()?.approveSampling) return undefined;
    return async (params, signal) => {
      const over = this.#untilOver(signal);
      return await orAborted(sample(params, over), over);
    };
  }

  log(entry: ServerLog): void {
    this.#options.calls.log(entry);
    this.overheard(entry);
  }

  overheard(entry: ServerLog): void {
    const { level, logger, text } = entry;
    this.#options.world.log.debug("server.log", { server: this.#options.server, level, logger, text });
    this.#options.onLog?.(entry);
  }

  elicitationCompleted(elicitationId: string): void {
    const id = this.#elicitations.get(elicitationId);
    if (id === undefined) return;
    this.#elicitations.delete(elicitationId);
    this.#options.ports()?.elicitationCompleted?.(id);
  }

  /** Told once for each reason: a server that asks again and again is no more news. */
  unanswered(method: string, reason: string): void {
    const what = method === "sampling/createMessage" ? "wants to use the model" : "asks for input";
    const text = `the server "${this.#options.server}" ${what}, which was declined: ${reason}`;
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#options.onNotice("warning", text);
  }

  async #elicit(request: ElicitRequest, signal: AbortSignal): Promise<ElicitAnswer> {
    const { world, server, calls } = this.#options;
    const attached = this.#options.ports();
    if (!attached?.elicit) return { action: "decline" };
    const id = uuidV7(world.now(), (count) => world.randomBytes(count));
    if (request.elicitationId !== undefined) this.#remember(request.elicitationId, id);
    const toolCallId = calls.only?.toolCallId;
    const over = this.#untilOver(signal);
    const question = { id, server, request, ...defined({ toolCallId }) };
    return await orAborted(attached.elicit(question, over), over);
  }

  /** A question asked for a call is over with it: servers do not always take theirs back. */
  #untilOver(signal: AbortSignal): AbortSignal {
    const call = this.#options.calls.only;
    return call ? AbortSignal.any([signal, call.signal]) : signal;
  }

  #remember(theirs: string, ours: string): void {
    const [oldest] = this.#elicitations.keys();
    if (oldest !== undefined && this.#elicitations.size >= SESSION_LIMITS.openElicitations)
      this.#elicitations.delete(oldest);
    this.#elicitations.set(theirs, ours);
  }
}
