// A message without its secrets, within bounds: by the names values are kept under, by their form, and by what is known.
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import {
  headerSecrets,
  isPlainHeader,
  isSecretKey,
  isSecretName,
  isSecretVariable,
  KnownSecrets,
  looksSecret,
  mayBeSecret,
  NAME_MAPS,
  optionValues,
  REDACTED,
  withoutForms,
} from "../base/text/secrets.js";
import { WORLD_LIMITS } from "./limits.js";

/** What is looked at behind a cut, so that no secret is cut in two: longer ones widen it. */
const MARGIN_CHARS = 4_096;

export interface Redacted {
  readonly value: JsonValue;
  /** How many texts, lists and objects lost something to the bounds of a line. */
  readonly cut: number;
}

interface Budget {
  chars: number;
  nodes: number;
  cut: number;
}

export class Redactor {
  readonly #known = new KnownSecrets();

  hide(values: Iterable<string>): void {
    this.#known.learn(values);
  }

  /** Of our own environment: most of it is plain, and stands in many places. */
  hideEnvironment(env: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value = ""] of Object.entries(env)) {
      if (isSecretName(name) || looksSecret(value) || isSecretVariable(name, value)) this.hide([value]);
    }
  }

  /** What is learnt from one message (`env`, headers, tokens) is taken out of it and of those that follow. */
  clean(message: unknown): Redacted {
    const before = this.#known.size;
    const clean = this.#cleaned(message);
    // A secret may stand in a message before the place that names it.
    return this.#known.size === before ? clean : this.#cleaned(message);
  }

  text(text: string): string {
    return withoutForms(this.#known.takenFrom(text));
  }

  #cleaned(message: unknown): Redacted {
    const { lineChars, nodes } = WORLD_LIMITS.trace;
    const budget: Budget = { chars: lineChars, nodes, cut: 0 };
    return { value: this.#value(message, budget, 0), cut: budget.cut };
  }

  #value(value: unknown, budget: Budget, depth: number): JsonValue {
    budget.nodes -= 1;
    if (typeof value === "string") return this.#bounded(value, budget);
    if (typeof value === "number" || typeof value === "boolean") return value;
    if (typeof value !== "object" || value === null) return null;
    if (depth > WORLD_LIMITS.trace.depth || budget.nodes < 0) return cut(budget);
    if (Array.isArray(value)) return this.#list(value, budget, depth);
    return this.#fields(value, budget, depth, { isNameMap: false });
  }

  #list(list: readonly unknown[], budget: Budget, depth: number): JsonValue {
    const clean: JsonValue[] = [];
    for (const item of list) {
      if (budget.nodes < 0) {
        clean.push(cut(budget));
        break;
      }
      clean.push(this.#value(item, budget, depth + 1));
    }
    return clean;
  }

  #fields(fields: object, budget: Budget, depth: number, { isNameMap }: { readonly isNameMap: boolean }): JsonObject {
    const clean: [string, JsonValue][] = [];
    const isPair = isSecretPair(fields);
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      if (budget.nodes < 0) {
        clean.push(["…", cut(budget)]);
        break;
      }
      const isSchema = isNameMap && isJsonObject(value);
      const isHidden = isPair ? key === "value" : isSecretKey(key) && !isSchema;
      const field = isHidden
        ? this.#hidden(value)
        : isSchema
          ? this.#value(value, budget, depth + 1)
          : this.#field(key, value, budget, depth);
      clean.push([this.#bounded(key, budget), field]);
    }
    return Object.fromEntries(clean);
  }

  #field(key: string, value: unknown, budget: Budget, depth: number): JsonValue {
    if (typeof value !== "object" || value === null) return this.#value(value, budget, depth + 1);
    switch (key) {
      case "env":
        return this.#named(value, (name, text) => {
          // What a server is given is given for a purpose: all but plain settings is hidden from now on.
          if (isSecretName(name) || mayBeSecret(text)) this.hide([text]);
          return REDACTED;
        });
      case "headers":
        return this.#named(value, (name, text) => (isPlainHeader(name) ? this.text(text) : this.#hidden(text)));
      case "args":
        if (Array.isArray(value)) this.hide(optionValues(value));
        return this.#value(value, budget, depth + 1);
      default:
        return NAME_MAPS.has(key) && isJsonObject(value)
          ? this.#fields(value, budget, depth + 1, { isNameMap: true })
          : this.#value(value, budget, depth + 1);
    }
  }

  /** Names and values, as an object or as ACP has it: a list of `{name, value}`. */
  #named(given: object, put: (name: string, value: string) => JsonValue): JsonValue {
    const shown = (name: string, value: unknown) =>
      typeof value === "string" ? put(name, value) : isJsonObject(value) ? REDACTED : this.#hidden(value);
    if (!Array.isArray(given)) {
      return Object.fromEntries(Object.entries(given).map(([name, value]) => [this.text(name), shown(name, value)]));
    }
    return given.map((pair: unknown) => {
      if (!isJsonObject(pair)) return REDACTED;
      const name = typeof pair["name"] === "string" ? pair["name"] : "";
      return { name: this.text(name), value: shown(name, pair["value"]) };
    });
  }

  /** Flags and empty values are no secrets: `auth: {terminal: true}` is an ability. */
  #hidden(value: unknown): JsonValue {
    if (typeof value === "number") return REDACTED;
    const texts = textsOf(value);
    if (texts.length === 0) return this.#cleaned(value).value;
    for (const { text, isNamed } of texts) {
      // Beside the token there stand words such as `bearer`, which are everybody's.
      if (isNamed || mayBeSecret(text)) this.hide(headerSecrets(text));
    }
    return REDACTED;
  }

  #bounded(text: string, budget: Budget): string {
    const limit = Math.min(WORLD_LIMITS.trace.textChars, Math.max(0, budget.chars));
    if (text.length <= limit) {
      budget.chars -= text.length;
      return this.text(text);
    }
    budget.chars -= limit;
    budget.cut += 1;
    // Whatever the cut leaves of a secret stands at the very end, and that end is dropped.
    const margin = Math.max(MARGIN_CHARS, this.#known.longestChars);
    const clean = this.text(text.slice(0, limit + margin));
    const kept = clean.slice(0, Math.max(0, clean.length - margin));
    return `${kept}[cut: ${text.length} characters]`;
  }
}

function cut(budget: Budget): string {
  budget.cut += 1;
  return "[cut]";
}

/** `{name: "X-Api-Key", value: "…"}`, wherever it stands. */
function isSecretPair(fields: object): boolean {
  return "name" in fields && "value" in fields && typeof fields.name === "string" && isSecretKey(fields.name);
}

const MAX_TEXTS = 1_000;

/** Every text in a value that is to be hidden as a whole. `isNamed`: it stands under a name that calls it a secret. */
function textsOf(value: unknown): readonly { readonly text: string; readonly isNamed: boolean }[] {
  const texts: { text: string; isNamed: boolean }[] = [];
  const open: [value: unknown, isNamed: boolean][] = [[value, true]];
  for (let next = open.pop(); next && texts.length < MAX_TEXTS; next = open.pop()) {
    const [inner, isNamed] = next;
    if (typeof inner === "string" && inner !== "") texts.push({ text: inner, isNamed });
    if (typeof inner !== "object" || inner === null) continue;
    for (const [key, field] of Object.entries(inner).slice(0, MAX_TEXTS)) open.push([field, isSecretKey(key)]);
  }
  return texts;
}
