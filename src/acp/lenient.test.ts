// What editors really send must open a session; what cannot be used is named, entry by entry.
import fc from "fast-check";
import { expect, test } from "vitest";
import { readSessionRequest } from "./lenient.js";

function read(mcpServers: unknown) {
  const result = readSessionRequest({ cwd: "/project", mcpServers });
  if (!result.ok) throw new Error(result.reason);
  return result.request;
}

test("a server as the protocol writes it is taken as it is", () => {
  const env = [{ name: "TOKEN", value: "t" }];
  expect(read([{ name: "fs", command: "/bin/fs", args: ["--x"], env }]).servers).toEqual([
    { kind: "stdio", name: "fs", command: "/bin/fs", args: ["--x"], env: { TOKEN: "t" } },
  ]);
  const headers = [{ name: "Authorization", value: "Bearer t" }];
  expect(read([{ type: "http", name: "web", url: "https://x.test/mcp", headers }]).servers).toEqual([
    { kind: "http", name: "web", url: "https://x.test/mcp", headers: { Authorization: "Bearer t" } },
  ]);
});

test("missing args, env and headers, env as a map and an explicit stdio type are repaired", () => {
  expect(read([{ name: "a", command: "npx" }]).servers).toEqual([
    { kind: "stdio", name: "a", command: "npx", args: [], env: {} },
  ]);
  expect(read([{ type: "stdio", name: "a", command: "x", env: { A: "1" } }]).servers[0]).toMatchObject({
    env: { A: "1" },
  });
  expect(read([{ name: "a", url: "https://x.test" }]).servers[0]).toMatchObject({ kind: "http", headers: {} });
  expect(read(undefined).servers).toEqual([]);
});

test.each(["streamable-http", "streamableHttp"])("%s is a name for http", (type) => {
  expect(read([{ name: "a", type, url: "https://x.test" }]).servers).toEqual([
    { kind: "http", name: "a", url: "https://x.test", headers: {} },
  ]);
});

test("a websocket server is tried over http, with a note", () => {
  expect(read([{ name: "a", type: "websocket", url: "https://x.test" }]).servers).toEqual([
    { kind: "http", name: "a", url: "https://x.test", headers: {}, note: expect.stringContaining("websocket") },
  ]);
});

test("a bearer token is taken, anything else in its place is not", () => {
  const auth = { type: "bearer", token: "t" };
  expect(read([{ name: "a", url: "https://x.test", auth }]).servers).toMatchObject([{ auth }]);
  expect(read([{ name: "a", url: "https://x.test", auth: { type: "basic" } }]).servers[0]).not.toHaveProperty("auth");
});

test("an entry that cannot be used is named with its reason and costs the others nothing", () => {
  const { servers, rejected } = read([
    { name: "good", command: "x" },
    { name: "bad" },
    7,
    { command: "x" },
    { name: "w", type: "carrier-pigeon" },
  ]);
  expect(servers.map((server) => server.name)).toEqual(["good"]);
  expect(rejected).toEqual([
    { name: "bad", reason: "a stdio server needs a command" },
    { name: "#3", reason: "the entry is not an object" },
    { name: "#4", reason: "the entry has no name" },
    { name: "w", reason: 'type "carrier-pigeon" is not supported: use stdio, http or sse' },
  ]);
});

test("of two servers with one name the last counts, and it is told", () => {
  const { servers, rejected } = read([
    { name: "a", command: "one" },
    { name: "a", command: "two" },
  ]);
  expect(servers).toMatchObject([{ command: "two" }]);
  expect(rejected).toHaveLength(1);
});

test("a session without an absolute cwd is refused with the reason", () => {
  expect(readSessionRequest({ mcpServers: [] })).toMatchObject({ ok: false });
  expect(readSessionRequest({ cwd: "here", mcpServers: [] })).toEqual({
    ok: false,
    reason: 'cwd must be an absolute path, got "here"',
  });
});

test("any JSON at all is read without throwing", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => readSessionRequest(value).ok !== undefined));
  fc.assert(fc.property(fc.array(fc.jsonValue()), (mcpServers) => read(mcpServers).servers.length >= 0));
});
