// Runs one tool call: deadline, progress, cancel, and exactly one typed outcome.

import { Pace } from "../../base/async/pace.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { DepthProbe } from "../../base/json/measure.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { ContentBlock } from "../../base/text/content.js";
import type { Link } from "../era/link.js";
import { paramHeaders } from "../era/param-headers.js";
import { TASK_LIMITS } from "../limits.js";
import { listTools } from "../lists/discovery.js";
import { readContent } from "../lists/read-content.js";
import type { McpTool } from "../lists/tolerate.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import type { ServerTasks } from "../tasks/server-tasks.js";
import { startedTask, type TaskHandle } from "../tasks/task.js";
import type { RpcId } from "../transport/json-rpc.js";
import { spilledOf } from "../transport/large/spilled.js";
import { withLastWords } from "../transport/stdio/launch.js";
import type { SendHint } from "../transport/transport.js";
import { inSeconds, outcomeError } from "./outcome-error.js";
import { checkOutput } from "./output-check.js";
import { PAGES_REQUIRED, pagesFirst } from "./pages-first.js";

export interface CallProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: CallProgress) => void;
  /** The server goes on with it as a task: with this it can be asked for again, also by another process. */
  readonly onTask?: ((task: TaskHandle) => void) | undefined;
  /** Whose call it is, on a connection that several sessions use. */
  readonly sharingSession?: SharingSession;
}

/** One of several who use a connection. */
export interface SharingSession {
  /** Tells it from the others, and nothing else. */
  readonly id: object;
  /** The link as this one may use it. */
  view(link: Link): Link;
}

/** `failed`: the server refused or could not be asked. `unknown`: it was asked, and whether it acted nobody can say. */
export type CallOutcome =
  | {
      readonly kind: "answered";
      readonly isError: boolean;
      readonly content: readonly ContentBlock[];
      readonly structured?: JsonValue;
      /** What is wrong with the answer although it is used, each in one sentence. */
      readonly warnings?: readonly string[];
    }
  | { readonly kind: "cancelled" }
  | { readonly kind: "failed"; readonly error: TenonError }
  | { readonly kind: "unknown"; readonly error: TenonError };

export interface CallRequest extends Omit<CallOptions, "sharingSession"> {
  readonly world: World;
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** Without progress it ends after this, and after `maxTotalMs` in any case. */
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  /** As listed: its schema names the headers of a modern call and what the output must look like. */
  readonly definition?: McpTool | undefined;
  /** Who follows a task to its end; without it none is asked for. */
  readonly tasks?: ServerTasks;
  /** A link as this call may use it; as it is unless given. */
  readonly view?: (link: Link) => Link;
}

/** How a call was sent: whether the server was asked for a task, and under which id. */
interface Sending {
  readonly isTask: boolean;
  id?: RpcId;
}

/** Never rejects. */
export async function callTool(link: Link, request: CallRequest): Promise<CallOutcome> {
  if (request.signal.aborted) return { kind: "cancelled" };
  const { world } = request;
  let hasProgress = false;
  const onProgress = (progress: CallProgress) => {
    hasProgress = true;
    try {
      request.onProgress(progress);
    } catch (thrown) {
      world.log.error("mcp.progress_listener_failed", { error: messageOf(thrown) }); // it must not take the wire down
    }
  };
  const sending: Sending = { isTask: request.tasks?.isWanted(link, request.definition) ?? false };
  const outcome = await send(link, request, { onProgress, sending });
  if (outcome.kind === "result") return resultOf(outcome.result, request, { link, sending });
  const where = `${request.server} / ${request.tool}`;
  switch (outcome.kind) {
    case "error": {
      const { error } = outcome;
      if (error.code !== PAGES_REQUIRED) return { kind: "failed", error: outcomeError(outcome, where) };
      return { kind: "failed", error: await pagesFirst(link, { error, where, signal: request.signal }) };
    }
    case "cancelled":
      return { kind: "cancelled" };
    case "timed_out": {
      const spent = inSeconds(outcome.afterMs);
      const isAtCap = hasProgress && outcome.afterMs >= request.maxTotalMs - EARLY_MS;
      const told = isAtCap ? `still under way after ${spent}, the most a call may take` : `no answer within ${spent}`;
      const text = `${where}: ${told}${hasProgress && !isAtCap ? ", and no more progress" : ""}; ${NOBODY_KNOWS}`;
      const error = new TenonError("mcp.call_timeout", text);
      return { kind: "unknown", error: withLastWords(error, link.wire.stderrTail) };
    }
    case "lost":
      return lostOutcome(outcome, where);
    default:
      return unreachable(outcome);
  }
}

const NOBODY_KNOWS = "whether it took effect is unknown";

/** Node's timers fire up to a millisecond early, as the clock has it by which durations are taken. */
const EARLY_MS = 2;

/** Codes that say by themselves that the server did not act on the request, or that it did and its answer is the trouble. */
const DECIDED: ReadonlySet<string> = new Set(["mcp.unauthorized", "mcp.too_large"]);

function lostOutcome(outcome: Extract<RpcOutcome, { kind: "lost" }>, where: string): CallOutcome {
  const error = outcomeError(outcome, where);
  if (!outcome.loss.wasSent || DECIDED.has(error.code)) return { kind: "failed", error };
  const { cause, hint, retryAfterMs } = error;
  const options = { cause, hint, ...defined({ retryAfterMs }) };
  return { kind: "unknown", error: new TenonError(error.code, `${error.message}; ${NOBODY_KNOWS}`, options) };
}

const HEADER_MISMATCH = -32_020;

/** The result, or what comes of the task that the server answered with instead. */
function resultOf(
  result: JsonObject,
  request: CallRequest,
  { link, sending }: { readonly link: Link; readonly sending: Sending },
): CallOutcome | Promise<CallOutcome> {
  const { tasks } = request;
  const { era } = link.agreement;
  const task = tasks && (sending.isTask || era === "modern") ? startedTask(result, era) : undefined;
  if (tasks && task) return tasks.finish({ task, link, requestId: sending.id }, request);
  return answerOf(result, request);
}

interface SendOptions extends Pick<CallOptions, "onProgress"> {
  readonly sending: Sending;
}

/** Calls are what there is most of: whatever only the modern era needs is left out of a legacy one. */
function send(link: Link, request: CallRequest, { onProgress, sending }: SendOptions): Promise<RpcOutcome> {
  if (link.agreement.era === "modern") return sendModern(link, request, onProgress);
  const { tool, args, signal, timeoutMs, maxTotalMs } = request;
  const params = { name: tool, arguments: args };
  const options = { signal, timeoutMs, maxTotalMs, onProgress, hint: { name: tool } };
  if (!sending.isTask) return link.request("tools/call", params, options);
  const task = { ttl: maxTotalMs + TASK_LIMITS.ttlMarginMs };
  const onSent = (id: RpcId) => {
    sending.id = id;
  };
  return link.request("tools/call", { ...params, task }, { ...options, onSent });
}

/**
 * A modern server that finds the headers wrong has refused the call before looking at it: the definition they were made
 * from is out of date. It is fetched anew, and the call is sent once more with the right ones.
 */
async function sendModern(
  link: Link,
  request: CallRequest,
  onProgress: CallOptions["onProgress"],
): Promise<RpcOutcome> {
  const { tool, args, signal, timeoutMs, maxTotalMs } = request;
  const sendOnce = (definition: McpTool | undefined) => {
    const headers = definition ? paramHeaders(definition.inputSchema, args) : {};
    const params = { name: tool, arguments: args };
    const hint: SendHint = { name: tool, headers };
    return link.request("tools/call", params, { signal, timeoutMs, maxTotalMs, onProgress, hint });
  };
  const outcome = await sendOnce(request.definition);
  if (outcome.kind !== "error" || outcome.error.code !== HEADER_MISMATCH) return outcome;
  const listed = await listTools(link, request.world, signal).catch(() => undefined);
  if (signal.aborted) return { kind: "cancelled" };
  const definition = listed?.tools.find((known) => known.name === tool);
  return definition ? await sendOnce(definition) : outcome;
}

type AnswerContext = Pick<CallRequest, "world" | "server" | "tool" | "definition">;

/** At once for what most tools answer; only structured content takes steps of its own. */
export function answerOf(result: JsonObject, request: AnswerContext): CallOutcome | Promise<CallOutcome> {
  const content = readContent(result["content"]);
  const isError = result["isError"] === true;
  // `toolResult` is what the very first servers sent instead of content.
  const given = result["structuredContent"];
  const structured = given === undefined && content.length === 0 ? result["toolResult"] : given;
  if (structured === undefined) return { kind: "answered", isError, content };
  const spilled = spilledOf(structured);
  if (spilled) return { kind: "answered", isError, content: [...content, spilled] };
  return structuredAnswer(structured, { isError, content }, request);
}

async function structuredAnswer(
  structured: JsonValue,
  { isError, content }: { readonly isError: boolean; readonly content: readonly ContentBlock[] },
  request: AnswerContext,
): Promise<CallOutcome> {
  const pace = Pace.of(request.world);
  if (await isTooDeep(structured, pace)) {
    const warning = `structured content nested more than ${LIMITS.dataMaxDepth} deep was left out`;
    return { kind: "answered", isError, content, warnings: warned(request, [warning]) };
  }
  const warnings = await outputWarnings(structured, isError, request);
  return {
    kind: "answered",
    isError,
    content,
    structured,
    ...defined({ warnings: warnings.length > 0 ? warnings : undefined }),
  };
}

/** An error need not look like a success: only what a tool returns is held against its schema. */
async function outputWarnings(
  structured: JsonValue,
  isError: boolean,
  request: AnswerContext,
): Promise<readonly string[]> {
  const schema = request.definition?.outputSchema;
  if (isError || !schema) return [];
  const { world, server, tool } = request;
  const verdict = await checkOutput(schema, structured, world);
  if (verdict.kind === "unchecked") world.log.debug("mcp.output_unchecked", { server, tool, reason: verdict.reason });
  return verdict.kind === "mismatch" ? warned(request, [verdict.warning]) : [];
}

function warned({ world, server, tool }: AnswerContext, warnings: readonly string[]): readonly string[] {
  for (const warning of warnings) world.log.warn("mcp.output_mismatch", { server, tool, warning });
  return warnings;
}

const PROBE_STEPS = 20_000;

async function isTooDeep(value: JsonValue, pace: Pace): Promise<boolean> {
  if (typeof value !== "object" || value === null) return false;
  const probe = new DepthProbe(value, LIMITS.dataMaxDepth);
  for (;;) {
    const found = await pace.run(() => probe.step(PROBE_STEPS));
    if (found !== "more") return found === "too deep";
  }
}
