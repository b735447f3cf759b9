// Reads `permissions.rules`, each rule by itself. One that cannot be read never allows; what it was to ask about or deny is asked about.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LAUNCH_LIMITS } from "../../base/limits.js";
import type { ArgumentCondition, PolicyRule } from "../../tools/index.js";
import type { KeyPath } from "./document.js";
import type { RuleEntry } from "./entry.js";
import { type Finding, kindOf } from "./findings.js";
import type { Schemas } from "./read-entry.js";

export interface RulesContext {
  readonly isProject: boolean;
  readonly schemas: Schemas;
  /** Where the rule of an index stands, for people. */
  placeOf(index: number): string;
  /** Whether there is a syntax error in the rule of an index, or, without one, anywhere around the rules. */
  isBroken(index?: number): boolean;
}

const ASK_ALL = "the rules cannot be read as they were meant, so every call they do not deny is asked about";

const TOO_MANY = `a project file may have ${LAUNCH_LIMITS.projectRules} rules; those after these are not read, and every call is asked about`;

/** Paths of the findings begin at the list. */
export function readRules(
  written: JsonValue | undefined,
  context: RulesContext,
): { readonly rules: readonly PolicyRule[]; readonly findings: readonly Finding[] } {
  if (!Array.isArray(written)) {
    const message = `permissions.rules must be a list, got ${kindOf(written)}: every call is asked about`;
    return { rules: [{ effect: "ask", isBroken: true }], findings: [error([], message)] };
  }
  const isBounded = context.isProject && written.length > LAUNCH_LIMITS.projectRules;
  const list: readonly JsonValue[] = isBounded ? written.slice(0, LAUNCH_LIMITS.projectRules) : written;
  const read = list.map((rule, index) => readRule(rule, index, context));
  const rules = read.flatMap(({ rule }) => rule ?? []);
  const findings = read.flatMap((one) => one.findings);
  if (isBounded) {
    rules.push({ effect: "ask", isBroken: true, reason: TOO_MANY });
    findings.push(error([], TOO_MANY));
  }
  if (!context.isBroken()) return { rules, findings };
  // A rule may be missing from what could be read, and it may be the one before an `allow`.
  const tight = rules.filter(({ effect }) => effect !== "allow");
  return {
    rules: [...tight, { effect: "ask", isBroken: true, reason: ASK_ALL }],
    findings: [...findings, error([], ASK_ALL)],
  };
}

interface ReadRule {
  readonly rule?: PolicyRule;
  readonly findings: readonly Finding[];
}

function readRule(written: JsonValue, index: number, context: RulesContext): ReadRule {
  if (!isJsonObject(written)) return { findings: [error([index], `a rule must be an object, got ${kindOf(written)}`)] };
  const place = context.placeOf(index);
  const checked = context.schemas.check(context.schemas.ruleEntry, written);
  // An unknown key may have narrowed the rule: a rule is used as a whole or not at all.
  const isWhole = checked.value !== undefined && !checked.findings.some(({ at }) => at === "key");
  if (context.isBroken(index)) return unusable(written, index, place, [error([], "there is a syntax error in it")]);
  if (!checked.value || !isWhole) return unusable(written, index, place, checked.findings);
  const entry = checked.value;
  if (!context.isProject) return { rule: ruleOf(entry, written, place), findings: [] };
  if (entry.effect === "allow") {
    const message = 'a project can never allow calls: the rule is left out; its rules may "ask" or "deny"';
    return { findings: [error([index, "effect"], message)] };
  }
  // Words of a project reach the person and the model through what was approved of it, and rules need no approval.
  const isSilent = entry.reason !== undefined;
  const message = "the reason of a project's rule is not shown";
  const findings: Finding[] = isSilent ? [{ ...error([index, "reason"], message), severity: "warning" }] : [];
  const { reason: _, ...rest } = entry;
  return { rule: ruleOf(rest, written, place), findings };
}

function unusable(written: JsonObject, index: number, place: string, findings: readonly Finding[]): ReadRule {
  const rule = fallbackOf(written, place);
  const said = findings.map((finding): Finding => {
    const message = finding.message.replace(/ is ignored$/u, "");
    return { ...finding, message, severity: "error", path: [index, ...finding.path] };
  });
  const consequence = error([index], rule ? fallbackText(rule) : "this rule is left out");
  return { findings: [...said, consequence], ...defined({ rule }) };
}

/** Nothing for what was surely to allow. */
function fallbackOf(written: JsonObject, place: string): PolicyRule | undefined {
  const { effect, server, tool } = written;
  if (effect === "allow") return undefined;
  return {
    effect: "ask",
    isBroken: true,
    place,
    ...defined({
      server: typeof server === "string" && server !== "" ? server : undefined,
      tool: typeof tool === "string" && tool !== "" ? tool : undefined,
    }),
  };
}

function fallbackText({ server = "*", tool = "*" }: PolicyRule): string {
  return `this rule cannot be used as it is, so every call of ${tool} of the server ${server} is asked about`;
}

function ruleOf(given: RuleEntry, written: JsonObject, place: string): PolicyRule {
  const { effect, annotations, arguments: conditions, ...entry } = given;
  return {
    ...defined(entry),
    effect,
    place,
    ...defined({
      annotations: annotations && defined(annotations),
      arguments: conditions && conditionsOf(written["arguments"]),
    }),
  };
}

/** From what was written, which the schema has passed: there the values are JSON. */
function conditionsOf(written: JsonValue | undefined): readonly ArgumentCondition[] {
  return Array.isArray(written) ? written.flatMap((one) => (isJsonObject(one) ? (conditionOf(one) ?? []) : [])) : [];
}

function conditionOf(written: JsonObject): ArgumentCondition | undefined {
  const { pointer, equals, glob, prefix, under, oneOf } = written;
  if (typeof pointer !== "string") return undefined;
  if (equals !== undefined) return { pointer, equals };
  if (typeof glob === "string") return { pointer, glob };
  if (typeof prefix === "string") return { pointer, prefix };
  if (typeof under === "string") return { pointer, under };
  return Array.isArray(oneOf) ? { pointer, oneOf } : undefined;
}

function error(path: KeyPath, message: string): Finding {
  return { severity: "error", path, at: "value", message };
}
