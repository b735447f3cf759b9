// What people get to read of a failure, and what they never do.
import { describe, expect, test } from "vitest";
import { anthropic, google, named, refused } from "../../test/provider-bodies.js";
import { TenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import { toModelError } from "./failures/provider-errors.js";

const context = { modelId: "p/m" };

describe("when to come back", () => {
  const at = (headers: JsonObject, message = "slow", details: readonly JsonObject[] = []) =>
    toModelError(
      { ...context, now: () => 1_000 },
      refused(429, google(429, "RESOURCE_EXHAUSTED", message, details), headers),
      "asking",
    ).retryAfterMs;

  test.each<[JsonObject, number | undefined]>([
    [{ "retry-after": "7" }, 7_000],
    [{ "Retry-After": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:31 GMT", date: "Thu, 01 Jan 1970 00:00:01 GMT" }, 30_000],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:31 GMT" }, 30_000],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-3" }, undefined],
    [{}, undefined],
  ])("is read from %j as %j", (headers, wait) => {
    expect(at(headers)).toBe(wait);
  });

  test("is read from the body where the headers do not say", () => {
    expect(at({}, "slow", [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }])).toBe(34_000);
    expect(at({}, "Please retry in 20.04466179s.")).toBe(20_045);
    expect(at({}, "Please try again in 2m59.56s. Visit us.")).toBe(179_560);
    expect(at({}, "Please try again in 6ms.")).toBe(6);
  });

  test("is said for nothing that waiting does not cure", () => {
    const error = toModelError(context, refused(400, {}, { "retry-after": "7" }), "asking");
    expect(error.retryAfterMs).toBeUndefined();
  });
});

describe("a network that is down", () => {
  const fetchFailed = (code: string) =>
    named("AI_APICallError", { cause: Object.assign(new Error(`connect ${code}`), { code }) });

  test.each([
    ["ECONNREFUSED", "Nothing listens at https://here/v1"],
    ["ENOTFOUND", "cannot be resolved"],
    ["EAI_AGAIN", "cannot be resolved"],
    ["CERT_HAS_EXPIRED", "certificate of https://here/v1 is not accepted"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "NODE_EXTRA_CA_CERTS"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "certificate"],
    ["ETIMEDOUT", "does not answer"],
    ["UND_ERR_CONNECT_TIMEOUT", "does not answer"],
  ])("with %s is unavailable, and the hint says %j", (code, hint) => {
    const error = toModelError({ ...context, baseUrl: "https://here/v1" }, fetchFailed(code), "asking");
    expect(error.code).toBe("model.unavailable");
    expect(error.hint).toContain(hint);
  });

  test("in the middle of an answer is a broken stream", () => {
    const reset = Object.assign(new TypeError("terminated"), {
      cause: Object.assign(new Error("x"), { code: "ECONNRESET" }),
    });
    expect(toModelError(context, reset, "reading").code).toBe("model.broken_stream");
    expect(toModelError(context, named("AI_APICallError", { statusCode: 200, cause: reset }), "reading").code).toBe(
      "model.broken_stream",
    );
  });
});

describe("an error without words of a provider", () => {
  test.each([
    [named("AI_APICallError"), "model.unavailable"],
    [named("AI_APICallError", { statusCode: 200 }), "model.broken_stream"],
    [refused(502, "<html>Bad gateway</html>"), "model.unavailable"],
    [refused(418, "not json"), "model.invalid_request"],
    [named("AI_NoSuchModelError"), "model.unknown"],
    [named("AI_LoadAPIKeyError"), "model.unauthorized"],
    [named("AI_TypeValidationError"), "model.broken_stream"],
    [named("AI_UnsupportedFunctionalityError"), "model.invalid_request"],
    [{ type: "constructor", message: "said" }, "model.broken_stream"],
    ["said", "model.broken_stream"],
  ])("%j becomes its code, and keeps what was said", (thrown, code) => {
    const error = toModelError(context, thrown, "reading");
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^p\/m .*: said$/);
  });

  test("is a matter of reach before the answer, and of the stream within it", () => {
    expect(toModelError(context, new TypeError("fetch failed"), "asking").code).toBe("model.unavailable");
    expect(toModelError(context, new TypeError("terminated"), "reading").code).toBe("model.broken_stream");
  });

  test("of the provider itself is not blamed on the network", () => {
    for (const status of [500, 502]) {
      const { hint } = toModelError(context, refused(status, "Bad gateway"), "asking");
      expect(hint).toContain("a failure of its own");
      expect(hint).not.toContain("network");
    }
  });

  test("that is ours already stays what it is", () => {
    const ours = new TenonError("model.unknown", "no");
    expect(toModelError(context, ours, "asking")).toBe(ours);
  });

  test("tells the cause behind it, on one line, and not the whole page", () => {
    const error = new Error("Cannot connect", { cause: new Error("ECONNREFUSED\nhere") });
    expect(toModelError(context, error, "asking").message).toContain("Cannot connect (ECONNREFUSED here)");
    expect(toModelError(context, new Error("x".repeat(5_000)), "asking").message.length).toBeLessThan(700);
    expect(toModelError(context, new Error(""), "asking").message).toContain("no message was given");
  });

  test("is told all the same, also when it holds itself", () => {
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    expect(toModelError(context, cyclic, "reading").message).toContain("an error without a message");
    expect(toModelError(context, { a: 1 }, "reading").message).toContain('{"a":1}');
    expect(toModelError(context, undefined, "reading").message).toContain("undefined");
  });
});

describe("a key", () => {
  const secrets = ["k-own-secret-key"];

  test.each([
    "you sent k-own-secret-key here",
    "Incorrect API key provided: sk-proj-AbCdEfGh12345678",
    "Incorrect API key provided: sk-abcd************wxyz.",
    "key AIzaSyA1234567890abcdefghijk was refused",
    "header Authorization: Bearer abcdefgh.ijkl was refused",
    'sent {"x-api-key": "0123456789abcdef"}',
    "GET /models?key=0123456789abcdef",
  ])("in %j is in no part of the error", (message) => {
    const thrown = refused(401, anthropic("authentication_error", message));
    const error = toModelError({ ...context, secrets }, thrown, "asking");
    const cause =
      error.cause instanceof Error ? `${error.cause.message} ${error.cause.stack} ${JSON.stringify(error.cause)}` : "";
    const all = `${error.message} ${error.hint} ${cause}`;
    expect(all).toContain("[key]");
    expect(all).not.toMatch(/own-secret|AbCdEfGh|wxyz|A1234567890|abcdefgh\.|0123456789abcdef/);
  });

  test("is not seen in ordinary words", () => {
    const error = toModelError({ ...context, secrets }, new Error("the keyboard token limit is 5"), "asking");
    expect(error.message).toContain("the keyboard token limit is 5");
  });

  test("and the request that was sent are not kept with the error", () => {
    const thrown = Object.assign(refused(400, {}), { requestBodyValues: { messages: ["the whole conversation"] } });
    expect(JSON.stringify(toModelError(context, thrown, "asking").cause)).not.toContain("conversation");
  });
});
