// Runs a recording again: what came in then comes in again in that order, each once all that was sent before it is sent again.
import type { Stream } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import type { HostQuestion, ReplayedConnection, WireReplay } from "../../../base/ports/trace.js";
import type { Fetch } from "../../../base/ports/world.js";
import { ReplayedClient } from "./client.js";
import {
  Comparison,
  type Difference,
  type Expectations,
  type Expected,
  hostSaid,
  mcpName,
  mcpSaid,
  modelSaid,
} from "./comparison.js";
import { plain, SessionNames, withIds } from "./names.js";
import type { Entry, Recording } from "./recording.js";

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

export class Replayer implements WireReplay {
  readonly #options: ReplayerOptions;
  readonly #entries: readonly Entry[];
  readonly #comparison: Comparison;
  readonly #client: ReplayedClient;
  readonly #servers: ReplayedServers;
  readonly #model: ReplayedModel;
  readonly #machine: ReplayedMachine;
  #now = 0;

  constructor({ entries }: Recording, options: ReplayerOptions) {
    const names = new SessionNames();
    this.#options = options;
    this.#entries = entries;
    this.#comparison = new Comparison(entries, options.stalled);
    this.#client = new ReplayedClient(entries, this.#comparison, names);
    this.#servers = new ReplayedServers(this.#comparison);
    this.#model = new ReplayedModel(this.#comparison);
    this.#machine = new ReplayedMachine(this.#comparison.expectations, names);
    this.#now = entries[0]?.t ?? 0;
  }

  /** As it was then. */
  get now(): number {
    return this.#now;
  }

  /** The client's end of the agent's connection. */
  stream(): Stream {
    return this.#client.stream();
  }

  connect(server: string, onEntry: (entry: JsonObject) => void): ReplayedConnection {
    return this.#servers.connect(server, onEntry);
  }

  ask(question: HostQuestion): Promise<JsonValue | undefined> {
    return this.#machine.ask(question);
  }

  get fetch(): Fetch {
    return this.#model.fetch;
  }

  async run(): Promise<Replayed> {
    try {
      return await this.#run();
    } finally {
      this.#machine.end();
      this.#model.end();
    }
  }

  async #run(): Promise<Replayed> {
    const comparison = this.#comparison;
    for (const input of this.#entries.filter(({ dir }) => dir === "in")) {
      if (input.isCut) return { kind: "cut", seq: input.seq };
      await comparison.until(input.seq);
      if (comparison.difference) return { kind: "different", difference: comparison.difference };
      this.#now = input.t;
      this.#deliver(input);
      await this.#options.settle();
    }
    await comparison.until(Number.POSITIVE_INFINITY);
    if (comparison.difference) return { kind: "different", difference: comparison.difference };
    return { kind: "same", counts: this.#counts() };
  }

  #deliver({ channel, message, connection = 0 }: Entry): void {
    switch (channel) {
      case "acp":
        return this.#client.say(message);
      case "mcp":
        return this.#servers.say(connection, message);
      case "model":
        return this.#model.say(message);
      case "host":
        return this.#machine.say(message);
    }
  }

  #counts(): Readonly<Record<string, number>> {
    const met = this.#comparison.expectations.all.filter(({ isMet }) => isMet);
    const of = (test: (one: Expected) => boolean) => met.filter(test).length;
    return {
      prompts: this.#client.promptCount,
      modelRequests: of(({ lane, said }) => lane === "model" && isJsonObject(said) && said["method"] !== "GET"),
      serverMessages: of(({ lane }) => lane.startsWith("mcp ")),
      clientMessages: of(({ lane }) => lane.startsWith("acp ") || lane.startsWith("answer ")),
      toolsOfTenon: of(({ said }) => isJsonObject(said) && said["ask"] === "tool"),
    };
  }
}

// The MCP servers of a recording: each says again what it said then, under the ids of now.

export class ReplayedServers {
  readonly #comparison: Comparison;
  readonly #connections = new Map<number, { hear(entry: JsonObject): void; readonly ids: Map<string, JsonValue> }>();

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  connect(server: string, onEntry: (entry: JsonObject) => void): ReplayedConnection {
    const met = this.#comparison.meet(`open ${server}`, server, `a connection to ${server}`);
    const connection = met?.entry.connection;
    const ids = new Map<string, JsonValue>();
    if (connection !== undefined) this.#connections.set(connection, { hear: onEntry, ids });
    return {
      send: (message) => {
        const said = plain(message);
        const meant = mcpSaid(said);
        if (connection === undefined || meant === undefined) return;
        const expected = this.#comparison.meet(`mcp ${connection}`, meant, `${mcpName(said)} to ${server}`);
        const { id } = expected?.entry.message ?? {};
        if (id !== undefined && said["id"] !== undefined) ids.set(JSON.stringify(id), said["id"]);
      },
      close: () => {
        if (connection !== undefined) this.#connections.delete(connection);
      },
    };
  }

  say(connection: number, message: JsonObject): void {
    const open = this.#connections.get(connection);
    open?.hear(withIds(message, open.ids));
  }
}

// The model of a recording: the same question gets the answer of then, another one is a difference.

export class ReplayedModel {
  readonly #comparison: Comparison;
  readonly #exchanges = new Map<JsonValue, ReplayedExchange>();
  #isOver = false;

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  readonly fetch: Fetch = async (input, init) => {
    const url = typeof input === "object" && "url" in input ? input.url : String(input);
    const { method = "GET", body } = init ?? {};
    const parsed = typeof body === "string" ? parseJson(body) : undefined;
    const said = modelSaid({ method, url, body: parsed?.ok ? parsed.value : null });
    // A list of models that was not asked for then is not there now; a question to the model must have been the same.
    const isQuestion = method !== "GET";
    const meeting = this.#comparison.expectations.meet("model", said);
    if (meeting.kind === "unexpected" && !isQuestion) return new Response(null, { status: 404 });
    const expected = this.#comparison.take(meeting, said, "a request to the model");
    const exchange = new ReplayedExchange();
    if (this.#isOver || !expected) exchange.hear({ kind: "failed", error: "it is not in the recording" });
    const number = expected?.entry.message["exchange"];
    if (number !== undefined) this.#exchanges.set(number, exchange);
    return await exchange.response;
  };

  say(message: JsonObject): void {
    const { exchange } = message;
    if (exchange !== undefined) this.#exchanges.get(exchange)?.hear(message);
  }

  /** Ends every wait: the recording has no more. */
  end(): void {
    this.#isOver = true;
    for (const exchange of this.#exchanges.values()) exchange.hear({ kind: "failed", error: "the recording is over" });
  }
}

// One recorded exchange with a model over HTTP: the answer of then, part by part.

export class ReplayedExchange {
  readonly response: Promise<Response>;
  #resolve: (response: Response) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor() {
    this.response = new Promise<Response>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.response.catch(() => {}); // the caller may be gone
  }

  hear(message: JsonObject): void {
    const { kind, status, headers, text, body, error } = message;
    switch (kind) {
      case "response":
        this.#begin(typeof status === "number" ? status : 200, headers);
        break;
      case "events":
        if (typeof text === "string") this.#write(text);
        break;
      case "body":
        this.#write(typeof body === "string" ? body : JSON.stringify(body));
        break;
      case "end":
        this.#body?.close();
        this.#body = undefined;
        break;
      case "failed": {
        const failure = new TypeError(typeof error === "string" ? error : "it failed");
        this.#reject(failure);
        this.#body?.error(failure);
        this.#body = undefined;
        break;
      }
      default:
    }
  }

  #begin(status: number, headers: JsonValue | undefined): void {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#body = controller;
      },
      cancel: () => {
        this.#body = undefined;
      },
    });
    const plain = isJsonObject(headers) ? Object.entries(headers) : [];
    const kept = plain.flatMap(([name, value]): [string, string][] =>
      typeof value === "string" && !DECODED.includes(name.toLowerCase()) ? [[name, value]] : [],
    );
    const hasBody = ![204, 205, 304].includes(status);
    this.#resolve(new Response(hasBody ? stream : null, { status, headers: kept }));
  }

  #write(text: string): void {
    this.#body?.enqueue(new TextEncoder().encode(text));
  }
}

/** They are of the bytes on the wire, which the recording does not have. */
const DECODED: readonly string[] = ["content-encoding", "content-length", "transfer-encoding"];

// The machine of a recording: what was asked of it then is answered as it was then.

export class ReplayedMachine {
  readonly #expectations: Expectations;
  readonly #names: SessionNames;
  readonly #answers = new Map<JsonValue, JsonValue>();
  readonly #asking = new Map<JsonValue, (answer: JsonValue | undefined) => void>();
  #isOver = false;

  constructor(expectations: Expectations, names: SessionNames) {
    this.#expectations = expectations;
    this.#names = names;
  }

  /** Undefined for what was not asked then. */
  async ask(question: HostQuestion): Promise<JsonValue | undefined> {
    const said = this.#names.toRecorded(hostSaid({ ...question }));
    const meeting = this.#expectations.meet("host", said);
    const expected = meeting.kind === "met" ? meeting.expected : this.#expectations.again("host", said);
    const number = expected?.entry.message["question"];
    if (number === undefined) return undefined;
    const known = this.#answers.get(number);
    if (known !== undefined || this.#isOver) return known;
    return await new Promise((resolve) => this.#asking.set(number, resolve));
  }

  say({ question, answer = null }: JsonObject): void {
    if (question === undefined) return;
    this.#answers.set(question, answer);
    this.#asking.get(question)?.(answer);
    this.#asking.delete(question);
  }

  /** Ends every wait: the recording has no more. */
  end(): void {
    this.#isOver = true;
    for (const answer of this.#asking.values()) answer(undefined);
  }
}
