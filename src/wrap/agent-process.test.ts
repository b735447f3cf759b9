// A process of a wrapped agent: what it leaves unanswered, what it says that is no message, and how it ends.
import { expect, test } from "vitest";
import type { JsonObject } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import { FakeChild, fakeWorld, settle } from "../testing/index.js";
import type { Outcome } from "../translator/index.js";
import { AgentProcess } from "./agent-process.js";
import { WRAP_LIMITS } from "./limits.js";

const COMMAND = { command: "agent", args: ["acp"], env: {}, cwd: "/project" };

function start(startError?: Error) {
  const world = fakeWorld({ spawn: (request) => new FakeChild(request, { ignoresEof: true }, startError) });
  const messages: JsonObject[] = [];
  const ends: [string, number][] = [];
  const process = new AgentProcess({
    world,
    command: COMMAND,
    onStderr: () => {},
    onMessage: (message) => messages.push(message),
    onEnded: (why, code) => ends.push([why, code]),
  });
  const [child] = world.children;
  if (!child) throw new Error("nothing was started");
  return { world, process, child, messages, ends };
}

const asking = (process: AgentProcess, id: number) =>
  new Promise<Outcome>((resolve) => process.ask({ jsonrpc: "2.0", id, method: "session/list" }, resolve));

test("answers reach whoever asked, and everything else is passed on in order", async () => {
  const { process, child, messages } = start();
  const answer = asking(process, 1);
  child.stdout.write('{"jsonrpc":"2.0","method":"a"}\n{"jsonrpc":"2.0","id":1,"result":{"x":1}}\n');
  child.stdout.write('{"jsonrpc":"2.0","id":0,"method":"b","of":"tomorrow"}\n');
  expect(await answer).toEqual({ result: { x: 1 } });
  await settle();
  expect(messages).toEqual([
    { jsonrpc: "2.0", method: "a" },
    { jsonrpc: "2.0", id: 0, method: "b", of: "tomorrow" },
  ]);
});

test("what it leaves unanswered is answered as failed when it ends, and so is what it is asked later", async () => {
  const { process, child, ends } = start();
  const answer = asking(process, 1);
  child.exit(7);
  expect((await answer).error?.message).toBe("The wrapped agent ended with exit code 7");
  await settle();
  expect(ends).toEqual([["ended with exit code 7", 7]]);
  expect((await asking(process, 2)).error?.message).toBe("The wrapped agent has ended");
});

test("one that cannot be started is told with the cause", async () => {
  const { process, ends } = start(new Error("spawn agent ENOENT"));
  expect((await asking(process, 1)).error?.message).toContain("could not be started: spawn agent ENOENT");
  await settle();
  expect(ends).toEqual([["could not be started: spawn agent ENOENT", 1]]);
});

test("lines that are no messages are logged, the first of them, and cut", async () => {
  const { world, child, messages } = start();
  for (let line = 0; line < WRAP_LIMITS.noise.lines + 5; line += 1) child.stdout.write(`${"noise ".repeat(100)}\n`);
  child.stdout.write('{"neither":1}\n[]\n{"jsonrpc":"2.0","id":5,"result":{}}\n');
  await settle();
  expect(messages).toEqual([]);
  const logged = world.logLines.filter((line) => line.includes("wrap.agent_noise"));
  expect(logged).toHaveLength(WRAP_LIMITS.noise.lines);
  expect(logged.every((line) => line.length < WRAP_LIMITS.noise.chars + 200)).toBe(true);
});

test("an answer that is too long fails its request, and nothing else", async () => {
  const { process, child } = start();
  const [long, short] = [asking(process, 1), asking(process, 2)];
  child.stdout.write(`{"jsonrpc":"2.0","id":1,"result":"${"x".repeat(LIMITS.acpMaxLineBytes)}"}\n`);
  child.stdout.write('{"jsonrpc":"2.0","id":2,"result":{}}\n');
  expect((await long).error?.message).toContain("over the limit");
  expect(await short).toEqual({ result: {} });
});

test("a request of Tenon's own is not waited for without end", async () => {
  const { world, process } = start();
  const answer = process.request("initialize", {}, 60_000);
  await world.clock.advance(60_000);
  expect((await answer).error?.message).toBe("The wrapped agent did not answer initialize within 60 s");
});

test("one that is ended is no crash", async () => {
  const { world, process, child, ends } = start();
  const ending = process.end({ stdinMs: 100, terminateMs: 100 });
  await world.clock.advance(1_000);
  await ending;
  expect(child.signals).toEqual(["SIGTERM"]);
  await settle();
  expect(ends).toEqual([]);
});

test("one that closes its output and runs on is ended, and what it was asked is answered", async () => {
  const { world, process, child, ends } = start();
  const answer = asking(process, 1);
  child.stdout.end();
  await world.clock.advance(LIMITS.killWaitMs + LIMITS.closeGrace.stdinMs + LIMITS.closeGrace.terminateMs);
  expect((await answer).error?.message).toBe("The wrapped agent was ended by SIGTERM");
  await settle();
  expect(ends).toEqual([["was ended by SIGTERM", 1]]);
});
