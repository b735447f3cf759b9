// The client's end of the wire, raw: it must see output that no SDK would let through.
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { CheckFailure } from "../failure.js";
import { wordOf } from "../fields.js";
import { seconds, waitUntil, within } from "../wait.js";
import type { AgentProcess } from "./process.js";
import type { AgentMessage, Validate } from "./validity.js";

export type Answer =
  | { readonly ok: true; readonly result: JsonObject; readonly ms: number }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly ms: number };

export interface Update {
  readonly sessionId: string;
  readonly update: JsonObject;
}

/** Answers what the agent asks of its client; undefined means that the client does not know the method. */
export type Serve = (method: string, params: JsonObject, requestId: string) => Promise<JsonObject | undefined>;

interface Asked {
  readonly method: string;
  readonly sentAt: number;
  readonly settle: (answer: Answer) => void;
}

const METHOD_NOT_FOUND = -32601;
const SHOWN_CHARS = 160;

export interface LinkOptions {
  readonly process: Pick<AgentProcess, "write" | "ended" | "lastWords" | "onLine">;
  readonly validate: Validate;
  readonly serve: Serve;
  /** The agent withdrew a request of its own. */
  readonly onCancelled?: (requestId: string) => void;
}

export class AcpLink {
  readonly #options: LinkOptions;
  readonly #asked = new Map<number, Asked>();
  readonly #sessions = new Set<string>();
  readonly updates: Update[] = [];
  /** Lines that are no valid ACP, each with what is wrong. */
  readonly faults: string[] = [];
  /** Updates of sessions that the client had not been told of. */
  readonly early: Update[] = [];
  messageCount = 0;
  #lastId = 0;

  constructor(options: LinkOptions) {
    this.#options = options;
    options.process.onLine = (line) => this.#receive(line);
  }

  /** One request as the text of its line, and its answer; for bursts. */
  prepare(method: string, params: JsonObject): { readonly line: string; readonly answer: Promise<Answer> } {
    const id = ++this.#lastId;
    const { sessionId } = params;
    if (typeof sessionId === "string") this.#sessions.add(sessionId);
    const answer = new Promise<Answer>((settle) => {
      this.#asked.set(id, { method, sentAt: performance.now(), settle });
    });
    return { line: `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`, answer };
  }

  send(method: string, params: JsonObject): Promise<Answer> {
    const { line, answer } = this.prepare(method, params);
    this.#options.process.write(line);
    return answer;
  }

  /** Fails the check when the agent ends or says nothing in time. */
  async request(method: string, params: JsonObject, withinMs: number): Promise<Answer> {
    return await this.awaited(method, this.send(method, params), withinMs);
  }

  async awaited(what: string, answer: Promise<Answer>, withinMs: number): Promise<Answer> {
    const { process } = this.#options;
    const gone = process.ended.then(({ words }) => new CheckFailure(`the agent ${words}${process.lastWords}`));
    const first = await within(Promise.race([answer, gone]), withinMs);
    if (first instanceof CheckFailure) throw first;
    if (first === undefined) throw new CheckFailure(`no answer to ${what} within ${seconds(withinMs)}`);
    return first;
  }

  notify(method: string, params: JsonObject): void {
    this.#options.process.write(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
  }

  updatesOf(sessionId: string): readonly JsonObject[] {
    return this.updates.filter((one) => one.sessionId === sessionId).map(({ update }) => update);
  }

  async hears(sessionId: string, wanted: (update: JsonObject) => boolean, withinMs: number): Promise<boolean> {
    return await waitUntil(() => this.updatesOf(sessionId).some(wanted), withinMs);
  }

  #receive(line: string): void {
    const parsed = parseJson(line);
    this.messageCount += 1;
    if (!parsed.ok) return this.#fault(`not JSON: ${JSON.stringify(line.slice(0, SHOWN_CHARS))}`);
    const message = parsed.value;
    if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
      return this.#fault(`not JSON-RPC 2.0: ${line.slice(0, SHOWN_CHARS)}`);
    }
    if (typeof message["method"] === "string") this.#asks(message["method"], message);
    else this.#answers(message);
  }

  #answers(message: JsonObject): void {
    const { id, result, error } = message;
    const asked = typeof id === "number" ? this.#asked.get(id) : undefined;
    if (typeof id === "number") this.#asked.delete(id);
    const method = asked?.method;
    const hasOne = (result === undefined) !== (error === undefined);
    if (!hasOne)
      this.#fault(`a response needs either result or error: ${JSON.stringify(message).slice(0, SHOWN_CHARS)}`);
    if (error === undefined || method === undefined) this.#check({ kind: "response", method, payload: result });
    if (!asked) return;
    const ms = performance.now() - asked.sentAt;
    if (isJsonObject(error)) {
      const { code, message: words } = error;
      if (typeof code !== "number" || typeof words !== "string") this.#fault(`an error needs code and message`);
      asked.settle({ ok: false, code: Number(code), message: wordOf(words), ms });
      return;
    }
    const body = isJsonObject(result) ? result : {};
    if (typeof body["sessionId"] === "string") this.#sessions.add(body["sessionId"]);
    asked.settle({ ok: true, result: body, ms });
  }

  #asks(method: string, message: JsonObject): void {
    const { id } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const isRequest = id !== undefined && id !== null;
    this.#check({ kind: isRequest ? "request" : "notification", method, payload: message["params"] });
    if (isRequest) {
      this.#serve(method, params, id);
      return;
    }
    const { sessionId, update, requestId } = params;
    if (method === "$/cancel_request") this.#options.onCancelled?.(wordOf(requestId));
    if (method !== "session/update" || typeof sessionId !== "string" || !isJsonObject(update)) return;
    this.updates.push({ sessionId, update });
    if (!this.#sessions.has(sessionId)) this.early.push({ sessionId, update });
  }

  #serve(method: string, params: JsonObject, id: JsonValue): void {
    const write = (body: JsonObject) =>
      this.#options.process.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
    this.#options
      .serve(method, params, wordOf(id))
      .then((result) =>
        write(result ? { result } : { error: { code: METHOD_NOT_FOUND, message: `this client has no ${method}` } }),
      )
      .catch((error: unknown) => write({ error: { code: -32603, message: String(error) } }));
  }

  #check(message: AgentMessage): void {
    const problem = this.#options.validate(message);
    if (problem !== undefined) this.#fault(problem);
  }

  #fault(words: string): void {
    this.faults.push(words);
  }
}
