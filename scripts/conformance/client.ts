// The client that the MCP conformance suite drives: one flow for every scenario, through this repository's own connections.
import { VERSION } from "../../src/base/version.js";
import {
  getPrompt,
  type Link,
  listPrompts,
  listResources,
  McpConnection,
  type Peer,
  readResource,
} from "../../src/mcp/index.js";
import { nodeWorld, stderrLog } from "../../src/world/index.js";
import { argumentsFor, prescribedCalls } from "./calls.js";
import { scenarioLogin } from "./login.js";

/** The suite kills only the shell around a client that hangs. */
const WATCHDOG_MS = 25_000;

/** Accepts everything with nothing: what a form needs besides, the connection fills in from its defaults. */
const PEER: Peer = {
  roots: () => [],
  elicit: async () => ({ action: "accept", content: {} }),
  sample: async () => ({
    role: "assistant",
    content: { type: "text", text: "sampled" },
    model: "none",
    stopReason: "endTurn",
  }),
};

async function use(connection: McpConnection, link: Link, signal: AbortSignal): Promise<void> {
  const world = nodeWorld();
  const tools = connection.tools.value;
  const calls =
    prescribedCalls() ??
    tools.map((tool) => ({ name: tool.name, args: argumentsFor(tool.inputSchema, tools[0]?.inputSchema) }));
  for (const { name, args } of calls) {
    const outcome = await connection.call(name, args, { signal, onProgress: () => {} });
    console.error(`${name}: ${outcome.kind}`, "error" in outcome ? outcome.error.message : "");
  }
  if (link.capabilities["resources"] !== undefined) {
    const { items } = await listResources(link, world, signal);
    for (const { uri } of items) await attempt(uri, () => readResource(link, uri, { signal }));
  }
  if (link.capabilities["prompts"] !== undefined) {
    const { items } = await listPrompts(link, world, signal);
    for (const { name } of items) await attempt(name, () => getPrompt(link, name, {}, { signal }));
  }
}

/** A scenario may well want a request to fail; only what the suite sees on its side counts. */
async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    console.error(`${what}: done`);
  } catch (error) {
    console.error(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function main(url: string): Promise<number> {
  const { signal } = new AbortController();
  const world = nodeWorld({ log: stderrLog("warn") });
  const spec = { kind: "http", name: "conformance", url, headers: {} } as const;
  const connection = new McpConnection(spec, {
    world,
    cwd: process.cwd(),
    client: { name: "tenon", version: VERSION },
    peer: PEER,
    oauth: scenarioLogin(),
  });
  connection.start();
  const isSettled = (kind: string) => kind !== "idle" && kind !== "connecting";
  const state = await connection.state.until(({ kind }) => isSettled(kind), signal);
  console.error("connection:", state.kind, connection.lastError?.message ?? "", connection.problems.join("; "));
  const { link } = connection;
  if (link) await use(connection, link, signal);
  await connection.close();
  return link ? 0 : 1;
}

const watchdog = setTimeout(() => {
  console.error(`not done after ${WATCHDOG_MS / 1000} s`);
  process.exit(1);
}, WATCHDOG_MS);
try {
  process.exitCode = await main(process.argv.at(-1) ?? "");
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
clearTimeout(watchdog);
// The suite holds stdin open for ever.
process.exit();
