// `tenon setup`: what is written is what the editor's own schema accepts, and what was there stays.
import { chmodSync, existsSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { parseDocument } from "../../src/config/index.js";
import { ConfigBench } from "./config-bench.js";
import { editorSchemaProblem, type SchemaEditor } from "./editor-schemas.js";
import { agentNode, TENON } from "./peers.js";
import { scenario } from "./scenario.js";

const FILES: Readonly<Record<SchemaEditor, string>> = {
  zed: ".config/zed/settings.json",
  jetbrains: ".jetbrains/acp.json",
  vscode: ".config/Code/User/settings.json",
};

const BEFORE = `// mine
{
  "theme": "One Dark", // the best
  "agent_servers": {
    "Other": { "type": "custom", "command": "other", "args": [] },
  },
  "acp.agents": { "Other": { "command": "other" } },
}
`;

scenario(["Q9"], "it writes where the editor looks, keeps every word that was there, and does it once", async () => {
  await using bench = await ConfigBench.open();
  for (const editor of ["zed", "jetbrains", "vscode"] as const) {
    const file = join(bench.home, FILES[editor]);
    const printed = await bench.tenon(["setup", editor]);
    expect(printed.stdout).toContain(file);
    expect(existsSync(file)).toBe(false);
    bench.put(`home/${FILES[editor]}`, BEFORE);
    expect((await bench.tenon(["setup", editor, "--write"])).stdout).toContain("Tenon added in");
    const after = readFileSync(file, "utf8");
    for (const line of BEFORE.split("\n")) expect(after, line).toContain(line.replace(/[,}\s]+$/u, ""));
    const document = parseDocument(after);
    expect(document.problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(editorSchemaProblem(editor, document.value), after).toBeUndefined();
    expect(after).toContain(JSON.stringify(agentNode()));
    expect(after).toContain(JSON.stringify(TENON));
    expect((await bench.tenon(["setup", editor, "--write"])).stdout).toContain("set up already");
    expect(readFileSync(file, "utf8")).toBe(after);
  }
});

scenario(
  ["Q9"],
  "a new file is made, an entry of before is brought up to date, and a broken file is left alone",
  async () => {
    await using bench = await ConfigBench.open();
    expect((await bench.tenon(["setup", "jetbrains", "--write", "--json"])).code).toBe(0);
    const file = join(bench.home, FILES.jetbrains);
    expect(editorSchemaProblem("jetbrains", JSON.parse(readFileSync(file, "utf8")))).toBeUndefined();
    bench.put(
      `home/${FILES.jetbrains}`,
      '{"agent_servers":{"Tenon":{"command":"old","env":{"KEPT":"1"},"use_idea_mcp":true}}}',
    );
    expect((await bench.tenon(["setup", "jetbrains", "--write"])).stdout).toContain("Tenon updated in");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      agent_servers: { Tenon: { command: agentNode(), args: [TENON, "acp"], env: { KEPT: "1" }, use_idea_mcp: true } },
    });
    for (const broken of ['{"agent_servers": ', '{"agent_servers": []}', "[]"]) {
      bench.put(`home/${FILES.jetbrains}`, broken);
      expect((await bench.tenon(["setup", "jetbrains", "--write"])).code, broken).toBe(3);
      expect(readFileSync(file, "utf8")).toBe(broken);
    }
  },
);

scenario(["Q9"], "a byte order mark moves nothing; a read-only file and a link to nowhere are left alone", async () => {
  await using bench = await ConfigBench.open();
  const file = join(bench.home, FILES.zed);
  const before = '\ufeff{\r\n\t"a": 1\r\n}\r\n';
  bench.put(`home/${FILES.zed}`, before);
  expect((await bench.tenon(["setup", "zed", "--write"])).code).toBe(0);
  const after = readFileSync(file, "utf8");
  expect(after.startsWith('\ufeff{\r\n\t"a": 1,\r\n\t"agent_servers": {')).toBe(true);
  expect(parseDocument(after).problems).toEqual([]);

  bench.put(`home/${FILES.zed}`, before);
  chmodSync(file, 0o444);
  const refused = await bench.tenon(["setup", "zed", "--write"]);
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("is read-only") });
  expect(readFileSync(file, "utf8")).toBe(before);

  rmSync(file);
  symlinkSync("nowhere.json", file);
  const lost = await bench.tenon(["setup", "zed", "--write"]);
  expect(lost).toMatchObject({ code: 3, stderr: expect.stringContaining("is a link that leads nowhere") });
  expect(readlinkSync(file)).toBe("nowhere.json");
});

scenario(["N800"], "it says for every editor whether its MCP servers come along", async () => {
  await using bench = await ConfigBench.open();
  const words = {
    zed: "The MCP servers of Zed (context_servers) come along.",
    jetbrains: '"Pass custom MCP servers"',
    vscode: "passes on no MCP servers: tenon mcp import --from vscode",
    emacs: "agent-shell-mcp-servers come along",
  };
  for (const [editor, text] of Object.entries(words)) {
    expect((await bench.tenon(["setup", editor])).stdout).toContain(text);
  }
});

scenario(["Q9", "N800"], "for editors that are configured by code it prints code, and writes nothing", async () => {
  await using bench = await ConfigBench.open();
  const lua = (await bench.tenon(["setup", "neovim"])).stdout;
  expect(lua).toContain('mcpServers = "inherit_from_config"');
  for (const name of [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "TENON_API_KEY",
  ]) {
    expect(lua).toContain(`${name} = os.getenv("${name}"),`);
  }
  expect(lua).toContain("By default it approves everything");
  expect(lua).toContain("auto_approve_tool_permissions = false");
  expect(lua).toContain(`commands = { default = { "${agentNode()}", "${TENON}", "acp" } }`);
  expect(lua).toContain("acp_providers");
  const lisp = (await bench.tenon(["setup", "emacs"])).stdout;
  expect(lisp).toContain(":client-maker");
  const count = (sign: string) => lisp.split(sign).length;
  expect(count("(")).toBe(count(")"));
  for (const editor of ["neovim", "emacs"]) {
    expect((await bench.tenon(["setup", editor, "--write"])).code).toBe(2);
  }
});
