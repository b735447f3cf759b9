// When each step of connecting to a server happened, as seen on the wire: a World that keeps the time and changes nothing.

import { defined } from "../../base/json/defined.js";
import { isJsonObject } from "../../base/json/json.js";
import type { WireEntry, WireTrace } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";

export interface StepTimes {
  readonly beganMs: number;
  /** A process was started, or a request went out. */
  readonly openedMs?: number;
  /** The server said its first word. */
  readonly heardMs?: number;
  /** Its tools were asked for, which is done once the two sides agree. */
  readonly listedMs?: number;
}

export interface TimedWorld {
  readonly world: World;
  times(): StepTimes;
  nowMs(): number;
  /** The first lines that came where only messages may; empty where there were none. */
  noise(): string;
}

/** More of it says no more. */
const NOISE_LINES = 3;

export function timedWorld(world: World): TimedWorld {
  const beganMs = world.monotonicMs();
  let openedMs: number | undefined;
  let heardMs: number | undefined;
  let listedMs: number | undefined;
  const noise: string[] = [];
  const now = () => world.monotonicMs();
  const see = ({ channel, dir, message }: WireEntry) => {
    if (channel !== "mcp") return;
    const what = "noise" in message ? message.noise : undefined;
    const line = typeof what === "string" ? what.replace(/^no JSON: /u, "") : undefined;
    // A server that ends is started once more, and says the same again.
    if (line !== undefined && noise.length < NOISE_LINES && !noise.includes(line)) noise.push(line);
    if ("open" in message) openedMs ??= now();
    else if (dir === "in" && "jsonrpc" in message) heardMs ??= now();
    else if (isJsonObject(message) && message["method"] === "tools/list") listedMs ??= now();
  };
  return {
    world: { ...world, trace: watching(world.trace, see) },
    nowMs: now,
    noise: () => noise.join("\n"),
    times: () => ({
      beganMs,
      ...defined({ openedMs, heardMs, listedMs }),
    }),
  };
}

/** Passes everything on to whoever else watches. */
function watching(other: WireTrace | undefined, see: (entry: WireEntry) => void): WireTrace {
  let connections = 0;
  let questions = 0;
  return {
    record: (entry) => {
      see(entry);
      other?.record(entry);
    },
    hide: (values) => other?.hide(values),
    nextConnection: () => other?.nextConnection() ?? ++connections,
    nextQuestion: () => other?.nextQuestion() ?? ++questions,
    modelFetch: (fetch) => other?.modelFetch(fetch) ?? fetch,
    within: (session, run) => (other ? other.within(session, run) : run()),
  };
}
