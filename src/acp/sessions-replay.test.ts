// What a client is sent of a conversation that is over: the person's words too, and each call as one card.
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { text } from "../base/text/content.js";
import type { TurnEvent } from "../engine/index.js";
import type { SessionEvent } from "../session/index.js";
import { abilitiesOf } from "./capabilities.js";
import { replayUpdates } from "./relay.js";

function replay(...events: SessionEvent[]): SessionUpdate[] {
  return [...replayUpdates(events, abilitiesOf())];
}

function turn(event: TurnEvent): SessionEvent {
  return { kind: "turn", event };
}

const started = (toolCallId: string): SessionEvent =>
  turn({ kind: "call_started", toolCallId, subject: { name: "n" }, arguments: { a: 1 }, wasAnnounced: false });
const ended = (toolCallId: string): SessionEvent =>
  turn({ kind: "call_ended", toolCallId, outcome: { kind: "done", content: [text("out")] }, elapsedMs: 1 });

test("the person's words come as chunks of their own, in the order of the conversation", () => {
  const image = { type: "image", data: "QQ==", mimeType: "image/png" } as const;
  expect(
    replay({ kind: "user", content: [text("look"), image] }, turn({ kind: "text", text: "nice" }), {
      kind: "turn_ended",
      turn: 1,
      stopReason: "end_turn",
    }),
  ).toEqual([
    { sessionUpdate: "user_message_chunk", content: text("look") },
    { sessionUpdate: "user_message_chunk", content: image },
    { sessionUpdate: "agent_message_chunk", content: text("nice") },
  ]);
});

test("each call is one card with its end on it, also the last one and one that was dropped", () => {
  const card = { sessionUpdate: "tool_call", title: "n", kind: "other" };
  const content = [{ type: "content", content: text("out") }];
  const whole = { ...card, status: "completed", rawInput: { a: 1 }, locations: [], content };
  expect(
    replay(
      started("1-1"),
      ended("1-1"),
      turn({ kind: "call_arguments", toolCallId: "1-2", subject: { name: "n" }, offset: 0, delta: "" }),
      turn({ kind: "call_dropped", toolCallId: "1-2", reason: "gone" }),
      started("1-3"),
      ended("1-3"),
    ),
  ).toEqual([
    { ...whole, toolCallId: "1-1" },
    { ...card, toolCallId: "1-2", status: "failed", content: [{ type: "content", content: text("gone") }] },
    { ...whole, toolCallId: "1-3" },
  ]);
});
