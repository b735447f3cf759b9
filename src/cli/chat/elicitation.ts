// What servers and the model want to know of the person: forms field by field, pages by their address, both declinable.
import type { CreateElicitationRequest, CreateElicitationResponse } from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { isUrl } from "../../base/text/url.js";
import type { MenuChoice } from "../terminal/live/menu.js";
import { visible, visibleLine } from "../terminal/text.js";
import type { ChatTerminal } from "./terminal.js";

const CANCEL: CreateElicitationResponse = { action: "cancel" };
const DECLINE: CreateElicitationResponse = { action: "decline" };

type Verdict = "yes" | "no" | "again" | undefined;
type VerdictChoice = MenuChoice & { readonly verdict: Verdict };

const OPEN: VerdictChoice = { verdict: "yes", key: "y", label: "I open it" };
const ANSWER: VerdictChoice = { verdict: "yes", key: "y", label: "Answer it" };
const SEND: VerdictChoice = { verdict: "yes", key: "y", label: "Send these answers" };
const AGAIN: VerdictChoice = { verdict: "again", key: "e", label: "Answer again" };
const NO: VerdictChoice = { verdict: "no", key: "n", label: "No" };

export class ElicitationPrompter {
  readonly #options: ChatTerminal;
  #turn: AbortSignal = AbortSignal.abort();

  constructor(options: ChatTerminal) {
    this.#options = options;
  }

  /** Questions are asked while a turn runs; outside of one the line belongs to the next prompt. */
  beginTurn(signal: AbortSignal): void {
    this.#turn = signal;
  }

  /** Never resolves where the person leaves the question to others. */
  async answer(request: CreateElicitationRequest, requestSignal: AbortSignal): Promise<CreateElicitationResponse> {
    const response = await this.#answer(request, requestSignal);
    return response === CANCEL && this.#options.isLeaving?.() ? await new Promise<never>(() => {}) : response;
  }

  async #answer(request: CreateElicitationRequest, requestSignal: AbortSignal): Promise<CreateElicitationResponse> {
    if (this.#turn.aborted) {
      this.#options.screen.line(this.#options.palette.dim(`Not asked now: ${visibleLine(request.message)}`));
      return CANCEL;
    }
    const signal = AbortSignal.any([this.#turn, requestSignal]);
    return await this.#options.queue.run(async () => {
      if (signal.aborted) return CANCEL;
      const resume = this.#options.screen.hold();
      try {
        const answer = await this.#ask(request, signal);
        return signal.aborted ? CANCEL : answer;
      } finally {
        resume();
      }
    });
  }

  async #ask(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const { screen, palette } = this.#options;
    const [first = "", ...rest] = visible(request.message).split("\n");
    screen.line(`${palette.yellow("?")} ${first}`);
    for (const line of rest) screen.line(`    ${line}`);
    if (request.mode === "url") return await this.#askPage(request, signal);
    return request.mode === "form" ? await this.#askForm(request, signal) : DECLINE;
  }

  /** The address alone on its line: it is what the person decides about, and what they copy. */
  async #askPage(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const url = "url" in request && typeof request.url === "string" ? request.url : "";
    if (!/^https?:\/\//iu.test(url)) return DECLINE;
    this.#options.screen.line(`  ${visibleLine(url)}`);
    return toResponse(await this.#decide([OPEN, NO], signal));
  }

  async #askForm(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const { screen, palette } = this.#options;
    const schema = "requestedSchema" in request ? request.requestedSchema : undefined;
    const fields = fieldsOf(isJsonObject(schema) ? schema : {});
    if (typeof fields === "string") {
      screen.line(palette.yellow(`  ${fields}`));
      return DECLINE;
    }
    const [only, ...others] = fields;
    if (only && others.length === 0) return await this.#askOnly(only, signal);
    const begun = await this.#decide([ANSWER, NO], signal);
    if (begun !== "yes") return toResponse(begun);
    for (;;) {
      const content = await this.#fill(fields, signal);
      if (!content) return CANCEL;
      const verdict = await this.#decide([SEND, AGAIN, NO], signal);
      if (verdict !== "again") return toResponse(verdict, content);
    }
  }

  /** A single question needs no ceremony: an empty line is no answer, unless it stands for a default. */
  async #askOnly(field: Field, signal: AbortSignal): Promise<CreateElicitationResponse> {
    const value = await this.#askField(field, signal, true);
    if (value === undefined) return CANCEL;
    if (value !== LEFT_OUT) return { action: "accept", content: { [field.name]: value } };
    return field.isRequired ? DECLINE : { action: "accept", content: {} };
  }

  /** Undefined at the end of the input and when the signal aborts. */
  async #fill(fields: readonly Field[], signal: AbortSignal): Promise<Content | undefined> {
    const content: [string, ContentValue][] = [];
    for (const field of fields) {
      const value = await this.#askField(field, signal, false);
      if (value === undefined) return undefined;
      if (value !== LEFT_OUT) content.push([field.name, value]);
    }
    return Object.fromEntries(content);
  }

  async #askField(field: Field, signal: AbortSignal, isOnly: boolean) {
    const { screen, palette, reader, shared } = this.#options;
    const whenRequired = isOnly && field.usual === undefined ? " (Enter alone: no answer)" : "";
    const freedom = field.isRequired ? whenRequired : " (optional)";
    screen.line(`  ${palette.bold(field.label)}${palette.dim(freedom)}`);
    for (const [index, { title }] of field.options.entries()) screen.line(`    ${index + 1} ${visibleLine(title)}`);
    const usual = usualText(field);
    const hint = field.kind === "boolean" ? "y/n" : field.isMany ? "numbers, with commas" : "";
    const words = [hint, ...(usual === undefined ? [] : [`Enter: ${usual}`])].filter((part) => part !== "").join(", ");
    // Alone it is the first thing that is asked; else it follows the answer that began the form, or another field.
    for (let isNext = !isOnly; ; isNext = true) {
      const prompt = words === "" ? "  › " : `  ${palette.dim(`[${words}]`)} › `;
      const options = { signal, isFresh: true, isNext, vanishes: shared !== undefined };
      const typed = await reader.question(prompt, options);
      if (typed === undefined || signal.aborted) return undefined;
      const read = readTyped(isOnly ? { ...field, isRequired: false } : field, typed);
      if (typeof read !== "string") return read.value === undefined ? LEFT_OUT : toContent(read.value);
      screen.line(palette.dim(`  ${read}`));
    }
  }

  async #decide(verdicts: readonly VerdictChoice[], signal: AbortSignal): Promise<Verdict> {
    const { reader, shared } = this.#options;
    const menu = { title: "Your answer:", choices: verdicts };
    const chosen = await reader.choose(menu, { signal, isFresh: true, vanishes: shared !== undefined });
    return chosen === undefined || signal.aborted ? undefined : verdicts[chosen]?.verdict;
  }
}

type ContentValue = string | number | boolean | string[];
type Content = Record<string, ContentValue>;

const LEFT_OUT = Symbol("left out");

function toContent(value: JsonValue): ContentValue | typeof LEFT_OUT {
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  return typeof value === "object" || value === null ? LEFT_OUT : value;
}

function toResponse(verdict: Verdict, content?: Content): CreateElicitationResponse {
  if (verdict === "yes") return { action: "accept", ...defined({ content }) };
  return verdict === "no" ? DECLINE : CANCEL;
}

/** Words for why it cannot be asked here. */
function fieldsOf({ properties, required }: JsonObject): readonly Field[] | string {
  const needed = Array.isArray(required) ? required : [];
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const field = readField(name, property, needed.includes(name));
    if (field) fields.push(field);
    else if (needed.includes(name)) return `It needs "${visibleLine(name)}", which cannot be typed here.`;
  }
  return fields;
}

// One field of a form, as a terminal asks for it: what it is in words, and what a typed line means for it.

interface Field {
  readonly name: string;
  /** For the question: title, what it is for, bounds. */
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly title: string }[];
  readonly isRequired: boolean;
  readonly isMany: boolean;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice";
  readonly usual?: JsonValue;
  readonly rules: JsonObject;
}

/** What a typed line means: a value, or that the field is left out; a text says why it cannot be taken. */
type Typed = { readonly value?: JsonValue } | string;

/** Undefined for a field of a kind nobody could fill in here. */
function readField(name: string, raw: unknown, isRequired: boolean): Field | undefined {
  if (!isJsonObject(raw)) return undefined;
  const kind = kindOf(raw);
  if (!kind) return undefined;
  const isMany = raw["type"] === "array";
  const options = kind === "choice" ? optionsOf(isMany && isJsonObject(raw["items"]) ? raw["items"] : raw) : [];
  const usual = raw["default"];
  const base = { name, label: labelOf(name, raw), options, isRequired, isMany, kind, rules: raw };
  return usual === undefined || usual === null ? base : { ...base, usual };
}

function kindOf(raw: JsonObject): Field["kind"] | undefined {
  switch (raw["type"]) {
    case "string":
      return optionsOf(raw).length > 0 ? "choice" : "text";
    case "array":
      return "choice";
    case "number":
    case "integer":
    case "boolean":
      return raw["type"];
    default:
      return undefined;
  }
}

function optionsOf(raw: JsonObject): Field["options"] {
  const titled = raw["oneOf"] ?? raw["anyOf"];
  if (Array.isArray(titled)) {
    return titled.flatMap((option) => {
      const { const: value, title } = isJsonObject(option) ? option : {};
      return typeof value === "string" ? { value, title: typeof title === "string" ? title : value } : [];
    });
  }
  const values = Array.isArray(raw["enum"]) ? raw["enum"] : [];
  return values.flatMap((value) => (typeof value === "string" ? { value, title: value } : []));
}

function labelOf(name: string, raw: JsonObject): string {
  const { title, description, format } = raw;
  const told = [description, boundsOf(raw), format].flatMap((note) =>
    typeof note === "string" && note !== "" ? visibleLine(note) : [],
  );
  const head = visibleLine(typeof title === "string" && title !== "" ? title : name);
  return told.length === 0 ? head : `${head} (${told.join("; ")})`;
}

function boundsOf({ minimum, maximum }: JsonObject): string | undefined {
  if (typeof minimum === "number" && typeof maximum === "number") return `${minimum} to ${maximum}`;
  if (typeof minimum === "number") return `at least ${minimum}`;
  return typeof maximum === "number" ? `at most ${maximum}` : undefined;
}

/** What is offered when nothing is typed, as people read it. */
function usualText({ usual, options }: Field): string | undefined {
  if (usual === undefined) return undefined;
  const title = (value: JsonValue) =>
    options.find((option) => option.value === value)?.title ??
    (typeof value === "string" ? value : JSON.stringify(value));
  return visibleLine(Array.isArray(usual) ? usual.map(title).join(", ") : title(usual));
}

/** An empty line is the default, or leaves an optional field out. */
function readTyped(field: Field, typed: string): Typed {
  const words = typed.trim();
  if (words === "") {
    if (field.usual !== undefined) return { value: field.usual };
    return field.isRequired ? "This is needed." : {};
  }
  switch (field.kind) {
    case "text":
      return readText(field.rules, typed);
    case "number":
    case "integer":
      return readNumber(field, words);
    case "boolean":
      return readBoolean(words.toLowerCase());
    case "choice":
      return field.isMany ? readChoices(field, words) : readChoice(field, words);
  }
}

/** Of the formats a form may ask for: what is plainly none of them would only come back as an error of the server. */
const FORMATS: Readonly<Record<string, { readonly fits: (text: string) => boolean; readonly words: string }>> = {
  email: { fits: (text) => /^[^\s@]+@[^\s@]+$/u.test(text), words: "an e-mail address, as ann@example.org" },
  uri: { fits: isUrl, words: "a whole address, as https://example.org" },
  date: { fits: (text) => /^\d{4}-\d\d-\d\d$/u.test(text) && isTime(text), words: "a date, as 2026-01-31" },
  "date-time": {
    fits: (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/iu.test(text) && isTime(text),
    words: "a date and a time, as 2026-01-31T12:00:00Z",
  },
};

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}

function readText({ minLength, maxLength, format }: JsonObject, typed: string): Typed {
  const length = Array.from(typed).length; // code points, as JSON Schema counts
  if (typeof minLength === "number" && length < minLength) return `At least ${minLength} characters.`;
  if (typeof maxLength === "number" && length > maxLength) return `At most ${maxLength} characters.`;
  const known = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (known && !known.fits(typed.trim())) return `Please type ${known.words}.`;
  return { value: known ? typed.trim() : typed };
}

function readNumber({ kind, rules: { minimum, maximum } }: Field, words: string): Typed {
  const value = Number(words);
  if (!Number.isFinite(value)) return "Please type a number.";
  if (kind === "integer" && !Number.isInteger(value)) return "Please type a whole number.";
  if (typeof minimum === "number" && value < minimum) return `At least ${minimum}.`;
  if (typeof maximum === "number" && value > maximum) return `At most ${maximum}.`;
  return { value };
}

function readBoolean(word: string): Typed {
  if (["y", "yes", "true"].includes(word)) return { value: true };
  return ["n", "no", "false"].includes(word) ? { value: false } : "Please answer y or n.";
}

/** By its number, its value or its title. */
function readChoice({ options }: Field, words: string): Typed {
  const numbered = /^\d+$/u.test(words) ? options[Number(words) - 1] : undefined;
  const word = words.toLowerCase();
  const named = options.find(({ value, title }) => value.toLowerCase() === word || title.toLowerCase() === word);
  const chosen = named ?? numbered;
  return chosen ? { value: chosen.value } : `Please choose from 1 to ${options.length}.`;
}

function readChoices(field: Field, words: string): Typed {
  const { minItems, maxItems } = field.rules;
  const values = new Set<JsonValue>();
  for (const word of words.split(",").map((part) => part.trim())) {
    if (word === "") continue;
    const read = readChoice(field, word);
    if (typeof read === "string") return `"${visibleLine(word)}": ${read}`;
    if (read.value !== undefined) values.add(read.value);
  }
  if (typeof minItems === "number" && values.size < minItems) return `At least ${minItems}, separated by commas.`;
  if (typeof maxItems === "number" && values.size > maxItems) return `At most ${maxItems}.`;
  return { value: [...values] };
}
