// Runs one tool call: deadline, progress, cancel, and exactly one typed outcome.
import type { Eventual } from "../../base/async/eventual.js";
import { Pace } from "../../base/async/pace.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { DepthProbe, isJsonObject, type JsonObject, type JsonValue, measure } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { checkAgainstSchema, type SchemaCheckLimits, type SchemaFit } from "../../base/schema/schema-check.js";
import type { ContentBlock } from "../../base/text/content.js";
import { MCP_LIMITS, TASK_LIMITS } from "../limits.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import { paramHeaders } from "../transport/http/param-headers.js";
import { spilledOf } from "../transport/large/spilled.js";
import { withLastWords } from "../transport/stdio/launch.js";
import type { RpcErrorBody, RpcId, SendHint } from "../transport/transport.js";
import { inSeconds, type Link, outcomeError } from "./link.js";
import { shortName, textField } from "./lists.js";
import { startedTask, type TaskHandle } from "./task.js";
import type { ServerTasks } from "./tasks.js";
import { listTools, type McpTool } from "./tools.js";

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
  readonly view?: ((link: Link) => Link) | undefined;
}

/** How a call was sent: whether the server was asked for a task, and under which id. */
interface Sending {
  readonly link: Link;
  readonly onProgress: CallOptions["onProgress"];
  readonly isTask: boolean;
  hasProgress: boolean;
  id?: RpcId;
}

/** What is made of the end of a call, in the moment it is there. */
export interface CallEnd {
  ended(outcome: CallOutcome): Eventual<CallOutcome>;
  /** It could not be written, or there is a bug. */
  broken(error: unknown): Promise<never>;
}

/** Rejects only where it could not be written. */
export function callTool(link: Link, request: CallRequest, end?: CallEnd): Promise<CallOutcome> {
  const isTask = request.tasks?.isWanted(link, request.definition) ?? false;
  const sending: Sending = {
    link,
    isTask,
    hasProgress: false,
    onProgress: (progress) => {
      sending.hasProgress = true;
      try {
        request.onProgress(progress);
      } catch (thrown) {
        request.world.log.error("mcp.progress_listener_failed", { error: messageOf(thrown) }); // it must not take the wire down
      }
    },
  };
  return send(request, sending).then(
    (outcome) => (end ? endedBy(end, outcome, request, sending) : outcomeOf(outcome, request, sending)),
    end && ((error: unknown) => end.broken(error)),
  );
}

function outcomeOf(outcome: RpcOutcome, request: CallRequest, sending: Sending): Eventual<CallOutcome> {
  return outcome.kind === "result"
    ? resultOf(outcome.result, request, sending)
    : withoutResult(outcome, request, sending);
}

function endedBy(end: CallEnd, outcome: RpcOutcome, request: CallRequest, sending: Sending): Eventual<CallOutcome> {
  let called: Eventual<CallOutcome>;
  try {
    called = outcomeOf(outcome, request, sending);
  } catch (error) {
    return end.broken(error);
  }
  return called instanceof Promise ? endedLater(end, called) : end.ended(called);
}

function endedLater(end: CallEnd, called: Promise<CallOutcome>): Promise<CallOutcome> {
  return called.then(
    (outcome) => end.ended(outcome),
    (error: unknown) => end.broken(error),
  );
}

async function withoutResult(
  outcome: Exclude<RpcOutcome, { kind: "result" }>,
  request: CallRequest,
  { link, hasProgress }: Sending,
): Promise<CallOutcome> {
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
      const reason = isAtCap ? `still under way after ${spent}, the most a call may take` : `no answer within ${spent}`;
      const text = `${where}: ${reason}${hasProgress && !isAtCap ? ", and no more progress" : ""}; ${NOBODY_KNOWS}`;
      const error = new TenonError("mcp.call_timeout", text);
      return { kind: "unknown", error: withLastWords(error, link.wire.stderrTail) };
    }
    case "lost":
      return lostOutcome(outcome, where);
    default:
      return unreachable(outcome);
  }
}

export const NOBODY_KNOWS = "whether it took effect is unknown";

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
function resultOf(result: JsonObject, request: CallRequest, sending: Sending): CallOutcome | Promise<CallOutcome> {
  const { tasks } = request;
  const { era } = sending.link.agreement;
  const task = tasks && (sending.isTask || era === "modern") ? startedTask(result, era) : undefined;
  return tasks && task ? tasks.finish(task, request, sending) : answerOf(result, request);
}

/** Calls are what there is most of: whatever only the modern era needs is left out of a legacy one. */
function send(request: CallRequest, sending: Sending): Promise<RpcOutcome> {
  const { link, onProgress } = sending;
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
async function sendModern(link: Link, request: CallRequest, onProgress: Sending["onProgress"]): Promise<RpcOutcome> {
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
  const definition = listed?.items.find((known) => known.name === tool);
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

/** Waits only for values that take long to look through. */
function structuredAnswer(
  structured: JsonValue,
  { isError, content }: { readonly isError: boolean; readonly content: readonly ContentBlock[] },
  request: AnswerContext,
): Eventual<CallOutcome> {
  if (!isSurelyFlat(structured)) return answerUnlessDeep(structured, { isError, content }, request);
  const warnings = outputWarnings(structured, isError, request);
  if (warnings instanceof Promise) return answerOnceChecked(structured, { isError, content }, warnings);
  if (warnings.length === 0) return { kind: "answered", isError, content, structured };
  return { kind: "answered", isError, content, structured, warnings };
}

type AnswerContent = Pick<Extract<CallOutcome, { readonly kind: "answered" }>, "isError" | "content">;

async function answerUnlessDeep(
  structured: JsonValue,
  answer: AnswerContent,
  request: AnswerContext,
): Promise<CallOutcome> {
  if (await isTooDeep(structured, Pace.of(request.world))) {
    const warning = `structured content nested more than ${LIMITS.dataMaxDepth} deep was left out`;
    return { kind: "answered", ...answer, warnings: warned(request, [warning]) };
  }
  return await answerOnceChecked(structured, answer, outputWarnings(structured, answer.isError, request));
}

async function answerOnceChecked(
  structured: JsonValue,
  answer: AnswerContent,
  checking: Eventual<readonly string[]>,
): Promise<CallOutcome> {
  const warnings = await checking;
  return { kind: "answered", ...answer, structured, ...(warnings.length === 0 ? {} : { warnings }) };
}

/**
 * No compiler and no library: ajv takes a millisecond a tool and runs patterns with an engine that a hostile one stalls;
 * @cfworker/json-schema runs them with the same engine.
 */
export const OUTPUT_CHECK: SchemaCheckLimits = { extent: MCP_LIMITS.outputValue, maxProblems: 1 };

/** An error need not look like a success: only what a tool returns is held against its schema. */
function outputWarnings(structured: JsonValue, isError: boolean, request: AnswerContext): Eventual<readonly string[]> {
  const schema = request.definition?.outputSchema;
  if (isError || !schema) return NO_WARNINGS;
  const checking = checkAgainstSchema(schema, structured, request.world, OUTPUT_CHECK);
  return checking instanceof Promise ? checking.then((fit) => warningsOf(fit, request)) : warningsOf(checking, request);
}

function warningsOf(fit: SchemaFit, request: AnswerContext): readonly string[] {
  const { world, server, tool } = request;
  if (fit.kind === "unchecked") world.log.debug("mcp.output_unchecked", { server, tool, reason: fit.reason });
  if (fit.kind !== "misfit") return NO_WARNINGS;
  return warned(request, [`the structured output does not fit its schema: ${fit.problems[0]}`]);
}

const NO_WARNINGS: readonly string[] = [];

function warned({ world, server, tool }: AnswerContext, warnings: readonly string[]): readonly string[] {
  for (const warning of warnings) world.log.warn("mcp.output_mismatch", { server, tool, warning });
  return warnings;
}

const PROBE_STEPS = 20_000;
/** Up to this a value is looked through in one go. */
const FEW_VALUES = { maxNodes: 200, maxBytes: Number.POSITIVE_INFINITY, maxDepth: 10 } as const;

/** Most values are small: no probe is made for them. */
function isSurelyFlat(value: JsonValue): boolean {
  return measure(value, FEW_VALUES).over === undefined;
}

async function isTooDeep(value: JsonValue, pace: Pace): Promise<boolean> {
  if (typeof value !== "object" || value === null) return false;
  const probe = new DepthProbe(value, LIMITS.dataMaxDepth);
  for (;;) {
    const found = await pace.run(() => probe.step(PROBE_STEPS));
    if (found !== "more") return found === "too deep";
  }
}

const PAGES_REQUIRED = -32_042;

export interface RefusedCall {
  readonly error: RpcErrorBody;
  /** `server / tool`. */
  readonly where: string;
  readonly signal: AbortSignal;
}

/**
 * The server has not acted. It is not asked again by itself either: only the person knows when they are done at the page,
 * and the model may call again.
 */
export async function pagesFirst(
  link: Pick<Link, "askPeer">,
  { error, where, signal }: RefusedCall,
): Promise<TenonError> {
  const pages = pagesIn(error).slice(0, MCP_LIMITS.inputMaxRequests);
  let isAgreed = pages.length > 0 && link.askPeer !== undefined;
  for (const page of pages) {
    if (!isAgreed || signal.aborted) break;
    const answer = await link.askPeer?.("elicitation/create", page, signal).catch(() => undefined);
    isAgreed = answer?.["action"] === "accept";
  }
  const next = isAgreed
    ? "the person was shown the page; call again once they say that it is done"
    : "the person was not sent to the page, so it cannot be called now";
  const refusal = outcomeError({ kind: "error", error }, where);
  return new TenonError(refusal.code, `${refusal.message}; ${next}`, { cause: refusal.cause });
}

function pagesIn({ data }: RpcErrorBody): readonly JsonObject[] {
  const listed = isJsonObject(data) ? data["elicitations"] : undefined;
  const pages = Array.isArray(listed) ? listed.filter((page) => isJsonObject(page)) : [];
  // Whatever else it says of itself, a form is not what this error is for.
  return pages.map((page) => ({ ...page, mode: "url" }));
}

/** Tells a few notices at once, then the latest one per interval. The last notice is told before the call ends. */
export class ProgressPace implements Disposable {
  readonly #world: Pick<World, "after" | "monotonicMs">;
  readonly #tell: (progress: CallProgress) => void;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #sent = 0;
  #pending: CallProgress | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(world: Pick<World, "after" | "monotonicMs">, tell: (progress: CallProgress) => void) {
    this.#world = world;
    this.#tell = tell;
  }

  readonly take = (progress: CallProgress): void => {
    if (this.#isOver) return;
    if (this.#timer) {
      this.#pending = progress;
      return;
    }
    const { burst, everyMs } = MCP_LIMITS.callProgress;
    const nowMs = this.#world.monotonicMs();
    if (nowMs - this.#windowStartMs >= everyMs) {
      this.#windowStartMs = nowMs;
      this.#sent = 0;
    }
    if (this.#sent < burst) {
      this.#sent += 1;
      this.#tell(cut(progress));
      return;
    }
    this.#pending = progress;
    this.#wait();
  };

  [Symbol.dispose](): void {
    this.#timer?.clear();
    this.#flush();
    this.#isOver = true;
  }

  /** One notice per interval from now on, until an interval brings none. */
  #wait(): void {
    this.#timer = this.#world.after(MCP_LIMITS.callProgress.everyMs, () => {
      this.#timer = undefined;
      if (!this.#pending) return;
      this.#wait();
      this.#flush();
    });
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending) this.#tell(cut(pending));
  }
}

function cut(progress: CallProgress): CallProgress {
  const { messageChars } = MCP_LIMITS.callProgress;
  const { message } = progress;
  if (message === undefined || message.length <= messageChars) return progress;
  return { ...progress, message: `${message.slice(0, messageChars)}…` };
}

/** All blocks of a result; what we do not know becomes an `unknown` block instead of losing the rest. */
export function readContent(raw: JsonValue | undefined): ContentBlock[] {
  if (typeof raw === "string") return [{ type: "text", text: raw }];
  return readAll(raw, readKnown);
}

/** What `resources/read` sends: bare resources, without the wrapper they have in a tool's result. */
export function readContents(raw: JsonValue | undefined): ContentBlock[] {
  return readAll(raw, readResource);
}

/** A lone block where a list belongs is taken as a list of one: servers do that, and what they mean is plain. */
function readAll(raw: JsonValue | undefined, read: (raw: JsonObject) => ContentBlock | undefined): ContentBlock[] {
  if (raw === undefined || raw === null) return [];
  const list: readonly JsonValue[] = Array.isArray(raw) ? raw : [raw];
  /** All that is strange in one result shares one allowance, however many blocks it comes in. */
  const allowance: { nodes: number } = { nodes: MCP_LIMITS.contentMaxStrangeNodes };
  const blocks: ContentBlock[] = [];
  for (const item of list) {
    if (blocks.length === MCP_LIMITS.contentMaxBlocks) break;
    const block = isJsonObject(item) ? (spilledOf(item) ?? read(item)) : undefined;
    blocks.push(block ?? labelled(item, allowance));
  }
  const left = list.length - blocks.length;
  if (left > 0) blocks.push({ type: "text", text: `[${left} more content blocks were left out]` });
  return blocks;
}

function readKnown(raw: JsonObject): ContentBlock | undefined {
  switch (raw["type"]) {
    case "text": {
      const text = textField(raw, "text");
      return text === undefined ? undefined : { type: "text", text };
    }
    case "image":
    case "audio": {
      const data = textField(raw, "data");
      const mimeType = textField(raw, "mimeType");
      return data === undefined || mimeType === undefined ? undefined : { type: raw["type"], data, mimeType };
    }
    case "resource":
      return isJsonObject(raw["resource"]) ? readResource(raw["resource"]) : undefined;
    case "resource_link":
      return readLink(raw);
    default:
      return undefined;
  }
}

function readResource(raw: JsonObject): ContentBlock | undefined {
  const uri = textField(raw, "uri");
  const text = textField(raw, "text");
  const blob = textField(raw, "blob");
  if (uri === undefined || (text === undefined && blob === undefined)) return undefined;
  const mimeType = textField(raw, "mimeType");
  const content = text === undefined ? { blob: blob ?? "" } : { text };
  return { type: "resource", uri, ...defined({ mimeType }), ...content };
}

function readLink(raw: JsonObject): ContentBlock | undefined {
  const uri = textField(raw, "uri");
  if (uri === undefined) return undefined;
  const title = textField(raw, "title");
  const description = textField(raw, "description");
  const mimeType = textField(raw, "mimeType");
  const size = raw["size"];
  return {
    type: "resource_link",
    uri,
    name: textField(raw, "name") ?? uri,
    ...defined({ title, description, mimeType, size: typeof size === "number" ? size : undefined }),
  };
}

/** Kept as it came, unless it is so large or so deep that nobody could write it down again in passing. */
function labelled(raw: JsonValue, allowance: { nodes: number }): ContentBlock {
  const extent = { maxNodes: allowance.nodes, maxBytes: MCP_LIMITS.mcpMaxLineBytes, maxDepth: LIMITS.dataMaxDepth };
  const { nodes, over } = measure(raw, extent);
  allowance.nodes = Math.max(0, allowance.nodes - nodes);
  return { type: "unknown", kind: kindOf(raw), raw: over === undefined ? raw : `(left out: ${over})` };
}

function kindOf(raw: JsonValue): string {
  if (isJsonObject(raw)) return shortName(textField(raw, "type") ?? "without a type");
  return raw === null ? "null" : Array.isArray(raw) ? "array" : typeof raw;
}
