// `tenon doctor` on a machine with three planted problems, and on one that is well.
import { expect } from "vitest";
import { displayWidth } from "../../src/cli/terminal/text.js";
import { ConfigBench, pathOfServers } from "./config-bench.js";
import { expectGolden, normalised } from "./golden.js";
import { scenario } from "./scenario.js";

/** What a machine has of these differs, and so do the words for it. */
const OF_THE_MACHINE = /^[✓–!✗] (?:sandbox|keyring)\b.*\n(?: {4,}.*\n)*/gmu;

scenario(["Q3"], "three planted problems are named, each with its cure, and nothing else is", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", {
    model: "anthropic/claude-sonnet-5-5",
    mcpServers: {
      gone: { command: "no-such-program-anywhere" },
      lacks: { command: process.execPath, args: [], env: { TOKEN: "${NOBODY_SET_THIS}" } },
      works: bench.greeter(),
    },
  });
  const path = process.env["PATH"] ?? "";
  const { code, stdout } = await bench.tenon(["doctor"]);
  expect(code).toBe(1);
  // Where lines break depends on how long the paths are.
  const unbroken = stdout.replaceAll(OF_THE_MACHINE, "").replaceAll(/\n {10,}/gu, " ");
  const shown = normalised(unbroken, [
    { of: path, by: "<PATH>" },
    { of: pathOfServers(path), by: "<PATH>" },
    { of: bench.root, by: "<root>" },
    { of: /(?<=Node )\d+\.\d+\.\d+/gu, by: "<version>" },
  ]);
  expectGolden("doctor/three-problems.txt", shown);
  const json = await bench.tenon(["doctor", "--json"]);
  const { findings }: { findings: { id: string; state: string; cures: string[] }[] } = JSON.parse(json.stdout);
  const wrong = findings.filter(({ state }) => state === "wrong");
  expect(wrong.map(({ id }) => id)).toEqual(["model", "server.gone", "server.lacks"]);
  for (const { id, cures } of wrong) expect(cures.length, id).toBeGreaterThan(0);
});

scenario(["Q3"], "a machine that is well exits 0, also without starting anything", async () => {
  await using bench = await ConfigBench.open();
  bench.put("home/config.json", { mcpServers: { works: bench.canary(), 服务器: bench.canary() } });
  const still = await bench.tenon(["doctor", "--no-connect", "--json"]);
  expect(still.code, still.stdout).toBe(0);
  expect(bench.deeds).toEqual([]);
  const { code, stdout } = await bench.tenon(["doctor"]);
  expect(code, stdout).toBe(0);
  expect(stdout).toMatch(/✓ server works +1 tool, about \d+ tokens/u);
  const beginnings = [/^✓ server works +(?=1 tool)/mu, /^✓ server 服务器 +(?=1 tool)/mu].map((begins) =>
    displayWidth(begins.exec(stdout)?.[0] ?? ""),
  );
  expect(new Set(beginnings).size, stdout).toBe(1);
  expect(stdout).toMatch(/✓ as an editor +tenon \S+ answers after/u);
});
