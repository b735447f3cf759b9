// The common part of scripted servers inside the test's own process: held calls, tasks, bugs of the script.
import { defined } from "../../../base/json/defined.js";
import { Feed, type WaitOptions } from "../feed.js";
import type { HeldCall } from "./answers.js";
import type { Behaviour } from "./behaviour.js";
import { type Host, realAfter } from "./host.js";
import { ScriptedPeer } from "./peer.js";
import { TaskStore } from "./tasks.js";

/** A server inside the test's own process: the test answers its held calls, and hears of bugs in the script. */
export class InProcessServer {
  readonly #behaviour: Behaviour;
  readonly #calls = new Feed<HeldCall>("call of a held tool");
  readonly #taken = new Set<HeldCall>();
  readonly #bugs: unknown[] = [];
  readonly #host: Omit<Host, "send" | "garbage" | "crash">;
  readonly tasks: TaskStore = new TaskStore();

  constructor(behaviour: Behaviour, after: Host["after"] = realAfter) {
    this.#behaviour = behaviour;
    this.#host = {
      after,
      // `assertPossible` has refused these two.
      stderr: () => this.bug(new Error("a server inside the test's process has no stderr of its own")),
      spawnChildren: async () => this.bug(new Error("a server inside the test's process has no children of its own")),
      facts: () => ({ envNames: Object.keys(process.env), cwd: process.cwd(), pid: process.pid, children: [] }),
      hold: (call) => this.#calls.push(call),
      bug: (error) => this.bug(error),
    };
  }

  openPeer(host: Pick<Host, "send" | "garbage" | "crash">, era: Behaviour["era"] = this.#behaviour.era): ScriptedPeer {
    return new ScriptedPeer({ ...this.#behaviour, ...defined({ era }) }, { ...this.#host, ...host }, this.tasks);
  }

  bug(error: unknown): void {
    this.#bugs.push(error);
  }

  /** The next call of a `held` tool (of that name) that has not been taken yet. */
  async awaitCall(toolName?: string, options?: WaitOptions): Promise<HeldCall> {
    const isNext = (call: HeldCall) => !this.#taken.has(call) && (toolName === undefined || call.name === toolName);
    const call = await this.#calls.find(isNext, options);
    this.#taken.add(call);
    return call;
  }

  /** Throws when the script itself failed, so that no test passes over it. */
  end(feed: { end(reason: Error): void }): void {
    const ended = new Error("the scripted server is closed");
    for (const one of [feed, this.#calls]) one.end(ended);
    if (this.#bugs.length > 0) throw new AggregateError(this.#bugs, "the scripted server failed");
  }
}
