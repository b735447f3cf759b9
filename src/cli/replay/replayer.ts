// Runs a recording again: gives the agent what came in then, in that order, and holds what it sends against what it sent then.
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json.js";
import type { HostQuestion, ReplayedConnection, WireReplay } from "../../base/trace.js";
import type { Fetch } from "../../base/world.js";
import { divergence } from "./difference.js";
import { ReplayedExchange } from "./exchange.js";
import {
  answerSaid,
  Expectations,
  type Expected,
  hostSaid,
  isAsideMethod,
  isOthersDoing,
  type Meeting,
  mcpName,
  mcpSaid,
  modelSaid,
} from "./expectation.js";
import { SessionNames, withIds } from "./names.js";
import type { Entry, Recording } from "./recording.js";
import { shownIn } from "./turn.js";

export interface Difference {
  /** Which line of the recording says otherwise; absent when none does. */
  readonly seq?: number;
  /** In words. */
  readonly where: string;
  /** Inside the message, as a JSON pointer. */
  readonly path?: string;
  readonly recorded?: JsonValue | undefined;
  readonly now?: JsonValue | undefined;
}

export type Replayed =
  | { readonly kind: "same"; readonly counts: Readonly<Record<string, number>> }
  | { readonly kind: "different"; readonly difference: Difference }
  /** From this line on the recording is not whole: so far it was the same. */
  | { readonly kind: "cut"; readonly seq: number };

export interface ReplayerOptions {
  /** Resolves after so many milliseconds: nothing that happened then may take longer now. */
  readonly stalled: (signal: AbortSignal) => Promise<void>;
  /** Lets the agent do what it can do now. */
  readonly settle: () => Promise<void>;
}

interface Turn {
  readonly session: string;
  readonly recorded: readonly JsonObject[];
  readonly now: JsonObject[];
}

export class Replayer implements WireReplay {
  readonly #options: ReplayerOptions;
  readonly #entries: readonly Entry[];
  readonly #expectations: Expectations;
  readonly #names = new SessionNames();
  readonly #methods = new Map<string, string>();
  readonly #turns = new Map<string, Turn>();
  readonly #connections = new Map<number, { hear(entry: JsonObject): void; readonly ids: Map<string, JsonValue> }>();
  readonly #requestIds = new Map<string, JsonValue>();
  readonly #exchanges = new Map<JsonValue, ReplayedExchange>();
  readonly #answers = new Map<JsonValue, JsonValue>();
  readonly #asking = new Map<JsonValue, (answer: JsonValue | undefined) => void>();
  #toAgent: ReadableStreamDefaultController<AnyMessage> | undefined;
  #difference: Difference | undefined;
  #changed: () => void = () => {};
  #now = 0;
  #isOver = false;

  constructor({ entries }: Recording, options: ReplayerOptions) {
    this.#options = options;
    this.#entries = entries;
    this.#expectations = new Expectations(entries);
    this.#now = entries[0]?.t ?? 0;
  }

  /** As it was then. */
  get now(): number {
    return this.#now;
  }

  /** The client's end of the agent's connection. */
  stream(): Stream {
    return {
      readable: new ReadableStream<AnyMessage>({
        start: (controller) => {
          this.#toAgent = controller;
        },
      }),
      writable: new WritableStream<AnyMessage>({ write: (message) => this.#fromAgent(plain(message)) }),
    };
  }

  async run(): Promise<Replayed> {
    try {
      return await this.#run();
    } finally {
      this.#end();
    }
  }

  /** Whoever still waits for something of the recording is told that there is no more. */
  #end(): void {
    this.#isOver = true;
    for (const answer of this.#asking.values()) answer(undefined);
    for (const exchange of this.#exchanges.values()) exchange.hear({ kind: "failed", error: "the recording is over" });
  }

  async #run(): Promise<Replayed> {
    for (const input of this.#entries.filter(({ dir }) => dir === "in")) {
      if (input.isCut) return { kind: "cut", seq: input.seq };
      await this.#until(input.seq);
      if (this.#difference) return { kind: "different", difference: this.#difference };
      this.#now = input.t;
      this.#deliver(input);
      await this.#options.settle();
    }
    await this.#until(Number.POSITIVE_INFINITY);
    if (this.#difference) return { kind: "different", difference: this.#difference };
    return { kind: "same", counts: this.#counts() };
  }

  connect(server: string, onEntry: (entry: JsonObject) => void): ReplayedConnection {
    const met = this.#meet(`open ${server}`, server, `a connection to ${server}`);
    const connection = met?.entry.connection;
    const ids = new Map<string, JsonValue>();
    if (connection !== undefined) this.#connections.set(connection, { hear: onEntry, ids });
    return {
      send: (message) => {
        const said = plain(message);
        const meant = mcpSaid(said);
        if (connection === undefined || meant === undefined) return;
        const expected = this.#meet(`mcp ${connection}`, meant, `${mcpName(said)} to ${server}`);
        const { id } = expected?.entry.message ?? {};
        if (id !== undefined && said["id"] !== undefined) ids.set(JSON.stringify(id), said["id"]);
      },
      close: () => {
        if (connection !== undefined) this.#connections.delete(connection);
      },
    };
  }

  async ask(question: HostQuestion): Promise<JsonValue | undefined> {
    const said = this.#names.toRecorded(hostSaid({ ...question }));
    const meeting = this.#expectations.meet("host", said);
    const expected = meeting.kind === "met" ? meeting.expected : this.#expectations.again("host", said);
    const number = expected?.entry.message["question"];
    if (number === undefined) return undefined;
    if (this.#isOver) return this.#answers.get(number);
    const known = this.#answers.get(number);
    if (known !== undefined) return known;
    return await new Promise((resolve) => this.#asking.set(number, resolve));
  }

  readonly fetch: Fetch = async (input, init) => {
    const url = typeof input === "object" && "url" in input ? input.url : String(input);
    const { method = "GET", body } = init ?? {};
    const parsed = typeof body === "string" ? parseJson(body) : undefined;
    const said = modelSaid({ method, url, body: parsed?.ok ? parsed.value : null });
    // A list of models that was not asked for then is not there now; a question to the model must have been the same.
    const isQuestion = method !== "GET";
    const meeting = this.#expectations.meet("model", said);
    if (meeting.kind === "unexpected" && !isQuestion) return new Response(null, { status: 404 });
    const expected = this.#took(meeting, said, "a request to the model");
    const exchange = new ReplayedExchange();
    if (this.#isOver || !expected) exchange.hear({ kind: "failed", error: "it is not in the recording" });
    const number = expected?.entry.message["exchange"];
    if (number !== undefined) this.#exchanges.set(number, exchange);
    return await exchange.response;
  };

  #deliver({ channel, message, connection = 0 }: Entry): void {
    switch (channel) {
      case "acp":
        this.#toTheAgent(message);
        break;
      case "mcp": {
        const open = this.#connections.get(connection);
        open?.hear(withIds(message, open.ids));
        break;
      }
      case "model": {
        const { exchange } = message;
        if (exchange !== undefined) this.#exchanges.get(exchange)?.hear(message);
        break;
      }
      case "host": {
        const { question, answer = null } = message;
        if (question === undefined) return;
        this.#answers.set(question, answer);
        this.#asking.get(question)?.(answer);
        this.#asking.delete(question);
      }
    }
  }

  #toTheAgent(message: JsonObject): void {
    const { id, method, params } = message;
    const key = JSON.stringify(id ?? null);
    if (typeof method !== "string") {
      const now = this.#requestIds.get(key);
      if (now !== undefined) this.#send({ ...message, id: now }); // others were asked by what is not run again
      return;
    }
    if (isOthersDoing(method)) return;
    this.#methods.set(key, method);
    const session = isJsonObject(params) ? params["sessionId"] : undefined;
    if (typeof session === "string" && !this.#names.has(session)) this.#differ({ where: fromBefore(method, session) });
    if (method === "session/prompt" && typeof session === "string") this.#startTurn(key, session);
    this.#send(message);
  }

  #send(message: JsonObject): void {
    const renamed = this.#names.toNow(message);
    if (isAcpMessage(renamed)) this.#toAgent?.enqueue(renamed);
  }

  #startTurn(key: string, session: string): void {
    const from = this.#entries.findIndex(({ message, dir, channel }) => {
      return channel === "acp" && dir === "in" && JSON.stringify(message["id"] ?? null) === key && "method" in message;
    });
    const end = this.#entries.findIndex(({ message, dir, channel }, index) => {
      return (
        index > from &&
        channel === "acp" &&
        dir === "out" &&
        JSON.stringify(message["id"]) === key &&
        !("method" in message)
      );
    });
    const during = this.#entries.slice(from, end < 0 ? from : end);
    const recorded = during.flatMap(({ channel, dir, message }) =>
      channel === "acp" && dir === "out" ? updatesIn(message, session) : [],
    );
    this.#turns.set(key, { session, recorded, now: [] });
  }

  #fromAgent(message: JsonObject): void {
    const { id, method } = message;
    if (isOthersDoing(method)) return;
    const said = this.#names.toRecorded(message);
    const renamed = isJsonObject(said) ? said : message;
    if (typeof method === "string") {
      for (const turn of this.#turns.values()) turn.now.push(...updatesIn(renamed, turn.session));
      if (id === undefined) return;
      const met = this.#meet(`acp ${method}`, renamed["params"] ?? null, `${method} to the client`);
      const then = met?.entry.message["id"];
      if (then !== undefined) this.#requestIds.set(JSON.stringify(then), id);
      return;
    }
    this.#answered(JSON.stringify(id ?? null), message);
  }

  #answered(key: string, message: JsonObject): void {
    const method = this.#methods.get(key) ?? "a request";
    if (isAsideMethod(method)) return;
    const recorded = this.#expectations.all.find(({ lane }) => lane === `answer ${key}`);
    if (method === "session/new" || method === "session/fork") {
      this.#names.learn(recorded?.entry.message["result"], message["result"]);
    }
    this.#endTurn(key, recorded);
    this.#meet(`answer ${key}`, this.#names.toRecorded(answerSaid(message)), `the answer to ${method}`);
  }

  #endTurn(key: string, answer: Expected | undefined): void {
    const turn = this.#turns.get(key);
    this.#turns.delete(key);
    if (!turn || !answer) return; // the recording ends within it
    const at = divergence(shownIn(turn.recorded), shownIn(turn.now));
    if (!at) return;
    this.#differ({ seq: answer.entry.seq, where: "what the client was shown of the turn", ...at });
  }

  #meet(lane: string, said: JsonValue, name: string): Expected | undefined {
    return this.#took(this.#expectations.meet(lane, said), said, name);
  }

  #took(meeting: Meeting, said: JsonValue, name: string): Expected | undefined {
    this.#changed();
    if (meeting.kind === "met") return meeting.expected;
    const { nearest, at } = meeting;
    if (nearest) this.#differ({ seq: nearest.entry.seq, where: nearest.name, ...at });
    else this.#differ({ where: `${name}, which the recording does not have`, now: said });
    return undefined;
  }

  #differ(difference: Difference): void {
    this.#difference ??= difference;
    this.#changed();
  }

  /** Until all that was sent before this line is sent again. */
  async #until(seq: number): Promise<void> {
    const stall = new AbortController();
    let isStalled = false;
    const stalled = this.#options.stalled(stall.signal).then(() => {
      isStalled = true;
    });
    for (;;) {
      const missing = this.#expectations.missingBefore(seq);
      if (!missing || this.#difference) break;
      if (isStalled) {
        const { entry, name, said } = missing;
        this.#differ({ seq: entry.seq, where: `${name}: it was not sent this time`, recorded: said });
        break;
      }
      const changed = new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
      if (this.#expectations.missingBefore(seq)) await Promise.race([changed, stalled]);
    }
    stall.abort();
    await stalled.catch(() => {});
  }

  #counts(): Readonly<Record<string, number>> {
    const met = this.#expectations.all.filter(({ isMet }) => isMet);
    const of = (test: (one: Expected) => boolean) => met.filter(test).length;
    return {
      prompts: [...this.#methods.values()].filter((method) => method === "session/prompt").length,
      modelRequests: of(({ lane, said }) => lane === "model" && isJsonObject(said) && said["method"] !== "GET"),
      serverMessages: of(({ lane }) => lane.startsWith("mcp ")),
      clientMessages: of(({ lane }) => lane.startsWith("acp ") || lane.startsWith("answer ")),
      toolsOfTenon: of(({ said }) => isJsonObject(said) && said["ask"] === "tool"),
    };
  }
}

function fromBefore(method: string, session: string): string {
  return `${method} for the session ${session}, which began before the recording: record it from its beginning`;
}

function updatesIn({ method, params }: JsonObject, session: string): JsonObject[] {
  if (method !== "session/update" || !isJsonObject(params) || params["sessionId"] !== session) return [];
  return isJsonObject(params["update"]) ? [params["update"]] : [];
}

/** As it would stand on the wire. */
function plain(message: object): JsonObject {
  const parsed = parseJson(JSON.stringify(message));
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
}

function isAcpMessage(value: JsonValue): value is JsonObject & AnyMessage {
  return isJsonObject(value) && value["jsonrpc"] === "2.0";
}
