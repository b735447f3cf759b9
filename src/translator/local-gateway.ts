// The gateway of this user on this machine: connected to, started by the first who finds none, replaced when it is older.
import { join } from "node:path";
import { backoffDelayMs, sleep } from "../base/async/deadline.js";
import { tryFileLock } from "../base/io/file-lock.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import { hasErrorCode, messageOf } from "../base/message.js";
import type { OpenWebSocket, WebSocketLink, WebSocketListener } from "../base/ports/web-socket.js";
import type { World } from "../base/ports/world.js";
import { type GatewayProtocol, gatewaySocketPath, socketFolderProblem } from "../gateway/index.js";
import type { OpenLink } from "./connection.js";
import type { AskGateway, GatewayOptions } from "./gateway-client.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import { tenonMeta } from "./messages.js";
import { localLink } from "./target.js";

/** What this version speaks. */
const PROTOCOL: GatewayProtocol = 1;

export interface LocalGatewayOptions {
  readonly world: World;
  readonly stateDir: string;
  readonly openWebSocket: OpenWebSocket;
  /** Of this program. */
  readonly version: string;
  /** Starts a gateway that does not depend on this process; gives the reason if it ends before the signal aborts. */
  start(signal: AbortSignal): Promise<string>;
}

export function localGateway(options: LocalGatewayOptions): Pick<GatewayOptions, "open" | "judge"> {
  const { world, stateDir, openWebSocket } = options;
  const socketPath = gatewaySocketPath(world, stateDir);
  const connect = localLink(socketPath, openWebSocket);
  const open: OpenLink = async (listener, signal) => {
    using deadline = world.deadline(TRANSLATOR_LIMITS.startMs, signal);
    for (let attempt = 0; ; attempt++) {
      const link = await connectIfThere(world, { socketPath, connect, listener, signal });
      if (link) return link;
      const { lock } = await tryFileLock(world, join(stateDir, "gateway-start.lock"));
      try {
        if (lock) return await startAndConnect(options, { socketPath, connect, listener, signal: deadline.signal });
      } finally {
        await lock?.release();
      }
      // Another one starts it.
      const waitMs = backoffDelayMs(TRANSLATOR_LIMITS.startWait, attempt, world.random());
      await sleep(world, waitMs, deadline.signal).catch((reason: unknown) => {
        throw deadline.expired ? new Error("another process starts it, and it does not answer") : reason;
      });
    }
  };
  return { open, judge: (answer, ask) => judge(options, answer, ask) };
}

interface Attempt {
  readonly socketPath: string;
  readonly connect: OpenLink;
  readonly listener: WebSocketListener;
  readonly signal: AbortSignal;
}

/** Undefined: nobody listens. Rejects when somebody else might. */
async function connectIfThere(world: World, attempt: Attempt): Promise<WebSocketLink | undefined> {
  const { socketPath, connect, listener, signal } = attempt;
  if ((await world.files.kindOf(socketPath)) === undefined) return undefined;
  const problem = await socketFolderProblem(world, socketPath);
  if (problem !== undefined) throw new Error(problem);
  try {
    return await connect(listener, signal);
  } catch (error) {
    if (hasErrorCode(error, "ENOENT") || hasErrorCode(error, "ECONNREFUSED")) return undefined;
    throw error;
  }
}

async function startAndConnect(options: LocalGatewayOptions, attempt: Attempt): Promise<WebSocketLink> {
  const { world } = options;
  const already = await connectIfThere(world, attempt);
  if (already) return already;
  const started = new AbortController();
  let ended: string | undefined;
  const watching = options.start(started.signal).then(
    (reason) => {
      ended = reason;
    },
    (error: unknown) => {
      ended = messageOf(error);
    },
  );
  try {
    for (;;) {
      await sleep(world, TRANSLATOR_LIMITS.startEveryMs, attempt.signal).catch(() => {
        throw new Error(`it was started and did not listen within ${TRANSLATOR_LIMITS.startMs} ms`);
      });
      const link = await connectIfThere(world, attempt);
      if (link) return link;
      if (ended !== undefined) throw new Error(ended);
    }
  } finally {
    started.abort();
    await watching;
  }
}

/** An older gateway that does nothing makes room for this version; any other is used if it speaks this protocol. */
async function judge(
  { world, version: own }: LocalGatewayOptions,
  answer: JsonObject,
  ask: AskGateway,
): Promise<"use" | "replaced"> {
  const { version } = tenonMeta(answer);
  const { gateway: protocol } = tenonMeta(answer["agentCapabilities"]);
  if (typeof version === "string" && isOlder(version, own) && (await isEnded(world, ask))) return "replaced";
  if (protocol === PROTOCOL) return "use";
  const which = typeof version === "string" ? `version ${version}` : "another version";
  throw new Error(
    `the gateway that runs is of ${which}, which this one (${own}) does not understand, and it is in use`,
  );
}

/** Asks it to end where it is idle, and waits until it has. */
async function isEnded(world: World, ask: AskGateway): Promise<boolean> {
  try {
    const status = await ask("_tenon/gateway/status", {});
    const { sessions, clients, pid } = isJsonObject(status) ? status : {};
    const { running = 0, waiting = 0 } = isJsonObject(sessions) ? sessions : {};
    const isIdle = running === 0 && waiting === 0 && clients === 0;
    if (!isIdle || typeof pid !== "number") return false;
    const identity = world.processes.identityOf(pid);
    await ask("_tenon/gateway/stop", { drainMs: 0 }).catch(() => undefined); // it may go before its answer does
    using deadline = world.deadline(TRANSLATOR_LIMITS.replaceMs);
    while (world.processes.identityOf(pid) === identity) {
      await sleep(world, TRANSLATOR_LIMITS.startEveryMs, deadline.signal);
    }
    return true;
  } catch (error) {
    world.log.warn("translator.not_replaced", { error: messageOf(error) });
    return false;
  }
}

/** By the numbers of both; what is no number counts as 0. */
export function isOlder(version: string, than: string): boolean {
  const numbers = (text: string) => text.split(/[.-]/u, 3).map((part) => Number.parseInt(part, 10) || 0);
  const [one, other] = [numbers(version), numbers(than)];
  for (const [at, number] of one.entries()) {
    const difference = number - (other[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
