// Shared by the checks: whether a server was reached, its tool was called, and the client was told.

import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { AgentAnswer } from "../../../testing/index.js";
import { CLI_LIMITS } from "../../limits.js";
import { problemOf, type RunningAgent } from "../agent.js";
import type { Bench, Turn } from "../bench.js";
import { CheckFailure, demand } from "../check.js";
import { wordOf } from "../fields.js";
import { isInitialized, receivedBy, receivesWithin, type TestServer } from "../test-servers.js";
import { waitUntil } from "../wait.js";

export const BOUNDS: typeof CLI_LIMITS.acpCheck & typeof CLI_LIMITS.acpCheckActs = {
  ...CLI_LIMITS.acpCheck,
  ...CLI_LIMITS.acpCheckActs,
};

interface OpenSession {
  readonly agent: RunningAgent;
  readonly sessionId: string;
  /** The answer to `session/new`. */
  readonly opened: AgentAnswer;
}

const TROUBLE = /fail|error|reject|refus|invalid|unsupported|unknown|denied|not connected|shadow|ignored|duplicate/iu;

/** Its tool is called in a turn; without the model that is brought along, that its tools are asked for has to do. */
export async function useServer(
  bench: Bench,
  agent: RunningAgent,
  sessionId: string,
  server: TestServer,
): Promise<string> {
  if (!bench.hasModel) {
    demand(
      await receivesWithin(server, "tools/list", bench.context.answerMs),
      `${whereItEnded(server)}; its tools were not listed`,
    );
    return "its tools were listed (the model was not asked)";
  }
  const turn = await bench.turn(agent, sessionId, [server.tool]);
  demandCall(server, turn);
  return `its tool was called as ${turn.called.find((name) => name.includes(server.tool)) ?? server.tool}`;
}

export function demandCall(server: TestServer, turn: Turn): void {
  if (receivedBy(server, "tools/call").length > 0) return;
  const isOffered = turn.offered.some((name) => name.includes(server.tool));
  const offer = isOffered
    ? "its tool was offered to the model and called, but the call did not reach it"
    : `its tool was not offered to the model (${turn.offered.length} others were)`;
  throw new CheckFailure(`${whereItEnded(server)}; ${offer}; the turn ended with ${turn.stopReason}`);
}

function whereItEnded(server: TestServer): string {
  if (receivedBy(server, "tools/list").length > 0) return "the server was connected";
  if (isInitialized(server)) return "the server was initialized";
  if (server.entry["command"] !== undefined) {
    return server.starts().length > 0 ? "the server was started" : "the server was never started";
  }
  return server.requests().length > 0 ? "the server was contacted" : "the server was never contacted";
}

/** Connected, by itself or at the latest for a turn. */
export async function demandConnected(
  bench: Bench,
  { agent, sessionId }: Pick<OpenSession, "agent" | "sessionId">,
  servers: readonly TestServer[],
): Promise<void> {
  if (await waitUntil(() => servers.every(isInitialized), BOUNDS.toldMs)) return;
  if (bench.hasModel) await bench.turn(agent, sessionId, []);
  const missing = servers.find((server) => !isInitialized(server));
  if (missing) throw new CheckFailure(`${whereItEnded(missing)} and never initialized`);
}

/** A notice, words of the agent's own, a failed tool call, or `_meta` that speaks of trouble; each naming the server. */
export function tells(update: JsonObject, name: string): boolean {
  if (!JSON.stringify(update).includes(name)) return false;
  switch (update["sessionUpdate"]) {
    case "notice":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return true;
    case "tool_call":
    case "tool_call_update":
      if (update["status"] === "failed") return true;
      break;
    default:
  }
  return metaTells(update["_meta"], name);
}

function metaTells(meta: JsonValue | undefined, name: string): boolean {
  const text = JSON.stringify(meta ?? {});
  return text.includes(name) && TROUBLE.test(text.replaceAll(name, ""));
}

/** In which way the client hears of a server by itself or in a turn; undefined when it does not. */
export async function howTold(
  bench: Bench,
  {
    agent,
    sessionId,
    opened,
  }: { readonly agent: RunningAgent; readonly sessionId: string; readonly opened: AgentAnswer },
  name: string,
): Promise<string | undefined> {
  if (opened.ok && metaTells(opened.result["_meta"], name)) return "_meta of the answer";
  const told = () => agent.updatesOf(sessionId).find((update) => tells(update, name));
  await waitUntil(() => told() !== undefined, BOUNDS.toldMs);
  if (!told() && bench.hasModel) {
    await bench.turn(agent, sessionId, []);
    await waitUntil(() => told() !== undefined, BOUNDS.quietMs);
  }
  const update = told();
  return update && describe(update);
}

function describe(update: JsonObject): string {
  const { sessionUpdate, title, content } = update;
  const words = title ?? (isJsonObject(content) ? content["text"] : undefined);
  return `${wordOf(sessionUpdate)}${typeof words === "string" ? ` ${JSON.stringify(words.slice(0, 100))}` : ""}`;
}

export async function openWith(
  agent: RunningAgent,
  servers: readonly JsonValue[],
): Promise<{ readonly sessionId: string; readonly opened: AgentAnswer }> {
  const params = { ...agent.newSessionParams([]), mcpServers: servers };
  const opened = await agent.ask("session/new", params);
  demand(opened.ok, `session/new failed: ${problemOf(opened)}`);
  const { sessionId } = opened.result;
  demand(typeof sessionId === "string", "the answer to session/new has no sessionId");
  return { sessionId, opened };
}

/** A new agent with a session that has these servers. */
export async function startWith(bench: Bench, servers: readonly TestServer[]): Promise<OpenSession> {
  const agent = await bench.start();
  const opened = await openWith(
    agent,
    servers.map(({ entry }) => entry),
  );
  return { agent, ...opened };
}

export function callsOf(server: TestServer): number {
  return receivedBy(server, "tools/call").length;
}
