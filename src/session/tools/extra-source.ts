// One set of tools that a program runs which is connected as a client: its calls, and what becomes of them when it is gone.
import { Cell } from "../../base/async/cell.js";
import { abortListeners } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue, measure } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { text } from "../../base/text/content.js";
import { answerOf, CallGate, type CallOutcome, type McpTool, ProgressPace } from "../../mcp/index.js";
import { failed, type SourceCall, type SourceState, type ToolOutcome, type ToolSource } from "../../tools/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ExtraAnswer, ExtraCall, ToolCaller } from "../ports.js";

export interface ExtraSourceOptions {
  readonly world: World;
  readonly name: string;
  readonly key: string;
  /** For people: the client. */
  readonly program: string;
  /** Undefined while the client is not attached. */
  readonly caller: () => ToolCaller | undefined;
}

const UNKNOWN = "whether it took effect is unknown";

export class ExtraSource implements ToolSource {
  readonly name: string;
  readonly origin = "extra";
  readonly givesWay = true;
  readonly callsAtOnce: number = LIMITS.callsAtOnce;
  readonly tools: Cell<readonly McpTool[]> = new Cell<readonly McpTool[]>([]);
  readonly state: Cell<SourceState> = new Cell<SourceState>({ kind: "ready" });
  /** Entries that cannot be used. */
  rejected: readonly { readonly name: string; readonly reason: string }[] = [];
  readonly #options: ExtraSourceOptions;
  readonly #gate: CallGate;

  constructor(options: ExtraSourceOptions) {
    this.name = options.name;
    this.#options = options;
    this.#gate = new CallGate(options.world, LIMITS);
  }

  leftOut(): readonly { readonly name: string; readonly text: string }[] {
    return this.rejected.map(({ name, reason }) => ({ name, text: `tool "${name}" is left out: ${reason}` }));
  }

  async call(call: SourceCall): Promise<ToolOutcome> {
    const { tool, signal, arguments: args, onProgress } = call;
    const where = `${this.name} / ${tool}`;
    const { over } = measure(args, SESSION_LIMITS.extraTools.arguments);
    if (over !== undefined) return failed(`${where} was not called: its arguments are ${over}.`);
    if (!this.#options.caller()) {
      onProgress({ progress: 0, message: `waiting for the program "${this.#options.program}" to come back` });
    }
    const state = await this.state.until(({ kind }) => kind !== "broken", signal).catch(() => undefined);
    if (!state || signal.aborted) return { kind: "cancelled" };
    const gated = { server: this.name, tool, signal };
    const turnedAway = await this.#gate.enter(gated);
    if (turnedAway) return turnedAway.kind === "failed" ? failed(turnedAway.error.message) : { kind: "cancelled" };
    try {
      const caller = this.#options.caller();
      if (caller) return await this.#send(call, caller, where);
      return failed(`${where} was not called: ${state.kind === "failed" ? state.reason : "its program is gone"}.`);
    } finally {
      this.#gate.leave(gated);
    }
  }

  /** From here on the program may have acted, whatever happens. */
  async #send(call: SourceCall, caller: ToolCaller, where: string): Promise<ToolOutcome> {
    const { world, key } = this.#options;
    const { toolCallId = "", tool: name, arguments: args, signal } = call;
    using limit = new CallLimit(world);
    using pace = new ProgressPace(world, call.onProgress);
    const stop = new AbortController();
    const onProgress: ExtraCall["onProgress"] = (progress) => {
      limit.renew();
      pace.take(progress);
    };
    const answering = caller.call({ toolCallId, key, name, arguments: args, onProgress }, stop.signal);
    const ended = await new Promise<ExtraAnswer | "cancelled" | "late">((resolve) => {
      const onCancel = () => end("cancelled");
      const onGone = () => end(LOST);
      const end = (how: ExtraAnswer | "cancelled" | "late") => {
        abortListeners(signal).delete(onCancel);
        abortListeners(caller.gone).delete(onGone);
        resolve(how);
      };
      abortListeners(signal).add(onCancel);
      abortListeners(caller.gone).add(onGone);
      limit.start(() => end("late"));
      answering.then(end).catch((error: unknown) => end({ kind: "lost", message: messageOf(error) }));
      if (signal.aborted) onCancel();
      if (caller.gone.aborted) onGone();
    });
    if (typeof ended === "string" || ended === LOST) stop.abort(new DOMException("the call is over", "AbortError"));
    if (ended === "cancelled") return { kind: "cancelled" };
    if (ended === "late") return { kind: "unknown", reason: `${where}: ${limit.words}; ${UNKNOWN}` };
    if (ended.kind === "lost") return { kind: "unknown", reason: `${where}: ${ended.message}; ${UNKNOWN}` };
    if (ended.kind === "refused") return { kind: "failed", content: [text(ended.message)] };
    return await this.#read(ended.result, name, where);
  }

  async #read(result: unknown, tool: string, where: string): Promise<ToolOutcome> {
    const problem = problemOf(result);
    if (problem !== undefined || !isJsonObject(result)) {
      return failed(`${where} failed: its program answered with no result of a tool: ${problem}.`);
    }
    const { over } = measure(result, SESSION_LIMITS.extraTools.answer);
    if (over !== undefined) return failed(`${where} failed: the answer of its program is ${over}.`);
    const { world } = this.#options;
    const definition = this.tools.value.find(({ name }) => name === tool);
    return toOutcome(await answerOf(result, { world, server: this.name, tool, definition }));
  }
}

const LOST: ExtraAnswer = { kind: "lost", message: "the connection of its program ended" };

/** A call ends without progress for this long, and at the latest after all of its time. */
class CallLimit implements Disposable {
  readonly #world: World;
  readonly #startedMs: number;
  #timer: Timer | undefined;
  #onOver: (() => void) | undefined;
  #hasProgress = false;

  constructor(world: World) {
    this.#world = world;
    this.#startedMs = world.monotonicMs();
  }

  start(onOver: () => void): void {
    this.#onOver = onOver;
    this.#arm();
  }

  renew(): void {
    this.#hasProgress = true;
    if (this.#onOver) this.#arm();
  }

  get words(): string {
    const spent = `${Math.round((this.#world.monotonicMs() - this.#startedMs) / 1_000)} s`;
    return `no answer within ${spent}${this.#hasProgress ? ", and no more progress" : ""}`;
  }

  [Symbol.dispose](): void {
    this.#timer?.clear();
    this.#onOver = undefined;
  }

  #arm(): void {
    this.#timer?.clear();
    const leftMs = this.#startedMs + LIMITS.callMaxMs - this.#world.monotonicMs();
    this.#timer = this.#world.after(Math.max(0, Math.min(LIMITS.callTimeoutMs, leftMs)), () => this.#onOver?.());
  }
}

/** Odd blocks are read as those of servers are; what has no content at all is no answer. */
function problemOf(result: unknown): string | undefined {
  if (!isJsonObject(result)) return "it is no object";
  const { content, structuredContent }: Readonly<Record<string, JsonValue | undefined>> = result;
  if (content === undefined || content === null) {
    return structuredContent === undefined ? 'it has neither "content" nor "structuredContent"' : undefined;
  }
  return typeof content === "string" || typeof content === "object" ? undefined : '"content" is no list of blocks';
}

function toOutcome(outcome: CallOutcome): ToolOutcome {
  if (outcome.kind !== "answered") return failed("its program did not answer");
  const { content, structured, warnings, isError } = outcome;
  return { kind: isError ? "failed" : "done", content, ...defined({ structured, warnings }) };
}
