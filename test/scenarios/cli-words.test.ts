// The words of the command line: help for everything, what was probably meant, and completion in a real shell.
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { TABLE } from "../../src/cli/table.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { scenario } from "./scenario.js";

scenario(
  ["Q4"],
  "every command and every group has help, with examples, in the built program",
  async () => {
    await using bench = await ConfigBench.open();
    const paths = TABLE.flatMap((entry) =>
      entry.kind === "command"
        ? [[entry.name]]
        : [[entry.name], ...entry.commands.map(({ name }) => [entry.name, name])],
    );
    expect(paths.length).toBeGreaterThan(35);
    const queue = paths.values();
    const work = async () => {
      for (const path of queue) {
        const { code, stdout, stderr } = await bench.tenon([...path, "--help"]);
        expect([path, code, stderr]).toEqual([path, 0, ""]);
        expect(stdout).toContain(`Usage: tenon ${path.join(" ")}`);
        expect(stdout).toMatch(/^(Examples|Commands):$/mu);
        for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(160);
      }
    };
    await Promise.all([work(), work(), work()]);
    const all = await bench.tenon(["--help"]);
    for (const { name } of TABLE) expect(all.stdout).toMatch(new RegExp(`^ {2}${name} `, "mu"));
    expect((await bench.tenon(["help", "mcp", "test"])).stdout).toBe((await bench.tenon(["mcp", "test", "-h"])).stdout);
  },
  { timeoutMs: 180_000 },
);

scenario(["Q4"], "wrong words exit 2, name what was probably meant, and never repeat a value", async () => {
  await using bench = await ConfigBench.open();
  const cases: readonly (readonly [readonly string[], string])[] = [
    [[], "there is no prompt"],
    [["mpc"], "did you mean tenon mcp?"],
    [["mcp", "tets"], "did you mean tenon mcp test?"],
    [["mcp", "test", "x", "--jsn"], "did you mean --json?"],
    [["mcp", "call", "--timeout", "1", "x"], "TOOL is missing"],
    [["setup", "vscod"], 'did you mean "vscode"?'],
    [["secret", "set", "name", "hunter2"], "one word too many"],
    [["chat", "--prompt"], "--prompt TEXT lacks its value"],
  ];
  for (const [words, said] of cases) {
    const { code, stderr, stdout } = await bench.tenon(words);
    expect([words, code, stdout], stderr).toEqual([words, 2, ""]);
    expect(stderr).toContain(said);
    expect(stderr).toContain("--help");
    expect(stderr).not.toContain("hunter2");
  }
});

scenario(["Q4"], "bash completes commands, options, choices and the names of servers", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", bench.servers({ alpha: bench.canary(), alembic: bench.canary() }));
  const script = bench.put("completion.bash", (await bench.tenon(["completion", "bash"])).stdout);
  chmodSync(bench.put("bin/tenon", `#!/bin/sh\nexec '${agentNode()}' '${TENON}' "$@"\n`), 0o755);
  const complete = (...words: string[]): readonly string[] => {
    const line = words.map((word) => `'${word}'`).join(" ");
    const program = `source '${script}'; COMP_WORDS=(tenon ${line}); COMP_CWORD=${words.length}; _tenon; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = {
      PATH: `${join(bench.root, "bin")}:${process.env["PATH"] ?? ""}`,
      HOME: bench.home,
      TENON_HOME: bench.home,
    };
    const { stdout, stderr, status } = spawnSync("bash", ["-c", program], {
      env,
      cwd: bench.project,
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
    return stdout.split("\n").filter((word) => word !== "");
  };
  expect(complete("m")).toEqual(["mcp", "models"]);
  expect(complete("mcp", "t")).toEqual(["test", "tools"]);
  expect(complete("mcp", "test", "al")).toEqual(["alpha", "alembic"]);
  expect(complete("mcp", "test", "alpha", "--t")).toEqual(["--timeout"]);
  expect(complete("mcp", "add", "x", "--type", "")).toEqual(["http", "sse"]);
  expect(complete("setup", "j")).toEqual(["jetbrains"]);
  expect(bench.deeds).toEqual([]);
});
