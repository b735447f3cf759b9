// The sessions of a gateway on a fake machine: rest, limits, accounts, environments, and what is begun while it stops.
import { expect, test, vi } from "vitest";
import { House, LOAD, REQUEST, STATE, said } from "../../../test/gateway-house.js";
import type { SessionHandle } from "../../acp/index.js";
import { Cell } from "../../base/async/cell.js";
import type { GivenServers } from "../../session/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import { BroughtServers } from "./brought-servers.js";
import type { ClientAccess } from "./client-access.js";
import { drainOrder } from "./ending.js";
import { sessionEnvironment } from "./runtimes.js";

test("a session without clients and work rests after ten minutes, and is opened again for the next client", async () => {
  await using house = new House();
  const { world, sessions } = house;
  const access = await house.access();
  const { session } = await access.create(REQUEST, {});
  await said(session, "hello");
  await world.advance(GATEWAY_LIMITS.sessions.restMs * 2);
  expect(sessions.stateOf("me", session.id)).toBe("idle");
  const changes: object[] = [];
  const { signal } = new AbortController();
  await access.shared.methods["_tenon/gateway/watch"]?.({}, (_, change) => changes.push(change), signal);
  await access.leave(session);
  await world.advance(GATEWAY_LIMITS.sessions.restMs - 1_000);
  expect(sessions.find("me", session.id)).toBeDefined();
  await world.advance(2_000);
  expect(sessions.stateOf("me", session.id)).toBe("resting");
  expect(changes.at(-1)).toMatchObject({ sessionId: session.id, state: "resting", title: "hello", clients: [] });
  expect(await access.statusOf(session.id)).toBe("saved");
  // Two clients at once get the same one.
  const request = { ...REQUEST, id: session.id };
  const [one, two] = await Promise.all([access.load(request, LOAD), (await house.access()).load(request, LOAD)]);
  expect(one.session.turnCount).toBe(1);
  expect(sessions.open()).toHaveLength(1);
  expect(await said(two.session, "again")).toBe("end_turn");
  expect(sessions.totals.turns).toBe(2);
  // Nobody has the runtime any more: it is closed a while after its last session.
  for (const joined of [one.session, two.session]) await access.leave(joined);
  await world.advance(GATEWAY_LIMITS.sessions.restMs + GATEWAY_LIMITS.sessions.runtimeIdleMs + 1_000);
  expect(() => house.hosts.map((host) => host.createSession({ cwd: "/work" }))).toThrow("Tenon is ending");
});

test("a turn goes on without its client, and keeps its session from resting and the gateway from being idle", async () => {
  await using house = new House();
  const { world, sessions } = house;
  const access = await house.access();
  expect(sessions.isIdle.value).toBe(false);
  const { session } = await access.create(REQUEST, {});
  house.hold();
  const prompted = said(session, "hello");
  await access.leave(session);
  access.shared.closed();
  await world.advance(GATEWAY_LIMITS.sessions.restMs * 2);
  expect(sessions.stateOf("me", session.id)).toBe("running");
  expect(sessions.isIdle.value).toBe(false);
  house.release();
  expect(await prompted).toBe("end_turn");
  expect(sessions.isIdle.value).toBe(true);
  await world.advance(GATEWAY_LIMITS.sessions.restMs + 1_000);
  expect(sessions.stateOf("me", session.id)).toBe("resting");
});

test("while the gateway stops nothing is begun, and turns that end in time are waited for", async () => {
  await using house = new House();
  const access = await house.access();
  const { session } = await access.create(REQUEST, {});
  house.hold();
  const prompted = said(session, "hello");
  const drained = house.sessions.drain(30_000);
  await house.world.advance(1_000);
  let isAnswered = false;
  const late = [access.create(REQUEST, {}), said(session, "more")];
  for (const begun of late) begun.then(() => (isAnswered = true)).catch(() => (isAnswered = true));
  house.release();
  expect(await prompted).toBe("end_turn");
  await drained;
  expect(isAnswered).toBe(false);
  expect(house.sessions.open()).toEqual([]);
});

test("a stop while a session is being opened leaves its turn to the next gateway", async () => {
  const first = new House();
  const { world } = first;
  const { session } = await (await first.access()).create(REQUEST, {});
  first.hold();
  session.prompt([{ type: "text", text: "long work" }], undefined, { promptId: "p" }).catch(() => {});
  await world.advance(0);
  /** While time passes. */
  const ended = async (work: Promise<void>) => {
    for (let second = 0; second < 10; second++) await world.advance(1_000);
    await work;
  };
  await ended(first.sessions.drain(0));
  await ended(first[Symbol.asyncDispose]());
  const kinds = async () => (await first.sessions.store("me").read(session.id, 0, 500)).map(({ kind }) => kind);
  const before = await kinds();
  expect(before).toContain("drained");
  for (const isDrained of [true, false]) {
    const next = new House(world);
    next.hold();
    let open = () => {};
    next.runtimeHeld = new Promise((resolve) => {
      open = resolve;
    });
    const joined = next.sessions.join({ id: session.id, cwd: "/work" }, { account: "me" });
    joined.catch(() => {});
    await world.advance(0);
    const drained = isDrained ? next.sessions.drain(0) : Promise.resolve();
    if (isDrained) await world.advance(0);
    const disposed = isDrained ? undefined : next[Symbol.asyncDispose]();
    open();
    await ended(drained);
    await ended(disposed ?? next[Symbol.asyncDispose]());
    expect(next.sessions.open()).toEqual([]);
    expect(await kinds()).toEqual(before);
  }
  // One that goes on already is left as well, also without a drain.
  const last = new House(world);
  last.hold();
  await last.sessions.join({ id: session.id, cwd: "/work" }, { account: "me" });
  await world.advance(100);
  await ended(last[Symbol.asyncDispose]());
  expect((await kinds()).filter((kind) => kind === "end" || kind === "error")).toEqual([]);
  expect(await last.sessions.store("me").unfinished(0)).toHaveLength(1);
});

test("a session whose node loses its lease while it is opened is closed, and can be opened later", async () => {
  await using house = new House();
  const access = await house.access();
  const { session } = await access.create(REQUEST, {});
  await said(session, "hello");
  await access.leave(session);
  await house.world.advance(GATEWAY_LIMITS.sessions.restMs + 1_000);
  const self = new Cell<string | undefined>("one");
  Object.assign(house.store, { nodes: { self, problem: new Cell(undefined) } });
  const { sessions: store } = house.store.account("me");
  const acquire = store.acquire.bind(store);
  const acquireLate: typeof acquire = async (...given) => {
    const acquired = await acquire(...given);
    self.set(undefined);
    return acquired;
  };
  Object.assign(store, { acquire: acquireLate });
  const join = () => house.sessions.join({ id: session.id, cwd: "/work" }, { account: "me" });
  await expect(join()).rejects.toMatchObject({ code: "store.unavailable" });
  Object.assign(store, { acquire });
  self.set("two");
  expect((await join()).session.turnCount).toBe(1);
});

test("a prompt that was taken back does not run when it is sent again, also after a restart", async () => {
  const house = new House();
  const { world } = house;
  const access = await house.access();
  const { session } = await access.create(REQUEST, {});
  house.hold();
  const running = said(session, "A");
  await world.advance(0);
  const back = new AbortController();
  const prompt = (on: SessionHandle, signal?: AbortSignal) =>
    on.prompt([{ type: "text", text: "B" }], signal, { promptId: "b" });
  const waiting = prompt(session, back.signal);
  await world.advance(0);
  back.abort();
  const taken = { stopReason: "cancelled" };
  expect(await waiting).toMatchObject(taken);
  house.release();
  await running;
  expect(await prompt(session)).toMatchObject(taken);
  await expect(session.prompt([{ type: "text", text: "C" }], undefined, { promptId: "b" })).rejects.toMatchObject({
    code: "session.prompt_conflict",
  });
  await house[Symbol.asyncDispose]();
  await using next = new House(world);
  const again = await (await next.access()).load({ ...REQUEST, id: session.id }, LOAD);
  expect(await prompt(again.session)).toMatchObject(taken);
  expect(again.session.turnCount).toBe(1);
});

test("a session that comes to rest or is being opened is deleted once it has", async () => {
  await using house = new House();
  const { world, sessions } = house;
  const access = await house.access();
  const { session } = await access.create(REQUEST, {});
  await said(session, "hello");
  await access.leave(session);
  await world.advance(GATEWAY_LIMITS.sessions.restMs + 1_000);
  const loading = sessions.join({ ...REQUEST, id: session.id }, { account: "me" });
  const deleted = access.delete(session.id);
  await loading;
  await deleted;
  expect(await sessions.store("me").has(session.id)).toBe(false);
  const { session: other } = await access.create(REQUEST, {});
  await said(other, "hello");
  await access.leave(other);
  let deleting: Promise<void> | undefined;
  // Runs after the timer that puts it to rest, in the same moment.
  world.after(GATEWAY_LIMITS.sessions.restMs, () => {
    expect(sessions.find("me", other.id)).toBeUndefined();
    deleting = access.delete(other.id);
  });
  await world.advance(GATEWAY_LIMITS.sessions.restMs);
  await deleting;
  expect(await sessions.store("me").has(other.id)).toBe(false);
  expect(sessions.open()).toEqual([]);
});

test("clients of a session, sessions of an account: one more than allowed is refused", async () => {
  await using house = new House();
  const first = await house.access();
  const { session } = await first.create(REQUEST, {});
  const request = { ...REQUEST, id: session.id };
  for (let count = 1; count < GATEWAY_LIMITS.sessions.clientsPerSession; count++) {
    await (await house.access()).load(request, LOAD);
  }
  await expect((await house.access()).load(request, LOAD)).rejects.toMatchObject({ code: "access.limited" });
  for (let count = 1; count < GATEWAY_LIMITS.sessions.perAccount; count++) await first.create(REQUEST, {});
  await expect(first.create(REQUEST, {})).rejects.toMatchObject({ code: "access.limited" });
  const other = await house.access({ account: "other" });
  expect((await other.create(REQUEST, {})).session.id).not.toBe("");
});

test("the sessions of another account do not exist", async () => {
  await using house = new House();
  const mine = await house.access();
  const { session } = await mine.create(REQUEST, {});
  await said(session, "hello");
  const other = await house.access({ account: "other" });
  const missing = { code: "session.not_found" };
  const { id } = session;
  expect((await other.list({})).sessions).toEqual([]);
  expect((await mine.list({})).sessions).toHaveLength(1);
  await expect(other.load({ ...REQUEST, id }, LOAD)).rejects.toMatchObject(missing);
  await expect(other.fork({ ...REQUEST, id })).rejects.toMatchObject(missing);
  await expect(other.setTitle(id, "x")).rejects.toMatchObject(missing);
  await expect(other.statusOf(id)).rejects.toMatchObject(missing);
  await expect(other.records(id, 0, 10)).rejects.toMatchObject(missing);
  expect(other.peek(id)).toBeUndefined();
  await expect(other.stored(id)).rejects.toMatchObject(missing);
  await other.delete(id);
  expect(house.sessions.find("me", id)).toBeDefined();
  expect(house.opened.map(({ stateDir }) => stateDir)).toEqual([STATE]);
});

test("a session has the environment of its client, which is in memory only and only of this machine's", async () => {
  await using house = new House();
  const env = { PATH: "/client", KEY: "canary-8c1", HOME: "/elsewhere", TENON_HOME: "/elsewhere" };
  const near = await house.access({}, { env });
  await near.create(REQUEST, {});
  await near.create(REQUEST, {});
  await (await house.access({ isLocal: false, tokenId: "t" }, { env })).create(REQUEST, {});
  expect(house.opened.map((place) => place.env)).toEqual([
    { PATH: "/client", KEY: "canary-8c1", HOME: "/home" },
    undefined,
  ]);
  await expect(house.access({}, { env: { A: 1 } })).rejects.toMatchObject({ code: "session.invalid_request" });
  expect(sessionEnvironment({ USER: "me", OPENAI_API_KEY: "own" }, { LANG: "C" })).toEqual({ USER: "me", LANG: "C" });
  expect(JSON.stringify(house.world.logEntries)).not.toContain("canary");
});

test("a client of another machine starts no program here and leads to no private address", async () => {
  await using house = new House();
  const servers = [
    { kind: "stdio", name: "run", command: "rm", args: [], env: {} },
    { kind: "http", name: "near", url: "http://127.0.0.1:1/mcp", headers: {} },
    { kind: "http", name: "inside", url: "https://10.0.0.1/mcp", headers: {} },
    { kind: "http", name: "hidden", url: "https://inside.example/mcp", headers: {} },
  ] as const;
  const far = await house.access({ isLocal: false, tokenId: "t" });
  const { session } = await far.create({ cwd: "/work", servers }, {});
  const states = async () => {
    await house.world.advance(1_000); // names are judged when they are dialled
    return session.servers.map(({ name, state }) => `${name} ${state}`).sort();
  };
  const failed = ["hidden", "inside", "near", "run"].map((name) => `${name} failed`);
  expect(await states()).toEqual(failed);
  expect(house.world.lookups).toContain("inside.example");
  expect(JSON.stringify(session.servers)).toContain("leads to no public address");
  // Nor later on.
  await session.setServers({ servers: [] });
  expect(await states()).toEqual([]);
  await session.setServers({ servers });
  expect(await states()).toEqual(failed);
  await far.load({ cwd: "/work", id: session.id, servers }, LOAD);
  expect(await states()).toEqual(failed);
  expect(house.world.children).toEqual([]);
});

/** What is said in a session from now on. */
function heard(session: SessionHandle): () => string {
  let text = "";
  const read = async () => {
    for await (const event of session.events())
      if (event.kind === "turn" && event.event.kind === "text") text += event.event.text;
  };
  read().catch(() => undefined);
  return () => text;
}

test("commands and settings of a token stay within its scopes", async () => {
  await using house = new House();
  const far = await house.access({ isLocal: false, tokenId: "t", scopes: new Set(["read", "prompt"]) });
  const { session } = await far.create(REQUEST, {});
  const text = heard(session);
  await said(session, "/mcp add y -- /bin/sh -c true");
  await said(session, "/permissions allow y");
  expect(text()).toContain('needs the scope "tools"');
  expect(text()).toContain('needs the scope "approve"');
  await session.configured;
  const denied = { code: "access.denied", message: expect.stringContaining('"approve"') };
  await expect(async () => session.set("mode", "auto-edit")).rejects.toMatchObject(denied);
  expect(() => session.set("mode", "none")).toThrow("is no mode");
  const near = (await (await house.access()).load({ ...REQUEST, id: session.id }, LOAD)).session;
  near.set("mode", "auto-edit");
  session.set("mode", "ask");
  expect(session.settings.mode).toBe("ask");
  const tools = await house.access({ isLocal: false, tokenId: "u", scopes: new Set(["read", "prompt", "tools"]) });
  await said((await tools.load({ ...REQUEST, id: session.id }, LOAD)).session, "/mcp add z -- /bin/sh -c true");
  expect(text()).toContain("may not start programs");
  expect(house.world.children).toEqual([]);
});

test("a command that waited when the gateway ended runs with no more than the rights of a prompt", async () => {
  const house = new House();
  const { world } = house;
  const { session } = await (await house.access()).create(REQUEST, {});
  house.hold();
  said(session, "A").catch(() => undefined);
  await world.advance(0);
  const add = [{ type: "text", text: "/mcp add y -- /bin/sh -c true" }] as const;
  session.prompt(add, undefined, { promptId: "b" }).catch(() => undefined);
  await world.advance(0);
  const stopped = house.sessions.drain(0);
  await world.advance(60_000);
  await stopped;
  await house[Symbol.asyncDispose]();
  await using next = new House(world);
  const again = (await (await next.access()).load({ ...REQUEST, id: session.id }, LOAD)).session;
  const text = heard(again);
  await world.advance(60_000);
  expect(again.turnCount).toBe(2);
  expect(text()).toContain('needs the scope "tools"');
  expect(world.children).toEqual([]);
});

test("an id that a client promised is its session; a forged identity is a new one, and written down", async () => {
  await using house = new House();
  const one = await house.access();
  const meta = { id: "01a1e424-af94-758a-88b5-5e6b6b6dd0ad" };
  const both = await Promise.all([one.create(REQUEST, meta), one.create(REQUEST, meta)]);
  expect(both.map(({ session }) => session.id)).toEqual([meta.id, meta.id]);
  expect(house.sessions.open()).toHaveLength(1);
  await expect(one.create(REQUEST, { id: "short" })).rejects.toMatchObject({ code: "session.invalid_request" });
  const two = await house.access({}, { client: { name: "two", id: one.client.client, key: "guess" } });
  expect(two.client.client).not.toBe(one.client.client);
  expect(house.written).toMatchObject([{ event: "denied", reason: "forged client id" }]);
  await expect(two.create(REQUEST, meta)).rejects.toMatchObject({ code: "session.invalid_request" });
  await expect(two.create({ cwd: "/nowhere" }, {})).rejects.toThrow("/nowhere is not there");
  const rooted = await house.access({}, {}, ["/elsewhere"]);
  await expect(rooted.create(REQUEST, {})).rejects.toThrow("sessions may be in /elsewhere");
});

test("a client that joins with another server of a name that is in use does not end it", async () => {
  await using house = new House();
  const { world } = house;
  const [one, two] = [await house.access(), await house.access()];
  const server = (env: Record<string, string>) =>
    ({ kind: "stdio", name: "a", command: "/bin/none", args: [], env }) as const;
  const { session } = await one.create({ cwd: "/work", servers: [server({ A: "1", B: "2" })] }, {});
  const bring = (who: ClientAccess, env: Record<string, string>) =>
    who.load({ ...REQUEST, id: session.id, servers: [server(env)] }, LOAD);
  await world.advance(0);
  const before = world.children.length;
  const notices = () => session.current.flatMap((event) => (event.kind === "notice" ? [event.text] : []));
  await bring(two, { B: "2", A: "1" }); // the same
  await bring(two, { A: "other" });
  await world.advance(0);
  expect(world.children).toHaveLength(before);
  expect(notices()).toEqual([expect.stringContaining('another server "a"')]);
  house.hold();
  const prompted = said(session, "hello");
  const again = await bring(one, { A: "mine, while a turn runs" });
  await world.advance(0);
  expect(world.children).toHaveLength(before);
  house.release();
  await prompted;
  await one.leave(session);
  await one.leave(again.session);
  await bring(two, { A: "other" }); // nobody needs the first one any more
  await world.advance(0);
  expect(world.children.length).toBeGreaterThan(before);
});

test("servers of several clients are one set, and the same ones again change nothing", async () => {
  await using house = new House();
  const access = await house.access();
  const server = (name: string) => ({ kind: "stdio", name, command: "/bin/none", args: [], env: {} }) as const;
  const { session } = await access.create({ cwd: "/work", servers: [server("a")] }, {});
  const request = (...names: string[]) => ({ ...REQUEST, id: session.id, servers: names.map(server) });
  const names = () => session.servers.map(({ name }) => name);
  await access.load(request("b"), LOAD);
  expect(names()).toEqual(["a", "b"]);
  const { children } = house.world;
  const before = children.length;
  await access.load(request("a", "b"), LOAD);
  await access.load(request(), LOAD);
  expect(names()).toEqual(["a", "b"]);
  expect(children).toHaveLength(before);
});

test("a session that is opened again is where it was begun, whoever opens it and whatever it asks for", async () => {
  await using house = new House();
  const { world, sessions } = house;
  for (const file of ["/evil/file", "/more/file"]) await world.files.createNew(file, "");
  const near = await house.access();
  const first = await near.create({ ...REQUEST, additionalDirectories: ["/more"] }, { label: "mine" });
  const { id } = first.session;
  await said(first.session, "hello");
  const rest = async (session: SessionHandle) => {
    await near.leave(session);
    await world.advance(GATEWAY_LIMITS.sessions.restMs + 1_000);
    expect(sessions.find("me", id)).toBeUndefined();
  };
  await rest(first.session);
  const far = await house.access({ isLocal: false, tokenId: "t", scopes: new Set(["read"]) });
  const elsewhere = { cwd: "/evil", servers: [], id };
  const refused = { code: "session.invalid_request", message: expect.stringContaining("/work") };
  await expect(far.load(elsewhere, LOAD)).rejects.toMatchObject(refused);
  await expect(near.create({ cwd: "/evil" }, { id })).rejects.toMatchObject(refused);
  const outside = await house.access({}, {}, ["/evil"]);
  await expect(outside.load({ ...REQUEST, id }, LOAD)).rejects.toThrow("sessions may be in /evil");
  expect(sessions.open()).toEqual([]);
  const read = await far.load({ ...REQUEST, id, additionalDirectories: ["/evil"] }, LOAD);
  expect(read.session.view().cwd).toBe("/work");
  await rest(read.session);
  const labelled = await near.create({ cwd: "/evil", servers: [] }, { attach: { label: "mine" } });
  expect([labelled.session.id, labelled.session.view().cwd]).toEqual([id, "/work"]);
  expect(new Set(house.opened.map(({ cwd }) => cwd))).toEqual(new Set(["/work"]));
});

test("a question is whole for those who may answer it, and without its secrets for others", async () => {
  await using house = new House();
  const near = await house.access();
  const { session } = await near.create(REQUEST, {});
  const question = {
    ...{ id: "q", of: "elicitation", askedMs: 1 },
    shown: { url: "https://login.example/page?state=canary-5d2" },
    summary: { page: "https://login.example/page" },
  };
  const open = house.sessions.find("me", session.id)?.session;
  Object.defineProperty(open, "questions", { value: { open: [question], answer: () => "taken" } });
  const few = { isLocal: false, tokenId: "t", scopes: new Set(["read", "prompt"] as const) };
  for (const [access, isWhole] of [
    [near, true],
    [await house.access(few), false],
    [await house.access({ scopes: new Set(["read", "approve"] as const) }), true],
  ] as const) {
    const seen = access.peek(session.id);
    const { signal } = new AbortController();
    const watched = await access.shared.methods["_tenon/gateway/watch"]?.({}, () => {}, signal);
    for (const text of [seen?.view().questions.map(({ shown }) => shown), seen?.questions.open[0]?.shown, watched]) {
      expect(JSON.stringify(text)).toContain("login.example");
      expect(JSON.stringify(text).includes("canary-5d2")).toBe(isWhole);
    }
  }
});

test("servers that clients bring one request after the other are bounded in all, and that is said once each time", async () => {
  const given: GivenServers[] = [];
  const notices: string[] = [];
  const session: ConstructorParameters<typeof BroughtServers>[0] = {
    state: "idle",
    setServers: async (servers) => {
      given.push(servers);
    },
    notice: (_level, words) => notices.push(words),
  };
  const many = (prefix: string) =>
    Array.from({ length: 200 }, (_, at) => ({ kind: "acp", name: `${prefix}${at}`, serverId: "x" }) as const);
  const brought = new BroughtServers(session, { cwd: "/", servers: many("a") }, "c");
  const odd = many("odd").map(({ name }) => ({ name, reason: "odd" }));
  for (const prefix of ["b", "c"]) await brought.join({ servers: many(prefix), rejected: odd }, "c", () => true);
  const { servers: most } = GATEWAY_LIMITS.sessions;
  expect(given.at(-1)?.servers).toHaveLength(most);
  expect(notices.map((words) => words.match(/\d+ of a client/u)?.[0])).toEqual(["144 of a client", "200 of a client"]);
  // Those that are there can still be changed.
  await brought.join({ servers: [{ kind: "acp", name: "a0", serverId: "y" }] }, "c", () => true);
  expect(given.at(-1)?.servers).toContainEqual({ kind: "acp", name: "a0", serverId: "y" });
});

test("who may only look searches tools by words alone: nobody is asked, and nothing costs", async () => {
  await using house = new House();
  const { session } = await (await house.access()).create(REQUEST, {});
  const open = house.sessions.find("me", session.id);
  if (!open) throw new Error("not open");
  const asked: object[] = [];
  vi.spyOn(open.session.tools, "search").mockImplementation(async (request) => {
    asked.push(request);
    return { kind: "found", tools: [] };
  });
  const reader = await house.access({ scopes: new Set(["read"]), isLocal: false, tokenId: "t" });
  await reader.peek(session.id)?.tools.search({ query: "words", isTrial: true });
  await session.tools.search({ query: "words" });
  expect(asked).toEqual([{ query: "words", isTrial: true, isFree: true }, { query: "words" }]);
});

test("a drain gives calls their time; where more sessions run than others open at once, one group after the other", () => {
  const running = (count: number) =>
    Array.from({ length: count }, (_, id) => ({ id, session: { state: "running" as const } }));
  const idle = { id: -1, session: { state: "idle" as const } };
  expect([...drainOrder([idle, ...running(32)]).values()]).toEqual(Array.from({ length: 32 }, () => 2_000));
  const many = running(150);
  const order = [...drainOrder(many)];
  expect(order.map(([one]) => one)).toEqual(many);
  const counts = new Map<number, number>();
  for (const [, callsMs] of order) counts.set(callsMs, (counts.get(callsMs) ?? 0) + 1);
  expect([...counts]).toEqual([400, 800, 1_200, 1_600, 2_000].map((ms) => [ms, ms === 2_000 ? 22 : 32]));
});
