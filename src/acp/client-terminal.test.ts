// A terminal of the client: opened, read, ended and released each once, whatever the client does.
import type { AgentContext } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { acpSchemaValidator, fakeWorld } from "../testing/index.js";
import { gate } from "../testing/lab/index.js";
import { ACP_LIMITS } from "./limits.js";
import { clientTerminal, TerminalTrust } from "./ports.js";

const NEVER = new AbortController().signal;
const REQUEST = { command: "/bin/sh", args: ["-c", "ls"], env: { TERM: "dumb" }, cwd: "/p", maxOutputBytes: 100 };
const PLACE = { sessionId: "s-1", terminalId: "t1" };

type Answers = Readonly<Record<string, () => unknown>>;

/** Every method answers with nothing unless said otherwise. */
function terminal(answers: Answers = {}) {
  const sent: { method: string; params: object }[] = [];
  const client = {
    request: async (method: string, params: object) => {
      sent.push({ method, params });
      if (method === "terminal/create") return (answers[method] ?? (() => ({ terminalId: "t1" })))();
      return (answers[method] ?? (() => ({})))();
    },
  };
  const world = fakeWorld();
  const own = clientTerminal(asClient(client), "s-1", world);
  return { terminal: own, world, sent, methods: () => sent.map(({ method }) => method) };
}

/** Terminals need one method of it. */
function asClient(client: object): AgentContext {
  const isClient = (value: object): value is AgentContext => "request" in value;
  if (!isClient(client)) throw new Error("no client");
  return client;
}

test("a command is opened as the protocol has it, and its exit is waited for at once", async () => {
  const validate = await acpSchemaValidator();
  const { terminal: own, sent } = terminal({ "terminal/wait_for_exit": () => ({ exitCode: 3, signal: null }) });
  const running = await own.run(REQUEST, () => {}, NEVER);
  expect(running.terminalId).toBe("t1");
  expect(await running.exited).toEqual({ kind: "exited", code: 3, signal: null });
  expect(sent).toEqual([
    {
      method: "terminal/create",
      params: {
        sessionId: "s-1",
        command: "/bin/sh",
        args: ["-c", "ls"],
        env: [{ name: "TERM", value: "dumb" }],
        cwd: "/p",
        outputByteLimit: 100,
      },
    },
    { method: "terminal/wait_for_exit", params: PLACE },
  ]);
  for (const { method, params } of sent) {
    expect(validate({ kind: "request", method, payload: { ...params } })).toBeUndefined();
  }
});

test.each([
  [
    { exitCode: null, signal: "SIGKILL" },
    { kind: "exited", code: null, signal: "SIGKILL" },
  ],
  [{}, { kind: "exited", code: null, signal: null }],
])("the exit %j is %j", async (answer, exit) => {
  const { terminal: own } = terminal({ "terminal/wait_for_exit": () => answer });
  expect(await (await own.run(REQUEST, () => {}, NEVER)).exited).toEqual(exit);
});

test("a client that fails while a command runs has cut it off, and says why", async () => {
  const { terminal: own } = terminal({
    "terminal/wait_for_exit": () => {
      throw new Error("the window is closed");
    },
  });
  expect(await (await own.run(REQUEST, () => {}, NEVER)).exited).toEqual({
    kind: "cut_off",
    reason: "the client's terminal failed: the window is closed",
  });
});

test("output comes from where it was last read, and what the client dropped is named", async () => {
  const now = { output: "one\n", truncated: false };
  const { terminal: own } = terminal({ "terminal/output": () => ({ ...now }) });
  const running = await own.run(REQUEST, () => {}, NEVER);
  expect(await running.output(0)).toEqual({ text: "one\n", nextChar: 4 });
  now.output = "one\ntwo\n";
  expect(await running.output(4)).toEqual({ text: "two\n", nextChar: 8 });
  now.output = "wo\nthree\n";
  now.truncated = true;
  expect((await running.output(8)).text).toMatch(/may be missing or repeated.*\nwo\nthree\n$/);
  expect((await running.output(0)).text).toBe("[the beginning is not kept]\nwo\nthree\n");
});

test("it is killed once and released once, and a client that knows it no more is no fault", async () => {
  const gone = () => {
    throw new Error("no such terminal");
  };
  const { terminal: own, methods } = terminal({ "terminal/kill": gone, "terminal/release": gone });
  const running = await own.run(REQUEST, () => {}, NEVER);
  await running.end();
  await running.end();
  await running.release();
  await running.release();
  await running.end();
  expect(methods()).toEqual(["terminal/create", "terminal/wait_for_exit", "terminal/kill", "terminal/release"]);
});

test("a command that is called off before it is opened opens nothing; while it is opened, it is ended and released", async () => {
  const early = terminal();
  await expect(early.terminal.run(REQUEST, () => {}, AbortSignal.abort(new Error("off")))).rejects.toThrow("off");
  expect(early.methods()).toEqual([]);
  const opening = gate();
  const late = terminal({ "terminal/create": () => opening.opened.then(() => ({ terminalId: "t1" })) });
  const controller = new AbortController();
  const running = late.terminal.run(REQUEST, () => {}, controller.signal);
  controller.abort(new Error("off"));
  opening.open();
  await expect(running).rejects.toThrow("off");
  expect(late.methods().slice(-2)).toEqual(["terminal/kill", "terminal/release"]);
});

test("a client that cannot open a terminal rejects", async () => {
  const { terminal: own } = terminal({
    "terminal/create": () => {
      throw new Error("no more windows");
    },
  });
  await expect(own.run(REQUEST, () => {}, NEVER)).rejects.toThrow("no more windows");
});

test("a client that never says that a command ended is not waited for for ever", async () => {
  const never = () => new Promise(() => {});
  const silent = {
    "terminal/wait_for_exit": never,
    "terminal/kill": never,
    "terminal/output": never,
    "terminal/release": never,
  };
  const { terminal: own, world } = terminal(silent);
  const running = await own.run(REQUEST, () => {}, NEVER);
  const ended = running.end();
  await world.advance(ACP_LIMITS.clientTerminalEndMs);
  await ended;
  expect(await running.exited).toMatchObject({ kind: "cut_off" });
  expect((await running.output(0)).text).toContain("does not say");
  await running.release();
  expect(world.clock.pendingTimers).toBe(0);
});

test("one that does leaves no timer behind", async () => {
  const { opened, open } = gate();
  const { terminal: own, world } = terminal({ "terminal/wait_for_exit": () => opened.then(() => ({ exitCode: 1 })) });
  const running = await own.run(REQUEST, () => {}, NEVER);
  await running.end();
  open();
  expect(await running.exited).toMatchObject({ kind: "exited", code: 1 });
  await world.settle();
  expect(world.clock.pendingTimers).toBe(0);
});

/** The probe of `run_command`, shortened. */
const PROBE = { request: REQUEST, isRight: (output: string) => output === "a  b" };

/** A terminal that has to prove itself, and what the person is told of it. */
function probed(answers: Answers) {
  const { terminal: own, world, methods } = terminal(answers);
  const told: string[] = [];
  const trust = new TerminalTrust(world);
  const open = () => trust.probed(own, (words) => void told.push(words));
  const keepsWords = async (signal = NEVER) => await open().keepsWords?.(PROBE, signal);
  return { keepsWords, world, told, methods };
}

const printing = (output: string): Answers => ({
  "terminal/output": () => ({ output, truncated: false }),
  "terminal/wait_for_exit": () => ({ exitCode: 0 }),
});

test("a terminal that prints what it should is used, and tested once for all sessions", async () => {
  const { keepsWords, told, methods } = probed(printing("a  b"));
  expect(await Promise.all([keepsWords(), keepsWords()])).toEqual([true, true]);
  expect(await keepsWords()).toBe(true);
  expect(methods()).toEqual(["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]);
  expect(told).toEqual([]);
});

const failing = (words: string) => () => Promise.reject(new Error(words));

test.each<[string, Answers, string]>([
  ["prints something else", printing("a b\u202e"), String.raw`a test printed "a b\\u{202E}"`],
  ["opens none", { "terminal/create": failing("no windows") }, 'failed a test: "no windows"'],
  ["loses it", { "terminal/wait_for_exit": failing("closed") }, "closed"],
  ["does not say what it printed", { "terminal/output": failing("lost") }, "lost"],
])("a terminal that %s is not used, and the person is told once", async (_, answers, words) => {
  const { keepsWords, told, methods, world } = probed(answers);
  expect([await keepsWords(), await keepsWords()]).toEqual([false, false]);
  expect(told).toEqual([expect.stringContaining(words)]);
  await world.settle();
  const released = methods().filter((method) => method === "terminal/release");
  expect(released).toHaveLength("terminal/create" in answers ? 0 : 1);
  expect(world.clock.pendingTimers).toBe(0);
});

test.each(["terminal/create", "terminal/wait_for_exit", "terminal/output"])(
  "a client that never answers %s is waited for for a bounded time",
  async (method) => {
    const { keepsWords, told, world } = probed({ ...printing("a  b"), [method]: () => new Promise(() => {}) });
    const answer = keepsWords();
    await world.advance(ACP_LIMITS.clientTerminalProbeMs);
    expect(await answer).toBe(false);
    expect(told).toEqual([expect.stringContaining("did not finish a test within 5 s")]);
    await world.advance(ACP_LIMITS.clientTerminalEndMs);
    expect(world.clock.pendingTimers).toBe(0);
  },
);

test("a terminal that is opened too late is ended and released", async () => {
  const opening = gate();
  const { keepsWords, methods, world } = probed({
    "terminal/create": () => opening.opened.then(() => ({ terminalId: "t1" })),
  });
  const answer = keepsWords();
  await world.advance(ACP_LIMITS.clientTerminalProbeMs);
  expect(await answer).toBe(false);
  opening.open();
  await world.settle();
  expect(methods().slice(-2)).toEqual(["terminal/kill", "terminal/release"]);
});

test("a call that is cancelled does not wait for the test, which goes on for the next one", async () => {
  const { opened, open } = gate();
  const answers = { ...printing("a  b"), "terminal/wait_for_exit": () => opened.then(() => ({ exitCode: 0 })) };
  const { keepsWords } = probed(answers);
  const controller = new AbortController();
  const cancelled = keepsWords(controller.signal);
  controller.abort(new Error("off"));
  await expect(cancelled).rejects.toThrow("off");
  open();
  expect(await keepsWords()).toBe(true);
});
