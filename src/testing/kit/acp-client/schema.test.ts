// The schema check must see faults, and must not see any where there are none.
import { expect, test } from "vitest";
import type { AgentMessage } from "./connection.js";
import { agentMessage, envelopeProblem } from "./connection.js";
import { acpSchemaValidator } from "./schema.js";

const update = (fields: object): AgentMessage =>
  agentMessage(
    JSON.parse(JSON.stringify({ method: "session/update", params: { sessionId: "s", update: fields } })),
    undefined,
  );

test.each<[string, AgentMessage]>([
  ["a text chunk", update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } })],
  [
    "a tool call",
    update({ sessionUpdate: "tool_call", toolCallId: "1", title: "t", kind: "other", status: "pending" }),
  ],
  ["a prompt's end", { kind: "response", method: "session/prompt", payload: { stopReason: "end_turn" } }],
  ["an empty result", { kind: "response", method: "session/close", payload: {} }],
  ["a null result where objects are empty", { kind: "response", method: "session/load", payload: null }],
  ["a method of one's own", { kind: "request", method: "_tenon/x", payload: { any: "thing" } }],
  ["an error", { kind: "error", method: undefined, payload: { code: -32700, message: "Parse error" } }],
  ["a cancelled request", { kind: "notification", method: "$/cancel_request", payload: { requestId: 1 } }],
])("%s is fine", async (_, message) => {
  expect((await acpSchemaValidator())(message)).toBe(undefined);
});

test.each<[string, AgentMessage, RegExp]>([
  [
    "a chunk without text",
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text" } }),
    /\/update\/content/,
  ],
  ["an unknown update", update({ sessionUpdate: "nonsense" }), /no session update of that name/],
  ["an unknown status", update({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "halfway" }), /status/],
  [
    "a made-up stop reason",
    { kind: "response", method: "session/prompt", payload: { stopReason: "bored" } },
    /stopReason/,
  ],
  ["a session without an id", { kind: "response", method: "session/new", payload: {} }, /"sessionId"/],
  [
    "a client's own method",
    { kind: "request", method: "session/prompt", payload: {} },
    /has no request "session\/prompt"/,
  ],
  ["a fractional error code", { kind: "error", method: undefined, payload: { code: 1.5, message: "" } }, /\/code/],
])("%s is a fault", async (_, message, problem) => {
  expect((await acpSchemaValidator())(message)).toMatch(problem);
});

test("what is only in the unstable schema is a fault unless it is asked for", async () => {
  const forked: AgentMessage = { kind: "response", method: "session/fork", payload: { sessionId: "s" } };
  expect((await acpSchemaValidator())(forked)).toContain('no response "session/fork"');
  expect((await acpSchemaValidator({ unstable: true }))(forked)).toBe(undefined);
});

test.each([
  [{ jsonrpc: "1.0", id: 1, result: {} }, /not "2.0"/],
  [{ jsonrpc: "2.0", result: {} }, /neither a method nor an id/],
  [{ jsonrpc: "2.0", id: 1 }, /either a result or an error/],
  [{ jsonrpc: "2.0", id: 1, result: {}, error: {} }, /either a result or an error/],
  [{ jsonrpc: "2.0", id: 1, error: { code: "x", message: "" } }, /integer code/],
  [{ jsonrpc: "2.0", method: 5 }, /no string/],
])("the envelope %j is broken", (message, problem) => {
  expect(envelopeProblem(message)).toMatch(problem);
});
