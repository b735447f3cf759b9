// Runs a recording again: what came in then comes in again in that order, each once all that was sent before it is sent again.
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import type { HostQuestion, ReplayedConnection, WireReplay } from "../../../base/ports/trace.js";
import type { Fetch } from "../../../base/ports/world.js";
import { plain, ReplayedClient, SessionNames, withIds } from "./client.js";
import { Comparison, type Difference, type Expected, hostSaid, mcpName, mcpSaid, modelSaid } from "./comparison.js";
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

/** The client, the servers, the model and the machine of a recording. */
export class Replayer implements WireReplay {
  readonly client: ReplayedClient;
  /** Milliseconds since the epoch, as it was then. */
  now: number;
  readonly #settle: ReplayerOptions["settle"];
  readonly #entries: readonly Entry[];
  readonly #comparison: Comparison;
  readonly #names = new SessionNames();
  readonly #connections = new Map<number, { hear(entry: JsonObject): void; readonly ids: Map<string, JsonValue> }>();
  readonly #exchanges = new Map<JsonValue, ReplayedExchange>();
  readonly #answers = new Map<JsonValue, JsonValue>();
  readonly #asking = new Map<JsonValue, (answer: JsonValue | undefined) => void>();
  #isOver = false;

  constructor({ entries }: Recording, { stalled, settle }: ReplayerOptions) {
    this.#settle = settle;
    this.#entries = entries;
    this.#comparison = new Comparison(entries, stalled);
    this.client = new ReplayedClient(entries, this.#comparison, this.#names);
    this.now = entries[0]?.t ?? 0;
  }

  async run(): Promise<Replayed> {
    try {
      return await this.#run();
    } finally {
      // Ends every wait: the recording has no more.
      this.#isOver = true;
      for (const answer of this.#asking.values()) answer(undefined);
      for (const one of this.#exchanges.values()) one.hear({ kind: "failed", error: "the recording is over" });
    }
  }

  async #run(): Promise<Replayed> {
    const comparison = this.#comparison;
    for (const input of this.#entries.filter(({ dir }) => dir === "in")) {
      if (input.isCut) return { kind: "cut", seq: input.seq };
      await comparison.until(input.seq);
      if (comparison.difference) return { kind: "different", difference: comparison.difference };
      this.now = input.t;
      this.#deliver(input);
      await this.#settle();
    }
    await comparison.until(Number.POSITIVE_INFINITY);
    if (comparison.difference) return { kind: "different", difference: comparison.difference };
    return { kind: "same", counts: this.#counts() };
  }

  #deliver(entry: Entry): void {
    const { channel, message } = entry;
    switch (channel) {
      case "acp":
        return this.client.say(entry);
      case "mcp": {
        const open = this.#connections.get(entry.connection ?? 0);
        return open?.hear(withIds(message, open.ids));
      }
      case "model":
        return this.#exchanges.get(message["exchange"] ?? null)?.hear(message);
      case "host": {
        const { question, answer = null } = message;
        if (question === undefined) return;
        this.#answers.set(question, answer);
        this.#asking.get(question)?.(answer);
        this.#asking.delete(question);
      }
    }
  }

  #counts(): Readonly<Record<string, number>> {
    const met = this.#comparison.all.filter(({ isMet }) => isMet);
    const of = (test: (one: Expected) => boolean) => met.filter(test).length;
    return {
      prompts: this.client.promptCount,
      modelRequests: of(({ lane, said }) => lane === "model" && isJsonObject(said) && said["method"] !== "GET"),
      serverMessages: of(({ lane }) => lane.startsWith("mcp ")),
      clientMessages: of(({ lane }) => lane.startsWith("acp ") || lane.startsWith("answer ")),
      toolsOfTenon: of(({ said }) => isJsonObject(said) && said["ask"] === "tool"),
    };
  }

  /** Each server says again what it said then, under the ids of now. */
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

  /** The same question to the model gets the answer of then, another one is a difference. */
  readonly fetch: Fetch = async (input, init) => {
    const url = typeof input === "object" && "url" in input ? input.url : String(input);
    const { method = "GET", body } = init ?? {};
    const parsed = typeof body === "string" ? parseJson(body) : undefined;
    const said = modelSaid({ method, url, body: parsed?.ok ? parsed.value : null });
    // A list of models that was not asked for then is not there now; a question to the model must have been the same.
    const isList = method === "GET";
    const expected = isList
      ? this.#comparison.find("model", said)
      : this.#comparison.meet("model", said, "a request to the model");
    if (isList && !expected) return new Response(null, { status: 404 });
    const exchange = new ReplayedExchange();
    if (this.#isOver || !expected) exchange.hear({ kind: "failed", error: "it is not in the recording" });
    const number = expected?.entry.message["exchange"];
    if (number !== undefined) this.#exchanges.set(number, exchange);
    return await exchange.response;
  };

  /** Undefined for what was not asked of the machine then. */
  async ask(question: HostQuestion): Promise<JsonValue | undefined> {
    const said = this.#names.toRecorded(hostSaid({ ...question }));
    const expected = this.#comparison.find("host", said) ?? this.#comparison.again("host", said);
    const number = expected?.entry.message["question"];
    if (number === undefined) return undefined;
    const known = this.#answers.get(number);
    if (known !== undefined || this.#isOver) return known;
    return await new Promise((resolve) => this.#asking.set(number, resolve));
  }
}

// One recorded exchange with a model over HTTP: the answer of then, part by part.

class ReplayedExchange {
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
