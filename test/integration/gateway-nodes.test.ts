// Clients of one node in sessions of another: gateways in this process, over shared files with a bus, and over PostgreSQL.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { GATEWAY_LIMITS } from "../../src/gateway/index.js";
import { openPostgresStore } from "../../src/postgres/index.js";
import { scriptedServer } from "../../src/testing/index.js";
import { checkGatewayUrls, ownServers, remoteLink, Translator } from "../../src/translator/index.js";
import { nodeWorld, openWebSocket } from "../../src/world/index.js";
import { expectWhole, numbered, numbers, SUM, Town, textOf } from "../node-town.js";
import { type Frame, WireClient } from "../scenarios/gateway/wire-client.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres };

/** Gateways that share a new database. */
async function inDatabase(): Promise<Town> {
  const url = await postgres.get().database();
  return new Town(async (name, roots) => {
    const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });
    return await openPostgresStore({ world, url, node: { name, roots } });
  });
}

const methodsOf = (frames: readonly Frame[]) => frames.map(({ method }) => method ?? "answer");

scenario(
  ["G770", "G771"],
  "a client of another node is shown what a client of the owner's node is, in the same order, and prompts there",
  async () => {
    for (const town of [new Town(), await inDatabase()]) await shownAndPrompted(town);
  },
  needs,
);

scenario(
  ["G772"],
  "questions, client tools and files reach clients of other nodes, and what they may not send over a link is refused in words",
  async () => {
    for (const town of [new Town(), await inDatabase()]) await askedAndRefused(town);
  },
  needs,
);

async function shownAndPrompted(given: Town): Promise<void> {
  await using town = given;
  await town.start("a");
  await town.start("b");
  const owner = await town.client("a", "owner");
  const id = await owner.create();
  await owner.prompt(id, "one two three");
  const guest = await town.client("b", "guest");
  const shown = await guest.load(id);
  const near = await (await town.client("a", "near")).load(id);
  expect(numbered(shown, id)).toEqual(numbered(near, id));
  expect(numbered(shown, id).length).toBeGreaterThan(3);
  expect(shown.at(-1)?.result).toMatchObject({ _meta: { tenon: { state: "idle", view: { sessionId: id } } } });
  // Its prompt is shown to the others, not to itself; its answer comes after all updates of the turn.
  const prompted = await guest.prompt(id, "four five six", "p1");
  expect(textOf(prompted)).toContain("six");
  expect(textOf(prompted)).not.toContain("user_message_chunk");
  const { seq } = Object(prompted.at(-1)?.result?.["_meta"]).tenon;
  expect(Number(numbers(prompted, id).at(-1))).toBeLessThanOrEqual(seq);
  await owner.wire.next((frame) => numbers([frame], id)[0] === numbers(prompted, id).at(-1));
  expect(textOf(owner.wire.received)).toContain("user_message_chunk");
  // And what the owner says is shown to the guest.
  await owner.prompt(id, "seven");
  await guest.wire.next((frame) => textOf([frame]).includes("seven"));
  for (const { wire } of [owner, guest]) expectWhole(wire.received, id);
  // It goes on where it was.
  const back = await town.client("b", "back");
  const [whole, resumed] = [numbered(await back.load(id), id), await town.client("b", "again")];
  const answer = await resumed.resume(id, Number(numbers(near, id).at(-1)));
  expect(answer.error).toBeUndefined();
  await vi.waitFor(() => {
    expect(numbered(resumed.wire.received, id)).toEqual(whole.slice(numbered(near, id).length));
  });
  const beyond = await resumed.resume(id, 9_999);
  expect(beyond.error?.message).toContain("must be a number from 0 to");
  expect(town.logged).toEqual([]);
}

async function askedAndRefused(given: Town): Promise<void> {
  await using town = given;
  await town.start("a");
  await town.start("b");
  const owner = await town.client("a", "owner");
  const id = await owner.create();
  const guest = await town.client("b", "guest", { fs: { readTextFile: true, writeTextFile: false } });
  await guest.load(id);
  await guest.ask("_tenon/session/set_tools", { sessionId: id, key: "calc", tools: [SUM] });
  let answer: string | undefined;
  guest.answers("_tenon/tool/call", ({ params }) => {
    const { toolCallId } = params ?? {};
    const progress = { sessionId: id, toolCallId, progress: 1, total: 2, message: "half way" };
    guest.wire.web.send(JSON.stringify({ jsonrpc: "2.0", method: "_tenon/tool/progress", params: progress }));
    return answer === undefined ? undefined : { content: [{ type: "text", text: answer }] };
  });
  // Both are asked; the guest answers, and the owner's question is withdrawn.
  const prompting = owner.prompt(id, 'call mcp__calc__sum {"a":2}');
  const isAsked = (frame: Frame) => frame.method === "session/request_permission";
  const [atOwner, atGuest] = [await owner.wire.next(isAsked), await guest.wire.next(isAsked)];
  const once = (options: unknown) => (Array.isArray(options) ? options : []).find(({ kind }) => kind === "allow_once");
  const outcome = { outcome: "selected", optionId: once(atGuest.params?.["options"]).optionId };
  guest.answer(atGuest, { outcome });
  const withdrawn = await owner.wire.next((frame) => frame.method === "$/cancel_request");
  expect(withdrawn.params?.["requestId"]).toBe(atOwner.id);
  const called = await guest.wire.next(({ method }) => method === "_tenon/tool/call");
  for (const { wire } of [owner, guest]) await wire.next((frame) => textOf([frame]).includes("half way"));
  guest.answer(called, { content: [{ type: "text", text: "the sum is 5" }] });
  expect(textOf(await prompting)).toContain("the sum is 5");
  await vi.waitFor(() => expect(textOf(guest.wire.received)).toContain("the sum is 5"), { timeout: 20_000 });
  // The other way round.
  const before = guest.wire.received.length;
  answer = "the sum is 6";
  owner.answers("session/request_permission", ({ params }) => {
    return { outcome: { outcome: "selected", optionId: once(params?.["options"]).optionId } };
  });
  await guest.prompt(id, 'call mcp__calc__sum {"a":3}');
  const later = guest.wire.received.slice(before);
  const asked = later.find(isAsked);
  expect(later.find((frame) => frame.method === "$/cancel_request")?.params?.["requestId"]).toBe(asked?.id);
  // Files are those of the client that prompts.
  writeFileSync(join(town.project.path, "notes.txt"), "on the disk");
  guest.answers("fs/read_text_file", () => ({ content: "in the editor" }));
  expect(textOf(await guest.prompt(id, 'call read_file {"path":"notes.txt"}'))).toContain("in the editor");
  // Too long for a link, both ways.
  answer = "x".repeat(GATEWAY_LIMITS.links.messageMaxBytes + 1);
  const failed = textOf(await guest.prompt(id, 'call mcp__calc__sum {"a":4}'));
  expect(failed).toContain("takes and gives at most 8388608 in one message");
  const long = { sessionId: id, prompt: [{ type: "text", text: answer }] };
  const refused = await guest.wire.request("session/prompt", long);
  expect(refused.error).toMatchObject({ code: -32602, data: { code: "session.invalid_request" } });
  expect(methodsOf(await guest.prompt(id, "and on"))).toContain("answer");
  for (const { wire } of [owner, guest]) expectWhole(wire.received, id);
}

scenario(
  ["G773"],
  "session/new and session/load find a session wherever it is: by label, as the latest, by id, by the roots of the nodes",
  async () => {
    await using town = new Town();
    const [left, right] = ["left", "right"].map((name) => join(town.project.path, name));
    for (const path of [left, right]) mkdirSync(path ?? "");
    await town.start("a", [left ?? ""]);
    await town.start("b", [right ?? ""]);
    const [atA, atB] = [await town.client("a", "one"), await town.client("b", "two")];
    const place = (cwd: string | undefined, tenon: object = {}) => ({ cwd, mcpServers: [], _meta: { tenon } });
    // A directory of the other node's roots: the session is there.
    const made = await atA.ask("session/new", place(right, { label: "ci" }));
    const id = String(made["sessionId"]);
    expect(town.bus.owners.get(id)).toBe("b");
    const shown = await atA.prompt(id, "hello there");
    expect(textOf(shown)).toContain("there");
    await vi.waitFor(() => expect(textOf(atA.wire.received)).toContain("available_commands_update"), {
      timeout: 20_000,
    });
    // The same by its label and as the latest, from either node; what was said is shown again.
    for (const [client, attach] of [
      [await town.client("a", "label"), { label: "ci" }],
      [await town.client("b", "label"), { label: "ci" }],
      [await town.client("a", "latest"), "latest"],
    ] as const) {
      expect(await client.ask("session/new", place(right, { attach }))).toMatchObject({
        sessionId: id,
        configOptions: expect.arrayContaining([expect.objectContaining({ id: "mode" })]),
      });
      await client.wire.next((frame) => textOf([frame]).includes("there "));
      expectWhole(client.wire.received, id);
    }
    // A copy of it is where its directory may be.
    const forked = await atA.ask("session/fork", { sessionId: id, ...place(right) });
    expect(town.bus.owners.get(String(forked["sessionId"]))).toBe("b");
    await atA.prompt(String(forked["sessionId"]), "the copy");
    // Nobody has it: it is opened where its directory may be.
    const own = String((await atB.ask("session/new", place(right)))["sessionId"]);
    await atB.prompt(own, "rest now");
    await town.stop("b");
    await town.start("b", [right ?? ""]);
    expect(town.bus.owners.has(own)).toBe(false);
    const again = await town.client("a", "again");
    await again.ask("session/load", { sessionId: own, ...place(right) });
    expect(town.bus.owners.get(own)).toBe("b");
    // Nowhere.
    await town.stop("b");
    const last = await town.client("a", "last");
    for (const [method, params] of [
      ["session/new", place(right)],
      ["session/load", { sessionId: own, ...place(right) }],
    ] as const) {
      const refused = await last.wire.request(method, params);
      expect(refused.error).toMatchObject({ code: -32602, data: { hint: expect.stringContaining("Start a node") } });
      expect(refused.error?.message).toContain("no other node that runs may have sessions there");
    }
    const unknown = await last.wire.request("session/load", { sessionId: "nobody", ...place(left) });
    expect(unknown.error).toMatchObject({ code: -32002 });
  },
);

scenario(
  ["G773"],
  "clients of two nodes that open a session at the same moment share it, whichever node gets it",
  async () => {
    await using town = new Town();
    for (const id of ["a", "b"]) await town.start(id);
    const maker = await town.client("a", "maker");
    const id = await maker.create();
    await maker.prompt(id, "first");
    await town.stop("a");
    await town.start("a");
    const clients = [];
    for (const node of ["a", "b", "a", "b"]) clients.push(await town.client(node, node));
    const shown = await Promise.all(clients.map((client) => client.load(id)));
    for (const frames of shown) expect(numbered(frames, id)).toEqual(numbered(shown[0] ?? [], id));
    await clients[1]?.prompt(id, "second");
    for (const { wire } of clients) {
      await wire.next((frame) => textOf([frame]).includes("second "));
      expectWhole(wire.received, id);
    }
  },
);

scenario(
  ["G774"],
  "a link that ends or breaks ends the client's connection with 1012, and the client goes on at another node; one that leaves is gone there",
  async () => {
    await using town = new Town();
    for (const id of ["a", "b", "c"]) await town.start(id);
    const owner = await town.client("a", "owner");
    const id = await owner.create();
    await owner.prompt(id, "one two");
    const guest = await town.client("b", "guest");
    const clients = async () => Object(await owner.ask("_tenon/session/view", { sessionId: id })).clients;
    await guest.load(id);
    await vi.waitFor(async () => expect(await clients()).toHaveLength(2), { timeout: 20_000 });
    await guest.ask("session/close", { sessionId: id });
    await vi.waitFor(async () => expect(await clients()).toHaveLength(1), { timeout: 20_000 });
    expect((await guest.wire.request("session/prompt", { sessionId: id, prompt: [] })).error).toBeDefined();
    await guest.load(id);
    await guest.wire.close();
    await vi.waitFor(async () => expect(await clients()).toHaveLength(1), { timeout: 20_000 });
    // A message is lost.
    const cut = await town.client("b", "cut");
    await cut.load(id);
    town.bus.loses = 1;
    const view = cut.wire.request("_tenon/session/view", { sessionId: id }).catch(() => undefined);
    const later = cut.wire.request("_tenon/session/view", { sessionId: id }).catch(() => undefined);
    expect(await cut.wire.ended).toMatchObject({ code: 1012 });
    await Promise.all([view, later]);
    // The database was away.
    const away = await town.client("b", "away");
    await away.load(id);
    town.bus.nodes.get("b")?.listener?.onBroken(undefined);
    expect(await away.wire.ended).toMatchObject({ code: 1012 });
    await vi.waitFor(async () => expect(await clients()).toHaveLength(1), { timeout: 20_000 });
    // Its node ends while a turn of a guest runs there.
    const last = await town.client("b", "last");
    const shown = numbered(await last.load(id), id);
    const { seq } = Object(shown.at(-1))._meta.tenon;
    await town.stop("a");
    expect(await last.wire.ended).toMatchObject({ code: 1012 });
    const back = await town.client("c", "back");
    expect((await back.resume(id, seq)).error).toBeUndefined();
    expect(town.bus.owners.get(id)).toBe("c");
    expect(textOf(await back.prompt(id, "three four"))).toContain("four ");
  },
);

scenario(
  ["G777"],
  "the status has all nodes for administrators, lists have the state of sessions elsewhere, and whoever watches hears of all nodes and answers there",
  async () => {
    await using town = await inDatabase();
    await town.start("a");
    const second = await town.start("b");
    const owner = await town.client("a", "owner");
    const id = await owner.create();
    await owner.prompt(id, "hello");
    const watcher = await town.client("b", "watcher");
    const { nodes } = Object(await watcher.ask("_tenon/gateway/status"));
    expect(nodes).toMatchObject([
      { name: "a", sessions: 1, isDraining: false, isSelf: false, leaseLeftMs: expect.any(Number) },
      { name: "b", sessions: 0, isDraining: false, isSelf: true },
    ]);
    const stateOf = async () => {
      const { sessions } = Object(await watcher.ask("session/list"));
      return sessions.map(({ _meta }: { _meta: { tenon: { state: string } } }) => _meta.tenon.state);
    };
    expect(await stateOf()).toEqual(["idle"]);
    // A link to the page leads to the node that was asked for it, whoever has the session.
    const { url } = Object(await watcher.ask("_tenon/gateway/page", { sessionId: id }));
    expect(url).toMatch(new RegExp(`^http://${new URL(second.url).host}/#pair=.*&session=${id}$`, "u"));
    await watcher.ask("_tenon/gateway/watch");
    const isOf = (state: string) => (frame: Frame) =>
      frame.method === "_tenon/gateway/changed" &&
      frame.params?.["sessionId"] === id &&
      frame.params["state"] === state;
    await watcher.wire.next(isOf("idle"));
    await owner.ask("_tenon/session/set_tools", { sessionId: id, key: "calc", tools: [SUM] });
    owner.answers("_tenon/tool/call", () => ({ content: [{ type: "text", text: "the sum is 5" }] }));
    const prompting = owner.prompt(id, "call mcp__calc__sum {}");
    const waiting = await watcher.wire.next(isOf("waiting"));
    const [question] = Object(waiting.params).questions;
    expect(question).toMatchObject({ of: "permission", shown: { choices: expect.anything() } });
    expect(await stateOf()).toEqual(["waiting"]);
    const answer = { sessionId: id, questionId: question.id, answer: "once" };
    expect(await watcher.ask("_tenon/question/answer", answer)).toEqual({ result: "taken" });
    expect(textOf(await prompting)).toContain("the sum is 5");
    // A node that comes later is watched too, and the sessions of one that ends are at rest.
    await town.start("c");
    const later = await town.client("c", "later");
    const other = await later.create();
    await watcher.wire.next((frame) => frame.params?.["sessionId"] === other);
    await town.stop("a");
    await watcher.wire.next(isOf("resting"));
    expect(await watcher.wire.request("_tenon/gateway/status")).toHaveProperty("result");
    expect(await stateOf()).toEqual(["resting"]);
  },
  needs,
);

scenario(
  ["G776"],
  "messages through the database arrive once and in order on each link; what may be lost is told, hints are heard again after a connection broke, and nothing is left",
  async () => {
    const url = await postgres.get().database();
    const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });
    const open = async (name: string) => await openPostgresStore({ world, url, node: { name, roots: [] } });
    const stores = [await open("a"), await open("b")];
    const [one, two] = stores.map(({ nodes }) => nodes);
    if (!one || !two) throw new Error("two nodes");
    const [a = "", b = ""] = [one.self.value, two.self.value];
    const heard = new Map<string, number[]>();
    const broken: (string | undefined)[] = [];
    const full: string[] = [];
    const hints = new Set<string>();
    const listener = (self: string) => ({
      onMessage: ({ link, n, body, node }: { link: string; n: number; body: string; node: string }) => {
        expect(body).toBe(`${link} ${n} \\u0000 ü`);
        const key = `${node} ${self} ${link}`;
        heard.set(key, [...(heard.get(key) ?? []), n]);
      },
      onBroken: (node: string | undefined, link?: string) => (link === undefined ? broken.push(node) : full.push(link)),
    });
    one.listen(listener(a));
    two.listen(listener(b));
    two.onHint(({ session, seq }) => hints.add(`${session} ${seq}`));
    const send = (from: typeof one, to: string, link: string, n: number) =>
      from.send({ node: to, link, n, body: `${link} ${n} \\u0000 ü` });
    for (let n = 1; n <= 300; n += 1) {
      for (const link of ["x", "y"]) {
        send(one, b, link, n);
        send(two, a, link, n);
      }
      if (n % 50 === 0) await new Promise((go) => setImmediate(go));
    }
    const whole = Array.from({ length: 300 }, (_, index) => index + 1);
    await vi.waitFor(() => expect([...heard.values()]).toEqual([whole, whole, whole, whole]), { timeout: 10_000 });
    // More than fits into one notification.
    for (let index = 0; index < 500; index += 1)
      one.hint({ session: `session-${index}-${"x".repeat(30)}`, seq: index });
    await vi.waitFor(() => expect(hints.size).toBe(500), { timeout: 10_000 });
    // Every connection is cut: links may have lost messages, hints come again.
    expect(broken).toEqual([]);
    await postgres
      .get()
      .query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tenon%'", url);
    await vi.waitFor(
      () => {
        one.hint({ session: "later", seq: 1 });
        expect(hints).toContain("later 1");
      },
      { timeout: 15_000, interval: 200 },
    );
    // A link that sends more than may wait breaks, and no other one.
    for (let n = 1; n <= 9; n += 1) one.send({ node: b, link: "full", n, body: "x".repeat(8_000_000) });
    expect(full).toEqual(["full"]);
    send(one, b, "z", 1);
    await vi.waitFor(() => expect(heard.get(`${a} ${b} z`)).toEqual([1]), { timeout: 10_000 });
    // A node that is gone: its links break, and its messages are dropped.
    await stores[1]?.[Symbol.asyncDispose]();
    send(one, b, "z", 2);
    await vi.waitFor(() => expect(broken).toContain(b), { timeout: 10_000 });
    expect(await postgres.get().query("select count(*)::int as n from tenon_inbox", url)).toEqual([{ n: 0 }]);
    await stores[0]?.[Symbol.asyncDispose]();
  },
  needs,
);

scenario(
  ["G778"],
  "a translator with the addresses of two nodes goes on at the other one when its node stops, without a gap or a repeat, and says its prompt once",
  async () => {
    await using town = await inDatabase();
    const [first, second] = [await town.start("a"), await town.start("b")];
    const admin = await town.client("b", "admin");
    const scopes = ["read", "prompt", "approve", "tools"];
    const { token } = await admin.ask("_tenon/gateway/tokens", { action: "create", name: "laptop", scopes });
    const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });
    for (const { url } of [first, second]) {
      const headers = { authorization: `Bearer ${String(token)}` };
      await vi.waitFor(async () => await (await WireClient.open(url, headers)).close(), { timeout: 5_000 });
    }
    const urls = checkGatewayUrls(`${first.url},${second.url}`, { isInsecure: false });
    const received: Frame[] = [];
    const translator = new Translator({
      ...{ world, gatewayName: "of the test", isLocal: false },
      initialize: { protocolVersion: 1, clientCapabilities: {} },
      open: remoteLink({ urls, token: String(token) }, { world, openWebSocket }),
      ownServers: ownServers(world),
      notice: (_level, text) => [{ sessionUpdate: "notice", text }],
      send: (message) => {
        const frame: Frame = JSON.parse(JSON.stringify(message));
        received.push(frame);
        if (frame.method !== "session/request_permission") return undefined;
        const outcome = { outcome: "selected", optionId: "once" };
        translator.hear({ jsonrpc: "2.0", id: Number(frame.id), result: { outcome } });
        return undefined;
      },
    });
    translator.run();
    let count = 0;
    const ask = async (method: string, params: JsonObject): Promise<Frame> => {
      count += 1;
      const id = `e${count}`;
      translator.hear({ jsonrpc: "2.0", id, method, params });
      return await vi.waitFor(
        () => {
          const found = received.find((frame) => frame.id === id && frame.method === undefined);
          if (!found) throw new Error(`no answer to ${method}`);
          return found;
        },
        { timeout: 15_000 },
      );
    };
    // A server of the editor, in a session of its node and in one of the other: each call and its progress finds its own.
    const steps = [
      { do: "progress", progress: 1, total: 3, message: "one" },
      { do: "delay", ms: 50 },
    ] as const;
    const { command, args, env } = scriptedServer({
      tools: [{ name: "steps", steps, reply: { kind: "text", text: "done" } }],
    });
    const variables = Object.entries(env ?? {}).map(([name, value]) => ({ name, value }));
    const place = { cwd: town.project.path, mcpServers: [{ name: "s", command, args: [...args], env: variables }] };
    const other = await admin.create();
    expect((await ask("session/load", { sessionId: other, ...place })).error).toBeUndefined();
    const { result } = await ask("session/new", place);
    const sessionId = String(result?.["sessionId"]);
    const prompt = (text: string, id = sessionId) => ({ sessionId: id, prompt: [{ type: "text", text }] });
    const isReady = async (id: string) => {
      const status = await ask("_tenon/mcp/status", { sessionId: id });
      expect(status.result).toMatchObject({ servers: [{ name: "s", state: "ready" }] });
    };
    for (const id of [other, sessionId]) await vi.waitFor(async () => await isReady(id), { timeout: 15_000 });
    await Promise.all([other, sessionId].map((id) => ask("session/prompt", prompt("call mcp__s__steps", id))));
    for (const id of [other, sessionId]) {
      const shown = textOf(received.filter(({ params }) => params?.["sessionId"] === id));
      for (const words of ["1/3 one", "done"]) expect(shown).toContain(words);
    }
    expect((await ask("session/close", { sessionId: other })).error).toBeUndefined();
    expect((await ask("session/prompt", prompt("one two"))).result).toMatchObject({ stopReason: "end_turn" });
    const stopping = town.stop("a");
    expect((await ask("session/prompt", prompt("three four"))).result).toMatchObject({ stopReason: "end_turn" });
    await stopping;
    expect((await ask("session/prompt", prompt("five six"))).result).toMatchObject({ stopReason: "end_turn" });
    expectWhole(received, sessionId);
    const reader = await town.client("b", "reader");
    const shown = await reader.load(sessionId);
    const said = shown.filter((frame) => textOf([frame]).includes("user_message_chunk"));
    expect(said).toHaveLength(4);
    const own = numbers(received, sessionId);
    const all = numbers(
      shown.filter((frame) => !said.includes(frame)),
      sessionId,
    );
    expect(all.filter((one) => !own.includes(one))).toEqual([]);
    await translator.leave();
  },
  needs,
);
