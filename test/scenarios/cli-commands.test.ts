// The commands around servers as people use them every day: added from a README, looked at, called, on a terminal and in a pipe.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { QUIET_MS } from "../../src/cli/terminal/live/menu.js";
import { TemporaryFolder } from "./agent.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { EVERYTHING, program } from "./real-server.js";
import { scenario } from "./scenario.js";
import { IN_TMUX, TmuxTerminal } from "./tmux.js";

const SCRIPT = "/usr/bin/script";
const everything = { command: process.execPath, args: [program(EVERYTHING)] };

scenario(["Q12"], "a server is added as its README says it for Claude Code, and works", async () => {
  await using bench = await ConfigBench.open();
  const line = `claude mcp add everything -e GREETING=hello -- ${process.execPath} ${program(EVERYTHING)}`;
  const added = await bench.tenon(["mcp", "add", line]);
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining("next: tenon mcp test everything") });
  const called = await bench.tenon(["mcp", "call", "everything.get-env"]);
  expect(called.code).toBe(0);
  expect(called.stdout).toContain('"GREETING": "hello"');
  const json = JSON.stringify({
    mcpServers: { second: { ...everything, env: { TOKEN: "ghp_0123456789abcdefghijklmn" } } },
  });
  const both = await bench.tenon(["mcp", "add-json", json]);
  expect(both.stderr).toContain("env.TOKEN looks like a secret");
  expect(both.stdout + both.stderr).not.toContain("ghp_0123456789");
  expect((await bench.tenon(["mcp", "test", "second"])).code).toBe(0);
});

scenario(["Q13"], "signature, resources, prompts and data of a real server", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", bench.servers({ everything }));
  const tool = await bench.tenon(["mcp", "tools", "everything", "get-sum"]);
  expect(tool.stdout).toContain("get-sum(a: number, b: number)");
  expect(tool.stdout).toContain("First number");
  expect(tool.stdout).toContain("tenon mcp call everything get-sum a=… b=…");
  const unknown = await bench.tenon(["mcp", "tools", "everything", "get-sun"]);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean "get-sum"?') });
  const listed = await bench.tenon(["mcp", "resources", "everything", "--json"]);
  const { resources }: { resources: readonly { uri: string }[] } = JSON.parse(listed.stdout);
  const read = await bench.tenon(["mcp", "read", "everything", resources[0]?.uri ?? ""]);
  expect(read.code).toBe(0);
  expect(read.stdout.length).toBeGreaterThan(100);
  expect((await bench.tenon(["mcp", "prompts", "everything"])).stdout).toMatch(/args-prompt +city, state\?/u);
  const prompt = await bench.tenon(["mcp", "prompts", "everything", "args-prompt", "city=Paris"]);
  expect(prompt.stdout).toContain("What's weather in Paris?");
  const lacking = await bench.tenon(["mcp", "prompts", "everything", "args-prompt"]);
  expect(lacking).toMatchObject({ code: 2, stderr: expect.stringContaining("it needs city=…") });
  const picture = join(bench.root, "picture.png");
  expect((await bench.tenon(["mcp", "call", "everything/get-tiny-image", "-o", picture])).code).toBe(0);
  expect(readFileSync(picture).subarray(1, 4).toString()).toBe("PNG");
  bench.put("project/sum.json", '{"a": 2, "b": 40}');
  const forms = [["a=2", "b=40"], ['{"a": 2, "b": 40}'], ["--input", "@sum.json"]];
  for (const words of forms) {
    const { stdout } = await bench.tenon(["mcp", "call", "everything", "get-sum", ...words]);
    expect(stdout, words.join(" ")).toContain("42");
  }
});

scenario(
  ["Q14"],
  "mcp call on a terminal ends with the call and its answer, each on lines of its own",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", bench.servers({ everything }));
    const line = [agentNode(), TENON, "mcp", "call", "everything", "get-sum", "a=2", "b=40"].join(" ");
    const env = { ...process.env, TENON_HOME: bench.home, TERM: "xterm" };
    const shown = execFileSync(SCRIPT, ["-qec", line, "/dev/null"], { cwd: bench.project, env, encoding: "utf8" });
    // What a terminal shows in the end: text that was erased in its line is gone.
    const lines = shown
      .split(/\r?\n/u)
      .map((text) => text.slice(text.lastIndexOf("\u001b[2K") + 1).replaceAll(/\[2K|\p{Cc}(?:\[\d*m)?/gu, ""));
    expect(lines.filter((text) => text.trim() !== "")).toEqual([
      'everything get-sum {"a":2,"b":40}',
      "The sum of 2 and 40 is 42.",
    ]);
    const dumb = execFileSync(SCRIPT, ["-qec", line, "/dev/null"], {
      cwd: bench.project,
      env: { ...env, TERM: "dumb" },
      encoding: "utf8",
    });
    expect(dumb).not.toContain("\u001b");
  },
  existsSync(SCRIPT) ? {} : { lacks: "the program script" },
);

scenario(
  ["Q15"],
  "mcp list fits a narrow terminal, names the protocol, and fails for a broken server when asked to",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", bench.servers({ everything, broken: { command: "no-such-program", args: [] } }));
    const wide = await bench.tenon(["mcp", "list"]);
    expect(wide.code).toBe(0);
    expect(wide.stdout).toMatch(/✓ everything +ready +\d+ +\d+ +[\d.]+ m?s +MCP 2025-11-25 /u);
    expect(wide.stdout).not.toMatch(/legacy|modern/u);
    expect((await bench.tenon(["mcp", "list", "--exit-code"])).code).toBe(1);
    const offline = await bench.tenon(["mcp", "list", "--no-connect", "--exit-code"]);
    expect(offline).toMatchObject({ code: 0, stdout: expect.stringContaining("· everything  configured") });
  },
);

scenario(
  ["Q16"],
  "a server asks during a call, and the person says no or answers",
  async () => {
    using home = new TemporaryFolder();
    writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { everything } }));
    const words = ["mcp", "call", "everything", "trigger-elicitation-request"];
    await using terminal = await TmuxTerminal.start(home, { words, columns: 100, rows: 40 });
    await terminal.until("Answer 1 to 2");
    await delay(QUIET_MS * 2); // what comes sooner was typed before the question
    await terminal.type("2");
    await terminal.press("Enter");
    expect(await terminal.until("User declined")).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u);
  },
  IN_TMUX,
);
