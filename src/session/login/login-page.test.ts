// Warnings about addresses, and how pasted addresses are read.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressWarnings, readPasted, webPage } from "./login-page.js";

describe("an address for people", () => {
  it.each([
    "file:///etc/passwd",
    "javascript:alert(1)",
    "ssh://host",
    "vscode://open",
    "data:text/html,x",
    "not an address",
  ])("is not %s", (address) => {
    expect(webPage(address)).toBeUndefined();
  });

  it("is a web page, spelled as it is really read", () => {
    expect(webPage("https://gіthub.com/login")?.href).toBe("https://xn--gthub-n2e.com/login"); // a Cyrillic letter
  });

  it.each([
    ["https://auth.example/authorize?state=1", []],
    ["http://127.0.0.1:8080/authorize", []],
    ["http://localhost/authorize", []],
    ["https://github.com@evil.example/", [/before the @/u]],
    ["https://gіthub.com/", [/letters beyond a to z/u]],
    ["http://auth.example/", [/not encrypted/u]],
  ])("%s comes with what may deceive about it", (address, expected) => {
    const warnings = addressWarnings(new URL(address));
    expect(warnings).toHaveLength(expected.length);
    for (const [at, pattern] of expected.entries()) expect(warnings[at]).toMatch(pattern);
  });
});

const EXPECTED = {
  issuer: "https://auth.example",
  redirectUri: "http://127.0.0.1:4000/callback",
  url: new URL("https://auth.example/authorize?state=s1&client_id=c"),
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
    ["hello", /no code, and no address/u],
    ["code=c1&state=other", /answer to another log-in/u],
    ["http://127.0.0.1:4000/callback?code=c1", /not all of the address/u],
    ["x".repeat(20_000), /too long/u],
  ])("%s is none, and why is said", (text, reason) => {
    expect(query(text)).toMatch(reason);
  });

  it.each([
    ["some-long-code", /the code alone does not do/u],
    ["http://127.0.0.1:4000/callback?code=c1&state=s1", /does not say that it comes from this log-in page/u],
    ["http://127.0.0.1:4000/callback?code=c1&state=s1&iss=https://evil.example", /does not say that it comes/u],
  ])("%s is none where answers say whose they are", (text, reason) => {
    const read = readPasted(text, { ...EXPECTED, namesIssuer: true });
    expect(read.ok ? "" : read.reason).toMatch(reason);
    const whole = "http://127.0.0.1:4000/callback?code=c1&state=s1&iss=https://auth.example";
    expect(readPasted(whole, { ...EXPECTED, namesIssuer: true }).ok).toBe(true);
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
