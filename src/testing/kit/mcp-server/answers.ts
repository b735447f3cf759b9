// How a scripted tool's reply looks on the wire. Pure, but for the facts about the process that are handed in.
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import type { Behaviour, ToolReply, ToolScript } from "./behaviour.js";

/** The part of a JSON-RPC response that is not its id. */
export type Answer =
  | { readonly result: JsonValue }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: JsonValue } };

/** What `env`, `cwd` and `pid` tell. */
export interface ProcessFacts {
  readonly envNames: readonly string[];
  readonly cwd: string;
  readonly pid: number;
  readonly children: readonly number[];
}

/** Replies that take more than their own words: another request, or the test. */
export type DeferredReply = Extract<ToolReply, { readonly kind: "ask_client" | "ask_input" | "held" }>;
export type ImmediateReply = Exclude<ToolReply, DeferredReply>;

/** One transparent pixel. */
const PIXEL_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

export function isDeferred(reply: ToolReply): reply is DeferredReply {
  return reply.kind === "ask_client" || reply.kind === "ask_input" || reply.kind === "held";
}

export function answerOf(reply: ImmediateReply, args: JsonObject, host: { facts(): ProcessFacts }): Answer {
  switch (reply.kind) {
    case "echo":
      return textAnswer(JSON.stringify(args));
    case "text":
      return textAnswer(reply.text);
    case "content": {
      const { content, structured: structuredContent, isError } = reply;
      return { result: { content, ...defined({ structuredContent, isError }) } };
    }
    case "structured":
      return structuredAnswer(reply.value);
    case "image":
      return { result: { content: [{ type: "image", data: PIXEL_PNG, mimeType: "image/png" }] } };
    case "bytes":
      return textAnswer("x".repeat(reply.bytes));
    case "error":
      return { result: { content: [{ type: "text", text: reply.text }], isError: true } };
    case "protocol_error":
      return errorAnswer(reply.code, reply.message);
    case "raw":
      return { result: reply.result };
    case "env":
      return structuredAnswer({ names: [...host.facts().envNames].sort() });
    case "cwd":
      return textAnswer(host.facts().cwd);
    case "pid": {
      const { pid, children } = host.facts();
      return structuredAnswer({ pid, children });
    }
    default:
      return unreachable(reply);
  }
}

export function errorAnswer(code: number, message: string): Answer {
  return { error: { code, message } };
}

export function textAnswer(text: string): Answer {
  return { result: { content: [{ type: "text", text }] } };
}

/** The entry of a tool in `tools/list`. */
function definitionOf(tool: ToolScript): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations, task } = tool;
  const execution = task && { taskSupport: task.support ?? "required" };
  return {
    ...defined({ name, title, description }),
    inputSchema: inputSchema ?? { type: "object", properties: {} },
    ...defined({ outputSchema, annotations, execution }),
  };
}

function structuredAnswer(value: JsonValue): Answer {
  return { result: { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value } };
}

const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const INVALID_PARAMS = -32602;

export function initializeAnswer(behaviour: Behaviour, params: JsonObject): Answer {
  const { instructions, protocolVersion } = behaviour;
  const agreed = LEGACY_VERSIONS.find((version) => version === params["protocolVersion"]) ?? LEGACY_VERSIONS[0];
  return {
    result: {
      protocolVersion: protocolVersion ?? agreed,
      capabilities: capabilitiesOf(behaviour),
      serverInfo: serverInfoOf(behaviour),
      ...defined({ instructions }),
    },
  };
}

export function capabilitiesOf({ capabilities, tools = [] }: Behaviour): JsonObject {
  const tasks = tools.some(({ task }) => task !== undefined) ? TASK_CAPABILITIES : {};
  return capabilities ?? { tools: { listChanged: true }, logging: {}, ...tasks };
}

export function serverInfoOf({ serverName, serverVersion }: Behaviour): JsonObject {
  return { name: serverName ?? "scripted", version: serverVersion ?? "1.0.0" };
}

/** `tools` are those of the moment: a script may have replaced the behaviour's own. */
export function pageAnswer(behaviour: Behaviour, tools: readonly ToolScript[], cursor: JsonValue | undefined): Answer {
  const { rawTools, pageSize, endlessPages } = behaviour;
  const all: readonly JsonValue[] = [...tools.map(definitionOf), ...(rawTools ?? [])];
  const from = cursor === undefined ? 0 : typeof cursor === "string" && cursor !== "" ? Number(cursor) : Number.NaN;
  if (!Number.isInteger(from) || from < 0) {
    return errorAnswer(INVALID_PARAMS, `Invalid cursor: ${JSON.stringify(cursor)}`);
  }
  const to = from + (pageSize ?? Math.max(1, all.length));
  const hasMore = to < all.length || endlessPages === true;
  return { result: { tools: all.slice(from, to), ...(hasMore && { nextCursor: String(to) }) } };
}

export interface CallProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

interface CallWire {
  readonly signal: AbortSignal;
  reply(answer: Answer): void;
  progress(progress: CallProgress): void;
  done(): void;
}

export class HeldCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly #wire: CallWire;

  constructor(name: string, args: JsonObject, wire: CallWire) {
    this.name = name;
    this.arguments = args;
    this.#wire = wire;
  }

  /** Aborts when the client cancels the call. Replying after that is possible: it is how a late reply is made. */
  get cancelled(): AbortSignal {
    return this.#wire.signal;
  }

  /** Resolves when the client has cancelled. */
  async untilCancelled(): Promise<void> {
    if (this.cancelled.aborted) return;
    await new Promise<void>((resolve) => this.cancelled.addEventListener("abort", () => resolve(), { once: true }));
  }

  /** Sent only when the client asked for progress. */
  progress(progress: CallProgress): void {
    this.#wire.progress(progress);
  }

  /** A text, or content blocks as they go over the wire. May be called again: a duplicate reply. */
  respondWith(content: string | readonly JsonValue[]): void {
    this.#end(typeof content === "string" ? textAnswer(content) : { result: { content } });
  }

  /** The whole `result`, verbatim. */
  respondWithResult(result: JsonValue): void {
    this.#end({ result });
  }

  /** The tool failed: a result with `isError`. */
  respondWithError(text: string): void {
    this.#end({ result: { content: [{ type: "text", text }], isError: true } });
  }

  /** The request failed: a JSON-RPC error. */
  respondWithProtocolError(code: number, message: string): void {
    this.#end(errorAnswer(code, message));
  }

  #end(answer: Answer): void {
    this.#wire.reply(answer);
    this.#wire.done();
  }
}

export const TASK_EXTENSION = "io.modelcontextprotocol/tasks";

/** What such a server says it can do, to clients of either era. */
const TASK_CAPABILITIES: JsonObject = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [TASK_EXTENSION]: {} },
};
