// When a provider wants to be asked again: from its headers, else from what it says in the body.
import { isJsonObject } from "../../base/json/json.js";
import type { FailureFacts } from "./facts.js";

/** Milliseconds from now on; undefined when it did not say, or said something that is over. */
export function retryAfterMs(facts: FailureFacts, now: (() => number) | undefined): number | undefined {
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
  for (const detail of details) {
    const delay = isJsonObject(detail) ? detail["retryDelay"] : undefined;
    const wait = typeof delay === "string" ? durationMs(delay) : undefined;
    if (wait !== undefined) return wait;
  }
  return undefined;
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
