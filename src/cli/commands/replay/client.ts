// The client of a recording: asks what it asked then, and looks at what it is answered and shown now.
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../../base/json/json.js";
import { answerSaid, type Comparison, divergence, type Expected, isAsideMethod, isOthersDoing } from "./comparison.js";
import type { Entry } from "./recording.js";

interface Turn {
  readonly session: string;
  readonly recorded: readonly JsonObject[];
  readonly now: JsonObject[];
}

export class ReplayedClient {
  readonly #entries: readonly Entry[];
  readonly #comparison: Comparison;
  readonly #names: SessionNames;
  readonly #methods = new Map<string, string>();
  readonly #turns = new Map<string, Turn>();
  readonly #requestIds = new Map<string, JsonValue>();
  /** Its end of the agent's connection. */
  readonly stream: Stream;
  #toAgent: ReadableStreamDefaultController<AnyMessage> | undefined;

  constructor(entries: readonly Entry[], comparison: Comparison, names: SessionNames) {
    this.#entries = entries;
    this.#comparison = comparison;
    this.#names = names;
    this.stream = {
      readable: new ReadableStream<AnyMessage>({
        start: (controller) => {
          this.#toAgent = controller;
        },
      }),
      writable: new WritableStream<AnyMessage>({ write: (message) => this.#hear(plain(message)) }),
    };
  }

  get promptCount(): number {
    return [...this.#methods.values()].filter((method) => method === "session/prompt").length;
  }

  say({ message, seq }: Entry): void {
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
    if (typeof session === "string" && !this.#names.has(session)) {
      const why = "which began before the recording: record it from its beginning";
      this.#comparison.differ({ where: `${method} for the session ${session}, ${why}` });
    }
    if (method === "session/prompt" && typeof session === "string") {
      const recorded = this.#sentBetween(seq, key).flatMap((shown) => updatesIn(shown, session));
      this.#turns.set(key, { session, recorded, now: [] });
    }
    this.#send(message);
  }

  #send(message: JsonObject): void {
    const renamed = this.#names.toNow(message);
    if (isAcpMessage(renamed)) this.#toAgent?.enqueue(renamed);
  }

  /** Messages to the client after the request with this key and before its answer; none where the recording ends first. */
  #sentBetween(seq: number, key: string): readonly JsonObject[] {
    const sent = this.#entries.flatMap(({ channel, dir, message, seq: at }) =>
      channel === "acp" && dir === "out" && at > seq ? [message] : [],
    );
    const end = sent.findIndex((message) => JSON.stringify(message["id"]) === key && !("method" in message));
    return sent.slice(0, Math.max(0, end));
  }

  #hear(message: JsonObject): void {
    const { id, method } = message;
    if (isOthersDoing(method)) return;
    const said = this.#names.toRecorded(message);
    const renamed = isJsonObject(said) ? said : message;
    if (typeof method === "string") {
      for (const turn of this.#turns.values()) turn.now.push(...updatesIn(renamed, turn.session));
      if (id === undefined) return;
      const met = this.#comparison.meet(`acp ${method}`, renamed["params"] ?? null, `${method} to the client`);
      const then = met?.entry.message["id"];
      if (then !== undefined) this.#requestIds.set(JSON.stringify(then), id);
      return;
    }
    this.#answered(JSON.stringify(id ?? null), message);
  }

  #answered(key: string, message: JsonObject): void {
    const method = this.#methods.get(key) ?? "a request";
    if (isAsideMethod(method)) return;
    const recorded = this.#comparison.all.find(({ lane }) => lane === `answer ${key}`);
    if (method === "session/new" || method === "session/fork") {
      this.#names.learn(recorded?.entry.message["result"], message["result"]);
    }
    this.#endTurn(key, recorded);
    this.#comparison.meet(`answer ${key}`, this.#names.toRecorded(answerSaid(message)), `the answer to ${method}`);
  }

  #endTurn(key: string, answer: Expected | undefined): void {
    const turn = this.#turns.get(key);
    this.#turns.delete(key);
    if (!turn || !answer) return; // the recording ends within it
    const at = divergence(shownIn(turn.recorded), shownIn(turn.now));
    if (!at) return;
    this.#comparison.differ({ seq: answer.entry.seq, where: "what the client was shown of the turn", ...at });
  }
}

function updatesIn({ method, params }: JsonObject, session: string): JsonObject[] {
  if (method !== "session/update" || !isJsonObject(params) || params["sessionId"] !== session) return [];
  return isJsonObject(params["update"]) ? [params["update"]] : [];
}

function isAcpMessage(value: JsonValue): value is JsonObject & AnyMessage {
  return isJsonObject(value) && value["jsonrpc"] === "2.0";
}

// What a client was shown of one turn, without how it was cut into updates: what two runs can be compared by.

/** `<turn>-<n>`: the calls of a model. Others are news of servers, which come when they come. */
const CALL_ID = /^\d+-\d+$/u;

/** Of a call, what stays. */
const SHOWN = ["title", "kind", "status", "content", "locations", "rawInput", "rawOutput"] as const;

function shownIn(updates: readonly JsonObject[]): JsonValue {
  let text = "";
  let thoughts = "";
  const calls = new Map<string, JsonObject>();
  for (const update of updates) {
    const { sessionUpdate, content, toolCallId } = update;
    const words = isJsonObject(content) && typeof content["text"] === "string" ? content["text"] : "";
    if (sessionUpdate === "agent_message_chunk") text += words;
    else if (sessionUpdate === "agent_thought_chunk") thoughts += words;
    else if (typeof toolCallId === "string" && CALL_ID.test(toolCallId)) {
      calls.set(toolCallId, { ...calls.get(toolCallId), ...shownOf(update) });
    }
  }
  const inOrder = [...calls].sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }));
  return { text, thoughts, calls: Object.fromEntries(inOrder) };
}

function shownOf(update: JsonObject): JsonObject {
  return Object.fromEntries(SHOWN.flatMap((key) => (update[key] === undefined ? [] : [[key, update[key]]])));
}

// Names that are new in every run (sessions, requests): what was recorded under one comes back under the other.

/** Ids of sessions are long enough that no other text contains one by chance. */
export class SessionNames {
  readonly #now = new Map<string, string>();
  readonly #recorded = new Map<string, string>();

  /** From the answers to a request that makes a session. */
  learn(recorded: JsonValue | undefined, now: JsonValue | undefined): void {
    const then = sessionOf(recorded);
    const here = sessionOf(now);
    if (then === undefined || here === undefined) return;
    this.#now.set(then, here);
    this.#recorded.set(here, then);
  }

  has(recorded: string): boolean {
    return this.#now.has(recorded);
  }

  toNow(value: JsonValue): JsonValue {
    return renamed(value, this.#now);
  }

  toRecorded(value: JsonValue): JsonValue {
    return renamed(value, this.#recorded);
  }
}

function sessionOf(result: JsonValue | undefined): string | undefined {
  const id = isJsonObject(result) ? result["sessionId"] : undefined;
  return typeof id === "string" ? id : undefined;
}

function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (names.size === 0) return value;
  if (typeof value === "string") {
    let text = value;
    for (const [from, to] of names) text = text.replaceAll(from, to);
    return text;
  }
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, renamed(item, names)]])),
  );
}

/** The same message under other ids of requests: in the answer itself, and in what is said about a request. */
export function withIds(message: JsonObject, ids: ReadonlyMap<string, JsonValue>): JsonObject {
  const other = (id: JsonValue | undefined) => (id === undefined ? undefined : (ids.get(JSON.stringify(id)) ?? id));
  const { id, method, params, lost } = message;
  if (isJsonObject(lost)) return { ...message, lost: { ...lost, id: other(lost["id"]) } };
  if (method === undefined) return { ...message, id: other(id) };
  if (!isJsonObject(params)) return message;
  const { progressToken, requestId } = params;
  const ours = defined({ progressToken: other(progressToken), requestId: other(requestId) });
  return { ...message, params: { ...params, ...ours } };
}

// A message as it would stand on the wire.

export function plain(message: object): JsonObject {
  return parseObject(JSON.stringify(message)) ?? {};
}
