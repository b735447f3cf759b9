// The calls of one server that run now: its log lines are shown on them, and what it asks meanwhile belongs to them.

import { defined } from "../base/json/defined.js";
import type { Timer, World } from "../base/ports/world.js";
import type { ServerLog } from "../mcp/index.js";
import type { SourceCall, ToolOutcome, ToolProgress, ToolSource } from "../tools/index.js";
import { SESSION_LIMITS } from "./limits.js";

type Followable = Pick<SourceCall, "toolCallId" | "signal" | "onProgress">;

const NO_END: ToolOutcome = { kind: "unknown", reason: "its source knows nothing of calls that last" };

export class RunningCalls {
  readonly #world: Pick<World, "after">;
  readonly #running = new Set<FollowedCall>();

  constructor(world: Pick<World, "after">) {
    this.#world = world;
  }

  /** The same source; its calls are known here while they run. */
  follow(source: ToolSource): ToolSource {
    const resumed: NonNullable<ToolSource["resume"]> = (call, lasting) =>
      this.#during(call, (onProgress) => source.resume?.({ ...call, onProgress }, lasting) ?? Promise.resolve(NO_END));
    return {
      ...source,
      call: (call) => this.#during(call, (onProgress) => source.call({ ...call, onProgress })),
      ...defined({ resume: source.resume ? resumed : undefined }),
    };
  }

  async #during(
    call: Followable,
    run: (onProgress: SourceCall["onProgress"]) => Promise<ToolOutcome>,
  ): Promise<ToolOutcome> {
    const followed = new FollowedCall(call, this.#world);
    this.#running.add(followed);
    try {
      return await run((progress) => followed.progress(progress));
    } finally {
      this.#running.delete(followed);
      followed.end();
    }
  }

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

/** One call with what was said during it: the last lines, told at a pace people can read. */
class FollowedCall {
  readonly call: Followable;
  readonly #world: Pick<World, "after">;
  #lines: readonly string[] = [];
  #last: ToolProgress = { progress: 0 };
  #pause: Timer | undefined;
  #isStale = false;
  #isOver = false;

  constructor(call: Followable, world: Pick<World, "after">) {
    this.call = call;
    this.#world = world;
  }

  progress(progress: ToolProgress): void {
    this.#last = progress;
    this.#tell();
  }

  say(line: string): void {
    const { lines, lineChars } = SESSION_LIMITS.callLog;
    const shown = line.length <= lineChars ? line : `${line.slice(0, lineChars)}…`;
    this.#lines = [...this.#lines, shown].slice(-lines);
    if (this.#pause) this.#isStale = true;
    else this.#tellAndPause();
  }

  end(): void {
    this.#isOver = true;
    this.#pause?.clear();
  }

  #tellAndPause(): void {
    this.#isStale = false;
    this.#tell();
    this.#pause = this.#world.after(SESSION_LIMITS.callLog.everyMs, () => {
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
