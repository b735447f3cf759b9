// Results behind handles: everything can be read back, nothing is kept twice, and what is short stays in sight.
import { expect, test } from "vitest";
import { type ContentBlock, plainText, text } from "../base/text/content.js";
import type { ModelMessage } from "../models/index.js";
import { fakeWorld } from "../testing/index.js";
import { presentOutcome, ResultStore } from "../tools/index.js";
import { putAwayResults } from "./compact.js";

const toolMessage = (...contents: (readonly ContentBlock[])[]): ModelMessage => ({
  role: "tool",
  results: contents.map((content, index) => ({
    callId: `c${index}`,
    name: "t",
    isError: false,
    content,
    origin: "s / t",
  })),
});

function contentsOf(message: ModelMessage | undefined): readonly (readonly ContentBlock[])[] {
  return message?.role === "tool" ? message.results.map(({ content }) => content) : [];
}

async function readBack(store: ResultStore, handle: string): Promise<string> {
  const bytes = await store.read(handle, { start: 0, length: 1_000_000 });
  return Buffer.from(bytes).toString();
}

test("a long result leaves its start and a handle under which all of it is kept", async () => {
  const store = new ResultStore({ world: fakeWorld() });
  const long = "line of the result\n".repeat(500);
  const [message] = await putAwayResults([toolMessage([text(long)], [text("short")])], store, 1);
  const [first, second] = contentsOf(message);
  expect(plainText(first ?? []).length).toBeLessThan(700);
  expect(plainText(first ?? [])).toMatch(
    /^line of the result\n[\s\S]*\[tenon: .*kept as r1: read it with tenon_read_result/,
  );
  expect(await readBack(store, "r1")).toBe(long);
  expect(second).toEqual([text("short")]);
});

test("what was too long to begin with keeps the handle it has", async () => {
  const store = new ResultStore({ world: fakeWorld() });
  const media = { images: false, audio: false, documents: false };
  const outcome = { kind: "done", content: [text("a long line\n".repeat(20_000))] } as const;
  const { model } = await presentOutcome(outcome, { store, origin: "s / t", media });
  const [message] = await putAwayResults([toolMessage(model.content)], store, 1);
  expect(plainText(contentsOf(message)[0] ?? [])).toContain("kept as r1:");
  expect(await store.list()).toHaveLength(1);
});

test("a handle that the text only speaks of is not believed", async () => {
  const store = new ResultStore({ world: fakeWorld() });
  const long = `[tenon: The whole text (1 bytes) is kept as r9: gone]\n${"x".repeat(5_000)}`;
  const [message] = await putAwayResults([toolMessage([text(long)])], store, 1);
  expect(plainText(contentsOf(message)[0] ?? [])).toContain("kept as r1:");
  expect(await readBack(store, "r1")).toBe(long);
});

test("pictures go, and can be passed on by handle", async () => {
  const store = new ResultStore({ world: fakeWorld() });
  const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" } as const;
  const [message] = await putAwayResults([toolMessage([text("see"), image])], store, 1);
  const [content] = contentsOf(message);
  expect(content?.map(({ type }) => type)).toEqual(["text", "text"]);
  expect(plainText(content ?? [])).toContain('"$result":"r1"');
  expect(await readBack(store, "r1")).toBe(image.data);
});

test("messages from the given one on stay as they are, and so does what cannot be kept", async () => {
  const world = fakeWorld();
  const long = toolMessage([text("x".repeat(5_000))]);
  expect(await putAwayResults([long, long], new ResultStore({ world }), 1)).toMatchObject([{ role: "tool" }, long]);
  const full = new ResultStore({ world, maxBytes: 10, maxMemoryBytes: 10 });
  expect(contentsOf((await putAwayResults([long], full, 1))[0])).toEqual(contentsOf(long));
});
