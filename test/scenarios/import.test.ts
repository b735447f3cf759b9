// Other clients' servers: shown, copied once, or used as they are; and in a project as untrusted as any project's.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ConfigBench } from "./config-bench.js";
import { scenario } from "./scenario.js";

/** Where each client keeps its file on this system, with a file as its documentation writes them. */
const SAMPLES: Readonly<Record<string, string>> = {
  "home/.config/Claude/claude_desktop_config.json": "claude_desktop_config.json",
  "home/.claude.json": "claude.json",
  "home/.cursor/mcp.json": "cursor.json",
  "home/.config/Code/User/mcp.json": "vscode.json",
  "home/.config/zed/settings.json": "zed-settings.json",
  "home/.codeium/windsurf/mcp_config.json": "windsurf.json",
  "home/.codex/config.toml": "codex.toml",
  "home/.config/opencode/opencode.jsonc": "opencode.jsonc",
  "home/.magenta/options.json": "magenta-options.json",
};

interface Report {
  readonly files: readonly {
    readonly client: string;
    readonly servers: readonly {
      readonly name: string;
      readonly action: string;
      readonly reason?: string;
      readonly entry?: unknown;
    }[];
  }[];
}

function putSamples(bench: ConfigBench): ReadonlyMap<string, string> {
  const folder = new URL("../fixtures/foreign/", import.meta.url);
  return new Map(
    Object.entries(SAMPLES).map(([path, name]) => {
      const text = readFileSync(new URL(name, folder), "utf8").replaceAll('"/project"', JSON.stringify(bench.project));
      return [bench.put(path, text), text];
    }),
  );
}

async function report(bench: ConfigBench, ...words: readonly string[]): Promise<Report> {
  const { code, stdout } = await bench.tenon(["mcp", "import", "--json", ...words]);
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

function ownFile(bench: ConfigBench): { readonly mcpServers: Readonly<Record<string, unknown>> } {
  return JSON.parse(readFileSync(join(bench.home, "config.json"), "utf8"));
}

scenario(
  ["I1", "I2"],
  "real samples of nine clients are listed, copied as --dry-run said, and copied only once",
  async () => {
    await using bench = await ConfigBench.open();
    const samples = putSamples(bench);
    const listed = await report(bench);
    expect(listed.files.map(({ client, servers }) => `${client} ${servers.length}`)).toEqual([
      "claude-desktop 3",
      "claude-code 3",
      "cursor 5",
      "vscode 5",
      "zed 5",
      "windsurf 3",
      "codex 4",
      "opencode 4",
      "magenta 3",
    ]);
    const all = listed.files.flatMap(({ servers }) => servers);
    for (const { action, reason } of all) if (action !== "add" && action !== "same") expect(reason).toBeTruthy();
    const reasons = Object.fromEntries(all.map(({ name, action, reason }) => [name, `${action}: ${reason ?? ""}`]));
    expect(reasons).toMatchObject({
      configured: "cannot: args[0]: ${config:my.setting} is filled in by that client only",
      "mcp-server-github": "skip: it comes with an extension of Zed, which only Zed starts",
      nothing: "cannot: expected a command, or a url",
    });
    expect(existsSync(join(bench.home, "config.json"))).toBe(false);

    const dry = await report(bench, "--from", "all", "--dry-run");
    expect(existsSync(join(bench.home, "config.json"))).toBe(false);
    await report(bench, "--from", "all");
    const added = dry.files.flatMap(({ servers }) => servers).filter(({ action }) => action === "add");
    expect(added.length).toBeGreaterThan(20);
    const { mcpServers } = ownFile(bench);
    expect(Object.keys(mcpServers)).toEqual(added.map(({ name }) => name));
    // The one literal that looks like a secret is masked in what is said, and nothing else differs.
    expect(mcpServers["brave-search"]).toMatchObject({ env: { BRAVE_API_KEY: "YOUR_API_KEY_HERE" } });
    for (const { name, entry } of added) if (name !== "brave-search") expect(mcpServers[name]).toEqual(entry);

    const before = readFileSync(join(bench.home, "config.json"), "utf8");
    const again = await report(bench, "--from", "all");
    expect(again.files.flatMap(({ servers }) => servers).some(({ action }) => action === "add")).toBe(false);
    expect(readFileSync(join(bench.home, "config.json"), "utf8")).toBe(before);
    for (const [path, text] of samples) expect(readFileSync(path, "utf8")).toBe(text);
    // What was copied is what a session here would have.
    const list = JSON.parse((await bench.tenon(["mcp", "list", "--no-connect", "--json"])).stdout);
    expect(list.servers).toHaveLength(added.length);
    expect(list.servers.filter(({ status }: { status: string }) => status === "invalid")).toEqual([]);
  },
);

scenario(["I2", "I3"], "a copied server works, and its secret is nowhere but in the file it went to", async () => {
  await using bench = await ConfigBench.open();
  const { command, args } = bench.greeter("good morning from Cursor");
  const secret = "ghp_0123456789abcdefghijklmn";
  bench.put("home/.cursor/mcp.json", bench.servers({ greeter: { command, args, env: { GREETER_TOKEN: secret } } }));
  const outputs = [
    await bench.tenon(["mcp", "import"]),
    await bench.tenon(["mcp", "import", "--from", "cursor", "--dry-run"]),
    await bench.tenon(["mcp", "import", "--from", "cursor", "--json"]),
    await bench.tenon(["mcp", "import", "--from", "cursor"]),
  ];
  for (const { code, stdout, stderr } of outputs) {
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(secret);
  }
  for (const { stdout } of outputs.slice(0, 3)) expect(stdout).toContain("GREETER_TOKEN");
  expect(outputs[3]?.stdout).toContain("1 there already");
  expect(JSON.stringify(ownFile(bench))).toContain(secret);
  expect((await bench.headless("greet me")).stdout).toContain("good morning from Cursor");

  await bench.tenon(["mcp", "remove", "greeter"]);
  expect((await bench.tenon(["mcp", "import", "--from", "cursor", "--secrets", "env"])).stdout).toContain(
    "set the variable GREETER_TOKEN",
  );
  expect(JSON.stringify(ownFile(bench))).not.toContain(secret);
  expect((await bench.headless("greet me", { GREETER_TOKEN: secret })).stdout).toContain("good morning");
  expect((await bench.headless("greet me")).stderr).toContain("GREETER_TOKEN is not set");
});

scenario(
  ["I4"],
  '"import" starts the servers of another client, below the user\'s own, and sessions follow its file',
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", { import: ["cursor", "codex"], mcpServers: { own: bench.greeter("of my own") } });
    const { command, args } = bench.greeter("of Codex");
    bench.put(
      "home/.codex/config.toml",
      `[mcp_servers.codex]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
    );
    bench.put("home/.cursor/mcp.json", bench.servers({ own: bench.greeter("of Cursor") }));
    await using client = await bench.editor();
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "use mcp__codex__greet");
    await client.prompt(sessionId, "use mcp__own__greet");
    expect(client.text(sessionId)).toContain("of Codex");
    expect(client.text(sessionId)).toContain("of my own");
    expect(await client.request("_tenon/mcp/status", { sessionId })).toMatchObject({
      servers: [
        { name: "own", origin: "user", state: "ready" },
        { name: "codex", origin: "user", state: "ready" },
      ],
    });
    bench.put("home/.cursor/mcp.json", bench.servers({ late: bench.greeter("of Cursor, late") }));
    await client.waitForUpdate(
      sessionId,
      (update) => update.sessionUpdate === "notice" && update.title.includes('"late" is ready'),
    );
    await client.prompt(sessionId, "use mcp__late__greet");
    expect(client.text(sessionId)).toContain("of Cursor, late");
    const list = JSON.parse((await bench.tenon(["mcp", "list", "--no-connect", "--json"])).stdout);
    expect(list.servers).toMatchObject([
      { name: "own", status: "ready" },
      { name: "late", status: "ready", source: { client: "cursor" } },
      { name: "codex", status: "ready", source: { layer: "user", client: "codex" } },
    ]);
    expect(list.problems).toEqual([]);
  },
);

scenario(
  ["I5", "I6"],
  "another client's file in a project starts nothing before it is approved, and each change asks again",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", { import: ["vscode", "cursor", "magenta"] });
    const canary = bench.canary({ env: { A: `!${bench.canaryCommand}`, B: `$(${bench.canaryCommand})` } });
    const sections = { servers: { canary, bad: { command: "x", args: [`\${command:${bench.canaryCommand}}`] } } };
    bench.put("project/.vscode/mcp.json", sections);
    bench.put("project/.cursor/mcp.json", bench.servers({ second: bench.canary() }));
    bench.put("project/.magenta/options.json", bench.servers({ third: bench.canary() }));
    for (const words of [
      ["mcp", "list"],
      ["mcp", "import"],
      ["mcp", "import", "--from", "all"],
      ["trust"],
      ["trust", "approve", "--all"],
    ]) {
      await bench.tenon(words);
    }
    expect((await bench.headless("greet me")).stderr).toContain("tenon trust approve canary");
    expect(bench.deeds).toEqual([]);
    expect(readFileSync(join(bench.home, "config.json"), "utf8")).not.toContain("canary");

    expect((await bench.tenon(["trust", "approve", "canary"])).code).toBe(0);
    expect((await bench.headless("greet me")).stdout).toContain("good morning");
    // The server alone: what its variables hold is text to VS Code, and was not run.
    expect(bench.deeds.filter((deed) => deed === "started")).toHaveLength(1);
    const changed = { ...canary, args: [...canary.args, "more"] };
    bench.put("project/.vscode/mcp.json", { servers: { canary: changed } });
    expect((await bench.headless("greet me")).stdout).not.toContain("good morning");
    expect(bench.deeds.filter((deed) => deed === "started")).toHaveLength(1);
  },
);

scenario(["I6"], "a live server of another client gets its words as they are", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", { import: ["claude-desktop"] });
  const seen = join(bench.root, "seen.json");
  const script = 'require("fs").writeFileSync(process.argv[1], JSON.stringify([process.argv.slice(2), process.env.A]))';
  const words = ["$HOME", "${HOME}", "$(id)", "`id`", "{ env:X }", "%PATH%"];
  const entry = { command: process.execPath, args: ["-e", script, "--", seen, ...words], env: { A: "!id ${HOME} $X" } };
  bench.put("home/.config/Claude/claude_desktop_config.json", bench.servers({ words: entry }));
  await bench.headless("hello");
  expect(JSON.parse(readFileSync(seen, "utf8"))).toEqual([words, "!id ${HOME} $X"]);
});
