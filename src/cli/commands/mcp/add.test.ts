// `tenon mcp add` and `add-json` with what READMEs of servers print for other programs, and what is said about each.
import { describe, expect, it } from "vitest";
import { Terminal } from "../../../../test/terminal.js";

const USER = "/home/me/.config/tenon/config.json";
const OWN = "/project/.tenon/config.json";

async function servers(terminal: Terminal, path: string = USER): Promise<unknown> {
  const file: { mcpServers?: unknown } = JSON.parse(await terminal.world.files.readText(path));
  return file.mcpServers;
}

const NPX = { command: "npx", args: ["-y", "server-x"] };

describe("tenon mcp add", () => {
  it.each([
    ["x -- npx -y server-x", { x: NPX }],
    ["x npx -y server-x", { x: NPX }],
    ["-e KEY=v x npx -y server-x", { x: { ...NPX, env: { KEY: "v" } } }],
    ["x -e A=1 --env=B=2 -- npx -y server-x", { x: { ...NPX, env: { A: "1", B: "2" } } }],
    ["claude mcp add x -s user -- npx -y server-x", { x: NPX }],
    ["claude mcp add --transport stdio x -- npx -y server-x", { x: NPX }],
    ["codex mcp add x --env KEY=v -- npx -y server-x", { x: { ...NPX, env: { KEY: "v" } } }],
    ["--transport http x https://e.example/mcp", { x: { type: "http", url: "https://e.example/mcp" } }],
    ["-t sse x https://e.example/sse", { x: { type: "sse", url: "https://e.example/sse" } }],
    ["-t streamable-http x https://e.example/mcp", { x: { type: "http", url: "https://e.example/mcp" } }],
    [
      "codex mcp add x --url https://e.example/mcp --bearer-token-env-var TOKEN",
      { x: { type: "http", url: "https://e.example/mcp", headers: { Authorization: "Bearer ${TOKEN}" } } },
    ],
    [
      "x npx server --project --json -e A",
      { x: { command: "npx", args: ["server", "--project", "--json", "-e", "A"] } },
    ],
  ])("takes: %s", async (line, expected) => {
    const terminal = new Terminal();
    expect(await terminal.run("mcp", "add", ...line.split(" "))).toMatchObject({ code: 0 });
    expect(await servers(terminal)).toEqual(expected);
  });

  it("takes a whole line as one word, quotes read as a shell does", async () => {
    const terminal = new Terminal();
    const line = `$ claude mcp add --transport http docs https://e.example/mcp --header 'X-Team: blue team'`;
    expect(await terminal.run("mcp", "add", line)).toMatchObject({ code: 0 });
    const entry = { type: "http", url: "https://e.example/mcp", headers: { "X-Team": "blue team" } };
    expect(await servers(terminal)).toEqual({ docs: entry });
  });

  it("reads lines that a README breaks, and several variables behind one option", async () => {
    const terminal = new Terminal();
    const broken = "claude mcp add foo \\\n --env KEY=a B=b \\\n -- npx -y server-x";
    expect(await terminal.run("mcp", "add", broken)).toMatchObject({ code: 0 });
    expect(await servers(terminal)).toEqual({ foo: { ...NPX, env: { KEY: "a", B: "b" } } });
  });

  it.each([
    ["claude mcp add a -- run x && claude mcp add b -- run y", "more than one command"],
    ["claude mcp add-json a {}", "add-json takes its words"],
    ["claude mcp add a TOKEN=s3cret run", "NAME=VALUE"],
  ])("refuses %s without repeating it", async (line, reason) => {
    const terminal = new Terminal();
    const { code, out, err } = await terminal.run("mcp", "add", line);
    expect(code).toBe(2);
    expect(err).toContain(reason);
    expect(out + err).not.toContain("s3cret");
    expect(await terminal.world.files.find(USER)).toBeUndefined();
  });

  it("puts scope project into the project's file, and refuses a scope it does not know", async () => {
    const terminal = new Terminal();
    const { out } = await terminal.run("mcp", "add", "-s", "project", "x", "--", "run");
    expect(out).toContain("tenon trust approve x");
    expect(await servers(terminal, OWN)).toEqual({ x: { command: "run", args: [] } });
    expect(await terminal.run("mcp", "add", "-s", "world", "y", "--", "run")).toMatchObject({ code: 2 });
  });

  it("warns of a secret in plain text and of a program that is not there, and never prints the secret", async () => {
    const terminal = new Terminal();
    const secret = "ghp_abcdefghijklmnopqrstuvwx";
    const { code, out, err } = await terminal.run("mcp", "add", "-e", `TOKEN=${secret}`, "x", "--", "no-such-program");
    expect(code).toBe(0);
    expect(err).toContain("env.TOKEN looks like a secret");
    expect(err).toContain('there is no program "no-such-program" in PATH');
    expect(out + err).not.toContain(secret);
    expect((await terminal.run("mcp", "add", "y", "--", "run")).err).toBe("");
  });

  it("offers the test in a terminal, and a no leaves it at that", async () => {
    const terminal = new Terminal();
    terminal.isAttended = true;
    terminal.answer = "n";
    expect(await terminal.run("mcp", "add", "x", "--", "run")).toMatchObject({ code: 0 });
    expect(terminal.asked).toEqual(["Test it now (tenon mcp test x)? [Y/n] "]);
    expect(terminal.world.children).toEqual([]);
  });

  it("names --replace where the name is taken", async () => {
    const terminal = new Terminal();
    await terminal.run("mcp", "add", "x", "--", "run");
    expect((await terminal.run("mcp", "add", "x", "--", "run", "2")).err).toContain("--replace");
  });
});

describe("tenon mcp add-json", () => {
  it("takes an entry, an entry that has its name inside, and all servers of a README", async () => {
    const terminal = new Terminal();
    await terminal.run("mcp", "add-json", "a", '{"command": "run"}');
    await terminal.run("mcp", "add-json", '{"name": "b", "command": "run"}');
    await terminal.run(
      "mcp",
      "add-json",
      '{"mcpServers": {"c": {"command": "run"}, "d": {"url": "https://e.example"}}}',
    );
    await terminal.run("mcp", "add-json", "e", '{"servers": {"e": {"command": "run"}, "f": {"command": "run"}}}');
    const run = { command: "run" };
    expect(await servers(terminal)).toEqual({ a: run, b: run, c: run, d: { url: "https://e.example" }, e: run });
  });

  it("reads it from the input", async () => {
    const terminal = new Terminal();
    terminal.extra = { readValue: async () => '{"mcpServers": {"a": {"command": "run"}}}' };
    expect(await terminal.run("mcp", "add-json", "-")).toMatchObject({ code: 0 });
    expect(await servers(terminal)).toEqual({ a: { command: "run" } });
  });

  it.each([
    [["a", "{"], "that is no JSON"],
    [["a", "[]"], "must be a JSON object"],
    [['{"command": "s3cret"}'], "NAME is missing"],
    [["x", '{"mcpServers": {"a": {"command": "s3cret"}}}'], 'it has no server "x"'],
    [["a", '{"comand": "s3cret"}'], 'did you mean "command"?'],
  ])("refuses %j without repeating it", async (words, reason) => {
    const { code, out, err } = await new Terminal().run("mcp", "add-json", ...words);
    expect(code).toBeGreaterThan(1);
    expect(err).toContain(reason);
    expect(out + err).not.toContain("s3cret");
  });
});
