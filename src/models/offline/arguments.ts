// A tool's arguments, filled from the words of a request by the tool's schema.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { Candidate } from "./choose.js";
import { bareName, isPlainText, isText, type Parameter, placeWeight, whereSaid } from "./parameters.js";
import { blank, type Span, scan } from "./spans.js";
import {
  findChoice,
  findPairs,
  fits,
  fromText,
  isGenericPlace,
  isPlaceToWorkIn,
  nearbyPlace,
  type Range,
  rangeOf,
  splitTexts,
  textAfterName,
  withoutCommand,
  withoutUsed,
} from "./values.js";
import { contentStems, isStopWord, stem, words } from "./words.js";

export interface FilledArguments {
  readonly arguments: JsonObject;
  /** Required parameters that the request says nothing about. */
  readonly missing: readonly Parameter[];
}

export function fillArguments(request: string, candidate: Candidate): FilledArguments {
  const filling = new Filling(request, candidate);
  filling.takeJson();
  filling.takePairs();
  filling.takeChoices();
  filling.takeFlags();
  filling.takeRepository();
  filling.takePlaces();
  filling.takeQuoted();
  filling.takeNumbers();
  filling.takePlacesByName();
  filling.takeTexts();
  filling.takeDefaults();
  return filling.result();
}

/** Optional texts that are what a request is about, not a detail of it. */
const QUERY_NAMES = new Set(
  "query q sql search prompt expression command input question topic term keywords".split(" "),
);

/** The state of one filling; each step takes what it is sure of and leaves the rest of the text to the next. */
class Filling {
  readonly #text: string;
  readonly #parameters: readonly Parameter[];
  readonly #spans: readonly Span[];
  readonly #toolWords: ReadonlySet<string>;
  /** The same with the words of the tool's source. */
  readonly #commandWords: ReadonlySet<string>;
  readonly #isSaid: boolean;
  readonly #values = new Map<Parameter, JsonValue>();
  readonly #used: Range[] = [];
  /** Arguments given as JSON under names the schema does not list. */
  #extra: JsonObject = {};

  constructor(request: string, candidate: Candidate) {
    const { tool, parameters } = candidate;
    // The tool's name is a command, not a value: blanked, so that positions stay.
    const said = whereSaid(request, tool.name) ?? whereSaid(request, bareName(tool.name));
    this.#text = said === undefined ? request : blank(request, [said]);
    this.#parameters = parameters;
    this.#spans = scan(this.#text);
    this.#isSaid = said !== undefined;
    this.#toolWords = new Set(contentStems(`${bareName(tool.name)} ${tool.title ?? ""}`));
    this.#commandWords = new Set([...this.#toolWords, ...contentStems(tool.name)]);
  }

  takeJson(): void {
    for (const span of this.#free("json")) {
      if (isJsonObject(span.value) && this.#takesAsArguments(span.value)) {
        for (const parameter of this.#parameters) {
          const value = Object.hasOwn(span.value, parameter.name) ? span.value[parameter.name] : undefined;
          if (value !== undefined) this.#values.set(parameter, value);
        }
        this.#extra = { ...span.value };
        this.#used.push(span);
        return;
      }
      const [place] = this.#open().filter(({ kind }) => kind === (Array.isArray(span.value) ? "array" : "object"));
      const isKey = /[=:]\s*$/.test(this.#text.slice(0, span.start));
      if (place !== undefined && !isKey) this.#set(place, span.value, span);
    }
  }

  takePairs(): void {
    for (const { parameter, value, start, end } of findPairs(this.#text, this.#open(), this.#free())) {
      this.#set(parameter, value, { start, end });
    }
  }

  takeChoices(): void {
    for (const parameter of this.#open()) {
      if (parameter.choices === undefined) continue;
      const found = findChoice(parameter.isRequired ? this.#remaining() : this.#sentence(), parameter.choices);
      if (found === undefined) continue;
      // A word of the tool's own name is no choice, unless nothing else could be meant.
      const isName = words(JSON.stringify(found.value)).every((word) => this.#toolWords.has(stem(word)));
      if (parameter.isRequired || !isName) this.#set(parameter, found.value, found);
    }
  }

  takeFlags(): void {
    for (const parameter of this.#open()) {
      const parts = words(parameter.name);
      if (parameter.kind !== "boolean" || parts.length === 0) continue;
      const isName = parameter.stems.every((word) => this.#toolWords.has(word));
      const form = new RegExp(`(?:\\b(no|not|without|don't|never)\\s+)?\\b${parts.join("[\\s_-]?")}\\b`, "iu");
      const found = form.exec(this.#sentence());
      if (found === null || (isName && !parameter.isRequired)) continue;
      this.#set(parameter, found[1] === undefined, rangeOf(found));
    }
  }

  /** URLs and paths, to the parameters that want them. */
  takePlaces(): void {
    this.#assign(this.#free("url"), ({ role }) => role === "url");
    const globs = this.#free("path").filter((span) => span.text.includes("*"));
    this.#assign(globs, ({ role }) => role === "pattern");
    this.#assign(this.#free("path"), ({ role }) => role === "path");
  }

  /** `owner/name`, which looks like a path, for tools that want the two apart. */
  takeRepository(): void {
    const [owner, repository] = ["owner", "repo"].map((name) => this.#open().find((one) => one.name === name));
    const span = this.#free("path").find(({ text }) => /^[\w.-]+\/[\w.-]+$/.test(text));
    if (owner === undefined || repository === undefined || span === undefined) return;
    const [first = "", second = ""] = span.text.split("/");
    this.#set(owner, first, span);
    this.#set(repository, second, span);
  }

  takeQuoted(): void {
    this.#assign(this.#free("quoted"), isPlainText);
    this.#assign(this.#free("quoted"), ({ role }) => role === "pattern");
    this.#assign(this.#free("quoted"), isText);
  }

  takeNumbers(): void {
    const isNumber = ({ kind, choices, item }: Parameter) => {
      const wanted = kind === "array" ? item?.kind : kind;
      return (wanted === "number" || wanted === "integer") && choices === undefined;
    };
    // Where a text is still wanted, a number is more likely part of it than an option that was not mentioned.
    this.#assign(
      this.#free("number"),
      isNumber,
      !this.#open().some((parameter) => parameter.isRequired && isText(parameter)),
    );
  }

  /** Paths that do not look like paths: "here", "in docs", "the folder src". */
  takePlacesByName(): void {
    for (const parameter of this.#open()) {
      if (parameter.role !== "path" || parameter.kind !== "string" || placeWeight(parameter) < 0) continue;
      if (!parameter.isRequired && !this.#isListing()) continue;
      const found = nearbyPlace(this.#remaining(), this.#toolWords);
      const isTextWanted = this.#open().some((other) => other !== parameter && other.isRequired && isText(other));
      if (found !== undefined) this.#set(parameter, found.path, found);
      else if (parameter.isRequired && isTextWanted && this.#isListing()) this.#values.set(parameter, ".");
    }
  }

  takeTexts(): void {
    const [first, ...others] = this.#open().filter((parameter) => parameter.isRequired && isText(parameter));
    if (first !== undefined && others.length > 0) {
      const whole = withoutUsed(this.#text, this.#used);
      const found = splitTexts(whole, this.#left(undefined), [first, ...others]);
      for (const { parameter, text } of found) this.#setText(parameter, text);
      return;
    }
    const parameter = first ?? this.#optionalText();
    const named = parameter && textAfterName(withoutUsed(this.#text, this.#used), parameter);
    const left = parameter === undefined ? "" : (named ?? this.#left(parameter));
    if (parameter === undefined || left === "") return;
    const isAnyText = parameter.role === "plain" || parameter.role === "pattern";
    if (isAnyText || this.#mayBePlace(left)) this.#setText(parameter, left);
  }

  takeDefaults(): void {
    for (const parameter of this.#open()) {
      if (!parameter.isRequired) continue;
      if (parameter.defaultValue !== undefined) this.#values.set(parameter, parameter.defaultValue);
      else if (parameter.choices?.length === 1) this.#values.set(parameter, parameter.choices[0] ?? null);
      else if (parameter.role === "path" && parameter.kind === "string" && this.#isListing()) {
        this.#values.set(parameter, ".");
      }
    }
  }

  result(): FilledArguments {
    const filled = this.#parameters.flatMap((parameter): [string, JsonValue][] => {
      const value = this.#values.get(parameter);
      return value === undefined ? [] : [[parameter.name, value]];
    });
    const missing = this.#open().filter((parameter) => parameter.isRequired);
    return { arguments: { ...this.#extra, ...Object.fromEntries(filled) }, missing };
  }

  /** JSON after a tool's name is its arguments when the schema knows any of its keys, or lists none itself. */
  #takesAsArguments(value: JsonObject): boolean {
    if (this.#parameters.length === 0) return true;
    return this.#parameters.some((parameter) => Object.hasOwn(value, parameter.name));
  }

  /** A path or an address is one word at the end; anything else is part of a sentence that names none. */
  #mayBePlace(left: string): boolean {
    return /^\S+$/.test(left) && !isGenericPlace(left) && this.#text.trimEnd().endsWith(left);
  }

  #isListing(): boolean {
    return ["list", "tree", "search", "find", "glob"].some((word) => this.#toolWords.has(word));
  }

  /** A tool without required parameters takes the text into its query, where it has one. */
  #optionalText(): Parameter | undefined {
    if (this.#parameters.some((parameter) => parameter.isRequired)) return undefined;
    return this.#open().find((parameter) => isPlainText(parameter) && QUERY_NAMES.has(parameter.name.toLowerCase()));
  }

  #assign(spans: readonly Span[], isWanted: (parameter: Parameter) => boolean, isGenerous = true): void {
    const wanted = this.#open().filter((parameter) => isWanted(parameter));
    const isPointed = spans.some((span) => isPlaceToWorkIn(this.#text, span));
    // Without such words a path never goes to the repository or directory a tool works in.
    const usable = wanted.filter(({ kind }) => kind !== "array").filter((one) => isPointed || placeWeight(one) >= 0);
    const single = usable.toSorted((one, other) => placeWeight(other) - placeWeight(one));
    const [first] = spans;
    const lists = wanted.filter(({ kind, item }) => kind === "array" && item !== undefined);
    const list = lists.find(({ item, isRequired }) => isRequired && first && item && fits(first.value, item));
    const optionalList = lists.find(({ item }) => item?.kind === "string");
    const target = list ?? (single.length > 0 ? undefined : optionalList);
    if (target !== undefined && first !== undefined) {
      const values = spans.map(({ value }) => value);
      this.#values.set(target, values);
      this.#used.push(...spans);
      return;
    }
    for (const [span, parameter] of assign(this.#text, spans, single, isGenerous)) {
      this.#set(parameter, span.value, span);
    }
  }

  #open(): Parameter[] {
    return this.#parameters.filter((parameter) => !this.#values.has(parameter));
  }

  #free(kind?: Span["kind"]): Span[] {
    return this.#spans.filter((span) => {
      const isTaken = this.#used.some((range) => span.start < range.end && range.start < span.end);
      return !isTaken && (kind === undefined || span.kind === kind);
    });
  }

  #set(parameter: Parameter, value: JsonValue, range: Range): void {
    this.#values.set(parameter, value);
    this.#used.push({ start: range.start, end: range.end });
  }

  #setText(parameter: Parameter, text: string): void {
    const value = fromText(text, parameter);
    if (value !== undefined) this.#values.set(parameter, value);
  }

  /** The text with everything taken blanked out, positions kept. */
  #remaining(): string {
    return blank(this.#text, this.#used);
  }

  /** The same without all values: a quoted "force" is not a flag. */
  #sentence(): string {
    return blank(this.#text, [...this.#used, ...this.#spans]);
  }

  #left(parameter: Parameter | undefined): string {
    const text = withoutUsed(this.#text, this.#used);
    // The source's name may be all there is to the text: "search repositories for mcp".
    const command = { words: this.#commandWords, parameter, isSaid: this.#isSaid };
    return withoutCommand(text, command) || withoutCommand(text, { ...command, words: this.#toolWords });
  }
}

// Which value belongs to which parameter, by the words that stand around it.

/** Small words that point at a parameter by its role. */
const POINTERS: readonly (readonly [words: RegExp, parameters: readonly string[]])[] = [
  [/^(?:to|into|as|onto)$/, ["destination", "dest", "to", "target", "new"]],
  [/^from$/, ["source", "src", "from", "old"]],
  [/^first$/, ["head"]],
  [/^last$/, ["tail"]],
];

/** How many words on each side are looked at, and in how many characters they are looked for. */
const WINDOW = { before: 3, after: 2, chars: 100 };

/**
 * Pairs values with parameters: the best evidence first, then what is left in order, required parameters before optional
 * ones. Optional parameters get a value without evidence only when `isGenerous`.
 */
function assign(
  text: string,
  spans: readonly Span[],
  parameters: readonly Parameter[],
  isGenerous: boolean,
): ReadonlyMap<Span, Parameter> {
  const options = spans.flatMap((span) =>
    parameters.map((parameter) => ({ span, parameter, evidence: evidenceFor(text, span, parameter) })),
  );
  const done = new Map<Span, Parameter>();
  const take = (span: Span, parameter: Parameter) => {
    const isFree = !done.has(span) && ![...done.values()].includes(parameter);
    const isWhole = parameter.kind !== "integer" || Number.isInteger(span.value);
    if (isFree && isWhole) done.set(span, parameter);
  };
  const best = options.filter((option) => option.evidence > 0).toSorted((one, other) => other.evidence - one.evidence);
  for (const { span, parameter } of best) take(span, parameter);
  for (const { span, parameter } of options) if (parameter.isRequired) take(span, parameter);
  if (isGenerous) for (const { span, parameter } of options) take(span, parameter);
  return done;
}

function evidenceFor(text: string, span: Span, parameter: Parameter): number {
  const before = words(text.slice(Math.max(0, span.start - WINDOW.chars), span.start)).slice(-WINDOW.before);
  const after = words(text.slice(span.end, span.end + WINDOW.chars)).slice(0, WINDOW.after);
  const names = parameter.stems;
  let evidence = 0;
  // In "3 seconds 6 steps" the word before the 6 belongs to the 3.
  const isOfAnother = /\d\s*\p{L}+\s*$/u.test(text.slice(Math.max(0, span.start - WINDOW.chars), span.start));
  for (const [distance, word] of isOfAnother ? [] : before.toReversed().entries()) {
    if (names.includes(stem(word))) evidence = Math.max(evidence, 4 - distance);
  }
  const [next] = after;
  if (next !== undefined && names.includes(stem(next))) evidence = Math.max(evidence, 3);
  for (const [pointers, roles] of POINTERS) {
    const isPointed = before.slice(-2).some((word) => pointers.test(word));
    if (isPointed && roles.some((role) => names.includes(stem(role)))) evidence = Math.max(evidence, 1);
  }
  const told = new Set(words(parameter.description).map((word) => stem(word)));
  const isTold = [...before.slice(-1), ...after].some((word) => !isStopWord(word) && told.has(stem(word)));
  return isTold ? evidence + 0.5 : evidence;
}
