// Prints the files of `src` in which a function runs between a prompt with one tool call and its answer, by V8 coverage.
// The session has an MCP server over stdio and has answered one such prompt before; with --first it has not.
import { mkdtempSync, rmSync } from "node:fs";
import { Session as Inspector } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Model } from "../src/models/index.js";
import { createHost, type Session, type SessionEvent } from "../src/session/index.js";
import { nodeWorld } from "../src/world/index.js";

const SRC = fileURLToPath(new URL("../src/", import.meta.url));

/** One tool, `echo`, without a dependency. */
const SERVER = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const echo = { name: "echo", description: "Repeats a text", inputSchema: { type: "object", properties: { text: { type: "string" } } } };
const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "echo", version: "1" } }),
  "tools/list": () => ({ tools: [echo] }),
  "tools/call": (params) => ({ content: [{ type: "text", text: params.arguments.text }] }),
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = results[method]?.(params);
  send(result ? { id, result } : { id, error: { code: -32601, message: "unknown method" } });
});`;

/** Calls the server's tool once, then answers. */
const MODEL: Model = {
  id: "scripted/one-call",
  async *stream({ messages, tools }) {
    const usage = { inputTokens: 10, outputTokens: 10 };
    if (messages.at(-1)?.role === "tool") {
      yield { kind: "text", text: "done" };
      yield { kind: "finish", reason: "stop", usage };
      return;
    }
    const name = tools.find((tool) => tool.name.includes("echo"))?.name ?? "echo";
    yield { kind: "text", text: "I call it." };
    yield { kind: "tool_call", call: { callId: "call-1", name, argumentsJson: '{"text":"hello"}' } };
    yield { kind: "finish", reason: "tool_calls", usage };
  },
};

async function main(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "tenon-prompt-files-"));
  const world = nodeWorld({ env: { ...process.env, TENON_HOME: home, HOME: home } });
  const host = createHost({ world, model: MODEL });
  try {
    const server = { kind: "stdio", name: "echo", command: process.execPath, args: ["-e", SERVER], env: {} } as const;
    const session = host.createSession({ cwd: home, servers: [server] });
    session.attach({ ask: async () => "always" });
    await ready(session);
    const events = session.events();
    if (!process.argv.includes("--first")) await session.prompt("Call the tool.");
    await pause(1_000);
    const files = await filesRunBy(() => session.prompt("Call the tool."));
    await host.close();
    await checkCalls(events);
    for (const file of files) console.log(file);
    console.log(`\n${files.length} files run a function between a prompt with one tool call and its answer`);
  } finally {
    await host.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Until the server is ready and the work in the background that follows is done. */
async function ready(session: Session): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const isReady = session.servers[0]?.state === "ready";
    await pause(isReady ? 1_000 : 50);
    if (isReady) return;
  }
  throw new Error("the MCP server is not ready");
}

async function checkCalls(events: AsyncIterable<SessionEvent>): Promise<void> {
  const outcomes: string[] = [];
  for await (const { kind, ...rest } of events) {
    if (kind !== "turn" || !("event" in rest) || rest.event.kind !== "call_ended") continue;
    outcomes.push(rest.event.outcome.kind);
  }
  if (outcomes.length === 0 || outcomes.some((kind) => kind !== "done"))
    throw new Error(`calls ended: ${outcomes.join()}`);
}

async function pause(ms: number): Promise<void> {
  await new Promise((done) => setTimeout(done, ms));
}

async function filesRunBy(run: () => Promise<unknown>): Promise<readonly string[]> {
  const inspector = new Inspector();
  inspector.connect();
  await inspector.post("Profiler.enable");
  await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await run();
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  inspector.disconnect();
  const files = result.flatMap(({ url, functions }) => {
    const path = url.startsWith("file:") ? fileURLToPath(new URL(url)) : "";
    // The function at offset 0 is the module itself: loading a file is not running one of its functions.
    const isRun = functions.some(({ ranges }) => ranges.some(({ startOffset, count }) => startOffset > 0 && count > 0));
    return isRun && path.startsWith(SRC) ? [relative(SRC, path)] : [];
  });
  return [...new Set(files)].sort();
}

await main();
