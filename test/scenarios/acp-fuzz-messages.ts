// Lines a client might send: good messages, messages with something wrong in them, and what is no message at all.
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";

/**
 * Words that stand for others: a directory that is there, a session that is open, one that lies on the disk, long texts, the
 * command of a server that works. What fails can then be read.
 */
export const PLACES = {
  cwd: "$CWD",
  open: "$OPEN",
  stored: "$STORED",
  long: "$LONG",
  huge: "$HUGE",
  server: "$SERVER",
} as const;

/** Directories no session should be opened in, by the name the agent's home has them under. */
const HOSTILE_FOLDERS = [
  "missing/deep",
  "a-file/below",
  "loop/below",
  "broken-json",
  "nested-json",
  "bad-commands",
  "many-servers",
  "looping-files",
  "odd-values",
] as const;

const cwd: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...HOSTILE_FOLDERS).map((name) => `${PLACES.cwd}/${name}`) },
  fc.constantFrom("relative/path", "", "/", "/proc/self/fd", `${PLACES.cwd}/../..`, `${PLACES.cwd}/a\u0000b`),
  fc.constant(`${PLACES.cwd}/${PLACES.long}`),
  fc.constant(`${PLACES.cwd}${"/deep".repeat(1_000)}`),
);

const sessionId: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>(
  "../../x",
  "..",
  "",
  "/etc/passwd",
  "a/b",
  "con",
  PLACES.long,
  null,
  7,
  [["x"]],
);

const SERVERS: JsonValue[] = [
  { name: "works", command: PLACES.server, args: [], env: [] },
  { name: "missing", command: "/nowhere/no-such-server", args: [], env: [{ name: "A", value: "b" }] },
  { type: "http", name: "closed", url: "http://127.0.0.1:9/mcp", headers: [] },
  { type: "acp", name: "over-acp", serverId: "s1" },
];
const session = { sessionId: PLACES.open };
const stored = { sessionId: PLACES.stored, cwd: PLACES.cwd, mcpServers: [] };
const says = (text: string) => ({ ...session, prompt: [{ type: "text", text }] });

/** Everything a client may ask for, well-formed. */
const REQUESTS: readonly (readonly [string, JsonObject])[] = [
  ["initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } }],
  ["initialize", { protocolVersion: 1, clientCapabilities: { terminal: true, session: { notices: {} } } }],
  ["authenticate", { methodId: "environment" }],
  ["authenticate", { methodId: "environment" }], // more often than it logs out: nothing else is to be had then
  ["logout", {}],
  ["session/new", { cwd: PLACES.cwd, mcpServers: [] }],
  ["session/new", { cwd: PLACES.cwd, mcpServers: SERVERS, additionalDirectories: [PLACES.cwd] }],
  ["session/load", stored],
  ["session/resume", stored],
  ["session/fork", stored],
  ["session/list", {}],
  ["session/list", { cwd: PLACES.cwd, cursor: "abc" }],
  ["session/close", session],
  ["session/delete", { sessionId: PLACES.stored }],
  ["session/prompt", says("hello")],
  ["session/prompt", says("/help")],
  ["session/prompt", says("/mcp")],
  ["session/prompt", { ...session, prompt: [{ type: "resource_link", uri: "file:///etc/hostname", name: "h" }] }],
  ["session/prompt", { ...session, prompt: [{ type: "image", data: "AAAA", mimeType: "image/png" }] }],
  ["session/set_mode", { ...session, modeId: "plan" }],
  ["session/set_config_option", { ...session, configId: "mode", value: "ask" }],
  ["session/set_title", { ...session, title: "a title" }],
  ["session/status", session],
  ["_tenon/mcp/status", session],
  ["_tenon/session/set_mcp_servers", { ...session, mcpServers: SERVERS }],
  ["mcp/message", { serverId: "s1", method: "notifications/progress", params: {} }],
];

const NOTIFICATIONS: readonly (readonly [string, JsonObject])[] = [
  ["session/cancel", session],
  ["$/cancel_request", { requestId: 1 }],
  ["mcp/message", { serverId: "s1", requestId: "r", method: "notifications/progress", params: {} }],
];

const oddValue: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, 0, -1, 1e308, 2 ** 53, "", "\u0000", "__proto__", [], {}, [[[]]]),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constant(PLACES.long),
  anyJson(),
);

function anyJson(): fc.Arbitrary<JsonValue> {
  return fc.json({ maxDepth: 4 }).map((text): JsonValue => JSON.parse(text));
}

/** Ids as they should be, mostly: with one that is not, nobody can say which answer belongs to what. */
const id: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 6, arbitrary: fc.nat(10_000) },
  { weight: 2, arbitrary: fc.string({ maxLength: 20 }) },
  fc.constantFrom<JsonValue>(Number.MAX_SAFE_INTEGER, -(2 ** 60), 0.5, null, PLACES.long, "../../x"),
  fc.constantFrom(3, 250, 300, 3_000).map((depth): JsonValue => JSON.parse("[".repeat(depth) + "]".repeat(depth))),
  oddValue,
);

/** Requests about directories and sessions that are none. */
const strange: fc.Arbitrary<JsonObject> = fc.oneof(
  fc
    .tuple(id, fc.constantFrom("session/new", "session/load", "session/fork", "session/list"), cwd)
    .map(([given, method, place]): JsonObject => {
      const params = { sessionId: PLACES.stored, cwd: place, mcpServers: [SERVERS[0] ?? null] };
      return { jsonrpc: "2.0", id: given, method, params };
    }),
  fc
    .tuple(id, fc.constantFrom("session/load", "session/prompt", "session/delete", "session/set_title"), sessionId)
    .map(([given, method, wrongId]): JsonObject => {
      const params = { sessionId: wrongId, cwd: PLACES.cwd, mcpServers: [], prompt: [], title: "t" };
      return { jsonrpc: "2.0", id: given, method, params };
    }),
  fc
    .tuple(id, fc.constantFrom<JsonValue>("please echo this", PLACES.long, PLACES.huge))
    .map(([given, words]): JsonObject => {
      const params = { sessionId: PLACES.open, prompt: [{ type: "text", text: words }] };
      return { jsonrpc: "2.0", id: given, method: "session/prompt", params };
    }),
);

type Seeds = readonly number[];

/** Somewhere in it: a value replaced or taken away, or a field that does not belong there. */
function mutated(value: JsonValue, [seed = 0, ...seeds]: Seeds, odd: JsonValue): JsonValue | undefined {
  const entries: [string, JsonValue | undefined][] =
    Array.isArray(value) || isJsonObject(value) ? Object.entries(value) : [];
  const choice = seed % (entries.length + 3);
  const entry = entries[choice];
  if (!entry || seeds.length === 0) {
    if (choice % 3 === 0) return undefined;
    return choice % 3 === 1 || entries.length === 0 ? odd : { ...(isJsonObject(value) ? value : {}), surplus: odd };
  }
  const [key, inner = null] = entry;
  const changed = mutated(inner, seeds, odd);
  if (Array.isArray(value)) return value.map((item, index) => (index === Number(key) ? (changed ?? null) : item));
  const { [key]: _, ...rest } = isJsonObject(value) ? value : {};
  return changed === undefined ? rest : { ...rest, [key]: changed };
}

const good: fc.Arbitrary<JsonObject> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(id, fc.constantFrom(...REQUESTS))
      .map(([given, [method, params]]): JsonObject => ({ jsonrpc: "2.0", id: given, method, params })),
  },
  fc.constantFrom(...NOTIFICATIONS).map(([method, params]): JsonObject => ({ jsonrpc: "2.0", method, params })),
);

const wrong: fc.Arbitrary<JsonValue> = fc
  .tuple(good, fc.array(fc.nat(1_000), { minLength: 1, maxLength: 5 }), oddValue)
  .map(([message, seeds, odd]) => mutated(message, seeds, odd) ?? null);

/** Answers nobody asked for, or that are none: what the agent asks gets ids from 0 on. */
const answer: fc.Arbitrary<JsonObject> = fc
  .tuple(fc.oneof(fc.nat(5), id), fc.boolean(), oddValue)
  .map(([given, isError, odd]) => ({ jsonrpc: "2.0", id: given, ...(isError ? { error: odd } : { result: odd }) }));

const unknown: fc.Arbitrary<JsonObject> = fc
  .tuple(id, fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom("session/", "_x/y", "session/update")), oddValue)
  .map(([given, method, params]) => ({ jsonrpc: "2.0", id: given, method, params }));

const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: good.map((message) => JSON.stringify(message)) },
  { weight: 8, arbitrary: wrong.map((message) => JSON.stringify(message)) },
  { weight: 2, arbitrary: answer.map((message) => JSON.stringify(message)) },
  { weight: 2, arbitrary: unknown.map((message) => JSON.stringify(message)) },
  { weight: 2, arbitrary: strange.map((message) => JSON.stringify(message)) },
);

/** What is no message: broken off, deep, of other bytes, of another protocol. */
const broken: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(text, fc.nat(200)).map(([line, length]) => line.slice(0, length)),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
  fc.constantFrom("", "\r", "\u00ef\u00bb\u00bf{}", "null", "1e999", "Content-Length: 12\r\n\r", '{"id":1e400}', "{}"),
  fc.constantFrom(1_000, 20_000).map((depth) => "[".repeat(depth)),
  fc.constantFrom(1_000, 5_000).map((depth) => `{"jsonrpc":"2.0","id":7,"method":"x","params":${nested(depth)}}`),
  fc.array(good, { maxLength: 3 }).map((batch) => JSON.stringify(batch)),
);

function nested(depth: number): string {
  return `${'{"a":['.repeat(depth)}${"]}".repeat(depth)}`;
}

/** One line without its end, each character a byte. */
export const anyLine: fc.Arbitrary<string> = fc.oneof(
  { weight: 9, arbitrary: text.map((line) => Buffer.from(line).toString("latin1")) },
  { weight: 1, arbitrary: broken },
);
