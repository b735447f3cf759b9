// The measured process of `bench/sandbox`: starts one server again and again in one kind of sandbox, and prints the figures.
import { endTree } from "../../src/base/io/process.js";
import { McpConnection, type SandboxSpec, type StdioSpec } from "../../src/mcp/index.js";
import { sandboxedLaunch } from "../../src/mcp/transport/sandbox/sandboxed-launch.js";
import { launchOf } from "../../src/mcp/transport/stdio/launch.js";
import { nodeWorld } from "../../src/world/index.js";
import type { Figures } from "../lib/sample.js";
import { median } from "../lib/statistics.js";
import { untilReady } from "../lib/tenon-client.js";

export interface SandboxJob {
  readonly sandbox?: SandboxSpec;
  readonly command: string;
  readonly args: readonly string[];
  readonly starts: number;
}

const world = nodeWorld();
const cwd = process.cwd();
const { signal } = new AbortController();

/** Until its tools are listed, and until nothing of it is left. */
async function startAndEnd(spec: StdioSpec): Promise<{ readonly readyMs: number; readonly closeMs: number }> {
  const connection = new McpConnection(spec, { world, cwd, client: { name: "tenon-bench", version: "1.0.0" } });
  const start = performance.now();
  connection.start();
  await untilReady(connection);
  const ready = performance.now();
  await connection.close();
  return { readyMs: ready - start, closeMs: performance.now() - ready };
}

/** A program that does nothing, from its spawn to its exit, what is looked up before included. */
async function bareMs(sandbox: SandboxSpec | undefined): Promise<number> {
  const spec: StdioSpec = { kind: "stdio", name: "true", command: "/usr/bin/true", args: [], env: {} };
  const start = performance.now();
  const request = launchOf(spec, cwd, world);
  const launch = sandbox ? await sandboxedLaunch({ spec, sandbox, request, sessionCwd: cwd, world, signal }) : request;
  const child = world.spawn(launch);
  const exit = await child.exited;
  const tookMs = performance.now() - start;
  await endTree(child, world, { stdinMs: 100, terminateMs: 100 });
  if (exit.kind !== "exited" || exit.code !== 0) throw new Error(`true did not run: ${JSON.stringify(exit)}`);
  return tookMs;
}

async function main({ sandbox, command, args, starts }: SandboxJob): Promise<Figures> {
  const spec: StdioSpec = { kind: "stdio", name: "s", command, args, env: {}, ...(sandbox ? { sandbox } : {}) };
  const { readyMs: firstMs } = await startAndEnd(spec);
  const later: Awaited<ReturnType<typeof startAndEnd>>[] = [];
  const bare: number[] = [];
  for (let count = 0; count < starts; count++) {
    later.push(await startAndEnd(spec));
    bare.push(await bareMs(sandbox));
  }
  return {
    firstMs,
    readyMs: median(later.map(({ readyMs }) => readyMs)),
    closeMs: median(later.map(({ closeMs }) => closeMs)),
    bareMs: median(bare),
  };
}

process.stdout.write(`${JSON.stringify(await main(JSON.parse(process.argv[2] ?? "null")))}\n`);
process.exit(0);
