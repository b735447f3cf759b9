// Errors of providers as our codes.
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { toModelError } from "./provider-errors.js";

function named(name: string, fields: object = {}): Error {
  return Object.assign(new Error("said"), { name, ...fields });
}

describe("an error of a provider", () => {
  test.each([
    [named("AI_APICallError"), "model.unavailable"],
    [named("AI_APICallError", { statusCode: 200 }), "model.broken_stream"],
    [named("AI_APICallError", { statusCode: 529 }), "model.unavailable"],
    [named("AI_APICallError", { statusCode: 408 }), "model.unavailable"],
    [named("AI_APICallError", { statusCode: 422 }), "model.invalid_request"],
    [named("AI_APICallError", { statusCode: 400, responseBody: '{"reason":"API_KEY_INVALID"}' }), "model.unauthorized"],
    [named("AI_NoSuchModelError"), "model.unknown"],
    [named("AI_LoadAPIKeyError"), "model.unauthorized"],
    [named("AI_TypeValidationError"), "model.broken_stream"],
    [named("AI_UnsupportedFunctionalityError"), "model.invalid_request"],
    [{ type: "overloaded_error", message: "said" }, "model.unavailable"],
    [{ code: "rate_limit_exceeded", message: "said" }, "model.rate_limited"],
    [{ type: "constructor", message: "said" }, "model.broken_stream"],
    ["said", "model.broken_stream"],
  ])("%j becomes its code, and keeps what was said and the cause", (thrown, code) => {
    const error = toModelError("p/m", thrown, "reading");
    expect(error).toMatchObject({ code, cause: thrown });
    expect(error.message).toMatch(/^p\/m .*: said$/);
  });

  test("of no known kind is a matter of reach before the answer, and of the stream within it", () => {
    expect(toModelError("p/m", new TypeError("fetch failed"), "asking").code).toBe("model.unavailable");
    expect(toModelError("p/m", new TypeError("terminated"), "reading").code).toBe("model.broken_stream");
  });

  test("that is ours already stays what it is", () => {
    const ours = new TenonError("model.unknown", "no");
    expect(toModelError("p/m", ours, "asking")).toBe(ours);
  });

  test("tells the cause behind it, on one line, and not the whole page", () => {
    const error = new Error("Cannot connect", { cause: new Error("ECONNREFUSED\nhere") });
    expect(toModelError("p/m", error, "asking").message).toContain("Cannot connect (ECONNREFUSED here)");
    expect(toModelError("p/m", new Error("x".repeat(5_000)), "asking").message.length).toBeLessThan(700);
    expect(toModelError("p/m", new Error(""), "asking").message).toContain("no message was given");
  });

  test("without words is told all the same", () => {
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    expect(toModelError("p/m", cyclic, "reading").message).toContain("an error without a message");
    expect(toModelError("p/m", { a: 1 }, "reading").message).toContain('{"a":1}');
    expect(toModelError("p/m", undefined, "reading").message).toContain("undefined");
  });
});
