// Each way in which a real client is known to write its servers opens a session with them.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../base/json/json.js";
import { readClientServers, readSessionRequest } from "./from-client.js";

const stdio = (more: object = {}) => ({ kind: "stdio", name: "a", command: "npx", args: [], env: {}, ...more });

const QUIRKS: readonly [string, JsonValue, object][] = [
  ["Zed: a bare command, looked up in PATH later", [{ name: "a", command: "npx", args: [], env: [] }], stdio()],
  [
    "Zed: http whatever the agent advertises, without headers",
    [{ type: "http", name: "a", url: "https://x.test" }],
    { kind: "http", name: "a", url: "https://x.test", headers: {} },
  ],
  [
    "CodeCompanion: env as the user's Lua table",
    [{ name: "a", command: "npx", args: [], env: { TOKEN: "t", N: 1 } }],
    stdio({ env: { TOKEN: "t", N: "1" } }),
  ],
  [
    "Neovim: empty Lua tables are written as objects, or as arrays",
    [{ name: "a", command: "npx", args: {}, env: [] }],
    stdio(),
  ],
  [
    "avante: the user's table as it stands, by name",
    { a: { command: "npx", args: ["-y", "x"] } },
    stdio({ args: ["-y", "x"] }),
  ],
  [
    "a list with the program in front, and its own directory",
    [{ name: "a", command: ["npx", "-y"], args: "x", cwd: "sub" }],
    stdio({ args: ["-y", "x"], cwd: "sub" }),
  ],
  ["ACP v2: type stdio, no args, no env", [{ type: "stdio", name: "a", command: "npx" }], stdio()],
  [
    "a relative command, relative to the session later",
    [{ name: "a", command: "./bin/s" }],
    stdio({ command: "./bin/s" }),
  ],
  ["acpx: null for what it has not", [{ name: "a", command: "npx", args: null, env: null, type: null }], stdio()],
  [
    "types in capitals",
    [{ name: "a", type: "HTTP", url: "https://x.test" }],
    { kind: "http", name: "a", url: "https://x.test", headers: {} },
  ],
  [
    "headers as a map",
    [{ name: "a", type: "sse", url: "https://x.test", headers: { A: "b" } }],
    { kind: "sse", name: "a", url: "https://x.test", headers: { A: "b" } },
  ],
  ["MCP over ACP", [{ type: "acp", name: "a", serverId: "s-1" }], { kind: "acp", name: "a", serverId: "s-1" }],
  [
    "MCP over ACP, as an earlier draft had it",
    [{ type: "acp", name: "a", id: "s-1" }],
    { kind: "acp", name: "a", serverId: "s-1" },
  ],
];

test.each(QUIRKS)("%s", (_name, mcpServers, spec) => {
  expect(readClientServers(mcpServers)).toMatchObject({ servers: [spec], rejected: [], notices: [] });
});

test.each([[undefined], [null], [[]], [{}]])("no servers may be written as %j", (raw) => {
  expect(readClientServers(raw)).toEqual({ servers: [], rejected: [], includes: {}, required: [], notices: [] });
});

test("what cannot be used is named with its reason, whatever it is", () => {
  const reasons = (raw: JsonValue) => readClientServers(raw).rejected.map(({ name, reason }) => `${name}: ${reason}`);
  expect(reasons("all of them")).toEqual(["#1: the entry is not an object"]);
  expect(reasons({ a: true })).toEqual(["a: a stdio server needs a command"]);
  expect(reasons([{ name: "a", type: "acp" }])).toEqual(['a: a server of type "acp" needs a serverId']);
  expect(reasons([{ name: "a", type: 7 }])).toEqual(["a: type 7 is not supported: use stdio, http, sse or acp"]);
  expect(reasons([{ name: "a", command: [] }])).toEqual(["a: a stdio server needs a command"]);
});

test("any JSON gives servers and reasons, never an exception, and every server has what its kind needs", () => {
  const field = fc.oneof(fc.jsonValue(), fc.constantFrom("stdio", "http", "acp", "x"));
  const entry = fc.dictionary(
    fc.constantFrom("name", "type", "command", "args", "env", "url", "serverId", "_meta"),
    field,
  );
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.array(entry)), (raw) => {
      // As it comes from the wire.
      const { servers, rejected } = readClientServers(JSON.parse(JSON.stringify(raw)));
      for (const server of servers) expect(server.name).not.toBe("");
      for (const { reason } of rejected) expect(reason).not.toBe("");
      if (Array.isArray(raw)) expect(servers.length + rejected.length).toBe(raw.length);
    }),
  );
});

test("more than a request may have are refused before any of them is looked at, as a list and as a map", () => {
  const entries = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ type: "acp", name: `s${at}`, serverId: `i${at}` }));
  expect(readClientServers(entries(128)).servers).toHaveLength(128);
  const words = "mcpServers has 5000 servers: a request may have at most 128";
  const many = entries(5_000);
  const unread = new Proxy(many, {
    get: (list, key) => (typeof key === "string" && /^\d/u.test(key) ? expect.unreachable() : Reflect.get(list, key)),
  });
  expect(() => readClientServers(unread)).toThrow(words);
  expect(() => readClientServers(Object.fromEntries(many.map((one) => [one.name, one])))).toThrow(words);
  const directories = Array.from({ length: 257 }, () => 1);
  expect(() => readSessionRequest({ cwd: "/", additionalDirectories: directories })).toThrow(
    "additionalDirectories has 257 directories: a request may have at most 256",
  );
});
