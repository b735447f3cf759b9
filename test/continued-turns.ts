// Sessions in process whose turns play a program, recorded, cut after any record, and continued by another process.
import { Cell } from "../src/base/async/cell.js";
import { TenonError } from "../src/base/errors.js";
import type { JsonObject } from "../src/base/json/json.js";
import { text } from "../src/base/text/content.js";
import { transcriptProblems } from "../src/engine/index.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "../src/models/index.js";
import { type Session, type SessionEvent, SessionHost } from "../src/session/index.js";
import type { SharedOptions } from "../src/session/options.js";
import { type FakeWorld, fakeWorld, spawnsServer } from "../src/testing/index.js";
import type { SourceCall, ToolOutcome, ToolSource } from "../src/tools/index.js";
import { ID, JOURNAL, SERVER, STATE } from "./recorded-session.js";
import { taskServer } from "./task-run.js";

type ToolName = "quick" | "slow" | "fails" | "throws" | "picture" | "long" | "asked";

/** One answer of the model with its calls. */
interface Step {
  readonly thinks: boolean;
  readonly announces: boolean;
  readonly calls: readonly (ToolName | "read" | "work" | "unknown" | "broken")[];
}

export interface TurnProgram {
  readonly steps: readonly Step[];
  readonly end: "answer" | "fails" | "refuses" | "length" | "nothing";
  /** Cancelled after so many events. */
  readonly cancelAfter?: number;
}

/** A whole session. */
export interface Program {
  readonly turns: readonly TurnProgram[];
  /** The window is so small that the conversation is compacted on the way. */
  readonly isTight: boolean;
}

/** The same program for the same seed. */
function programOf(seed: number): Program {
  let state = seed * 2_654_435_761;
  const dice = (sides: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
  const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  const kinds = [
    "quick",
    "slow",
    "fails",
    "throws",
    "picture",
    "long",
    "asked",
    "read",
    "read",
    "work",
    "unknown",
    "broken",
  ] as const;
  const step = (): Step => ({
    thinks: dice(2) === 0,
    announces: dice(2) === 0,
    calls: many(1 + dice(3), () => kinds[dice(kinds.length)] ?? "quick"),
  });
  const ends = ["answer", "answer", "answer", "answer", "fails", "refuses", "length", "nothing"] as const;
  const turn = (): TurnProgram => ({
    steps: many(dice(4), step),
    end: ends[dice(ends.length)] ?? "answer",
    ...(dice(5) === 0 ? { cancelAfter: 3 + dice(25) } : {}),
  });
  return { turns: many(1 + dice(2), turn), isTight: dice(6) === 0 };
}

export interface ProcessOptions extends Partial<Pick<SharedOptions, "openTurns" | "maxQueuedPrompts">> {
  /** Of the session so far. */
  readonly journal?: string;
  /** Calling it twice is as calling it once. */
  readonly repeatable?: ToolName;
}

const LAST: TurnProgram = { steps: [], end: "answer" };

/** One process with one session. */
export class Process {
  readonly world: FakeWorld;
  readonly host: SessionHost;
  /** Arguments of the calls that reached a tool of the program's. */
  readonly reached: string[] = [];
  /** What is wrong with what the model was asked. */
  readonly problems: string[] = [];
  readonly events: SessionEvent[] = [];
  readonly requests: (readonly ModelMessage[])[] = [];
  readonly #program: Program;
  readonly #repeatable: string | undefined;

  constructor(program: Program, taskFile: string, { journal, repeatable, ...options }: ProcessOptions = {}) {
    this.#program = program;
    this.#repeatable = repeatable;
    const files = { "/project/notes.txt": "notes\n", ...(journal === undefined ? {} : { [JOURNAL]: journal }) };
    this.world = fakeWorld({ spawn: spawnsServer(taskServer(taskFile)), files });
    this.host = new SessionHost({
      world: this.world,
      model: this.#model(),
      stateDir: STATE,
      builtin: ["read_file"],
      client: { name: "t", version: "1" },
      openTurns: "continue",
      ...options,
    });
  }

  get journal(): string {
    return this.world.files.text(JOURNAL) ?? "";
  }

  get #servers() {
    const isUsed = this.#program.turns.some(({ steps }) => steps.some(({ calls }) => calls.includes("work")));
    return isUsed ? [SERVER] : [];
  }

  async open(): Promise<Session> {
    return await this.#prepared(this.host.createSession({ cwd: "/project", servers: this.#servers, id: ID }));
  }

  async load(): Promise<Session> {
    const { session } = await this.host.loadSession({ id: ID, cwd: "/project", servers: this.#servers });
    return await this.#prepared(session);
  }

  /** The program from its first turn on. */
  async run(session: Session): Promise<void> {
    for (const [index, { cancelAfter }] of this.#program.turns.entries()) {
      const end = cancelAfter === undefined ? undefined : this.events.length + cancelAfter;
      await this.until(
        session.prompt(`turn-${index}`).catch(() => undefined),
        () => {
          if (end !== undefined && this.events.length >= end) session.cancel();
        },
      );
    }
  }

  /** Moves the clock until it settles. */
  async until<T>(work: Promise<T>, onStep: () => void = () => {}): Promise<T> {
    const progress = { isOver: false };
    const over = work.finally(() => {
      progress.isOver = true;
    });
    over.catch(() => undefined); // heard below
    for (let step = 0; !progress.isOver; step++) {
      if (step > 2_000) throw new Error("it does not end");
      onStep();
      await this.world.advance(step < 20 ? 1 : 200);
    }
    return await over;
  }

  async close(): Promise<void> {
    await this.until(this.host.close());
  }

  async #prepared(session: Session): Promise<Session> {
    session.attach({ ask: async ({ arguments: shown }) => (String(shown["nonce"]).endsWith("c1") ? "no" : "once") });
    session.tools.add(this.#source());
    this.#listen(session).catch(() => undefined);
    await this.world.advance(0);
    return session;
  }

  async #listen(session: Session): Promise<void> {
    for await (const event of session.events()) this.events.push(event);
  }

  #source(): ToolSource {
    const names: readonly ToolName[] = ["quick", "slow", "fails", "throws", "picture", "long", "asked"];
    const inputSchema = { type: "object", properties: { nonce: { type: "string" } }, required: ["nonce"] };
    const tools = names.map((name) => ({ name, description: "", inputSchema }));
    const mayRepeat = (tool: string) => tool === this.#repeatable;
    return { name: "x", origin: "extra", tools: new Cell(tools), mayRepeat, call: (call) => this.#call(call) };
  }

  async #call({ tool, arguments: given, signal }: SourceCall): Promise<ToolOutcome> {
    const nonce = String(given["nonce"]);
    this.reached.push(nonce);
    const done = (words: string): ToolOutcome => ({ kind: "done", content: [text(words)] });
    switch (tool) {
      case "slow":
        await new Promise<void>((resolve) => {
          const timer = this.world.after(50, resolve);
          signal.addEventListener("abort", () => [timer.clear(), resolve()], { once: true });
        });
        return signal.aborted ? { kind: "cancelled" } : done(`slow ${nonce}`);
      case "fails":
        return { kind: "failed", content: [text(`no ${nonce}`)] };
      case "throws":
        throw new Error("wires crossed");
      case "picture":
        return { kind: "done", content: [{ type: "image", data: "QUJD", mimeType: "image/png" }, text(nonce)] };
      case "long":
        return done(`${nonce} `.repeat(400));
      default:
        return done(`${tool} ${nonce}`);
    }
  }

  #model(): Model {
    const contextTokens = this.#program.isTight ? 2_600 : 200_000;
    return {
      id: "test/program",
      abilities: { contextTokens, maxOutputTokens: 100, images: true, audio: false, pdf: false, thinking: [] },
      accepts: (mediaType) => mediaType === "image/png",
      stream: (request) => this.#answer(request),
    };
  }

  async *#answer({ messages, tools }: ModelRequest): AsyncGenerator<ModelEvent, void, void> {
    this.requests.push(messages);
    const usage = { inputTokens: 0, outputTokens: 3 };
    const said = JSON.stringify(messages);
    const turn = Math.max(...[...said.matchAll(/turn-(\d+)/gu)].map(([, number]) => Number(number)));
    const program = this.#program.turns[turn] ?? LAST;
    if (tools.length === 0) {
      yield { kind: "text", text: `turn-${turn}: ${(said.match(/t\d+s\d+c\d+/gu) ?? []).join(" ")}` };
      yield { kind: "finish", reason: "stop", usage };
      return;
    }
    this.problems.push(...transcriptProblems(messages), ...unsigned(messages));
    const index =
      1 + Math.max(-1, ...[...said.matchAll(new RegExp(`t${turn}s(\\d+)c`, "gu"))].map(([, one]) => Number(one)));
    const step = program.steps[index];
    if (step?.thinks) yield { kind: "thought", text: "hm, " };
    yield { kind: "text", text: `answer ${turn}-${index} ` };
    await new Promise((resolve) => setImmediate(resolve)); // so that its pieces are several records
    yield { kind: "text", text: "in pieces" };
    if (!step) return yield* ended(program, usage);
    const calls = step.calls.map((kind, place) => callOf(kind, `t${turn}s${index}c${place}`));
    for (const call of calls) {
      if (step.announces) yield { kind: "tool_input", callId: call.callId, name: call.name, delta: call.argumentsJson };
      yield { kind: "tool_call", call };
    }
    const providerData = { signed: calls.map(({ callId }) => callId).join() };
    yield { kind: "finish", reason: "tool_calls", usage, providerData };
  }
}

async function* ended(
  { end }: TurnProgram,
  usage: { inputTokens: number; outputTokens: number },
): AsyncGenerator<ModelEvent, void, void> {
  if (end === "fails") throw new TenonError("model.invalid_request", "scripted");
  const reason = ({ answer: "stop", nothing: "stop", refuses: "refusal", length: "length" } as const)[end];
  yield { kind: "finish", reason, usage, providerData: { signed: "the end" } };
}

function callOf(kind: Step["calls"][number], nonce: string): { callId: string; name: string; argumentsJson: string } {
  const given: JsonObject = kind === "read" ? { path: "notes.txt" } : { nonce };
  const names: Partial<Record<typeof kind, string>> = { read: "read_file", work: "mcp__s__work", unknown: "nobody" };
  const name = names[kind] ?? `mcp__x__${kind === "broken" ? "quick" : kind}`;
  return { callId: nonce, name, argumentsJson: kind === "broken" ? `{"nonce":"${nonce}` : JSON.stringify(given) };
}

/** Providers that sign their thoughts refuse the steps of a turn without them. */
function unsigned(messages: readonly ModelMessage[]): string[] {
  const prompt = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(prompt + 1).flatMap((message) => {
    if (message.role !== "assistant" || message.toolCalls.length === 0) return [];
    const signed = message.toolCalls.map(({ callId }) => callId).join();
    return message.providerData?.["signed"] === signed ? [] : [`the step ${signed} is not signed`];
  });
}

export interface Recorded {
  readonly seed: number;
  readonly program: Program;
  readonly journal: string;
}

export async function recordSession(
  seed: number,
  taskFile: string,
  program: Program = programOf(seed),
): Promise<Recorded> {
  const first = new Process(program, taskFile);
  await first.run(await first.open());
  await first.close();
  if (first.problems.length > 0) throw new Error(`seed ${seed}: ${first.problems.join("; ")}`);
  return { seed, program, journal: first.journal };
}

/** The journal as far as each of its records, the first prompt at least. */
export function cutsOf(journal: string): string[] {
  const lines = journal.split("\n").slice(0, -1);
  const first = lines.findIndex((line) => line.includes('"kind":"prompt"'));
  return lines.slice(first).map((_, index) => `${lines.slice(0, first + index + 1).join("\n")}\n`);
}

interface Line extends JsonObject {
  readonly kind?: string;
  readonly toolCallId?: string;
}

export function linesOf(journal: string): Line[] {
  return journal
    .split("\n")
    .slice(1, -1)
    .map((line): Line => JSON.parse(line));
}

/** What is wrong after another process has continued the session from there; nothing is to be. */
export async function continued(
  { program }: Recorded,
  taskFile: string,
  cut: string,
): Promise<{ faults: string[]; journal: string }> {
  const next = new Process(program, taskFile, { journal: cut });
  const session = await next.load();
  await next.until(session.continueOpenTurn().catch(() => undefined));
  const last = session.prompt("turn-99");
  const { stopReason } = await next.until(last);
  await next.close();
  const faults = [...next.problems];
  if (stopReason !== "end_turn") faults.push(`the next prompt ended with ${stopReason}`);
  faults.push(...journalFaults(linesOf(next.journal)), ...repeated(linesOf(cut), next));
  return { faults, journal: next.journal };
}

/** Calls of which nobody knows the outcome, or knows it, and which were sent all the same. */
function repeated(before: readonly Line[], { reached }: Process): string[] {
  const sent = new Set(before.filter(({ kind }) => kind === "intent").map(({ toolCallId }) => toolCallId));
  const nonces = before.flatMap(({ kind, toolCallId, ["arguments"]: given }) => {
    const nonce = kind === "call" && sent.has(toolCallId) ? Object(given)["nonce"] : undefined;
    return typeof nonce === "string" ? [nonce] : [];
  });
  return nonces.filter((nonce) => reached.includes(nonce)).map((nonce) => `${nonce} was sent again`);
}

function journalFaults(lines: readonly Line[]): string[] {
  const faults: string[] = [];
  const count = (kind: string) => {
    const counts = new Map<string, number>();
    for (const line of lines)
      if (line.kind === kind && line.toolCallId) counts.set(line.toolCallId, (counts.get(line.toolCallId) ?? 0) + 1);
    return counts;
  };
  const outcomes = count("outcome");
  for (const [id, times] of count("call")) {
    if (times > 1) faults.push(`the call id ${id} was given ${times} times`);
    if (outcomes.get(id) !== 1) faults.push(`call ${id} has ${outcomes.get(id) ?? 0} outcomes`);
  }
  for (const [id, times] of count("intent")) if (times > 1) faults.push(`call ${id} was sent ${times} times`);
  const dropped = count("dropped");
  for (const id of count("announced").keys()) {
    if (!outcomes.has(id) && !dropped.has(id)) faults.push(`call ${id} was announced and never ended`);
  }
  const turns = lines.filter(({ kind }) => kind === "prompt").map(({ turn }) => turn);
  for (const turn of turns) {
    const ends = lines.filter((line) => (line.kind === "end" || line.kind === "error") && line["turn"] === turn);
    if (ends.length !== 1) faults.push(`turn ${String(turn)} has ${ends.length} ends`);
  }
  return faults;
}
