// Values that must not be seen, and texts without them: in whichever form they are written there.

import { TenonError } from "../errors.js";
import { defined } from "../json/defined.js";
import { isJsonObject, type JsonValue } from "../json/json.js";
import { REDACTED, SECRET_OPTION, secretParts, withoutKeys } from "./secret-patterns.js";

/** Shorter values stand in too many other words. */
const MIN_CHARS = 6;

/** Deeper than anything people write: what lies below is left out, since it was not looked at. */
const MAX_DEPTH = 64;

/** Settings are kept under names such as `AUTH_MODE` too. Whoever has one of these as a password has none. */
const COMMON: ReadonlySet<string> = new Set(
  [
    ["enabled", "disabled", "default", "required", "optional", "automatic", "manual", "system", "custom", "unknown"],
    ["production", "development", "staging", "testing", "sandbox", "localhost", "127.0.0.1", "0.0.0.0", "undefined"],
    ["bearer", "digest", "oauth2", "apikey", "api_key", "api-key", "client", "server", "public", "private", "session"],
    ["anonymous", "password", "keyring", "keychain", "postgres", "readonly", "read-only", "verbose", "warning"],
  ].flat(),
);

export class KnownSecrets {
  readonly #forms = new Set<string>();
  #pattern: RegExp | undefined;
  #longest = 0;

  /**
   * Short and common values are not learnt: without them texts would make no sense. Of a secret of several lines each
   * line is learnt as well: logs come line by line.
   */
  learn(values: Iterable<string>): void {
    for (const value of values) {
      this.#learn(value.trim());
      for (const part of secretParts(value)) this.#learn(part);
      for (const line of linesOf(value)) this.#learn(line);
    }
  }

  get size(): number {
    return this.#forms.size;
  }

  get longestChars(): number {
    return this.#longest;
  }

  /** The text without what is known. */
  takenFrom(text: string): string {
    const pattern = this.#knownPattern();
    return pattern === undefined ? text : text.replaceAll(pattern, REDACTED);
  }

  /** As people and models may be given it: also without what is a key by its form, whoever's it is. */
  clean(text: string): string {
    return withoutKeys(this.takenFrom(text));
  }

  /** Every text in it; the very same where there is nothing to take out. */
  takenFromAll(value: JsonValue): JsonValue {
    return inAll(value, (text) => this.takenFrom(text));
  }

  /** The same, also without what is a key by its form. */
  cleanAll(value: JsonValue): JsonValue {
    return inAll(value, (text) => this.clean(text));
  }

  /** The very same where it says nothing of them. */
  cleanError(error: TenonError): TenonError {
    const message = this.clean(error.message);
    const hint = this.clean(error.hint);
    const cause = this.#cleanCause(error.cause);
    if (message === error.message && hint === error.hint && cause === error.cause) return error;
    const { code, retryAfterMs, refusedTools } = error;
    return new TenonError(code, message, {
      hint,
      refusedTools,
      ...defined({ cause, retryAfterMs }),
    });
  }

  /** An error of somebody else's that says one is left out: its words are in ours. */
  #cleanCause(cause: unknown): unknown {
    if (cause instanceof TenonError) return this.cleanError(cause);
    return cause instanceof Error && this.clean(cause.message) !== cause.message ? undefined : cause;
  }

  #learn(value: string): void {
    const isTelling = value.length >= MIN_CHARS && !COMMON.has(value.toLowerCase()) && !REDACTED.includes(value);
    if (!isTelling || this.#forms.has(value)) return;
    for (const form of formsOf(value)) {
      this.#forms.add(form);
      this.#longest = Math.max(this.#longest, form.length);
    }
    this.#pattern = undefined;
  }

  /** Put together when it is next needed: values come in dozens. The longest first: one may be a part of another. */
  #knownPattern(): RegExp | undefined {
    if (this.#pattern !== undefined || this.#forms.size === 0) return this.#pattern;
    const longestFirst = [...this.#forms].sort((one, other) => other.length - one.length);
    this.#pattern = new RegExp(longestFirst.map((known) => escaped(known)).join("|"), "gu");
    return this.#pattern;
  }
}

function inAll(value: JsonValue, edit: (text: string) => string, depth = 0): JsonValue {
  if (typeof value === "string") return edit(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return null;
  if (!isJsonObject(value)) {
    const items = value.map((item) => inAll(item, edit, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const fields = Object.entries(value).map(
    ([key, field]) => [key, field === undefined ? undefined : inAll(field, edit, depth + 1)] as const,
  );
  return fields.every(([key, field]) => field === value[key]) ? value : Object.fromEntries(fields);
}

/** More lines than a key has: a longer value is a document. */
const MAX_LINES = 400;

/** The lines of a secret that tell something: one word of some length, or a sentence. Not the borders of a PEM block. */
function linesOf(value: string): readonly string[] {
  if (!/[\r\n]/u.test(value)) return [];
  return value
    .split(/[\r\n]+/u, MAX_LINES)
    .map((line) => line.trim())
    .filter((line) => line.length >= (/\s/u.test(line) ? 16 : 8) && !/^-----(?:BEGIN|END) /u.test(line));
}

/** What a command line gives its options of secrets, behind `=` or as the next word. */
export function optionValues(words: readonly unknown[]): readonly string[] {
  return words.flatMap((word, index) => {
    const option = typeof word === "string" ? SECRET_OPTION.exec(word)?.[0] : undefined;
    if (option === undefined || typeof word !== "string") return [];
    const value: unknown = option.endsWith("=") ? word.slice(option.length) : words[index + 1];
    return typeof value === "string" && !value.startsWith("-") ? [value] : [];
  });
}

/** The value of a header, and the same without the scheme before it. */
export function headerSecrets(value: string): readonly string[] {
  return [value, value.replace(/^(?:Bearer|Basic|Token|DPoP)\s+/iu, "")];
}

/** The ways a value is written inside other texts: JSON within JSON, addresses, basic authentication. */
function formsOf(value: string): readonly string[] {
  const quoted = withEscapes(value);
  const twice = withEscapes(quoted);
  const base64 = Buffer.from(value).toString("base64").replaceAll("=", "");
  return [value, quoted, twice, withEscapes(twice), uriForm(value), base64];
}

function withEscapes(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** A lone half of a surrogate pair cannot be written into an address. */
function uriForm(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString());
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, (sign) => `\\${sign}`);
}
