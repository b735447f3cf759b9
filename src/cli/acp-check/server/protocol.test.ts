// The scripted server's side of MCP.
import { expect, test } from "vitest";
import type { JsonObject } from "../../../base/json/json.js";
import { eventsOf, MemoryLog } from "./log.js";
import { ServerProtocol } from "./protocol.js";
import { IMAGE_DATA, readScript, type ServerScript, type ToolReply } from "./script.js";

function server(script: Partial<ServerScript> = {}): { protocol: ServerProtocol; log: MemoryLog; crashes: string[] } {
  const log = new MemoryLog();
  const crashes: string[] = [];
  const replies: ToolReply[] = ["echo", "image", "error", "hold", "crash"];
  const tools = replies.map((reply) => ({ name: reply, reply }));
  const whole = { name: "s", tools, ...script };
  return {
    protocol: new ServerProtocol(whole, { record: log.record, crash: () => crashes.push("crash") }),
    log,
    crashes,
  };
}

const request = (method: string, params: JsonObject = {}, id = 1): JsonObject => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const call = (name: string, id = 1): JsonObject => request("tools/call", { name, arguments: { text: "x" } }, id);

test("initialize answers in the client's version when it is known, else in the newest", async () => {
  const { protocol, log } = server();
  const known = await protocol.receive(request("initialize", { protocolVersion: "2025-03-26" }));
  expect(known).toMatchObject({ id: 1, result: { protocolVersion: "2025-03-26", serverInfo: { name: "s" } } });
  const unknown = await protocol.receive(request("initialize", { protocolVersion: "2099-01-01" }));
  expect(unknown).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  expect(eventsOf(log, "initialize")).toHaveLength(2);
});

test("a server that hangs answers initialize never, and nothing says that it was initialized", async () => {
  const { protocol, log } = server({ initializeMs: -1 });
  expect(await protocol.receive(request("initialize"))).toBeUndefined();
  expect(log.events()).toEqual([]);
});

test("each tool answers as its script says", async () => {
  const { protocol, log, crashes } = server();
  expect(await protocol.receive(call("echo"))).toMatchObject({
    result: { content: [{ text: 's heard {"text":"x"}' }] },
  });
  expect(await protocol.receive(call("image"))).toMatchObject({ result: { content: [{ data: IMAGE_DATA }] } });
  expect(await protocol.receive(call("error"))).toMatchObject({ result: { isError: true } });
  expect(await protocol.receive(call("crash"))).toBeUndefined();
  expect(await protocol.receive(call("nobody"))).toMatchObject({ error: { code: -32602 } });
  expect(crashes).toEqual(["crash"]);
  expect(eventsOf(log, "call").map(({ detail }) => detail["tool"])).toEqual([
    "echo",
    "image",
    "error",
    "crash",
    "nobody",
  ]);
});

test("a held call ends without an answer when it is cancelled, and only then", async () => {
  const { protocol, log } = server();
  let isOver = false;
  const held = protocol.receive(call("hold", 7)).then((answer) => {
    isOver = true;
    return answer;
  });
  const cancel = (requestId: number) =>
    protocol.receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  await cancel(6);
  expect(isOver).toBe(false);
  await cancel(7);
  expect(await held).toBeUndefined();
  expect(eventsOf(log, "cancelled").map(({ detail }) => detail["requestId"])).toEqual(["6", "7"]);
});

test("over ACP it is discovered without a handshake, and every result says what it is", async () => {
  const { protocol } = server();
  expect(await protocol.answerModern("server/discover", {}, "1")).toMatchObject({
    result: { resultType: "complete", supportedVersions: ["2026-07-28"] },
  });
  expect(await protocol.answerModern("initialize", {}, "2")).toMatchObject({ error: { code: -32601 } });
  expect(await protocol.answerModern("tools/list", {}, "3")).toMatchObject({
    result: { resultType: "complete", ttlMs: 0 },
  });
  expect(await protocol.answerModern("subscriptions/listen", {}, "4")).toMatchObject({ error: { code: -32601 } });
});

test("a script survives its file; one without a name or with an unknown reply is refused", () => {
  const script = { name: "s", tools: [{ name: "t", reply: "hold" }], initializeMs: 5, isDeaf: true, watched: ["A"] };
  expect(readScript(JSON.parse(JSON.stringify(script)))).toMatchObject(script);
  expect(() => readScript({ tools: [] })).toThrow("name");
  expect(() => readScript({ name: "s", tools: [{ name: "t", reply: "dance" }] })).toThrow("reply");
});
