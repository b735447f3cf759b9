// The connection against a gateway in memory: breaks at any moment, and still no update is missing or shown twice.
import fc from "fast-check";
import { expect, test } from "vitest";
import { App } from "../model/app.js";
import type { SocketEvents } from "./client.js";
import { type JsonObject, numberAt, objectAt, parse, tenonMeta, textAt } from "./json.js";
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

/** A gateway in memory: one session, a connection that breaks when it is told to. */
interface Waiting {
  readonly id: number;
  readonly socket: SocketEvents;
}

class FakeGateway {
  isKnown = true;
  promptsRun = 0;
  readonly identities: string[] = [];
  readonly replies: { readonly id: unknown; readonly code: number }[] = [];
  /** After how many messages each connection breaks; those that follow the last one do not. */
  readonly #cuts: number[];
  readonly #records: string[] = [];
  readonly #timers: (() => void)[] = [];
  #socket: SocketEvents | undefined;
  #sent = 0;
  #promptId: string | undefined;
  #waiting: Waiting[] = [];
  #identity: string | null = null;
  #isJoined = false;

  constructor(cuts: readonly number[]) {
    this.#cuts = [...cuts];
  }

  browser(): ConstructorParameters<typeof App>[0] {
    return {
      connect: (events) => {
        this.#socket = events;
        [this.#sent, this.#isJoined] = [0, false];
        queueMicrotask(() => events.onOpen());
        return {
          send: (text) => {
            if (this.#socket === events) this.#received(objectAt(parse(text)));
          },
          close: () => {
            if (this.#socket === events) this.#socket = undefined;
          },
        };
      },
      after: (_ms, run) => {
        this.#timers.push(run);
        return () => {
          const at = this.#timers.indexOf(run);
          if (at >= 0) this.#timers.splice(at, 1);
        };
      },
      random: () => 0.5,
      now: () => 1_000,
      schedule: (run) => run(),
      logOut: async () => undefined,
      identity: { get: () => this.#identity, set: (value) => (this.#identity = value) },
      isKnown: async () => this.isKnown,
    };
  }

  /** Every message and every wait is over. Limits of time that nothing reached are kept out. */
  async settled(): Promise<void> {
    for (let round = 0; round < 40; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.#socket) for (const run of this.#timers.splice(0)) run();
    }
  }

  cut(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#waiting = this.#waiting.filter((one) => one.socket !== socket);
    socket?.onEnd();
  }

  say(text: string): void {
    this.#records.push(text);
    if (this.#isJoined) this.#sendRecord(this.#records.length);
  }

  finish(): void {
    this.#promptId = "ended";
    for (const { id } of this.#waiting.splice(0)) this.#answer(id, { stopReason: "end_turn" });
  }

  sendRaw(text: string): void {
    this.#socket?.onText(text);
  }

  #send(message: object): void {
    if (!this.#socket) return;
    this.#sent += 1;
    if (this.#cuts[0] !== undefined && this.#sent > this.#cuts[0]) {
      this.#cuts.shift();
      queueMicrotask(() => this.cut());
      this.#socket.onText("");
      return;
    }
    this.sendRaw(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  #answer(id: number, result: object): void {
    this.#send({ id, result });
  }

  #sendRecord(seq: number): void {
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: this.#records[seq - 1] } };
    const params = { sessionId: "s1", update, _meta: { tenon: { seq } } };
    this.#send({ method: "session/update", params });
  }

  #received(message: JsonObject): void {
    const [id = 0, method] = [numberAt(message, "id"), textAt(message, "method")];
    const params = objectAt(message, "params");
    if (method === undefined) {
      this.replies.push({ id: message["id"], code: numberAt(objectAt(message, "error"), "code") ?? 0 });
      return;
    }
    switch (method) {
      case "initialize": {
        const given = textAt(objectAt(tenonMeta(params), "client"), "id") ?? "c1";
        this.identities.push(given);
        const tenon = { client: { id: given, key: "k" }, account: "me", scopes: ["read", "prompt", "approve"] };
        return this.#answer(id, { _meta: { tenon } });
      }
      case "session/list":
        return this.#answer(id, { sessions: [{ sessionId: "s1", cwd: "/w", _meta: { tenon: { state: "idle" } } }] });
      case "session/load":
      case "session/resume":
        return this.#join(id, numberAt(tenonMeta(params), "after") ?? 0);
      case "session/prompt":
        return this.#prompt(id, textAt(tenonMeta(params), "promptId"));
      default:
        return this.#answer(id, { sessions: [] });
    }
  }

  #join(id: number, after: number): void {
    this.#isJoined = true;
    for (let seq = after + 1; seq <= this.#records.length; seq++) this.#sendRecord(seq);
    this.#answer(id, { _meta: { tenon: { state: "idle" } } });
  }

  #prompt(id: number, promptId: string | undefined): void {
    if (this.#promptId === "ended") return this.#answer(id, { stopReason: "end_turn" });
    if (promptId !== this.#promptId) this.promptsRun += 1;
    this.#promptId = promptId;
    if (this.#socket) this.#waiting.push({ id, socket: this.#socket });
  }
}

/** A page that is logged in and has its list. */
async function online(gateway: FakeGateway): Promise<App> {
  const app = new App(gateway.browser());
  app.logIn({ account: "me", scopes: [], name: "page" });
  await gateway.settled();
  return app;
}
