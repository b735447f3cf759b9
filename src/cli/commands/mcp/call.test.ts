// What `tenon mcp call` prints of an answer too long for memory: all of it, except to a person's terminal.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { MCP_LIMITS } from "../../../mcp/limits.js";
import { scriptedServer } from "../../../testing/index.js";
import { nodeWorld } from "../../../world/index.js";
import { systemKeyring } from "../../secrets.js";
import { createPalette } from "../../terminal/stream.js";
import { runCall } from "./call.js";

const BYTES = MCP_LIMITS.messageSpillBytes + 1_000;

const TOOLS = [
  { name: "long", reply: { kind: "bytes", bytes: BYTES } },
  { name: "picture", reply: { kind: "image" } },
] as const;

async function called(
  isTTY: boolean,
  json: boolean,
  tool: string = "long",
): Promise<{ readonly out: string; readonly err: string }> {
  const home = mkdtempSync(join(tmpdir(), "tenon-call-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { command, args } = scriptedServer({ tools: TOOLS });
  writeFileSync(join(home, "config.json"), JSON.stringify({ mcpServers: { big: { command, args } } }));
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const world = nodeWorld({ env: { PATH: process.env["PATH"], HOME: home, TENON_HOME: home }, log });
  const output = Object.assign(new PassThrough({ highWaterMark: 4 * BYTES }), isTTY ? { isTTY, columns: 80 } : {});
  const errorOutput = new PassThrough();
  const keyring = systemKeyring(world);
  const context = { world, keyring, cwd: home, output, errorOutput, columns: 80, palette: createPalette(false) };
  expect(await runCall({ values: { json }, words: ["big", tool] }, context)).toBe(0);
  output.end();
  errorOutput.end();
  return { out: await text(output), err: await text(errorOutput) };
}

test("into a file or a pipe: the whole answer", async () => {
  const { out, err } = await called(false, false);
  expect(out.length).toBe(BYTES + 1);
  expect(err).not.toContain("cut");
});

test("as JSON: the whole answer, also on a terminal", async () => {
  const { out } = await called(true, true);
  const { content }: { content: { type: string; text: string }[] } = JSON.parse(out);
  expect(content.map(({ type, text: said }) => [type, said.length])).toEqual([["text", BYTES]]);
});

test("on a terminal: how it begins, and how to get all of it", async () => {
  const { out, err } = await called(true, false);
  expect(out.length).toBeLessThan(2 * MCP_LIMITS.spillPreviewBytes);
  expect(out).toMatch(/^\[text of \d+ bytes\] x/u);
  expect(err).toContain("the answer is cut: with --json, -o FILE, or sent into a file or a pipe, all of it is printed");
});

test.each([true, false])("a picture, with its size and how to get it (terminal: %s)", async (isTTY) => {
  const { out, err } = await called(isTTY, false, "picture");
  const { content }: { content: { data: string }[] } = JSON.parse((await called(isTTY, true, "picture")).out);
  const bytes = Buffer.from(content[0]?.data ?? "", "base64").length;
  expect(out).toContain(`[image image/png, ${bytes} bytes]`);
  expect(err).toContain("-o FILE keeps the data");
});
