// One server entry of another client as an entry of Tenon's: what can be said is said in our words, the rest is told.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { kindOf } from "../check.js";
import type { RawEntry } from "./raw-entry.js";
import { type Slot, type TextContext, translateText } from "./variables.js";

/** `entry` is there whenever something can be made of it; with `problems` it must not be used. */
export interface TranslatedEntry {
  readonly entry: JsonObject;
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export function translateEntry(raw: RawEntry, context: Omit<TextContext, "runsElsewhere">): TranslatedEntry {
  const translation = new Translation(raw, context);
  return translation.run();
}

const WHOLE_INPUT = /^\$\{input:([^{}]+)\}$/u;
const BEARER_INPUT = /^Bearer \$\{input:([^{}]+)\}$/iu;

class Translation {
  readonly #raw: RawEntry;
  readonly #context: TextContext;
  readonly #problems: string[] = [];
  readonly #notes: string[];

  constructor(raw: RawEntry, context: Omit<TextContext, "runsElsewhere">) {
    this.#raw = raw;
    this.#context = { ...context, runsElsewhere: raw.cwd !== undefined && !isWorkspace(raw.cwd) };
    this.#notes = [...(raw.notes ?? [])];
  }

  run(): TranslatedEntry {
    const { isDisabled, extras = {}, url, command } = this.#raw;
    const reached = url !== undefined && command === undefined ? this.#remote() : this.#stdio();
    const entry: JsonObject = { ...reached, ...extras, ...defined({ disabled: isDisabled ? true : undefined }) };
    return { entry, problems: this.#problems, notes: [...new Set(this.#notes)] };
  }

  #stdio(): JsonObject {
    const { type, command, args, env, cwd, url, references } = this.#raw;
    const variables = { ...this.#record(env, "env"), ...references?.env };
    const folder = cwd === undefined || isWorkspace(cwd) ? undefined : this.#text(cwd, "cwd", "cwd");
    return {
      // Left to be remarked on: neither or both is a fault of the entry as it stands.
      ...defined({
        type: type === undefined || type === "stdio" || type === "command" ? undefined : type,
        command: command === undefined ? undefined : this.#text(command, "command", "command"),
        url,
        args: args === undefined ? undefined : this.#list(args),
        env: Object.keys(variables).length === 0 ? undefined : variables,
        cwd: folder,
      }),
    };
  }

  #remote(): JsonObject {
    const { type, url, headers, references } = this.#raw;
    const token = references?.token ?? this.#bearerInput(headers);
    const rest = token === undefined || references?.token !== undefined ? headers : without(headers, "authorization");
    const named = { ...this.#record(rest, "headers"), ...references?.headers };
    const isUsual = type === undefined || type === "http" || type === "remote";
    return {
      ...defined({ type: isUsual ? undefined : type }),
      url: this.#text(url, "url", "url"),
      ...defined({
        headers: Object.keys(named).length === 0 ? undefined : named,
        auth: token === undefined ? undefined : { type: "bearer", token },
      }),
    };
  }

  #text(value: JsonValue | undefined, slot: Slot, label: string): JsonValue {
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (typeof value !== "string") {
      this.#problems.push(`${label} must be a text, got ${kindOf(value)}`);
      return "";
    }
    const { text, notes, problem } = translateText(value, slot, this.#context);
    if (problem !== undefined) this.#problems.push(`${label}: ${problem}`);
    else this.#notes.push(...notes.map((note) => `${label}: ${note}`));
    return text;
  }

  #list(value: JsonValue): JsonValue {
    if (Array.isArray(value)) return value.map((word, at) => this.#text(word, "args", `args[${at}]`));
    this.#problems.push(`args must be a list, got ${kindOf(value)}`);
    return [];
  }

  #record(value: JsonValue | undefined, slot: "env" | "headers"): Record<string, JsonValue> {
    if (value === undefined || value === null) return {};
    if (!isJsonObject(value)) {
      this.#problems.push(`${slot} must be an object, got ${kindOf(value)}`);
      return {};
    }
    const pairs = Object.entries(value).flatMap(([name, field]): [string, JsonValue][] => {
      if (field === undefined) return [];
      if (field === null) {
        this.#notes.push(`${slot}.${name}: it is taken away there; here it is not there at all unless named`);
        return [];
      }
      return [[name, this.#secretInput(field, `${slot}.${name}`) ?? this.#text(field, slot, `${slot}.${name}`)]];
    });
    return Object.fromEntries(pairs);
  }

  /** What the person would be asked for is kept for them where only they can read it. */
  #secretInput(value: JsonValue, label: string): string | undefined {
    const id = typeof value === "string" ? WHOLE_INPUT.exec(value)?.[1] : undefined;
    return id === undefined ? undefined : this.#keyring(id, label);
  }

  #bearerInput(headers: JsonValue | undefined): string | undefined {
    const found = Object.entries(isJsonObject(headers) ? headers : {}).find(([name]) => isAuthorization(name));
    const id = typeof found?.[1] === "string" ? BEARER_INPUT.exec(found[1])?.[1] : undefined;
    return id === undefined ? undefined : this.#keyring(id, "auth.token");
  }

  #keyring(id: string, label: string): string | undefined {
    const { syntax, inputs, layer } = this.#context;
    const input = inputs.get(id);
    if (!syntax.inputs || layer === "project" || !input?.isPassword) return undefined;
    const name = id.replaceAll(/[^\w.@/:-]+/gu, "-");
    const asked = input.description === undefined ? "" : ` (${input.description})`;
    this.#notes.push(`${label}: it asks for "${id}"${asked}: tenon secret set ${name} keeps it in your keyring`);
    return `keyring:${name}`;
  }
}

function isWorkspace(cwd: JsonValue): boolean {
  return cwd === "${workspaceFolder}" || cwd === ".";
}

function isAuthorization(name: string): boolean {
  return name.toLowerCase() === "authorization";
}

function without(headers: JsonValue | undefined, name: string): JsonValue | undefined {
  if (!isJsonObject(headers)) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key.toLowerCase() !== name));
}
