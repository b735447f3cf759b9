// Which value belongs to which parameter, by the words that stand around it.
import type { JsonValue } from "../../base/json/json.js";
import type { Parameter } from "./parameters.js";
import type { Span } from "./spans.js";
import { isStopWord, stem, words } from "./words.js";

export interface Assignment {
  readonly parameter: Parameter;
  readonly span: Span;
  readonly value: JsonValue;
}

/** Small words that point at a parameter by its role. */
const POINTERS: readonly (readonly [words: readonly string[], parameters: readonly string[]])[] = [
  [
    ["to", "into", "as", "onto"],
    ["destination", "dest", "to", "target", "new"],
  ],
  [["from"], ["source", "src", "from", "old"]],
  [["first"], ["head"]],
  [["last"], ["tail"]],
];

/** How many words on each side are looked at, and in how many characters they are looked for. */
const WINDOW = { before: 3, after: 2, chars: 100 };

/**
 * Pairs values with parameters: the best evidence first, then what is left in order, required parameters before optional
 * ones. Optional parameters get a value without evidence only when `isGenerous`.
 */
export function assign(
  text: string,
  spans: readonly Span[],
  parameters: readonly Parameter[],
  isGenerous: boolean,
): Assignment[] {
  const options = spans.flatMap((span) =>
    parameters.map((parameter) => ({ span, parameter, evidence: evidenceFor(text, span, parameter) })),
  );
  const done: Assignment[] = [];
  const take = (span: Span, parameter: Parameter) => {
    const isFree = !done.some((one) => one.span === span || one.parameter === parameter);
    const isWhole = parameter.kind !== "integer" || Number.isInteger(span.value);
    if (isFree && isWhole) done.push({ span, parameter, value: span.value });
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
    const isPointed = before.slice(-2).some((word) => pointers.includes(word));
    if (isPointed && roles.some((role) => names.includes(stem(role)))) evidence = Math.max(evidence, 1);
  }
  const told = new Set(words(parameter.description).map((word) => stem(word)));
  const isTold = [...before.slice(-1), ...after].some((word) => !isStopWord(word) && told.has(stem(word)));
  return isTold ? evidence + 0.5 : evidence;
}
