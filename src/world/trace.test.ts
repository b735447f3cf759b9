// The trace file: every message in order, enough to replay, and no planted secret anywhere in it.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hashJson, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { Fetch } from "../base/ports/world.js";
import { FileTrace } from "./trace.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tenon-trace-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, "sub/trace.ndjson");
const open = (env: Record<string, string> = {}) => new FileTrace({ path: path(), env, now: () => 42 });
const raw = () => readFileSync(path(), "utf8");
const lines = (): JsonObject[] =>
  raw()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test("messages stand in their order, each with time, number and place, and the file is private", async () => {
  await using trace = open();
  trace.record({ channel: "acp", dir: "in", message: { id: 1 } });
  trace.record({
    channel: "mcp",
    dir: "out",
    session: "s",
    server: "x",
    connection: trace.nextConnection(),
    message: {},
  });
  await trace.flush();
  expect(lines()).toEqual([
    { t: 42, seq: 1, channel: "trace", message: { kind: "start", format: 1, tenon: expect.any(String) } },
    { t: 42, seq: 2, channel: "acp", dir: "in", message: { id: 1 } },
    { t: 42, seq: 3, channel: "mcp", dir: "out", session: "s", server: "x", connection: 1, message: {} },
  ]);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test("what is still waiting when the process exits is written at once, and nothing twice", async () => {
  const trace = open();
  for (let index = 0; index < 50; index++) trace.record({ channel: "acp", dir: "in", message: { index } });
  trace.end();
  trace.end();
  expect(lines().map(({ seq }) => seq)).toEqual(Array.from({ length: 51 }, (_, index) => index + 1));
  trace.record({ channel: "acp", dir: "in", message: { late: true } });
  await trace.flush();
  expect(raw()).not.toContain("late");
});

test("a second run is appended, and begins with a line of its own", async () => {
  await open()[Symbol.asyncDispose]();
  await open()[Symbol.asyncDispose]();
  expect(lines().map(({ message }) => message)).toHaveLength(2);
});

test("a file that cannot be written is said at once, with its path", () => {
  writeFileSync(join(folder, "sub"), "a file in the way");
  expect(open).toThrow(expect.objectContaining({ code: "usage.invalid", message: expect.stringContaining(path()) }));
});

test("a message that cannot be written as JSON costs its line and nothing else", async () => {
  await using trace = open();
  const hostile = {
    get x(): string {
      throw new Error("no");
    },
  };
  expect(() => trace.record({ channel: "acp", dir: "in", message: hostile })).not.toThrow();
  await trace.flush();
  expect(lines()[1]).toMatchObject({ channel: "trace", message: { kind: "unwritten", channel: "acp", dir: "in" } });
});

const EVENTS = ['data: {"text":"hé', 'llo"}\n\nda', "ta: [DONE]\n\n", "rest"];

function answering(parts: readonly string[], headers: Record<string, string>): Fetch {
  return async () => {
    // Cut in the middle of a character, as networks do.
    const bytes = parts.flatMap((part) => {
      const all = Buffer.from(part);
      return [all.subarray(0, all.length - 1), all.subarray(all.length - 1)];
    });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const chunk of bytes) controller.enqueue(chunk);
        controller.close();
      },
    });
    return new Response(body, { status: 200, headers });
  };
}

const messages = (): JsonObject[] =>
  lines().flatMap(({ channel, message }) => (channel === "model" && isObject(message) ? [message] : []));

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

describe("traffic with a model", () => {
  const body = { model: "m", messages: [{ role: "user", content: "hi" }] };
  const init = { method: "POST", headers: { "x-api-key": "key-of-the-model" }, body: JSON.stringify(body) };

  test("a streamed answer reaches its reader unchanged and the trace by whole events", async () => {
    await using trace = open();
    const fetch = trace.modelFetch(answering(EVENTS, { "content-type": "text/event-stream", "set-cookie": "c=1" }));
    const response = await trace.within("s-1", () => fetch("https://api.test/v1?key=abcdefgh", init));
    expect(await response.text()).toBe(EVENTS.join(""));
    await trace.flush();
    expect(
      lines()
        .slice(1)
        .every(({ session }) => session === "s-1"),
    ).toBe(true);
    const [request, head, ...rest] = messages();
    expect(request).toEqual({
      kind: "request",
      exchange: 1,
      method: "POST",
      url: "https://api.test/v1?key=[redacted]",
      headers: { "x-api-key": "[redacted]" },
      body,
      hash: hashJson(body),
    });
    expect(head).toEqual({
      kind: "response",
      exchange: 1,
      status: 200,
      headers: { "content-type": "text/event-stream" },
    });
    expect(rest).toEqual([
      { kind: "events", exchange: 1, text: 'data: {"text":"héllo"}\n\n' },
      { kind: "events", exchange: 1, text: "data: [DONE]\n\n" },
      { kind: "events", exchange: 1, text: "rest" },
      { kind: "end", exchange: 1 },
    ]);
  });

  test("an answer that is no stream is one body", async () => {
    await using trace = open();
    const fetch = trace.modelFetch(answering(['{"error":', '"x"}'], { "content-type": "application/json" }));
    expect(await (await fetch("https://api.test/", init)).json()).toEqual({ error: "x" });
    await trace.flush();
    expect(messages().slice(2)).toEqual([
      { kind: "body", exchange: 1, body: { error: "x" } },
      { kind: "end", exchange: 1 },
    ]);
  });

  test("a request that fails, and a reader that leaves, are told once, and the source is let go", async () => {
    await using trace = open();
    const failing = trace.modelFetch(() => Promise.reject(new Error("no network")));
    await expect(failing("https://api.test/")).rejects.toThrow("no network");
    let isCancelled = false;
    const endless: Fetch = async () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(Buffer.from("data: 1\n\n")),
          cancel: () => {
            isCancelled = true;
          },
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    const reader = (await trace.modelFetch(endless)("https://api.test/")).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect(isCancelled).toBe(true);
    await trace.flush();
    expect(messages().filter(({ kind }) => kind === "failed")).toEqual([
      { kind: "failed", exchange: 1, error: "no network" },
      { kind: "failed", exchange: 2, error: "the reader left" },
    ]);
  });
});

/** As people and services make them: quotes, backslashes and line breaks among them. */
const secretText = fc
  .string({ unit: fc.constantFrom(...'abcdefXYZ0123456789-_./+="\\\n€'), minLength: 9, maxLength: 40 })
  .map((text) => `Zq${text}`)
  .filter((text) => text.trim().length >= 9);

/** Any JSON, with the secret put into some of its texts, also as JSON within JSON and as part of an address. */
function planted(secret: string): fc.Arbitrary<JsonObject> {
  const text = fc.oneof(
    fc.string(),
    fc.constant(secret),
    fc.string().map((around) => `${around}${secret}${around}`),
    fc.string().map((around) => JSON.stringify({ [around]: `${secret}!` })),
    fc.string().map((around) => JSON.stringify(JSON.stringify([around, secret]))),
    fc.constant(`https://h.test/x?q=${encodeURIComponent(secret)}`),
  );
  const key = fc.oneof({ weight: 5, arbitrary: fc.string() }, { weight: 1, arbitrary: fc.constant(`k${secret}`) });
  const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  return fc.record({ params: tree, result: tree });
}

/** The ways a secret is brought to Tenon: each of them is enough for it never to be written. */
const WAYS: Readonly<Record<string, (trace: FileTrace, secret: string) => void>> = {
  "told to the trace": (trace, secret) => trace.hide([secret]),
  "in a client's env": (trace, secret) =>
    trace.record({ channel: "acp", dir: "in", message: { env: [{ name: "API_TOKEN", value: secret }] } }),
  "in a server's headers": (trace, secret) =>
    trace.record({ channel: "mcp", dir: "out", message: { open: { headers: { "X-Mine": secret } } } }),
  "as a bearer token": (trace, secret) =>
    trace.record({ channel: "mcp", dir: "out", message: { open: { auth: { type: "bearer", token: secret } } } }),
  "behind an option": (trace, secret) =>
    trace.record({ channel: "mcp", dir: "out", message: { open: { args: ["--token", secret] } } }),
  "in the key of a request": (trace, secret) =>
    trace.record({ channel: "model", dir: "out", message: { kind: "request", headers: { "x-api-key": secret } } }),
};

describe("planted secrets", () => {
  test.each(Object.entries(WAYS))("never reach the file: %s", async (_way, bring) => {
    let run = 0;
    const plan = secretText.chain((secret) =>
      fc.tuple(fc.constant(secret), fc.array(planted(secret), { minLength: 1, maxLength: 4 })),
    );
    await fc.assert(
      fc.asyncProperty(plan, async ([secret, found]) => {
        const file = join(folder, `${++run}.ndjson`);
        const trace = new FileTrace({ path: file, env: {}, now: () => 0 });
        bring(trace, secret);
        for (const message of found) trace.record({ channel: "mcp", dir: "in", message });
        const fetch = trace.modelFetch(
          answering(
            found.map((one) => `data: ${JSON.stringify(one)}\n\n`),
            { "content-type": "text/event-stream" },
          ),
        );
        const answer = await fetch("https://api.test/", { method: "POST", body: JSON.stringify(found) });
        await answer.text();
        trace.end();
        const written = readFileSync(file, "utf8");
        expectAbsent(written, secret.trim());
      }),
      { numRuns: 60 },
    );
  });

  test("nor do those of our own environment", async () => {
    await using trace = open({ ANTHROPIC_API_KEY: "value-of-the-key" });
    trace.record({ channel: "model", dir: "in", message: { text: "it was value-of-the-key, I think" } });
    await trace.flush();
    expectAbsent(raw(), "value-of-the-key");
  });
});

/** Neither as it is nor as JSON writes it, however often over. */
function expectAbsent(written: string, secret: string): void {
  let form = secret;
  for (let level = 0; level < 5; level++) {
    expect(written.includes(form), `the file has ${form}`).toBe(false);
    form = JSON.stringify(form).slice(1, -1);
  }
}
