// `--trace FILE`: opens the file, writes the rest when the process exits, and listens to the ACP traffic.

import { resolve } from "node:path";
import type { AgentApp, AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../base/json/json.js";
import type { WireEntry, WireTrace } from "../base/ports/trace.js";
import { REDACTED } from "../base/text/secrets.js";
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

/** The same for the clients of a gateway, without what lets others in: keys of clients, and codes of pages. */
export function gatewayTap(trace: WireTrace): Tap {
  const tap = acpTap(trace);
  return (dir, message) =>
    tap(dir, "method" in message && message.method !== "initialize" ? message : keyless(message));
}

function keyless(message: object): object {
  const { params, result } = { params: undefined, result: undefined, ...message };
  return { ...message, ...defined({ params: params && withoutKeys(params), result: result && withoutKeys(result) }) };
}

function withoutKeys(part: JsonValue): JsonValue {
  if (!isJsonObject(part)) return part;
  const { url, _meta: meta } = part;
  const { tenon } = isJsonObject(meta) ? meta : {};
  const { client } = isJsonObject(tenon) ? tenon : {};
  const { key: _, ...known } = isJsonObject(client) ? client : {};
  const hidden = isJsonObject(meta) && isJsonObject(tenon) && { ...meta, tenon: { ...tenon, client: known } };
  return {
    ...part,
    ...defined({ url: typeof url === "string" ? url.replace(/#.*/u, `#${REDACTED}`) : undefined }),
    ...defined({ _meta: client !== undefined && hidden ? hidden : undefined }),
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
