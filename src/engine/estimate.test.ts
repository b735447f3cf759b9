// The estimate: near enough for text of every script, once per message, corrected by what the provider counts.
import { expect, test } from "vitest";
import { modelOf, says, stop } from "../../test/scripted-turn.js";
import { LIMITS } from "../base/limits.js";
import { text } from "../base/text/content.js";
import type { Model, ModelMessage } from "../models/index.js";
import { messageTokens, TokenMeter, textTokens, toolTokens } from "./turn.js";

const model = (more: Partial<Model> = {}): Model => modelOf(says(stop), more);
const abilities = (contextTokens: number, maxOutputTokens?: number): Model["abilities"] => ({
  contextTokens,
  ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  images: false,
  audio: false,
  pdf: false,
  thinking: [],
});
const request = (words: string) => ({
  system: "",
  messages: [{ role: "user", content: [text(words)] } satisfies ModelMessage],
  tools: [],
});

/** Real counts of common tokenizers, low and high. */
test.each([
  ["English", "The quick brown fox jumps over the lazy dog, and then it goes home to sleep.", 17, 22],
  ["JSON", '{"name":"read_file","arguments":{"path":"/home/user/a.txt","limit":100}}', 20, 36],
  ["Russian", "Съешь ещё этих мягких французских булок, да выпей чаю.", 16, 34],
  ["Chinese", "我能吞下玻璃而不伤身体。", 10, 20],
  ["pictures", "🎉🎉🎉🎉", 4, 12],
])("%s comes out near what tokenizers count", (_, words, low, high) => {
  expect(textTokens(words)).toBeGreaterThanOrEqual(low);
  expect(textTokens(words)).toBeLessThanOrEqual(high);
});

test("every part of a message counts: words, calls, results, what goes back to the provider, pictures by what they cost", () => {
  const call = { callId: "c", name: "read", argumentsJson: `{"path":"${"a".repeat(400)}"}` };
  const bare: ModelMessage = { role: "assistant", text: "", toolCalls: [] };
  expect(messageTokens({ ...bare, toolCalls: [call] })).toBeGreaterThan(messageTokens(bare) + 100);
  expect(messageTokens({ ...bare, providerData: { signature: "b".repeat(400) } })).toBeGreaterThan(100);
  const image = { type: "image", data: "A".repeat(1_000_000), mimeType: "image/png" } as const;
  expect(messageTokens({ role: "user", content: [image] })).toBeLessThan(2_000);
  const results = [{ callId: "c", name: "read", isError: false, content: [text("x".repeat(4_000))] }];
  expect(messageTokens({ role: "tool", results })).toBeGreaterThan(1_000);
  expect(toolTokens({ name: "t", description: "d".repeat(400), inputSchema: {} })).toBeGreaterThan(100);
});

test("what the provider counts corrects the estimate for its model only", () => {
  const meter = new TokenMeter();
  const [one, other] = [model({ id: "a/one" }), model({ id: "a/other" })];
  const asked = request("word ".repeat(2_000));
  const before = meter.tokensOf(one, asked);
  for (let times = 0; times < 10; times++) meter.learn(one, asked, before * 2);
  expect(meter.tokensOf(one, asked) / before).toBeCloseTo(2, 1);
  expect(meter.tokensOf(other, asked)).toBe(before);
});

test("counts that cannot be those of the prompt are not believed", () => {
  const meter = new TokenMeter();
  const asked = request("word ".repeat(2_000));
  const before = meter.tokensOf(model(), asked);
  for (const count of [0, 1, before * 100, Number.NaN]) meter.learn(model(), asked, count);
  meter.learn(model(), request("hi"), 20);
  expect(meter.tokensOf(model(), asked)).toBe(before);
});

test("the budget leaves room for the longest answer, and never less than half the window for the prompt", () => {
  const meter = new TokenMeter();
  const { compactAt, unknownTokens } = LIMITS.context;
  expect(meter.budgetOf(model({ abilities: abilities(200_000) }))).toBe(200_000 * compactAt);
  expect(meter.budgetOf(model({ abilities: abilities(400_000, 128_000) }))).toBe(272_000);
  expect(meter.budgetOf(model({ abilities: abilities(8_000, 8_000) }))).toBe(4_000);
  expect(meter.windowOf(model())).toBe(unknownTokens);
});

test("a window that proves smaller than thought is remembered", () => {
  const meter = new TokenMeter();
  const asked = request("word ".repeat(8_000));
  const tokens = meter.tokensOf(model(), asked);
  meter.overflowed(model(), asked);
  expect(meter.windowOf(model())).toBe(tokens);
  meter.overflowed(model(), request("hi"));
  expect(meter.windowOf(model())).toBeGreaterThan(2_000);
});
