// The connection against a gateway in memory: breaks at any moment, and still no update is missing or shown twice.
import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeGateway, online } from "../model/fake-gateway.js";
import { BACKOFF_MS, type LinkEvent, type LinkState, nextLink } from "./link.js";
import { Position, type UpdatePlace } from "./position.js";

const EVENTS: readonly LinkEvent[] = [
  { kind: "log_in" },
  { kind: "introduced" },
  { kind: "closed" },
  { kind: "retry" },
  { kind: "refused" },
  { kind: "refused", reason: "revoked" },
];

test("whatever happens to a connection, it waits no longer than five seconds, and is out only after a refusal", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...EVENTS), fc.double({ min: 0, max: 1, noNaN: true }))), (steps) => {
      let state: LinkState = { kind: "connecting", attempt: 0 };
      for (const [event, jitter] of steps) {
        const before = state;
        state = nextLink(state, event, jitter);
        if (state.kind === "waiting") {
          expect(state.delayMs).toBeGreaterThan(0);
          expect(state.delayMs).toBeLessThanOrEqual(BACKOFF_MS.longest);
          expect(nextLink(state, { kind: "retry" }, 0)).toEqual({ kind: "connecting", attempt: state.attempt });
        }
        if (state.kind === "out" && before.kind !== "out") expect(event.kind).toBe("refused");
        if (state.kind === "online" && before.kind !== "online") expect(before.kind).toBe("connecting");
      }
    }),
  );
});

/** A record as the updates a gateway sends of it: the number is on the last one. */
function placesOf(seq: number, parts: number): UpdatePlace[] {
  const before = Array.from({ length: parts - 1 }, (_, part) => ({ partOf: seq, part }));
  return [...before, { seq }];
}

test("updates of records that arrive again after a break, from any point, are each taken once and in order", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 20 });
  const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 8 });
  fc.assert(
    fc.property(sizes, cuts, (records, breaks) => {
      const position = new Position();
      const taken: string[] = [];
      const all = records.flatMap((parts, index) => placesOf(index + 1, parts));
      const nameOf = (place: UpdatePlace) => JSON.stringify(place);
      // Each connection sends what follows the last whole record, and breaks after so many updates.
      for (const count of [...breaks, Number.POSITIVE_INFINITY]) {
        const rest = all.filter(({ seq, partOf }) => (seq ?? partOf ?? 0) > position.last);
        for (const place of rest.slice(0, count)) if (position.take(place)) taken.push(nameOf(place));
      }
      expect(taken).toEqual(all.map(nameOf));
    }),
  );
});

test("updates of the moment are always taken, and a session that is loaded anew begins at its first record", () => {
  const position = new Position();
  expect([position.take({}), position.take({ seq: 3 }), position.take({}), position.take({ seq: 2 })]).toEqual([
    true,
    true,
    true,
    false,
  ]);
  position.reset();
  expect([position.last, position.take({ seq: 1 })]).toEqual([0, true]);
});

test("a page whose connection breaks again and again shows every update of a session once, and its prompt runs once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 6 }), async (cuts) => {
      const gateway = new FakeGateway(cuts);
      const app = await online(gateway);
      app.show("s1");
      const session = app.current.value;
      await gateway.settled();
      const prompt = session?.prompt([{ type: "text", text: "count" }]);
      await gateway.settled();
      for (let word = 0; word < 10; word++) {
        gateway.say(`${word} `);
        await gateway.settled();
      }
      gateway.finish();
      await gateway.settled();
      await prompt;
      const words = session?.conversation.items.value.flatMap((item) => (item.kind === "agent" ? item.text : []));
      expect(words?.join("")).toBe("0 1 2 3 4 5 6 7 8 9 ");
      expect(gateway.promptsRun).toBe(1);
      expect(new Set(gateway.identities).size).toBe(1);
      await app.logOut();
    }),
    { numRuns: 40 },
  );
});

test("a gateway that does not know the log-in any more sends the page to the log-in, and nothing else does", async () => {
  const gateway = new FakeGateway([]);
  const app = await online(gateway);
  gateway.cut();
  await gateway.settled();
  expect(app.link.value.kind).toBe("online");
  gateway.isKnown = false;
  gateway.cut();
  await gateway.settled();
  expect(app.link.value).toEqual({ kind: "out", reason: "You are logged out: log in again." });
});

test("what the page cannot do is refused, a question is left open until it is withdrawn, nonsense is passed over", async () => {
  const gateway = new FakeGateway([]);
  const app = await online(gateway);
  gateway.sendRaw("no json");
  gateway.sendRaw("[1]");
  gateway.sendRaw(JSON.stringify({ jsonrpc: "2.0", id: 999, result: {} }));
  gateway.sendRaw(JSON.stringify({ jsonrpc: "2.0", id: "q", method: "session/request_permission", params: {} }));
  gateway.sendRaw(JSON.stringify({ jsonrpc: "2.0", id: "f", method: "fs/read_text_file", params: {} }));
  expect(gateway.replies).toEqual([{ id: "f", code: -32601 }]);
  gateway.sendRaw(JSON.stringify({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: "q" } }));
  expect(gateway.replies).toEqual([
    { id: "f", code: -32601 },
    { id: "q", code: -32800 },
  ]);
  expect(app.link.value.kind).toBe("online");
});
