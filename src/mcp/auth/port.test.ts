// What a server may call itself.
import { expect, test } from "vitest";
import { isResourceOf } from "./discovery.js";
import { resourceOf } from "./port.js";

test.each([
  ["https://x.example/mcp", "https://x.example/mcp", true],
  ["https://x.example", "https://x.example/mcp", true],
  ["https://x.example/", "https://x.example/mcp", true],
  ["https://X.example/mcp/", "https://x.example/mcp", true],
  ["https://x.example/a", "https://x.example/a/b", true],
  ["https://x.example/a", "https://x.example/ab", false],
  ["https://x.example/mcp/deeper", "https://x.example/mcp", false],
  ["https://evil.example/mcp", "https://x.example/mcp", false],
  ["http://x.example/mcp", "https://x.example/mcp", false],
  ["https://x.example:8443/mcp", "https://x.example/mcp", false],
  ["mcp", "https://x.example/mcp", false],
])("%s for %s: %j", (named, server, expected) => {
  expect(isResourceOf(named, server)).toBe(expected);
});

test("log-ins are kept under one spelling of a URL", () => {
  expect(resourceOf("HTTPS://X.example:443/Mcp?a=1#part")).toBe("https://x.example/Mcp?a=1");
});
