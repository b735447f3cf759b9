// `WWW-Authenticate` as servers write it, well and badly.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readChallenge } from "./request-access.js";

describe("a challenge", () => {
  test.each([
    [
      'Bearer resource_metadata="https://x.example/.well-known/oauth-protected-resource", scope="a b"',
      { scheme: "bearer", resourceMetadata: "https://x.example/.well-known/oauth-protected-resource", scope: "a b" },
    ],
    [
      'bearer error="insufficient_scope",error_description="needs \\"more\\", sorry",scope=files:read',
      { scheme: "bearer", error: "insufficient_scope", errorDescription: 'needs "more", sorry', scope: "files:read" },
    ],
    ["Bearer", { scheme: "bearer" }],
    ["Bearer realm=", { scheme: "bearer" }],
    [
      "Bearer resource_metadata=https://x.example/a?b=c&d",
      { scheme: "bearer", resourceMetadata: "https://x.example/a?b=c&d" },
    ],
    ['Basic realm="x", Bearer scope="s"', { scheme: "bearer", scope: "s" }],
    ['Negotiate YWJj==, Bearer error="invalid_token"', { scheme: "bearer", error: "invalid_token" }],
    ['Basic realm="only"', { scheme: "basic" }],
    ['Bearer scope="first", scope="second"', { scheme: "bearer", scope: "first" }],
    ['Bearer SCOPE = "spaced"', { scheme: "bearer", scope: "spaced" }],
    ['Bearer scope=""', { scheme: "bearer" }],
    ['Bearer scope="open', { scheme: "bearer" }],
  ])("%s", (header, expected) => {
    expect(readChallenge(header)).toEqual(expected);
  });

  test.each([undefined, "", "  ", ",,,", '"'])("of %j says nothing", (header) => {
    expect(readChallenge(header)).toBeUndefined();
  });

  test("never throws nor takes long, whatever it says", () => {
    const word = fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom('"', "\\", "=", ",", " ", "Bearer", "scope="));
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), (words) => {
        const challenge = readChallenge(words.join(""));
        return challenge === undefined || challenge.scheme === challenge.scheme.toLowerCase();
      }),
    );
    expect(readChallenge(`Bearer scope="${"\\".repeat(16_000)}`)?.scheme).toBe("bearer");
  });

  test("any value comes back as it was quoted", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme-ascii" }), (value) => {
        const quoted = value.replace(/(["\\])/gu, "\\$1");
        expect(readChallenge(`Bearer realm="x", scope="${quoted}", error="e"`)).toEqual({
          scheme: "bearer",
          scope: value,
          error: "e",
        });
      }),
    );
  });
});
