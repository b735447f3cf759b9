// Takes secrets out of everything a transport reports about trouble, so that layers above may show, send and store it.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { KeyLines, type KnownSecrets } from "../../base/text/secrets.js";
import { MCP_LIMITS } from "../limits.js";
import type { IncomingMessage, RpcErrorBody } from "./json-rpc.js";
import { type Transport, type TransportListener, wrapTransport } from "./transport.js";

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
