// What is said about an address before a person opens it.
import { describe, expect, it } from "vitest";
import { addressWarnings, webPage } from "./address.js";

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
