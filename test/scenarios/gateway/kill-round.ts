// kill -9 of a gateway under running turns, with translators attached: every prompt is answered, and every call was made once.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type JsonObject, parseObject } from "../../../src/base/json/json.js";
import { type AcpServerEntry, listLiving, scriptedAcpServer } from "../../../src/testing/index.js";
import {
  type AnswerPart,
  fakeProvider,
  gate,
  type ProviderReply,
  type ProviderRequest,
} from "../../../src/testing/lab/index.js";
import { TemporaryFolder } from "../agent.js";
import { conversationIn, TARGETS } from "../providers/target.js";
import { differences, type Editor, Fleet, loadedLines, numberedLines, type ShownUpdate, untilNone } from "./fleet.js";

export interface KillRound {
  /** For each turn, from the kill to the first update of the next gateway. */
  readonly backMs: readonly number[];
  readonly calls: number;
  /** Calls that had been sent and whose outcome nobody knows. */
  readonly unknown: number;
  readonly problems: readonly string[];
}

export interface KillRoundOptions {
  readonly turns: number;
  /** 0 to 1: when the kill comes, and which provider's form is used. */
  readonly chance: number;
}

/** Model answers with calls, before the last one. */
const STEPS = 4;
const CALLS = 2;
const MAX_DELAY_MS = 400;
const ANSWERED_WITHIN_MS = 60_000;
const PROCESSES_GONE_WITHIN_MS = 5_000;

export async function runKillRound({ turns, chance }: KillRoundOptions): Promise<KillRound> {
  const target = TARGETS[Math.floor(chance * 97) % TARGETS.length] ?? TARGETS[0];
  if (!target) throw new Error("there are no targets");
  await using provider = await fakeProvider();
  const killed = gate();
  const script = new CallingModel(killed.opened);
  provider.replyWith((request) => script.reply(request));
  using home = new TemporaryFolder();
  await using fleet = new Fleet(home, { env: { ...target.env(provider), TENON_MODEL: target.model } });
  const all = await Promise.all(
    Array.from({ length: turns }, async (_, index) => await KilledTurn.begin(fleet, index)),
  );
  await Promise.all(all.map(({ hasBegun }) => hasBegun));
  await sleep(chance * MAX_DELAY_MS);
  const pid = await fleet.gatewayPid();
  const before = new Set([...listLiving({ under: pid }).map(({ identity }) => identity)]);
  process.kill(pid, "SIGKILL");
  const killedMs = performance.now();
  killed.open();
  const left = await untilNone(() => listLiving({ identities: before }), PROCESSES_GONE_WITHIN_MS);
  const problems = left.map(({ pid: id, command }) => `left behind by the kill: ${id} ${command}`);
  for (const turn of all) problems.push(...(await turn.verify(killedMs)));
  problems.push(...provider.refusals.map(({ fault }) => `the provider refused: ${JSON.stringify(fault)}`));
  return {
    backMs: all.map(({ backMs }) => backMs),
    calls: all.reduce((sum, { calls }) => sum + calls, 0),
    unknown: all.reduce((sum, { unknown }) => sum + unknown, 0),
    problems,
  };
}

/** Says a few words and makes two calls, some times over, each with a nonce of its own; its last answer waits for the kill. */
class CallingModel {
  readonly #killed: Promise<void>;
  #nonce = 0;

  constructor(killed: Promise<void>) {
    this.#killed = killed;
  }

  reply(request: ProviderRequest): ProviderReply {
    const nonces = new Set(JSON.stringify(conversationIn(request)).match(/nonce-\d+/gu));
    const words: AnswerPart = {
      kind: "text",
      text: "Some words, größer 👍, in a few pieces.",
      chunks: 5,
      after: { pieces: 2, happens: { kind: "pause", until: sleep(30) } },
    };
    if (nonces.size >= STEPS * CALLS) {
      return { kind: "answer", parts: [{ kind: "pause", until: this.#killed }, words] };
    }
    const calls = Array.from({ length: CALLS }, (): AnswerPart => {
      this.#nonce += 1;
      return { kind: "tool_call", name: "mcp__ledger__write_down", arguments: { text: `nonce-${this.#nonce}` } };
    });
    return { kind: "answer", parts: [words, ...calls] };
  }
}

class KilledTurn {
  readonly #fleet: Fleet;
  readonly #editor: Editor;
  readonly #sessionId: string;
  readonly #ledger: string;
  readonly #answer: Promise<string>;
  readonly hasBegun: Promise<unknown>;
  backMs = Number.NaN;
  calls = 0;
  unknown = 0;

  private constructor(fleet: Fleet, editor: Editor, about: { readonly sessionId: string; readonly ledger: string }) {
    this.#fleet = fleet;
    this.#editor = editor;
    this.#sessionId = about.sessionId;
    this.#ledger = about.ledger;
    const { client } = editor;
    this.#answer = client.prompt(about.sessionId, "please write down").then(
      ({ stopReason }) => stopReason,
      (error: unknown) => `error: ${error instanceof Error ? error.message : String(error)}`,
    );
    const isCall = ({ sessionUpdate }: { readonly sessionUpdate: string }) => sessionUpdate === "tool_call";
    this.hasBegun = client.waitForUpdate(about.sessionId, isCall, { timeoutMs: ANSWERED_WITHIN_MS });
  }

  static async begin(fleet: Fleet, index: number): Promise<KilledTurn> {
    const editor = await fleet.editor({ permissions: "always" });
    const ledger = join(fleet.home.path, `ledger-${index}.ndjson`);
    const mcpServers = [ledgerServer(ledger, fleet.marker)];
    const { sessionId } = await editor.client.newSession({ cwd: fleet.home.path, mcpServers });
    return new KilledTurn(fleet, editor, { sessionId, ledger });
  }

  async verify(killedMs: number): Promise<readonly string[]> {
    const late = sleep(ANSWERED_WITHIN_MS, "no answer", { ref: false });
    const answer = await Promise.race([this.#answer, late]);
    const shown = this.#editor.shown(this.#sessionId);
    this.backMs = firstAfterSilence(shown, killedMs) - killedMs;
    const problems = answer === "end_turn" ? [] : [`the prompt got: ${answer}`];
    problems.push(...differences(numberedLines(shown), await loadedLines(this.#fleet, this.#sessionId)));
    problems.push(...this.#checkCalls(await this.#records()));
    return problems.map((problem) => `session ${this.#sessionId}: ${problem}`);
  }

  async #records(): Promise<readonly JsonObject[]> {
    const { client } = this.#editor;
    const answer = await client.request("_tenon/session/records", { sessionId: this.#sessionId, after: 0, limit: 500 });
    const records = isJsonObject(answer) && Array.isArray(answer["records"]) ? answer["records"] : [];
    return records.filter((record) => isJsonObject(record));
  }

  /** Every call has one outcome, and reached the server once at most: once for certain where the outcome says so. */
  #checkCalls(records: readonly JsonObject[]): readonly string[] {
    const problems: string[] = [];
    const ofKind = (kind: string) => records.filter((record) => record["kind"] === kind);
    const outcomes = ofKind("outcome");
    for (const { toolCallId } of ofKind("call")) {
      const own = outcomes.filter((outcome) => outcome["toolCallId"] === toolCallId);
      if (own.length !== 1) problems.push(`call ${String(toolCallId)} has ${own.length} outcomes`);
    }
    const kinds = outcomes.map(({ outcome }) => (isJsonObject(outcome) ? outcome["kind"] : undefined));
    this.unknown = kinds.filter((kind) => kind === "unknown").length;
    const done = kinds.filter((kind) => kind === "done").length;
    const nonces = noncesIn(this.#ledger);
    this.calls = nonces.length;
    const repeated = nonces.filter((nonce, index) => nonces.indexOf(nonce) !== index);
    problems.push(...repeated.map((nonce) => `${nonce} was written down twice`));
    if (nonces.length < done || nonces.length > done + this.unknown) {
      problems.push(`${nonces.length} calls reached the server, ${done} are done and ${this.unknown} unknown`);
    }
    return problems;
  }
}

function ledgerServer(recordFile: string, marker: string): AcpServerEntry {
  const tool = {
    name: "write_down",
    description: "Writes a text down.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    steps: [{ do: "delay" as const, ms: 40 }],
    reply: { kind: "echo" as const },
  };
  return scriptedAcpServer("ledger", { tools: [tool], recordFile }, { marker });
}

function noncesIn(ledger: string): readonly string[] {
  const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n") : [];
  return lines.flatMap((line) => {
    const received = parseObject(line)?.["received"];
    if (!isJsonObject(received) || received["method"] !== "tools/call") return [];
    return JSON.stringify(received["params"]).match(/nonce-\d+/u) ?? ["a call without a nonce"];
  });
}

/**
 * A translator may have something left to say after the kill: the gateway is back with the update that ends the longest silence. An
 * upper bound, since the start of the servers may be a longer silence than that of the gateway.
 */
function firstAfterSilence(shown: readonly ShownUpdate[], killedMs: number): number {
  const times = [killedMs, ...shown.map(({ atMs }) => atMs).filter((atMs) => atMs > killedMs)];
  let [longest, first] = [-1, Number.POSITIVE_INFINITY];
  for (const [index, atMs] of times.entries()) {
    const silence = atMs - (times[index - 1] ?? atMs);
    if (index > 0 && silence > longest) [longest, first] = [silence, atMs];
  }
  return first;
}
