// Followers of a session see what its readers see: from any record on, live or from the store, without a gap or a repeat.
import fc from "fast-check";
import { expect, test } from "vitest";
import { closed, ID, newWorld, PICTURE, SERVER, STATE } from "../../../test/recorded-session.js";
import type { ModelEvent, ModelRequest } from "../../models/index.js";
import type { FakeWorld } from "../../testing/index.js";
import { EventStream, type SessionEvent } from "../events.js";
import { SessionHost } from "../host.js";
import { Unpacking } from "../journal/read-journal.js";
import { SESSION_LIMITS } from "../limits.js";
import type { Session } from "../session.js";
import type { SettingsView } from "../settings.js";
import { FileSessionStore, sessionId } from "../store/file-store.js";
import { RecordEvents } from "./record-events.js";
import { type Followed, SessionLog } from "./session-log.js";

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

async function storedEvents(world: FakeWorld, id: string): Promise<readonly SessionEvent[]> {
  const [records, unpacking, events] = [new RecordEvents(), new Unpacking(), [] as SessionEvent[]];
  await new FileSessionStore(world, STATE).readAll(id, (record) => {
    const whole = unpacking.add(record);
    if (whole) events.push(...records.of(whole));
  });
  return events;
}

/**
 * What records say, in the form in which they say it: pieces joined, and nothing of the moment. That a call runs, and plans,
 * come first: a quick tool may have acted before readers are told that it runs.
 */
function recorded(events: Iterable<SessionEvent>): readonly unknown[] {
  const all = [...events];
  const isRunning = (one: SessionEvent) => one.kind === "turn" && one.event.kind === "call_running";
  const shown: unknown[] = [...all.filter(isRunning).map(plain), ...all.filter(({ kind }) => kind === "plan")];
  let words: { kind: string; text: string } | undefined;
  for (const one of all) {
    if (one.kind === "turn" && (one.event.kind === "text" || one.event.kind === "thought")) {
      if (words?.kind === one.event.kind) words.text += one.event.text;
      else {
        words = { ...one.event };
        shown.push(words);
      }
      continue;
    }
    const form = formOf(one);
    if (!form) continue;
    words = undefined;
    shown.push(form);
  }
  return shown;
}

function formOf(one: SessionEvent): unknown {
  switch (one.kind) {
    case "turn_ended":
      return "error" in one ? { ...one, error: [one.error.code, one.error.message] } : one;
    case "user":
    case "title":
      return one;
    case "turn": {
      const { event } = one;
      if (event.kind === "call_arguments") {
        return event.offset === 0 ? plain({ ...one, event: { ...event, delta: "" } }) : undefined;
      }
      if (event.kind === "compaction") return { ...one, event: { ...event, before: [], after: [] } };
      const isOfMoment = ["call_awaiting_approval", "call_running", "call_progress", "waiting"].includes(event.kind);
      return isOfMoment ? undefined : plain(one);
    }
    default:
      return undefined;
  }
}

/** The description of a tool and its schemas are not recorded, and times are whole. */
function plain(one: SessionEvent): unknown {
  return JSON.parse(JSON.stringify(one, (key, value) => shortened(key, value)));
}

function shortened(key: string, value: unknown): unknown {
  if (key === "elapsedMs") return Math.round(Number(value));
  if (key !== "tool" || typeof value !== "object" || value === null || !("id" in value)) return value;
  return value.id;
}

const finish = { kind: "finish", reason: "stop", usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.5 } } as const;

/** A word of the prompt each: text, calls of a server and of Tenon's own tools, and failures. */
async function* playful({ messages }: ModelRequest): AsyncGenerator<ModelEvent, void, void> {
  const last = messages.at(-1);
  const words =
    last?.role === "user" ? last.content.flatMap((one) => (one.type === "text" ? one.text.split(" ") : [])) : [];
  const calls: { name: string; args: object }[] = [];
  for (const word of words) {
    if (word === "fail") throw new Error("wires crossed");
    if (word === "echo") calls.push({ name: "mcp__s__echo", args: { text: "hello" } });
    else if (word === "plan") {
      calls.push({ name: "update_plan", args: { entries: [{ content: "one", priority: "high", status: "pending" }] } });
    } else if (word === "read") calls.push({ name: "read_file", args: { path: "/project/a.txt" } });
    else if (word === "write") calls.push({ name: "write_file", args: { path: "/project/b.txt", content: "new\n" } });
    else if (word === "drop") yield { kind: "tool_input", callId: "lost", name: "read_file", delta: "{" };
    else yield { kind: word.length % 2 === 0 ? "text" : "thought", text: `${word} ` };
  }
  for (const [index, { name, args }] of calls.entries()) {
    const argumentsJson = JSON.stringify(args);
    if (index % 2 === 0) yield { kind: "tool_input", callId: `c${index}`, name, delta: argumentsJson };
    yield { kind: "tool_call", call: { callId: `c${index}`, name, argumentsJson } };
  }
  yield calls.length > 0 ? { ...finish, reason: "tool_calls" } : finish;
}

function playfulHost(world: FakeWorld): SessionHost {
  const model = { id: "test/model", stream: playful };
  return new SessionHost({ world, model, stateDir: STATE, client: { name: "t", version: "1" } });
}

async function collect(session: Session): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = [];
  for await (const event of session.events()) seen.push(event);
  return seen;
}

async function followAll(session: Session, after: number): Promise<Followed[]> {
  const seen: Followed[] = [];
  for await (const one of session.log.follow(after, new AbortController().signal)) seen.push(one);
  return seen;
}

const word = fc.constantFrom("echo", "plan", "read", "write", "drop", "fail", "hello", "big", "words", "odd");
const prompt = fc.oneof(
  { weight: 6, arbitrary: fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(" ")) },
  { weight: 1, arbitrary: fc.constantFrom("/mcp", "/help", "/compact") },
);

test("what records say is what readers saw, for any session, and followers get the same", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(prompt, { minLength: 1, maxLength: 4 }), fc.nat(40), async (prompts, later) => {
      const world = newWorld({ "/project/a.txt": "a\n" });
      const host = playfulHost(world);
      const session = host.createSession({ cwd: "/project", servers: [SERVER], id: ID });
      session.attach({ ask: async () => "once" });
      await world.advance(0);
      const live = collect(session);
      const following = followAll(session, 0);
      for (const [index, text] of prompts.entries()) {
        const content = [{ type: "text", text }, ...(index === 1 ? [PICTURE] : [])] as const;
        await session.prompt(content).catch(() => undefined);
      }
      const resumed = followAll(session, Math.min(later, session.log.lastSeq));
      await closed(world, host.close());
      const stored = await storedEvents(world, ID);
      expect(recorded(stored)).toEqual(recorded(await live));
      expect(recorded(eventsOf(await following))).toEqual(recorded(stored));
      const all = await following;
      const isAfter = (one: Followed) => one.kind === "record" && one.seq > later;
      const [expected, found] = [all.filter(isAfter), (await resumed).filter(isAfter)];
      expect(found.map((one) => JSON.stringify(one))).toEqual(expected.map((one) => JSON.stringify(one)));
    }),
    { numRuns: 40 },
  );
});

function eventsOf(followed: readonly Followed[]): readonly SessionEvent[] {
  return followed.flatMap((one) => (one.kind === "record" ? one.events : one.kind === "moment" ? [one.event] : []));
}

test("moments are for those who are there, and an unwritten record keeps nobody from joining", async () => {
  const events = new EventStream();
  let durable = 0;
  const owned = {
    id: sessionId(ID),
    get lastSeq() {
      return durable;
    },
  };
  const log = new SessionLog({ store: { read: async () => [] }, owned, events });
  const follow = (after: number) => {
    const [seen, stop] = [[] as string[], new AbortController()];
    const ended = (async () => {
      for await (const one of log.follow(after, stop.signal)) {
        seen.push(one.kind === "moment" && one.event.kind === "notice" ? one.event.text : one.kind);
      }
    })();
    return { seen, end: () => (stop.abort(), ended) };
  };
  const first = follow(0);
  await tick();
  log.add({ kind: "text", text: "x" }, 1, 10);
  durable = 1;
  log.wake();
  events.notice("warning", "one");
  await tick();
  const back = follow(1);
  await tick();
  events.notice("warning", "two");
  log.add({ kind: "text", text: "y" }, 2, 10); // the disk is full
  await tick();
  const late = follow(1);
  await tick();
  expect(first.seen).toEqual(["live", "record", "one", "two"]);
  expect(back.seen).toEqual(["live", "two"]);
  expect(late.seen).toEqual(["live"]);
  await Promise.all([first, back, late].map(({ end }) => end()));
  // The first who follows comes when a record is not durable yet.
  const unwritten = new SessionLog({ store: { read: async () => [] }, owned, events });
  unwritten.add({ kind: "text", text: "y" }, 2, 10);
  const stop = new AbortController();
  const following = unwritten.follow(1, stop.signal);
  expect((await following.next()).value).toEqual({ kind: "live" });
  unwritten.close();
  expect(await following.next()).toEqual({ done: true, value: undefined });
});

test("notices for those who come later are the last ones, each text once", () => {
  const events = new EventStream();
  const view = { settings: {} as SettingsView, commands: [], servers: [] };
  const texts = () => events.current(view).flatMap((one) => (one.kind === "notice" ? [one.text] : []));
  for (const text of ["a", "b", "a"]) events.notice("info", text);
  expect(texts()).toEqual(["b", "a"]);
  for (let count = 0; count < 1_000; count++) events.notice("info", `${count}`);
  expect(texts()).toHaveLength(SESSION_LIMITS.log.notices);
  expect(texts().at(-1)).toBe("999");
});
