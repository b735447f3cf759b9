// The calls of a session that went on at their servers while nobody waited: picked up again, each to its one outcome.
import { sleep } from "../../base/async/deadline.js";
import { Scope } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import { hashJson } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { text } from "../../base/text/content.js";
import { alreadyMarked, dataHeader, hostLine, type MarkedContent, quoted } from "../../base/text/marking.js";
import { launchFingerprint, type ServerSpec } from "../../mcp/index.js";
import {
  type CatalogTool,
  type KeptCall,
  type ModelMedia,
  type Presented,
  presentOutcome,
  type ResultStore,
  resumeCall,
  type SentBefore,
  type ToolProgress,
} from "../../tools/index.js";
import type { EventStream } from "../events.js";
import type { OpenTask } from "../journal/entry.js";
import type { RestoredTask } from "../journal/history.js";
import type { OpenServer } from "../servers/entry.js";

/** How a call ended that lasted longer than its turn. */
export interface LateEnd {
  readonly toolCallId: string;
  /** The tool as the model called it. */
  readonly subject: string;
  /** `server / tool`. */
  readonly label: string;
  readonly presented: Presented;
  readonly elapsedMs: number;
}

export interface SessionTasksOptions {
  readonly world: Pick<World, "now" | "log" | "after">;
  readonly results: ResultStore;
  readonly events: EventStream;
  /** Those that an earlier run of the session left. */
  readonly restored: readonly RestoredTask[];
  /** What the model takes as it is. */
  media(): ModelMedia;
  /** Journals, tells and keeps for the model how one ended. */
  end(late: LateEnd): Promise<void>;
}

export class SessionTasks {
  readonly #options: SessionTasksOptions;
  readonly #scope: Scope;
  readonly #running = new Map<RestoredTask, AbortController>();
  #open: readonly OpenServer[] = [];
  #waiting: readonly RestoredTask[];
  #hasTold = false;

  constructor(options: SessionTasksOptions) {
    this.#options = options;
    this.#scope = new Scope(options.world.log);
    this.#waiting = options.restored;
  }

  /** What the journal is to know of a call that lasts; undefined when its server is gone already. */
  taskOf(tool: CatalogTool, call: KeptCall & { readonly toolCallId: string }): OpenTask | undefined {
    const server = this.#open.find(({ source }) => source.name === tool.source && source.origin === tool.origin);
    if (!server) return undefined;
    const { toolCallId, tool: own, ...lasting } = call;
    const mark = markOf(server.connection.spec, lasting.id);
    return { toolCallId, server: tool.source, origin: tool.origin, mark, tool: own, lasting };
  }

  /** These are the session's servers now: whatever belongs to one of them is asked for. */
  follow(open: readonly OpenServer[]): void {
    this.#open = open;
    for (const task of this.#waiting) {
      const server = open.find(({ source, connection }) => isOf(task, source, connection.spec));
      if (server) this.#pickUp(task, server);
      else if (this.#elapsedMs(task) > Math.min(task.lasting.ttlMs ?? LIMITS.callMaxMs, LIMITS.callMaxMs))
        this.#giveUp(task);
      else this.#tellOfWaiting(task);
    }
    this.#hasTold = true;
  }

  /** A call of the turn that goes on, for its server to be asked; undefined while that is not part of the session. */
  ofTurn(task: RestoredTask): SentBefore | undefined {
    const source = this.#open.find((one) => isOf(task, one.source, one.connection.spec))?.source;
    const resume = source?.resume?.bind(source);
    if (!resume) return undefined;
    return { label: labelOf(task), resume: (call) => resume({ ...call, tool: task.tool }, task.lasting) };
  }

  /** Asks for it as soon as its server is part of the session. */
  wait(task: RestoredTask): void {
    this.#waiting = [...this.#waiting, task];
    this.#hasTold = false;
    this.follow(this.#open);
  }

  /** The person wants none of them any more. What another session waits for too goes on at its server. */
  cancel(): void {
    for (const [{ isBorrowed = false }, controller] of this.#running) {
      const text = "cancelled by the person";
      controller.abort(isBorrowed ? new TenonError("session.closed", text) : new DOMException(text, "AbortError"));
    }
  }

  /** The calls go on at their servers; the next load of the session asks for them again. */
  async close(reason: Error): Promise<void> {
    this.#waiting = [];
    for (const controller of this.#running.values()) controller.abort(reason);
    await this.#scope.close();
  }

  #pickUp(task: RestoredTask, server: OpenServer): void {
    this.#waiting = this.#waiting.filter((one) => one !== task);
    const controller = new AbortController();
    this.#running.set(task, controller);
    this.#scope.run(`resume ${task.toolCallId}`, async (signal) => {
      try {
        await this.#resume(task, server, controller.signal);
      } finally {
        this.#running.delete(task);
        // Its server was replaced by the same one with other settings: the next one knows it too.
        if (this.#isLeft(task, server, controller.signal) && !signal.aborted) {
          this.#waiting = [...this.#waiting, task];
          this.follow(this.#open);
        }
      }
    });
  }

  async #resume(task: RestoredTask, server: OpenServer, signal: AbortSignal): Promise<void> {
    const { toolCallId, tool, lasting } = task;
    const { results } = this.#options;
    const call = {
      toolCallId,
      tool,
      label: labelOf(task),
      lasting,
      signal,
      onProgress: (progress: ToolProgress) => this.#progress(task, progress),
    };
    const presented = await resumeCall(server.source, call, { results, media: this.#options.media() });
    if (this.#scope.signal.aborted || this.#isLeft(task, server, signal)) return;
    await this.#end(task, presented);
  }

  /** Nobody took it back, and it has no end: its connection was closed under it. */
  #isLeft(task: RestoredTask, { connection }: OpenServer, signal: AbortSignal): boolean {
    const { kind } = connection.state.value;
    const isReplaced =
      (kind === "closing" || kind === "closed") && !this.#open.some((one) => one.connection === connection);
    return (
      isReplaced &&
      !signal.aborted &&
      this.#open.some(({ source, connection: other }) => isOf(task, source, other.spec))
    );
  }

  async #end(task: RestoredTask, presented: Presented): Promise<void> {
    const about = { toolCallId: task.toolCallId, subject: task.subject.name, label: labelOf(task) };
    await this.#options.end({ ...about, presented, elapsedMs: this.#elapsedMs(task) });
  }

  /** Nobody is left who could be asked, and its time is up. */
  #giveUp(task: RestoredTask): void {
    this.#waiting = this.#waiting.filter((one) => one !== task);
    const reason = `it ran at the server ${quoted(task.server)}, which is not part of the session, and its time is up`;
    this.#scope.run(`give up ${task.toolCallId}`, async (signal) => {
      // A client that loads the session reads its events only after this turn of the event loop.
      await sleep(this.#options.world, 0, signal);
      const context = { store: this.#options.results, media: this.#options.media(), origin: labelOf(task) };
      await this.#end(task, await presentOutcome({ kind: "unknown", reason }, context));
    });
  }

  #elapsedMs({ lasting }: RestoredTask): number {
    return Math.max(0, this.#options.world.now() - lasting.startedMs);
  }

  #tellOfWaiting(task: RestoredTask): void {
    if (this.#hasTold) return;
    const words = `${labelOf(task)} still runs as a task of the server ${quoted(task.server)}`;
    this.#options.events.notice("warning", `${words}, which is not part of this session now: its result waits for it.`);
  }

  #progress(task: RestoredTask, progress: ToolProgress): void {
    const event = {
      kind: "call_progress",
      toolCallId: task.toolCallId,
      progress,
      elapsedMs: this.#elapsedMs(task),
    } as const;
    this.#options.events.emit({ kind: "turn", event });
  }
}

function labelOf({ subject }: RestoredTask): string {
  return subject.tool?.label ?? subject.name;
}

function isOf(task: OpenTask, { name, origin }: OpenServer["source"], spec: ServerSpec): boolean {
  return task.server === name && task.origin === origin && task.mark === markOf(spec, task.lasting.id);
}

/** With the task's own id in it, so that equal servers of two sessions cannot be told to be equal. */
function markOf(spec: ServerSpec, taskId: string): string {
  return hashJson({ server: launchFingerprint(spec), task: taskId });
}

export function noteOf({ label, presented: { model, outcome } }: LateEnd): MarkedContent {
  const words = `the call of ${quoted(label)} that went on as a long-running task has ended (${outcome.kind})`;
  const header = model.origin === undefined ? [] : [text(dataHeader(model.origin))];
  return alreadyMarked([
    text(hostLine(`${words}; its result follows, and after it the person's next message`)),
    ...header,
    ...model.content,
  ]);
}
