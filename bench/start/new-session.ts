// How long `session/new` takes, however many servers it names and whatever the process is doing.

import { ACP_LIMITS } from "../../src/acp/limits.js";
import { isJsonObject, type JsonValue } from "../../src/base/json/json.js";
import { type AcpServerEntry, echoTool, scriptedAcpServer } from "../../src/testing/index.js";
import { Agent, type AgentCommand } from "../lib/agent.js";
import { median, rounded } from "../lib/statistics.js";
import { INITIALIZE } from "./initialize.js";

const SERVER_COUNTS = [0, 1, 5, 20] as const;

export interface NewSessionResult {
  readonly servers: number;
  /** The first message after `initialize`, in a fresh process: nothing but the front is loaded. */
  readonly freshMs: number;
  /** In a process with everything loaded, one session at a time. */
  readonly loadedMs: number;
  /** The same, each right after the answer of the one before, whose servers are being started. */
  readonly inRowMs: number;
}

export interface LoadingResult {
  /** How long after the answer of `initialize` the `session/new` was sent. */
  readonly afterMs: number;
  readonly medianMs: number;
}

export interface NewSessionOptions {
  readonly command: AgentCommand;
  readonly rounds: number;
}

/** A row is as long as this many server processes allow, within bounds: too short a row ends before a server starts. */
const ROW_SERVERS = 60;
const ROW_MIN_SESSIONS = 4;
const ROW_MAX_SESSIONS = 20;
/** The front loads the agent when a client has been silent for a while; these lie before, in and after that. */
const LOADING_DELAYS_MS = [50, ...[5, 20, 40, 80, 300].map((ms) => ACP_LIMITS.frontQuietMs + ms)] as const;
/** Each of them waits for seconds. */
const LOADING_MAX_ROUNDS = 5;

export async function measureNewSession({ command, rounds }: NewSessionOptions): Promise<NewSessionResult[]> {
  const fresh = new Map<number, number[]>(SERVER_COUNTS.map((count) => [count, []]));
  for (let round = 0; round < rounds; round++) {
    for (const count of SERVER_COUNTS) fresh.get(count)?.push(await freshSession(command, servers(count)));
  }
  const results: NewSessionResult[] = [];
  for (const count of SERVER_COUNTS) {
    const { loaded, inRow } = await loadedSessions(command, count, rounds);
    results.push({
      servers: count,
      freshMs: rounded(median(fresh.get(count) ?? [])),
      loadedMs: rounded(median(loaded)),
      inRowMs: rounded(median(inRow)),
    });
  }
  return results;
}

/** A client that takes its time between `initialize` and `session/new` may meet the process while it loads. */
export async function measureWhileLoading({ command, rounds }: NewSessionOptions): Promise<LoadingResult[]> {
  const samples = new Map<number, number[]>(LOADING_DELAYS_MS.map((delay) => [delay, []]));
  for (let round = 0; round < Math.min(rounds, LOADING_MAX_ROUNDS); round++) {
    for (const delay of LOADING_DELAYS_MS) samples.get(delay)?.push(await freshSession(command, [], delay));
  }
  return [...samples].map(([afterMs, times]) => ({ afterMs, medianMs: rounded(median(times)) }));
}

/** Resident memory once the agent is loaded and one session without servers is open. */
export async function measureLoadedRss(command: AgentCommand): Promise<number | undefined> {
  return await withAgent(command, async (agent) => {
    await load(agent, command.cwd);
    const rssMb = agent.residentMb();
    return rssMb === undefined ? undefined : rounded(rssMb);
  });
}

async function freshSession(command: AgentCommand, mcpServers: readonly JsonValue[], delayMs = 0): Promise<number> {
  return await withAgent(command, async (agent) => {
    await agent.request("initialize", INITIALIZE);
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const { elapsedMs } = await agent.request("session/new", { cwd: command.cwd, mcpServers });
    return elapsedMs;
  });
}

async function loadedSessions(
  command: AgentCommand,
  count: number,
  rounds: number,
): Promise<{ loaded: number[]; inRow: number[] }> {
  const params = { cwd: command.cwd, mcpServers: servers(count) };
  const rowLength = Math.max(
    ROW_MIN_SESSIONS,
    Math.min(ROW_MAX_SESSIONS, Math.floor(ROW_SERVERS / Math.max(count, 1))),
  );
  return await withAgent(command, async (agent) => {
    const loaded: number[] = [];
    const inRow: number[] = [];
    await load(agent, command.cwd);
    for (let round = 0; round < rounds; round++) {
      const { elapsedMs, result } = await agent.request("session/new", params);
      loaded.push(elapsedMs);
      await close(agent, [result]);
    }
    while (inRow.length < rounds) {
      const opened: JsonValue[] = [];
      for (let position = 0; position < rowLength; position++) {
        const { elapsedMs, result } = await agent.request("session/new", params);
        opened.push(result);
        if (position > 0) inRow.push(elapsedMs);
      }
      await close(agent, opened);
    }
    return { loaded, inRow };
  });
}

/** The answer to a method of the agent itself shows that the front has handed over. */
async function load(agent: Agent, cwd: string): Promise<void> {
  await agent.request("initialize", INITIALIZE);
  const { result } = await agent.request("session/new", { cwd, mcpServers: [] });
  await close(agent, [result]);
}

async function close(agent: Agent, sessions: readonly JsonValue[]): Promise<void> {
  await Promise.all(
    sessions.map((session) => {
      const sessionId = isJsonObject(session) ? session["sessionId"] : undefined;
      if (typeof sessionId !== "string") throw new Error(`session/new answered ${JSON.stringify(session)}`);
      return agent.request("session/close", { sessionId });
    }),
  );
}

async function withAgent<T>(command: AgentCommand, use: (agent: Agent) => Promise<T>): Promise<T> {
  const agent = new Agent(command);
  let value: T;
  try {
    value = await use(agent);
  } catch (error) {
    await agent.kill();
    throw error;
  }
  await agent.end();
  return value;
}

/** From two servers on, one hangs at its handshake and, from three on, one cannot be started: they may cost nothing. */
function servers(count: number): JsonValue[] {
  const entries: AcpServerEntry[] = [];
  for (let index = 0; index < count; index++) {
    if (count >= 2 && index === 0) {
      entries.push(scriptedAcpServer("hung", { steps: { initialize: [{ do: "never" }] } }));
    } else if (count >= 3 && index === 1) {
      entries.push({ name: "missing", command: "tenon-bench-no-such-command", args: [], env: [] });
    } else {
      entries.push(scriptedAcpServer(`good-${index}`, { tools: [echoTool()] }));
    }
  }
  return entries.map((entry) => ({ ...entry, env: entry.env.map((variable) => ({ ...variable })) }));
}
