// What a gateway on another machine gets of the editor's servers: a name and an id, and nothing of what is run.
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../base/json/json.js";
import { echoTool, fakeWorld, spawnsServer } from "../testing/index.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import { OwnServers } from "./own-servers.js";

const never = new AbortController().signal;
const ABOUT = { sessionId: "s", directories: ["/work"] };

function stage() {
  const storm = Array.from({ length: 200 }, () => ({ do: "notify", method: "notifications/message" }) as const);
  const behaviour = {
    tools: [echoTool(), { name: "loud", steps: storm, reply: { kind: "text", text: "x" } }],
  } as const;
  const world = fakeWorld({
    env: { HOME: "/home" },
    spawn: spawnsServer(behaviour),
    hosts: { "inside.example": ["10.0.0.1"] },
  });
  const told: string[] = [];
  const own = new OwnServers({ world, tell: (_session, words) => told.push(words) });
  const place = async (entries: JsonValue, about = ABOUT) => {
    const placed = await own.place(about, entries);
    return Array.isArray(placed) ? placed.map((entry): JsonObject => JSON.parse(JSON.stringify(entry))) : [];
  };
  const ask = (serverId: JsonValue | undefined, method: string, params: JsonObject = {}, notices: string[] = []) =>
    own.request(
      { serverId: serverId ?? null, requestId: "1", method, params },
      {
        signal: never,
        notify: (notice) => notices.push(notice),
      },
    );
  return { world, own, told, place, ask };
}

const PROGRAM = { name: "p", command: "/bin/p", args: ["canary"], env: [{ name: "A", value: "canary" }] };

test("programs and private addresses are rewritten, public ones and the editor's own are not; the same again is the same", async () => {
  const { own, place, world } = stage();
  const headers = [{ name: "authorization", value: "canary" }];
  const near = { type: "http", name: "near", url: "http://192.168.1.5/canary", headers };
  const far = { type: "http", name: "far", url: "https://example.com/mcp", headers: [] };
  const inside = { type: "http", name: "inside", url: "https://inside.example/canary", headers };
  const editor = { type: "acp", name: "editor", serverId: "its-own" };
  const meta = { _meta: { tenon: { include: "search", required: true, cwd: "/canary", other: "canary" } } };
  const odd = { name: "odd", command: "", env: [{ name: "A", value: "canary" }] };
  const placed = await place([{ ...PROGRAM, ...meta }, near, inside, far, editor, odd, 7]);
  const id = expect.stringMatching(/^tenon-/u);
  expect(placed).toEqual([
    { type: "acp", name: "p", serverId: id, _meta: { tenon: { include: "search", required: true } } },
    { type: "acp", name: "near", serverId: id },
    { type: "acp", name: "inside", serverId: id },
    far,
    editor,
    { name: "odd" },
    7,
  ]);
  expect(JSON.stringify(placed)).not.toContain("canary");
  expect(own.isOwn({ serverId: placed[0]?.["serverId"] ?? "" })).toBe(true);
  expect(own.isOwn({ serverId: "its-own" })).toBe(false);
  expect(own.isOwn({ serverId: 5 })).toBe(false);
  expect(await place([{ ...PROGRAM, ...meta }, near, inside, far, editor, odd, 7])).toEqual(placed);
  // Anything that decides what is run makes it another server; so does another session.
  const changed = await place([{ ...PROGRAM, args: ["other"] }]);
  expect(changed[0]?.["serverId"]).not.toBe(placed[0]?.["serverId"]);
  const elsewhere = await place([{ ...PROGRAM, args: ["other"] }], { sessionId: "t", directories: ["/work"] });
  expect(elsewhere[0]?.["serverId"]).not.toBe(changed[0]?.["serverId"]);
  expect(await place({ mapped: { command: "/bin/p", env: { A: "canary" } } })).toEqual([
    { type: "acp", name: "mapped", serverId: id },
  ]);
  expect(await place(null)).toEqual([]);
  await own[Symbol.asyncDispose]();
  expect(world.clock.pendingTimers).toBe(0);
});

test("a server that was taken back, and messages that make no sense, get an error of the carrier", async () => {
  const { own, place, ask } = stage();
  const [entry] = await place([PROGRAM]);
  const serverId = entry?.["serverId"];
  expect(await ask(serverId, "nonsense")).toEqual({
    result: { error: { code: -32_601, message: "Method not found: nonsense" } },
  });
  const about = { signal: never, notify: () => {} };
  expect(await own.request({ serverId: serverId ?? "" }, about)).toMatchObject({ error: { code: -32_602 } });
  await place([]);
  expect(await ask(serverId, "ping")).toMatchObject({ error: { code: -33_001 } });
  await own[Symbol.asyncDispose]();
});

test("log lines without end do not use up what the token of the editor may send", async () => {
  const { own, place, ask, world } = stage();
  const [entry] = await place([PROGRAM]);
  const notices: string[] = [];
  /** Lets time pass until it is over. */
  const within = async <T>(work: Promise<T>): Promise<T> => {
    const over = new AbortController();
    const done = work.finally(() => over.abort());
    for (let count = 0; !over.signal.aborted && count < 600; count += 1) await world.advance(100);
    return await done;
  };
  const request = (method: string, params: JsonObject = {}) =>
    within(ask(entry?.["serverId"], method, params, notices));
  expect(await request("server/discover")).toMatchObject({ result: { result: { resultType: "complete" } } });
  expect(await request("tools/call", { name: "loud", arguments: {} })).toMatchObject({ result: { result: {} } });
  expect(notices.length).toBeGreaterThan(0);
  expect(notices.length).toBeLessThanOrEqual(TRANSLATOR_LIMITS.notices.burst + 8);
  await within(own[Symbol.asyncDispose]());
});

test("more servers than a gateway takes are neither read nor started, and it is told their number only", async () => {
  const { own, place, world } = stage();
  const many = Array.from({ length: 129 }, (_, at) => ({ ...PROGRAM, name: `p${at}` }));
  const placed = await place(many);
  expect(placed).toEqual(many.map(() => ({})));
  expect(world.logEntries.map(({ event }) => event)).toEqual([]);
  await own[Symbol.asyncDispose]();
});
