// The port every transport implements: messages out, messages in, and a report for every request that gets no response.
import { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { KeyLines, type KnownSecrets } from "../../base/text/secrets.js";
import { MCP_LIMITS } from "../limits.js";

/** Why a request will get no answer. `wasSent`: the server may have acted on it, so its outcome is unknown. */
export interface RequestLoss {
  readonly error: TenonError;
  readonly wasSent: boolean;
  /** HTTP: the status of an answer that was no JSON-RPC message. Absent when no answer came at all. */
  readonly httpStatus?: number;
}

/** The start and the end of a message's text: enough to see which request it answers, and often more. */
export interface MessageEnds {
  readonly head: string;
  readonly tail: string;
}

/** Receives what a transport reports. Never called before `start`, never after `close` has resolved. */
export interface TransportListener {
  onMessage(message: IncomingMessage): void;
  /** A long answer has come and is about to be read. A peek and no promise: it may turn out to be no message at all. */
  onPeek?(id: RpcId, ends: MessageEnds): void;
  /** This one request is lost; the transport itself goes on. */
  onRequestLost(id: RpcId, loss: RequestLoss): void;
  /** The transport is gone, with its cause. At most once, and not because of `close`. */
  onClosed(error: TenonError): void;
  /** Something that was no message (garbage, an oversize line without an id): counted and logged, nothing more. */
  onNoise(what: string): void;
}

/** Addresses a message: the HTTP headers of the modern era are built from it. */
export interface SendHint {
  /** The tool, prompt or resource the request names (`Mcp-Name`). */
  readonly name?: string;
  /** More headers for this one request (`Mcp-Param-*`). */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How the two sides agreed to talk; set once by the handshake. */
export interface Agreement {
  readonly era: "legacy" | "modern";
  readonly protocolVersion: string;
}

export interface Transport {
  /** Opens it: spawns the process, or does nothing much for HTTP. A failure is reported through `onClosed`. */
  start(listener: TransportListener): void;
  /**
   * Never throws and never waits: a failure is reported through `onRequestLost` or `onClosed`. `isLone`: it goes out now,
   * without a wait for later messages of this turn.
   */
  send(message: OutgoingMessage, hint?: SendHint, isLone?: boolean): void;
  /** Stops waiting for this request and cancels it at the server in the way of the era and the transport. */
  cancel(id: RpcId, reason: string): void;
  agreed(agreement: Agreement): void;
  /** The end of what the server wrote to stderr; empty for remote servers. */
  readonly stderrTail: string;
  /** The session id of legacy Streamable HTTP, given by the server. */
  readonly sessionId?: string | undefined;
  /** Ends it and everything it started. Idempotent. */
  close(grace: EndGrace): Promise<void>;
}

/** A transport that does what `inner` does, except for `changes`. */
export function wrapTransport(inner: Transport, changes: Partial<Transport>): Transport {
  const same: Transport = {
    start: (listener) => inner.start(listener),
    send: inner.send.bind(inner), // no frame of its own on the way of a call
    cancel: (id, reason) => inner.cancel(id, reason),
    agreed: (agreement) => inner.agreed(agreement),
    close: (grace) => inner.close(grace),
    get stderrTail() {
      return inner.stderrTail;
    },
    get sessionId() {
      return inner.sessionId;
    },
  };
  return Object.defineProperties(same, Object.getOwnPropertyDescriptors(changes));
}

export type RpcId = number | string;

export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/** A message that we send. */
export type OutgoingMessage =
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly method: string; readonly params?: JsonObject }
  | { readonly jsonrpc: "2.0"; readonly method: string; readonly params?: JsonObject }
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly jsonrpc: "2.0"; readonly id: RpcId; readonly error: RpcErrorBody };

/** A message that came in, classified and checked as far as routing needs it. */
export type IncomingMessage =
  | { readonly kind: "request"; readonly id: RpcId; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "result"; readonly id: RpcId; readonly result: JsonObject }
  | { readonly kind: "error"; readonly id: RpcId; readonly error: RpcErrorBody };

/** Undefined for what is no JSON-RPC message of any kind: servers print such things, and it must not matter. */
export function readMessage(value: unknown): IncomingMessage | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0") return undefined;
  const { id, method } = value;
  if (typeof method === "string") {
    const params = isJsonObject(value["params"]) ? value["params"] : {};
    if (id === undefined || id === null) return { kind: "notification", method, params };
    return isId(id) ? { kind: "request", id, method, params } : undefined;
  }
  if (!isId(id)) return undefined;
  if (isJsonObject(value["result"])) return { kind: "result", id, result: value["result"] };
  if (isJsonObject(value["error"])) return { kind: "error", id, error: readError(value["error"]) };
  // Servers written by hand put their words where an object belongs.
  if (typeof value["error"] === "string") return { kind: "error", id, error: readError({ message: value["error"] }) };
  return undefined;
}

/** Whose answer it is that has neither a result nor an error in it (`"result": null` is one): nothing else will come for it. */
export function emptyAnswerId(value: unknown): RpcId | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0" || value["method"] !== undefined) return undefined;
  return isId(value["id"]) && readMessage(value) === undefined ? value["id"] : undefined;
}

/** The error for such a response. The server did respond, and may have acted. */
export function emptyAnswerError(): TenonError {
  return new TenonError("mcp.protocol", "the server's answer has neither a result nor an error that could be read");
}

export function readError(raw: JsonObject): RpcErrorBody {
  const { code, message, data } = raw;
  return {
    code: typeof code === "number" ? code : -32603,
    message: typeof message === "string" ? message : "the server gave no message",
    ...defined({ data }),
  };
}

function isId(value: unknown): value is RpcId {
  return typeof value === "string" || typeof value === "number";
}

/** Redacts errors, log lines, progress and the state of tasks. The result of a tool that succeeded stays as it is. */
export function redactedTransport(inner: Transport, secrets: KnownSecrets): Transport {
  return wrapTransport(inner, {
    get stderrTail() {
      return secrets.clean(inner.stderrTail);
    },
    start: (listener) => inner.start(redactedListener(listener, secrets)),
  });
}

function redactedListener(listener: TransportListener, secrets: KnownSecrets): TransportListener {
  const keys = new KeyLines(); // of its log, which may print a private key line by line
  return {
    onMessage: (message) => listener.onMessage(redacted(message, secrets, keys)),
    onPeek: (id, ends) => listener.onPeek?.(id, ends),
    onRequestLost: (id, loss) => listener.onRequestLost(id, { ...loss, error: secrets.cleanError(loss.error) }),
    onClosed: (error) => listener.onClosed(secrets.cleanError(error)),
    onNoise: (what) => listener.onNoise(secrets.clean(what)),
  };
}

/** Notifications made of text for people, and notifications with such text in some fields. */
const TEXT_NOTIFICATIONS: ReadonlySet<string> = new Set(["notifications/message", "notifications/progress"]);
const TASK_NOTIFICATIONS: ReadonlySet<string> = new Set(["notifications/tasks", "notifications/tasks/status"]);

function redacted(message: IncomingMessage, secrets: KnownSecrets, keys: KeyLines): IncomingMessage {
  switch (message.kind) {
    case "request":
      return message;
    case "result": {
      const { isError, taskId, task } = message.result;
      const isTrouble = isError === true || typeof taskId === "string" || isJsonObject(task);
      return isTrouble ? { ...message, result: redactedFailure(message.result, secrets) } : message;
    }
    case "error":
      return { ...message, error: redactedError(message.error, secrets) };
    case "notification": {
      const { method, params } = message;
      if (TEXT_NOTIFICATIONS.has(method)) return { ...message, params: redactedText(params, secrets, keys) };
      return TASK_NOTIFICATIONS.has(method) ? { ...message, params: redactedFailure(params, secrets) } : message;
    }
  }
}

function redactedText(params: JsonObject, secrets: KnownSecrets, keys: KeyLines): JsonObject {
  const { data } = params;
  const lines = typeof data === "string" ? data.split("\n") : undefined;
  const text = lines ? { ...params, data: lines.map((line) => keys.pass(line)).join("\n") } : params;
  const clean = secrets.cleanAll(text);
  return isJsonObject(clean) ? clean : params;
}

/** `data` may hold addresses that a person is sent to: only known secrets are taken out of it. */
function redactedError({ code, message, data }: RpcErrorBody, secrets: KnownSecrets): RpcErrorBody {
  const clean = data === undefined ? undefined : secrets.takenFromAll(data);
  return { code, message: clipped(message, secrets), ...defined({ data: clean }) };
}

/** Cleans a little more than is kept, so that no part of a secret is left at the cut. */
function clipped(message: string, secrets: KnownSecrets): string {
  if (message.length <= MCP_LIMITS.errorMaxChars) return secrets.clean(message);
  const { longestChars } = secrets;
  const clean = secrets.clean(message.slice(0, MCP_LIMITS.errorMaxChars + longestChars));
  return `${clean.slice(0, Math.max(0, clean.length - longestChars))}… (${message.length} characters)`;
}

/** A failed call or the state of a task. A task that succeeded carries its result, which stays as it is. */
function redactedFailure(fields: JsonObject, secrets: KnownSecrets): JsonObject {
  const { result, ...words } = fields;
  const { content } = words;
  // The text of a failed call; ids beside it must not change.
  const edited = words["isError"] === true && content !== undefined ? secrets.cleanAll(content) : content;
  const clean = secrets.takenFromAll(edited === content ? words : Object.assign(words, { content: edited }));
  if (!isJsonObject(clean)) return words;
  if (result === undefined) return clean === words && edited === content ? fields : clean;
  const isError = isJsonObject(result) && result["isError"] === true;
  return { ...clean, result: isError ? redactedFailure(result, secrets) : result };
}
