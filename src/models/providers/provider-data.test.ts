// What goes back to a provider verbatim, and when it does not.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import { type AssistantMessage, type RecordedPart, toAssistantParts, toProviderData } from "./provider-data.js";

const recorded: RecordedPart[] = [
  { kind: "thought", text: "hm", options: { p: { signature: "s1" } } },
  { kind: "text", length: 3 },
  { kind: "call", callId: "1", options: { p: { signature: "s2" } } },
  { kind: "text", length: 4, options: { p: { id: "t" } } },
];

function message(changed: Partial<AssistantMessage> = {}): AssistantMessage {
  const providerData: JsonObject = JSON.parse(JSON.stringify(toProviderData("p/m", recorded)));
  const call = { callId: "1", name: "t", argumentsJson: "{}" };
  return { role: "assistant", text: "one two", toolCalls: [call], providerData, ...changed };
}

const bare = [
  { type: "text", text: "one two" },
  { type: "tool-call", toolCallId: "1", toolName: "t", input: {} },
];

describe("the data of a provider", () => {
  test("restores every part in its order, with what belongs to it", () => {
    expect(toAssistantParts("p/m", message())).toEqual([
      { type: "reasoning", text: "hm", providerOptions: { p: { signature: "s1" } } },
      { type: "text", text: "one" },
      { type: "tool-call", toolCallId: "1", toolName: "t", input: {}, providerOptions: { p: { signature: "s2" } } },
      { type: "text", text: " two", providerOptions: { p: { id: "t" } } },
    ]);
  });

  test("is not made when there is nothing to send back", () => {
    expect(
      toProviderData("p/m", [
        { kind: "text", length: 3 },
        { kind: "call", callId: "1" },
      ]),
    ).toBeUndefined();
  });

  test("is left out for another model: signatures do not travel", () => {
    expect(toAssistantParts("p/other", message())).toEqual(bare);
  });

  test.each<[string, Partial<AssistantMessage>]>([
    ["its text was changed", { text: "one two three" }],
    ["a call is gone", { toolCalls: [] }],
    ["a call came in", { toolCalls: [...message().toolCalls, { callId: "2", name: "t", argumentsJson: "{}" }] }],
    ["it is malformed", { providerData: { model: "p/m", parts: [{ kind: "text", length: "7" }] } }],
    ["it is no list", { providerData: { model: "p/m", parts: "text" } }],
  ])("is left out when %s", (_, changed) => {
    const parts = toAssistantParts("p/m", message(changed));
    expect(parts.some((part) => part.type === "reasoning")).toBe(false);
    expect(parts[0]).toEqual({ type: "text", text: changed.text ?? "one two" });
  });
});
