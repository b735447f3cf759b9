// Whatever an AI SDK provider throws or streams as an error, as a TenonError with a `model.*` code that people can act on.

import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { classify, type FailurePhase, type ModelErrorCode } from "./failures/classify.js";
import { type FailureFacts, readFailure } from "./failures/facts.js";
import { redact } from "./failures/redact.js";
import { retryAfterMs } from "./failures/retry-after.js";
import { MODEL_LIMITS } from "./limits.js";

export interface FailureContext {
  readonly modelId: string;
  /** Never to be seen in a message. */
  readonly secrets?: readonly string[];
  /** Names of the tools that were sent, in their order. */
  readonly tools?: readonly string[];
  /** The variable the key is read from, for hints. */
  readonly keyVariable?: string;
  /** Where requests go, for hints. */
  readonly baseUrl?: string;
  /** The clock, for a `Retry-After` date without a date beside it. */
  readonly now?: () => number;
}

const SENTENCES: Readonly<Record<ModelErrorCode, string>> = {
  "model.unauthorized": "refused the key",
  "model.quota": "has no quota left for this key",
  "model.rate_limited": "limits requests",
  "model.overloaded": "is overloaded",
  "model.unavailable": "could not be reached or failed",
  "model.context_overflow": "has no room for a conversation this long",
  "model.content_filter": "blocked the prompt by its content filter",
  "model.invalid_request": "refused the request",
  "model.tool_refused": "refused a tool",
  "model.unknown": "is not known to the provider",
  "model.broken_stream": "sent an answer that broke off or was malformed",
};

export function toModelError(context: FailureContext, thrown: unknown, phase: FailurePhase): TenonError {
  if (thrown instanceof TenonError) return thrown;
  const { modelId, secrets = [], tools = [] } = context;
  const facts = readFailure(thrown);
  const verdict = classify(facts, phase, tools);
  const { code, refusedTools } = verdict;
  const status = facts.status === undefined ? "" : ` (${facts.status})`;
  const which = refusedTools?.length ? `: ${refusedTools.join(", ")}` : "";
  const text = `${modelId} ${SENTENCES[code]}${which}${status}: ${clip(redact(facts.message, secrets))}`;
  const wait =
    code === "model.rate_limited" || code === "model.overloaded" ? retryAfterMs(facts, context.now) : undefined;
  const hint = hintOf(code, facts, { ...context, wait });
  return new TenonError(code, text, {
    cause: causeOf(thrown, facts, secrets),
    ...defined({ hint, retryAfterMs: wait, refusedTools }),
  });
}

/** For logs. The error itself holds the whole request, and may hold the key. */
function causeOf(thrown: unknown, facts: FailureFacts, secrets: readonly string[]): Error {
  const cause = new Error(clip(redact(facts.message, secrets)));
  cause.name = facts.name ?? "ProviderError";
  if (thrown instanceof Error && thrown.stack !== undefined) cause.stack = redact(thrown.stack, secrets);
  return Object.assign(cause, { status: facts.status, words: facts.words, network: facts.network });
}

type HintContext = FailureContext & { readonly wait: number | undefined };

/** Undefined: what the code itself advises is all there is to say. */
function hintOf(code: ModelErrorCode, facts: FailureFacts, context: HintContext): string | undefined {
  const { wait, keyVariable, baseUrl } = context;
  if (wait !== undefined) return `Wait ${Math.ceil(wait / 1_000)} s, then send the prompt again.`;
  if (code === "model.unauthorized" && keyVariable !== undefined) {
    return `Check the key in ${keyVariable} (or in the configuration), and that it may use this model.`;
  }
  if (code === "model.unknown") return "Check the model's name, and the base URL where one is set.";
  if (code === "model.unavailable" && facts.network !== undefined) return networkHint(facts.network, baseUrl);
  return undefined;
}

function networkHint(network: string, baseUrl: string | undefined): string {
  const place = baseUrl ?? "the provider";
  if (network === "ECONNREFUSED") return `Nothing listens at ${place}: start the server, or correct the base URL.`;
  if (network === "ENOTFOUND" || network === "EAI_AGAIN") {
    return `The name in ${place} cannot be resolved: check the network connection and the base URL.`;
  }
  if (/CERT|TLS|SSL|UNABLE_TO|EPROTO/.test(network)) {
    return `The certificate of ${place} is not accepted: correct the base URL, or name your authority in NODE_EXTRA_CA_CERTS.`;
  }
  return `${place} does not answer: check the network connection and proxies, then send the prompt again.`;
}

function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  if (line === "") return "no message was given";
  const { errorMaxChars } = MODEL_LIMITS.model;
  return line.length > errorMaxChars ? `${line.slice(0, errorMaxChars)}…` : line;
}
