// The one error class: what it keeps, and words for whatever else is thrown.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_CODES, messageOf, TenonError, toTenonError } from "./errors.js";

describe("TenonError", () => {
  test("is an Error with a code, a cause when there is one, and the code's recovery as hint", () => {
    const cause = new Error("inner");
    const error = new TenonError("mcp.spawn_failed", "no such file", { cause });
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.message, error.cause]).toEqual([
      "TenonError",
      "mcp.spawn_failed",
      "no such file",
      cause,
    ]);
    expect(error.hint).toBe(ERROR_CODES["mcp.spawn_failed"].recovery);
    expect("cause" in new TenonError("internal", "x")).toBe(false);
  });

  test("prefers a hint of its own", () => {
    expect(new TenonError("config.invalid", "x", { hint: "line 3" }).hint).toBe("line 3");
  });
});

test("every error code says what causes and what cures it, as sentences", () => {
  const codes = Object.entries(ERROR_CODES);
  expect(codes.length).toBeGreaterThan(20);
  for (const [code, { cause, recovery }] of codes) {
    expect(code).toMatch(/^[a-z]+(\.[a-z_]+)?$/);
    for (const text of [cause, recovery]) expect(text).toMatch(/^[A-Z].*\.$/);
  }
});

describe("toTenonError", () => {
  test("hands a TenonError back as it is", () => {
    const error = new TenonError("cancelled", "stop");
    expect(toTenonError(error, "mcp.call_failed")).toBe(error);
  });

  test("wraps anything else with the code and keeps it as cause", () => {
    const thrown = new TypeError("boom");
    expect(toTenonError(thrown, "mcp.call_failed")).toMatchObject({
      code: "mcp.call_failed",
      message: "boom",
      cause: thrown,
    });
    expect(toTenonError("boom")).toMatchObject({ code: "internal", message: "boom", cause: "boom" });
  });
});

describe("messageOf", () => {
  test.each([
    ["plain", new Error("plain")],
    ["RangeError", new RangeError("")],
    ["stopped", new DOMException("stopped", "AbortError")],
    ["refused ::1; refused 127.0.0.1", new AggregateError([new Error("refused ::1"), new Error("refused 127.0.0.1")])],
    ["outer", new AggregateError([new Error("inner")], "outer")],
    ["AggregateError", new AggregateError([])],
    ["Invalid Request", { code: -32_600, message: "Invalid Request" }],
    ["thrown without a message: [object Object]", { code: 1 }],
    ["thrown without a message: [object Object]", Object.create(null)],
    ["thrown without a message: empty text", ""],
    ["text", "text"],
    ["undefined", undefined],
    ["null", null],
    ["Symbol(s)", Symbol("s")],
  ])("says: %s", (message, thrown) => {
    expect(messageOf(thrown)).toBe(message);
  });

  test("finds words for anything, and never throws", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (thrown) => {
        expect(messageOf(thrown)).not.toBe("");
      }),
    );
  });
});
