// The demo server as a client sees it: its tools, their results, progress and cancellation.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileArea } from "./file-area.js";
import { Notebook } from "./notes.js";
import { createDemoServer } from "./server.js";

let root: string;
let client: Client;
let pause: (delayMs: number, signal: AbortSignal) => Promise<void>;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "demo-server-test-"));
  pause = async () => {};
  const server = createDemoServer({
    notebook: new Notebook(),
    files: new FileArea(root),
    pause: (delayMs, signal) => pause(delayMs, signal),
  });
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  client = new Client({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(serverSide), client.connect(clientSide)]);
});

afterEach(async () => {
  await client.close();
  rmSync(root, { recursive: true, force: true });
});

async function call(name: string, args: Record<string, unknown> = {}): Promise<unknown> {
  return await client.callTool({ name, arguments: args });
}

function says(text: string): unknown {
  return expect.objectContaining({ content: [{ type: "text", text }] });
}

describe("the demo server", () => {
  it("lists its tools, each with title, description, annotations and an object schema", async () => {
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name).sort()).toEqual(
      [
        "add_note",
        "calculate",
        "draw_picture",
        "list_files",
        "list_notes",
        "read_file",
        "search_notes",
        "slow_job",
        "write_file",
      ].sort(),
    );
    for (const tool of tools) {
      expect(tool.title).toBeTruthy();
      expect(tool.description).toMatch(/\.$/);
      expect(tool.annotations?.readOnlyHint).toBeTypeOf("boolean");
      expect(tool.inputSchema.type).toBe("object");
    }
  });

  it("keeps notes and finds them again", async () => {
    expect(await call("list_notes")).toEqual(says("There are no notes yet."));
    expect(await call("add_note", { text: "buy milk" })).toEqual(says("Saved note 1: buy milk"));
    await call("add_note", { text: "call Ada" });
    expect(await call("list_notes")).toEqual(says("1. buy milk\n2. call Ada"));
    expect(await call("search_notes", { query: "ada" })).toEqual(says("2. call Ada"));
    expect(await call("search_notes", { query: "cheese" })).toEqual(says('No note contains "cheese".'));
  });

  it("calculates, with the value as structured content", async () => {
    const result = await call("calculate", { expression: "(2+3)*4" });
    expect(result).toEqual(says("(2+3)*4 = 20"));
    expect(result).toMatchObject({ structuredContent: { value: 20 } });
  });

  it("answers a bad expression, a bad path and bad arguments with an error result, and lives on", async () => {
    expect(await call("calculate", { expression: "1/0" })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "Division by zero." }],
    });
    expect(await call("read_file", { path: "../../etc/passwd" })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: '"../../etc/passwd" is outside the file area.' }],
    });
    expect(await call("draw_picture", { shape: "elephant" })).toMatchObject({ isError: true });
    expect(await call("list_notes")).toEqual(says("There are no notes yet."));
  });

  it("writes, lists and reads files", async () => {
    expect(await call("list_files")).toEqual(says("The file area is empty."));
    expect(await call("write_file", { path: "hello.txt", content: "Hi there" })).toEqual(
      says("Wrote 8 bytes to hello.txt."),
    );
    expect(await call("list_files")).toEqual(says("hello.txt (8 bytes)"));
    expect(await call("read_file", { path: "hello.txt" })).toEqual(says("Hi there"));
  });

  it("returns a picture as words and a PNG image", async () => {
    expect(await call("draw_picture", { shape: "triangle", colour: "green", size: 16 })).toMatchObject({
      content: [
        { type: "text", text: "A green triangle, 16 x 16 pixels." },
        { type: "image", mimeType: "image/png", data: expect.stringMatching(/^iVBORw0KGgo/) },
      ],
    });
  });

  it("reports the progress of the slow job step by step", async () => {
    const seen: unknown[] = [];
    const result = await client.callTool(
      { name: "slow_job", arguments: { steps: 3, step_ms: 1 } },
      { onprogress: (progress) => seen.push(progress) },
    );
    expect(seen).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress} of 3` })));
    expect(result).toEqual(says("The slow job is done: 3 of 3 steps."));
  });

  it("stops the slow job when the client cancels", async () => {
    const started = new Promise<AbortSignal>((resolve) => {
      pause = (_, signal) => {
        resolve(signal);
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      };
    });
    const cancel = new AbortController();
    const job = client.callTool({ name: "slow_job", arguments: {} }, { signal: cancel.signal });
    const inside = await started;
    const stopped = new Promise((resolve) => inside.addEventListener("abort", resolve));
    cancel.abort(new Error("enough"));
    await expect(job).rejects.toThrow("enough");
    await stopped;
    expect(inside.aborted).toBe(true);
  });
});
