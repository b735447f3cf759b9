// How the chat shows a turn: the interface of a view, how a turn ends, and the view for programs.
import { type ClientApp, methods, RequestError, type StopReason } from "@agentclientprotocol/sdk";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { EXIT } from "../exit.js";
import { visible, visibleJson } from "../terminal/text.js";
import type { ChatRecord } from "./record.js";
import { type SharedTurns, tenonMeta } from "./shared.js";

export interface ChatView {
  /** Subscribes to the session's updates in the form the view needs. */
  listen(client: ClientApp): ClientApp;
  /** What stands before the line that a person types. */
  readonly prompt: string;
  /** The conversation so far has been shown. */
  joined(): void;
  turnStarted(): void;
  turnEnded(outcome: TurnOutcome): void;
  /** Something went wrong outside a turn. */
  failed(failure: ChatFailure): void;
  /** The chat is over: that its servers end is no news. */
  isLeaving: boolean;
}

// How a turn ended, and which exit code says so.

export interface ChatFailure {
  readonly message: string;
  readonly hint?: string;
  /** The JSON-RPC code, when the agent answered with one. */
  readonly code?: number;
  readonly data?: unknown;
}

export type TurnOutcome =
  /** The agent answered the prompt; `wasDenied`: a permission question of this turn got a no. */
  | { readonly kind: "stopped"; readonly stopReason: StopReason; readonly wasDenied: boolean }
  | { readonly kind: "failed"; readonly failure: ChatFailure }
  /** The person quit before the agent had answered. */
  | { readonly kind: "abandoned" };

/** ACP's code for a key that is missing or refused. */
const AUTH_REQUIRED = -32_000;

export function exitCodeOf(outcome: TurnOutcome): number {
  switch (outcome.kind) {
    case "abandoned":
      return EXIT.interrupted;
    case "failed":
      return outcome.failure.code === AUTH_REQUIRED ? EXIT.auth : EXIT.failed;
    case "stopped":
      if (outcome.stopReason === "cancelled") return EXIT.interrupted;
      if (outcome.wasDenied) return EXIT.denied;
      return outcome.stopReason === "end_turn" ? EXIT.done : EXIT.failed;
  }
}

/** What a person needs to know of whatever a request was rejected with. */
export function toFailure(thrown: unknown): ChatFailure {
  if (thrown instanceof TenonError) return { message: thrown.message, ...defined({ hint: thrown.hint || undefined }) };
  if (!(thrown instanceof RequestError)) return { message: messageOf(thrown) };
  const data = isJsonObject(thrown.data) ? thrown.data : {};
  const hint = typeof data.hint === "string" ? data.hint : undefined;
  const message = typeof data.details === "string" ? `${thrown.message}: ${data.details}` : thrown.message;
  return { message, code: thrown.code, ...defined({ hint, data: thrown.data }) };
}

/** Why an answer is not whole; nothing when it is. */
export const STOP_TEXTS: Readonly<Record<StopReason, string | undefined>> = {
  end_turn: undefined,
  cancelled: "cancelled",
  max_tokens: "the answer was cut: the model's output limit was reached",
  max_turn_requests: "stopped: the turn reached its limit of model calls",
  refusal: "the model refused to answer",
};

// The view for programs: every update as it came over the wire, one JSON text a line, and nothing else on the output.

export class JsonView implements ChatView {
  /** The result is the last line: that the session's servers end is no part of the answer. */
  isLeaving = false;
  readonly #output: NodeJS.WritableStream;
  readonly #errorOutput: NodeJS.WritableStream;
  readonly #shared: SharedTurns | undefined;
  readonly #record: ChatRecord;

  constructor(
    output: NodeJS.WritableStream,
    errorOutput: NodeJS.WritableStream,
    { shared, record }: { readonly shared?: SharedTurns; readonly record: ChatRecord },
  ) {
    this.#output = output;
    this.#errorOutput = errorOutput;
    this.#shared = shared;
    this.#record = record;
  }

  /** Takes the parameters unparsed: the SDK's schemas drop fields they do not know. */
  listen(client: ClientApp): ClientApp {
    const method = methods.client.session.update;
    const unparsed = (params: unknown): unknown => params;
    return client.onNotification(method, unparsed, ({ params }) => {
      const update = isJsonObject(params) ? params["update"] : undefined;
      this.#hear(tenonMeta(update));
      this.#remember(update);
      if (!this.isLeaving) this.#print({ method, params });
    });
  }

  readonly prompt = "› ";

  joined(): void {}

  turnStarted(): void {}

  turnEnded(outcome: TurnOutcome): void {
    const { answer: text, usage, status, sessionId } = this.#record;
    const known = defined({ sessionId, usage, costUsd: status.costUsd });
    if (outcome.kind === "stopped") this.#print({ result: { stopReason: outcome.stopReason, text, ...known } });
    else if (outcome.kind === "failed") this.failed(outcome.failure);
  }

  failed({ code, message, hint, data }: ChatFailure): void {
    this.#print({ error: defined({ code, message, data }) });
    this.#errorOutput.write(`tenon: ${visible(message)}${hint === undefined ? "" : `\n  ${visible(hint)}`}\n`);
  }

  /** What another client's turn said, which a prompt from here waited for, is no part of the answer to that. */
  #hear(meta: JsonObject): void {
    const shared = this.#shared;
    if (!shared) return;
    shared.hear(meta);
    const { ended } = meta;
    if (shared.hasOwn && isJsonObject(ended) && !shared.isOwnPrompt(ended["promptId"])) this.#record.answer = "";
  }

  /** Of the updates, as they came, only what the result says is looked at. */
  #remember(update: unknown): void {
    if (!isJsonObject(update)) return;
    const { sessionUpdate, content, cost } = update;
    if (sessionUpdate === "agent_message_chunk" && isJsonObject(content) && typeof content["text"] === "string") {
      this.#record.answer += content["text"];
    }
    if (sessionUpdate !== "usage_update" || !isJsonObject(cost)) return;
    const { amount, currency } = cost;
    if (currency === "USD" && typeof amount === "number") this.#record.status.costUsd = amount;
  }

  #print(value: unknown): void {
    this.#output.write(`${visibleJson(JSON.stringify(value))}\n`);
  }
}
