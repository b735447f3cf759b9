// Turns that a gateway which is gone left open: they go on in the environment they were begun in, or wait for it.
import { sleep } from "../../base/async/deadline.js";
import { handled } from "../../base/async/scope.js";
import { type TenonError, toTenonError } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import type { Session, SessionStore, StoredRequest } from "../../session/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { RuntimePlace, Runtimes, UsedRuntime } from "./runtimes.js";

/** A session in memory, as far as this file needs it. */
interface OpenedSession {
  readonly id: string;
  readonly account: string;
  readonly session: Session;
  readonly runtime: UsedRuntime;
  readonly hasEnvironment: boolean;
  readonly closing?: Promise<void>;
}

interface LeftTurnsOptions {
  readonly world: World;
  readonly runtimes: Runtimes;
  /** The turn was another node's: its client is elsewhere, and so are the log-ins of its servers. */
  readonly isAmongNodes: boolean;
  account(name: string): {
    readonly place: Pick<RuntimePlace, "stateDir" | "kept">;
    readonly store: SessionStore;
    readonly open: ReadonlyMap<string, OpenedSession>;
  };
  /** Opens the session in the gateway's own environment. */
  join(request: StoredRequest, account: string): Promise<unknown>;
}

const MOVED =
  "The session moved to another node of the gateway. Its servers were started again: what they held in memory is gone, and those that need a log-in ask for it again.";

type Unfinished = Awaited<ReturnType<SessionStore["unfinished"]>>[number];

export class LeftTurns {
  readonly #options: LeftTurnsOptions;
  /** Until then a turn that was begun in the environment of a client is left to its clients. */
  readonly #awaitsUntilMs: number;
  /** Sessions with such a turn that are not in memory, by account and id. */
  readonly #held = new Set<string>();

  constructor(options: LeftTurnsOptions) {
    this.#options = options;
    const waitMs = options.isAmongNodes ? 0 : GATEWAY_LIMITS.sessions.awaitEnvironmentMs;
    this.#awaitsUntilMs = options.world.monotonicMs() + waitMs;
  }

  isHeld(account: string, id: string): boolean {
    return this.#held.has(`${account} ${id}`);
  }

  heldOf(account: string): readonly string[] {
    return [...this.#held].filter((key) => key.startsWith(`${account} `)).map((key) => key.slice(account.length + 1));
  }

  /** The session is not in memory, and its turn has not gone on. */
  hold(account: string, id: string): void {
    this.#held.add(`${account} ${id}`);
  }

  /** It is opened, or deleted. */
  forget(account: string, id: string): void {
    this.#held.delete(`${account} ${id}`);
  }

  /** With what was left open in a session that was opened, unless it waits for a client. */
  goOn(open: OpenedSession): void {
    const { session, account } = open;
    const { world } = this.#options;
    const about = { session: session.id, account };
    this.forget(account, session.id);
    const reason = heldReason(open, world.monotonicMs() < this.#awaitsUntilMs);
    if (reason !== undefined) {
      world.log.info("session.held", { ...about, reason });
      return session.notice("warning", reason);
    }
    if (session.unfinished) world.log.info("session.continued", { ...about, epoch: session.owned.epoch });
    const notice = this.#options.isAmongNodes ? MOVED : undefined;
    handled(session.continueOpenTurn(notice).catch(toldByItsRecord), world.log, "continue a turn");
  }

  /** Clients that come back bring their environment; those that do not come in time are not waited for. */
  async continue(account: string, signal: AbortSignal): Promise<void> {
    const { world } = this.#options;
    const { continueWithinMs, awaitClientMs, awaitEnvironmentMs } = GATEWAY_LIMITS.sessions;
    const { store, open } = this.#options.account(account);
    const unfinished = await store.unfinished(world.now() - continueWithinMs);
    for (const { id, environment } of unfinished) if (environment && !open.has(id)) this.hold(account, id);
    const continueAfter = async (waitMs: number, isWithEnvironment: boolean) => {
      const some = unfinished.filter(({ environment }) => (environment !== undefined) === isWithEnvironment);
      if (some.length > 0) await sleep(world, waitMs, signal);
      for (const one of some) if (!signal.aborted) await this.#continue(account, one);
    };
    await Promise.all([continueAfter(awaitClientMs, false), continueAfter(awaitEnvironmentMs, true)]);
  }

  /** Why a runtime there has no model for a turn; `begunWith`: the model of its beginning. */
  async problemIn(place: RuntimePlace, begunWith: string | undefined): Promise<TenonError | undefined> {
    const runtime = await this.#options.runtimes.use(place);
    runtime.release(); // it is kept for a while
    return runtime.host.problemOf(begunWith);
  }

  async #continue(account: string, { id, cwd, additionalDirectories, environment }: Unfinished): Promise<void> {
    const { log } = this.#options.world;
    const { open, place } = this.#options.account(account);
    try {
      const known = open.get(id);
      if (known?.session.unfinished) return this.goOn(known);
      const problem = environment && (await this.problemIn({ ...place, cwd }, environment.model));
      if (open.has(id)) return;
      if (!problem) {
        await this.#options.join({ id, cwd, additionalDirectories }, account);
        // A client that came at the same moment may have opened it, and left the turn as it is.
        const opened = open.get(id);
        if (opened?.session.unfinished) this.goOn(opened);
      } else {
        this.hold(account, id);
        log.warn("session.held", { session: id, account, reason: problem.message });
      }
    } catch (error) {
      log.warn("session.not_continued", { session: id, account, error: toTenonError(error).message });
    }
  }
}

/** Why it does not go on here, for people. */
function heldReason({ session, runtime, hasEnvironment }: OpenedSession, isAwaited: boolean): string | undefined {
  const model = begunWith(session);
  if (model === undefined) return undefined;
  if (!hasEnvironment && isAwaited) return "The open turn goes on when its client is back, or in a minute without it.";
  const problem = runtime.host.problemOf(model);
  return problem && `The open turn waits for a client whose environment has what its model needs: ${problem.message}`;
}

/** The model of a turn that was left open, if it was begun in the environment of a client. */
export function begunWith({ unfinished }: Session): string | undefined {
  return unfinished?.environment?.model;
}

/** Nothing runs in it, and nothing could: a client that has what it needs may open it anew. */
export function lacksEnvironment({ session, runtime, hasEnvironment, closing }: OpenedSession): boolean {
  if (closing) return false;
  const hasProblem = runtime.host.problemOf(begunWith(session)) !== undefined;
  if (session.unfinished) return hasProblem || !hasEnvironment;
  return session.state === "idle" && hasProblem && !hasEnvironment;
}

/** Its last record says how the turn ended, to every client. */
function toldByItsRecord(): void {}
