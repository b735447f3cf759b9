// Whether a rule is about a call. Pure and total. What cannot be told is said to be unclear, not guessed.
import { isGlobMatch } from "../../base/glob.js";
import { canonicalJson, type JsonObject, type JsonValue } from "../../base/json.js";
import { pointerSteps, valueAtPointer } from "../../base/json-pointer.js";
import { type HintedTool, hintsOf } from "./hints.js";
import { isUnder, type PathTable } from "./paths.js";
import type { ArgumentCondition, HintCondition, PolicyEffect, PolicyRule } from "./rule.js";

export type Verdict = "yes" | "no" | "unclear";

export interface PolicySubject extends HintedTool {
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  /** As they would be sent, pinned values and values of results put in. */
  readonly arguments: JsonObject;
  /** From `resolvePaths`; `under` is unclear where it is not in here. */
  readonly paths: PathTable;
}

export function matchRule(rule: PolicyRule, subject: PolicySubject): Verdict {
  const { effect, server = "*", tool = "*", origin } = rule;
  const isMeant = origin ? origin.includes(subject.origin) : effect !== "allow" || subject.origin !== "project";
  if (!isMeant || !isGlobMatch(server, subject.server) || !isGlobMatch(tool, subject.tool)) return "no";
  if (rule.annotations && !hasHints(rule.annotations, subject)) return "no";
  const verdicts = (rule.arguments ?? []).map((condition) => testCondition(condition, subject, effect));
  if (verdicts.includes("no")) return "no";
  return verdicts.includes("unclear") ? "unclear" : "yes";
}

function hasHints(wanted: HintCondition, subject: PolicySubject): boolean {
  const { readOnly, destructive, idempotent, openWorld } = hintsOf(subject);
  return (
    (wanted.readOnly ?? readOnly) === readOnly &&
    (wanted.destructive ?? destructive) === destructive &&
    (wanted.idempotent ?? idempotent) === idempotent &&
    (wanted.openWorld ?? openWorld) === openWorld
  );
}

function testCondition(condition: ArgumentCondition, subject: PolicySubject, effect: PolicyEffect): Verdict {
  if (pointerSteps(condition.pointer) === undefined) return "unclear";
  const value = valueAtPointer(subject.arguments, condition.pointer);
  if (value === undefined) return "no";
  if ("equals" in condition) return isSame(value, condition.equals) ? "yes" : "no";
  if ("oneOf" in condition) return condition.oneOf.some((one) => isSame(value, one)) ? "yes" : "no";
  const test = textTest(condition, subject.paths);
  const verdicts = (Array.isArray(value) ? value : [value]).map((one): Verdict => {
    return typeof one === "string" ? test(one) : "unclear";
  });
  return effect === "allow" ? all(verdicts) : some(verdicts);
}

type TextCondition = Exclude<ArgumentCondition, { readonly equals: JsonValue } | { readonly oneOf: unknown }>;

function textTest(condition: TextCondition, paths: PathTable): (text: string) => Verdict {
  if ("under" in condition) {
    const folder = paths.folders.get(condition.under);
    return (text) => {
      const path = paths.values.get(text);
      if (path === undefined || folder === undefined) return "unclear";
      return isUnder(path, folder) ? "yes" : "no";
    };
  }
  const isMatch = "glob" in condition ? (text: string) => isGlobMatch(condition.glob, text) : startsWith(condition);
  return (text) => {
    // "/work/../etc" begins with "/work/" and does not lie there.
    if (/(?:^|[/\\])\.\.(?:$|[/\\])/u.test(text)) return "unclear";
    return isMatch(text) ? "yes" : "no";
  };
}

function startsWith({ prefix }: { readonly prefix: string }): (text: string) => boolean {
  return (text) => text.startsWith(prefix);
}

/** An empty list is no consent. */
function all(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.length === 0 || verdicts.includes("no")) return "no";
  return verdicts.includes("unclear") ? "unclear" : "yes";
}

function some(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes("yes")) return "yes";
  return verdicts.includes("unclear") ? "unclear" : "no";
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  return canonicalJson(one) === canonicalJson(other);
}
