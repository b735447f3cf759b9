// `tenon chat` as a person or a script runs it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Behaviour, scriptedServer } from "../../src/testing/index.js";
import { answerText, fakeProvider } from "../../src/testing/lab/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const GREETER: Behaviour = {
  tools: [{ name: "greet", description: "Greets the person", reply: { kind: "text", text: "good morning" } }],
};

function configFile(home: TemporaryFolder, servers: Record<string, unknown>): string {
  const path = join(home.path, "servers.json");
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
  return path;
}

async function chat(
  home: TemporaryFolder,
  args: string[],
  extra: { input?: string; env?: Record<string, string> } = {},
): Promise<CommandResult> {
  const { input = "", env = {} } = extra;
  return await runCommand(agentNode(), [TENON, "chat", ...args], {
    env: cleanEnv(home.path, env),
    cwd: home.path,
    input,
  });
}

scenario(["S10", "S11"], "-p answers once with the configured server and exits 0", async () => {
  using home = new TemporaryFolder();
  const config = configFile(home, { greeter: scriptedServer(GREETER) });
  const { code, stdout } = await chat(home, ["-p", "greet me", "--mcp-config", config, "--yes"]);
  expect(stdout).toContain("good morning");
  expect(stdout).not.toContain("\u001b");
  expect(code).toBe(0);
});

scenario(
  ["S10"],
  "without --yes nobody can be asked: the call is refused, said so, and the exit code is 5",
  async () => {
    using home = new TemporaryFolder();
    const config = configFile(home, { greeter: scriptedServer(GREETER) });
    const { code, stdout, stderr } = await chat(home, ["-p", "greet me", "--mcp-config", config]);
    expect(code).toBe(5);
    expect(stderr).toContain("--yes");
    expect(stdout).not.toContain("good morning");
  },
);

scenario(
  ["S10", "S11"],
  "a model that fails is told with what to do, and the exit code says whether it is the key",
  async () => {
    using home = new TemporaryFolder();
    const { code, stderr } = await chat(home, ["-p", "hello", "--model", "openai/gpt-5"]);
    expect(code).toBe(4);
    expect(stderr).toContain("OPENAI_API_KEY");
    const unknown = await chat(home, ["-p", "hello", "--model", "nobody/nothing"]);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain("nobody");
  },
);

scenario(["S10"], "wrong usage exits 2 and says which word was wrong; an unusable config file exits 3", async () => {
  using home = new TemporaryFolder();
  const wrong = await chat(home, ["--no-such-flag"]);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("--no-such-flag");
  const command = await chat(home, ["-p", "/nonsense now"]);
  expect(command.code).toBe(2);
  expect(command.stderr).toContain("There is no command /nonsense.");
  const missing = await chat(home, ["-p", "hi", "--mcp-config", "nowhere.json"]);
  expect(missing.code).toBe(3);
  expect(missing.stderr).toContain("nowhere.json");
});

scenario(
  ["S11", "Z125"],
  "--model reaches a provider, --json prints updates as NDJSON and last the result",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply({ ...answerText("Hello from the provider."), usage: { inputTokens: 7, outputTokens: 3 } });
    const env = { TENON_BASE_URL: provider.url };
    // The end of a server's life is told after the turn.
    const servers = ["--mcp-config", configFile(home, { greeter: scriptedServer(GREETER) })];
    const words = ["-p", "hi", "--json", "--model", "openai-compatible/m", ...servers];
    const { code, stdout } = await chat(home, words, { env });
    expect(code).toBe(0);
    const lines: { params?: { update?: { sessionUpdate?: string } }; result?: object }[] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)?.result).toMatchObject({
      stopReason: "end_turn",
      text: "Hello from the provider.",
      usage: { inputTokens: 7, outputTokens: 3 },
      sessionId: expect.stringMatching(/^[\w-]+$/u),
    });
    expect(lines.some((line) => line.params?.update?.sessionUpdate === "agent_message_chunk")).toBe(true);
    expect(stdout).toContain("Hello from the provider.");
  },
);

scenario(
  ["S11"],
  "a bad entry in --mcp-config is told and the good one works; with --lines each line of stdin is a prompt",
  async () => {
    using home = new TemporaryFolder();
    const config = configFile(home, { greeter: scriptedServer(GREETER), broken: { args: ["x"] } });
    const { code, stdout, stderr } = await chat(home, ["--lines", "--mcp-config", config, "--yes"], {
      input: "greet me\n/mcp\n/tools\n",
    });
    expect(stderr).toContain('"broken"');
    expect(stdout).toContain("good morning");
    expect(stdout + stderr).toContain("mcp__greeter__greet");
    expect(code).toBe(0);
  },
);

scenario(
  ["Z116"],
  "what is piped in belongs to the prompt of -p, or is the prompt, also of the bare word tenon",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider();
    provider.reply(answerText("one"), answerText("two"), answerText("three"));
    const env = cleanEnv(home.path, { TENON_BASE_URL: provider.url, TENON_MODEL: "openai-compatible/m" });
    const input = "first line\nsecond line\n";
    const ways = [["chat", "-p", "review this"], ["chat"], []];
    for (const words of ways) {
      const { code, stdout } = await runCommand(agentNode(), [TENON, ...words], { env, cwd: home.path, input });
      expect([code, stdout.trim()]).toEqual([0, ["one", "two", "three"][ways.indexOf(words)]]);
    }
    const sent = provider.requests.map(({ body }) => JSON.stringify(body));
    expect(sent).toHaveLength(3);
    expect(sent[0]).toContain("review this\\n\\nfirst line\\nsecond line");
    expect(sent[1]).toContain("first line\\nsecond line");
    const empty = await runCommand(agentNode(), [TENON, "chat", "-p", " "], { env, cwd: home.path, input: "" });
    expect([empty.code, empty.stderr.includes("-p TEXT is empty")]).toEqual([2, true]);
  },
);
