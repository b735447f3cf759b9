// The reference server over both remote transports, where `npm run peers` has installed it.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bench, closeListener, listenOnLoopback } from "../../../../test/remote/bench.js";
import { nodeWorld } from "../../../world/index.js";
import { McpConnection } from "../../connection/connection.js";

const { own } = bench();
const program = join(
  import.meta.dirname,
  "../../../.cache/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

async function freePort(): Promise<string> {
  const server = createServer();
  const { port } = new URL(await listenOnLoopback(server));
  await closeListener(server);
  return port;
}

async function everything(mode: "sse" | "streamableHttp"): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [program, mode], { env: { PORT: port }, stdio: ["ignore", "ignore", "pipe"] });
  own({ [Symbol.asyncDispose]: () => ended(child) });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
    child.stderr.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes(port)) resolve();
    });
  });
  return `http://127.0.0.1:${port}/${mode === "sse" ? "sse" : "mcp"}`;
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
}

const never: AbortSignal = new AbortController().signal;

describe.runIf(existsSync(program))("server-everything", () => {
  test.each([
    ["streamableHttp", "http"],
    ["sse", "sse"],
    ["sse", "http"],
  ] as const)("in its mode %s under an entry of type %s", async (mode, kind) => {
    const url = await everything(mode);
    const seen: unknown[] = [];
    const connection = new McpConnection(
      { kind, name: "everything", url, headers: {} },
      {
        world: nodeWorld({ env: {} }),
        cwd: "/",
        client: { name: "test", version: "1" },
        peer: {
          roots: () => [{ uri: "file:///somewhere", name: "somewhere" }],
          elicit: async () => ({ action: "accept", content: { name: "Ada", check: true } }),
          sample: async () => ({
            role: "assistant",
            model: "m",
            content: { type: "text", text: "sampled" },
          }),
        },
      },
    );
    own(connection);
    connection.start();
    await connection.state.until((state) => state.kind === "ready", never);
    expect(connection.tools.value.length).toBeGreaterThan(10);
    const call = (tool: string, args: Record<string, string | number>) =>
      connection.call(tool, args, { signal: never, onProgress: (progress) => seen.push(progress) });
    expect(await call("echo", { message: "hi" })).toMatchObject({ content: [{ text: "Echo: hi" }] });
    expect(await call("trigger-long-running-operation", { duration: 0.3, steps: 3 })).toMatchObject({
      kind: "answered",
    });
    expect(seen.length).toBeGreaterThan(0);
    const elicited = await call("trigger-elicitation-request", {});
    expect(JSON.stringify(elicited)).toContain("Ada");
    const sampled = await call("trigger-sampling-request", { prompt: "x", maxTokens: 5 });
    expect(JSON.stringify(sampled)).toContain("sampled");
    const cancelling = new AbortController();
    const slow = connection.call(
      "trigger-long-running-operation",
      { duration: 60, steps: 60 },
      { signal: cancelling.signal, onProgress: () => cancelling.abort() },
    );
    expect((await slow).kind).toBe("cancelled");
    expect(await call("echo", { message: "on" })).toMatchObject({ kind: "answered" });
  });
});
