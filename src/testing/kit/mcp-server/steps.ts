// Does one step of a script.
import { existsSync, writeFileSync } from "node:fs";
import { orAborted, sleep } from "../../../base/async/deadline.js";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import type { CallProgress } from "./answers.js";
import type { CrashStep, Step } from "./behaviour.js";
import type { Host, RequestId } from "./host.js";
import type { ScriptedPeer } from "./peer.js";

const FLOOD_LINE_BYTES = 1_024;

/** Rejects with the abort reason when the flow is stopped meanwhile. */
export async function runSteps(steps: readonly Step[] | undefined, flow: Flow, server: ScriptedPeer): Promise<void> {
  for (const step of steps ?? []) await runStep(step, flow, server);
}

async function runStep(step: Step, flow: Flow, server: ScriptedPeer): Promise<void> {
  const { host } = server;
  switch (step.do) {
    case "delay":
      return await sleep(host, step.ms, flow.waits);
    case "never":
      return await forever(flow.waits);
    case "await_cancel":
      return await untilCancelled(flow);
    case "await_notification":
      return await server.untilNotified(step.method, flow.waits);
    case "hold":
      return await server.untilReleased(step.name, flow.waits);
    case "progress":
      return sendProgress(step, flow, server);
    case "notify":
      return server.send(notification(step.method, step.params), flow);
    case "list_changed":
      for (let sent = 0; sent < (step.count ?? 1); sent++)
        server.send(notification("notifications/tools/list_changed"), flow);
      return;
    case "set_tools":
      return server.setTools(step.tools);
    case "garbage":
      return host.garbage(step.text, flow.request?.id);
    case "huge_line":
      return host.garbage("x".repeat(step.bytes), flow.request?.id);
    case "stray_reply":
      return server.send({ jsonrpc: "2.0", id: step.id, result: { content: [] } }, flow);
    case "stderr":
      return host.stderr(`${step.text}\n`);
    case "stderr_flood":
      return floodStderr(step.bytes, host);
    case "spawn_children":
      return await host.spawnChildren(step);
    case "crash":
      return await crash(step, flow, host);
    default:
      return unreachable(step);
  }
}

export function notification(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: "2.0", method, ...defined({ params }) };
}

export function sendProgress(progress: CallProgress, flow: Flow, server: ScriptedPeer): void {
  const progressToken = flow.request?.progressToken;
  if (progressToken === undefined) return;
  const { progress: done, total, message } = progress;
  const params = { progressToken, progress: done, ...defined({ total, message }) };
  server.send(notification("notifications/progress", params), flow);
}

async function forever(signal: AbortSignal): Promise<void> {
  await orAborted(new Promise<never>(() => {}), signal);
}

async function untilCancelled(flow: Flow): Promise<void> {
  flow.ignoreCancel();
  const cancelled = new Promise<void>((resolve) =>
    flow.cancelled.addEventListener("abort", () => resolve(), { once: true }),
  );
  if (!flow.cancelled.aborted) await orAborted(cancelled, flow.closed);
}

function floodStderr(bytes: number, host: Host): void {
  for (let left = bytes; left > 0; left -= FLOOD_LINE_BYTES) {
    host.stderr(`${"e".repeat(Math.max(0, Math.min(left, FLOOD_LINE_BYTES) - 1))}\n`);
  }
}

async function crash(step: CrashStep, flow: Flow, host: Host): Promise<void> {
  if (step.onceFile !== undefined) {
    if (existsSync(step.onceFile)) return;
    writeFileSync(step.onceFile, "");
  }
  host.crash(step);
  await forever(flow.closed);
}

interface FlowRequest {
  readonly id: RequestId;
  readonly params: JsonObject;
  readonly progressToken: RequestId | undefined;
}

export class Flow {
  readonly request: FlowRequest | undefined;
  /** Ends every wait: the server is gone. */
  readonly closed: AbortSignal;
  readonly #cancellation = new AbortController();
  readonly cancelled: AbortSignal = this.#cancellation.signal;
  #ignoresCancel = false;

  constructor(closed: AbortSignal, request?: FlowRequest) {
    this.closed = closed;
    this.request = request;
  }

  get params(): JsonObject {
    return this.request?.params ?? {};
  }

  /** True when the answer must be kept back, as the protocol wants it after a cancellation. */
  get isStopped(): boolean {
    return this.waits.aborted;
  }

  /** What waits stop on. */
  get waits(): AbortSignal {
    return this.#ignoresCancel ? this.closed : AbortSignal.any([this.closed, this.cancelled]);
  }

  cancel(): void {
    this.#cancellation.abort(new DOMException("the client cancelled the request", "AbortError"));
  }

  /** From here on a cancellation, past or future, changes nothing. */
  ignoreCancel(): void {
    this.#ignoresCancel = true;
  }
}
