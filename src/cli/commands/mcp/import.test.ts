// `tenon mcp import` in a world of files in memory: what it shows, what it copies, and that it does so once.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Terminal } from "../../../../test/terminal.js";
import type { Keyring } from "../../secrets.js";

const USER = "/home/me/.config/tenon/config.json";
const CURSOR = "/home/me/.cursor/mcp.json";
const DESKTOP = "/home/me/.config/Claude/claude_desktop_config.json";
const ZED = "/home/me/.config/zed/settings.json";
const SECRET = "ghp_abcdefghijklmnopqrstuvwx";

const FILES = {
  [CURSOR]: {
    mcpServers: {
      github: { command: "run", args: ["github"], env: { GITHUB_TOKEN: SECRET } },
      docs: { url: "https://docs.example/mcp", headers: { Authorization: `Bearer ${SECRET}`, "X-Team": "blue" } },
    },
  },
  [DESKTOP]: { mcpServers: { github: { command: "run", args: ["other"] }, plain: { command: "run" } } },
};

function fixture(name: string): string {
  return readFileSync(new URL(`../../../../test/fixtures/foreign/${name}`, import.meta.url), "utf8");
}

async function ownFile(terminal: Terminal): Promise<unknown> {
  return JSON.parse(await terminal.world.files.readText(USER));
}

function keyringOf(kept: Map<string, string>): Keyring {
  return {
    get: async (name) => kept.get(name),
    set: async (name, value) => void kept.set(name, value),
    remove: async (name) => kept.delete(name),
  };
}

describe("tenon mcp import", () => {
  it("fails when a file it is to copy from cannot be read at all, and only then", async () => {
    const files = { ...FILES, "/home/me/.codex/config.toml": "[mcp_servers\n" };
    expect(await new Terminal(files).run("mcp", "import", "--from", "codex")).toMatchObject({
      code: 1,
      out: expect.stringContaining("config.toml:1:"),
    });
    expect((await new Terminal(files).run("mcp", "import", "--from", "codex", "--dry-run")).code).toBe(0);
    expect((await new Terminal(files).run("mcp", "import", "--from", "cursor")).code).toBe(0);
  });

  it("shows whose servers there are and what would become of each, and writes nothing", async () => {
    const terminal = new Terminal({ ...FILES, [ZED]: fixture("zed-settings.json") });
    const { code, out, err } = await terminal.run("mcp", "import");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).not.toContain(SECRET);
    expect(out.split("\n").map((line) => line.replaceAll(/ {2,}/gu, "  ").trimEnd())).toEqual([
      `Claude Desktop  ${DESKTOP}`,
      "  + github  add  run other",
      "  + plain  add  run",
      `Cursor  ${CURSOR}`,
      "  ! github  conflict  run github",
      `  Claude Desktop (${DESKTOP}:1:16) has another server of that name, which counts`,
      "  + docs  add  https://docs.example/mcp",
      "  headers.Authorization looks like a secret, and would be written to the file in plain text: see --secrets keyring|env",
      `Zed  ${ZED}`,
      "  + local-mcp-server  add  some-command arg-1 arg-2",
      "  + remote-mcp-server  add  https://example.com/mcp",
      "  + older  add  /opt/older/server --stdio",
      "  + switched-off  add  off-command",
      "  – mcp-server-github  skip",
      "  it comes with an extension of Zed, which only Zed starts",
      `7 would be copied to ${USER}, 0 there already, 1 in conflict, 1 not for Tenon.`,
      `tenon mcp import --from claude-desktop,cursor,zed copies them; "import": ["claude-desktop","cursor","zed"] in your config.json uses them as they are.`,
      "",
    ]);
    expect(await terminal.world.files.find(USER)).toBeUndefined();
  });

  it("copies what is asked for, and the second time finds it there already", async () => {
    const terminal = new Terminal(FILES);
    const dry = await terminal.run("mcp", "import", "--from", "cursor", "--dry-run", "--json");
    expect(JSON.parse(dry.out)).toMatchObject({
      isDry: true,
      files: [{ servers: [{ action: "add" }, { action: "add" }] }],
    });
    expect(await terminal.world.files.find(USER)).toBeUndefined();
    const { code, out } = await terminal.run("mcp", "import", "--from", "cursor");
    expect(code).toBe(0);
    expect(out).toContain("was written to the file in plain text");
    expect(out).not.toContain(SECRET);
    expect(await ownFile(terminal)).toMatchObject(FILES[CURSOR]);
    const before = await terminal.world.files.readText(USER);
    const again = await terminal.run("mcp", "import", "--from", "cursor", "--json");
    expect(JSON.parse(again.out).files[0].servers.map(({ action }: { action: string }) => action)).toEqual([
      "same",
      "same",
    ]);
    expect(again.out).not.toContain(SECRET);
    expect(await terminal.world.files.readText(USER)).toBe(before);
    expect(await terminal.world.files.readText(CURSOR)).toBe(JSON.stringify(FILES[CURSOR]));
  });

  it("leaves one alone that was switched off since it was copied", async () => {
    const terminal = new Terminal(FILES);
    await terminal.run("mcp", "import", "--from", "cursor");
    await terminal.run("mcp", "disable", "github");
    const before = await terminal.world.files.readText(USER);
    expect((await terminal.run("mcp", "import", "--from", "cursor", "--replace")).out).toContain("2 there already");
    expect(await terminal.world.files.readText(USER)).toBe(before);
  });

  it("leaves another server of the same name alone unless it may replace it", async () => {
    const terminal = new Terminal({ ...FILES, [USER]: { mcpServers: { github: { command: "mine" } } } });
    expect((await terminal.run("mcp", "import", "--from", "cursor", "github")).out).toContain(
      "--replace puts this one",
    );
    expect(await ownFile(terminal)).toEqual({ mcpServers: { github: { command: "mine" } } });
    expect((await terminal.run("mcp", "import", "--from", "cursor", "--replace", "github")).out).toContain("replaced");
    expect(await ownFile(terminal)).toEqual({ mcpServers: { github: FILES[CURSOR].mcpServers.github } });
  });

  it("puts secrets into the keyring or into variables when told to, and knows them again", async () => {
    const kept = new Map<string, string>();
    const terminal = new Terminal(FILES);
    terminal.extra = { keyring: keyringOf(kept) };
    const { out } = await terminal.run("mcp", "import", "--from", "cursor", "--secrets", "keyring");
    expect(out).toContain("it went into your keyring");
    expect(await ownFile(terminal)).toMatchObject({
      mcpServers: {
        github: { command: "run", args: ["github"], env: { GITHUB_TOKEN: "keyring:github/GITHUB_TOKEN" } },
        docs: {
          url: "https://docs.example/mcp",
          headers: { "X-Team": "blue" },
          auth: { type: "bearer", token: "keyring:docs/Authorization" },
        },
      },
    });
    expect([...kept]).toEqual([
      ["github/GITHUB_TOKEN", SECRET],
      ["docs/Authorization", SECRET],
    ]);
    expect((await terminal.run("mcp", "import", "--from", "cursor")).out).toContain("2 there already");
    const other = new Terminal(FILES);
    await other.run("mcp", "import", "--from", "cursor", "--secrets", "env");
    expect(await ownFile(other)).toMatchObject({
      mcpServers: {
        github: { env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" } },
        docs: { headers: { Authorization: "Bearer ${DOCS_AUTHORIZATION}" } },
      },
    });
  });

  it("asks a person at a terminal where secrets go, and leaves an entry out whose secret cannot be kept", async () => {
    const kept = new Map<string, string>();
    const terminal = new Terminal(FILES);
    terminal.isAttended = true;
    terminal.answer = "yes";
    terminal.extra = {
      keyring: {
        ...keyringOf(kept),
        set: async (name, value) => {
          if (name.startsWith("docs")) throw new Error("the keyring is locked");
          kept.set(name, value);
        },
      },
    };
    const { code, out } = await terminal.run("mcp", "import", "--from", "cursor");
    expect(terminal.asked).toEqual([expect.stringContaining("github: env.GITHUB_TOKEN")]);
    expect(terminal.asked[0]).not.toContain(SECRET);
    expect(code).toBe(1);
    expect(out).toContain("the keyring is locked");
    expect(await ownFile(terminal)).toMatchObject({
      mcpServers: { github: { env: { GITHUB_TOKEN: "keyring:github/GITHUB_TOKEN" } } },
    });
    expect(JSON.stringify(await ownFile(terminal))).not.toContain("docs.example");
  });

  it("copies to the project without secrets, and never from the project to the user's own file", async () => {
    const project = { "/project/.cursor/mcp.json": { mcpServers: { theirs: { command: "run" } } } };
    const terminal = new Terminal({ ...FILES, ...project });
    const { out } = await terminal.run("mcp", "import", "--from", "cursor", "theirs");
    expect(out).toContain("--project copies it to the project's own file");
    expect(await terminal.world.files.find(USER)).toBeUndefined();
    await terminal.run("mcp", "import", "--from", "cursor", "--project", "theirs", "github");
    expect(JSON.parse(await terminal.world.files.readText("/project/.tenon/config.json"))).toMatchObject({
      mcpServers: {
        theirs: { command: "run" },
        github: { command: "run", args: ["github"], env: { GITHUB_TOKEN: "${GITHUB_TOKEN}" } },
      },
    });
    expect((await terminal.run("mcp", "import", "--from", "cursor", "--project", "--secrets", "file")).code).toBe(2);
  });

  it("is what to do before an imported server is changed: its own file is not ours to write", async () => {
    const terminal = new Terminal({ ...FILES, [USER]: { import: ["cursor"] } });
    expect(await terminal.run("mcp", "disable", "github")).toMatchObject({
      code: 3,
      err: expect.stringContaining("tenon mcp import --from cursor github"),
    });
    expect(await terminal.world.files.readText(CURSOR)).toBe(JSON.stringify(FILES[CURSOR]));
  });

  it("says what it does not know", async () => {
    const terminal = new Terminal(FILES);
    expect(await terminal.run("mcp", "import", "--from", "curser")).toMatchObject({
      code: 2,
      err: expect.stringContaining("Did you mean cursor?"),
    });
    expect((await terminal.run("mcp", "import", "--from", "zed")).code).toBe(3);
    expect((await terminal.run("mcp", "import", "--from", "cursor", "nope")).err).toContain('a server "nope"');
    expect((await new Terminal({}).run("mcp", "import")).out).toContain("No files of other clients here");
  });
});
