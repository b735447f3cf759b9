// How a session of a gateway ends: closed, left to the next gateway of the machine, or handed over to another node.
import { orAborted } from "../../base/async/deadline.js";
import { abortListeners } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import type { Session } from "../../session/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { Nodes } from "../nodes/nodes.js";

interface EndingSession {
  readonly id: string;
  readonly account: string;
  readonly session: Session;
  readonly members: ReadonlySet<{ reconnect(reason?: string): void }>;
}

interface EndingOptions {
  readonly world: Pick<World, "log">;
  /** The others, which may have the session as soon as it stands still. */
  readonly nodes: Nodes | undefined;
  /** Its open turn is for the next owner. */
  readonly mayGoOn: boolean;
  /** For calls that were sent. */
  readonly callsMs: number;
}

export async function endSession(
  open: EndingSession,
  { world, nodes, mayGoOn, callsMs }: EndingOptions,
): Promise<void> {
  const { id, account, session, members } = open;
  const { epoch, lost } = session.owned;
  const reconnect = (reason?: string) => {
    for (const member of members) member.reconnect(reason);
  };
  if (lost.aborted) {
    reconnect(`The session moves to another node: ${messageOf(lost.reason)}.`);
    return await session.close();
  }
  if (!mayGoOn) return await session.close();
  if (!nodes) return await session.drain(0);
  await session.drain(callsMs, () => {
    world.log.info("session.handed_over", { session: id, account, epoch });
    reconnect();
  });
}

/**
 * How long the calls of each are waited for when this node drains: other nodes open only so many in a moment. Where more sessions run, they
 * are released one group after the other, the last of them in time.
 */
export function drainOrder<T extends { readonly session: Pick<Session, "state"> }>(
  open: readonly T[],
): ReadonlyMap<T, number> {
  const { drainCallsMs } = GATEWAY_LIMITS.sessions;
  const { handedOverAtOnce: atOnce } = GATEWAY_LIMITS.nodes;
  const running = open.filter(({ session }) => session.state === "running");
  const groups = Math.ceil(running.length / atOnce);
  return new Map(running.map((one, index) => [one, (drainCallsMs * (Math.floor(index / atOnce) + 1)) / groups]));
}

/** Waits for its turn, but not for people: that may take hours, and the question is asked again by the next gateway. */
export async function drainWithin(session: Session, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const check = () => {
      if (session.state !== "running" || signal.aborted) resolve();
    };
    session.onInfo(check);
    abortListeners(signal).add(check);
    check();
  });
  await session.drain(GATEWAY_LIMITS.sessions.drainCallsMs);
}

/** Nobody waits long for a database that is away: then the lease ends by itself. */
export async function announceDrain(world: World, nodes: Nodes): Promise<void> {
  using patience = world.deadline(GATEWAY_LIMITS.nodes.announceMs);
  await orAborted(nodes.drain(), patience.signal).catch((error: unknown) => {
    world.log.warn("gateway.drain_not_announced", { error: messageOf(error) });
  });
}

/** For what the next gateway answers. */
export function unanswered(): Promise<never> {
  return new Promise(() => {});
}
