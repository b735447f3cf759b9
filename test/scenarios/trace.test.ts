// Seeing inside a run of the built product: the wire trace, the spans, and a server that wants words of the model.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import {
  type AcpClient,
  type AcpClientOptions,
  acpSchemaValidator,
  scriptedAcpServer,
  startAgent,
} from "../../src/testing/index.js";
import { answerText, answerToolCall, type FakeProvider, fakeProvider } from "../../src/testing/lab/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, peerFile, TENON } from "./peers.js";
import { scenario } from "./scenario.js";

const KEY = "provider-key-0123456789";
const SPANS = pathToFileURL(join(import.meta.dirname, "../fixtures/spans-to-file.mjs")).href;

interface Run {
  readonly home: TemporaryFolder;
  readonly provider: FakeProvider;
  readonly options?: AcpClientOptions;
}

async function start({ home, provider, options }: Run): Promise<AcpClient> {
  const env = cleanEnv(home.path, {
    TENON_MODEL: "openai-compatible/x",
    TENON_BASE_URL: provider.url,
    TENON_API_KEY: KEY,
    SPANS_FILE: join(home.path, "spans.ndjson"),
  });
  const args = ["--import", SPANS, TENON, "acp", "--trace", join(home.path, "trace.ndjson")];
  const command = { command: agentNode(), args, env, cwd: home.path };
  const client = startAgent(command, { validate: await acpSchemaValidator(), permissions: "allow", ...options });
  await client.initialize();
  return client;
}

function linesOf(home: TemporaryFolder, name: string): JsonObject[] {
  const path = join(home.path, name);
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const everything = () => ({
  name: "everything",
  command: process.execPath,
  args: [peerFile("@modelcontextprotocol/server-everything", "dist/index.js")],
  env: [],
});

scenario(["O1"], "a traced run has every message from the first to the last, and none of the secrets", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider({ apiKey: KEY });
  provider.reply(answerToolCall("mcp__s__leak", {}), answerText("it said my-own-secret-42"));
  const server = scriptedAcpServer("s", {
    tools: [{ name: "leak", reply: { kind: "text", text: `env my-own-secret-42, key ${KEY}` } }],
  });
  const env = [...server.env, { name: "S_TOKEN", value: "my-own-secret-42" }];
  {
    await using client = await start({ home, provider });
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [{ ...server, env }] });
    await client.prompt(sessionId, "go");
  }
  const raw = readFileSync(join(home.path, "trace.ndjson"), "utf8");
  expect(raw.includes("my-own-secret-42")).toBe(false);
  expect(raw.includes(KEY)).toBe(false);
  const lines = linesOf(home, "trace.ndjson");
  expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1));
  const text = (channel: string, words: string) =>
    lines.some((line) => line["channel"] === channel && JSON.stringify(line["message"]).includes(words));
  expect(text("acp", '"method":"initialize"')).toBe(true);
  expect(text("acp", '"stopReason":"end_turn"')).toBe(true);
  expect(text("mcp", '"method":"tools/call"')).toBe(true);
  expect(text("mcp", "env [redacted], key [redacted]")).toBe(true);
  expect(text("model", '"hash":"')).toBe(true);
  expect(text("model", "[DONE]")).toBe(true);
});

scenario(["O2"], "a client's trace goes through the turn, its requests and its calls to the server", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider({ apiKey: KEY });
  provider.reply(answerToolCall("mcp__everything__echo", { message: "hi" }), answerText("done"));
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  {
    await using client = await start({ home, provider });
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything()] });
    await client.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "echo hi" }],
      _meta: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    });
  }
  const spans = linesOf(home, "spans.ndjson").filter((span) => span["traceId"] === traceId);
  const [turn] = spans.filter(({ name }) => name === "invoke_agent tenon");
  const [call] = spans.filter(({ name }) => name === "execute_tool mcp__everything__echo");
  expect(turn?.["parent"]).toBe("00f067aa0ba902b7");
  expect(call?.["parent"]).toBe(turn?.["spanId"]);
  expect(call?.["attributes"]).toMatchObject({ "mcp.method.name": "tools/call", "gen_ai.tool.call.id": "1-1" });
  expect(spans.filter(({ name, parent }) => name === "chat x" && parent === turn?.["spanId"])).toHaveLength(2);
  const traceparent = `"traceparent":"00-${traceId}-${String(call?.["spanId"])}-01"`;
  expect(readFileSync(join(home.path, "trace.ndjson"), "utf8")).toContain(traceparent);
});

scenario(
  ["O3", "M8"],
  "server-everything gets words of the model only after the person has seen the question",
  async () => {
    using home = new TemporaryFolder();
    await using provider = await fakeProvider({ apiKey: KEY });
    const ask = answerToolCall("mcp__everything__trigger-sampling-request", { prompt: "say hi", maxTokens: 40 });
    provider.reply(ask, answerText("words for the server"), answerText("done"));
    await using client = await start({ home, provider });
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything()] });
    await client.prompt(sessionId, "sample");
    expect(JSON.stringify(client.updates(sessionId))).toContain("words for the server");
    const [, question] = client.permissionRequests;
    expect(question?.toolCall).toMatchObject({ title: "everything / wants to use the model" });
    expect(JSON.stringify(question?.toolCall.content)).toMatch(/at most 40 tokens.*say hi/s);
    expect(provider.requests).toHaveLength(3);
  },
);

scenario(["O3"], "a person's no reaches the server, and the model is not asked", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider({ apiKey: KEY });
  const ask = answerToolCall("mcp__everything__trigger-sampling-request", { prompt: "say hi", maxTokens: 40 });
  provider.reply(ask, answerText("done"));
  const permissions: AcpClientOptions["permissions"] = ({ toolCall }) =>
    toolCall.toolCallId.startsWith("sampling-") ? "deny" : "allow";
  await using client = await start({ home, provider, options: { permissions } });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything()] });
  await client.prompt(sessionId, "sample");
  expect(JSON.stringify(client.updates(sessionId))).toContain("sampling was declined: the person said no");
  expect(provider.requests).toHaveLength(2);
});
