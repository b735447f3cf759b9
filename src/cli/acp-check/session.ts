// A session of the agent under test: its turns, whether a server was reached, its tool called, and the client told.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { AgentAnswer } from "../../testing/index.js";
import { problemOf, type RunningAgent } from "./agent.js";
import type { Bench } from "./bench.js";
import { BOUNDS, CheckFailure, demand, waitUntil } from "./check.js";
import { wordOf } from "./fields.js";
import { instructionText } from "./model/conversation.js";
import { isInitialized, receivedBy, receivesWithin, type TestServer } from "./test-servers.js";

export interface Turn {
  readonly stopReason: string;
  readonly ms: number;
  /** Names of all tools the model was offered in it, last request first. */
  readonly offered: readonly string[];
  /** Names of the tools the model called, searches included. */
  readonly called: readonly string[];
  readonly requestCount: number;
  /** The provider's protocol in which the model was asked. */
  readonly format: string;
  readonly hasImage: boolean;
  /** Updates of its session that came in it. */
  readonly updates: readonly JsonObject[];
}

export class CheckedSession {
  readonly agent: RunningAgent;
  readonly id: string;
  /** The answer to the request that opened it. */
  readonly opened: AgentAnswer;
  readonly #bench: Bench;

  constructor(bench: Bench, agent: RunningAgent, id: string, opened: AgentAnswer) {
    this.#bench = bench;
    this.agent = agent;
    this.id = id;
    this.opened = opened;
  }

  get updates(): readonly JsonObject[] {
    return this.agent.connection.updatesOf(this.id);
  }

  async ask(method: string, params: JsonObject = {}): Promise<AgentAnswer> {
    return await this.agent.ask(method, { ...params, sessionId: this.id });
  }

  cancel(): void {
    this.agent.connection.notify("session/cancel", { sessionId: this.id });
  }

  async close(): Promise<void> {
    const closed = await this.ask("session/close");
    demand(closed.ok, `session/close failed: ${problemOf(closed)}`);
  }

  /** One prompt that has every tool called whose name contains one of the words. */
  async turn(words: readonly string[]): Promise<Turn> {
    const { turn, answer } = this.beginTurn(words);
    return turn(await answer);
  }

  /** The same without waiting for its end. */
  beginTurn(words: readonly string[]): {
    readonly answer: Promise<AgentAnswer>;
    readonly turn: (answer: AgentAnswer) => Turn;
  } {
    const name = this.#bench.word("turn");
    const before = this.updates.length;
    const prompt = [{ type: "text", text: instructionText({ turn: name, words }) }];
    const turn = (answer: AgentAnswer) => {
      const requests = this.#bench.context.model.requestsOf(name);
      return {
        stopReason: stopReasonOf(answer),
        ms: answer.ms,
        offered: [...new Set(requests.toReversed().flatMap(({ tools }) => tools))],
        called: requests.flatMap(({ called }) => (called === undefined ? [] : [called])),
        requestCount: requests.length,
        format: requests[0]?.format ?? "",
        hasImage: requests.some(({ hasImage }) => hasImage),
        updates: this.updates.slice(before),
      };
    };
    return { answer: this.ask("session/prompt", { prompt }), turn };
  }

  /** Its tool is called in a turn; without the model that is brought along, that its tools are asked for has to do. */
  async use(server: TestServer): Promise<string> {
    if (!this.#bench.hasModel) {
      const isListed = await receivesWithin(server, "tools/list", this.#bench.context.answerMs);
      demand(isListed, `${whereItEnded(server)}; its tools were not listed`);
      return "its tools were listed (the model was not asked)";
    }
    const turn = await this.turn([server.tool]);
    demandCall(server, turn);
    return `its tool was called as ${turn.called.find((name) => name.includes(server.tool)) ?? server.tool}`;
  }

  /** Until they are connected, by themselves or at the latest for a turn. */
  async connected(...servers: readonly TestServer[]): Promise<void> {
    if (await waitUntil(() => servers.every(isInitialized), BOUNDS.toldMs)) return;
    if (this.#bench.hasModel) await this.turn([]);
    const missing = servers.find((server) => !isInitialized(server));
    if (missing) throw new CheckFailure(`${whereItEnded(missing)} and never initialized`);
  }

  /** In which way the client hears of a server by itself or in a turn; undefined when it does not. */
  async howTold(name: string): Promise<string | undefined> {
    if (this.opened.ok && metaTells(this.opened.result["_meta"], name)) return "_meta of the answer";
    const told = () => this.updates.find((update) => tells(update, name));
    await waitUntil(() => told() !== undefined, BOUNDS.toldMs);
    if (!told() && this.#bench.hasModel) {
      await this.turn([]);
      await waitUntil(() => told() !== undefined, BOUNDS.quietMs);
    }
    const update = told();
    if (!update) return undefined;
    const { sessionUpdate, title, content } = update;
    const words = title ?? (isJsonObject(content) ? content["text"] : undefined);
    return `${wordOf(sessionUpdate)}${typeof words === "string" ? ` ${JSON.stringify(words.slice(0, 100))}` : ""}`;
  }
}

export function stopReasonOf(answer: AgentAnswer): string {
  return answer.ok ? wordOf(answer.result["stopReason"]) : `error ${answer.code} ${answer.message}`;
}

export function callsOf(server: TestServer): number {
  return receivedBy(server, "tools/call").length;
}

export function demandCall(server: TestServer, turn: Turn): void {
  if (callsOf(server) > 0) return;
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

const TROUBLE = /fail|error|reject|refus|invalid|unsupported|unknown|denied|not connected|shadow|ignored|duplicate/iu;
const SPOKEN = ["notice", "agent_message_chunk", "agent_thought_chunk"];
const CALLED = ["tool_call", "tool_call_update"];

/** A notice, words of the agent's own, a failed tool call, or `_meta` that speaks of trouble; each naming the server. */
export function tells(update: JsonObject, name: string): boolean {
  if (!JSON.stringify(update).includes(name)) return false;
  const kind = wordOf(update["sessionUpdate"]);
  const isTold = SPOKEN.includes(kind) || (CALLED.includes(kind) && update["status"] === "failed");
  return isTold || metaTells(update["_meta"], name);
}

function metaTells(meta: JsonValue | undefined, name: string): boolean {
  const text = JSON.stringify(meta ?? {});
  return text.includes(name) && TROUBLE.test(text.replaceAll(name, ""));
}
