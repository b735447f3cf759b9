// The client's side towards a real process: what it allows, declines, and serves over ACP.
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { acpSchemaValidator, echoTool } from "../../testing/index.js";
import { RunningAgent } from "./agent.js";
import { acpServer, receivedBy, type TestServer } from "./test-servers.js";

/** Asks its client these things one after the other, and says in the answer to `initialize` what it was told. */
const AGENT = `
const asks = JSON.parse(process.argv[1]);
const heard = [];
let introduction;
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const next = () => {
  const ask = asks[heard.length];
  if (ask) return send({ id: "ask" + heard.length, ...ask });
  send({ id: introduction, result: { protocolVersion: 1, agentInfo: { name: "toy", version: JSON.stringify(heard) } } });
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === "initialize") introduction = message.id;
  else heard.push(message.result ?? message.error);
  next();
});
`;

const server = (method: string, params: object, requestId: string) => ({
  method: "mcp/message",
  params: { serverId: "here", requestId, method, params },
});

async function heardBy(
  asks: readonly object[],
): Promise<{ heard: unknown[]; violations: readonly string[]; own: TestServer }> {
  const command = { command: process.execPath, args: ["-e", AGENT, JSON.stringify(asks)], env: {}, cwd: tmpdir() };
  const validate = await acpSchemaValidator({ unstable: true });
  await using agent = new RunningAgent({ command, validate, answerMs: 10_000, cwd: tmpdir(), authMethod: undefined });
  const { kept, server } = acpServer("here", { name: "own", behaviour: { tools: [echoTool()] } });
  await using _ = server;
  agent.servers.set("here", server);
  const { version } = await agent.initialize();
  return { heard: JSON.parse(version), violations: agent.connection.violations, own: kept };
}

test("a server of the client answers over mcp/message, its errors inside the result", async () => {
  const { heard, violations, own } = await heardBy([
    server("server/discover", {}, "1"),
    server("tools/list", {}, "2"),
    server("tools/call", { name: "echo", arguments: { text: "x" } }, "3"),
    server("nonsense", {}, "4"),
    { method: "mcp/message", params: { serverId: "elsewhere", requestId: "5", method: "tools/list" } },
  ]);
  expect(heard).toMatchObject([
    { result: { supportedVersions: ["2026-07-28"] } },
    { result: { tools: [{ name: "echo" }] } },
    { result: { content: [{ text: '{"text":"x"}' }] } },
    { error: { code: -32601 } },
    { code: -32603 },
  ]);
  expect(violations).toEqual([]);
  expect(receivedBy(own, "tools/call")).toMatchObject([{ name: "echo" }]);
});

test("a tool is allowed once, an elicitation declined, and what the client lacks is refused", async () => {
  const options = [
    { optionId: "always", name: "Always", kind: "allow_always" },
    { optionId: "once", name: "Once", kind: "allow_once" },
  ];
  const permission = { sessionId: "s", toolCall: { toolCallId: "1" }, options };
  const { heard } = await heardBy([
    { method: "session/request_permission", params: permission },
    { method: "session/request_permission", params: { ...permission, options: [] } },
    { method: "elicitation/create", params: {} },
    { method: "terminal/create", params: {} },
  ]);
  expect(heard).toMatchObject([
    { outcome: { outcome: "selected", optionId: "once" } },
    { outcome: { outcome: "cancelled" } },
    { action: "decline" },
    { code: -32601 },
  ]);
});
