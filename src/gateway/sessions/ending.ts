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
}

export async function endSession(open: EndingSession, { world, nodes, mayGoOn }: EndingOptions): Promise<void> {
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
  await session.drain(GATEWAY_LIMITS.sessions.drainCallsMs, () => {
    world.log.info("session.handed_over", { session: id, account, epoch });
    reconnect();
  });
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
