// The words of `tenon mcp` and `tenon trust`: what they mean, and which are refused.
import { describe, expect, it } from "vitest";
import { Terminal } from "../../../../test/terminal.js";

const FILE = "/home/me/.config/tenon/config.json";

/** The entry that was added, or what was said instead. */
async function added(...words: string[]): Promise<unknown> {
  const terminal = new Terminal({ "/home/me/.config/tenon/.keep": "" });
  const { code, err } = await terminal.run("mcp", "add", ...words);
  if (code !== 0) return err;
  const file: { mcpServers: Record<string, unknown> } = JSON.parse(await terminal.world.files.readText(FILE));
  return file.mcpServers;
}

async function refusal(...words: string[]): Promise<string> {
  const { code, err } = await new Terminal().run(...words);
  expect(code, words.join(" ")).toBe(2);
  return err;
}

describe("tenon mcp add", () => {
  it("takes everything behind -- as the command, whatever it looks like", async () => {
    expect(await added("fs", "--env", "A=1=2", "--env", "B=", "--", "npx", "-y", "--json", "--", "x")).toEqual({
      fs: { command: "npx", args: ["-y", "--json", "--", "x"], env: { A: "1=2", B: "" } },
    });
    expect(await added("--replace", "--json", "fs", "npx", "server")).toEqual({
      fs: { command: "npx", args: ["server"] },
    });
    expect(await added("odd", "--", "https://not-a-url-here")).toEqual({
      odd: { command: "https://not-a-url-here", args: [] },
    });
  });

  it("takes a url with its headers in both common forms", async () => {
    const words = ["web", "--header", "Authorization: Bearer a=b", "--header", "X=y:z", "https://example.com/mcp"];
    expect(await added(...words)).toEqual({
      web: {
        type: "http",
        url: "https://example.com/mcp",
        headers: { Authorization: "Bearer a=b", X: "y:z" },
      },
    });
    expect(await added("web", "--type", "sse", "http://localhost:1/sse")).toEqual({
      web: { type: "sse", url: "http://localhost:1/sse" },
    });
  });

  it.each([
    [[], "NAME is missing"],
    [["x"], "say how it is reached"],
    [["x", "--env", "A", "--", "true"], "--env NAME=VALUE"],
    [["x", "--env", "=v", "--", "true"], "--env NAME=VALUE"],
    [["x", "--header", "A=b", "--", "true"], "--header is for servers with a url"],
    [["x", "--env", "A=b", "https://a.example"], "--env is for servers"],
    [["x", "--type", "carrier", "https://a.example"], '--type must be "http" or "sse"'],
    [["x", "--type", "http", "--", "true"], "--type is for servers with a url"],
    [["x", "https://a.example", "more"], "one word too many"],
    [["x", "htps://a.example/mcp"], "a url begins with http:// or https://"],
  ])("refuses %j", async (words, reason) => {
    expect(await refusal("mcp", "add", ...words)).toContain(reason);
  });

  it("does not repeat a value that may be a secret when it refuses", async () => {
    expect(await refusal("mcp", "add", "x", "--env", "=hunter2", "--", "true")).not.toContain("hunter2");
    expect(await refusal("secret", "set", "name", "hunter2")).not.toContain("hunter2");
  });
});

describe("words that are refused", () => {
  it.each([
    [["mcp"], "say what to do: tenon mcp list|add|"],
    [["mcp", "lst"], "did you mean tenon mcp list?"],
    [["mpc"], "did you mean tenon mcp?"],
    [["frobnicate"], "there is acp, "],
    [["mcp", "list", "a"], "it takes options only"],
    [["mcp", "get"], "SERVER is missing"],
    [["mcp", "remove", "a", "b"], "one word too many: it takes SERVER and options"],
    [["mcp", "enable", "--nope", "a"], "there is no option --nope"],
    [["mcp", "list", "--jsn"], "did you mean --json?"],
    [["mcp", "why", "x", "--prompt"], "--prompt TEXT lacks its value"],
    [["mcp", "why", "x", "--prompt", "--json"], "--prompt TEXT lacks its value"],
    [["mcp", "list", "--json=yes"], "--json takes no value"],
    [["trust", "approve"], "name the server"],
    [["trust", "approve", "--yes"], "--yes approves nothing"],
    [["trust", "approve", "a", "--yes"], "--yes approves nothing"],
    [["trust", "approve", "a", "b"], "one word too many"],
    [["trust", "approve", "a", "--all"], "one server"],
    [["trust", "list", "a"], "options only"],
    [["trust", "bless", "a"], "there is list, approve, deny, revoke"],
    [["setup", "zedd"], 'did you mean "zed"?'],
  ])("%j", async (words, reason) => {
    expect(await refusal(...words)).toContain(reason);
  });

  it("are told to programs as JSON, with the usage as the hint", async () => {
    const { out } = await new Terminal().run("mcp", "get", "--json");
    expect(JSON.parse(out)).toMatchObject({
      error: { code: "usage.invalid", hint: "Usage: tenon mcp get SERVER [options] See tenon mcp get --help." },
    });
  });
});
