// The script that takes long messages apart runs in a thread from its own source: it must survive bundling and minifying.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import type { LargeMessage } from "../src/mcp/large/large.js";
import { nodeWorld } from "../src/world/index.js";

test("a long message is taken apart by the same script after everything has been bundled and minified", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tenon-large-"));
  try {
    const outfile = join(folder, "bundle.mjs");
    const entry = join(import.meta.dirname, "../src/mcp/large/large.ts");
    const options = { bundle: true, minify: true, platform: "node", format: "esm", logLevel: "error" } as const;
    await build({ entryPoints: [entry], outfile, ...options });
    const minified: { LargeMessage: typeof LargeMessage } = await import(pathToFileURL(outfile).href);
    const message = new minified.LargeMessage({ world: nodeWorld(), folder, onRoom: () => {} });
    const content = [
      { type: "text", text: "é\n".repeat(100_000) },
      { type: "text", text: "short" },
    ];
    message.push(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content } })));
    expect(await message.end()).toEqual({ jsonrpc: "2.0", id: 1, result: { content } });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
