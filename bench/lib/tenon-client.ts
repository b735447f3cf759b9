// Tenon as a contestant: its own connection code, with the limits that protect other people's services raised.

import type { JsonObject } from "../../src/base/json/json.js";
import { base64Bytes } from "../../src/base/text/content.js";
import { type CallOutcome, McpConnection, type ServerSpec } from "../../src/mcp/index.js";
import { nodeWorld } from "../../src/world/index.js";
import type { BenchClient, Target } from "./mcp-target.js";

const UNLIMITED = { callsPerMinute: Number.POSITIVE_INFINITY, callsAtOnce: 64 } as const;
const world = nodeWorld();

export function startTenon(target: Target, name = "bench"): McpConnection {
  const connection = new McpConnection(specOf(target, name), {
    world,
    cwd: process.cwd(),
    client: { name: "tenon-bench", version: "1.0.0" },
    limits: UNLIMITED,
  });
  connection.start();
  return connection;
}

/** Rejects with the cause when it does not become ready. */
export async function untilReady(connection: McpConnection): Promise<void> {
  const state = await connection.state.until(({ kind }) => kind === "ready" || kind === "failed", connection.signal);
  if (state.kind === "failed") throw state.cause;
}

export async function openTenon(target: Target): Promise<BenchClient> {
  const connection = startTenon(target);
  await untilReady(connection);
  const options = { signal: new AbortController().signal, onProgress: () => {} };
  return {
    call: async (tool: string, args: JsonObject) => payloadOf(await connection.call(tool, args, options)),
    close: () => connection.close(),
  };
}

function payloadOf(outcome: CallOutcome): number {
  if (outcome.kind === "cancelled") throw new Error("cancelled");
  if (outcome.kind !== "answered") throw outcome.error;
  const [block] = outcome.content;
  switch (block?.type) {
    case "text":
      return block.text.length;
    case "image":
      return base64Bytes(block.data);
    case "spilled":
      return block.bytes;
    default:
      throw new Error(`the result has no payload but ${block?.type ?? "nothing"}`);
  }
}

function specOf(target: Target, name: string): ServerSpec {
  if (target.kind === "http") return { kind: "http", name, url: target.url, headers: {} };
  return { kind: "stdio", name, command: target.command, args: target.args, env: {} };
}
