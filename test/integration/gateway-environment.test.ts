// A gateway on a fake machine: in whose environment turns that were left open go on; what only some clients see, and what is written down.
import { closeSync, openSync, readFileSync, renameSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { SessionHandle } from "../../src/acp/index.js";
import { Cell } from "../../src/base/async/cell.js";
import { bounded } from "../../src/cli/log.js";
import { GATEWAY_LIMITS } from "../../src/gateway/index.js";
import type { FakeWorld } from "../../src/testing/index.js";
import { House, LOAD, REQUEST, said } from "../gateway-house.js";
import { TemporaryFolder } from "../scenarios/agent.js";
import { scenario } from "../scenarios/scenario.js";

const { awaitClientMs, awaitEnvironmentMs, restMs } = GATEWAY_LIMITS.sessions;
const WITH_KEY = { env: { KEY: "canary-9c1" } };
const WITHOUT_KEY = { env: { OTHER: "x" } };

function house(world?: FakeWorld): House {
  const made = new House(world);
  made.needsKey = true;
  return made;
}

/** While time passes. */
async function passing<T>(world: FakeWorld, work: Promise<T>): Promise<T> {
  for (let second = 0; second < 5; second++) await world.advance(1_000);
  return await work;
}

/** A gateway that ends under a turn of a client with this environment; then the next one. */
async function restarted(meta: object): Promise<{ next: House; id: string; world: FakeWorld }> {
  const first = house();
  const { world } = first;
  const { session } = await (await first.access({}, meta)).create(REQUEST, {});
  first.hold();
  session.prompt([{ type: "text", text: "long work" }], undefined, { promptId: "p" }).catch(() => {});
  await world.advance(0);
  await passing(world, first.sessions.drain(0));
  await passing(world, first[Symbol.asyncDispose]());
  const { files } = world;
  const list = files.list.bind(files);
  // The files of the fake machine do not have its time.
  files.list = async (path) => (await list(path)).map((file) => ({ ...file, modifiedMs: world.now() }));
  const next = house(world);
  next.sessions.continueOpenTurns([]);
  return { next, id: session.id, world };
}

async function kinds({ sessions }: House, id: string): Promise<string[]> {
  return (await sessions.store("me").read(id, 0, 500)).map(({ kind }) => kind);
}

function notices(session: SessionHandle): string[] {
  return session.current.flatMap((event) => (event.kind === "notice" ? [event.text] : []));
}

const prompted = (session: SessionHandle) =>
  session.prompt([{ type: "text", text: "long work" }], undefined, { promptId: "p" });

scenario(
  ["G551"],
  "a turn that a client began goes on at once when a client with an environment joins, in that environment",
  async () => {
    const { next, id, world } = await restarted(WITH_KEY);
    await using _ = next;
    await world.advance(awaitClientMs * 3);
    expect([next.sessions.open(), next.opened]).toEqual([[], []]);
    expect(next.sessions.stateOf("me", id)).toBe("waiting");
    const { session } = await (await next.access({}, WITH_KEY)).load({ ...REQUEST, id }, LOAD);
    expect(await prompted(session)).toMatchObject({ stopReason: "end_turn", turn: 1 });
    expect(next.opened).toMatchObject([{ env: { KEY: "canary-9c1" } }]);
    const records = JSON.stringify(await next.sessions.store("me").read(id, 0, 500));
    expect(records).toContain('"environment":{"model":"test/echo"}');
    expect(records).not.toContain("canary-9c1");
  },
);

scenario(
  ["G552"],
  "without its client it goes on after a minute in the gateway's own environment, if there is a model",
  async () => {
    const { next, id, world } = await restarted(WITH_KEY);
    await using _ = next;
    next.needsKey = false;
    await world.advance(awaitEnvironmentMs - 1_000);
    expect(next.opened).toEqual([]);
    await world.advance(2_000);
    expect(next.opened).toMatchObject([{ cwd: "/work" }]);
    expect(next.opened[0]?.env).toBeUndefined();
    expect(await kinds(next, id)).toContain("end");
  },
);

scenario(["G552"], "a turn without the environment of a client goes on after a moment", async () => {
  const { next, id, world } = await restarted({});
  await using _ = next;
  await world.advance(awaitClientMs + 1_000);
  expect(await kinds(next, id)).toContain("continued");
});

scenario(["G553"], "without a key the turn stays open, visibly, until a client brings one", async () => {
  const { next, id, world } = await restarted(WITH_KEY);
  await using _ = next;
  const before = await kinds(next, id);
  await world.advance(awaitEnvironmentMs + 1_000);
  expect(next.sessions.stateOf("me", id)).toBe("waiting");
  const watching = await next.access();
  const watched = await watching.shared.methods["_tenon/gateway/watch"]?.({}, () => {}, AbortSignal.any([]));
  expect(watched).toEqual({ sessions: [{ sessionId: id, state: "waiting" }] });
  watching.shared.closed();
  expect([next.sessions.open(), await kinds(next, id)]).toEqual([[], before]);
  // Clients without a key see it, and it still waits: one over the network, and one in a shell without the variable.
  const far = await next.access({ isLocal: false, tokenId: "t", scopes: new Set(["read", "prompt"]) });
  const seen = await far.load({ ...REQUEST, id }, LOAD);
  expect(seen.session.view().state).toBe("waiting");
  expect(notices(seen.session)).toEqual([expect.stringMatching(/waits for a client.*test\/echo needs KEY/u)]);
  const shell = await next.access({}, WITHOUT_KEY);
  expect((await shell.load({ ...REQUEST, id }, LOAD)).session.view().state).toBe("waiting");
  expect([next.reconnects, await kinds(next, id)]).toEqual([0, before]);
  expect(next.sessions.isIdle.value).toBe(false); // they are connected
  const editor = await next.access({}, WITH_KEY);
  const { session } = await passing(world, editor.load({ ...REQUEST, id }, LOAD));
  expect(next.reconnects).toBe(2);
  expect(await prompted(session)).toMatchObject({ stopReason: "end_turn", turn: 1 });
  expect(next.opened.at(-1)).toMatchObject({ env: { KEY: "canary-9c1" } });
});

scenario(
  ["G554"],
  "where there are other nodes, the store alone knows of a turn that waits once it was left",
  async () => {
    const { next, id, world } = await restarted(WITH_KEY);
    await using _ = next;
    const nodes = { self: new Cell("one"), problem: new Cell(undefined), drain: async () => {} };
    Object.assign(next.store, { nodes });
    const far = await next.access({ isLocal: false, tokenId: "t", scopes: new Set(["read", "prompt"]) });
    await far.load({ ...REQUEST, id }, LOAD);
    expect(next.sessions.stateOf("me", id)).toBe("waiting");
    await passing(world, next.sessions.drain(0));
    expect([next.sessions.held("me"), next.sessions.stateOf("me", id)]).toEqual([[], "resting"]);
  },
);

scenario(
  ["G554"],
  "a session whose turn waits rests without clients, lets the gateway be idle, and can be cancelled",
  async () => {
    const { next, id, world } = await restarted(WITH_KEY);
    await using _ = next;
    await world.advance(awaitEnvironmentMs + 1_000);
    const far = await next.access({ isLocal: false, tokenId: "t", scopes: new Set(["read", "prompt"]) });
    const { session } = await far.load({ ...REQUEST, id }, LOAD);
    await far.leave(session);
    far.shared.closed();
    expect(next.sessions.isIdle.value).toBe(true);
    await world.advance(restMs + 1_000);
    expect([next.sessions.open(), next.sessions.stateOf("me", id)]).toEqual([[], "waiting"]);
    expect(await next.sessions.store("me").unfinished(0)).toHaveLength(1);
    const again = (await far.load({ ...REQUEST, id }, LOAD)).session;
    again.cancel();
    await world.advance(1_000);
    expect(again.view().state).toBe("idle");
    const last = (await next.sessions.store("me").read(id, 0, 500)).findLast(({ kind }) => kind === "end");
    expect(last).toMatchObject({ stopReason: "cancelled" });
  },
);

scenario(["G555"], "an idle session that was opened without a model gives way to a client that has one", async () => {
  await using next = house();
  const far = await next.access({ isLocal: false, tokenId: "t", scopes: new Set(["read", "prompt"]) });
  const { session } = await far.create(REQUEST, {});
  await said(session, "hello");
  const editor = await next.access({}, WITH_KEY);
  const { session: joined } = await passing(next.world, editor.load({ ...REQUEST, id: session.id }, LOAD));
  expect([next.reconnects, joined.settings.model]).toEqual([1, "test/echo"]);
  // What runs in an environment already is left in it.
  const other = await next.access({}, { env: { KEY: "another" } });
  await other.load({ ...REQUEST, id: session.id }, LOAD);
  expect(next.reconnects).toBe(1);
});

scenario(["G560"], "the address of a log-in is told to clients that may approve, and to no others", async () => {
  await using gateway = new House();
  const near = await gateway.access();
  const { session } = await near.create(REQUEST, {});
  const open = gateway.sessions.find("me", session.id)?.session;
  const text = (words: string) => ({ kind: "turn", event: { kind: "text", text: words } }) as const;
  const follow = async function* () {
    yield { kind: "moment", event: { ...text("https://login.example/?state=canary"), isForApprovers: true } };
    yield { kind: "moment", event: text("for all") };
  };
  Object.defineProperty(open, "log", { value: { lastSeq: 7, follow } });
  const few = await gateway.access({ isLocal: false, tokenId: "t", scopes: new Set(["read", "prompt", "tools"]) });
  const approver = await gateway.access({ isLocal: false, tokenId: "u", scopes: new Set(["read", "approve"]) });
  const watching = (await near.load({ ...REQUEST, id: session.id }, { ...LOAD, meta: { role: "observer" } })).session;
  await expect(few.peek(session.id)?.loginPage("s")).rejects.toMatchObject({ code: "access.denied" });
  for (const [handle, count] of [
    [session, 2],
    [approver.peek(session.id), 2],
    [few.peek(session.id), 1],
    [watching, 1],
  ] as const) {
    const heard: object[] = [];
    for await (const item of handle?.log.follow(0, new AbortController().signal) ?? []) heard.push(item);
    expect([heard.length, handle?.log.lastSeq]).toEqual([count, 7]);
    expect(JSON.stringify(heard).includes("canary")).toBe(count === 2);
  }
});

scenario(["G561"], "what a client may not do has a line in the audit file, by its name alone", async () => {
  await using gateway = new House();
  const few = await gateway.access({
    isLocal: false,
    tokenId: "t",
    name: "phone",
    scopes: new Set(["read", "prompt"]),
  });
  const { session } = await few.create(REQUEST, {});
  await said(session, "/mcp add canary -- /bin/canary");
  await said(session, "/permissions allow canary");
  await session.configured;
  expect(() => session.set("mode", "auto-edit")).toThrow('needs the scope "approve"');
  const observer = (await few.load({ ...REQUEST, id: session.id }, { ...LOAD, meta: { role: "observer" } })).session;
  observer.cancel();
  expect(() => observer.questions.answer("q", "once", { client: "x", name: "x" })).toThrow("observer");
  await expect(said(observer, "hello")).rejects.toMatchObject({ code: "access.denied" });
  // What no client of another machine may do, whatever its scopes are.
  const all = { isLocal: false, tokenId: "t", name: "phone", scopes: new Set(["read", "prompt", "tools"] as const) };
  const program = { kind: "stdio", name: "canary", command: "/bin/canary", args: [], env: {} } as const;
  const { session: other } = await (await gateway.access(all)).create({ cwd: "/work", servers: [program] }, {});
  await said(other, "/mcp add canary -- /bin/canary");
  const who = { event: "denied", account: "me", token: "t", name: "phone" };
  expect(gateway.written).toEqual(
    [
      ...["/mcp add", "/permissions allow", "set mode", "session/cancel"],
      ...["observer: answer questions", "observer: send prompts", "mcpServers", "/mcp add"],
    ].map((method) => ({ ...who, method })),
  );
});

scenario(["G562"], "a log that this process has open is bounded, and one of another name is left alone", async () => {
  using folder = new TemporaryFolder();
  const path = join(folder.path, "gateway.log");
  const older = join(folder.path, "gateway.1.log");
  const fd = openSync(path, "a");
  const write = bounded({ path, older, fd, maxBytes: 8_000 }, (line) => writeSync(fd, line));
  for (let line = 0; line < 5_000; line++) write(`line ${line} ${"x".repeat(50)}\n`);
  const sizes = [path, older].map((file) => statSync(file).size);
  expect(Math.max(...sizes)).toBeLessThan(8_000 * 1.3);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  expect(readFileSync(path, "utf8")).toContain("line 4999 ");
  renameSync(path, `${path}.mine`);
  writeFileSync(path, "of another");
  for (let line = 0; line < 500; line++) write(`more ${line} ${"x".repeat(50)}\n`);
  closeSync(fd);
  expect(statSync(`${path}.mine`).size).toBeGreaterThan(20_000);
  expect(readFileSync(path, "utf8")).toBe("of another");
});
