// What editors really send must open a session; what cannot be used is named, entry by entry.
import fc from "fast-check";
import { expect, test } from "vitest";
import { InvalidRequest, readSessionRequest, readStoredRequest } from "./from-client.js";

function read(mcpServers: unknown) {
  return readSessionRequest({ cwd: "/project", mcpServers });
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
    { name: "w", reason: 'type "carrier-pigeon" is not supported: use stdio, http, sse or acp' },
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

test("_meta.tenon.include, or toolInclude, says how a server's tools come before the model, and what is wrong with it costs only itself", () => {
  const include = (value: unknown) => ({ _meta: { tenon: { include: value } } });
  const { servers, rejected, includes, notices } = read([
    { name: "a", command: "x", ...include("search") },
    { name: "b", command: "x", ...include({ default: "manual", tools: { one: "always", two: "sometimes" } }) },
    { name: "c", command: "x", ...include("often") },
    { name: "d", command: "x" },
    { name: "e", command: "x", ...include({ tool: {} }) },
    { name: "f", command: "x", toolInclude: { serverDefault: "agent", tools: { one: "always", two: "now" } } },
    { name: "g", command: "x", toolInclude: "agent", ...include("manual") },
  ]);
  expect(servers).toHaveLength(7);
  expect(rejected).toEqual([]);
  expect(includes).toEqual({
    a: { include: "search" },
    b: { include: "manual", includeByTool: { one: "always" } },
    c: {},
    d: {},
    e: {},
    f: { include: "search", includeByTool: { one: "always" } },
    g: { include: "manual" },
  });
  expect(notices).toEqual([
    'server "b": _meta.tenon.include is "sometimes": use "always", "manual" or "search"',
    'server "c": _meta.tenon.include is "often": use "always", "manual" or "search"',
    'server "e": _meta.tenon.include has an unknown key "tool"',
    'server "f": toolInclude is "now": use "always", "manual" or "search"',
  ]);
});

test("a session without an absolute cwd is refused with the reason", () => {
  expect(() => readSessionRequest({ mcpServers: [] })).toThrow("cwd is missing");
  expect(() => readSessionRequest({ cwd: "here", mcpServers: [] })).toThrow('cwd must be an absolute path, got "here"');
});

test("any JSON at all is read, or refused as an invalid request", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      try {
        readSessionRequest(value);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidRequest);
      }
    }),
  );
  fc.assert(fc.property(fc.array(fc.jsonValue()), (mcpServers) => read(mcpServers).servers.length >= 0));
});

test("a system prompt is taken as it is, or the session is refused: nothing of it is guessed", () => {
  const read = (systemPrompt: unknown) => readSessionRequest({ cwd: "/p", mcpServers: [], systemPrompt });
  const content = [
    { type: "text", text: "One." },
    { type: "text", text: "Two." },
  ];
  expect(read({ mode: "override", content })).toMatchObject({
    systemPrompt: { mode: "override", text: "One.\nTwo." },
  });
  expect(read(null)).not.toHaveProperty("systemPrompt");
  for (const wrong of ["text", { mode: "prepend", content }, { mode: "append" }, { mode: "append", content: [7] }]) {
    expect(() => read(wrong)).toThrow("systemPrompt");
  }
});

test("load, resume and fork are read the same way, with the id of the session", () => {
  const params = { sessionId: "x", cwd: "/p", mcpServers: [{ name: "s", command: "c", env: { A: 1 } }] };
  const read = readStoredRequest(params);
  expect(read).toMatchObject({ id: "x", cwd: "/p", servers: [{ name: "s", env: { A: "1" } }] });
  expect(() => readStoredRequest({ ...params, sessionId: 7 })).toThrow("sessionId is missing");
  expect(() => readStoredRequest({ sessionId: "x", cwd: "p" })).toThrow("cwd must be an absolute path");
});

test("directories that are no absolute paths are left out, and that is told", () => {
  const read = readSessionRequest({ cwd: "/p", additionalDirectories: ["/a", "b", 3, "/a"] });
  expect(read.additionalDirectories).toEqual(["/a"]);
  expect(read.notices).toHaveLength(2);
  const odd = readSessionRequest({ cwd: "/p", additionalDirectories: "/a" });
  expect(odd).toMatchObject({ additionalDirectories: [], notices: [expect.any(String)] });
});
