// How a scripted tool's reply looks on the wire. Pure, but for the facts about the process that are handed in.
import { unreachable } from "../../base/id.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { ToolReply, ToolScript } from "./behaviour.js";

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

export function answerOf(reply: ImmediateReply, args: JsonObject, facts: () => ProcessFacts): Answer {
  switch (reply.kind) {
    case "echo":
      return textAnswer(JSON.stringify(args));
    case "text":
      return textAnswer(reply.text);
    case "content":
      return contentAnswer(reply);
    case "structured":
      return structuredAnswer(reply.value);
    case "image":
      return { result: { content: [{ type: "image", data: PIXEL_PNG, mimeType: "image/png" }] } };
    case "bytes":
      return textAnswer("x".repeat(reply.bytes));
    case "error":
      return { result: { content: [{ type: "text", text: reply.text }], isError: true } };
    case "protocol_error":
      return { error: { code: reply.code, message: reply.message } };
    case "raw":
      return { result: reply.result };
    case "env":
      return structuredAnswer({ names: [...facts().envNames].sort() });
    case "cwd":
      return textAnswer(facts().cwd);
    case "pid": {
      const { pid, children } = facts();
      return structuredAnswer({ pid, children });
    }
    default:
      return unreachable(reply);
  }
}

export function textAnswer(text: string): Answer {
  return { result: { content: [{ type: "text", text }] } };
}

/** The entry of a tool in `tools/list`. */
export function definitionOf(tool: ToolScript): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations, task } = tool;
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema: inputSchema ?? { type: "object", properties: {} },
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
    ...(task !== undefined && { execution: { taskSupport: task.support ?? "required" } }),
  };
}

function structuredAnswer(value: JsonValue): Answer {
  return { result: { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value } };
}

function contentAnswer(reply: Extract<ToolReply, { readonly kind: "content" }>): Answer {
  return {
    result: {
      content: reply.content,
      ...(reply.structured !== undefined && { structuredContent: reply.structured }),
      ...(reply.isError !== undefined && { isError: reply.isError }),
    },
  };
}
