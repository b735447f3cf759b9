// One sentence for several text parameters: "titled Shopping with content buy milk", "Shopping: buy milk".
import type { Parameter } from "./parameters.js";
import { words } from "./words.js";

export interface NamedText {
  readonly parameter: Parameter;
  readonly text: string;
}

/** What people say for a parameter of that name. */
const SAID_FOR = new Map<string, readonly string[]>([
  ["title", ["titled", "called", "named", "entitled"]],
  ["name", ["named", "called"]],
  ["content", ["contents", "saying", "text", "containing"]],
  ["text", ["saying", "content", "containing"]],
  ["body", ["saying", "text", "content", "containing"]],
  ["message", ["saying", "text"]],
]);

/** `text` is the whole sentence, `rest` the same without its command. */
export function splitTexts(text: string, rest: string, parameters: readonly Parameter[]): NamedText[] {
  const named = byName(text, parameters);
  const [only, another] = named;
  if (another !== undefined || (only !== undefined && !only.text.includes(": "))) return named;
  const [first, second, third] =
    only === undefined ? parameters : [only.parameter, ...without(parameters, only.parameter)];
  const both = only?.text ?? rest;
  const colon = /:\s+/.exec(both);
  if (first === undefined || second === undefined || third !== undefined || colon === null) return [];
  const before = both.slice(0, colon.index).trim();
  const after = both.slice(colon.index + colon[0].length).trim();
  return before === "" || after === ""
    ? []
    : [
        { parameter: first, text: before },
        { parameter: second, text: after },
      ];
}

function without(parameters: readonly Parameter[], left: Parameter): Parameter[] {
  return parameters.filter((parameter) => parameter !== left);
}

/** The text after "with content" and the like, where a sentence says so in as many words. */
export function textAfterName(text: string, parameter: Parameter): string | undefined {
  const name = words(parameter.name).join("[\\s_-]?");
  if (name === "") return undefined;
  return new RegExp(`\\bwith\\s+(?:the\\s+|a\\s+)?${name}(?:\\s+(?:is|of))?[\\s:=]+(\\S.*)$`, "isu").exec(text)?.[1];
}

function byName(text: string, parameters: readonly Parameter[]): NamedText[] {
  const marks = parameters.flatMap((parameter) => {
    const last = words(parameter.name).at(-1) ?? "";
    const said = [words(parameter.name).join("[\\s_-]?"), ...(SAID_FOR.get(last) ?? [])].filter((word) => word !== "");
    if (said.length === 0) return [];
    const form = new RegExp(`(?:\\b(?:with|and|the|a)\\s+)*\\b(?:${said.join("|")})(?:\\s+(?:is|of))?[\\s:=]+`, "iu");
    const match = form.exec(text);
    return match === null ? [] : [{ parameter, start: match.index, end: match.index + match[0].length }];
  });
  const ordered = marks.toSorted((one, other) => one.start - other.start);
  return ordered.flatMap((mark, index): NamedText[] => {
    const next = ordered[index + 1]?.start ?? text.length;
    const value = text
      .slice(mark.end, Math.max(mark.end, next))
      .replace(/(?:[\s,;]+(?:and|with))*[\s,;]*$/i, "")
      .trim();
    return value === "" ? [] : [{ parameter: mark.parameter, text: value }];
  });
}
