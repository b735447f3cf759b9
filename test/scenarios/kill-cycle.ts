// One kill -9 in the middle of a turn, by a seed, and the load after it: everything the client had read must be there.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type AcpClient,
  type AcpServerEntry,
  echoTool,
  listLiving,
  scriptedAcpServer,
} from "../../src/testing/index.js";
import {
  type AnswerPart,
  type FakeProvider,
  fakeProvider,
  type ProviderReply,
  type ProviderRequest,
} from "../../src/testing/lab/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { itemsOf, missingIn, replayedTurns } from "./conversation.js";
import { conversationIn, TARGETS, type Target } from "./providers/target.js";

export interface Kill {
  /** Where it fell, for people. */
  readonly place: string;
  /** Updates of the broken-off turn that the client had read. */
  readonly read: number;
  /** What did not hold. */
  readonly problems: readonly string[];
}

/** In every prompt, and nowhere else. */
const PROMPT = "MARKED-PROMPT";
const MAX_TURNS_BEFORE = 2;
/** A turn has about this many updates; kills beyond its end fall between turns. */
const MAX_UPDATES = 60;
const MAX_DELAY_MS = 250;
const GONE_WITHIN_MS = 5_000;
const POLL_MS = 5;

export async function runKill(seed: number): Promise<Kill> {
  const random = seeded(seed);
  using home = new TemporaryFolder();
  await using provider = await fakeProvider();
  provider.replyWith((request) => replyTo(request));
  const target = TARGETS[seed % TARGETS.length] ?? TARGETS[0];
  if (!target) throw new Error("there are no targets");
  const stage = new KillStage(home, provider, target, `kill-${process.pid}-${seed}`);
  const turnsBefore = Math.floor(random() * (MAX_TURNS_BEFORE + 1));
  const byUpdates = random() < 0.8;
  const after = Math.floor(random() * (byUpdates ? MAX_UPDATES : MAX_DELAY_MS));
  await stage.killDuringTurn(turnsBefore, byUpdates ? { updates: after } : { ms: after });
  await stage.loadAgain();
  const when = byUpdates ? `after ${after} updates` : `after ${after} ms`;
  const place = `${target.name}, turn ${turnsBefore + 1}, ${when}`;
  return { place, read: stage.readInLastTurn, problems: stage.problems };
}

class KillStage {
  readonly problems: string[] = [];
  readonly #home: TemporaryFolder;
  readonly #provider: FakeProvider;
  readonly #target: Target;
  readonly #marker: string;
  readonly #prompts: string[] = [];
  /** For each prompt, how many updates there were before it. */
  readonly #starts: number[] = [];
  #read: ReturnType<typeof itemsOf>[] = [];
  #sessionId = "";
  readInLastTurn = 0;

  constructor(home: TemporaryFolder, provider: FakeProvider, target: Target, marker: string) {
    this.#home = home;
    this.#provider = provider;
    this.#target = target;
    this.#marker = marker;
  }

  async killDuringTurn(turnsBefore: number, after: { updates: number } | { ms: number }): Promise<void> {
    const client = await this.#start();
    const { sessionId } = await client.newSession({ cwd: this.#home.path, mcpServers: [this.#server()] });
    this.#sessionId = sessionId;
    await client.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes('"s\\" is ready'));
    for (let turn = 0; turn < turnsBefore; turn++) await this.#prompt(client, `${PROMPT} ${turn}`);
    const search = { under: client.pid ?? 0, marker: this.#marker };
    const children = new Set(listLiving(search).map(({ identity }) => identity)); // now: it takes longer than a turn
    const last = this.#prompt(client, `the last ${PROMPT}`).catch(() => undefined); // it dies under it
    await Promise.race([reached(client, sessionId, this.#starts.at(-1) ?? 0, after), last]);
    client.kill("SIGKILL");
    await client.exit;
    await last;
    const updates = client.updates(sessionId);
    this.#read = this.#starts.map((start, index) => itemsOf(updates.slice(start, this.#starts[index + 1])));
    this.readInLastTurn = updates.length - (this.#starts.at(-1) ?? 0);
    for (const line of await stillThere(children, this.#marker)) this.problems.push(`left behind: ${line}`);
    this.problems.push(...client.violations, ...brokenLines(this.#journal()));
    await client[Symbol.asyncDispose]().catch(() => undefined); // it complains of the kill
  }

  async loadAgain(): Promise<void> {
    await using client = await this.#start();
    const asked = this.#provider.requests.length;
    await client.request("session/load", {
      sessionId: this.#sessionId,
      cwd: this.#home.path,
      mcpServers: [this.#server()],
    });
    const turns = replayedTurns(client.updates(this.#sessionId));
    const prompts = turns.map(({ prompt }) => prompt);
    // The last prompt may have come too late to be heard.
    if (prompts.join() !== this.#prompts.slice(0, prompts.length).join() || prompts.length < this.#prompts.length - 1) {
      this.problems.push(`the prompts ${this.#prompts.join()} came back as ${prompts.join()}`);
    }
    for (const [index, read] of this.#read.entries()) {
      const missing = missingIn(turns[index]?.items ?? [], read);
      this.problems.push(...missing.map((problem) => `turn ${index + 1}, ${problem}`));
    }
    if (this.#provider.requests.length !== asked) this.problems.push("loading asked the model");
    const { stopReason } = await client.prompt(this.#sessionId, `${PROMPT}: go on`);
    if (stopReason !== "end_turn") this.problems.push(`the next prompt ended with ${stopReason}`);
    this.problems.push(...this.#provider.refusals.map(({ fault }) => `the provider refused: ${JSON.stringify(fault)}`));
    const heard = JSON.stringify(this.#provider.requests.slice(asked).map((request) => conversationIn(request)));
    for (const prompt of prompts) {
      if (!heard.includes(prompt)) this.problems.push(`the model was not told of "${prompt}"`);
    }
    this.problems.push(...brokenLines(this.#journal(), { isTornTolerated: true }));
  }

  async #start(): Promise<AcpClient> {
    const env = { ...this.#target.env(this.#provider), TENON_MODEL: this.#target.model };
    const client = await startTenon(this.#home, { env, permissions: "always" });
    await client.initialize();
    return client;
  }

  async #prompt(client: AcpClient, words: string): Promise<void> {
    this.#prompts.push(words);
    this.#starts.push(client.updates(this.#sessionId).length);
    await client.prompt(this.#sessionId, words);
  }

  #server(): AcpServerEntry {
    const steps = [1, 2, 3].flatMap((progress) => [
      { do: "delay" as const, ms: 10 },
      { do: "progress" as const, progress, total: 3, message: "working" },
    ]);
    const slow = { name: "slow", description: "Takes its time.", steps, reply: { kind: "image" as const } };
    return scriptedAcpServer("s", { tools: [echoTool(), slow] }, { marker: this.#marker });
  }

  #journal(): string {
    return readFileSync(join(this.#home.path, "state/sessions", `${this.#sessionId}.ndjson`), "utf8");
  }
}

async function reached(
  client: AcpClient,
  sessionId: string,
  from: number,
  after: { updates: number } | { ms: number },
): Promise<void> {
  if ("ms" in after) return await sleep(after.ms);
  const isEnough = () => client.updates(sessionId).length - from >= after.updates;
  if (!isEnough()) await client.waitForUpdate(sessionId, isEnough).catch(() => undefined);
}

/** Thoughts and text in small pieces, then two calls; with their results, more text. */
function replyTo(request: ProviderRequest): ProviderReply {
  const pieces = (kind: "text" | "thought", words: string): AnswerPart[] =>
    [1, 2, 3].map((part) => ({
      kind,
      text: `${words} ${part}: größer 👍, `,
      chunks: 6,
      after: { pieces: 3, happens: { kind: "pause", until: sleep(4) } },
    }));
  // After the last prompt there are calls already: these are their results.
  const said = JSON.stringify(conversationIn(request));
  if (said.lastIndexOf(PROMPT) < said.lastIndexOf("mcp__s__slow"))
    return { kind: "answer", parts: pieces("text", "so") };
  const calls = ["mcp__s__echo", "mcp__s__slow"].map((name) => ({
    kind: "tool_call" as const,
    name,
    arguments: { text: `for ${name}` },
    chunks: 3,
  }));
  return { kind: "answer", parts: [...pieces("thought", "hm"), ...pieces("text", "look"), ...calls] };
}

async function stillThere(identities: ReadonlySet<string>, marker: string): Promise<readonly string[]> {
  const start = performance.now();
  for (;;) {
    const left = listLiving({ identities, marker });
    if (left.length === 0) return [];
    if (performance.now() - start > GONE_WITHIN_MS) return left.map(({ pid, command }) => `${pid}: ${command}`);
    await sleep(POLL_MS);
  }
}

/** Only the last line may be torn: nobody heard of it. */
function brokenLines(text: string, { isTornTolerated = false } = {}): string[] {
  const lines = text.split("\n").slice(0, -1);
  const broken = lines.filter((line) => {
    try {
      return typeof JSON.parse(line) !== "object";
    } catch {
      return true;
    }
  });
  return broken.length <= (isTornTolerated ? 1 : 0) ? [] : [`${broken.length} lines of the journal are broken`];
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
