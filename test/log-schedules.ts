// Random schedules over one session, its log and its store: appends, followers that come and go, crashes, takeovers, full disks.
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import type { SessionId } from "../src/base/id.js";
import { EventStream } from "../src/session/events.js";
import type { JournalEntry } from "../src/session/journal/entry.js";
import { History } from "../src/session/journal/history.js";
import { Journal } from "../src/session/journal/journal.js";
import { Unpacking } from "../src/session/journal/read-journal.js";
import { SESSION_LIMITS } from "../src/session/limits.js";
import { RecordEvents } from "../src/session/log/record-events.js";
import { type Followed, SessionLog } from "../src/session/log/session-log.js";
import { FileSessionStore, type StoreWorld, sessionId } from "../src/session/store/file-store.js";
import type { OwnedSession, SessionStore } from "../src/session/store/session-store.js";
import { fakeWorld } from "../src/testing/index.js";

type Action =
  | { readonly kind: "say"; readonly count: number }
  | { readonly kind: "turn" | "call" | "moment" | "crash" | "tear" | "supersede" | "reopen" | "zombie" | "disk" }
  | { readonly kind: "outcome"; readonly isLong: boolean }
  | { readonly kind: "connect" | "disconnect"; readonly client: number }
  | { readonly kind: "read"; readonly client: number; readonly count: number };

const client = fc.nat(2);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 60, arbitrary: fc.record({ kind: fc.constant("say" as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "say" as const, count: SESSION_LIMITS.log.items + 9 }) },
  { weight: 30, arbitrary: fc.record({ kind: fc.constantFrom("turn", "call", "moment") }) },
  { weight: 30, arbitrary: fc.record({ kind: fc.constant("outcome" as const), isLong: fc.boolean() }) },
  {
    weight: 30,
    arbitrary: fc.record({ kind: fc.constantFrom("crash", "tear", "supersede", "reopen", "zombie", "disk") }),
  },
  { weight: 50, arbitrary: fc.record({ kind: fc.constantFrom("connect", "disconnect"), client }) },
  {
    weight: 90,
    arbitrary: fc.record({ kind: fc.constant("read" as const), client, count: fc.integer({ min: 1, max: 30 }) }),
  },
);

const say = (count: number): Action => ({ kind: "say", count });
/** The disk takes the last record but for the end of its line. */
const CUT_BEFORE_ITS_END: Action[] = [
  ...[say(3), { kind: "disk" } as const, say(4), say(4), say(4), { kind: "crash" } as const],
  ...[{ kind: "connect", client: 0 } as const, { kind: "read", client: 0, count: 9 } as const],
  ...[{ kind: "connect", client: 0 } as const, { kind: "crash" } as const, say(1), { kind: "crash" } as const],
  { kind: "connect", client: 0 },
];

/** What was tried in all schedules together. */
export interface ScheduleCounts {
  schedules: number;
  records: number;
  followed: number;
  resumed: number;
  takeovers: number;
  refused: number;
}

/** Where the session of one schedule is, and what can happen to it there. */
export interface SchedulePlace {
  /** A process of its own. */
  process(): SessionStore;
  readonly id: SessionId;
  /** Its owner is dead; `isAlive`: it lives on, and does not know that the session is not its own any more. */
  takeAway(owner: { readonly store: SessionStore; readonly owned: OwnedSession }, isAlive: boolean): Promise<void>;
  /** Everything that can happen by itself has happened, mostly. */
  settle(): Promise<void>;
  /** Appends fail from now on, some of them halfway. */
  fail(isFailing: boolean): void;
}

/** Rejects with the shortest schedule that shows a gap, a repeat, a wrong event or a second outcome. */
export async function runSchedules(
  numRuns: number,
  makePlace: () => SchedulePlace = filesPlace,
): Promise<ScheduleCounts> {
  const counts: ScheduleCounts = { schedules: 0, records: 0, followed: 0, resumed: 0, takeovers: 0, refused: 0 };
  const property = fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
    const run = new ScheduleRun(counts, makePlace());
    for (const one of actions) await run.act(one);
    await run.check();
    counts.schedules += 1;
  });
  await fc.assert(property, { numRuns, examples: [[CUT_BEFORE_ITS_END]] });
  return counts;
}

const LONG = "long ".repeat(SESSION_LIMITS.journal.blobChars / 4);

/** What is in memory has come. */
async function soon(): Promise<undefined> {
  for (let turn = 0; turn < 6; turn += 1) await Promise.resolve();
}

class ScheduleRun {
  readonly #counts: ScheduleCounts;
  readonly #place: SchedulePlace;
  readonly #clients = [new Client(), new Client(), new Client()];
  #isFailing = false;
  #owner: Owner;
  /** An owner that was superseded and does not know it. */
  #zombie: Owner | undefined;

  constructor(counts: ScheduleCounts, place: SchedulePlace) {
    this.#counts = counts;
    this.#place = place;
    const store = place.process();
    const owned = store.create({ id: place.id, cwd: "/p" });
    this.#owner = new Owner({ store, owned, history: new History() });
  }

  async act(one: Action): Promise<void> {
    switch (one.kind) {
      case "say":
        this.#owner.say(one.count);
        break;
      case "turn":
        this.#owner.turn();
        break;
      case "call":
        this.#owner.call();
        break;
      case "outcome":
        this.#owner.outcome(one.isLong);
        break;
      case "moment":
        this.#owner.events.notice("info", "a moment");
        break;
      case "disk":
        this.#isFailing = !this.#isFailing;
        this.#place.fail(this.#isFailing);
        break;
      case "zombie":
        await this.#tryZombie();
        break;
      case "connect":
      case "disconnect":
        await this.#clients[one.client]?.disconnect();
        if (one.kind === "connect") this.#counts.resumed += this.#clients[one.client]?.connect(this.#owner.log) ?? 0;
        break;
      case "read":
        await this.#clients[one.client]?.read(one.count, this.#place);
        break;
      default:
        await this.#change(one.kind);
    }
  }

  /** Another owner takes the session over. */
  async #change(kind: "crash" | "tear" | "supersede" | "reopen"): Promise<void> {
    const old = this.#owner;
    await old.owned.settled;
    if (kind === "tear") {
      this.#place.fail(true);
      old.say();
    }
    this.#isFailing = false;
    this.#place.fail(false);
    if (kind === "supersede") {
      await this.#place.takeAway(old, true);
      await this.#zombie?.owned.release();
      this.#zombie = old;
    } else {
      for (const one of this.#clients) await one.disconnect();
      if (kind === "reopen") await old.close();
      else await this.#place.takeAway(old, false);
      await this.#zombie?.owned.release();
      this.#zombie = undefined;
    }
    const store = this.#place.process();
    const history = new History();
    const about = { id: this.#place.id, cwd: "/p" };
    const { owned } = await store.acquire(about, (record) => history.addStored(record));
    if (owned.epoch < old.owned.epoch) throw new Error("the epoch fell");
    this.#owner = new Owner({ store, owned, history });
    this.#counts.takeovers += 1;
  }

  async #tryZombie(): Promise<void> {
    const zombie = this.#zombie;
    if (!zombie) return;
    zombie.say();
    zombie.outcome(false);
    await zombie.journal.durable()?.catch(nothing);
    if (!zombie.owned.lost.aborted) throw new Error("a superseded owner was not refused");
    this.#counts.refused += 1;
  }

  /** Each client saw a beginning of the log, each record once, as the events that the stored record is. */
  async check(): Promise<void> {
    this.#place.fail(false);
    this.#owner.say();
    this.#owner.journal.assertWritten();
    await this.#owner.journal.durable();
    await this.#tryZombie();
    for (const one of this.#clients) {
      await one.disconnect();
      one.connect(this.#owner.log);
      await one.readTo(this.#owner.journal.seq);
      await one.read(Number.POSITIVE_INFINITY, this.#place); // which is nothing
      await one.disconnect();
    }
    const { texts, outcomes } = await this.#stored();
    for (const { seen } of this.#clients) {
      if (seen.length !== texts.length) throw new Error(`a client saw ${seen.length} of ${texts.length} records`);
      for (const [index, text] of seen.entries()) {
        if (text !== texts[index]) throw new Error(`record ${index + 1} is ${texts[index]}, and was seen as ${text}`);
      }
      this.#counts.followed += seen.length;
    }
    for (const [call, count] of outcomes) if (count > 1) throw new Error(`call ${call} has ${count} outcomes`);
    this.#counts.records += texts.length;
    await this.#owner.close();
    await this.#zombie?.close();
  }

  async #stored(): Promise<{ readonly texts: readonly string[]; readonly outcomes: ReadonlyMap<string, number> }> {
    const [texts, outcomes] = [[] as string[], new Map<string, number>()];
    const [unpacking, events] = [new Unpacking(), new RecordEvents()];
    await this.#owner.store.readAll(this.#place.id, (record) => {
      const whole = unpacking.add(record);
      texts.push(textOf(whole ? events.of(whole) : []));
      if (whole?.kind === "outcome") outcomes.set(whole.toolCallId, (outcomes.get(whole.toolCallId) ?? 0) + 1);
    });
    return { texts, outcomes };
  }
}

/** In files of a fake World, whose disk may be full. */
function filesPlace(): SchedulePlace {
  const fake = fakeWorld();
  const { files, log } = fake;
  const alive = new Set<number>();
  const processes = new Map<SessionStore, number>();
  const id = sessionId("s");
  let [lastProcess, nowMs, isFull] = [100, 0, false];
  const { openAppend } = files;
  files.openAppend = (path) => {
    const file = openAppend.call(files, path);
    const write: typeof file.write = (text, options) => {
      if (!isFull) return file.write(text, options);
      file.write(text.slice(0, text.length / 2), options);
      throw new Error("ENOSPC");
    };
    return { ...file, write };
  };
  return {
    id,
    settle: () => new Promise((resolve) => setImmediate(resolve)),
    process: () => {
      lastProcess += 1;
      const ownId = lastProcess;
      alive.add(ownId);
      const identityOf = (one: number) => (alive.has(one) ? `born-${one}` : undefined);
      const world: StoreWorld = {
        ...{ files, log, now: () => 1, monotonicMs: () => nowMs },
        randomBytes: (count) => randomBytes(count),
        after: (ms, run) => fake.after(ms, run),
        deadline: (ms, signal) => fake.deadline(ms, signal),
        processes: { ...fake.processes, ownId, identityOf },
      };
      const store = new FileSessionStore(world, "/state");
      processes.set(store, ownId);
      return store;
    },
    takeAway: async ({ store }, isAlive) => {
      if (!isAlive) alive.delete(processes.get(store) ?? 0);
      else await files.remove(`/state/session-locks/${id}.lock`);
      nowMs += SESSION_LIMITS.journal.lockLookMs;
    },
    fail: (isFailing) => {
      isFull = isFailing;
    },
  };
}

function textOf(events: readonly unknown[]): string {
  return JSON.stringify(events).replace(LONG, "long");
}

interface OwnerOptions {
  readonly store: SessionStore;
  readonly owned: OwnedSession;
  readonly history: History;
}

/** What a session does with its journal and its log. */
class Owner {
  readonly store: SessionStore;
  readonly owned: OwnedSession;
  readonly events = new EventStream();
  readonly log: SessionLog;
  readonly journal: Journal;
  readonly #open: string[] = [];
  #turn: number;
  #isInTurn = false;
  #calls = 0;

  constructor({ store, owned, history }: OwnerOptions) {
    this.store = store;
    this.owned = owned;
    this.#turn = history.restored.turnCount;
    const openRecords = [...(history.restored.openTurn?.records ?? [])];
    const { turnStarts } = history;
    this.log = new SessionLog({ store, owned, events: this.events, turnStarts, openRecords });
    const tail = history.tail(history.end());
    this.journal = new Journal({ world: { now: () => 1, log: SILENT }, sink: owned, tail, listener: this.log });
  }

  say(count = 1): void {
    const { seq } = this.journal;
    this.journal.append(...Array.from({ length: count }, (_, at) => ({ kind: "text", text: `${seq + at}` }) as const));
  }

  turn(): void {
    if (this.#isInTurn) {
      while (this.#open.length > 0) this.outcome(false);
      this.#append({ kind: "end", turn: this.#turn, stopReason: "end_turn" });
    } else {
      this.#turn += 1;
      this.#append({ kind: "prompt", turn: this.#turn, content: [{ type: "text", text: "go" }] });
    }
    this.#isInTurn = !this.#isInTurn;
  }

  call(): void {
    if (!this.#isInTurn) this.turn();
    this.#calls += 1;
    const toolCallId = `${this.#turn}-${this.#calls}`;
    const look = { kind: "read", title: toolCallId, locations: [] } as const;
    this.#append({ kind: "call", toolCallId, subject: { name: "tool" }, arguments: {}, look });
    this.#append({ kind: "intent", toolCallId, definitionHash: "" });
    this.#open.push(toolCallId);
  }

  outcome(isLong: boolean): void {
    const toolCallId = this.#open.shift();
    if (toolCallId === undefined) return;
    const content = [{ type: "text", text: isLong ? LONG : "done" }] as const;
    this.#append({ kind: "outcome", toolCallId, outcome: { kind: "done", content }, elapsedMs: 1 });
  }

  async close(): Promise<void> {
    await this.journal.close();
    this.log.close();
    await this.owned.release();
  }

  #append(entry: JournalEntry): void {
    this.journal.append(entry);
  }
}

const nothing = () => undefined;
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Comes back with the number of the last record it has. */
class Client {
  /** The records it has, from the first one on, as texts. */
  readonly seen: string[] = [];
  #following: AsyncIterator<Followed> | undefined;
  #next: Promise<IteratorResult<Followed>> | undefined;
  #controller = new AbortController();

  /** How many records it had before. */
  connect(log: SessionLog): number {
    this.#controller = new AbortController();
    this.#following = log.follow(this.seen.length, this.#controller.signal);
    return this.seen.length;
  }

  async disconnect(): Promise<void> {
    this.#controller.abort();
    await this.#next?.catch(nothing); // what was on the way is lost with the connection
    this.#next = undefined;
    this.#following = undefined;
  }

  /** As many as come by themselves. */
  async read(count: number, { settle }: Pick<SchedulePlace, "settle">): Promise<void> {
    for (let at = 0; at < count && this.#following; at += 1) {
      this.#next ??= this.#following.next();
      const got =
        (await Promise.race([this.#next, soon()])) ?? (await Promise.race([this.#next, settle().then(nothing)]));
      if (got === undefined) return; // it waits for more
      this.#next = undefined;
      if (got.done) return;
      this.#see(got.value);
    }
  }

  /** Waits for this record. */
  async readTo(seq: number): Promise<void> {
    while (this.seen.length < seq && this.#following) {
      const got = await (this.#next ?? this.#following.next());
      this.#next = undefined;
      if (got.done) return;
      this.#see(got.value);
    }
  }

  #see(followed: Followed): void {
    if (followed.kind !== "record") return;
    const { seq, events } = followed;
    if (seq !== this.seen.length + 1) throw new Error(`record ${seq} came after record ${this.seen.length}`);
    this.seen.push(textOf(events));
  }
}
