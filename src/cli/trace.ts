// `--trace FILE`: opens the file, writes the rest when the process exits, and listens to the ACP traffic.

import { resolve } from "node:path";
import type { AgentApp, AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import { isJsonObject } from "../base/json/json.js";
import type { WireEntry, WireTrace } from "../base/ports/trace.js";
import type { ResolveSecret } from "../config/index.js";
import { FileTrace } from "../world/index.js";

type Tap = (dir: WireEntry["dir"], message: object) => void;

/** Throws `usage.invalid` when the file cannot be written. */
export function openTraceFile(path: string): FileTrace {
  const trace = new FileTrace({ path: resolve(path), env: process.env, now: () => Date.now() });
  process.once("exit", () => trace.end());
  return trace;
}

export function acpTap(trace: WireTrace): Tap {
  return (dir, message) => {
    const session = sessionOf(message);
    trace.record({ channel: "acp", dir, message, ...defined({ session }) });
  };
}

/** The agent behind a stream whose messages are heard, for a client in the same process. */
export function tappedAgent(agent: AgentApp, tap: Tap): Stream {
  const toAgent = tapped("in", tap);
  const fromAgent = tapped("out", tap);
  agent.connect({ readable: toAgent.readable, writable: fromAgent.writable });
  return { readable: fromAgent.readable, writable: toAgent.writable };
}

/** What is fetched for the configuration is known as a secret before anybody can use it. */
export function hidingSecrets(fetchSecret: ResolveSecret, trace: WireTrace | undefined): ResolveSecret {
  if (!trace) return fetchSecret;
  return async (request, signal) => {
    const secret = await fetchSecret(request, signal);
    if (secret !== undefined) trace.hide([secret]);
    return secret;
  };
}

function tapped(dir: WireEntry["dir"], tap: Tap): TransformStream<AnyMessage, AnyMessage> {
  return new TransformStream({
    transform: (message, controller) => {
      tap(dir, message);
      controller.enqueue(message);
    },
  });
}

function sessionOf(message: object): string | undefined {
  const { params, result } = { params: undefined, result: undefined, ...message };
  const [id] = [params, result].flatMap((part) => (isJsonObject(part) ? (part["sessionId"] ?? []) : []));
  return typeof id === "string" ? id : undefined;
}
