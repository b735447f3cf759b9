// A transport that lets no word of trouble through with a secret in it: everybody above may show, send and keep what it tells.

import type { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { KnownSecrets } from "../../base/text/secrets.js";
import { KeyLines } from "../../base/text/secrets.js";
import { MCP_LIMITS } from "../limits.js";
import type { IncomingMessage, RpcErrorBody, RpcId } from "./json-rpc.js";
import type { MessageEnds, RequestLoss, Transport, TransportListener } from "./transport.js";
import { WrappedTransport } from "./wrapped.js";

/** Of errors, log lines, progress and the state of tasks. What a tool answers is what was asked for, and stays as it is. */
export class RedactingTransport extends WrappedTransport {
  readonly #secrets: KnownSecrets;

  constructor(transport: Transport, secrets: KnownSecrets) {
    super(transport);
    this.#secrets = secrets;
  }

  override get stderrTail(): string {
    return this.#secrets.clean(this.inner.stderrTail);
  }

  override start(listener: TransportListener): void {
    this.inner.start(new RedactingListener(listener, this.#secrets));
  }
}

class RedactingListener implements TransportListener {
  readonly #listener: TransportListener;
  readonly #secrets: KnownSecrets;
  /** Of its log, which may print a private key line by line. */
  readonly #keys = new KeyLines();

  constructor(listener: TransportListener, secrets: KnownSecrets) {
    this.#listener = listener;
    this.#secrets = secrets;
  }

  onMessage(message: IncomingMessage): void {
    this.#listener.onMessage(this.#redacting(message));
  }

  onPeek(id: RpcId, ends: MessageEnds): void {
    this.#listener.onPeek?.(id, ends);
  }

  onRequestLost(id: RpcId, loss: RequestLoss): void {
    this.#listener.onRequestLost(id, { ...loss, error: this.#secrets.cleanError(loss.error) });
  }

  onClosed(error: TenonError): void {
    this.#listener.onClosed(this.#secrets.cleanError(error));
  }

  onNoise(what: string): void {
    this.#listener.onNoise(this.#secrets.clean(what));
  }

  #redacting(message: IncomingMessage): IncomingMessage {
    switch (message.kind) {
      case "request":
        return message;
      case "result": {
        const { result } = message;
        return isTrouble(result) ? { ...message, result: this.#troubled(result) } : message;
      }
      case "error":
        return { ...message, error: this.#error(message.error) };
      case "notification":
        if (SPEAKING.has(message.method)) return { ...message, params: this.#spoken(message.params) };
        return TELLING.has(message.method) ? { ...message, params: this.#troubled(message.params) } : message;
    }
  }

  /** Words for people: without keys of any kind. */
  #spoken(params: JsonObject): JsonObject {
    const { data } = params;
    const lines = typeof data === "string" ? data.split("\n") : undefined;
    const said = lines ? { ...params, data: lines.map((line) => this.#keys.pass(line)).join("\n") } : params;
    const clean = this.#secrets.cleanAll(said);
    return isJsonObject(clean) ? clean : params;
  }

  /** `data` may hold addresses the person is sent to: only what is known is taken out of it. */
  #error({ code, message, data }: RpcErrorBody): RpcErrorBody {
    return {
      code,
      message: this.#clipped(message),
      ...defined({ data: data === undefined ? undefined : this.#secrets.takenFromAll(data) }),
    };
  }

  /** With a little more than is kept, so that no part of a secret is left where it is cut. */
  #clipped(message: string): string {
    if (message.length <= MCP_LIMITS.errorMaxChars) return this.#secrets.clean(message);
    const { longestChars } = this.#secrets;
    const clean = this.#secrets.clean(message.slice(0, MCP_LIMITS.errorMaxChars + longestChars));
    return `${clean.slice(0, Math.max(0, clean.length - longestChars))}… (${message.length} characters)`;
  }

  /** A task that has ended well carries its answer, which stays as it is. */
  #troubled(fields: JsonObject): JsonObject {
    const { result, ...words } = fields;
    const clean = this.#secrets.takenFromAll(withContent(words, (content) => this.#secrets.cleanAll(content)));
    if (!isJsonObject(clean)) return words;
    if (result === undefined) return clean === words ? fields : clean;
    const isError = isJsonObject(result) && result["isError"] === true;
    return { ...clean, result: isError ? this.#troubled(result) : result };
  }
}

/** A failure, or how a task stands. */
function isTrouble({ isError, taskId, task }: JsonObject): boolean {
  return isError === true || typeof taskId === "string" || isJsonObject(task);
}

/** The words of a failed call; ids beside them must stay what they are. */
function withContent(fields: JsonObject, edit: (content: JsonValue) => JsonValue): JsonObject {
  const { content } = fields;
  if (fields["isError"] !== true || content === undefined) return fields;
  const edited = edit(content);
  return edited === content ? fields : { ...fields, content: edited };
}

/** Notifications made of words for people. */
const SPEAKING: ReadonlySet<string> = new Set(["notifications/message", "notifications/progress"]);
/** Notifications that have such words among others. */
const TELLING: ReadonlySet<string> = new Set(["notifications/tasks", "notifications/tasks/status"]);
