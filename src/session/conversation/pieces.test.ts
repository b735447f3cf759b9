// Pieces of an answer: journaled before they are told, joined in one turn of the event loop, in order, never lost.
import fc from "fast-check";
import { expect, test } from "vitest";
import { LIMITS } from "../../base/limits.js";
import { fakeWorld } from "../../testing/index.js";
import { EventStream, type SessionEvent } from "../events.js";
import { Journal } from "../journal/journal.js";
import { SESSION_LIMITS } from "../limits.js";
import { FileSessionStore, sessionId } from "../store/file-store.js";
import { type Piece, Pieces } from "./conversation.js";

const PATH = "/state/sessions/s.ndjson";

function setUp() {
  const world = fakeWorld();
  const audience = new EventStream();
  const sink = new FileSessionStore(world, "/state").create({ id: sessionId("s"), cwd: "/" });
  const journal = new Journal({ world, sink });
  const events = audience.subscribe([]);
  const recorded = async (): Promise<Piece[]> =>
    (await world.files.readText(PATH))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ kind }) => kind === "text" || kind === "thought");
  return { world, audience, journal, events, recorded, pieces: new Pieces({ world, journal, events: audience }) };
}

function pieceOf(event: SessionEvent): Piece {
  if (event.kind !== "turn" || (event.event.kind !== "text" && event.event.kind !== "thought")) {
    throw new Error(`not a piece: ${event.kind}`);
  }
  return event.event;
}

test("what comes in one turn of the event loop is one record, and each piece is told", async () => {
  const { world, pieces, events, recorded } = setUp();
  for (const text of ["a", "b", "c"]) await pieces.add({ kind: "text", text });
  await pieces.add({ kind: "thought", text: "hm" });
  expect(await recorded()).toEqual([]);
  await world.settle();
  expect(await recorded()).toMatchObject([
    { kind: "text", text: "abc" },
    { kind: "thought", text: "hm" },
  ]);
  const told = [];
  for (let count = 0; count < 4; count++) told.push(pieceOf((await events.next()).value).text);
  expect(told).toEqual(["a", "b", "c", "hm"]);
});

test("nothing is told before it is in the journal", async () => {
  const { pieces, events, journal } = setUp();
  let told = 0;
  let written = 0;
  const append = journal.append.bind(journal);
  journal.append = (...entries) => {
    append(...entries);
    written += entries.reduce((sum, entry) => sum + (entry.kind === "text" ? entry.text.length : 0), 0);
  };
  const reading = (async () => {
    for await (const event of events) {
      told += pieceOf(event).text.length;
      expect(told).toBeLessThanOrEqual(written);
      if (told === 500) return;
    }
  })();
  for (let count = 0; count < 500; count++) await pieces.add({ kind: "text", text: "x" });
  await pieces.flush();
  await reading;
  expect(written).toBe(500);
});

test("a model that never lets the event loop turn is heard of all the same", async () => {
  const { pieces, recorded } = setUp();
  // Nothing here waits for a timer or an event: only promises that are kept already.
  for (let count = 0; count < SESSION_LIMITS.piecesAtOnce; count++) await pieces.add({ kind: "text", text: "x" });
  expect(await recorded()).toHaveLength(1);
});

test("a reader that does not read holds the answer up, and then gets all of it in order", async () => {
  const { world, pieces, events } = setUp();
  const count = LIMITS.eventBacklog + 10 * SESSION_LIMITS.piecesAtOnce;
  let added = 0;
  const adding = (async () => {
    for (; added < count; added++) await pieces.add({ kind: "text", text: `${added} ` });
    await pieces.flush();
  })();
  await world.settle();
  expect(added).toBeGreaterThanOrEqual(LIMITS.eventBacklog);
  expect(added).toBeLessThan(LIMITS.eventBacklog + 3 * SESSION_LIMITS.piecesAtOnce);
  for (let at = 0; at < count; at++) expect(pieceOf((await events.next()).value).text).toBe(`${at} `);
  await adding;
});

test("whatever comes whenever: the journal and the readers have the same words in the same order", async () => {
  const piece = fc.record({ kind: fc.constantFrom("text" as const, "thought" as const), text: fc.string() });
  const step = fc.oneof({ weight: 6, arbitrary: piece }, fc.constantFrom("flush" as const, "turn" as const));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      const { world, audience, pieces, events, recorded } = setUp();
      const sent: Piece[] = [];
      for (const one of steps) {
        if (one === "flush") await pieces.flush();
        else if (one === "turn") await world.settle();
        else {
          sent.push(one);
          await pieces.add(one);
        }
      }
      await pieces.flush();
      audience.close();
      const told: Piece[] = [];
      for await (const event of events) told.push(pieceOf(event));
      expect(told).toEqual(sent);
      expect(joined(await recorded())).toEqual(joined(sent));
    }),
    { numRuns: 60 },
  );
});

function joined(pieces: readonly Piece[]): string[] {
  const out: string[] = [];
  let last: string | undefined;
  for (const { kind, text } of pieces) {
    if (kind === last) out.push(`${out.pop() ?? ""}${text}`);
    else out.push(`${kind}: ${text}`);
    last = kind;
  }
  return out;
}
