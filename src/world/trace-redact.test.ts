// Secrets do not survive the redactor, plain things do, and a line stays within its bounds.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { REDACTED } from "../base/text/secrets.js";
import { WORLD_LIMITS } from "./limits.js";
import { Redactor } from "./trace-redact.js";

const clean = (message: unknown) => new Redactor().clean(message).value;

describe("by the names values are kept under", () => {
  test("env, headers, auth and tokens are taken out, in the forms of ACP, of files and of OAuth", () => {
    const params = {
      mcpServers: [
        { name: "a", command: "x", env: [{ name: "MODE", value: "fast" }] },
        { name: "b", type: "http", url: "https://h/", headers: [{ name: "Authorization", value: "Bearer abc" }] },
        { name: "c", env: { A: "b" }, headers: { "X-Api-Key": "k", "content-type": "text/plain" } },
        { name: "d", auth: { type: "bearer", token: "t0" } },
      ],
      access_token: "x",
      clientSecret: "y",
      password: 12_345,
      secrets: ["pin4", "word"],
      assertion: "word",
    };
    expect(clean(params)).toEqual({
      mcpServers: [
        { name: "a", command: "x", env: [{ name: "MODE", value: REDACTED }] },
        { name: "b", type: "http", url: "https://h/", headers: [{ name: "Authorization", value: REDACTED }] },
        { name: "c", env: { A: REDACTED }, headers: { "X-Api-Key": REDACTED, "content-type": "text/plain" } },
        { name: "d", auth: REDACTED },
      ],
      access_token: REDACTED,
      clientSecret: REDACTED,
      password: REDACTED,
      secrets: REDACTED,
      assertion: REDACTED,
    });
  });

  test("what only sounds like it stays: schemas, limits, abilities, cursors", () => {
    const plain = {
      inputSchema: { type: "object", properties: { password: { type: "string" }, env: { type: "object" } } },
      max_tokens: 100,
      progressToken: 4,
      nextCursor: "eyJvZmZzZXQiOjEwfQ",
      capabilities: { auth: { terminal: true } },
      env: "production",
      token: "",
    };
    expect(clean(plain)).toEqual(plain);
  });

  test("an argument of a command behind an option that promises a secret is known from then on", () => {
    const redactor = new Redactor();
    const args = ["--api-key", "hunter2hunter2", "--token=s3cr3t-value", "--port", "80"];
    expect(redactor.clean({ args }).value).toEqual({
      args: ["--api-key", REDACTED, `--token=${REDACTED}`, "--port", "80"],
    });
    expect(redactor.text("echo hunter2hunter2")).toBe(`echo ${REDACTED}`);
  });
});

test.each([
  ["https://user:pa55@host/x", `https://${REDACTED}@host/x`],
  ["GET /a?x=1&api_key=abcdef#y", `GET /a?x=1&api_key=${REDACTED}#y`],
  ["Authorization: Bearer abc.def-123", `Authorization: Bearer ${REDACTED}`],
  [`key sk-ant-${"a1".repeat(12)}.`, `key ${REDACTED}.`],
  [`jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${"s".repeat(20)} end`, `jwt ${REDACTED} end`],
  ["-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----!", `${REDACTED}!`],
  ["-----BEGIN PRIVATE KEY-----\nMII and no end", REDACTED],
])("by its form: %s", (text, expected) => {
  expect(new Redactor().text(text)).toBe(expected);
});

test.each([
  "a basic understanding of bearer bonds",
  "see https://example.org/docs?keyword=x&page=2",
  "mail me@example.org",
  "sk-1 is short",
])("and nothing else: %s", (text) => {
  expect(new Redactor().text(text)).toBe(text);
});

test("what is learnt from one message is taken out of those that follow, also as part of other words", () => {
  const redactor = new Redactor();
  redactor.clean({
    env: [{ name: "DB_PASSWORD", value: "correct horse" }],
    headers: { Authorization: "Bearer zz-top-99" },
  });
  expect(
    redactor.clean({ text: "it is <correct horse>, zz-top-99 or correct%20horse", "correct horse": 1 }).value,
  ).toEqual({
    text: `it is <${REDACTED}>, ${REDACTED} or ${REDACTED}`,
    [REDACTED]: 1,
  });
});

test("a secret is taken out of a message also where it stands before the place that names it", () => {
  const entry = { args: ["--say", "<horse-battery-1>"], env: [{ name: "X", value: "horse-battery-1" }] };
  expect(clean(entry)).toEqual({ args: ["--say", `<${REDACTED}>`], env: [{ name: "X", value: REDACTED }] });
});

test("the words beside a token are everybody's and stay", () => {
  const redactor = new Redactor();
  redactor.clean({ auth: { type: "bearer", token: "plainwords", note: "x7-y8-z9-w0" } });
  expect(redactor.text("a bearer of plainwords, x7-y8-z9-w0")).toBe(`a bearer of ${REDACTED}, ${REDACTED}`);
});

test("our own environment is hidden by name or form, and what everybody has there is not", () => {
  const redactor = new Redactor();
  const token = `ghp_${"a".repeat(36)}`;
  redactor.hideEnvironment({ OPENAI_API_KEY: "key-value-1", PWD: "/home/me/project", LANG: "en_US.UTF-8", X: token });
  expect(redactor.text(`key-value-1 /home/me/project en_US.UTF-8 ${token}`)).toBe(
    `${REDACTED} /home/me/project en_US.UTF-8 ${REDACTED}`,
  );
});

test("cleaning twice changes nothing more, so that a replay can compare", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const once = clean(value);
      expect(clean(once)).toEqual(once);
    }),
  );
});

describe("the bounds of a line", () => {
  const { textChars, nodes, depth, lineChars } = WORLD_LIMITS.trace;

  test("a long text is cut, and says how long it was", () => {
    const { value, cut } = new Redactor().clean("x".repeat(textChars + 10));
    const text = String(value);
    expect(text.slice(-30)).toBe(`xxx[cut: ${textChars + 10} characters]`.padStart(30, "x"));
    expect(text.length).toBeGreaterThan(textChars * 0.9);
    expect(text.length).toBeLessThan(textChars + 50);
    expect(cut).toBe(1);
  });

  test("a secret is not cut in two, wherever the cut falls and whatever stands before it", () => {
    const secret = `start-${"m".repeat(60)}-end`;
    const redactor = new Redactor();
    redactor.hide([secret]);
    for (const before of [textChars - 1, textChars - 30, textChars - 66, textChars + 5]) {
      const { value } = redactor.clean(`${secret}${secret}${"x".repeat(before - 2 * secret.length)}${secret}tail`);
      expect(/start-|mmm/.test(String(value))).toBe(false);
    }
  });

  test("texts in all, values and nesting are bounded, and counted where they are cut", () => {
    const many = new Redactor().clean(Array.from({ length: nodes + 100 }, () => 1));
    expect(Array.isArray(many.value) && many.value.length).toBeLessThanOrEqual(nodes + 1);
    expect(many.cut).toBe(1);
    let deep: unknown = "bottom";
    for (let level = 0; level < depth * 100; level++) deep = [deep];
    expect(new Redactor().clean(deep).cut).toBe(1);
    const wide = new Redactor().clean(Array.from({ length: 5 }, () => "y".repeat(textChars)));
    expect(wide.cut).toBe(3);
    expect(JSON.stringify(wide.value).length).toBeLessThan(lineChars + 1_000);
  });
});
