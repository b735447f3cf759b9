// The words of `tenon mcp` and `tenon trust`: what they mean, and which are refused.
import { describe, expect, it } from "vitest";
import { parseMcpArguments } from "./mcp-arguments.js";
import { parseTrustArguments } from "./trust-arguments.js";

function mcp(...words: string[]): unknown {
  const parsed = parseMcpArguments(words);
  return parsed.ok ? parsed.options : parsed.reason;
}

function trust(...words: string[]): unknown {
  const parsed = parseTrustArguments(words);
  return parsed.ok ? parsed.options : parsed.reason;
}

describe("tenon mcp add", () => {
  it("takes everything behind -- as the command, whatever it looks like", () => {
    expect(mcp("add", "fs", "--env", "A=1=2", "--env", "B=", "--", "npx", "-y", "--json", "--", "x")).toEqual({
      action: {
        verb: "add",
        name: "fs",
        entry: { command: "npx", args: ["-y", "--json", "--", "x"], env: { A: "1=2", B: "" } },
        isProject: false,
        mayReplace: false,
      },
      json: false,
    });
    expect(mcp("add", "--project", "--replace", "--json", "fs", "npx", "server")).toMatchObject({
      action: { entry: { command: "npx", args: ["server"] }, isProject: true, mayReplace: true },
      json: true,
    });
    expect(mcp("add", "odd", "--", "https://not-a-url-here")).toMatchObject({
      action: { entry: { command: "https://not-a-url-here", args: [] } },
    });
  });

  it("takes a url with its headers in both common forms", () => {
    const words = [
      "add",
      "web",
      "--header",
      "Authorization: Bearer a=b",
      "--header",
      "X=y:z",
      "https://example.com/mcp",
    ];
    expect(mcp(...words)).toMatchObject({
      action: {
        entry: {
          type: "http",
          url: "https://example.com/mcp",
          headers: { Authorization: "Bearer a=b", X: "y:z" },
        },
      },
    });
    expect(mcp("add", "web", "--type", "sse", "http://localhost:1/sse")).toMatchObject({
      action: { entry: { type: "sse", url: "http://localhost:1/sse" } },
    });
  });

  it.each([
    [["add"], "name the server"],
    [["add", "x"], "say how it is reached"],
    [["add", "x", "npx", "-y", "z"], "come after --"],
    [["add", "x", "--env", "A", "--", "true"], "--env NAME=VALUE"],
    [["add", "x", "--env", "=v", "--", "true"], "--env NAME=VALUE"],
    [["add", "x", "--header", "A=b", "--", "true"], "--header is for servers with a url"],
    [["add", "x", "--env", "A=b", "https://a.example"], "--env is for servers"],
    [["add", "x", "--type", "carrier", "https://a.example"], "--type must be"],
    [["add", "x", "--type", "http", "--", "true"], "--type is for servers with a url"],
    [["add", "x", "https://a.example", "more"], "one word too many"],
  ])("refuses %j", (words, reason) => {
    expect(mcp(...words)).toContain(reason);
  });

  it("does not repeat a value that may be a secret when it refuses", () => {
    expect(mcp("add", "x", "--env", "=hunter2", "--", "true")).not.toContain("hunter2");
  });
});

describe("the other words of tenon mcp", () => {
  it("are understood", () => {
    expect(mcp("list", "--json")).toEqual({ action: { verb: "list" }, json: true });
    expect(mcp("get", "a")).toEqual({ action: { verb: "get", name: "a" }, json: false });
    expect(mcp("why", "Read", "File", "--json")).toEqual({ action: { verb: "why", tool: "Read File" }, json: true });
    expect(mcp("why", "s/t", "--prompt", "do it")).toEqual({
      action: { verb: "why", tool: "s/t", prompt: "do it" },
      json: false,
    });
    for (const verb of ["remove", "enable", "disable"]) {
      expect(mcp(verb, "a", "--project")).toEqual({ action: { verb, name: "a", isProject: true }, json: false });
    }
  });

  it.each([[[]], [["lst"]], [["list", "a"]], [["get"]], [["remove", "a", "b"]], [["enable", "--nope", "a"]]])(
    "refuse %j",
    (words) => {
      expect(typeof mcp(...words)).toBe("string");
    },
  );
});

describe("tenon trust", () => {
  it("lists unless told otherwise, and decides on what is named", () => {
    expect(trust()).toEqual({ action: { verb: "list" }, json: false });
    expect(trust("approve", "a", "--json")).toEqual({
      action: { verb: "approve", subject: { kind: "server", name: "a" } },
      json: true,
    });
    expect(trust("deny", "--settings")).toMatchObject({ action: { subject: { kind: "settings" } } });
    expect(trust("revoke", "--settings")).toMatchObject({ action: { verb: "revoke", subject: { kind: "settings" } } });
    expect(trust("revoke", "--all")).toMatchObject({ action: { verb: "revoke", subject: { kind: "all" } } });
  });

  it.each([
    [["approve"], "name the server"],
    [["approve", "--yes"], "--yes approves nothing"],
    [["approve", "a", "--yes"], "--yes approves nothing"],
    [["approve", "a", "b"], "one server"],
    [["approve", "a", "--all"], "one server"],
    [["list", "a"], "nothing but --json"],
    [["bless", "a"], "only list, approve, deny, revoke"],
  ])("refuses %j", (words, reason) => {
    expect(trust(...words)).toContain(reason);
  });
});
