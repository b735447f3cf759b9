// Hundreds of tools: at most a hundred are offered, the person is told, and what a prompt needs is called all the same.
import { join } from "node:path";
import { expect } from "vitest";
import { loadModel } from "../../src/models/index.js";
import { type AcpClient, scriptedAcpServer } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { peerFile } from "./peers.js";
import { EVERYTHING, program, stdioSpec } from "./real-server.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";
import { crowd } from "./tools/crowd.js";
import { calledTools, WatchedModel } from "./tools/recorded-model.js";
import { stdio, ToolBench } from "./tools/tool-session.js";

const MAX_TOOLS = 100;

const everything = () => ({
  name: "everything",
  command: process.execPath,
  args: [peerFile(EVERYTHING, "dist/index.js")],
  env: [],
});

function notices(client: AcpClient, sessionId: string): string {
  const titles = client.updates(sessionId).flatMap((update) => {
    return update.sessionUpdate === "notice" ? [update.title] : [];
  });
  return titles.join("\n");
}

async function watchedOffline(): Promise<WatchedModel> {
  const { env, fetch } = nodeWorld({ env: {} });
  return new WatchedModel(await loadModel("offline/operator", { env, fetch }));
}

scenario(
  ["T6", "A4", "E8", "B3"],
  "300 tools beside server-everything: the person is told, and the tool the first prompt needs is called in its turn",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const mcpServers = [everything(), scriptedAcpServer("crowd", { tools: crowd(300) })];
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
    await client.prompt(sessionId, "please archive the volcano");
    expect(client.text(sessionId)).toContain("archive volcano: done");
    expect(notices(client, sessionId)).toMatch(/more tools than a model call is offered \(100 tools .*"crowd" \(300\)/);
    await client.prompt(sessionId, "please echo still here");
    expect(client.text(sessionId)).toContain("Echo: still here");
    // Not among those the first prompt chose: this prompt chooses it.
    await client.prompt(sessionId, "please share my accordion");
    expect(client.text(sessionId)).toContain("share accordion: done");
    const calls = client.updates(sessionId).flatMap((update) => {
      return update.sessionUpdate === "tool_call" ? [update.title] : [];
    });
    expect(calls.map((title) => title.split(" / ").at(-1))).toEqual([
      "archive_volcano",
      "Echo Tool",
      "share_accordion",
    ]);
  },
);

scenario(
  ["T6", "T4", "E8"],
  "whichever of 300 tools is needed, never more than 100 are offered, and nothing is out of reach",
  async () => {
    const needed = [
      ["please count the beehive", "count beehive: done"],
      ["approve this passport", "approve passport: done"],
      ["delete the typewriter, please", "delete typewriter: done"],
      ["what is the sum of 4 and 5?", "9"],
    ] as const;
    const model = await watchedOffline();
    await using bench = new ToolBench();
    const servers = [
      stdio("alpha", { tools: crowd(100, 0) }),
      stdio("beta", { tools: crowd(100, 100) }),
      stdio("gamma", { tools: crowd(100, 200) }),
      stdioSpec("everything", [program(EVERYTHING)]),
    ];
    const session = bench.open({ model, servers });
    for (const [prompt, answer] of needed) {
      const before = bench.outcomes.length;
      await session.prompt(prompt);
      const told = JSON.stringify(bench.outcomes.slice(before));
      expect(told, prompt).toContain(answer);
      expect(told, prompt).not.toContain('"kind":"failed"');
    }
    for (const { tools } of model.requests) expect(tools.length).toBeLessThanOrEqual(MAX_TOOLS);
    expect(calledTools(model.requests)).not.toContain("tenon_search_tools");
    expect(bench.notices.filter((text) => text.includes("behind search"))).toHaveLength(1);
  },
);

scenario(
  ["T20"],
  "the search bench takes any labelled set, prints one JSON line, and finds more than plain BM25",
  async () => {
    const root = join(import.meta.dirname, "../..");
    const set = join(root, "test/fixtures/retrieval/metatool-sample");
    const args = ["--tools", join(set, "tools.jsonl"), "--queries", join(set, "queries.jsonl")];
    using home = new TemporaryFolder();
    const { code, stdout } = await runCommand(
      process.execPath,
      ["--import", "tsx", join(root, "bench/search.ts"), ...args],
      { env: cleanEnv(home.path), cwd: root },
    );
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(1);
    const line: { R5: number; R10: number; baseline: { R5: number; R10: number } } = JSON.parse(stdout);
    for (const key of ["nDCG10", "p50Ms", "buildMs", "heapMb"]) expect(line).toHaveProperty(key, expect.any(Number));
    expect(line.R5).toBeGreaterThan(line.baseline.R5);
    expect(line.R10).toBeGreaterThan(line.baseline.R10);
  },
);
