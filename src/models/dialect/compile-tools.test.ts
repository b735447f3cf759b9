// The tools of a request: which are offered in what form, which are not, and how calls find their way back.
import { describe, expect, test } from "vitest";
import type { JsonSchema } from "../../base/json/json.js";
import type { ModelTool } from "../model.js";
import { compileTools } from "./compile.js";

const open: JsonSchema = { type: "object", properties: { a: { type: "string" } } };

function tool(name: string, inputSchema: JsonSchema, more: Partial<ModelTool> = {}): ModelTool {
  return { name, description: "A tool.", inputSchema, ...more };
}

describe("the tools of a request", () => {
  test("keep their order; those without a form are left out with a reason", () => {
    const tools = [tool("one", open), tool("two", { type: "string" }), tool("three", open)];
    const compiled = compileTools(tools, { id: "anthropic/claude" });
    expect(compiled.tools.map(({ name }) => name)).toEqual(["one", "three"]);
    expect(compiled.refused).toEqual([{ name: "two", reason: "its arguments are not an object but a string" }]);
  });

  test("take the dialect the model names, else the one its id says, else none", () => {
    const tools = [tool("one", { ...open, anyOf: [{ required: ["a"] }, { required: ["b"] }] })];
    const root = (model: Parameters<typeof compileTools>[1]) => compileTools(tools, model).tools[0];
    expect(root({ id: "google/x" })?.inputSchema).not.toHaveProperty("anyOf");
    expect(root({ id: "openai/x" })?.strict).toBe(false);
    expect(root({ id: "mine/x", dialect: "openai-chat" })?.strict).toBe(false);
    expect(root({ id: "mine/x" })?.strict).toBeUndefined();
    const plain = compileTools([tool("one", open)], { id: "mine/x" }).tools[0];
    expect(plain?.inputSchema).toBe(open);
  });

  test("ask for the strict form by their own flag or the provider's options, which are passed on without it", () => {
    const options = { openai: { strict: true, deferLoading: true }, anthropic: { strict: "required" } };
    const [first] = compileTools([tool("one", open, { providerOptions: options })], { id: "openai/x" }).tools;
    expect(first).toMatchObject({ strict: true, providerOptions: { openai: { deferLoading: true }, anthropic: {} } });
    const [second] = compileTools([tool("one", open, { strict: true })], { id: "openai/x" }).tools;
    expect(second?.strict).toBe(true);
    const [third] = compileTools([tool("one", open, { providerOptions: options })], { id: "google/x" }).tools;
    expect(third).not.toHaveProperty("strict");
    const free = tool("one", { type: "object", properties: { m: { type: "object" } } }, { providerOptions: options });
    expect(compileTools([free], { id: "anthropic/x" }).refused[0]?.reason).toMatch(/^it has no strict form: /);
  });

  test("share Anthropic's allowance of strict tools: the first get it, the rest go without", () => {
    const make = (_: unknown, index: number) => tool(`t${index}`, { ...open, required: ["a"] }, { strict: true });
    const compiled = compileTools(Array.from({ length: 25 }, make), { id: "anthropic/x" });
    expect(compiled.tools.filter(({ strict }) => strict === true)).toHaveLength(20);
    const optional = compileTools(
      Array.from({ length: 30 }, (_, index) => tool(`t${index}`, open, { strict: true })).slice(0, 20),
      { id: "anthropic/x" },
    );
    expect(optional.tools.every(({ strict }) => strict === true)).toBe(true);
  });

  test("without properties keep the words on their arguments for Gemini, which drops such schemas", () => {
    const raw: JsonSchema = { type: "object", minProperties: 1 };
    const [only] = compileTools([tool("one", raw)], { id: "google/x" }).tools;
    expect(only?.description).toBe("A tool.\nAt least 1 key.");
  });
});

describe("a call", () => {
  const tools = [
    tool("list", { type: "object", properties: { "filter[id]": { type: "string" } } }),
    tool("other", open),
  ];
  const { tools: offered, restore } = compileTools(tools, { id: "anthropic/x" });
  const shown = Object.keys(offered[0]?.inputSchema["properties"] ?? {})[0] ?? "";

  test("gets its arguments back under the names of the tool", () => {
    const call = { callId: "1", name: "list", argumentsJson: JSON.stringify({ [shown]: "7" }) };
    expect(restore(call)).toEqual({ ...call, argumentsJson: '{"filter[id]":"7"}' });
  });

  test("is left alone when there is nothing to restore, or nothing to read", () => {
    const call = { callId: "1", name: "other", argumentsJson: '{ "a": 1 }' };
    expect(restore(call)).toBe(call);
    const cut = { callId: "1", name: "list", argumentsJson: `{"${shown}":` };
    expect(restore(cut)).toBe(cut);
    const unknown = { callId: "1", name: "nobody", argumentsJson: "{}" };
    expect(restore(unknown)).toBe(unknown);
  });
});
