// Whatever an AI SDK provider throws or streams as an error, as a TenonError with a `model.*` code that people can act on.
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { MODEL_LIMITS } from "../limits.js";
import { classify, type FailurePhase, type ModelErrorCode } from "./classify.js";
import { type FailureFacts, readFailure } from "./facts.js";

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

/** Undefined: what the code itself advises is all there is to say. */
function hintOf(
  code: ModelErrorCode,
  { network, status }: FailureFacts,
  { keyVariable, baseUrl, wait }: FailureContext & { readonly wait: number | undefined },
): string | undefined {
  if (wait !== undefined) return `Wait ${Math.ceil(wait / 1_000)} s, then send the prompt again.`;
  if (code === "model.unauthorized" && keyVariable !== undefined) {
    return `Check the key in ${keyVariable} (or in the configuration), and that it may use this model.`;
  }
  if (code === "model.unknown") return "Check the model's name, and the base URL where one is set.";
  if (code === "model.unavailable" && network !== undefined) return networkHint(network, baseUrl);
  if (code === "model.unavailable" && status !== undefined && status >= 500)
    return "The provider answered with a failure of its own: try again later, or choose another model.";
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

// Takes keys out of what people and logs get to see: those in use, and whatever looks like one.

const MASK = "[key]";

/** Shorter ones would take ordinary words with them, and no provider has such. */
const MIN_KEY_CHARS = 6;

/** Prefixes of the keys providers give out; the stars are how some of them echo one. */
const LOOKS_LIKE_KEY: readonly RegExp[] = [
  /\b(?:sk|pk|rk|xai|gsk|key|sess|hf|ghp|nvapi|pplx|csk)[-_][\w*-]{8,}/g,
  /\bAIza[\w*-]{16,}/g,
  /\bya29\.[\w.-]+/g,
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g,
];

/** `Authorization: Bearer …`, `x-api-key: …`, `?key=…`: the name stays. */
const NAMED_KEY =
  /\b(bearer\s+|(?:x-api-key|x-goog-api-key|api[_-]?key|key|token)["']?\s*[:=]\s*["']?)([\w.~+/*-]{8,}=*)/gi;

function redact(text: string, keys: readonly string[]): string {
  let clean = text;
  for (const key of keys) if (key.length >= MIN_KEY_CHARS) clean = clean.replaceAll(key, MASK);
  for (const pattern of LOOKS_LIKE_KEY) clean = clean.replaceAll(pattern, MASK);
  return clean.replaceAll(NAMED_KEY, (_, name: string) => `${name}${MASK}`);
}

// When a provider wants to be asked again: from its headers, else from what it says in the body.

/** Milliseconds from now on; undefined when it did not say, or said something that is over. */
function retryAfterMs(facts: FailureFacts, now: (() => number) | undefined): number | undefined {
  const { headers } = facts;
  const wait =
    positive(numberOf(headers["retry-after-ms"])) ??
    fromHeader(headers["retry-after"], headers["date"], now) ??
    fromDetails(facts) ??
    fromWords(facts.message);
  return wait === undefined ? undefined : Math.ceil(wait);
}

/** Seconds, or a date: that is counted from the server's own clock, which it sends along. */
function fromHeader(
  value: string | undefined,
  date: string | undefined,
  now: (() => number) | undefined,
): number | undefined {
  if (value === undefined) return undefined;
  const seconds = numberOf(value);
  if (seconds !== undefined) return positive(seconds * 1_000);
  // `Date.parse` makes a date of almost anything.
  const at = /^[a-z]{3,9},? /i.test(value) ? Date.parse(value) : Number.NaN;
  const from = date === undefined ? Number.NaN : Date.parse(date);
  const reference = Number.isNaN(from) ? now?.() : from;
  return reference === undefined ? undefined : positive(at - reference);
}

/** Google's `RetryInfo`. */
function fromDetails({ details }: FailureFacts): number | undefined {
  const delays = details.map(({ retryDelay }) => retryDelay).filter((delay) => typeof delay === "string");
  return delays.map(durationMs).find((wait) => wait !== undefined);
}

/** `Please try again in 2m59.56s.`, `Please retry in 20.04s.` */
function fromWords(message: string): number | undefined {
  const said = /(?:try again|retry) (?:in|after) ((?:[\d.]+\s?(?:ms|h|m|s)\w*\s?)+)/i.exec(message)?.[1];
  return said === undefined ? undefined : durationMs(said);
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

function durationMs(text: string): number | undefined {
  let sum = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/([\d.]+)\s?(ms|h|m|s)/gi)) {
    sum += Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 0);
  }
  return positive(sum);
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 && Number.isFinite(value) ? value : undefined;
}
