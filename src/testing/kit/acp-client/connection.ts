// One connection to an agent, line by line: everything is recorded and checked, requests are sent and answered.

import { spawn } from "node:child_process";
import { PassThrough, Readable, Writable } from "node:stream";
import { setTimeout as realSetTimeout } from "node:timers";
import {
  type AgentApp,
  type AnyMessage,
  ndJsonStream,
  type SessionUpdate,
  type Stream,
} from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { LineSplitter } from "../../../base/json/ndjson.js";
import { Feed } from "../feed.js";

export interface WireLine {
  readonly direction: "sent" | "received";
  readonly text: string;
  /** Milliseconds since the connection was opened. */
  readonly atMs: number;
}

export interface AgentMessage {
  readonly kind: "request" | "notification" | "response" | "error";
  /** Of a response: the method it answers. Undefined when it answers nothing that was asked. */
  readonly method: string | undefined;
  /** The params, the result or the error. */
  readonly payload: JsonValue | undefined;
}

/** Describes what is wrong with a message; undefined when nothing is. */
export type MessageValidator = (message: AgentMessage) => string | undefined;

export interface RecordedUpdate {
  readonly sessionId: string;
  /** As it came; that it fits the protocol is for `validate` to say. */
  readonly update: SessionUpdate & JsonObject;
}

/** The agent's response to one request, and how long it took. */
export type AgentAnswer =
  | { readonly ok: true; readonly result: JsonObject; readonly ms: number }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly ms: number };

export interface AgentConnectionOptions {
  /** Checks every message of the agent, for instance `await acpSchemaValidator()`. */
  readonly validate?: MessageValidator | undefined;
  /**
   * Answers the agent's requests; undefined means that the client does not have the method. Without it, requests go to the
   * stream of the SDK.
   */
  readonly serve?: (method: string, params: JsonObject, requestId: string) => Promise<JsonObject | undefined>;
  /** The agent cancelled a request of its own. */
  readonly onCancelled?: (requestId: string) => void;
  /** Called before the SDK's stream ends, so that pending requests fail with this error. */
  readonly onEnd?: (error: Error) => void;
}

type RequestParts = readonly [method: string, params: JsonObject];

interface PendingRequest {
  readonly method: string;
  readonly sentMs?: number;
  readonly resolve?: (answer: AgentAnswer) => void;
  readonly reject?: (error: Error) => void;
}

const MAX_LINE_BYTES = 268_435_456;
const MAX_STDERR_CHARS = 2_000;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

export class AgentConnection {
  readonly link: AgentLink;
  /** Every line in both directions, in order. */
  readonly lines: Feed<WireLine> = new Feed<WireLine>("line");
  readonly updates: Feed<RecordedUpdate> = new Feed<RecordedUpdate>("session update");
  /** Updates of sessions whose id the client had neither sent nor received before. */
  readonly earlyUpdates: RecordedUpdate[] = [];
  /** Invalid output of the agent: garbage, broken envelopes, and the problems that `validate` found. */
  readonly violations: string[] = [];
  /** For the SDK: messages of the agent except session updates and answers to requests it did not send. */
  readonly stream: Stream;
  readonly #options: AgentConnectionOptions;
  readonly #startMs = performance.now();
  readonly #sdkRequests = new Map<unknown, PendingRequest>();
  /** Requests sent by `ask` and `sendLine`. */
  readonly #ownRequests = new Map<unknown, PendingRequest>();
  readonly #sessions = new Set<string>();
  #sdk: ReadableStreamDefaultController<AnyMessage> | undefined;
  #ended: Error | undefined;
  #lastId = 0;

  constructor(link: AgentLink, options: AgentConnectionOptions = {}) {
    this.link = link;
    this.#options = options;
    link.toAgent.on("error", () => {}); // an agent that is gone shows at the end of its output
    this.stream = {
      readable: new ReadableStream<AnyMessage>({
        start: (controller) => {
          this.#sdk = controller;
        },
      }),
      writable: new WritableStream<AnyMessage>({
        write: (message) => {
          if ("method" in message && "id" in message) this.#sdkRequests.set(message.id, { method: message.method });
          this.#write(JSON.stringify(message));
        },
      }),
    };
    const splitter = new LineSplitter(MAX_LINE_BYTES);
    link.fromAgent.on("data", (chunk: Uint8Array) => {
      for (const line of splitter.push(chunk)) {
        if (line.kind === "line") this.#receive(line.text);
        else this.#garbage(`a line of ${line.bytes} bytes`);
      }
    });
    link.fromAgent.once("close", () => {
      for (const line of splitter.flush()) if (line.kind === "line") this.#receive(line.text);
      this.#end().catch(() => {}); // the SDK has closed its stream before
    });
  }

  /** Sends a request. Rejects when the agent ends before it answers. */
  async ask(method: string, params: JsonObject): Promise<AgentAnswer> {
    const { line, answer } = this.#prepare(method, params);
    this.#write(line);
    return await answer;
  }

  /** Sends two requests in one write. */
  askTogether(
    requests: readonly [RequestParts, RequestParts],
  ): readonly [first: Promise<AgentAnswer>, second: Promise<AgentAnswer>] {
    const [first, second] = [this.#prepare(...requests[0]), this.#prepare(...requests[1])];
    this.#write(`${first.line}\n${second.line}`);
    return [first.answer, second.answer];
  }

  #prepare(method: string, params: JsonObject): { readonly line: string; readonly answer: Promise<AgentAnswer> } {
    const id = ++this.#lastId;
    this.#noteSession(params);
    const answer = new Promise<AgentAnswer>((resolve, reject) => {
      if (this.#ended) reject(this.#ended);
      else this.#ownRequests.set(id, { method, sentMs: performance.now(), resolve, reject });
    });
    return { line: JSON.stringify({ jsonrpc: "2.0", id, method, params }), answer };
  }

  notify(method: string, params: JsonObject): void {
    this.#write(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  /** Writes a line as it is, well-formed or not. The agent's answer to it is recorded and kept from the SDK. */
  sendLine(text: string): void {
    const parsed = parseJson(text);
    if (parsed.ok && isJsonObject(parsed.value)) {
      const { id, method, params } = parsed.value;
      if (id !== undefined && typeof method === "string") this.#ownRequests.set(id, { method });
      if (isJsonObject(params)) this.#noteSession(params);
    }
    this.#write(text);
  }

  updatesOf(sessionId: string): readonly RecordedUpdate["update"][] {
    return this.updates.items.filter((one) => one.sessionId === sessionId).map(({ update }) => update);
  }

  #write(text: string): void {
    for (const line of text.split("\n")) this.#record("sent", line);
    if (this.link.toAgent.writable) this.link.toAgent.write(`${text}\n`);
  }

  #record(direction: WireLine["direction"], text: string): void {
    this.lines.push({ direction, text, atMs: performance.now() - this.#startMs });
  }

  #garbage(text: string): void {
    this.violations.push(`no ACP message on the agent's output: ${clip(text)}`);
  }

  #receive(text: string): void {
    this.#record("received", text);
    const parsed = parseJson(text);
    if (!parsed.ok || !isJsonObject(parsed.value)) return this.#garbage(text);
    const message = parsed.value;
    const { id, method } = message;
    const requests = this.#sdkRequests.has(id) ? this.#sdkRequests : this.#ownRequests;
    const request = method === undefined ? requests.get(id) : undefined;
    const problem = envelopeProblem(message) ?? this.#options.validate?.(agentMessage(message, request?.method));
    if (problem !== undefined) this.violations.push(`${problem} in ${clip(text)}`);
    if (typeof method === "string") return this.#receiveCall(text, method, message);
    requests.delete(id);
    if (isJsonObject(message["result"])) this.#noteSession(message["result"]);
    if (requests === this.#sdkRequests) this.#forward(text);
    else if (request?.resolve) request.resolve(answerOf(message, performance.now() - (request.sentMs ?? 0)));
  }

  #receiveCall(text: string, method: string, message: JsonObject): void {
    const { id = null } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const { serve, onCancelled } = this.#options;
    if (method === "session/update" && id === null) return this.#receiveUpdate(text);
    if (!serve) return this.#forward(text);
    if (method === "$/cancel_request") onCancelled?.(wordOf(params["requestId"]));
    if (id === null) return;
    serve(method, params, wordOf(id))
      .then((result) => result ?? Promise.reject(new MethodNotFound(`this client has no ${method}`)))
      .then((result) => ({ result }))
      .catch((error: unknown) => {
        const code = error instanceof MethodNotFound ? METHOD_NOT_FOUND : INTERNAL_ERROR;
        return { error: { code, message: String(error) } };
      })
      .then((body) => this.#write(JSON.stringify({ jsonrpc: "2.0", id, ...body })))
      .catch(() => {}); // nothing before it throws
  }

  #receiveUpdate(text: string): void {
    const { params }: { params?: RecordedUpdate } = JSON.parse(text);
    if (typeof params?.sessionId !== "string" || typeof params.update !== "object") return;
    this.updates.push(params);
    if (!this.#sessions.has(params.sessionId)) this.earlyUpdates.push(params);
  }

  #noteSession({ sessionId }: JsonObject): void {
    if (typeof sessionId === "string") this.#sessions.add(sessionId);
  }

  #forward(text: string): void {
    const message: AnyMessage = JSON.parse(text);
    try {
      this.#sdk?.enqueue(message);
    } catch {
      // the SDK's side is closed already: the line is recorded, which is all that is left to do with it
    }
  }

  async #end(): Promise<void> {
    const exit = await this.link.exit;
    const stderr = this.link.stderr().trim().slice(-MAX_STDERR_CHARS);
    const error = new Error(`the agent ${describeExit(exit)}${stderr && `; stderr: ${stderr}`}`);
    this.#ended = error;
    for (const feed of [this.updates, this.lines]) feed.end(error);
    for (const { reject } of this.#ownRequests.values()) reject?.(error);
    this.#options.onEnd?.(error);
    this.#sdk?.close();
  }
}

class MethodNotFound extends Error {}

function describeExit({ code, signal }: AgentExit): string {
  if (signal !== null) return `was ended by ${signal}`;
  return code === null ? "has ended" : `exited with code ${code}`;
}

function answerOf({ result, error }: JsonObject, ms: number): AgentAnswer {
  if (error === undefined) return { ok: true, result: isJsonObject(result) ? result : {}, ms };
  const { code, message } = isJsonObject(error) ? error : {};
  return { ok: false, code: Number(code), message: wordOf(message), ms };
}

export function agentMessage(message: JsonObject, answeredMethod: string | undefined): AgentMessage {
  const { method } = message;
  if (typeof method === "string") {
    return { kind: message["id"] === undefined ? "notification" : "request", method, payload: message["params"] };
  }
  return "error" in message
    ? { kind: "error", method: answeredMethod, payload: message["error"] }
    : { kind: "response", method: answeredMethod, payload: message["result"] };
}

/** Checks the rules for every JSON-RPC message, whatever its method. */
export function envelopeProblem(message: JsonObject): string | undefined {
  const { jsonrpc, id, method, error } = message;
  if (jsonrpc !== "2.0") return `"jsonrpc" is ${JSON.stringify(jsonrpc)}, not "2.0"`;
  if (method !== undefined) return typeof method === "string" ? undefined : `"method" is no string`;
  if (id === undefined) return "neither a method nor an id";
  if ("result" in message === "error" in message) return "a response has either a result or an error";
  if (!("error" in message)) return undefined;
  const isError = isJsonObject(error) && Number.isInteger(error["code"]) && typeof error["message"] === "string";
  return isError ? undefined : "an error needs an integer code and a message";
}

function wordOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function clip(text: string): string {
  return text.length <= 500 ? text : `${text.slice(0, 500)}…`;
}

// The agent at the other end: a process that is spawned, or an app in this very process.

export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** It had to be killed, since it did not end with its input. */
  readonly wasForced: boolean;
}

export interface AgentLink {
  readonly toAgent: Writable;
  readonly fromAgent: Readable;
  readonly pid: number | undefined;
  readonly exit: Promise<AgentExit>;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  /** Also reaches processes that the agent left behind in its group. */
  killGroup(signal: NodeJS.Signals): void;
  /** Ends the agent's input and waits for its end, by force if need be. */
  end(): Promise<AgentExit>;
  dispose(): Promise<void>;
}

export interface AgentCommand {
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the agent; this process's own when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** How long the agent may take to end once its input has ended. */
  readonly endWithinMs?: number;
}

const DEFAULT_END_WITHIN_MS = 10_000;
/** How long the output of an agent that is gone may stay open: a process it left behind can hold it for ever. */
const LAST_OUTPUT_MS = 1_000;

/** The agent leads a process group of its own, as under an editor, and so that it can be killed as a whole. */
export function processLink(agent: AgentCommand): AgentLink {
  const { command, args = [], env = process.env, cwd, endWithinMs = DEFAULT_END_WITHIN_MS } = agent;
  const child = spawn(command, args, { env, detached: true, stdio: "pipe", ...(cwd !== undefined && { cwd }) });
  const stderr: Uint8Array[] = [];
  let wasForced = false;
  child.stderr.on("data", (chunk: Uint8Array) => stderr.push(chunk));
  const exit = new Promise<AgentExit>((resolve) => {
    child.on("error", (error) => {
      stderr.push(Buffer.from(`cannot be started: ${error.message}\n`));
      resolve({ code: null, signal: null, wasForced });
    });
    // `exit`, not `close`: a grandchild that holds the pipes must not hide that the agent is gone.
    child.once("exit", (code, signal) => {
      if (!child.stdout.closed) {
        const timer = realSetTimeout(() => child.stdout.destroy(), LAST_OUTPUT_MS);
        child.stdout.once("close", () => clearTimeout(timer));
      }
      resolve({ code, signal, wasForced });
    });
  });
  const killGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // nobody is left in the group
    }
  };
  return {
    toAgent: child.stdin,
    fromAgent: child.stdout,
    pid: child.pid,
    exit,
    stderr: () => Buffer.concat(stderr).toString("utf8"),
    kill: (signal) => child.kill(signal),
    killGroup,
    end: () => {
      child.stdin.end();
      return orForced(exit, endWithinMs, () => {
        wasForced = true;
        killGroup("SIGKILL");
      });
    },
    dispose: async () => {
      for (const stream of child.stdio) stream?.destroy();
    },
  };
}

async function orForced(exit: Promise<AgentExit>, withinMs: number, force: () => void): Promise<AgentExit> {
  const timer = realSetTimeout(force, withinMs);
  const ended = await exit;
  clearTimeout(timer);
  return ended;
}

/** Over byte streams too, so that raw lines and the record work as they do with a process. */
export function appLink(app: AgentApp): AgentLink {
  const toAgent = new PassThrough();
  const fromAgent = new PassThrough();
  const connection = app.connect(ndJsonStream(Writable.toWeb(fromAgent), Readable.toWeb(toAgent)));
  connection.signal.addEventListener("abort", () => fromAgent.end(), { once: true });
  return streamsLink({ toAgent, fromAgent });
}

export interface AgentStreams {
  readonly toAgent: Writable;
  /** Must end when the agent has ended. */
  readonly fromAgent: Readable;
  readonly endWithinMs?: number;
}

/** For an agent that serves a pair of streams in this process, whatever it is built on. */
export function streamsLink(streams: AgentStreams): AgentLink {
  const { toAgent, fromAgent, endWithinMs = DEFAULT_END_WITHIN_MS } = streams;
  let wasForced = false;
  const exit = new Promise<AgentExit>((resolve) => {
    fromAgent.once("close", () => resolve({ code: null, signal: null, wasForced }));
  });
  return {
    toAgent,
    fromAgent,
    pid: undefined,
    exit,
    stderr: () => "",
    kill: () => fromAgent.destroy(),
    killGroup: () => {},
    end: () => {
      toAgent.end();
      return orForced(exit, endWithinMs, () => {
        wasForced = true;
        fromAgent.destroy();
      });
    },
    dispose: async () => {},
  };
}
