// What a person pastes is read for what it is.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPasted } from "./pasted.js";

const EXPECTED = {
  redirectUri: "http://127.0.0.1:4000/callback",
  page: new URL("https://auth.example/authorize?state=s1&client_id=c"),
};

function query(text: string): Record<string, string> | string {
  const read = readPasted(text, EXPECTED);
  return read.ok ? Object.fromEntries(read.query) : read.reason;
}

describe("what a person pastes", () => {
  it.each([
    ["http://127.0.0.1:4000/callback?code=c1&state=s1&iss=i", { code: "c1", state: "s1", iss: "i" }],
    ["  <http://127.0.0.1:4000/callback?code=c1&state=s1>\n", { code: "c1", state: "s1" }],
    ["http://localhost:4000/callback?code=c1&state=s1", { code: "c1", state: "s1" }],
    ["http://127.0.0.1:4000/callback?error=access_denied&state=s1", { error: "access_denied", state: "s1" }],
    ["?code=c1&state=s1", { code: "c1", state: "s1" }],
    ["code=c1&state=other", { code: "c1", state: "other" }],
    ["c1.abc_DEF-~/+", { code: "c1.abc_DEF-~/+", state: "s1" }],
  ])("%s is an answer", (text, expected) => {
    expect(query(text)).toEqual(expected);
  });

  it.each([
    ["", /nothing was pasted/u],
    ["https://auth.example/authorize?state=s1&client_id=c", /the log-in page itself/u],
    ["https://evil.example/callback?code=c1", /another address/u],
    ["http://127.0.0.1:4001/callback?code=c1&state=s1", /another address/u],
    ["http://127.0.0.1:4000/other?code=c1&state=s1", /another address/u],
    ["http://127.0.0.1:4000/callback", /neither a code nor an error/u],
    ["I do not know", /no address/u],
    ["http://", /no address/u],
    ["x".repeat(20_000), /too long/u],
  ])("%s is none, and why is said", (text, reason) => {
    expect(query(text)).toMatch(reason);
  });

  it("is never taken for more than it is, whatever it is", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = readPasted(text, EXPECTED);
        if (read.ok) expect(read.query.has("code") || read.query.has("error")).toBe(true);
        else expect(read.reason).not.toBe("");
      }),
    );
  });
});
