// Runs one short program to its end and gives what it printed. Nothing of it is left when nobody waits any more.
import type { Readable } from "node:stream";
import { messageOf } from "../base/errors.js";
import { endTree } from "../base/io/process.js";
import { LIMITS } from "../base/limits.js";
import type { SpawnRequest, World } from "../base/ports/world.js";

/** Of a failing program's stderr; more is not needed to see why. */
const STDERR_CHARACTERS = 300;

export interface OutputOptions {
  readonly signal: AbortSignal;
  /** What it reads; nothing unless given. */
  readonly input?: string;
  readonly maxBytes?: number;
}

/** Rejects with why there is no output, and never with what was printed: that may be a secret. */
export async function outputOf(
  request: SpawnRequest,
  world: World,
  { signal, input = "", maxBytes = LIMITS.configValueMaxBytes }: OutputOptions,
): Promise<string> {
  signal.throwIfAborted();
  const child = world.spawn(request);
  const end = () => child.signalGroup("SIGKILL");
  signal.addEventListener("abort", end, { once: true });
  try {
    child.stdin.on("error", () => {}); // it may not read its input, or be gone
    child.stdin.end(input);
    const [output, complaint, exit] = await Promise.all([
      read(child.stdout, maxBytes),
      read(child.stderr, LIMITS.configValueMaxBytes),
      child.exited,
    ]);
    if (exit.kind === "not_started") throw new Error(`it cannot be started: ${messageOf(exit.error)}`);
    if (exit.code !== 0) throw new Error(`${ending(exit.code, exit.signal)}${reasonIn(complaint)}`);
    if (Buffer.byteLength(output) > maxBytes) throw new Error(`it printed more than ${maxBytes} bytes`);
    return output;
  } finally {
    signal.removeEventListener("abort", end);
    await endTree(child, world, LIMITS.exitGrace);
  }
}

/** One byte over the limit is enough to know. */
async function read(stream: Readable, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = Buffer.from(chunk);
    if (bytes <= maxBytes) parts.push(part);
    bytes += part.length;
  }
  return Buffer.concat(parts).toString("utf8");
}

function ending(code: number | null, signal: string | null): string {
  return code === null ? `it was ended by ${signal ?? "a signal"}` : `it exited with ${code}`;
}

function reasonIn(complaint: string): string {
  const text = complaint.trim();
  return text === "" ? "" : `: ${text.slice(-STDERR_CHARACTERS)}`;
}
