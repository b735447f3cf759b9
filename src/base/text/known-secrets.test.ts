// Texts, data and errors without the values that are known; short and common values stay.
import { expect, test } from "vitest";
import { TenonError } from "../errors.js";
import type { JsonValue } from "../json/json.js";
import { KnownSecrets } from "./secrets.js";

function knowing(...values: readonly string[]): KnownSecrets {
  const known = new KnownSecrets();
  known.learn(values);
  return known;
}

test("a secret that is a part of another does not leave the rest of it", () => {
  expect(knowing("secret", "secret-and-more").clean("secret-and-more, secret")).toBe("[redacted], [redacted]");
});

test.each(["1", "true", "12345", "production", "Disabled", ""])("%j is no secret", (value) => {
  const text = `it is ${value}, and true for 12345 in production: Disabled`;
  expect(knowing(value).clean(text)).toBe(text);
});

test.each([
  ["quoted in JSON", JSON.stringify('pass"word\\1')],
  ["in an address", encodeURIComponent('pass"word\\1')],
  ["in basic authentication", Buffer.from('pass"word\\1').toString("base64")],
])("found %s", (_, written) => {
  expect(knowing('pass"word\\1').clean(`said ${written}`)).not.toContain(written.replaceAll(/^"|"$/gu, ""));
});

test("an address a person is sent to keeps its parameters", () => {
  const text = "open https://example.com/device?code=ABCD-1234&token=one-time";
  expect(knowing("other-secret").clean(text)).toBe(text);
});

test("data: every text in it, and the very same where there is none to take out", () => {
  const plain = { a: ["b", { c: 1, d: null }] };
  expect(knowing("hidden-one").takenFromAll(plain)).toBe(plain);
  expect(knowing("hidden-one").takenFromAll({ a: ["hidden-one", { c: "x hidden-one" }], e: 2 })).toEqual({
    a: ["[redacted]", { c: "x [redacted]" }],
    e: 2,
  });
});

test("data nested without end is cut where it is not looked at any more", () => {
  let deep: JsonValue = "hidden-one";
  for (let depth = 0; depth < 20_000; depth++) deep = depth % 2 === 0 ? [deep] : { deep };
  expect(JSON.stringify(knowing("hidden-one").takenFromAll(deep))).not.toContain("hidden-one");
});

test("an error keeps its code and everything it says but the secret, also in its causes", () => {
  const inner = new TenonError("mcp.unavailable", "inner hidden-one");
  const error = new TenonError("mcp.call_failed", "said hidden-one", {
    cause: inner,
    hint: "try hidden-one",
    retryAfterMs: 5,
  });
  const clean = knowing("hidden-one").cleanError(error);
  expect(clean).toMatchObject({
    code: "mcp.call_failed",
    message: "said [redacted]",
    hint: "try [redacted]",
    retryAfterMs: 5,
    cause: { code: "mcp.unavailable", message: "inner [redacted]" },
  });
  const foreign = new TenonError("mcp.call_failed", "it failed", { cause: new Error("with hidden-one") });
  expect(knowing("hidden-one").cleanError(foreign).cause).toBeUndefined();
  expect(knowing("other-one").cleanError(error)).toBe(error);
});

test.each([
  ["one word", "eyJ".repeat(2_700_000)],
  ["many beginnings of a token", "eyJ-".repeat(2_000_000)],
  ["tokens that never end", `${"eyJhbGciOiJub25lIn0.".repeat(400_000)}!`],
  ["nothing behind Bearer", `Bearer${" ".repeat(8_000_000)}`],
  ["keys that are none", "sk-".repeat(2_700_000)],
])("a text that was made to take for ever is done with: %s", (_, text) => {
  const startMs = performance.now();
  expect(knowing("hidden-one").clean(text).length).toBeLessThanOrEqual(text.length);
  expect(performance.now() - startMs).toBeLessThan(3_000); // quadratic, it would be hours
});

test("a token after other words is still found", () => {
  const token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl";
  expect(knowing().clean(`token=${token}, "${token}" (Bearer ${token})`)).not.toContain("eyJ");
});
