// The formats of the other clients, by files as their documentation writes them: what becomes of each entry, and what is told.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { ImportName } from "../layers/entry.js";
import * as schemas from "../layers/schema.js";
import { type ForeignFile, type ForeignRead, foreignOf } from "./read.js";

const FOLDER = new URL("../../../test/fixtures/foreign/", import.meta.url);

async function readText(
  text: string,
  client: ImportName,
  more: Partial<ForeignFile> = {},
  platform: NodeJS.Platform = "linux",
): Promise<ForeignRead> {
  const file: ForeignFile = { client, path: `/home/me/${client}.json`, owner: "user", layer: "user", ...more };
  return await foreignOf(text, file, { world: { platform }, project: ["/project"] }, schemas);
}

async function readFixture(name: string, client: ImportName, more: Partial<ForeignFile> = {}): Promise<ForeignRead> {
  return await readText(readFileSync(new URL(name, FOLDER), "utf8"), client, more);
}

function entries({ servers }: ForeignRead): Record<string, JsonValue> {
  return Object.fromEntries(
    servers.map(({ name, server, problems }) => [
      name,
      server?.definition.written ?? problems.map(({ message }) => message).join("; "),
    ]),
  );
}

function notes({ servers }: ForeignRead): Record<string, readonly string[]> {
  return Object.fromEntries(servers.flatMap(({ name, notes: told }) => (told.length === 0 ? [] : [[name, told]])));
}

async function entryOf(written: JsonObject, client: ImportName, more: Partial<ForeignFile> = {}): Promise<JsonValue> {
  const section = { vscode: "servers", zed: "context_servers", opencode: "mcp" }[String(client)] ?? "mcpServers";
  return entries(await readText(JSON.stringify({ [section]: { it: written } }), client, more))["it"] ?? null;
}

describe("a file of", () => {
  it("Claude Desktop is read, what looks like a variable staying what it is there: text", async () => {
    const read = await readFixture("claude_desktop_config.json", "claude-desktop");
    expect(entries(read)).toEqual({
      filesystem: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop", "/Users/me/Downloads"],
      },
      "brave-search": {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-brave-search"],
        env: { BRAVE_API_KEY: "YOUR_API_KEY_HERE" },
      },
      weather: { command: "uv", args: ["--directory", "C:\\Users\\me\\weather", "run", "weather.py", "$${HOME}"] },
    });
    expect(read.problems).toEqual([]);
    expect(read.servers[0]?.place).toEqual({
      layer: "user",
      file: "/home/me/claude-desktop.json",
      client: "claude-desktop",
      line: 4,
      column: 5,
    });
  });

  it("Claude Code is read with the entries of this project above those for all, and of no other project", async () => {
    expect(entries(await readFixture("claude.json", "claude-code"))).toEqual({
      context7: { url: "https://mcp.context7.com/mcp", headers: { CONTEXT7_API_KEY: "${CONTEXT7_API_KEY}" } },
      github: { url: "https://api.githubcopilot.com/mcp/" },
      playwright: { command: "npx", args: ["@playwright/mcp@latest"] },
    });
  });

  it("Cursor is read, its folders as paths from the project and what only it knows refused", async () => {
    const read = await readFixture("cursor.json", "cursor");
    expect(entries(read)).toEqual({
      "server-name": { command: "npx", args: ["-y", "mcp-server"], env: { API_KEY: "${API_KEY}" } },
      "local-server": { command: "python", args: ["./tools/mcp_server.py", "--home=${HOME}", "--root=."] },
      "remote-server": {
        url: "https://api.example.com/mcp",
        headers: { Authorization: "Bearer ${MY_SERVICE_TOKEN}" },
      },
      "oauth-server": { url: "https://api.example.com/oauth/mcp" },
      "by-name": "args[0]: ${workspaceFolderBasename} is filled in by that client only",
    });
    expect(notes(read)).toEqual({
      "local-server": ["envFile is not read: set its variables otherwise"],
      "oauth-server": ["its OAuth client is not taken over: tenon mcp login asks for a new one"],
    });
  });

  it("VS Code is read, secrets it asks for coming from the keyring and other questions from variables", async () => {
    const read = await readFixture("vscode.json", "vscode");
    expect(entries(read)).toEqual({
      perplexity: {
        command: "npx",
        args: ["-y", "server-perplexity-ask", "--region", "${REGION:-eu-1}"],
        env: { PERPLEXITY_API_KEY: "keyring:perplexity-key" },
      },
      github: { url: "https://api.githubcopilot.com/mcp/" },
      gateway: {
        type: "sse",
        url: "https://gateway.example.com/sse",
        headers: { "X-Region": "${REGION:-eu-1}" },
        auth: { type: "bearer", token: "keyring:gateway-token" },
      },
      memory: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-memory"],
        env: { MEMORY_FILE_PATH: "./.memory.json" },
      },
      configured: "args[0]: ${config:my.setting} is filled in by that client only",
    });
    expect(notes(read)["gateway"]).toEqual([
      'auth.token: it asks for "gateway token" (Gateway): tenon secret set gateway-token keeps it in your keyring',
      'headers.X-Region: it asks for "region" (Region): here that is the variable REGION, or "eu-1"',
    ]);
  });

  it("VS Code in a project asks for variables, since a project cannot have the user's keyring", async () => {
    const read = await readFixture("vscode.json", "vscode", { owner: "project", layer: "project" });
    expect(entries(read)).toMatchObject({
      perplexity: { env: { PERPLEXITY_API_KEY: "${PERPLEXITY_KEY}" } },
      gateway: { headers: { Authorization: "Bearer ${GATEWAY_TOKEN}" } },
    });
  });

  it("Zed is read in its form of now and the older one; what an extension starts is only Zed's", async () => {
    const read = await readFixture("zed-settings.json", "zed");
    expect(entries(read)).toEqual({
      "local-mcp-server": { command: "some-command", args: ["arg-1", "arg-2"], env: { LEVEL: "debug" } },
      "remote-mcp-server": { url: "https://example.com/mcp", headers: { "X-Team": "blue" } },
      older: { command: "/opt/older/server", args: ["--stdio"], env: { OLD: "1" } },
      "switched-off": { command: "off-command", args: [], disabled: true },
      "mcp-server-github": "it comes with an extension of Zed, which only Zed starts",
    });
    expect(read.servers.filter(({ isExpected }) => isExpected).map(({ name }) => name)).toEqual(["mcp-server-github"]);
  });

  it("Windsurf is read with the tools it switches off", async () => {
    expect(entries(await readFixture("windsurf.json", "windsurf"))).toEqual({
      github: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-github"],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: "${GITHUB_TOKEN}" },
        deny: ["delete_repository", "create_\\*"],
      },
      "remote-http-mcp": { url: "https://example.com/mcp", headers: { API_KEY: "Bearer ${AUTH_TOKEN}" } },
      resting: { command: "uvx", args: ["mcp-server-git"], disabled: true },
    });
  });

  it("Codex is read from TOML, variables by name becoming references", async () => {
    const read = await readFixture("codex.toml", "codex");
    expect(entries(read)).toEqual({
      context7: {
        command: "npx",
        args: ["-y", "@upstash/context7-mcp"],
        env: { MY_ENV_VAR: "MY_ENV_VALUE", LOCAL_TOKEN: "${LOCAL_TOKEN}", OTHER_TOKEN: "${OTHER_TOKEN}" },
        timeouts: { connectMs: 20_000, callMs: 45_500 },
        allow: ["resolve-library-id", "query-docs"],
        required: true,
      },
      figma: {
        url: "https://mcp.figma.com/mcp",
        headers: { "X-Figma-Region": "us-east-1", "X-Trace": "${TRACE_ID}" },
        auth: { type: "bearer", token: "${FIGMA_OAUTH_TOKEN}" },
      },
      "chrome devtools": {
        command: "npx",
        args: ["chrome-devtools-mcp@latest", "--literal=$${HOME}"],
        deny: ["screenshot"],
        disabled: true,
      },
      nothing: "expected a command, or a url",
    });
    const lines = read.servers.map(({ name, place: { line } }) => `${name} ${line}`);
    expect(lines).toEqual(["context7 7", "figma 19", "chrome devtools 25", "nothing 31"]);
  });

  it("opencode is read in both its forms, files named from where it lies", async () => {
    const read = await readFixture("opencode.jsonc", "opencode");
    expect(entries(read)).toEqual({
      "my-local-mcp-server": {
        command: "npx",
        args: ["-y", "my-mcp-command"],
        env: { MY_ENV_VAR: "${MY_VALUE}", TOKEN: "{file:/home/me/token.txt}" },
        timeouts: { connectMs: 8_000 },
      },
      "my-remote-mcp": { url: "https://my-mcp-server.com", headers: { Authorization: "Bearer ${MY_API_KEY}" } },
      "switched-off": { command: "uvx", args: ["mcp-server-git"], disabled: true },
      jira: "it only switches a server that is defined elsewhere",
    });
    expect(entries(await readFixture("opencode-v2.jsonc", "opencode"))).toEqual({
      everything: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-everything"],
        env: { LOG_LEVEL: "info" },
      },
      docs: { url: "https://docs.example.com/mcp", disabled: true },
    });
  });

  it("magenta.nvim is read, its mocks left to it", async () => {
    expect(entries(await readFixture("magenta-options.json", "magenta"))).toEqual({
      fetch: { command: "uvx", args: ["mcp-server-fetch"], env: { FETCH_TIMEOUT: "30" } },
      mcphub: { url: "http://localhost:37373/mcp", headers: { "X-Team": "blue" } },
      mock: "it is a mock, for tests of magenta",
    });
  });
});

describe("an entry", () => {
  it("never becomes a command or a look-up in the keyring by what its values happen to be", async () => {
    expect(await entryOf({ command: "run", env: { A: "!rm -rf ~" } }, "cursor")).toEqual({
      command: "run",
      env: { A: "!!rm -rf ~" },
    });
    expect(await entryOf({ command: "run", env: { A: "keyring:work" } }, "claude-desktop")).toContain("keyring:");
    expect(await entryOf({ command: "run", args: ["{file:/etc/passwd}"] }, "cursor")).toContain("a reference in Tenon");
    expect(await entryOf({ command: "run", args: ["{env:HOME}"] }, "vscode")).toContain("a reference in Tenon");
  });

  it("is not expanded as a shell would", async () => {
    const read = await readText(
      JSON.stringify({ mcpServers: { it: { command: "run", args: ["$HOME", "$(whoami)", "%APPDATA%"] } } }),
      "claude-desktop",
    );
    expect(entries(read)["it"]).toEqual({ command: "run", args: ["$HOME", "$(whoami)", "%APPDATA%"] });
    expect(notes(read)["it"]).toEqual([
      "args[0]: $HOME is passed on as it is: no shell fills it in",
      "args[1]: $( is passed on as it is: no shell fills it in",
      "args[2]: %APPDATA% is passed on as it is: no shell fills it in",
    ]);
  });

  it("that runs in another folder cannot name the project's", async () => {
    const elsewhere = { command: "run", cwd: "/opt", args: ["${workspaceFolder}"] };
    expect(await entryOf(elsewhere, "vscode")).toContain("the server runs in another folder");
    expect(await entryOf({ command: "run", cwd: "${workspaceFolder}/sub" }, "vscode")).toEqual({
      command: "run",
      cwd: "./sub",
    });
    expect(await entryOf({ command: "run", args: ["x${workspaceFolder}y"] }, "cursor")).toContain("no path");
    expect(await entryOf({ url: "https://x.example/${workspaceFolder}" }, "cursor")).toContain("no path");
  });

  it("with values of the wrong kind is told of, with what was expected", async () => {
    expect(await entryOf({ command: 1, args: "x", env: [] }, "cursor")).toBe(
      "env must be an object, got a list; args must be a list, got a text",
    );
    expect(await entryOf({ command: ["npx"], args: [1, true] }, "cursor")).toBe("command must be a text, got a list");
    expect(await entryOf({ command: "run", url: "https://x.example" }, "cursor")).toContain(
      "either a command or a url",
    );
    expect(await entryOf({ url: "ftp://x" }, "cursor")).toContain("http:// or https://");
    expect(await entryOf({ command: "run", env: { LD_PRELOAD: "x" } }, "cursor", { layer: "project" })).toContain(
      "a project cannot set LD_PRELOAD",
    );
  });

  it("of Windows means its own home and its own signs", async () => {
    const text = JSON.stringify({ mcpServers: { it: { command: "${userHome}${/}run" } } });
    const read = await readText(text, "cursor", {}, "win32");
    expect(entries(read)["it"]).toEqual({ command: "${USERPROFILE}\\run" });
  });
});

describe("a file that is broken", () => {
  it("costs only the entries it is broken in", async () => {
    const text = '{"mcpServers": {"good": {"command": "run"}, "bad": {"command": "run" "args": []}, "x": 1}}';
    const read = await readText(text, "cursor");
    expect(entries(read)).toEqual({
      good: { command: "run" },
      bad: "left out: there is a syntax error in its entry",
      x: "expected an object, got a number",
    });
    expect(read.problems).toHaveLength(1);
  });

  it("is told of with its place, also in TOML", async () => {
    const read = await readText('[mcp_servers.a]\ncommand = "run"\nargs = [', "codex");
    expect(read.servers).toEqual([]);
    expect(read.problems).toMatchObject([{ severity: "error", place: { line: 3, client: "codex" } }]);
  });

  it("in its section says so", async () => {
    expect((await readText('{"mcpServers": []}', "cursor")).problems).toMatchObject([
      { message: "mcpServers must be an object of entries by name, got a list" },
    ]);
    expect((await readText("[]", "cursor")).problems).toMatchObject([{ message: "expected an object" }]);
    expect((await readText("", "cursor")).problems).toEqual([]);
  });

  it("may be large: what other programs keep beside their servers does not matter", async () => {
    const history = Array.from({ length: 20_000 }, (_, at) => ({ display: `prompt ${at}`.repeat(8) }));
    const text = JSON.stringify({ projects: { "/elsewhere": { history } }, mcpServers: { it: { command: "run" } } });
    expect(text.length).toBeGreaterThan(1_048_576);
    const read = await readText(text, "claude-code");
    expect(entries(read)).toEqual({ it: { command: "run" } });
    expect(read.servers[0]?.place).toEqual({ layer: "user", file: "/home/me/claude-code.json", client: "claude-code" });
  });
});
