// The rounds of a modern request: a result that asks for input is answered and the request sent again, until it is complete.
import { sleep } from "../../base/async/deadline.js";
import { handled } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { MCP_LIMITS } from "../limits.js";
import { type RequestOptions, type RpcOutcome, RpcRefusal } from "../rpc/rpc.js";
import { HELD, RELEASE } from "../versions.js";
import type { PeerAnswers } from "./peer.js";
import { readTask } from "./task.js";

/** A call may be answered with a task; what is said of one is a result like any other, and some servers mark it as a task. */
const MAY_BE_TASK: readonly string[] = ["tools/call", "tasks/get"];
const MAY_ASK: readonly string[] = ["tools/call", "prompts/get", "resources/read"];
export const INPUT_KINDS: readonly string[] = ["elicitation/create", "sampling/createMessage", "roots/list"];
const INVALID_RESULT = -32603;

export interface InputRequest {
  readonly key: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** What a result asks for; undefined when it is complete. A text says why it is invalid. */
type Reading = Asking | string | undefined;

interface Asking {
  readonly requests: readonly InputRequest[];
  readonly state: string | undefined;
  /** The call waits at the other side, with all it has done so far: it must hear a refusal too, and when it is given up. */
  readonly isHeld: boolean;
}

export interface Rounds {
  readonly world: World;
  readonly answers: Pick<PeerAnswers, "answer">;
  send(method: string, params: JsonObject, options: RequestOptions): Promise<RpcOutcome>;
}

/** Never rejects. The deadlines count what the server takes, not what a person takes to answer. */
export async function requestInRounds(
  rounds: Rounds,
  request: { readonly method: string; readonly params: JsonObject },
  options: RequestOptions,
): Promise<RpcOutcome> {
  const { method, params } = request;
  const { timeoutMs, maxTotalMs = timeoutMs, signal } = options;
  let extra: JsonObject = {};
  let spentMs = 0;
  for (let round = 0; round <= MCP_LIMITS.inputMaxRounds; round++) {
    const leftMs = Math.max(0, maxTotalMs - spentMs);
    const sentMs = rounds.world.monotonicMs();
    const leg = Object.assign({}, options, { timeoutMs: Math.min(timeoutMs, leftMs), maxTotalMs: leftMs });
    const outcome = await rounds.send(method, round === 0 ? params : { ...params, ...extra }, leg);
    spentMs += rounds.world.monotonicMs() - sentMs;
    if (outcome.kind === "timed_out") return { kind: "timed_out", afterMs: Math.round(spentMs) };
    // The server has seen the request in an earlier round, and may have acted on it.
    if (outcome.kind === "lost" && round > 0) return { kind: "lost", loss: { ...outcome.loss, wasSent: true } };
    if (outcome.kind !== "result") return outcome;
    const reading = readResult(method, outcome.result);
    if (reading === undefined) return outcome;
    if (typeof reading === "string") return invalid(method, reading);
    const responses = await answerAll(rounds, reading, signal);
    const isLast = round === MCP_LIMITS.inputMaxRounds;
    if (reading.isHeld && (signal.aborted || isLast)) release(rounds, reading.state);
    if (signal.aborted) return { kind: "cancelled" };
    if (typeof responses === "string") return declined(responses);
    // The state byte for byte, and only of this very round: it is the server's own memory.
    const inputResponses = reading.requests.length > 0 ? responses : undefined;
    extra = defined({ inputResponses, requestState: reading.state });
  }
  return declined(`the server asked for input more than ${MCP_LIMITS.inputMaxRounds} times`);
}

function readResult(method: string, result: JsonObject): Reading {
  const { resultType, inputRequests, requestState } = result;
  if (resultType === undefined || resultType === "complete") return undefined;
  if (resultType === "task" && MAY_BE_TASK.includes(method)) {
    return readTask(result) ? undefined : "its task has no id or no status";
  }
  if (resultType !== "input_required") return `its resultType is ${JSON.stringify(resultType)?.slice(0, 200)}`;
  if (!MAY_ASK.includes(method)) return `${method} may not ask for input`;
  const hasState = typeof requestState === "string";
  if (requestState !== undefined && !hasState) return "its requestState is no text";
  if (inputRequests !== undefined && !isJsonObject(inputRequests)) return "its inputRequests are no object";
  const requests = Object.entries(inputRequests ?? {}).map(([key, raw]) => readInput(key, raw));
  if (requests.length === 0 && !hasState) return "it asks for input without saying which";
  if (requests.length > MCP_LIMITS.inputMaxRequests) return `it asks for ${requests.length} inputs at once`;
  const strange = requests.find(({ method: kind }) => !INPUT_KINDS.includes(kind));
  if (strange) return `it asks for ${JSON.stringify(strange.method)}`;
  const meta = result["_meta"];
  const isHeld = hasState && isJsonObject(meta) && meta[HELD] === true;
  return { requests, state: hasState ? requestState : undefined, isHeld };
}

function release(rounds: Rounds, requestState: string | undefined): void {
  const options = { signal: new AbortController().signal, timeoutMs: MCP_LIMITS.releaseMs };
  handled(rounds.send(RELEASE, defined({ requestState }), options), rounds.world.log, "release a call");
}

export function readInput(key: string, raw: unknown): InputRequest {
  const { method, params } = isJsonObject(raw) ? raw : {};
  return { key, method: typeof method === "string" ? method : "?", params: isJsonObject(params) ? params : {} };
}

/** The answers by their keys, or the words for why there are none. One after the other: a person reads one at a time. */
async function answerAll(
  { answers, world }: Rounds,
  { requests, isHeld }: Asking,
  signal: AbortSignal,
): Promise<JsonObject | string> {
  const responses: [string, JsonObject][] = [];
  const asksPerson = requests.some(({ method }) => method !== "roots/list");
  try {
    // Nothing to wait for on our side: the server gets a moment before it is asked again.
    if (!asksPerson) await sleep(world, MCP_LIMITS.inputPauseMs, signal);
    for (const { key, method, params } of requests) {
      signal.throwIfAborted();
      const answer = answers.answer(method, params, signal);
      responses.push([key, await (isHeld ? answer.catch(refusalOf) : answer)]);
    }
    return Object.fromEntries(responses);
  } catch (thrown) {
    // Elicitation has a way to say no; the others have none, and the server is not waiting for one.
    return `what the server asked for was refused: ${messageOf(thrown)}`;
  }
}

function refusalOf(thrown: unknown): JsonObject {
  const code = thrown instanceof RpcRefusal ? thrown.code : INVALID_RESULT;
  return { error: { code, message: messageOf(thrown) } };
}

/** It did answer, and may have acted: the outcome is not known, and the words say why. */
function invalid(method: string, reason: string): RpcOutcome {
  const error = new TenonError("mcp.protocol", `the answer to ${method} cannot be used: ${reason}`);
  return { kind: "lost", loss: { error, wasSent: true } };
}

function declined(message: string): RpcOutcome {
  return { kind: "error", error: { code: INVALID_RESULT, message } };
}
