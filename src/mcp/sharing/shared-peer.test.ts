// Whose question it is: put to the session it is for, held while that cannot be told, and never shown to another one.
import { expect, test } from "vitest";
import { ASKING, type Guest, PID, PoolBench, SLOW, TOOLS, textOf } from "../../../test/pool-bench.js";
import { echoTool, type ToolScript } from "../../testing/index.js";
import { POOL_LIMITS } from "../limits.js";

async function pair(bench: PoolBench): Promise<readonly [Guest, Guest]> {
  const [one, other] = await bench.guests(2);
  if (!one || !other) throw new Error("two were asked for");
  return [one, other];
}

async function pidOf(bench: PoolBench, guest: Guest): Promise<string> {
  return textOf(await bench.after(100, guest.call("pid")));
}

test("of several sessions the one whose call runs is asked, and from then on each has its own server", async () => {
  await using bench = new PoolBench();
  const [one, other] = await pair(bench);
  expect(await pidOf(bench, one)).toBe(await pidOf(bench, other));
  expect(textOf(await bench.after(100, one.call("ask")))).toContain("g1");
  expect(one.asked).toHaveLength(1);
  expect(other.asked).toEqual([]);
  await bench.world.advance(10_000);
  expect(bench.living).toBe(2); // the shared one is gone
  expect(await pidOf(bench, one)).not.toBe(await pidOf(bench, other));
  expect(textOf(await bench.after(100, other.call("ask")))).toContain("g2");
  for (const guest of [one, other]) {
    expect(guest.server.state.value.kind).toBe("ready");
    await bench.after(10_000, guest.server.close());
  }
  expect(bench.living).toBe(0);
});

test("while calls of two sessions run it is waited until one of them ends: what is left has asked", async () => {
  await using bench = new PoolBench();
  const [one, other] = await pair(bench);
  const slow = other.call("slow");
  const asking = one.call("ask");
  await bench.world.advance(4_000);
  expect([one.asked, other.asked]).toEqual([[], []]);
  await bench.world.advance(2_000);
  expect(textOf(await asking)).toContain("g1");
  expect(await slow).toMatchObject({ kind: "answered" });
  expect(other.asked).toEqual([]);
  expect(one.declined).toEqual([]);
});

test("while it is being waited for, new calls do not make it worse: they go to the sessions' own servers", async () => {
  await using bench = new PoolBench();
  const [one, other] = await pair(bench);
  const shared = await pidOf(bench, other);
  const slow = other.call("slow");
  const asking = one.call("ask");
  await bench.world.advance(1_000);
  expect(await pidOf(bench, other)).not.toBe(shared);
  expect(await pidOf(bench, one)).not.toBe(shared);
  await bench.world.advance(5_000);
  expect(textOf(await asking)).toContain("g1");
  expect(await slow).toMatchObject({ kind: "answered" });
});

test("questions of two sessions at once: the first is declined unseen, which tells whose the other is", async () => {
  await using bench = new PoolBench();
  const [one, other] = await pair(bench);
  const asking = [one.call("ask"), other.call("ask")];
  await bench.world.advance(POOL_LIMITS.askerWaitMs - 100);
  expect([one.asked, other.asked]).toEqual([[], []]);
  await bench.world.advance(POOL_LIMITS.askerWaitMs);
  const [first, second] = (await Promise.all(asking)).map(textOf);
  expect(first).toContain("decline");
  expect(second).toContain("g2");
  expect([one.asked.length, other.asked.length]).toEqual([0, 1]);
  expect(one.declined[0]).toMatch(/could not be told which one it asked.*try again/u);
  expect(textOf(await bench.after(100, one.call("ask")))).toContain("g1");
});

test("what a cancelled call still asks for is not put to the session that calls meanwhile", async () => {
  await using bench = new PoolBench();
  const [one, other] = await pair(bench);
  const cancel = new AbortController();
  const stubborn = one.call("stubborn", cancel.signal);
  await bench.world.advance(100);
  cancel.abort();
  expect(await stubborn).toMatchObject({ kind: "cancelled" });
  const slow = other.call("slow");
  await bench.world.advance(POOL_LIMITS.askerWaitMs * 2);
  expect(await slow).toMatchObject({ kind: "answered" });
  expect(other.asked).toEqual([]);
});

test("nor what a session that has left was cut off from", async () => {
  await using bench = new PoolBench();
  const [one, other] = await pair(bench);
  const stubborn = one.call("stubborn");
  await bench.world.advance(100);
  await one.server.leave();
  expect(await stubborn).toMatchObject({ kind: "unknown" });
  const slow = other.call("slow");
  await bench.world.advance(POOL_LIMITS.askerWaitMs * 2);
  expect(await slow).toMatchObject({ kind: "answered" });
  expect(other.asked).toEqual([]);
  expect(textOf(await bench.after(100, other.call("ask")))).toContain("g2"); // it has its own by now
});

test("roots are the same for all who share a local server: to ask for them is no reason to have one of one's own", async () => {
  const roots: ToolScript = { name: "roots", reply: { kind: "ask_client", method: "roots/list" } };
  await using bench = new PoolBench({ tools: [roots] });
  const [one, other] = await pair(bench);
  for (const guest of [one, other])
    expect(textOf(await bench.after(100, guest.call("roots")))).toContain("file:///project");
  expect(bench.world.children).toHaveLength(1);
});

test("a server that wants the model's words asks too, also where nobody can give them", async () => {
  const sampling: ToolScript = { name: "sample", reply: { kind: "ask_client", method: "sampling/createMessage" } };
  await using bench = new PoolBench({ tools: [sampling, PID] });
  const [one, other] = await pair(bench);
  await bench.after(100, one.call("sample"));
  expect(one.declined).toEqual(["sampling/createMessage: nobody here can approve it"]);
  expect(other.declined).toEqual([]);
  expect(await pidOf(bench, one)).not.toBe(await pidOf(bench, other));
});

test("log lines are shown to a session that was alone with the server until now, and to nobody once it was not", async () => {
  const loud: ToolScript = {
    name: "loud",
    steps: [{ do: "notify", method: "notifications/message", params: { level: "info", data: "secret of a call" } }],
    reply: { kind: "text", text: "ok" },
  };
  await using bench = new PoolBench({ tools: [loud] });
  const [one, other] = await pair(bench);
  await bench.after(100, one.call("loud"));
  expect(one.logged).toHaveLength(1);
  await bench.after(100, other.call("loud"));
  await bench.after(100, one.call("loud"));
  expect([one.logged.length, other.logged.length]).toEqual([1, 0]);
  expect([...one.overheardLines, ...other.overheardLines]).toHaveLength(2); // for the record
});

test("progress belongs to its call", async () => {
  const busy: ToolScript = {
    name: "busy",
    steps: [{ do: "progress", progress: 1, message: "half" }],
    reply: { kind: "text", text: "ok" },
  };
  await using bench = new PoolBench({ tools: [busy, SLOW] });
  const [one, other] = await pair(bench);
  const heard: string[] = [];
  const listening = (guest: Guest) => (note: { readonly message?: string }) =>
    heard.push(`${guest.name} ${note.message}`);
  const calls = [
    other.server.call("slow", {}, { signal: new AbortController().signal, onProgress: listening(other) }),
    one.server.call("busy", {}, { signal: new AbortController().signal, onProgress: listening(one) }),
  ];
  await bench.world.advance(6_000);
  await Promise.all(calls);
  expect(heard).toEqual(["g1 half"]);
});

test("a modern server asks within the call itself: each session is asked its own question, however many run", async () => {
  const ask: ToolScript = {
    name: "ask",
    steps: [{ do: "delay", ms: 500 }],
    reply: {
      kind: "ask_input",
      inputRequests: { who: { method: "elicitation/create", params: { message: "who?", requestedSchema: {} } } },
    },
  };
  await using bench = new PoolBench({ era: "modern", tools: [ask, SLOW, PID] });
  const [one, other] = await pair(bench);
  expect(await pidOf(bench, one)).toBe(await pidOf(bench, other));
  const calls = [one.call("ask"), other.call("ask")];
  await bench.world.advance(5_000);
  const [first, second] = (await Promise.all(calls)).map(textOf);
  expect(first).toContain("g1");
  expect(second).toContain("g2");
  expect([one.asked.length, other.asked.length]).toEqual([1, 1]);
  await bench.world.advance(10_000);
  expect(await pidOf(bench, one)).not.toBe(await pidOf(bench, other));
});

test("a server that nobody uses at the moment and asks all the same is answered by nobody, and ends", async () => {
  const late: ToolScript = { ...ASKING, name: "late", steps: [{ do: "delay", ms: 3_000 }], ignoresCancel: true };
  await using bench = new PoolBench({ ...TOOLS, tools: [late, echoTool()] });
  const [one, other] = await pair(bench);
  await bench.after(100, other.call("echo"));
  const cut = one.call("late");
  await bench.world.advance(100);
  await one.server.leave();
  await other.server.leave();
  expect(await cut).toMatchObject({ kind: "unknown" });
  await bench.world.advance(30_000);
  expect([one.asked, other.asked]).toEqual([[], []]);
  expect(bench.living).toBe(0);
});
