// The calls of one answer: exactly one outcome each, in the model's order; only what reads overlaps.
import { TOOL_LIMITS } from "../limits.js";
import { hintsOf } from "../policy/decide.js";
import type { Presented } from "../result/present.js";
import type { ToolSource } from "../tool.js";
import { type RunOptions, type RunPorts, runCall } from "./call.js";
import { PreparedCall } from "./prepare.js";

/**
 * One outcome and one result for each call, in their order, whatever happens: it never rejects. A call that may write waits for all
 * before it, and all after it wait for it. Events come in the order in which things happen.
 */
export async function runCalls(
  calls: readonly PreparedCall[],
  ports: RunPorts,
  options: RunOptions,
): Promise<readonly Presented[]> {
  const results: Presented[] = [];
  for (const group of groupsOf(calls, ports)) {
    results.push(...(await runTogether(group, (call) => runCall(call, ports, options))));
  }
  return results;
}

/** Consecutive calls that may overlap, or one that may not. */
function groupsOf(calls: readonly PreparedCall[], ports: RunPorts): PreparedCall[][] {
  const groups: PreparedCall[][] = [];
  let isOpen = false;
  for (const call of calls) {
    const mayJoin = mayOverlap(call, ports);
    if (mayJoin && isOpen) groups.at(-1)?.push(call);
    else groups.push([call]);
    isOpen = mayJoin;
  }
  return groups;
}

/** What its source says of a tool counts only where that source is trusted. A call that is not made disturbs nobody. */
function mayOverlap(call: PreparedCall, ports: RunPorts): boolean {
  const { plan } = PreparedCall.open(call);
  if (plan.kind === "ended") return true;
  if (plan.kind !== "call") return false;
  const { tool, raw } = plan.entry;
  const trustsAnnotations = ports.trustsAnnotations?.(tool) ?? false;
  return hintsOf({ origin: tool.origin, annotations: raw.annotations, trustsAnnotations }).readOnly;
}

/** Each source gets as many at once as it takes: one more would wait in its line, and may be turned away there. */
async function runTogether(
  calls: readonly PreparedCall[],
  run: (call: PreparedCall) => Promise<Presented>,
): Promise<Presented[]> {
  const results: Presented[] = [];
  const lane = async (waiting: Iterable<readonly [number, PreparedCall]>) => {
    for (const [index, call] of waiting) results[index] = await run(call);
  };
  const lanes: Promise<void>[] = [];
  const queues = new Map<ToolSource | undefined, [number, PreparedCall][]>();
  for (const [index, call] of calls.entries()) {
    const source = PreparedCall.open(call).entry?.source;
    queues.set(source, [...(queues.get(source) ?? []), [index, call]]);
  }
  for (const [source, queue] of queues) {
    const width = Math.min(queue.length, Math.max(1, source?.callsAtOnce ?? TOOL_LIMITS.callsInParallel));
    const waiting = queue.values(); // shared: whichever lane is free takes the next
    for (let index = 0; index < width; index++) lanes.push(lane(waiting));
  }
  await Promise.all(lanes);
  return results;
}
