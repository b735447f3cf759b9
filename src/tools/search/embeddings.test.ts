// Embeddings: each text is embedded once, answers are checked, nobody waits longer than a bound, and vectors are kept.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import { fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { TOOL_LIMITS } from "../limits.js";
import { mcpToolId } from "../names.js";
import type { CatalogTool } from "../tool.js";
import { type Embedder, ToolEmbeddings } from "./embeddings.js";

/** As much of a vector as the tests need: how often a text says "cat" and "dog". */
class CountingEmbedder implements Embedder {
  readonly id: string;
  readonly asked: string[][] = [];
  /** Called before each answer. */
  before: (texts: readonly string[], signal: AbortSignal) => Promise<void> | void = () => {};

  constructor(id = "counting") {
    this.id = id;
  }

  async embed(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]> {
    this.asked.push([...texts]);
    await this.before(texts, signal);
    return texts.map((text) => [1, text.split("cat").length - 1, text.split("dog").length - 1]);
  }

  get counts(): readonly number[] {
    return this.asked.map(({ length }) => length);
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
const { batch } = TOOL_LIMITS.toolEmbedding;
const { pause, wait } = TOOL_LIMITS.toolEmbeddingMs;
const crowd = (count: number) => Array.from({ length: count }, (_, n) => tool(`t${n}`, "cat"));

function aborted(given: AbortSignal): Promise<void> {
  return new Promise((_, reject) => given.addEventListener("abort", () => reject(given.reason), { once: true }));
}

describe("what is asked of the embedder", () => {
  test("tools are as close as their texts, and a text is embedded once", async () => {
    const embedder = new CountingEmbedder();
    await using embeddings = new ToolEmbeddings(embedder, { world: fakeWorld() });
    const tools = [tool("a", "cat cat cat"), tool("b", "dog")];
    const { scores } = await embeddings.scores("a cat", tools, signal);
    expect(scores.get(mcpToolId("pets", "a"))).toBeGreaterThan(scores.get(mcpToolId("pets", "b")) ?? 1);
    await embeddings.scores("a dog", [tool("a", "cat cat cat"), tool("b", "dog dog")], signal);
    expect(embedder.counts).toEqual([1, 2, 1, 1]);
    expect(embedder.asked[3]?.[0]).toContain("dog dog");
    expect(embedder.asked[1]?.[0]).toContain("dogFood");
  });

  test("many tools are asked for in batches, a long prompt by its beginning and end", async () => {
    const embedder = new CountingEmbedder();
    await using embeddings = new ToolEmbeddings(embedder, { world: fakeWorld() });
    await embeddings.scores(`cat ${"log ".repeat(9_000)} dog`, crowd(batch * 2 + 1), signal);
    expect(embedder.counts).toEqual([1, batch, batch, 1]);
    const [[query = ""] = []] = embedder.asked;
    expect([query.length < 2_100, query.startsWith("cat"), query.endsWith("dog")]).toEqual([true, true, true]);
  });

  test("a text that is too long for the model is sent once more, shorter", async () => {
    const embedder = new CountingEmbedder();
    embedder.before = (texts) => {
      if (texts.some((text) => text.length > 600)) throw new TenonError("model.invalid_request", "too long");
    };
    await using embeddings = new ToolEmbeddings(embedder, { world: fakeWorld() });
    const { scores, reason } = await embeddings.scores("cat", [tool("a", "cat ".repeat(900))], signal);
    expect([scores.size, reason, embedder.counts]).toEqual([1, undefined, [1, 1, 1]]);
  });
});

describe("time and failures", () => {
  test("a cancelled search asks nothing, and stops waiting when it is cancelled", async () => {
    const embedder = new CountingEmbedder();
    await using embeddings = new ToolEmbeddings(embedder, { world: fakeWorld() });
    const controller = new AbortController();
    embedder.before = (_texts, given) => aborted(given);
    const waiting = embeddings.scores("cat", crowd(1), controller.signal);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect(embeddings.scores("cat", crowd(1), controller.signal)).rejects.toThrow("enough");
    expect(embedder.counts).toEqual([1]);
  });

  test("what is not embedded in time is left out, and is there for the next search", async () => {
    const world = fakeWorld();
    const embedder = new CountingEmbedder();
    const gates: (() => void)[] = [];
    const isOpen = { value: true };
    embedder.before = async (texts) => {
      if (texts.length < batch || isOpen.value) return;
      await new Promise<void>((resolve) => gates.push(resolve));
    };
    isOpen.value = false;
    await using embeddings = new ToolEmbeddings(embedder, { world });
    const tools = crowd(batch + 1);
    const waiting = embeddings.scores("cat", tools, signal);
    await expect.poll(() => gates.length).toBe(1);
    await world.advance(wait);
    const { scores, reason } = await waiting;
    expect([scores.size, reason]).toEqual([1, undefined]);
    for (const open of gates) open();
    isOpen.value = true;
    expect((await embeddings.scores("cat", tools, signal)).scores.size).toBe(batch + 1);
    expect(embedder.counts).toEqual([1, batch, 1, 1]);
  });

  test("an embedder that does not answer costs the bound, and is not asked again at once after it failed", async () => {
    const world = fakeWorld();
    const embedder = new CountingEmbedder();
    let fail = () => {};
    embedder.before = () =>
      new Promise((_, reject) => {
        fail = () => reject(new TenonError("model.rate_limited", "slow down", { retryAfterMs: 5_000 }));
      });
    await using embeddings = new ToolEmbeddings(embedder, { world });
    const waiting = embeddings.scores("cat", crowd(1), signal);
    await world.advance(wait);
    expect(await waiting).toEqual({ scores: new Map(), reason: "counting gave no answer within 1.5 s." });
    fail();
    await world.advance(0);
    expect((await embeddings.scores("cat", crowd(1), signal)).reason).toMatch(/^slow down/u);
    expect(embedder.counts).toEqual([1]);
    embedder.before = () => {};
    await world.advance(5_000);
    expect((await embeddings.scores("cat", crowd(1), signal)).reason).toBeUndefined();
  });

  const NO_VECTORS: number[][] = [];

  test.each([
    ["too few vectors", NO_VECTORS, "gave 0 vectors for 1 texts"],
    ["a vector of nothing", [[0, 0, 0]], "no direction"],
    ["what is no number", [[Number.NaN, 1]], "no direction"],
  ])("an embedder that gives %s is not used, and the reason says so", async (_what, answer, message) => {
    await using embeddings = new ToolEmbeddings({ id: "broken", embed: async () => answer }, { world: fakeWorld() });
    const { scores, reason } = await embeddings.scores("cat", [tool("a", "cat")], signal);
    expect([scores.size, reason]).toEqual([0, expect.stringContaining(message)]);
  });

  test("vectors of different lengths cannot be compared; after the pause all is learned anew", async () => {
    const world = fakeWorld();
    let length = 1;
    const embed = async (texts: readonly string[]) => texts.map(() => Array.from({ length }, () => 1));
    await using embeddings = new ToolEmbeddings({ id: "growing", embed }, { world });
    await embeddings.scores("cat", crowd(1), signal);
    length = 2;
    expect((await embeddings.scores("cat", crowd(1), signal)).reason).toContain("different lengths");
    await world.advance(pause);
    expect(await embeddings.scores("cat", crowd(1), signal)).toEqual({
      scores: new Map([[crowd(1)[0]?.id, expect.closeTo(1)]]),
    });
  });
});

describe("vectors on the disk", () => {
  const root = mkdtempSync(join(tmpdir(), "tenon-embeddings-"));
  const world = nodeWorld({ log: { debug() {}, info() {}, warn() {}, error() {} }, env: {} });
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(root, "cache-"));
  });
  afterAll(() => rmSync(root, { recursive: true }));

  async function learn(id = "counting", tools = crowd(3)) {
    const embedder = new CountingEmbedder(id);
    const embeddings = new ToolEmbeddings(embedder, { world, folder });
    const closeness = await embeddings.scores("cat", tools, signal);
    await embeddings[Symbol.asyncDispose]();
    return { asked: embedder.counts, closeness };
  }

  test("are used by the next process, of the same model only", async () => {
    const { asked, closeness } = await learn();
    expect(asked).toEqual([1, 3]);
    const again = await learn();
    expect([again.asked, again.closeness]).toEqual([[1], closeness]);
    expect((await learn("another")).asked).toEqual([1, 3]);
    expect((await learn("counting", [...crowd(3), tool("new", "dog")])).asked).toEqual([1, 1]);
    expect((await learn("counting", [tool("new", "dog")])).asked).toEqual([1]);
  });

  test.each<[string, (bytes: Buffer) => Uint8Array]>([
    ["cut off", (bytes) => bytes.subarray(0, -1)],
    ["changed in one byte", (bytes) => bytes.fill(77, bytes.length - 1)],
    ["empty", () => new Uint8Array()],
    ["something else", () => Buffer.from("hello ".repeat(200))],
    [
      "with a header that lies",
      (bytes) => Buffer.from(bytes.toString("latin1").replace('"count":3', '"count":9'), "latin1"),
    ],
    ["of vectors without numbers", () => Buffer.from('{"v":1,"dimensions":0,"count":0}'.padEnd(256))],
  ])("a file that is %s is ignored and written anew", async (_what, damage) => {
    const { closeness } = await learn();
    const [name = ""] = readdirSync(folder);
    writeFileSync(join(folder, name), damage(readFileSync(join(folder, name))));
    const again = await learn();
    expect([again.asked, again.closeness]).toEqual([[1, 3], closeness]);
    expect((await learn()).asked).toEqual([1]);
  });

  test("a folder in the place of the file, or of the cache, costs only the warm start", async () => {
    await learn();
    const [name = ""] = readdirSync(folder);
    rmSync(join(folder, name));
    mkdirSync(join(folder, name));
    expect(await learn()).toMatchObject({ asked: [1, 3], closeness: { scores: { size: 3 } } });
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "");
    expect(await learn()).toMatchObject({ asked: [1, 3], closeness: { scores: { size: 3 } } });
  });

  test("what another process has written meanwhile is kept", async () => {
    const one = new ToolEmbeddings(new CountingEmbedder(), { world, folder });
    const other = new ToolEmbeddings(new CountingEmbedder(), { world, folder });
    await other.scores("cat", [], signal);
    await one.scores("cat", crowd(3), signal);
    await one[Symbol.asyncDispose]();
    await other.scores("cat", [tool("new", "dog")], signal);
    await other[Symbol.asyncDispose]();
    expect((await learn("counting", [...crowd(3), tool("new", "dog")])).asked).toEqual([1]);
  });

  test("files of models used longest ago make room", async () => {
    await learn();
    const [old = ""] = readdirSync(folder);
    truncateSync(join(folder, old), TOOL_LIMITS.toolEmbedding.cacheBytes);
    utimesSync(join(folder, old), 1, 1);
    await learn("another");
    expect(readdirSync(folder)).toEqual([expect.not.stringMatching(old)]);
  });
});
