// What a scripted server needs of the place it runs in: a child process, this process's memory, an HTTP listener.
import type { JsonObject } from "../../../base/json/json.js";
import type { Timer } from "../../../base/ports/world.js";
import type { HeldCall, ProcessFacts } from "./answers.js";
import type { Behaviour, CrashStep, SpawnChildrenStep, Step, ToolReply } from "./behaviour.js";

/** The longest line that a scripted server reads. */
export const MAX_LINE_BYTES = 100_663_296;

export type RequestId = string | number;

export interface Host {
  /** `replyTo`: the request this message belongs to, where the host keeps a channel per request. */
  send(message: JsonObject, replyTo: RequestId | undefined): void;
  /** Something that is no message, newline not included. */
  garbage(text: string, replyTo: RequestId | undefined): void;
  stderr(text: string): void;
  after(delayMs: number, run: () => void): Timer;
  /** Ends the server as a crash would. */
  crash(step: CrashStep): void;
  /** Resolves once the children run. */
  spawnChildren(step: SpawnChildrenStep): Promise<void>;
  facts(): ProcessFacts;
  /** Hands a call of a `held` tool to the test. */
  hold(call: HeldCall): void;
  /** The script itself failed: a bug, or a step this host cannot do. */
  bug(error: unknown): void;
}

/** What one kind of host cannot do, so that a behaviour that asks for it is refused before it runs. */
export interface HostLimits {
  /** Ends the sentence "cannot be done by a server …". */
  readonly place: string;
  readonly steps: readonly Step["do"][];
  readonly replies: readonly ToolReply["kind"][];
  readonly fields: readonly (keyof Behaviour)[];
}

/** Throws when `behaviour` asks for what the host cannot do: silence would make a test pass for nothing. */
export function assertPossible(behaviour: Behaviour, limits: HostLimits): void {
  const tools = [...(behaviour.tools ?? [])];
  const stepLists = [...Object.values(behaviour.steps ?? {})];
  for (let tool = tools.pop(); tool; tool = tools.pop()) {
    if (limits.replies.includes(tool.reply.kind))
      throw impossible(`the reply "${tool.reply.kind}" of tool "${tool.name}"`, limits);
    if (tool.steps) stepLists.push(tool.steps);
  }
  for (const step of stepLists.flat()) {
    if (limits.steps.includes(step.do)) throw impossible(`the step "${step.do}"`, limits);
    if (step.do === "set_tools") assertPossible({ tools: step.tools }, limits);
  }
  const field = limits.fields.find((name) => behaviour[name] !== undefined);
  if (field) throw impossible(`"${field}"`, limits);
}

function impossible(what: string, limits: HostLimits): Error {
  return new Error(`${what} cannot be done by a server ${limits.place}`);
}

export function realAfter(delayMs: number, run: () => void): Timer {
  const timer = setTimeout(run, delayMs);
  return { clear: () => clearTimeout(timer) };
}
