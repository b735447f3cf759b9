// Messages to the client's own servers: every request gets its own id, its own news, and an honest end.
import { type AgentContext, agent, client, RequestError } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import type { ChannelRequest } from "../mcp/index.js";
import { nodeWorld } from "../world/index.js";
import { MCP_MESSAGE, McpMessages } from "./ports.js";

const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });
const never = new AbortController().signal;
const asIs = (params: unknown): JsonObject => (isJsonObject(params) ? params : {});

interface Asked {
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  notify(method: string, params: JsonObject, requestId?: string): Promise<void>;
}

function connected(answer: (asked: Asked) => unknown) {
  const messages = new McpMessages(world);
  const asked: JsonObject[] = [];
  const editor = client().onRequest(MCP_MESSAGE, asIs, async ({ params, signal, agent: tenon }) => {
    asked.push(params);
    const notify = async (method: string, inner: JsonObject, requestId = String(params["requestId"])) => {
      await tenon.notify(MCP_MESSAGE, { serverId: params["serverId"], requestId, method, params: inner });
    };
    return await answer({ params, signal, notify });
  });
  const app = agent({ name: "tenon" });
  // Tenon has as many before it: the SDK asks one after the other, with a promise each.
  for (let count = 0; count < 30; count += 1) app.onRequest(`other/${count}`, asIs, () => ({}));
  const connection = app
    .onNotification(
      MCP_MESSAGE,
      (params: unknown) => params,
      ({ params }) => messages.hear(params),
    )
    .connect(editor);
  const context: AgentContext = connection.client;
  const request = (more: Partial<ChannelRequest> = {}) =>
    messages.channel(context).request({
      serverId: "s",
      method: "tools/call",
      params: {},
      signal: never,
      onNotification: () => {},
      ...more,
    });
  return { request, asked, connection };
}

test("a result and an error of the server come back as they are", async () => {
  const { request, connection } = connected(({ params }) =>
    params["method"] === "tools/list"
      ? { result: { tools: [] } }
      : { error: { code: -32602, message: "no such tool", data: 1 } },
  );
  expect(await request({ method: "tools/list" })).toEqual({ kind: "result", result: { tools: [] } });
  expect(await request()).toEqual({ kind: "error", error: { code: -32602, message: "no such tool", data: 1 } });
  connection.close();
});

test("null is a result, and an answer with neither result nor error is none", async () => {
  const answers = [{ result: null }, {}];
  const { request, connection } = connected(() => answers.shift());
  expect(await request()).toEqual({ kind: "result", result: null });
  expect(await request()).toMatchObject({ kind: "failed", code: -32603 });
  connection.close();
});

test("no id repeats on a connection, whichever server it is for", async () => {
  const { request, asked, connection } = connected(() => ({ result: {} }));
  await Promise.all([request(), request(), request({ serverId: "other" })]);
  expect(new Set(asked.map(({ requestId }) => requestId)).size).toBe(3);
  connection.close();
});

test("news reaches the request it is about while it runs, and nobody else", async () => {
  const heard: string[] = [];
  const { request, connection } = connected(async ({ notify }) => {
    await notify("notifications/progress", { progress: 1 });
    await notify("notifications/progress", { progress: 2 }, "somebody-else");
    return { result: {} };
  });
  await request({ onNotification: (method, params) => heard.push(`${method} ${JSON.stringify(params)}`) });
  expect(heard).toEqual(['notifications/progress {"progress":1}']);
  connection.close();
});

test("what a server says of its last step is heard although its answer comes in the same moment", async () => {
  const heard: string[] = [];
  const { request, connection } = connected(({ notify }) => {
    const told = [1, 2].map((progress) => notify("notifications/progress", { progress }));
    Promise.all(told).catch(() => {}); // sent in one go
    return { result: {} };
  });
  const answer = await request({
    onNotification: (method, params) => heard.push(`${method} ${JSON.stringify(params)}`),
  });
  expect(answer).toEqual({ kind: "result", result: {} });
  expect(heard).toEqual([1, 2].map((progress) => `notifications/progress {"progress":${progress}}`));
  connection.close();
});

test("cancelling cancels the message, and the carrier's codes are told", async () => {
  const { request, connection } = connected(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new RequestError(-32800, "cancelled")), { once: true });
      }),
  );
  const controller = new AbortController();
  const answer = request({ signal: controller.signal });
  await Promise.resolve();
  controller.abort();
  expect(await answer).toMatchObject({ kind: "failed", code: -32800 });
  connection.close();
});

test("a server that is not offered, and a client that is gone, are told apart", async () => {
  const { request, connection } = connected(({ params }) => {
    if (params["serverId"] === "gone") throw new RequestError(-33001, "MCP server registration unavailable");
    return new Promise(() => {});
  });
  expect(await request({ serverId: "gone" })).toMatchObject({ kind: "failed", code: -33001 });
  const answer = request();
  connection.close();
  const failed = await answer;
  expect(failed.kind).toBe("failed");
  expect(failed).not.toHaveProperty("code");
});

test.each([null, 7, {}, { serverId: "s" }, { serverId: "s", requestId: 1, method: 2 }])(
  "%j as a notification does nothing",
  (params) => {
    expect(() => new McpMessages(world).hear(params)).not.toThrow();
  },
);
