// What the connection makes of good and bad output of an agent.
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { AgentConnection, type AgentConnectionOptions, streamsLink } from "./connection.js";
import { acpSchemaValidator } from "./schema.js";

const validate = await acpSchemaValidator({ unstable: true });

function connect(serve?: AgentConnectionOptions["serve"]) {
  const [toAgent, fromAgent] = [new PassThrough(), new PassThrough()];
  const connection = new AgentConnection(streamsLink({ toAgent, fromAgent }), { validate, ...(serve && { serve }) });
  const write = async (line: string) => {
    const before = connection.lines.items.length;
    fromAgent.write(`${line}\n`);
    await connection.lines.find(({ direction }) => direction === "received", { from: before });
  };
  const says = async (message: unknown) => await write(JSON.stringify(message));
  const written = () =>
    connection.lines.items.filter(({ direction }) => direction === "sent").map(({ text }): unknown => JSON.parse(text));
  return { connection, written, write, says, end: () => fromAgent.destroy() };
}

const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } };
const update = (sessionId: string, body: object = chunk) => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId, update: body },
});

test("an answer finds its request, and valid messages are no violations", async () => {
  const { connection, says } = connect();
  const answer = connection.ask("session/new", { cwd: "/", mcpServers: [] });
  await says({ jsonrpc: "2.0", id: 1, result: { sessionId: "s" } });
  expect(await answer).toMatchObject({ ok: true, result: { sessionId: "s" } });
  await says(update("s"));
  expect(connection.updatesOf("s")).toEqual([chunk]);
  expect(connection.violations).toEqual([]);
  expect(connection.earlyUpdates).toEqual([]);
});

test("every kind of stray output is a violation", async () => {
  const { connection, says, write } = connect();
  await write("debug: hello");
  await says({ id: 1, result: {} });
  await says({ jsonrpc: "2.0", id: 9, result: {} });
  await says({ jsonrpc: "2.0", method: "session/invented", params: {} });
  await says(update("s", { sessionUpdate: "mcp_status" }));
  await says(update("s", { sessionUpdate: "tool_call" }));
  expect(connection.violations).toHaveLength(6);
  await says({ jsonrpc: "2.0", method: "_vendor/thing", params: {} });
  expect(connection.violations).toHaveLength(6);
});

test("a response with neither or both of result and error, or an error without a code, is a violation", async () => {
  const { connection, says } = connect();
  const answers = connection.askTogether([
    ["session/close", { sessionId: "s" }],
    ["session/close", { sessionId: "s" }],
  ]);
  await says({ jsonrpc: "2.0", id: 1, error: { message: "no" } });
  await says({ jsonrpc: "2.0", id: 2, result: {}, error: { code: 1, message: "both" } });
  expect(await Promise.all(answers)).toMatchObject([{ ok: false }, { ok: false }]);
  expect(connection.violations).toHaveLength(2);
});

test("an update of a session nobody was told of is early; one of a session that is being loaded is not", async () => {
  const { connection, says } = connect();
  await says(update("s"));
  connection.ask("session/load", { sessionId: "old", cwd: "/", mcpServers: [] }).catch(() => undefined);
  await says(update("old"));
  expect(connection.earlyUpdates.map(({ sessionId }) => sessionId)).toEqual(["s"]);
});

test("the agent's requests are answered, unknown ones with an error", async () => {
  const { says, written } = connect(async (method) =>
    method === "elicitation/create" ? { action: "decline" } : undefined,
  );
  await says({ jsonrpc: "2.0", id: "a", method: "elicitation/create", params: {} });
  await says({ jsonrpc: "2.0", id: "b", method: "fs/read_text_file", params: {} });
  await expect.poll(written).toMatchObject([
    { id: "a", result: { action: "decline" } },
    { id: "b", error: { code: -32601 } },
  ]);
});

test("the agent's end fails the requests under way and later ones", async () => {
  const { connection, end } = connect();
  const asked = connection.ask("initialize", {});
  end();
  await expect(asked).rejects.toThrow("the agent has ended");
  await expect(connection.ask("session/new", {})).rejects.toThrow("the agent has ended");
});
