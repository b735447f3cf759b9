// Long messages are split by a worker file of its own: it must work beside code that was bundled and minified.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { ROOT } from "../scripts/lib/run.js";
import { bundleWorkers } from "../scripts/lib/workers.js";
import type { LargeMessage } from "../src/mcp/transport/large/large-message.js";
import { nodeWorld } from "../src/world/index.js";

test("a long message is split by the worker file beside a bundle", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tenon-large-"));
  try {
    const outfile = join(folder, "bundle.mjs");
    const entry = join(import.meta.dirname, "../src/mcp/transport/large/large-message.ts");
    const options = { bundle: true, minify: true, platform: "node", format: "esm", logLevel: "error" } as const;
    await build({ entryPoints: [entry], outfile, ...options });
    const [worker] = [...(await bundleWorkers(ROOT))].filter(([path]) => path.endsWith("/splitter-worker.mjs"));
    writeFileSync(join(folder, "splitter-worker.mjs"), worker?.[1] ?? "");
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
