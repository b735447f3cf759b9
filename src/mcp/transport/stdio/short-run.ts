// Runs a short-lived program of this machine (bwrap, npm, python) and keeps the end of its output.
import { orAborted } from "../../../base/async/deadline.js";
import { type EndGrace, endTree } from "../../../base/io/process.js";
import { LIMITS } from "../../../base/limits.js";
import type { ChildExit, SpawnRequest, World } from "../../../base/ports/world.js";

export interface ProgramRun {
  readonly world: World;
  readonly signal: AbortSignal;
  readonly maxOutputBytes: number;
  /** `all` waits until both streams are closed, which a process of its own in the background can delay. */
  readonly output: "stderr" | "all";
  readonly grace?: EndGrace;
}

/** Rejects when the signal aborts. Its processes are gone in any case. */
export async function runProgram(
  request: SpawnRequest,
  { world, signal, maxOutputBytes, output, grace = LIMITS.exitGrace }: ProgramRun,
): Promise<{ readonly exit: ChildExit; readonly output: string }> {
  const child = world.spawn(request);
  const tail = new Tail(maxOutputBytes);
  if (output === "stderr") child.stdout.resume();
  const closed = (output === "all" ? [child.stdout, child.stderr] : [child.stderr]).map((stream) => {
    stream.on("data", (chunk: Buffer) => tail.push(chunk));
    return new Promise<void>((resolve) => stream.once("close", resolve));
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  child.stdin.end();
  try {
    const exit = await orAborted(child.exited, signal);
    if (output === "all" && exit.kind === "exited") await orAborted(Promise.all(closed), signal);
    return { exit, output: tail.text };
  } finally {
    await endTree(child, world, grace);
  }
}

/** Keeps the end of a stream of text: what a program printed last, for the error that people read. */
export class Tail {
  readonly #maxBytes: number;
  #text = "";
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    const kept = chunk.length > this.#maxBytes ? chunk.subarray(chunk.length - this.#maxBytes) : chunk;
    const text = this.#text + Buffer.from(kept).toString("utf8");
    this.#isCut ||= kept !== chunk || text.length > this.#maxBytes;
    this.#text = text.slice(-this.#maxBytes);
  }

  /** From the first whole word on: the second half of a secret that was cut would not be recognised. */
  get text(): string {
    return (this.#isCut ? this.#text.replace(/^\S+\s/u, "") : this.#text).trim();
  }
}
