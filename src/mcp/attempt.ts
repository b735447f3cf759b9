// One attempt at a server, step by step: a place among the processes, a conversation, its tools; what fails is told as a value.
import { messageOf, TenonError, toTenonError } from "../base/errors.js";
import type { EndGrace } from "../base/io/process.js";
import { establish } from "./era/establish.js";
import type { Link } from "./era/link.js";
import type { ToolList } from "./lists/discovery.js";
import type { ConnectionOptions, ProcessSlot } from "./options.js";
import type { ServerSpec } from "./spec.js";
import type { SpillDirectory } from "./transport/large/spilled.js";
import { withLastWords } from "./transport/stdio/launch.js";

export interface AttemptOptions {
  readonly connection: ConnectionOptions;
  /** For the conversation, and once more for the tools. */
  readonly connectTimeoutMs: number;
  readonly spill: SpillDirectory;
}

/** Only processes need one. */
export function takePlace(
  spec: ServerSpec,
  { admit }: Pick<ConnectionOptions, "admit">,
): ProcessSlot | TenonError | undefined {
  if (spec.kind !== "stdio") return undefined;
  try {
    return admit?.(spec.name);
  } catch (thrown) {
    return toTenonError(thrown, "mcp.over_budget");
  }
}

export async function converse(
  spec: ServerSpec,
  { connection, connectTimeoutMs, spill }: AttemptOptions,
  life: { readonly slot: ProcessSlot | undefined; readonly signal: AbortSignal; readonly grace: () => EndGrace },
): Promise<Link | TenonError> {
  const { slot, grace } = life;
  using deadline = connection.world.deadline(connectTimeoutMs, life.signal);
  const onSpawned = (id: number | undefined) => slot?.started(id);
  try {
    return await establish(spec, connection, { signal: deadline.signal, grace, spill, onSpawned });
  } catch (thrown) {
    if (deadline.expired) return late(connectTimeoutMs, thrown, messageOf(thrown));
    return toTenonError(thrown, "mcp.connect_failed");
  }
}

/** Undefined when they are listed. */
export async function loadTools(
  list: ToolList,
  link: Link,
  { connection, connectTimeoutMs }: AttemptOptions,
  signal: AbortSignal,
): Promise<TenonError | undefined> {
  using deadline = connection.world.deadline(connectTimeoutMs, signal);
  try {
    await list.load(deadline.signal);
    return undefined;
  } catch (thrown) {
    const error = deadline.expired
      ? late(connectTimeoutMs, thrown, "its tools were not listed")
      : toTenonError(thrown, "mcp.connect_failed");
    return withLastWords(error, link.wire.stderrTail);
  }
}

function late(withinMs: number, thrown: unknown, detail: string): TenonError {
  return new TenonError("mcp.connect_timeout", `not ready within ${withinMs / 1000} s: ${detail}`, { cause: thrown });
}
