// May this call be made? Pure and total: the first rule that is about it decides, then the defaults, under the mode's ceiling.
import { unreachable } from "../../base/id.js";
import { MatchMeter, matchRule, type PolicySubject } from "./condition.js";
import { hintsOf, isOwnEdit } from "./hints.js";
import type { ProtectedFile } from "./protected-paths.js";
import type { PermissionMode, PolicyEffect, PolicyRule } from "./rule.js";

export interface PolicyQuestion extends PolicySubject {
  readonly mode: PermissionMode;
  /** Without the user's word `bypass` is `ask`. */
  readonly mayBypass: boolean;
}

export interface PolicyDecision {
  readonly effect: PolicyEffect;
  /** The rule that decided; none when a default or the mode did. */
  readonly rule?: PolicyRule;
  /** For the person and the model. */
  readonly reason: string;
  /** The protected file it is asked about for. */
  readonly protects?: ProtectedFile;
}

/** Rules in their order: command line, user, project, whose may only tighten: whoever reads them refuses its `allow`. */
export function decide(question: PolicyQuestion, rules: readonly PolicyRule[]): PolicyDecision {
  const decision = byRules(question, rules) ?? byDefault(question);
  return underMode(decision, question);
}

/** An unclear `allow` is passed over; of an unclear `ask` or `deny` the person is to judge. */
function byRules(question: PolicyQuestion, rules: readonly PolicyRule[]): PolicyDecision | undefined {
  const meter = new MatchMeter();
  for (const rule of rules) {
    const verdict = matchRule(rule, question, meter);
    if (verdict === "no" || (verdict === "unclear" && rule.effect === "allow")) continue;
    if (verdict === "unclear") {
      return { effect: "ask", rule, reason: `whether ${nameOf(rule)} is about these arguments cannot be told` };
    }
    const why = rule.reason === undefined ? "" : `: ${rule.reason}`;
    return { effect: rule.effect, rule, reason: `${nameOf(rule)} ${VERBS[rule.effect]}${why}` };
  }
  return undefined;
}

const VERBS: Readonly<Record<PolicyEffect, string>> = {
  allow: "allows it",
  ask: "wants it to be asked about",
  deny: "denies it",
};

function nameOf({ place }: PolicyRule): string {
  return place === undefined ? "a rule" : `the rule at ${place}`;
}

function byDefault(question: PolicyQuestion): PolicyDecision {
  const { readOnly, openWorld } = hintsOf(question);
  // A fetched address can carry away what was read, so reading beyond this machine is asked about.
  if (question.origin === "builtin" && readOnly && !openWorld) {
    return { effect: "allow", reason: "it is a tool of Tenon's own that changes nothing" };
  }
  if (question.mode === "auto-edit" && isOwnEdit(question)) {
    return { effect: "allow", reason: "edits are not asked about in the mode auto-edit" };
  }
  return { effect: "ask", reason: "no rule is about it" };
}

function underMode(decision: PolicyDecision, question: PolicyQuestion): PolicyDecision {
  switch (question.mode) {
    case "plan":
      if (decision.effect === "deny" || hintsOf(question).readOnly) return decision;
      return { effect: "deny", reason: "the mode plan runs read-only tools, and this is not known to be one" };
    case "bypass":
      if (decision.effect !== "ask" || !question.mayBypass) return decision;
      if (decision.rule && (decision.rule.effect === "deny" || decision.rule.isBroken)) {
        return { ...decision, effect: "deny" }; // nobody is asked, and it may be what was to be denied
      }
      return { effect: "allow", reason: "nothing is asked in the mode bypass" };
    case "ask":
    case "auto-edit":
      return decision;
    default:
      return unreachable(question.mode);
  }
}
