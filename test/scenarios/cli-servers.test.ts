// What the command line shows of servers: the live list, their tools, one call, why a tool is missing, and what they logged.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { CLI_LIMITS } from "../../src/cli/limits.js";
import { MCP_LIMITS } from "../../src/mcp/limits.js";
import { BAD_TOOLS, echoTool } from "../../src/testing/index.js";
import { cleanEnv } from "./agent.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { EVERYTHING, program } from "./real-server.js";
import { scenario } from "./scenario.js";
import { crowd } from "./tools/crowd.js";
import { entry } from "./tools/tool-session.js";

const CRASH = { command: process.execPath, args: ["-e", "console.error('no database');process.exit(3)"] };

interface Listed {
  readonly servers: readonly {
    readonly name: string;
    readonly status: string;
    readonly live?: { readonly state: string; readonly tools: number; readonly tokens: number; readonly era?: string };
  }[];
}

scenario(["Q2"], "the list connects to all at once, and touches nothing that is not trusted", async () => {
  await using bench = await ConfigBench.open();
  const { command, args } = bench.greeter();
  bench.put(
    "home/config.json",
    bench.servers({ greeter: { command, args }, crash: CRASH, off: { ...CRASH, disabled: true } }),
  );
  bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
  const { code, stdout } = await bench.tenon(["mcp", "list", "--json"]);
  expect(code).toBe(0);
  const listed: Listed = JSON.parse(stdout);
  const found = Object.fromEntries(listed.servers.map(({ name, status, live }) => [name, live?.state ?? status]));
  expect(found).toEqual({ crash: "failed", greeter: "ready", off: "disabled", theirs: "untrusted" });
  expect(listed.servers.find(({ name }) => name === "greeter")?.live).toMatchObject({
    tools: 1,
    tokens: expect.any(Number),
    era: expect.stringMatching(/^(legacy|modern)$/u),
    startMs: expect.any(Number),
  });
  const people = (await bench.tenon(["mcp", "list"])).stdout;
  expect(people).toMatch(/✓ greeter +ready +1 +\d+ +\d/u);
  expect(people).toMatch(
    /✗ crash +failed[^\n]*\n +the server exited with code 3; its stderr ends: no database\n +tenon mcp logs crash/u,
  );
  expect(bench.deeds).toEqual([]);
});

scenario(["Q2"], "offline it starts nothing, and a server that hangs costs its bound only", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", bench.servers({ canary: bench.canary() }));
  expect((await bench.tenon(["mcp", "list", "--no-connect"])).stdout).toMatch(/· canary +configured/u);
  expect(bench.deeds).toEqual([]);
  const hang = { command: process.execPath, args: ["-e", "setInterval(()=>{},1e3)"] };
  bench.put("home/config.json", bench.servers({ greeter: bench.greeter(), hang }));
  const { stdout, stderr } = await bench.tenon(["mcp", "list", "--timeout", "3"]);
  expect(stdout).toMatch(/✓ greeter +ready/u);
  expect(stdout).toMatch(/✗ hang +failed[^\n]*\n +not ready within 3 s/u);
  expect(stderr).toContain("Connecting to hang…");
});

scenario(["Q2", "Q1"], "a signal ends it with 130, and what it had started ends with it", async () => {
  await using bench = await ConfigBench.open();
  const mark = join(bench.root, "pid");
  const program = `require("fs").writeFileSync(${JSON.stringify(mark)}, String(process.pid));setInterval(()=>{},1e3)`;
  bench.put("home/config.json", bench.servers({ hang: { command: process.execPath, args: ["-e", program] } }));
  const env = cleanEnv(bench.home, { HOME: bench.home });
  const child = spawn(agentNode(), [TENON, "mcp", "test", "hang"], { env, cwd: bench.project, stdio: "ignore" });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await expect.poll(() => existsSync(mark), { timeout: 20_000 }).toBe(true);
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  const pid = Number(readFileSync(mark, "utf8"));
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

scenario(["Q5"], "tools are listed and searched, and one is called with words its schema types", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", bench.servers({ ev: { command: process.execPath, args: [program(EVERYTHING)] } }));
  const all = await bench.tenon(["mcp", "tools"]);
  expect(all.stdout).toMatch(/^ev\/get-sum +\d+ +Returns the sum of two numbers/mu);
  const found = await bench.tenon(["mcp", "tools", "--search", "add two numbers", "--json"]);
  const { tools }: { tools: { name: string; server: string; inputSchema: object; score: number }[] } = JSON.parse(
    found.stdout,
  );
  expect(tools[0]).toMatchObject({ server: "ev", name: "get-sum", inputSchema: { type: "object" } });
  const sum = await bench.tenon(["mcp", "call", "ev", "get-sum", "a=2", "b=40"]);
  expect(sum).toMatchObject({ code: 0, stdout: "The sum of 2 and 40 is 42.\n" });
  expect(sum.stderr).toContain('ev get-sum {"a":2,"b":40}');
  const input = bench.put("input.json", { message: "from a file" });
  const echoed = await bench.tenon(["mcp", "call", "ev", "echo", "--input", `@${input}`, "--json"]);
  expect(JSON.parse(echoed.stdout)).toEqual({
    outcome: "done",
    content: [{ type: "text", text: "Echo: from a file" }],
  });
  const piped = await bench.tenonWith('{"message":"piped"}', ["mcp", "call", "ev", "echo", "--input", "-"]);
  expect(piped.stdout).toBe("Echo: piped\n");
  for (const [words, code, said] of [
    [["get-sum", "a=two", "b=3"], 2, "a must be a number"],
    [["get-sum", "a=1", "bb=3"], 2, 'no argument "bb"; did you mean b?'],
    [["get-sum", "a=1"], 1, "do not fit get-sum"],
    [["get-summ"], 1, 'did you mean "get-sum"?'],
    [["echo", "x=1", "--input", "{}"], 2, "not both"],
  ] as const) {
    const { code: exit, stderr } = await bench.tenon(["mcp", "call", "ev", ...words]);
    expect([exit, words], stderr).toEqual([code, words]);
    expect(stderr).toContain(said);
  }
});

scenario(["Q5"], "a tool that is not there, or not there for models, is told with the reason", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", {
    permissions: { rules: [{ effect: "deny", server: "odd", tool: "ruled", reason: "not today" }] },
    mcpServers: {
      odd: entry(
        {
          tools: [echoTool(), echoTool("ruled"), { name: "hidden", reply: { kind: "text", text: "seen" } }],
          rawTools: [BAD_TOOLS.wrongSchemaType],
        },
        { deny: ["hid*"], tools: { echo: { name: "say" } } },
      ),
    },
  });
  const call = (...words: readonly string[]) => bench.tenon(["mcp", "call", "odd", ...words]);
  const bad = await call("bad_schema_type");
  expect([bad.code, bad.stderr]).toEqual([
    1,
    expect.stringContaining('the tool "bad_schema_type" of odd is left out of its list: its inputSchema has type'),
  ]);
  expect((await call("say")).stderr).toContain("models call its echo");
  const hidden = await call("hidden");
  expect([hidden.code, hidden.stdout]).toEqual([0, "seen\n"]);
  expect(hidden.stderr).toContain('models are not offered hidden: "deny" of its server has "hid*"');
  const ruled = await call("ruled", "text=hi");
  expect(ruled.code).toBe(0);
  expect(ruled.stderr).toMatch(/models may not call ruled: the rule at \S+ denies it: not today/u);
});

scenario(["Q5"], "an answer too long for memory is printed whole into a pipe", async () => {
  await using bench = await ConfigBench.open();
  const bytes = MCP_LIMITS.messageSpillBytes + 1;
  const long = { name: "long", reply: { kind: "bytes", bytes } } as const;
  bench.put("home/config.json", bench.servers({ big: entry({ tools: [long] }) }));
  const plain = await bench.tenon(["mcp", "call", "big", "long"]);
  expect([plain.code, plain.stdout.length]).toEqual([0, bytes + 1]);
  const { stdout } = await bench.tenon(["mcp", "call", "big", "long", "--json"]);
  const { content }: { content: { text: string }[] } = JSON.parse(stdout);
  expect(content[0]?.text.length).toBe(bytes);
});

scenario(["Q5"], "a project's server is called only once it is approved", async () => {
  await using bench = await ConfigBench.open();
  bench.put("project/.mcp.json", bench.servers({ theirs: bench.canary() }));
  const refused = await bench.tenon(["mcp", "call", "theirs", "greet"]);
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain("tenon trust approve theirs");
  expect(bench.deeds).toEqual([]);
  expect((await bench.tenon(["trust", "approve", "theirs"])).code).toBe(0);
  expect((await bench.tenon(["mcp", "call", "theirs", "greet"])).stdout).toBe("good morning\n");
});

scenario(
  ["Q6"],
  "why answers for every way of not being there, with what to do next",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", {
      tools: { headStart: 2 },
      permissions: { rules: [{ effect: "deny", server: "odd", tool: "echo", reason: "not today" }] },
      mcpServers: {
        filtered: entry({ tools: [echoTool()] }, { deny: ["echo"] }),
        same: entry({ tools: [echoTool("old")] }),
        odd: entry({ tools: [echoTool()], rawTools: [BAD_TOOLS.wrongSchemaType] }),
        big: entry({ tools: crowd(120) }),
        sought: entry({ tools: crowd(40, 200) }, { include: "search" }),
        failing: CRASH,
      },
    });
    const theirs = { ...bench.canary() };
    bench.put("project/.mcp.json", bench.servers({ theirs, same: entry({ tools: [echoTool("new")] }) }));
    expect((await bench.tenon(["trust", "approve", "same"])).code).toBe(0);
    const asked: readonly (readonly [string, string, string])[] = [
      ["filtered/echo", "filtered", "tenon mcp get filtered"],
      ["same/old", "shadowed", "tenon mcp list --no-connect"],
      ["odd/bad_schema_type", "quarantined", "tenon mcp test odd"],
      ["big/archive_recipe", "over_budget", "maxAlwaysTools"],
      ["sought/count_greenhouse", "below_cut", "headStart"],
      ["failing/anything", "server_failed", "tenon mcp test failing"],
      ["odd/echo", "not_approved", "tenon trust approvals"],
      ["theirs/greet", "not_trusted", "tenon trust approve theirs"],
    ];
    for (const [name, kind, next] of asked) {
      const answer = await bench.tenon(["mcp", "why", name, "--prompt", "count a chessboard", "--json"]);
      expect(answer.code, name).toBe(0);
      const said: { kind: string; next: string[] } = JSON.parse(answer.stdout);
      expect([name, said.kind]).toEqual([name, kind]);
      expect(said.next.join("\n"), name).toContain(next);
    }
    expect((await bench.tenon(["mcp", "why", "odd/echo"])).stdout).toContain("every call of it is refused: ");
    expect(bench.deeds).toEqual([]);
  },
  { timeoutMs: 180_000 },
);

scenario(["Q7"], "stderr is kept across sessions, without secrets, private, and within a bound", async () => {
  await using bench = await ConfigBench.open();
  const lines = Math.ceil((3 * CLI_LIMITS.logFileBytes) / 1_000);
  const program = [
    "process.stderr.write('token is ' + process.env.API_TOKEN + '\\n');",
    `for (let n = 0; n < ${lines}; n++) process.stderr.write(n + 'x'.repeat(990) + '\\n');`,
    "process.stderr.write('the last words\\n'); setTimeout(() => process.exit(3), 200)",
  ].join("");
  const env = { API_TOKEN: "hunter2-and-more" };
  const small = {
    command: process.execPath,
    args: ["-e", "console.error('t=' + process.env.API_TOKEN);process.exit(3)"],
    env,
  };
  bench.put(
    "home/config.json",
    bench.servers({ small, loud: { command: process.execPath, args: ["-e", program], env } }),
  );
  await bench.headless("hello");
  const { code, stdout } = await bench.tenon(["mcp", "logs", "small"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d stderr: t=\[redacted\]$/mu);
  await expect
    .poll(async () => (await bench.tenon(["mcp", "logs", "loud", "-n", "1"])).stdout, { timeout: 20_000 })
    .toContain("the last words");
  const folder = join(bench.home, "state/server-logs");
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    expect(readFileSync(file, "utf8")).not.toContain("hunter2");
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(statSync(file).size).toBeLessThan(2 * CLI_LIMITS.logFileBytes);
  }
  const json = await bench.tenon(["mcp", "logs", "small", "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({ server: "small", lines: [{ kind: "stderr" }, { kind: "stderr" }] });
  expect((await bench.tenon(["mcp", "logs", "nobody"])).code).toBe(3);
});
