// What every store of sessions must do. The place gives stores as separate processes have them, and can spoil things.
import { expect } from "vitest";
import type { SessionId } from "../src/base/id.js";
import type { JournalEntry } from "../src/session/journal/entry.js";
import { Journal } from "../src/session/journal/journal.js";
import type { StoredRecord } from "../src/session/journal/read-journal.js";
import { sessionId } from "../src/session/store/file-store.js";
import type { OwnedSession, SessionStore } from "../src/session/store/session-store.js";

export interface StoreProcess {
  readonly store: SessionStore;
  readonly name: string;
  /** Without a word. Resolves once the others can know. */
  die(): Promise<void> | void;
}

export interface StorePlace extends AsyncDisposable {
  /** A process of its own. */
  process(): Promise<StoreProcess> | StoreProcess;
  /** The owner lives on, and does not own the session any more. */
  takeAway(id: SessionId): Promise<void>;
  /** Makes a record, and what follows it, unreadable; false where a store cannot be damaged. */
  damage(id: SessionId, seq: number): Promise<boolean>;
  keepResult(id: SessionId, text: string): Promise<void>;
  keptResult(id: SessionId): Promise<string | undefined>;
}

const ID = sessionId("one");
const ABOUT = { id: ID, cwd: "/project" };
const PROMPT: JournalEntry = { kind: "prompt", turn: 1, content: [{ type: "text", text: "hello" }] };

function journalOf(sink: OwnedSession): Journal {
  return new Journal({ world: { now: () => 1_000, log: SILENT }, sink });
}

const nothing = () => undefined;
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing };

const said = (text: string): JournalEntry => ({ kind: "text", text });

async function write(owned: OwnedSession, ...entries: readonly JournalEntry[]): Promise<void> {
  const journal = journalOf(owned);
  journal.append(...entries);
  await journal.durable();
  journal.assertWritten();
}

/** In pages of that size. */
async function readAll(store: SessionStore, after = 0, limit = 500): Promise<readonly StoredRecord[]> {
  const all: StoredRecord[] = [];
  for (;;) {
    const page = await store.read(ID, all.at(-1)?.seq ?? after, limit);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

const code = (expected: string) => expect.objectContaining({ code: expected });

type Rule = (place: StorePlace) => Promise<void>;

/** Each with the sentence that it shows. */
const RULES: readonly (readonly [string, Rule])[] = [
  [
    "records count from 1 without a gap, and are read in order from any number on, in pages",
    async (place) => {
      const { store } = await place.process();
      const owned = store.create(ABOUT);
      await owned.settled;
      expect(owned.lastSeq).toBe(0);
      await write(owned, PROMPT, said("a"));
      await write(owned, said("b"), { kind: "closed" });
      expect(owned.lastSeq).toBe(4);
      const all = await readAll(store);
      expect(all.map(({ seq, kind }) => [seq, kind])).toEqual([
        [1, "prompt"],
        [2, "text"],
        [3, "text"],
        [4, "closed"],
      ]);
      for (let after = 0; after <= 4; after++) {
        expect(await readAll(store, after, 1)).toEqual(all.slice(after));
        expect(await readAll(store, after)).toEqual(all.slice(after));
      }
      for (const seq of [4, 6])
        await expect(owned.append([{ seq, line: "{}", entry: said("") }])).rejects.toEqual(code("internal"));
      expect(await readAll(store)).toEqual(all);
      await write(owned, { ...PROMPT, turn: 2 }, said("c"));
      const starts = [0, 1, 4, 5, 6, 99].map((upTo) => store.turnStart(ID, upTo));
      expect(await Promise.all(starts)).toEqual([0, 1, 1, 5, 5, 5]);
      for (const upTo of [0, 1, 4, 5, 6, 99]) {
        const start = upTo < 5 ? 1 : 5;
        const needed = (seq: number) => seq > upTo || seq === start;
        const found = (await store.readTurn(ID, upTo, 9)).map(({ seq }) => seq);
        expect(found.filter(needed)).toEqual([1, 2, 3, 4, 5, 6].filter((seq) => seq >= start && needed(seq)));
        expect(found[0]).toBe(start);
      }
      await expect(store.readTurn("nobody", 1, 1)).rejects.toEqual(code("session.not_found"));
      await expect(store.turnStart("nobody", 1)).rejects.toEqual(code("session.not_found"));
      await expect(store.read("nobody", 0, 1)).rejects.toEqual(code("session.not_found"));
      await expect(store.read("../../etc/passwd", 0, 1)).rejects.toEqual(code("session.not_found"));
      await owned.release();
    },
  ],

  [
    "what is read while it is written is a beginning of what is there in the end",
    async (place) => {
      const [writer, reader] = [await place.process(), await place.process()];
      const owned = writer.store.create(ABOUT);
      await owned.settled;
      const journal = journalOf(owned);
      const seen: StoredRecord[] = [];
      for (let round = 0; round < 30; round++) {
        journal.append(said(`${round} ${"größer ".repeat(round * 400)}`), said("x"));
        const page = await reader.store.read(ID, seen.length, 7);
        expect(page.every(({ seq }, index) => seq === seen.length + index + 1)).toBe(true);
        seen.push(...page);
      }
      await journal.durable();
      const all = await readAll(reader.store);
      expect(all).toHaveLength(60);
      expect(seen).toEqual(all.slice(0, seen.length));
      expect(await readAll(reader.store, 31, 3)).toEqual(all.slice(31));
      await owned.release();
    },
  ],

  [
    "a session has one owner: another gets it when that one releases it or is dead, under a higher epoch",
    async (place) => {
      const [first, second, third] = [await place.process(), await place.process(), await place.process()];
      const owned = first.store.create(ABOUT);
      await owned.settled;
      await write(owned, PROMPT);
      const busy = second.store.acquire(ABOUT, nothing);
      await expect(busy).rejects.toEqual(code("session.busy"));
      await expect(busy).rejects.toThrow(first.name);
      await expect(second.store.remove(ID)).rejects.toEqual(code("session.busy"));
      await owned.release();
      const next = await second.store.acquire(ABOUT, nothing);
      expect(next.owned.epoch).toBeGreaterThan(owned.epoch);
      expect(next.owned.lastSeq).toBe(1);
      await write(next.owned, said("b"));
      await second.die();
      const last = await third.store.acquire(ABOUT, nothing);
      expect(last.owned.epoch).toBeGreaterThan(next.owned.epoch);
      expect(last.owned.lastSeq).toBe(2);
      await last.owned.release();
      await expect(third.store.acquire({ ...ABOUT, id: sessionId("nobody") }, nothing)).rejects.toEqual(
        code("session.not_found"),
      );
    },
  ],

  [
    "of several who create or acquire a session at once, one has it",
    async (place) => {
      const processes = await Promise.all(Array.from({ length: 4 }, async () => await place.process()));
      const created = processes.slice(0, 2).map(({ store }) => store.create(ABOUT, { isPromised: true }));
      const settled = await Promise.allSettled(created.map((one) => one.settled));
      expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(settled.find(({ status }) => status === "rejected")).toMatchObject({ reason: code("session.busy") });
      await Promise.all(created.map((one) => one.release()));
      const acquired = await Promise.allSettled(processes.map(({ store }) => store.acquire(ABOUT, nothing)));
      const winners = acquired.flatMap((one) => (one.status === "fulfilled" ? [one.value.owned] : []));
      expect(winners).toHaveLength(1);
      await winners[0]?.release();
    },
  ],

  [
    "an owner that was superseded is refused and told, and nothing of it is in the log",
    async (place) => {
      const [first, second] = [await place.process(), await place.process()];
      const old = first.store.create(ABOUT);
      await old.settled;
      const journal = journalOf(old);
      journal.append(PROMPT);
      await journal.durable();
      await place.takeAway(ID);
      const { owned } = await second.store.acquire(ABOUT, nothing);
      await write(owned, said("of the second"));
      journal.append(said("of the first"));
      await expect(journal.durable()).rejects.toEqual(code("session.superseded"));
      expect(() => journal.assertWritten()).toThrow(code("session.superseded"));
      expect(old.lost.aborted).toBe(true);
      expect(old.lost.reason).toEqual(code("session.superseded"));
      await old.release(); // which takes nothing from the second
      await expect(first.store.acquire(ABOUT, nothing)).rejects.toEqual(code("session.busy"));
      await write(owned, said("still of the second"));
      expect((await readAll(second.store)).flatMap((one) => (one.kind === "text" ? [one.text] : []))).toEqual([
        "of the second",
        "still of the second",
      ]);
      await owned.release();
    },
  ],

  [
    "a copy has everything and goes its own way; what is removed is gone, and nothing else",
    async (place) => {
      const { store } = await place.process();
      const owned = store.create(ABOUT);
      await owned.settled;
      await write(owned, { kind: "title", title: "hello" }, PROMPT, said("x".repeat(40_000)));
      await place.keepResult(ID, "kept");
      await store.setTitle(ID, "mine");
      const copy = sessionId("two");
      await store.copy(ID, { id: copy, cwd: "/elsewhere", label: "work" });
      const records: StoredRecord[] = [];
      const acquired = await store.acquire({ id: copy, cwd: "/elsewhere" }, (record) => records.push(record));
      expect(records).toEqual(await readAll(store));
      expect(acquired).toMatchObject({ forkedFrom: ID, label: "work", isTitled: true, problems: [] });
      await write(acquired.owned, said("only here"));
      await acquired.owned.release();
      expect(await readAll(store)).toHaveLength(3);
      const { sessions } = await store.list({});
      expect(new Set(sessions.map(({ id, cwd, title }) => [id, cwd, title].join()))).toEqual(
        new Set(["one,/project,mine", "two,/elsewhere,mine"]),
      );
      expect((await store.list({ label: "work" })).sessions.map(({ id }) => id)).toEqual([copy]);
      expect((await store.list({ cwd: "/project" })).sessions.map(({ id }) => id)).toEqual([ID]);
      await owned.release();
      await store.remove(ID);
      await store.remove(ID);
      expect([await store.has(ID), await store.has(copy)]).toEqual([false, true]);
      expect([await place.keptResult(ID), await place.keptResult(copy)]).toEqual([undefined, "kept"]);
      await expect(store.read(ID, 0, 1)).rejects.toEqual(code("session.not_found"));
      await expect(store.copy(ID, { id: sessionId("x"), cwd: "/" })).rejects.toEqual(code("session.not_found"));
    },
  ],

  [
    "a session is where it was begun, whoever opens it and wherever its copies are",
    async (place) => {
      const { store } = await place.process();
      const additionalDirectories = ["/more"];
      const owned = store.create({ ...ABOUT, additionalDirectories });
      await owned.settled;
      await write(owned, { kind: "title", title: "hello" }, PROMPT);
      await owned.release();
      const begun = { cwd: "/project", additionalDirectories };
      expect(await store.place(ID)).toMatchObject(begun);
      const again = await store.acquire({ id: ID, cwd: "/evil" }, nothing);
      await write(again.owned, said("x"));
      await again.owned.release();
      expect(await store.place(ID)).toMatchObject(begun);
      const copy = sessionId("two");
      await store.copy(ID, { id: copy, cwd: "/elsewhere" });
      expect(await store.place(copy)).toMatchObject({ cwd: "/elsewhere", additionalDirectories: [] });
      for (const id of ["nobody", "../one"]) await expect(store.place(id)).rejects.toEqual(code("session.not_found"));
    },
  ],

  [
    "turns of a gateway's clients that were left open are found, and no others",
    async (place) => {
      const left = async (id: string, ...entries: readonly JournalEntry[]) => {
        const { store, die } = await place.process();
        const owned = store.create({ id: sessionId(id), cwd: "/project" });
        await owned.settled;
        await write(owned, { kind: "title", title: id }, ...entries);
        await die();
      };
      const by = { client: "c", name: "editor" };
      const content = [{ type: "text", text: "hello" }] as const;
      const asked = { kind: "prompt", turn: 1, content, promptId: "p", by } as const;
      await left("open", asked, said("a"));
      await left("ended", asked, { kind: "end", turn: 1, stopReason: "end_turn" });
      await left("closed", asked, { kind: "closed" });
      await left("of-stdio", PROMPT, said("a"));
      await left(
        "waits",
        asked,
        { kind: "error", turn: 1, code: "internal", message: "m" },
        { kind: "queued", promptId: "q", by, content },
      );
      const environment = { model: "test/one" };
      await left("with-environment", { ...asked, environment });
      await left("waits-with-environment", { kind: "queued", promptId: "q", by, content, environment });
      const { store } = await place.process();
      const found = await store.unfinished(0);
      const inOrder = found.toSorted((one, other) => (one.id < other.id ? -1 : 1));
      expect(inOrder.map((one) => [one.id, one.environment])).toEqual([
        ["open", undefined],
        ["waits", undefined],
        ["waits-with-environment", environment],
        ["with-environment", environment],
      ]);
      expect(await store.unfinished(Number.MAX_SAFE_INTEGER)).toEqual([]);
    },
  ],

  [
    "damage costs what follows it and is told; reading from the middle agrees, and writing goes on",
    async (place) => {
      const { store } = await place.process();
      const owned = store.create(ABOUT);
      await owned.settled;
      const journal = journalOf(owned);
      for (let index = 0; index < 40; index++) journal.append(said(`${index} ${"x".repeat(20_000)}`));
      await journal.durable();
      expect(await store.read(ID, 30, 1)).toHaveLength(1);
      await owned.release();
      if (!(await place.damage(ID, 36))) return;
      const again = (await place.process()).store;
      const acquired = await again.acquire(ABOUT, nothing);
      expect(acquired.problems).toEqual([expect.stringContaining("damaged")]);
      expect(acquired.owned.lastSeq).toBe(35);
      await write(acquired.owned, said("after"));
      for (const one of [store, again]) {
        const all = await readAll(one);
        expect(all).toHaveLength(36);
        expect(all.at(-1)).toMatchObject({ seq: 36, text: "after" });
        for (const after of [0, 20, 34, 35]) expect(await readAll(one, after, 5)).toEqual(all.slice(after));
      }
      await acquired.owned.release();
    },
  ],
];

/** Throws for the first rule that a store breaks. Every rule gets a place of its own. */
export async function checkStore(make: () => Promise<StorePlace>): Promise<void> {
  for (const [title, rule] of RULES) {
    await using place = await make();
    try {
      await rule(place);
    } catch (error) {
      throw new Error(`not true: ${title}`, { cause: error });
    }
  }
}
