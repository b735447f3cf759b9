// Going round in circles: noticed alone and in turn with others, and never where something changes.
import { expect, test } from "vitest";
import { text } from "../base/text/content.js";
import type { ModelToolCall, ModelToolResult } from "../models/index.js";
import { RepetitionGuard } from "./loop.js";

const call = (name: string, argumentsJson = "{}"): ModelToolCall => ({
  callId: `${Math.random()}`,
  name,
  argumentsJson,
});
const result = (words: string, more: Partial<ModelToolResult> = {}): ModelToolResult => ({
  callId: "x",
  name: "n",
  isError: false,
  content: [text(words)],
  ...more,
});

function roundsOf(...steps: readonly (readonly [ModelToolCall, ModelToolResult])[]): readonly number[] {
  const guard = new RepetitionGuard();
  return steps.map(([one, other]) => guard.add([one], [other]));
}

test("the same call with the same result counts up, under whatever id", () => {
  expect(roundsOf([call("a"), result("x")], [call("a"), result("x")], [call("a"), result("x")])).toEqual([1, 2, 3]);
});

test.each([
  ["another tool", call("b"), result("x")],
  ["other arguments", call("a", '{"b":1}'), result("x")],
  ["another result", call("a"), result("y")],
  ["a failure", call("a"), result("x", { isError: true })],
  ["another picture", call("a"), result("x", { content: [{ type: "image", data: "AA", mimeType: "image/png" }] })],
])("%s begins anew", (_, nextCall, nextResult) => {
  expect(roundsOf([call("a"), result("x")], [call("a"), result("x")], [nextCall, nextResult])).toEqual([1, 2, 1]);
});

test("two calls in turn are a circle as well, and so are three", () => {
  const round = (...names: string[]) =>
    names.map((name): [ModelToolCall, ModelToolResult] => [call(name), result(name)]);
  expect(roundsOf(...round("a", "b", "a", "b", "a", "b")).at(-1)).toBe(3);
  expect(roundsOf(...round("a", "b", "c", "a", "b", "c", "a", "b", "c")).at(-1)).toBe(3);
  expect(roundsOf(...round("a", "b", "c", "d", "a", "b", "c", "d")).at(-1)).toBe(1);
});
