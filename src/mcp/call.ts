// Runs one tool call: deadline, progress, cancel, and exactly one typed outcome.
import type { Client, Progress } from "@modelcontextprotocol/client";
import type { ContentBlock } from "../base/content.js";
import { messageOf, TenonError } from "../base/errors.js";
import type { JsonObject, JsonValue } from "../base/json.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/world.js";
import { requestRaw } from "./raw-result.js";
import { readContent } from "./tolerate.js";

export interface CallProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: CallProgress) => void;
}

/** `failed`: the server refused or could not be asked. `unknown`: it was asked, and whether it acted nobody can say. */
export type CallOutcome =
  | {
      readonly kind: "answered";
      readonly isError: boolean;
      readonly content: readonly ContentBlock[];
      readonly structured?: JsonValue;
    }
  | { readonly kind: "cancelled" }
  | { readonly kind: "failed"; readonly error: TenonError }
  | { readonly kind: "unknown"; readonly error: TenonError };

interface Call extends CallOptions {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
}

export async function callTool(client: Client, world: World, call: Call): Promise<CallOutcome> {
  if (call.signal.aborted) return { kind: "cancelled" };
  using deadline = world.deadline(LIMITS.callTimeoutMs, call.signal);
  const where = `${call.server} / ${call.tool}`;
  try {
    const request = { method: "tools/call", params: { name: call.tool, arguments: call.args } };
    const result = await requestRaw(client, request, {
      signal: deadline.signal,
      timeout: LIMITS.callTimeoutMs * 2, // the deadline above rules, on the world's clock
      onprogress: (progress) => call.onProgress(readProgress(progress)),
    });
    const structured = result["structuredContent"];
    return {
      kind: "answered",
      isError: result["isError"] === true,
      content: readContent(result["content"]),
      ...(structured === undefined ? {} : { structured }),
    };
  } catch (thrown) {
    if (call.signal.aborted) return { kind: "cancelled" };
    if (deadline.expired) {
      const text = `${where}: no answer within ${LIMITS.callTimeoutMs / 1000} s; whether it took effect is unknown`;
      return { kind: "unknown", error: new TenonError("mcp.call_timeout", text, { cause: thrown }) };
    }
    return failureOf(thrown, where);
  }
}

/** A protocol error is the server's own answer; anything else means the connection broke with the call under way. */
function failureOf(thrown: unknown, where: string): CallOutcome {
  const code = typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
  if (typeof code === "number") {
    return {
      kind: "failed",
      error: new TenonError("mcp.call_failed", `${where}: ${messageOf(thrown)}`, { cause: thrown }),
    };
  }
  const text = `${where}: the connection ended during the call (${messageOf(thrown)}); whether it took effect is unknown`;
  return { kind: "unknown", error: new TenonError("mcp.connection_lost", text, { cause: thrown }) };
}

function readProgress(raw: Progress): CallProgress {
  return {
    progress: raw.progress,
    ...(raw.total === undefined ? {} : { total: raw.total }),
    ...(raw.message === undefined ? {} : { message: raw.message }),
  };
}
