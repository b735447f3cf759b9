// Every way an HTTP answer goes wrong ends the call exactly once, with its reason, and the next call works.
import { expect, test } from "vitest";
import { bench, ECHO, jsonType } from "../../../../test/remote/bench.js";
import { textOf } from "../../../../test/remote/test-transport.js";
import type { ErrorCode } from "../../../base/errors.js";
import { FakeWorld, type HttpFault } from "../../../testing/index.js";
import { retryDelayMs } from "../../connection/state.js";

const { serve, legacy, transportTo } = bench();

function answer(status: number, headers: Readonly<Record<string, string>> = {}, body = ""): HttpFault {
  return { kind: "answer", status, headers, body };
}

const html = { "content-type": "text/html" };
const events = { "content-type": "text/event-stream" };

interface Case {
  readonly fault: HttpFault;
  readonly code: ErrorCode;
  readonly wasSent: boolean;
  readonly says: RegExp;
  readonly status?: number;
}

const CASES: Readonly<Record<string, Case>> = {
  "a reset": { fault: { kind: "reset" }, code: "mcp.connection_lost", wasSent: true, says: /broke/ },
  "half a JSON body": {
    fault: { kind: "half", contentType: "application/json", body: '{"jsonrpc":"2.0","id":2,"res' },
    code: "mcp.connection_lost",
    wasSent: true,
    says: /broke off/,
  },
  "half an event": {
    fault: { kind: "half", contentType: "text/event-stream", body: 'data: {"jsonrpc":"2.0","id":2,"res' },
    code: "mcp.connection_lost",
    wasSent: true,
    says: /ended without the answer/,
  },
  "an event stream without the answer": {
    fault: answer(200, events, ": bye\n\n"),
    code: "mcp.connection_lost",
    wasSent: true,
    says: /ended without the answer/,
  },
  "a page instead of a message": {
    fault: answer(200, html, "<h1>Welcome</h1>"),
    code: "mcp.protocol",
    wasSent: true,
    says: /text\/html/,
    status: 200,
  },
  "an answer with nothing in it": {
    fault: answer(200, jsonType, '{"jsonrpc":"2.0","id":2,"result":null}'),
    code: "mcp.protocol",
    wasSent: true,
    says: /neither a result nor an error/,
  },
  "such an answer on a stream that stays": {
    fault: { kind: "events", text: 'data: {"jsonrpc":"2.0","id":2,"error":[]}\n\n', stays: true },
    code: "mcp.protocol",
    wasSent: true,
    says: /neither a result nor an error/,
  },
  "JSON that is none": {
    fault: answer(200, jsonType, "{oops"),
    code: "mcp.protocol",
    wasSent: true,
    says: /not JSON/,
    status: 200,
  },
  "JSON that is no message": {
    fault: answer(200, jsonType, '{"ok":true}'),
    code: "mcp.protocol",
    wasSent: true,
    says: /no message/,
    status: 200,
  },
  "an answer to something else": {
    fault: answer(200, jsonType, '{"jsonrpc":"2.0","id":77,"result":{}}'),
    code: "mcp.protocol",
    wasSent: true,
    says: /something else/,
    status: 200,
  },
  "an empty body": { fault: answer(200, jsonType), code: "mcp.protocol", wasSent: true, says: /empty/, status: 200 },
  "202 to a request": { fault: answer(202), code: "mcp.protocol", wasSent: true, says: /no answer/, status: 202 },
  "204 to a request": { fault: answer(204), code: "mcp.protocol", wasSent: true, says: /no answer/, status: 204 },
  "401 without a word": { fault: answer(401), code: "mcp.unauthorized", wasSent: false, says: /401/, status: 401 },
  "403": {
    fault: answer(403, { "www-authenticate": 'Bearer error="insufficient_scope", scope="files:write"' }),
    code: "mcp.unauthorized",
    wasSent: false,
    says: /refused access.*insufficient_scope.*files:write/,
    status: 403,
  },
  "405 as JSON-RPC": {
    fault: answer(405, jsonType, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Not here"}}'),
    code: "mcp.protocol",
    wasSent: false,
    says: /405 Method Not Allowed: Not here/,
    status: 405,
  },
  "413": { fault: answer(413, {}, "too big"), code: "mcp.protocol", wasSent: false, says: /413.*too big/, status: 413 },
  "429 with seconds": {
    fault: answer(429, { "retry-after": "30" }),
    code: "mcp.unavailable",
    wasSent: false,
    says: /429.*wait 30 s/,
  },
  "429 without them": { fault: answer(429), code: "mcp.unavailable", wasSent: false, says: /429/ },
  "500 with a page": {
    fault: answer(500, html, "<h1>oops</h1>"),
    code: "mcp.unavailable",
    wasSent: true,
    says: /500 Internal Server Error \(a web page\)/,
    status: 500,
  },
  "503 with a date": {
    fault: answer(503, { "retry-after": "Sun, 01 Nov 2126 00:00:00 GMT" }),
    code: "mcp.unavailable",
    wasSent: true,
    says: /503.*wait \d+ s/,
    status: 503,
  },
  "502": { fault: answer(502), code: "mcp.unavailable", wasSent: true, says: /502/, status: 502 },
  "a redirect to nowhere": { fault: answer(307), code: "mcp.protocol", wasSent: false, says: /redirects/ },
  "a body that is compressed": {
    fault: answer(200, { ...jsonType, "content-encoding": "gzip" }, "\u001f\u008b"),
    code: "mcp.protocol",
    wasSent: true,
    says: /gzip/,
    status: 200,
  },
};

test.each(Object.entries(CASES))("%s", async (_, { fault, code, wasSent, says, status }) => {
  const server = await serve();
  const transport = await legacy(server);
  server.misbehave({ method: "tools/call" }, fault, 1);
  const id = transport.send("tools/call", { name: "echo", arguments: { text: "x" } });
  const ended = await transport.ended(id);
  expect(ended).toMatchObject({ kind: "lost", loss: { wasSent, error: { code } } });
  if (ended.kind === "lost") {
    expect(ended.loss.error.message).toMatch(says);
    expect(ended.loss.httpStatus).toBe(status);
  }
  expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
  expect(transport.endsOf(id)).toBe(1);
  expect(server.requests.filter(({ message }) => message?.["id"] === id)).toHaveLength(1); // never replayed
});

test("a server that hangs or drips costs only the call that is cancelled", async () => {
  const server = await serve();
  const transport = await legacy(server);
  const faults: readonly HttpFault[] = [
    { kind: "hang" },
    { kind: "drip", contentType: "application/json", everyMs: 5 },
    { kind: "drip", contentType: "text/event-stream", everyMs: 5 },
  ];
  for (const fault of faults) {
    server.misbehave({ method: "tools/call" }, fault, 1);
    const id = transport.send("tools/call", { name: "echo" });
    await server.awaitRequest(({ message }) => message?.["id"] === id);
    expect(textOf(await transport.call("echo", { text: "meanwhile" }))).toBe('{"text":"meanwhile"}');
    transport.transport.cancel(id, "deadline");
    await server.awaitRequest(
      ({ message }) => JSON.stringify(message?.["params"])?.includes(`"requestId":${id}`) === true,
    );
    expect(transport.endsOf(id)).toBe(0);
  }
});

test("a server that is not there is said to be so, and nothing was sent", async () => {
  const server = await serve();
  const transport = transportTo({ url: "http://127.0.0.1:1/mcp" });
  expect(await transport.initialize()).toMatchObject({
    kind: "lost",
    loss: { wasSent: false, error: { code: "mcp.unavailable", message: expect.stringContaining("ECONNREFUSED") } },
  });
  expect(server.requests).toEqual([]);
});

test("401 says what is missing and never follows the metadata it names", async () => {
  const server = await serve();
  const metadata = `${new URL(server.url).origin}/.well-known/oauth-protected-resource`;
  const challenge = `Bearer resource_metadata="${metadata}", scope="mcp"`;
  server.misbehave({}, answer(401, { ...jsonType, "www-authenticate": challenge }, '{"error":"invalid_token"}'));
  const transport = transportTo(server);
  const ended = await transport.initialize();
  expect(textOf(ended)).toContain(
    "wants credentials and was given none: 401 Unauthorized (scheme Bearer; scope needed mcp",
  );
  expect(textOf(ended)).toContain(metadata);
  const other = transportTo(server, { auth: { type: "bearer", token: "s3cret" } });
  const refused = textOf(await other.initialize());
  expect(refused).toContain("refused the credentials it was given");
  expect(refused).not.toContain("s3cret");
  expect(server.requests.every(({ path }) => path === "/mcp")).toBe(true);
});

test("when to come back is kept on the error and waited for, within reason", async () => {
  const server = await serve();
  server.misbehave({}, answer(503, { "retry-after": "20" }));
  const ended = await transportTo(server).initialize();
  if (ended.kind !== "lost") throw new Error("not lost");
  expect(ended.loss.error.retryAfterMs).toBe(20_000);
  const facts = { cause: ended.loss.error, failuresInARow: 1, wasReady: false, isRemote: true };
  expect(retryDelayMs(facts, 0)).toBe(20_000);
  server.behave();
  server.misbehave({}, answer(429, { "retry-after": "999999999" }));
  const late = await transportTo(server).initialize();
  if (late.kind !== "lost") throw new Error("not lost");
  expect(retryDelayMs({ ...facts, cause: late.loss.error }, 0)).toBeLessThanOrEqual(300_000);
});

test("a date in Retry-After counts from now", async () => {
  const world = new FakeWorld({ nowMs: Date.UTC(2026, 10, 1) });
  const server = await serve();
  server.misbehave({}, answer(503, { "retry-after": "Sun, 01 Nov 2026 00:01:00 GMT" }));
  const ended = await transportTo(server, {}, { world }).initialize();
  expect(ended).toMatchObject({ kind: "lost", loss: { error: { retryAfterMs: 60_000 } } });
});

test("notifications and answers of ours that do not arrive are noise, not a break", async () => {
  const server = await serve();
  const transport = await legacy(server);
  await transport.request("tools/list");
  server.misbehave({ method: "notifications/roots/list_changed" }, answer(500, {}, "oops"));
  transport.notify("notifications/roots/list_changed");
  const noise = await transport.told.find(({ kind }) => kind === "noise");
  expect(noise).toMatchObject({ what: expect.stringMatching(/list_changed was not delivered.*500/) });
  expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
});

test.each([200, 204])("a notification answered with %i and a body is taken as delivered", async (status) => {
  const server = await serve();
  server.misbehave({ method: "notifications/initialized" }, answer(status, html, status === 204 ? "" : "<p>fine</p>"));
  const transport = await legacy(server);
  expect(textOf(await transport.call("echo", { text: "on" }))).toBe('{"text":"on"}');
  expect(transport.told.items.filter(({ kind }) => kind === "noise")).toEqual([]);
});

test("content types are matched by their essence", async () => {
  const server = await serve();
  const transport = await legacy(server);
  const body = (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{}}`;
  server.misbehave({ method: "ping" }, answer(200, { "content-type": "Application/JSON; charset=utf-8" }, body(2)), 1);
  expect((await transport.request("ping")).kind).toBe("result");
  server.misbehave(
    { method: "ping" },
    answer(200, { "content-type": "text/event-stream;x=y" }, `data: ${body(3)}\n\n`),
    1,
  );
  expect((await transport.request("ping")).kind).toBe("result");
});

test("invalid UTF-8 costs the characters, not the call", async () => {
  const server = await serve(ECHO);
  const transport = await legacy(server);
  const result = '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a\\u00e9b"}]}}';
  const body = result.replace("\\u00e9", "\u00e9");
  server.misbehave({ method: "tools/call" }, { kind: "answer", status: 200, headers: jsonType, body: latin1(body) }, 1);
  expect(textOf(await transport.call("echo"))).toBe("a\ufffdb");
});

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}
