// What is in front of the model in every turn: chosen for each prompt, and true of the servers there are.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import {
  type AcpClient,
  echoTool,
  scriptedAcpServer,
  scriptedServer,
  type ToolScript,
} from "../../src/testing/index.js";
import { answerText, answerToolCall, type FakeProvider, fakeProvider } from "../../src/testing/lab/index.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { resultsIn, TARGETS, type Target, toolNamesIn, toolsIn, unmarked } from "./providers/target.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

interface Editor {
  readonly client: AcpClient;
  readonly provider: FakeProvider;
  readonly home: TemporaryFolder;
}

async function inEditor(target: Target, run: (editor: Editor) => Promise<void>, config: object = {}): Promise<void> {
  using home = new TemporaryFolder();
  writeFileSync(join(home.path, "config.json"), JSON.stringify(config));
  await using provider = await fakeProvider({ schemaFaults: target.schemaFaults });
  const env = { ...target.env(provider), TENON_MODEL: target.model };
  await using client = await startTenon(home, { env, permissions: "always" });
  await client.initialize();
  await run({ client, provider, home });
  expect(provider.refusals.map(({ fault }) => fault)).toEqual([]);
}

const [ANTHROPIC] = TARGETS;
if (!ANTHROPIC) throw new Error("no target");

const CONVERT = "mcp__many__convert_currency";
const MANY = {
  fillerTools: 299,
  tools: [
    {
      name: "convert_currency",
      description: "Converts an amount of money into another currency.",
      inputSchema: { type: "object", properties: { amount: { type: "number" } } },
      reply: { kind: "text", text: "18.40 euros" },
    },
  ],
} as const;

for (const target of TARGETS) {
  scenario(
    ["N400"],
    `${target.name}: after "hi", the second prompt finds its tool of 300 in the list, whose bytes before it are the same`,
    () =>
      inEditor(target, async ({ client, provider, home }) => {
        const { sessionId } = await client.newSession({
          cwd: home.path,
          mcpServers: [scriptedAcpServer("many", MANY)],
        });
        provider.reply(answerText("Hello."), answerText("You are welcome."));
        await client.prompt(sessionId, "hi");
        await client.prompt(sessionId, "thanks, that looks good");
        provider.reply(answerToolCall(CONVERT, { amount: 20 }), answerText("18.40 euros."));
        await client.prompt(sessionId, "Convert 20 dollars to another currency");
        const [first, second, third, last] = provider.requests;
        if (!first || !second || !third || !last) throw new Error("there are four requests");
        expect(provider.requests).toHaveLength(4);
        expect(toolNamesIn(first)).not.toContain(CONVERT);
        const bytes = (request: typeof first) => unmarked(toolsIn(request)).map((tool) => JSON.stringify(tool));
        expect(bytes(second)).toEqual(bytes(first));
        expect(bytes(third).slice(0, bytes(first).length)).toEqual(bytes(first));
        expect(toolNamesIn(third).slice(bytes(first).length)).toEqual([CONVERT]);
        expect(bytes(last)).toEqual(bytes(third));
        expect(resultsIn(last).at(-1)?.content).toContain("18.40 euros");
      }),
  );
}

scenario(
  ["N500", "N501"],
  "tools of a server that is switched off answer with the cause, and leave the list with a compaction or another model",
  () =>
    inEditor(ANTHROPIC, async ({ client, provider, home }) => {
      const servers = ["stays", "goes", "too"].map((name) => scriptedAcpServer(name, { tools: [echoTool()] }));
      const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: servers });
      const ask = async (...replies: Parameters<FakeProvider["reply"]>) => {
        provider.reply(...replies);
        await client.prompt(sessionId, "go on");
        return provider.requests.at(-1) ?? fail();
      };
      for (let turn = 0; turn < 8; turn++) await ask(answerText(`They are green and round. `.repeat(200)));
      const before = toolNamesIn(provider.requests.at(-1) ?? fail());
      expect(before).toEqual(expect.arrayContaining(["mcp__stays__echo", "mcp__goes__echo", "mcp__too__echo"]));
      await client.prompt(sessionId, "/mcp disable goes");
      const asked = await ask(answerToolCall("mcp__goes__echo", { text: "x" }), answerText("I see."));
      expect(toolNamesIn(asked)).toEqual(before);
      expect(resultsIn(asked).at(-1)?.content).toContain(
        "switched off in this session; /mcp enable goes brings it back",
      );
      provider.reply(answerText("They spoke of apples."));
      await client.prompt(sessionId, "/compact");
      expect(toolNamesIn(await ask(answerText("Yes.")))).toEqual(before.filter((name) => name !== "mcp__goes__echo"));

      await client.prompt(sessionId, "/mcp disable too");
      expect(toolNamesIn(await ask(answerText("Yes.")))).toContain("mcp__too__echo");
      const other = { sessionId, configId: "model", value: "anthropic/claude-opus-5-5" };
      await client.request("session/set_config_option", other);
      expect(toolNamesIn(await ask(answerText("Yes.")))).not.toContain("mcp__too__echo");
      await client.prompt(sessionId, "/mcp enable goes");
      expect(toolNamesIn(await ask(answerText("Yes."))).at(-1)).toBe("mcp__goes__echo");
    }),
);

scenario(
  ["N500", "N501"],
  "tools of a server that crashed and cannot be started again answer with the cause, and leave the list with another model",
  async () => {
    using folder = new TemporaryFolder();
    const program = join(folder.path, "server");
    const die: ToolScript = { name: "die", steps: [{ do: "crash", exitCode: 7 }], reply: { kind: "echo" } };
    const { command, args } = scriptedServer({ tools: [echoTool(), die] });
    const quoted = [command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    writeFileSync(program, `#!/bin/sh\nexec ${quoted}\n`, { mode: 0o755 });
    await inEditor(ANTHROPIC, async ({ client, provider, home }) => {
      const mcpServers = [{ name: "frail", command: program, args: [], env: [] }];
      const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
      const ask = async (...replies: Parameters<FakeProvider["reply"]>) => {
        provider.reply(...replies);
        await client.prompt(sessionId, "go on");
        return provider.requests.at(-1) ?? fail();
      };
      const before = toolNamesIn(await ask(answerText("Hello.")));
      expect(before).toContain("mcp__frail__echo");
      rmSync(program);
      const failure = client.waitForUpdate(sessionId, (one) => JSON.stringify(one).includes('frail\\" failed'));
      await ask(answerToolCall("mcp__frail__die", {}), answerText("I see."));
      await failure;
      const asked = await ask(answerToolCall("mcp__frail__echo", { text: "x" }), answerText("I see."));
      expect(toolNamesIn(asked)).toEqual(before);
      expect(resultsIn(asked).at(-1)?.content).toMatch(/is not connected: cannot start .* no such file/);
      const other = { sessionId, configId: "model", value: "anthropic/claude-opus-5-5" };
      await client.request("session/set_config_option", other);
      const rest = before.filter((name) => !name.startsWith("mcp__frail__"));
      expect(toolNamesIn(await ask(answerText("Yes.")))).toEqual(rest);
    });
  },
);

scenario(
  ["N502"],
  "what is remembered of a server that cannot be started any more is not offered to new sessions",
  async () => {
    using folder = new TemporaryFolder();
    const program = join(folder.path, "server.mjs");
    const { command, args, env } = scriptedServer({ tools: [echoTool()] });
    writeFileSync(
      program,
      `import { spawn } from "node:child_process";\nspawn(${JSON.stringify(command)}, ${JSON.stringify(args)}, { stdio: "inherit", env: { ...process.env, ...${JSON.stringify(env)} } }).on("exit", (code) => process.exit(code ?? 1));\n`,
    );
    // Of the client, so that no process of it is shared with the next session.
    const mcpServers = [{ name: "tool", command: process.execPath, args: [program], env: [] }];
    await inEditor(ANTHROPIC, async ({ client, provider, home }) => {
      const offered = async ({ hasFailed = false } = {}) => {
        const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
        provider.reply(answerText("Hello."));
        await client.prompt(sessionId, "hi");
        const status = () => client.request("_tenon/mcp/status", { sessionId });
        if (hasFailed)
          await vi.waitFor(async () => expect(JSON.stringify(await status())).toContain('"failed"'), {
            timeout: 20_000,
          });
        await client.closeSession(sessionId);
        return toolNamesIn(provider.requests.at(-1) ?? fail());
      };
      expect(await offered()).toContain("mcp__tool__echo");
      expect(await offered()).toContain("mcp__tool__echo");
      rmSync(program);
      await offered({ hasFailed: true }); // a turn does not wait for a server whose tools are remembered
      expect(await offered()).not.toContain("mcp__tool__echo");
    });
  },
);

scenario(["N503", "N504"], "missing descriptions name tool and server, and counts follow allow and deny", () => {
  const { command, args, env } = scriptedServer({
    rawTools: [
      { name: "add", inputSchema: { type: "object" } },
      { name: "remove", description: "", inputSchema: { type: "object" } },
      { name: "remove_all", description: "Removes all.", inputSchema: { type: "object" } },
    ],
  });
  return inEditor(
    ANTHROPIC,
    async ({ client, provider, home }) => {
      const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [] });
      provider.reply(answerText("Hello."));
      await client.prompt(sessionId, "hi");
      const tools = toolsIn(provider.requests.at(-1) ?? fail()).filter(({ name }) => String(name).startsWith("mcp__"));
      expect(tools.map(({ name, description }) => [name, description])).toEqual([
        ["mcp__notes__add", "Tool add of notes"],
        ["mcp__notes__remove", "Tool remove of notes"],
      ]);
      await client.prompt(sessionId, "/mcp");
      expect(client.text(sessionId)).toContain("**notes** (user): ready, 2 tools");
      const listed = await runCommand(agentNode(), [TENON, "mcp", "list", "--json"], {
        env: cleanEnv(home.path),
        cwd: home.path,
      });
      expect(JSON.parse(listed.stdout)).toMatchObject({ servers: [{ name: "notes", live: { tools: 2 } }] });
    },
    { mcpServers: { notes: { command, args, env, deny: ["*_all"] } } },
  );
});

function fail(): never {
  throw new Error("there is no request");
}
