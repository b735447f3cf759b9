// Clients of a session: who is asked what, whose answer counts, whose files are used; and random schedules of all of it.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { failure, Person, Stage } from "../../../test/question-stage.js";
import type { JsonValue } from "../../base/json/json.js";
import { settle } from "../../testing/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ClientName, SessionPorts } from "../ports.js";

test("all controllers that may approve are asked the same question; the first answer counts, the others' are withdrawn", async () => {
  const stage = new Stage();
  const [zed, phone] = [stage.join(new Person("zed")), stage.join(new Person("phone"))];
  const observer = stage.join(new Person("observer"), { role: "observer" });
  const reader = stage.join(new Person("reader"), { mayApprove: false });
  stage.turn = { number: 3, by: zed.name };
  const answered = stage.ask();
  expect(zed.only.asked).toEqual(phone.only.asked);
  expect([observer.dialogs, reader.dialogs]).toEqual([[], []]);
  const [question] = stage.clients.questions.open;
  expect(question).toMatchObject({ of: "permission", turn: 3, toolCallId: "1-1", askedMs: 1_000 });
  expect(question?.shown).toMatchObject({ arguments: { text: "canary" }, tool: { label: "s / Write" } });
  const late = zed.only;
  phone.only.answer("once" as never);
  expect(await answered).toBe("once");
  expect(late.signal.aborted).toBe(true);
  expect(String(late.signal.reason)).toContain("name of phone");
  const id = question?.id ?? "";
  expect(stage.changes).toEqual([
    { id, of: "permission", isOpen: true },
    { id, of: "permission", isOpen: false, answer: "once", by: phone.name },
  ]);
  expect(stage.clients.questions.answer(id, "once", zed.name)).toBe("late");
  expect(stage.clients.questions.answer("another", "once", zed.name)).toBe("unknown");
  expect(stage.records).toMatchObject([
    { kind: "question", id, of: "permission", turn: 3, toolCallId: "1-1", shown: { tool: "s__write" } },
    { kind: "answered", id, answer: "once", by: phone.name },
  ]);
  expect(JSON.stringify(stage.records)).not.toContain("canary"); // the record of the call has the arguments
});

test("an answer that was never offered is a no, by whatever way it comes", async () => {
  const stage = new Stage();
  const zed = stage.join(new Person("zed"));
  const first = stage.ask();
  zed.only.answer("always" as never);
  expect(await first).toBe("no");
  const answerNext = async (asked: Promise<unknown> | undefined, answer: JsonValue) => {
    const id = stage.clients.questions.open[0]?.id ?? "";
    expect(stage.clients.questions.answer(id, answer, zed.name)).toBe("taken");
    return await asked;
  };
  const { signal } = new AbortController();
  const { ports } = stage.clients;
  expect(await answerNext(stage.ask(), { approve: true })).toBe("no");
  const trust = { id: "1", title: "Trust?", names: [], lines: ["API_KEY=canary"], written: { env: "canary" } };
  expect(await answerNext(ports?.confirmTrust?.(trust, signal), "always")).toBe("later");
  const sampling = { id: "1", server: "s", model: "m", system: "", messages: [], maxTokens: 1, callsLeft: 1 };
  expect(await answerNext(ports?.approveSampling?.(sampling, signal), "always")).toBe("no");
  const form = { id: "1", server: "s", request: { mode: "form", message: "Your name?" } } as const;
  expect(await answerNext(ports?.elicit?.(form, signal), "yes")).toEqual({ action: "decline" });
  const nested = { action: "accept", content: { name: { nested: 1 } } };
  expect(await answerNext(ports?.elicit?.(form, signal), nested)).toEqual({ action: "decline" });
  const filled = { action: "accept", content: { name: "secret", days: ["mo"] } };
  expect(await answerNext(ports?.elicit?.(form, signal), filled)).toEqual(filled);
  const login = { mode: "url", message: "Log in", url: "https://a.example/authorize?state=canary" } as const;
  const page = ports?.elicit?.({ id: "2", server: "s", request: login }, signal);
  expect(await answerNext(page, { action: "accept", content: { extra: 1 } })).toEqual({ action: "accept" });
  const which = () => ports?.askPerson?.("Which?", [{ label: "red" }], signal, "1-2");
  expect(await answerNext(which(), { kind: "chosen", label: "blue" })).toEqual({ kind: "declined" });
  expect(await answerNext(which(), { kind: "chosen", label: "red" })).toEqual({ kind: "chosen", label: "red" });
  expect(await answerNext(which(), { kind: "typed", text: "green" })).toEqual({ kind: "typed", text: "green" });
  const kept = JSON.stringify(stage.records);
  for (const hidden of ["canary", "secret"]) expect(kept).not.toContain(hidden);
  expect(kept).toContain('"answer":"accept"');
  expect(kept).toContain("https://a.example/authorize");
  expect(zed.open).toEqual([]);
});

test("a client that joins is asked everything open; one that leaves leaves it to the others, and the last one ends it", async () => {
  const stage = new Stage();
  const zed = stage.join(new Person("zed"));
  const answered = stage.ask();
  const phone = stage.join(new Person("phone"));
  expect(phone.only.asked).toEqual(zed.dialogs[0]?.asked);
  zed.attachment?.leave();
  expect(zed.open).toEqual([]);
  const tablet = stage.join(new Person("tablet"));
  phone.attachment?.leave();
  tablet.only.answer("once" as never);
  expect(await answered).toBe("once");
  const unanswered = stage.ask();
  const refused = failure(unanswered);
  tablet.attachment?.leave();
  tablet.attachment?.leave(); // once
  expect(await refused).toContain("nobody is attached");
  expect(stage.clients.ports).toBeUndefined();
});

test("a client that comes back under its id takes the place of its earlier connection, and is asked again", async () => {
  const stage = new Stage();
  const before = stage.join(new Person("zed"));
  const answered = stage.ask();
  const after = stage.join(new Person("zed"));
  expect(before.open).toEqual([]);
  expect(stage.clients.list).toHaveLength(1);
  before.attachment?.leave(); // the old connection is found to be dead later
  after.only.answer("once" as never);
  expect(await answered).toBe("once");
});

test("an unattended client is asked only in turns that it started", async () => {
  const stage = new Stage();
  const [bot, zed] = [stage.join(new Person("bot"), { isUnattended: true }), stage.join(new Person("zed"))];
  stage.turn = { number: 1, by: zed.name };
  const first = stage.ask();
  expect(bot.dialogs).toEqual([]);
  zed.only.answer("once" as never);
  await first;
  stage.turn = { number: 2, by: bot.name };
  const second = stage.ask();
  bot.only.answer("no" as never);
  expect(await second).toBe("no");
  expect(zed.open).toEqual([]);
});

test("with nobody there a question waits where it may, and is over after a day", async () => {
  const stage = new Stage(true);
  const answered = stage.ask();
  expect(stage.clients.questions.count).toBe(1);
  stage.join(new Person("zed")).only.answer("once" as never);
  expect(await answered).toBe("once");
  for (const person of ["zed"]) stage.join(new Person(person)).attachment?.leave();
  const forgotten = failure(stage.ask());
  stage.pass(SESSION_LIMITS.clients.questionMs);
  expect(await forgotten).toContain("within 24 h");
  expect(stage.records.at(-1)).toMatchObject({ kind: "answered", answer: "expired" });
  expect(stage.records.at(-1)).not.toHaveProperty("by");
  expect(stage.timers.size).toBe(0);
});

test("a client that fails: the last one ends the question; where it may wait, only if the client is still there", async () => {
  const declining = new Stage();
  const [zed, phone] = [declining.join(new Person("zed")), declining.join(new Person("phone"))];
  const answered = declining.ask();
  zed.only.fail(new Error("no such method"));
  await settle();
  expect(declining.clients.questions.count).toBe(1);
  const failed = failure(answered);
  phone.only.fail(new Error("dialog closed"));
  expect(await failed).toBe("dialog closed");
  const waiting = new Stage(true);
  const editor = waiting.join(new Person("editor"));
  const kept = waiting.ask();
  editor.only.fail(new Error("connection closed"));
  await settle();
  editor.attachment?.leave();
  waiting.pass(SESSION_LIMITS.clients.leaveGraceMs);
  expect(waiting.clients.questions.count).toBe(1);
  const other = waiting.join(new Person("other"));
  other.only.answer("once" as never);
  expect(await kept).toBe("once");
  const broken = failure(waiting.ask());
  other.only.fail(new Error("method not found"));
  await settle();
  waiting.pass(SESSION_LIMITS.clients.leaveGraceMs);
  expect(await broken).toBe("method not found");
  expect(waiting.timers.size).toBe(0);
  const throws = waiting.join(
    new Person("throws", {
      ask: () => {
        throw new Error("a bug");
      },
    }),
  );
  other.attachment?.leave();
  const thrown = failure(waiting.ask());
  await settle();
  waiting.pass(SESSION_LIMITS.clients.leaveGraceMs);
  expect(await thrown).toBe("a bug");
  expect(throws.open).toEqual([]);
});

test("a client that closes the question by itself decides nothing for the others, unless the turn is its own", async () => {
  const stage = new Stage(true);
  const [zed, phone] = [stage.join(new Person("zed")), stage.join(new Person("phone"))];
  stage.turn = { number: 1, by: zed.name };
  const first = stage.ask();
  phone.only.answer("cancelled" as never);
  await settle();
  expect(stage.clients.questions.count).toBe(1);
  zed.only.answer("cancelled" as never);
  expect(await first).toBe("cancelled");
  const second = stage.ask();
  zed.attachment?.leave();
  phone.only.answer("cancelled" as never);
  await settle();
  expect(stage.clients.questions.count).toBe(1); // until its starter or somebody else comes
  stage.join(new Person("zed")).only.answer("once" as never);
  expect(await second).toBe("once");
  const alone = new Stage();
  const editor = alone.join(new Person("editor"));
  const cancelled = alone.ask();
  editor.only.answer("cancelled" as never);
  expect(await cancelled).toBe("cancelled");
});

test("a question that is withdrawn goes from every client, with its reason, and is journaled as such", async () => {
  const stage = new Stage(true);
  const [zed, phone] = [stage.join(new Person("zed")), stage.join(new Person("phone"))];
  const controller = new AbortController();
  const withdrawn = failure(stage.ask(controller.signal));
  controller.abort(new Error("the turn was cancelled"));
  expect(await withdrawn).toBe("the turn was cancelled");
  expect([...zed.open, ...phone.open]).toEqual([]);
  expect(stage.records.at(-1)).toMatchObject({ kind: "answered", answer: "withdrawn" });
  expect(stage.timers.size).toBe(0);
  await expect(stage.ask(controller.signal)).rejects.toThrow("the turn was cancelled");
  expect(stage.records).toHaveLength(2);
  const closed = failure(stage.ask());
  stage.clients.questions.close(new Error("the session ends"));
  expect(await closed).toBe("the session ends");
  expect([...zed.open, ...phone.open, ...stage.timers]).toEqual([]);
});

test("what the session may ask is what its clients can show; files and terminals are of the client whose prompt runs", async () => {
  const stage = new Stage();
  expect(stage.clients.ports).toBeUndefined();
  const plain: Partial<SessionPorts> = { ask: async () => "no" };
  const bare = new Person("bare");
  const onlyAsk: SessionPorts = { ask: bare.ports.ask };
  const editor = new Person("editor", { ...plain, fs: {}, elicitModes: ["form"] });
  const terminal = { run: () => Promise.reject(new Error("none")) };
  const files = (text: string) => ({ readText: async () => text });
  const channel = { request: async () => ({ kind: "failed", message: "", code: -33_000 }) as const };
  const phone = new Person("phone", { elicitModes: ["url"], fs: files("phone"), mcpChannel: channel });
  stage.join(bare, { ports: onlyAsk });
  expect(Object.keys(stage.clients.ports ?? {})).toEqual(["ask", "elicitationCompleted"]);
  stage.join(editor);
  expect(stage.clients.ports).toMatchObject({ elicitModes: ["form"] });
  expect(stage.clients.ports).not.toHaveProperty("fs");
  const watcher = new Person("watcher", { fs: files("watcher"), terminal });
  stage.join(watcher, { role: "observer" });
  stage.join(phone);
  const readFile = () => stage.clients.ports?.fs?.readText?.("/f", {}, new AbortController().signal);
  expect(stage.clients.ports).toMatchObject({ elicitModes: ["form", "url"] });
  expect(await readFile()).toBe("phone");
  expect(stage.clients.ports).not.toHaveProperty("terminal");
  const desk = stage.join(new Person("desk", { fs: files("desk"), terminal }));
  stage.turn = { number: 1, by: desk.name };
  expect(await readFile()).toBe("desk");
  expect(stage.clients.ports?.terminal).toBe(terminal);
  stage.turn = { number: 2, by: editor.name }; // has none of its own
  expect(await readFile()).toBe("phone");
  // Each server is reached through the client that brought it, whoever joined later and whatever its id is.
  const other = stage.join(
    new Person("other", { mcpChannel: { request: async () => ({ kind: "result", result: {} }) } }),
  );
  const request = { method: "tools/list", params: {}, signal: new AbortController().signal, onNotification: () => {} };
  const reached = (client?: string) =>
    stage.clients.ports?.mcpChannel?.request({ ...request, serverId: "same", ...(client ? { client } : {}) });
  expect(await reached("phone")).toEqual({ kind: "failed", message: "", code: -33_000 });
  expect(await reached()).toEqual({ kind: "failed", message: "", code: -33_000 });
  expect(await reached("other")).toEqual({ kind: "result", result: {} });
  stage.clients.ports?.elicitationCompleted?.("7");
  expect([editor, phone, desk, other].map(({ completed }) => completed)).toEqual([["7"], ["7"], ["7"], ["7"]]);
  const waiting = new Stage(true);
  expect(Object.keys(waiting.clients.ports ?? {})).toEqual(
    expect.arrayContaining(["ask", "confirmTrust", "approveSampling", "elicit", "askPerson"]),
  );
});

test("the 33rd client and the 65th question are refused", async () => {
  const stage = new Stage(true);
  for (let count = 0; count < SESSION_LIMITS.clients.max; count += 1) stage.join(new Person(`${count}`));
  expect(() => stage.join(new Person("more"))).toThrow("32 clients");
  stage.join(new Person("0")); // one that is known takes its own place
  const controller = new AbortController();
  const asked = Array.from({ length: SESSION_LIMITS.clients.openQuestions }, () => stage.ask(controller.signal));
  await expect(stage.ask(controller.signal)).rejects.toThrow("64 questions are open already");
  controller.abort(new Error("over"));
  expect((await Promise.allSettled(asked)).every(({ status }) => status === "rejected")).toBe(true);
});

type Step =
  | { readonly do: "join"; readonly who: number; readonly as: "person" | "bot" | "observer" | "reader" }
  | { readonly do: "leave" | "dismiss" | "fail"; readonly who: number }
  | { readonly do: "answer"; readonly who: number; readonly answer: string }
  | { readonly do: "by id"; readonly which: number; readonly answer: string }
  | { readonly do: "turn"; readonly who: number }
  | { readonly do: "ask" | "pass" }
  | { readonly do: "cancel"; readonly which: number };

const who = fc.nat({ max: 3 });
const answer = fc.constantFrom("once", "no", "always", "nonsense");
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("join" as const), who, as: fc.constantFrom("person", "bot", "observer", "reader") }),
    fc.record({ do: fc.constantFrom("leave" as const, "dismiss" as const, "fail" as const), who }),
    fc.record({ do: fc.constant("answer" as const), who, answer }),
    fc.record({ do: fc.constant("by id" as const), which: fc.nat({ max: 9 }), answer }),
    fc.record({ do: fc.constant("turn" as const), who }),
    fc.record({ do: fc.constantFrom("ask" as const, "ask" as const, "pass" as const) }),
    fc.record({ do: fc.constant("cancel" as const), which: fc.nat({ max: 9 }) }),
  ),
  { maxLength: 40 },
);

interface Asked {
  readonly controller: AbortController;
  readonly starter: ClientName | undefined;
  /** Undefined when there was nobody to ask. */
  id: string | undefined;
  /** How often it came to an end. */
  ends: number;
}

class Schedule {
  readonly stage: Stage;
  readonly people: Person[] = [];
  readonly asked: Asked[] = [];
  readonly #faults: string[] = [];

  constructor(mayWait: boolean) {
    this.stage = new Stage(mayWait);
  }

  do(step: Step): void {
    const { stage } = this;
    const person = "who" in step ? this.people.findLast(({ name }) => name.client === `${step.who}`) : undefined;
    const dialog = person?.open[0];
    switch (step.do) {
      case "join": {
        const isUnattended = step.as === "bot";
        const role = step.as === "observer" ? "observer" : "controller";
        const joined = new Person(`${step.who}`);
        joined.as = step.as;
        if (person) person.isHere = false; // its place is taken
        this.people.push(stage.join(joined, { role, isUnattended, mayApprove: step.as !== "reader" }));
        break;
      }
      case "leave":
        person?.leave();
        break;
      case "dismiss":
        dialog?.answer("cancelled" as never);
        break;
      case "fail":
        dialog?.fail(new Error("it broke"));
        break;
      case "answer":
        dialog?.answer(step.answer as never);
        break;
      case "by id": {
        const ids = stage.records.flatMap((record) => (record.kind === "question" ? [record.id] : []));
        const id = ids[step.which % Math.max(1, ids.length)] ?? "none";
        const isOpen = stage.clients.questions.open.some((open) => open.id === id);
        const taken = stage.clients.questions.answer(id, step.answer, { client: "page", name: "page" });
        if (taken !== (isOpen ? "taken" : id === "none" ? "unknown" : "late")) this.#faults.push(`${id} was ${taken}`);
        break;
      }
      case "turn":
        stage.turn = { number: 1, by: { client: `${step.who}`, name: "" } };
        break;
      case "ask": {
        const one: Asked = { controller: new AbortController(), starter: stage.turn?.by, id: undefined, ends: 0 };
        this.asked.push(one);
        const over = () => {
          one.ends += 1;
        };
        const before = stage.records.length;
        stage.ask(one.controller.signal).then(over, over);
        const record = stage.records[before];
        one.id = record?.kind === "question" ? record.id : undefined;
        break;
      }
      case "cancel":
        this.asked[step.which % Math.max(1, this.asked.length)]?.controller.abort(new Error("cancelled"));
        break;
      case "pass":
        stage.pass(SESSION_LIMITS.clients.leaveGraceMs);
        break;
    }
  }

  /** What is wrong now, a line each. */
  get faults(): readonly string[] {
    const { records, clients } = this.stage;
    const open = new Set(clients.questions.open.map(({ id }) => id));
    const faults = [...this.#faults];
    for (const { id, ends, starter } of this.asked) {
      const isOpen = open.has(id ?? "");
      const recorded = records.filter((one) => one.kind === "answered" && one.id === id).length;
      if (ends !== (isOpen ? 0 : 1)) faults.push(`${id} ended ${ends} times`);
      if (id !== undefined && recorded !== (isOpen ? 0 : 1))
        faults.push(`${id} was recorded as over ${recorded} times`);
      for (const person of isOpen ? this.people.filter(({ isHere }) => isHere) : []) {
        const asked = person.dialogs.filter((dialog) => dialog.asked?.questionId === id).length;
        if (asked !== (person.mayAnswer(starter) ? 1 : 0)) faults.push(`${person.as} was asked ${id} ${asked} times`);
      }
    }
    for (const { asked } of this.people.flatMap((person) => person.open)) {
      if (!open.has(asked?.questionId ?? "")) faults.push(`somebody has ${asked?.questionId}, which is over`);
    }
    return faults;
  }

  /** All is cancelled, and everybody leaves. */
  end(): void {
    for (const { controller } of this.asked) controller.abort(new Error("over"));
    for (const person of this.people) person.leave();
  }

  /** What has not been given back. */
  get left(): readonly number[] {
    const { clients, timers } = this.stage;
    return [clients.questions.count, clients.count, timers.size, this.people.flatMap((person) => person.open).length];
  }
}

test("random schedules: each question ends once, nobody is left with one that is over, nothing stays behind", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), steps, async (mayWait, list) => {
      const schedule = new Schedule(mayWait);
      for (const step of list) {
        schedule.do(step);
        await settle();
        expect(schedule.faults).toEqual([]);
      }
      schedule.end();
      await settle();
      expect(schedule.faults).toEqual([]);
      expect(schedule.left).toEqual([0, 0, 0, 0]);
    }),
    { numRuns: 600 },
  );
});

test("files of a client are for its own turns unless it lets others use them, and no turn waits for them for long", async () => {
  const stage = new Stage();
  const { signal } = new AbortController();
  const never = { readText: () => new Promise<string>(() => {}), writeText: () => new Promise<void>(() => {}) };
  const terminal = { run: () => Promise.reject(new Error("none")) };
  const far = stage.join(new Person("far", { fs: never, terminal }), { sharesPlace: false });
  const near = stage.join(new Person("near"));
  stage.turn = { number: 1, by: near.name };
  expect(stage.clients.ports).not.toHaveProperty("fs");
  expect(stage.clients.ports).not.toHaveProperty("terminal");
  stage.turn = { number: 2, by: far.name };
  expect(stage.clients.ports?.terminal).toBe(terminal);
  const fs = stage.clients.ports?.fs;
  expect(stage.clients.ports?.fs).toBe(fs); // the same for as long as it is there
  const late = failure(fs?.readText?.("/f", {}, signal) ?? Promise.resolve());
  stage.pass(SESSION_LIMITS.clients.fileMs);
  expect(await late).toContain("timed out after 30000 ms");
  const left = [fs?.readText?.("/f", {}, signal), fs?.writeText?.("/f", "x", signal)].map((one) =>
    failure(Promise.resolve(one)),
  );
  far.leave();
  expect(await Promise.all(left)).toEqual(["name of far is gone", "name of far is gone"]);
  expect(stage.clients.ports).not.toHaveProperty("fs");
  expect(stage.timers.size).toBe(0);
});
