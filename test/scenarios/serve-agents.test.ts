// `tenon mcp serve` in front of agents and clients that nobody here wrote: the OpenAI Agents SDK, and the first MCP SDK.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  Agent,
  MCPServerStdio,
  MCPServerStreamableHttp,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
} from "@openai/agents";
import OpenAI from "openai";
import { expect } from "vitest";
import { type Behaviour, echoTool } from "../../src/testing/index.js";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { cleanEnv } from "./agent.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { scenario } from "./scenario.js";
import { serveOverHttp } from "./serve-bench.js";
import { entry } from "./tools/tool-session.js";

const ALLOW = { rules: [{ effect: "allow" }] };
const KEY = "sk-test";
const WORK: Behaviour = {
  tools: [
    echoTool(),
    { name: "fails", reply: { kind: "error", text: "no such file" } },
    {
      name: "grows",
      steps: [{ do: "set_tools", tools: [echoTool("later")] }, { do: "list_changed" }],
      reply: { kind: "text", text: "grown" },
    },
  ],
};

async function open(more: object = {}): Promise<ConfigBench> {
  const bench = await ConfigBench.open();
  bench.put("home/config.json", { mcpServers: { work: entry(WORK), other: entry({ tools: [echoTool()] }) }, ...more });
  return bench;
}

const WAYS = ["stdio", "http"] as const;

/** How a client of the first SDK reaches it. */
async function transportTo(bench: ConfigBench, http: { readonly url: string; readonly token: string } | undefined) {
  if (http) {
    const requestInit = { headers: { authorization: `Bearer ${http.token}` } };
    return new StreamableHTTPClientTransport(new URL(http.url), { requestInit });
  }
  const env = cleanEnv(bench.home, { HOME: bench.home, TENON_LOG: "error" });
  return new StdioClientTransport({ command: agentNode(), args: [TENON, "mcp", "serve"], env, cwd: bench.project });
}

for (const way of WAYS) {
  scenario(
    ["V315"],
    `a client of the first MCP SDK lists, calls, answers and hears of changes over ${way}`,
    async () => {
      await using bench = await open();
      await using http = way === "http" ? await serveOverHttp(bench) : undefined;
      const client = new Client({ name: "first-sdk", version: "1.0.0" }, { capabilities: { elicitation: {} } });
      const asked: string[] = [];
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        asked.push(params.message);
        return { action: "accept", content: { decision: "once" } };
      });
      const changed = new Promise<void>((resolve) => {
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
      });
      const transport = await transportTo(bench, http);
      await client.connect(transport);
      const names = async () => (await client.listTools()).tools.map(({ name }) => name).sort();
      expect(await names()).toEqual(["other__echo", "work__echo", "work__fails", "work__grows"]);
      const call = { name: "work__echo", arguments: { text: "from the first SDK" } };
      expect(JSON.stringify(await client.callTool(call))).toContain("from the first SDK");
      expect(asked).toEqual([expect.stringContaining("may work / echo be called?")]);
      expect(await client.callTool({ name: "work__fails" })).toMatchObject({ isError: true });
      await client.callTool({ name: "work__grows" });
      await changed;
      expect(await names()).toEqual(["other__echo", "work__later"]);
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      await client.close();
    },
  );

  scenario(["V313"], `an agent of the OpenAI Agents SDK works with the tools over ${way}`, async () => {
    setTracingDisabled(true);
    await using bench = await open({ permissions: ALLOW });
    await using http = way === "http" ? await serveOverHttp(bench) : undefined;
    await using fake = await fakeProvider({ apiKey: KEY });
    fake.reply(
      answerToolCall("work__echo", { text: "through an agent" }),
      answerToolCall("work__fails", {}),
      answerText("Both were called."),
    );
    const env = cleanEnv(bench.home, { HOME: bench.home, TENON_LOG: "error" });
    const server = http
      ? new MCPServerStreamableHttp({
          url: http.url,
          name: "tenon",
          requestInit: { headers: { authorization: `Bearer ${http.token}` } },
        })
      : new MCPServerStdio({
          name: "tenon",
          command: agentNode(),
          args: [TENON, "mcp", "serve"],
          env,
          cwd: bench.project,
        });
    await server.connect();
    const openAIClient = new OpenAI({ apiKey: KEY, baseURL: fake.url, maxRetries: 0 });
    const modelProvider = new OpenAIProvider({ openAIClient, useResponses: true });
    const agent = new Agent({ name: "worker", model: "gpt-5", mcpServers: [server] });
    const run = await new Runner({ modelProvider, tracingDisabled: true }).run(agent, "Call both.", { stream: true });
    await run.completed;
    expect(run.finalOutput).toBe("Both were called.");
    expect(fake.refusals).toEqual([]);
    const bodies = fake.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies).toHaveLength(3);
    expect(bodies[0]).toContain('"name":"other__echo"');
    expect(bodies[2]).toContain("through an agent");
    expect(bodies[2]).toContain("no such file");
    await server.close();
  });
}
