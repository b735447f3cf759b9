// May this call be made? Pure and total: the first rule that is about it decides, then the defaults, under the mode's ceiling.
import { unreachable } from "../../base/id.js";
import { type JsonObject, type JsonValue, pointerSteps, sameJson, valueAtPointer } from "../../base/json/json.js";
import { compileGlob, type GlobMatcher } from "../../base/text/glob.js";
import { isUrl } from "../../base/text/url.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ToolAnnotations, ToolOrigin } from "../tool.js";
import { type CommandStarts, commandStarts, hasCommandPrefix, mayHavePrefix, mayRun, parseCommand } from "./command.js";
import type { ProtectedFile } from "./protected-paths.js";
import { isUnder, type PathTable } from "./protection.js";

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

/** Rules in their order: command line, user, project. A project's `allow` is refused when its file is read. */
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
    const name = rule.place === undefined ? "a rule" : `the rule at ${rule.place}`;
    if (verdict === "unclear") {
      return { effect: "ask", rule, reason: `whether ${name} is about these arguments cannot be decided` };
    }
    const why = rule.reason === undefined ? "" : `: ${rule.reason}`;
    return { effect: rule.effect, rule, reason: `${name} ${VERBS[rule.effect]}${why}` };
  }
  return undefined;
}

const VERBS: Readonly<Record<PolicyEffect, string>> = {
  allow: "allows it",
  ask: "wants it to be asked about",
  deny: "denies it",
};

function byDefault(question: PolicyQuestion): PolicyDecision {
  const { readOnly, openWorld } = hintsOf(question);
  // A fetched address can carry away what was read, so reading beyond this machine is asked about.
  if (question.origin === "builtin" && readOnly && !openWorld) {
    return { effect: "allow", reason: "it is a tool of Tenon's own that changes nothing" };
  }
  // A tool of Tenon's own that changes files and reaches nothing else.
  if (question.mode === "auto-edit" && question.origin === "builtin" && !readOnly && !openWorld) {
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

/** Whether a rule is about a call. Undecidable conditions are `unclear`, never guessed. */
export type Verdict = "yes" | "no" | "unclear";

export interface PolicySubject extends HintedTool {
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  /** As they would be sent, pinned values and values of results put in. */
  readonly arguments: JsonObject;
  /** From `resolvePaths`; `under` is unclear where it is not in here. */
  readonly paths: PathTable;
  /** Whose shell reads commands; POSIX unless given. */
  readonly platform?: NodeJS.Platform | undefined;
  /** A client runs it, under a name of the client's choice. */
  readonly isOfClient?: boolean | undefined;
}

class OutOfSteps extends Error {}

/**
 * What the rules may cost for one call, counted in steps and not in time: the same call is decided the same way on a
 * slow machine. Conditions that would cost more are unclear. Rules of projects that nobody approved are held against texts of any length.
 */
class MatchMeter {
  #left: number = TOOL_LIMITS.policyMatchSteps;
  /** Texts that were looked through for `..`: once for all rules. */
  #climbing: Map<string, boolean> | undefined;
  #commands: Map<string, CommandStarts> | undefined;

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfSteps();
  }

  /** A command is taken apart once for all rules. */
  commandStarts(text: string, platform: NodeJS.Platform | undefined): CommandStarts {
    const known = this.#commands?.get(text);
    if (!known) this.spend(STARTS_STEPS * text.length);
    const starts = known ?? commandStarts(text, platform);
    this.#commands ??= new Map();
    this.#commands.set(text, starts);
    this.spend(starts.sure.length + starts.maybe.length);
    return starts;
  }

  /** "/work/../etc" begins with "/work/" and does not lie there. */
  isClimbing(text: string): boolean {
    const known = this.#climbing?.get(text);
    if (known !== undefined) return known;
    this.spend(text.length);
    const isClimbing = text.includes("..") && /(?:^|[/\\])\.\.(?:$|[/\\])/u.test(text);
    this.#climbing ??= new Map();
    this.#climbing.set(text, isClimbing);
    return isClimbing;
  }
}

/** One meter for all rules of a call. */
function matchRule(rule: PolicyRule, subject: PolicySubject, meter: MatchMeter): Verdict {
  const { effect, origin } = rule;
  const isSelfNamed = subject.origin === "project" || subject.isOfClient === true;
  const isMeant = origin ? origin.includes(subject.origin) : effect !== "allow" || !isSelfNamed;
  if (!isMeant) return "no";
  const { annotations: wanted } = rule;
  const hints = wanted && hintsOf(subject);
  if (hints && HINTS.some((hint) => (wanted[hint] ?? hints[hint]) !== hints[hint])) return "no";
  try {
    if (!isNamed(rule.server, subject.server, meter) || !isNamed(rule.tool, subject.tool, meter)) return "no";
    return rule.arguments ? testConditions(rule.arguments, subject, effect, meter) : "yes";
  } catch (thrown) {
    if (thrown instanceof OutOfSteps) return "unclear";
    throw thrown;
  }
}

function isNamed(glob: string | undefined, name: string, meter: MatchMeter): boolean {
  return glob === undefined || globOf(glob)(name, (steps) => meter.spend(steps));
}

/** Globs of rules come again with every call. */
const compiled = new Map<string, GlobMatcher>();
const KEPT_GLOBS = 1_000;

function globOf(glob: string): GlobMatcher {
  const known = compiled.get(glob);
  if (known) return known;
  if (compiled.size >= KEPT_GLOBS) compiled.clear();
  const matcher = compileGlob(glob);
  compiled.set(glob, matcher);
  return matcher;
}

const HINTS = ["readOnly", "destructive", "idempotent", "openWorld"] as const;

function testConditions(
  conditions: readonly ArgumentCondition[],
  subject: PolicySubject,
  effect: PolicyEffect,
  meter: MatchMeter,
): Verdict {
  const verdicts = conditions.map((condition) => testCondition(condition, subject, effect, meter));
  return verdicts.includes("no") ? "no" : verdicts.includes("unclear") ? "unclear" : "yes";
}

function testCondition(
  condition: ArgumentCondition,
  subject: PolicySubject,
  effect: PolicyEffect,
  meter: MatchMeter,
): Verdict {
  if (pointerSteps(condition.pointer) === undefined) return "unclear";
  const value = valueAtPointer(subject.arguments, condition.pointer);
  if (value === undefined) return "no";
  const isSame = (wanted: JsonValue) => sameJson(value, wanted, () => meter.spend(1));
  if ("equals" in condition) return isSame(condition.equals) ? "yes" : "no";
  if ("oneOf" in condition) return condition.oneOf.some(isSame) ? "yes" : "no";
  const test = ownTest(condition, subject, effect, meter) ?? textTest(condition, subject.paths, meter);
  const verdicts = (Array.isArray(value) ? value : [value]).map((one): Verdict => {
    meter.spend(1);
    return typeof one === "string" ? test(one) : "unclear";
  });
  // For `allow` all texts must match, and an empty list is no consent; for the others one is enough.
  const decisive = effect === "allow" ? "no" : "yes";
  if (verdicts.includes(decisive)) return decisive;
  if (verdicts.includes("unclear")) return "unclear";
  return effect === "allow" && verdicts.length > 0 ? "yes" : "no";
}

type TextCondition = Exclude<ArgumentCondition, { readonly equals: JsonValue } | { readonly oneOf: unknown }>;

function textTest(condition: TextCondition, paths: PathTable, meter: MatchMeter): (text: string) => Verdict {
  if ("under" in condition) {
    const folder = paths.folders.get(condition.under);
    return (text) => {
      const path = paths.values.get(text);
      if (path === undefined || folder === undefined) return "unclear";
      return isUnder(path, folder) ? "yes" : "no";
    };
  }
  const glob = "glob" in condition ? globOf(condition.glob) : undefined;
  const prefix = "prefix" in condition ? condition.prefix : "";
  return (text) => {
    if (meter.isClimbing(text)) return "unclear";
    return (glob ? glob(text, (steps) => meter.spend(steps)) : text.startsWith(prefix)) ? "yes" : "no";
  };
}

/** Tests for the arguments of Tenon's own tools that are more than texts: a command for a shell, and an address. */
function ownTest(
  condition: TextCondition,
  { origin, tool, platform }: PolicySubject,
  effect: PolicyEffect,
  meter: MatchMeter,
): ((text: string) => Verdict) | undefined {
  if (origin !== "builtin") return undefined;
  const isMatch = (glob: string, text: string) => globOf(glob)(text, (steps) => meter.spend(steps));
  if (tool === RUN_COMMAND && condition.pointer === "/command") {
    return (text) => {
      if (effect !== "allow") {
        const starts = meter.commandStarts(text, platform);
        if ("prefix" in condition) return mayHavePrefix(condition.prefix, starts);
        return "glob" in condition ? mayRun((start) => isMatch(condition.glob, start.trimEnd()), starts) : "unclear";
      }
      // An allow is for one program with literal words: anything compound, substituted or redirected is more than its beginning.
      meter.spend(COMMAND_STEPS * text.length);
      const parsed = parseCommand(text, platform);
      if ("prefix" in condition) return hasCommandPrefix(condition.prefix, parsed, platform) ? "yes" : "no";
      return "glob" in condition && parsed.kind === "simple" && isMatch(condition.glob, text) ? "yes" : "no";
    };
  }
  if (tool !== FETCH_URL || condition.pointer !== "/url" || effect !== "allow") return undefined;
  return (text) => (allowsAddress(condition, text, isMatch) ? "yes" : "no");
}

/** How often a command is gone through to take it apart. */
const COMMAND_STEPS = 4;
/** The same for a rule that denies, which looks for all its programs. */
const STARTS_STEPS = 64;
type IsMatch = (glob: string, text: string) => boolean;

/** The host is compared as a whole: `https://example.org` begins `https://example.org.evil.net` too. */
function allowsAddress(condition: TextCondition, text: string, isMatch: IsMatch): boolean {
  if (!isUrl(text) || "under" in condition) return false;
  const { protocol, host, username, password, pathname, search } = new URL(text);
  if (username !== "" || password !== "") return false;
  const wanted = "prefix" in condition ? condition.prefix : condition.glob;
  const [, scheme, hosts = "", paths = ""] = /^([a-z]+:)\/\/([^/?#]+)(.*)$/iu.exec(wanted) ?? [];
  if (scheme === undefined) return "glob" in condition && isMatch(wanted, text);
  if (scheme.toLowerCase() !== protocol) return false;
  const rest = `${pathname}${search}`;
  if ("prefix" in condition) return hosts.toLowerCase() === host && rest.startsWith(paths);
  return isMatch(hosts.toLowerCase(), host) && isMatch(paths === "" ? "/" : paths, rest);
}

/** `ask` puts it to the person every time, whatever was answered before. */
export type PolicyEffect = "allow" | "ask" | "deny";

/** `ask`: as the rules say. `plan`: read-only tools only. `auto-edit`: Tenon's own edits are not asked about. `bypass`: nothing is asked. */
export type PermissionMode = "ask" | "plan" | "auto-edit" | "bypass";

/**
 * What an argument must be, by the JSON pointer of its place. An argument that is not there does not match. `glob`,
 * `prefix` and `under` are for texts; of a list of texts, all must match for `allow`, one is enough for `ask` and `deny`.
 */
export type ArgumentCondition = { readonly pointer: string } & (
  | { readonly equals: JsonValue }
  | { readonly glob: string }
  | { readonly prefix: string }
  /** A path in this directory, links followed; both are relative to the session's directory. */
  | { readonly under: string }
  | { readonly oneOf: readonly JsonValue[] }
);

/** Hints of the server, in the protocol's sense. Those of servers the user does not trust count as not given. */
export interface HintCondition {
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
}

/** All that is given must match; a rule with nothing but an effect is for every call. */
export interface PolicyRule {
  readonly effect: PolicyEffect;
  /** Globs (`*`, `?`) on the server's name, and on the server's own name of the tool. */
  readonly server?: string;
  readonly tool?: string;
  /**
   * Whose server it is. Unless given: any, except that `allow` is not for a project's servers and a client's own tools, which could otherwise
   * take the name of one the user meant.
   */
  readonly origin?: readonly ToolOrigin[];
  readonly annotations?: HintCondition;
  readonly arguments?: readonly ArgumentCondition[];
  /** For the person and the model. */
  readonly reason?: string;
  /** Where it was written. */
  readonly place?: string;
  /** It stands for one that could not be read and may have been a `deny`: where nobody is asked, it denies. */
  readonly isBroken?: boolean;
}

// What a tool's hints are worth: those of Tenon, the embedder and trusted servers count, all others are as if not given.
/** Tenon's own tools whose arguments the policy understands. */
export const RUN_COMMAND = "run_command";
export const FETCH_URL = "fetch_url";
export const EDIT_TOOLS: readonly string[] = ["write_file", "edit_file"];

interface HintedTool {
  readonly origin: ToolOrigin;
  readonly annotations?: ToolAnnotations | undefined;
  /** The user's word (`trustAnnotations`) that this server's hints are true. */
  readonly trustsAnnotations: boolean;
}

/** What is not said has the protocol's default, which is the worst. */
export function hintsOf({ origin, annotations, trustsAnnotations }: HintedTool): Required<HintCondition> {
  const isTrusted = trustsAnnotations || origin === "builtin" || origin === "extra";
  const given = isTrusted ? annotations : undefined;
  const readOnly = given?.readOnlyHint === true;
  return {
    readOnly,
    destructive: !readOnly && given?.destructiveHint !== false,
    idempotent: readOnly || given?.idempotentHint === true,
    openWorld: given?.openWorldHint !== false,
  };
}
