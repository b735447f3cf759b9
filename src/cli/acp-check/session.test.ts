// What counts as telling the client of a server.
import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import { tells } from "./session.js";

const told: readonly JsonObject[] = [
  { sessionUpdate: "notice", severity: "error", title: "srv1 failed" },
  { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "srv1 could not be started" } },
  { sessionUpdate: "tool_call", toolCallId: "1", title: "srv1", status: "failed" },
  { sessionUpdate: "session_info_update", _meta: { mcp: [{ name: "srv1", state: "failed" }] } },
];

const untold: readonly JsonObject[] = [
  { sessionUpdate: "notice", severity: "error", title: "srv2 failed" },
  { sessionUpdate: "tool_call", toolCallId: "1", title: "srv1 echo", status: "completed" },
  { sessionUpdate: "available_commands_update", availableCommands: [{ name: "srv1", description: "fails" }] },
  { sessionUpdate: "session_info_update", _meta: { mcp: [{ name: "srv1", state: "ready" }] } },
];

test.each(told)("tells: %j", (update) => {
  expect(tells(update, "srv1")).toBe(true);
});

test.each(untold)("does not tell: %j", (update) => {
  expect(tells(update, "srv1")).toBe(false);
});
