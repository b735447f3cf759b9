// Embeddings: each text is embedded once, answers are checked, and a cancelled search asks no more.
import { expect, test } from "vitest";
import { TOOL_LIMITS } from "../limits.js";
import { mcpToolId } from "../names.js";
import type { CatalogTool } from "../tool.js";
import { type Embedder, ToolEmbeddings } from "./embeddings.js";

/** As much of a vector as the tests need: how often a text says "cat" and "dog". */
class CountingEmbedder implements Embedder {
  readonly id = "counting";
  readonly asked: string[][] = [];

  async embed(texts: readonly string[]): Promise<readonly (readonly number[])[]> {
    this.asked.push([...texts]);
    return texts.map((text) => [1, text.split("cat").length - 1, text.split("dog").length - 1]);
  }
}

function tool(name: string, description: string): CatalogTool {
  return {
    id: mcpToolId("pets", name),
    origin: "user",
    source: "pets",
    label: name,
    definition: { name, description, inputSchema: { type: "object", properties: { dogFood: {} } } },
    definitionHash: `${name}${description}`,
  };
}

const signal = new AbortController().signal;

test("tools are as close as their texts, and a text is embedded once", async () => {
  const embedder = new CountingEmbedder();
  const embeddings = new ToolEmbeddings(embedder);
  const tools = [tool("a", "cat cat cat"), tool("b", "dog")];
  const first = await embeddings.scores("a cat", tools, signal);
  expect(first.get(mcpToolId("pets", "a"))).toBeGreaterThan(first.get(mcpToolId("pets", "b")) ?? 1);
  const again = [tool("a", "cat cat cat"), tool("b", "dog dog")];
  await embeddings.scores("a dog", again, signal);
  expect(embedder.asked.map((texts) => texts.length)).toEqual([2, 1, 1, 1]);
  expect(embedder.asked[2]?.[0]).toContain("dog dog");
  expect(embedder.asked[0]?.[0]).toContain("dogFood");
});

test("many tools are asked for in batches, and a cancelled search asks no more", async () => {
  const embedder = new CountingEmbedder();
  const embeddings = new ToolEmbeddings(embedder);
  const { batch } = TOOL_LIMITS.toolEmbedding;
  const tools = Array.from({ length: batch * 2 + 1 }, (_, n) => tool(`t${n}`, "cat"));
  const controller = new AbortController();
  controller.abort(new Error("enough"));
  await expect(embeddings.scores("cat", tools, controller.signal)).rejects.toThrow("enough");
  expect(embedder.asked).toEqual([]);
  await embeddings.scores("cat", tools, signal);
  expect(embedder.asked.map(({ length }) => length)).toEqual([batch, batch, 1, 1]);
});

const NO_VECTORS: number[][] = [];

test.each([
  ["too few vectors", NO_VECTORS, "gave 0 vectors for 1 texts"],
  ["a vector of nothing", [[0, 0, 0]], "no direction"],
  ["what is no number", [[Number.NaN, 1]], "no direction"],
])("an embedder that gives %s is told so", async (_what, answer, message) => {
  const embeddings = new ToolEmbeddings({ id: "broken", embed: async () => answer });
  await expect(embeddings.scores("cat", [tool("a", "cat")], signal)).rejects.toThrow(message);
});

test("vectors of different lengths cannot be compared", async () => {
  let length = 1;
  const embed = async (texts: readonly string[]) => texts.map(() => Array.from({ length: ++length }, () => 1));
  const embeddings = new ToolEmbeddings({ id: "growing", embed });
  await expect(embeddings.scores("cat", [tool("a", "cat")], signal)).rejects.toThrow("different lengths");
});
