// Servers of a configuration file keep everything on their way into the protocol.
import { describe, expect, it } from "vitest";
import { toAcpServer } from "./servers.js";

describe("toAcpServer", () => {
  it("hands over a command with its arguments, environment and directory", () => {
    const spec = { kind: "stdio", name: "a", command: "node", args: ["a.js"], env: { A: "1" }, cwd: "/here" } as const;
    expect(toAcpServer(spec)).toEqual({
      name: "a",
      command: "node",
      args: ["a.js"],
      env: [{ name: "A", value: "1" }],
      _meta: { tenon: { cwd: "/here" } },
    });
  });

  it("hands over an address with its headers", () => {
    const spec = { kind: "sse", name: "b", url: "https://example.com", headers: { X: "y" } } as const;
    expect(toAcpServer(spec)).toEqual({
      type: "sse",
      name: "b",
      url: "https://example.com",
      headers: [{ name: "X", value: "y" }],
    });
  });
});
