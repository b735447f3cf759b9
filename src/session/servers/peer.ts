// The requests of one server to a session: its directories, the person, the model. Only what can be answered is declared.

import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { Bag } from "../../base/async/bag.js";
import { orAborted } from "../../base/async/deadline.js";
import { uuidV7 } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { Timer, World } from "../../base/ports/world.js";
import type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "../../mcp/index.js";
import type { CallFollower, SourceCall, ToolOutcome, ToolProgress } from "../../tools/index.js";
import type { Notify } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { SessionPorts } from "../ports.js";

export interface ServerPeerOptions {
  readonly world: World;
  readonly server: string;
  /** The session's own directories, the one it runs in first. */
  readonly directories: readonly string[];
  readonly calls: RunningCalls;
  /** Who is attached now. */
  ports(): SessionPorts | undefined;
  /** Sends a request to the model once the person approved it. */
  readonly sample?: NonNullable<Peer["sample"]>;
  /** Gets what the server logs. */
  onLog?(entry: ServerLog): void;
  readonly onNotice: Notify;
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
    const ports = this.#options.ports();
    const sample = ports?.forwardSampling ?? (ports?.approveSampling && this.#options.sample);
    if (!sample) return undefined;
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

type Followable = Pick<SourceCall, "toolCallId" | "signal" | "onProgress">;

export class RunningCalls {
  readonly #world: Pick<World, "after" | "monotonicMs">;
  readonly #running = new Bag<FollowedCall>();
  /** How long the last call took that went well. */
  latencyMs: number | undefined;

  constructor(world: Pick<World, "after" | "monotonicMs">) {
    this.#world = world;
  }

  begin(call: Followable): CallFollower {
    const followed = new FollowedCall(call, { world: this.#world, onEnd: this.#onEnd });
    this.#running.add(followed);
    return followed;
  }

  /** One function for all calls. */
  readonly #onEnd = (followed: FollowedCall, tookMs: number | undefined): void => {
    this.#running.delete(followed);
    if (tookMs !== undefined) this.latencyMs = Math.round(tookMs);
  };

  /** The call that runs, if it is only one: of several nobody can say which one the server means. */
  get only(): Followable | undefined {
    const [first, second] = this.#running;
    return second ? undefined : first?.call;
  }

  /** On every call of the server that runs: the protocol does not say which one a line is about. */
  log({ level, logger, text }: ServerLog): void {
    if (level === "debug") return;
    const line = logger === undefined ? `[${level}] ${text}` : `[${level}] ${logger}: ${text}`;
    for (const call of this.#running) call.say(line);
  }
}

interface FollowedCallPort {
  readonly world: Pick<World, "after" | "monotonicMs">;
  /** With the time it took, where it went well. */
  readonly onEnd: (call: FollowedCall, tookMs: number | undefined) => void;
}

const NO_LINES: readonly string[] = [];
const NO_PROGRESS: ToolProgress = { progress: 0 };

/** One call with what was said during it: the last lines, told at a pace people can read. */
class FollowedCall implements CallFollower {
  readonly call: Followable;
  readonly #port: FollowedCallPort;
  readonly #beganMs: number;
  #lines = NO_LINES;
  #last = NO_PROGRESS;
  #pause: Timer | undefined;
  #isStale = false;
  #isOver = false;

  constructor(call: Followable, port: FollowedCallPort) {
    this.call = call;
    this.#port = port;
    this.#beganMs = port.world.monotonicMs();
  }

  readonly progress = (progress: ToolProgress): void => {
    this.#last = progress;
    this.#tell();
  };

  say(line: string): void {
    const { lines, lineChars } = SESSION_LIMITS.callLog;
    const shown = line.length <= lineChars ? line : `${line.slice(0, lineChars)}…`;
    this.#lines = [...this.#lines, shown].slice(-lines);
    if (this.#pause) this.#isStale = true;
    else this.#tellAndPause();
  }

  end(outcome?: ToolOutcome): void {
    this.#isOver = true;
    this.#pause?.clear();
    const { world, onEnd } = this.#port;
    onEnd(this, outcome?.kind === "done" ? world.monotonicMs() - this.#beganMs : undefined);
  }

  #tellAndPause(): void {
    this.#isStale = false;
    this.#tell();
    this.#pause = this.#port.world.after(SESSION_LIMITS.callLog.everyMs, () => {
      this.#pause = undefined;
      if (this.#isStale) this.#tellAndPause();
    });
  }

  #tell(): void {
    if (this.#isOver) return;
    const { onProgress } = this.call;
    onProgress(this.#lines.length === 0 ? this.#last : { ...this.#last, log: this.#lines });
  }
}
