// Who may call what in this session: the policy decides, approvals remember, the person is asked about the rest.
import { Bag } from "../../base/async/bag.js";
import type { Eventual } from "../../base/async/eventual.js";
import { abortListeners } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { FOREIGN_LIMITS } from "../../base/limits.js";
import type { Log } from "../../base/ports/world.js";
import { markForeign } from "../../base/text/marking.js";
import {
  type Approval,
  type ApprovalRequest,
  type ApprovalSubject,
  Approvals,
  type CatalogTool,
  type DecisionStore,
  forSession,
  type GrantFacts,
  grantedCall,
  grantLabel,
  type KeptDecision,
  type LockHold,
  type MigrationReport,
  neverLabel,
  type OfferedGrant,
  resourcesOf,
  type SourcedTool,
  type ToolOrigin,
} from "../../tools/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { PermissionAnswer, PermissionChoice, PermissionQuestion, Refusal, SessionPorts } from "../ports.js";
import { ByServer } from "../servers/by-server.js";
import { PendingApproval, REPLACED } from "./guards.js";
import { CallJudge, type JudgedCall, type JudgeOptions, type ServerOf, subjectOf } from "./judged-call.js";

export interface PermissionsOptions extends JudgeOptions {
  /** What the lock of definitions has against a tool. */
  lock?(tool: ApprovalSubject): LockHold | undefined;
  /** Whether there is one now; unless given, `lock` is asked about every tool. */
  hasLock?(): boolean;
  /** Where grants and refusals outlive the session. */
  readonly store?: DecisionStore;
  /** Which program or service a server is, see `ToolGrant.program`: without it grants last for the session. Never rejects. */
  program?(tool: ServerOf): Eventual<string | undefined>;
  /** What content from outside the session has read, for people; undefined when none. */
  outside?(): string | undefined;
  onMigrated?(report: MigrationReport): void;
  /** What about a tool could mislead, a sentence each; called only when the person is asked. */
  warnings?(tool: CatalogTool): readonly string[];
  /** A call was let through and is about to be made. */
  onAllowed?(request: PermissionRequest): void;
}

/** A call that waits for permission. */
export interface PermissionRequest
  extends Pick<ApprovalRequest, "toolCallId" | "tool" | "arguments">,
    Partial<Pick<ApprovalRequest, "shown" | "raw" | "onAsking">> {
  /** Made by whoever answers another question of the session: it cannot wait for that answer. */
  readonly isNested?: boolean;
  /** How the call looks, for people; called only when the person is asked. Never rejects. */
  look?(): Promise<PermissionQuestion["presentation"]>;
  /** Why it would fail even if allowed; checked before the person is asked. Never rejects. */
  impossible?(): Promise<string | undefined>;
}

type PendingCall = Pick<PermissionRequest, "tool" | "arguments">;

const ALLOWED: Approval = { kind: "allowed" };
const CANCELLED: Approval = { kind: "cancelled" };
const APPROVALS: Readonly<Record<Extract<PermissionAnswer, string>, Approval>> = {
  once: ALLOWED,
  always: ALLOWED,
  no: { kind: "refused", reason: "the person said no" },
  never: { kind: "refused", reason: "the person said no, and never to ask again" },
  cancelled: CANCELLED,
};
const NOBODY = "nobody is attached to this session who could approve it";
const FORMER = "it was approved before grants were for one project, and has to be confirmed once";

export class Permissions {
  readonly #log: Log;
  readonly #options: PermissionsOptions;
  readonly #approvals: Approvals;
  readonly #judge: CallJudge;
  /** Which program a server is. */
  readonly #programs = new ByServer<string | undefined>();
  /** Held tools the person did not approve of: asked about again when they are called, not before. */
  readonly #reviewed = new Set<string>();
  /** Calls that are judged or asked about, and what ends that. */
  readonly #pending = new Bag<PendingApproval<PendingCall>>();
  /** How often a source went, or became another's. */
  #replacements = 0;
  /** Questions wait for each other: the answer to one may answer the next. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(log: Log, options: PermissionsOptions) {
    this.#log = log;
    this.#options = options;
    this.#approvals = new Approvals({
      log,
      ...defined({ store: options.store }),
      project: async () => (await options.folder?.(".")) ?? "",
      program: ({ origin, source }) => this.#programs.get(origin, source),
      onMigrated: (report) => options.onMigrated?.(report),
    });
    this.#judge = new CallJudge(options, (subject) => this.#grantFacts(subject));
  }

  /** At once where nothing has to be read and nobody asked. Never rejects. */
  approve(request: PermissionRequest, ports: SessionPorts | undefined, signal: AbortSignal): Eventual<Approval> {
    const judging = this.#judged(request);
    const early = judging instanceof Promise ? undefined : this.#withoutAsking(judging);
    return early ? this.#noted(request, early) : this.#approveLater(request, judging, ports, signal);
  }

  async #approveLater(
    request: PermissionRequest,
    judging: Eventual<JudgedCall>,
    ports: SessionPorts | undefined,
    signal: AbortSignal,
  ): Promise<Approval> {
    const approval = await this.#unlessReplaced(request, signal, async (pending) =>
      this.#approve(request, await judging, { ports, pending }),
    );
    return this.#noted(request, approval);
  }

  #noted(request: PermissionRequest, approval: Approval): Approval {
    if (approval.kind === "allowed") this.#options.onAllowed?.(request);
    return approval;
  }

  /** `run` hears of it when the source the call is about is taken out or becomes another's. */
  async #unlessReplaced(
    call: PendingCall,
    signal: AbortSignal,
    run: (pending: PendingApproval<PendingCall>) => Promise<Approval>,
  ): Promise<Approval> {
    const pending = new PendingApproval(call, signal);
    this.#pending.add(pending);
    try {
      const approval = await run(pending);
      return pending.isReplaced ? { kind: "refused", reason: REPLACED.message } : approval;
    } finally {
      this.#pending.delete(pending);
      pending.end();
    }
  }

  async #approve(
    request: PermissionRequest,
    judged: JudgedCall,
    {
      ports,
      pending,
    }: {
      readonly ports: SessionPorts | undefined;
      readonly pending: Pick<PendingApproval<PendingCall>, "signal">;
    },
  ): Promise<Approval> {
    const early = this.#withoutAsking(judged);
    if (early) return early;
    const { signal } = pending;
    const impossible = await request.impossible?.();
    if (impossible !== undefined) return { kind: "refused", reason: impossible };
    const before = request.isNested ? Promise.resolve() : this.#last;
    const answered = before.then(async () => {
      if (signal.aborted) return CANCELLED;
      // While this question waited, another one's answer may have covered it.
      return (
        this.#withoutAsking(judged) ??
        (await askUntilUnchanged(request, (shown) => this.#ask(shown, judged, ports, signal)))
      );
    });
    const ended = orCancelled(answered, signal);
    if (!request.isNested) this.#last = ended.catch(() => undefined); // the caller gets the rejection
    return await ended;
  }

  /** Reads what was decided, and finds the programs of these tools' servers; until then `whyHeld` knows only this session. */
  async prepare(tools: readonly SourcedTool[]): Promise<void> {
    for (const { tool } of tools.length > 1 ? onePerServer(tools) : tools) await this.prepareFor(tool);
  }

  /** The same for a call of one tool, at once where nothing has to be read. */
  prepareFor(tool: CatalogTool): Eventual<unknown> {
    const loading = this.#approvals.load();
    return loading instanceof Promise ? this.#findProgramOnce(loading, tool) : this.#findProgram(tool);
  }

  async #findProgramOnce(loaded: Promise<undefined>, tool: CatalogTool): Promise<void> {
    await loaded;
    await this.#findProgram(tool);
  }

  #findProgram(tool: CatalogTool): Eventual<undefined> {
    const { origin, source } = tool;
    if (origin === "builtin" || origin === "extra") return undefined;
    const finding = this.#options.program?.(tool);
    if (finding instanceof Promise) return this.#keepFound(origin, source, finding);
    this.#programs.set(origin, source, finding);
    return undefined;
  }

  async #keepFound(origin: ToolOrigin, source: string, finding: Promise<string | undefined>): Promise<undefined> {
    this.#programs.set(origin, source, await finding);
  }

  /** Why a tool should not be offered until the person approves of it; undefined when it may be. */
  whyHeld(tool: SourcedTool): string | undefined {
    const hasLock = this.#options.hasLock?.() ?? this.#options.lock !== undefined;
    if (this.#approvals.isEmpty && !hasLock) return undefined; // before something is made of each of ten thousand
    const subject = subjectOf(tool);
    if (this.#approvals.isHeld(subject)) return "its definition changed since it was approved";
    const hold = this.#lockHold(subject);
    return hold && `it ${hold.reason}`;
  }

  /** Whether the lock of definitions is what holds it. */
  isHeldByLock(tool: SourcedTool): boolean {
    return this.#lockHold(subjectOf(tool)) !== undefined;
  }

  /** Grants in force in this session, and every decision that is kept for this project. Never rejects. */
  async decisions(): Promise<{ readonly session: readonly OfferedGrant[]; readonly kept: readonly KeptDecision[] }> {
    const approvals = this.#approvals;
    await approvals.load();
    return { session: approvals.grants.filter((grant) => !("project" in grant)), kept: await approvals.kept() };
  }

  /** Rejects when the store cannot remove it. */
  async revoke(decision: KeptDecision | OfferedGrant): Promise<void> {
    if ("decision" in decision) await this.#approvals.revoke(decision);
    else this.#approvals.forget(decision);
  }

  /** Grants exactly these definitions in this project; returns those that were granted: a `never` stays one. */
  async grantAll(tools: readonly SourcedTool[]): Promise<readonly SourcedTool[]> {
    const before = this.#replacements;
    await this.prepare(tools);
    const granted: SourcedTool[] = [];
    for (const sourced of tools) {
      const subject = subjectOf(sourced);
      const { offer } = grantedCall(subject, {}, this.#grantFacts(subject));
      if (!offer || (offer.kind !== "tool" && offer.kind !== "session_tool")) continue;
      if (this.#approvals.status(subject).kind === "never") continue;
      if (this.#replacements !== before) break; // it may be another's by now
      await this.#approvals.record(subject, "always", { offer });
      granted.push(sourced);
    }
    return granted;
  }

  /**
   * Puts changed definitions of tools in use to the person, each once, so that they need not wait for a call that cannot
   * come. Without somebody to ask they stay held; of those that are not as locked, only a few are asked about at a time.
   */
  async review(tools: readonly SourcedTool[], ports: SessionPorts | undefined, signal: AbortSignal): Promise<void> {
    let lockReviews = 0;
    for (const { tool, raw } of tools) {
      const subject = subjectOf({ tool, raw });
      const key = `${tool.origin} ${tool.id} ${tool.definitionHash}`;
      const isChanged = this.#approvals.isHeld(subject);
      const isLocked = this.#lockHold(subject)?.isReviewable === true && lockReviews < FOREIGN_LIMITS.lockMaxReviews;
      if (!ports || signal.aborted || this.#reviewed.has(key) || !(isChanged || isLocked)) continue;
      if (!isChanged) lockReviews += 1;
      this.#reviewed.add(key);
      const toolCallId = `definition-${tool.definitionHash.slice(0, 12)}`;
      const request = { toolCallId, tool, arguments: {} };
      await this.#unlessReplaced(request, signal, async (pending) => {
        const judged = await this.#judged({ ...request, raw });
        const question = this.#reviewQuestion(request, judged);
        const answer = await ports.ask(question, pending.signal).catch((): PermissionAnswer => "cancelled");
        if (!pending.isReplaced) await this.#answerReview(judged, plainAnswer(offered(question, answer)));
        return CANCELLED;
      });
    }
  }

  /** Another source has this name from now on: neither what was allowed nor what is being asked is about it. */
  forgetSource(origin: ToolOrigin, server: string): void {
    this.#approvals.forgetSource({ origin, server });
    this.withdraw(origin, server);
  }

  /** The source is gone: the calls of its tools that somebody is asked about are refused. */
  withdraw(origin: ToolOrigin, server: string): void {
    this.#replacements += 1;
    for (const pending of this.#pending) {
      const { tool, arguments: given } = pending.call;
      const isOfSource = tool.origin === origin && tool.source === server;
      const isOfResources = tool.origin === "builtin" && resourcesOf(tool.definition.name, given) === server;
      if (isOfSource || isOfResources) pending.replace();
    }
  }

  /** There is no call that it could be for: "once" means this definition, as long as the session lasts. */
  async #answerReview({ subject, call }: JudgedCall, answer: Extract<PermissionAnswer, string>): Promise<void> {
    if (answer === "cancelled") return;
    if (answer !== "once") return await this.#approvals.record(subject, answer, call);
    const { offer } = call;
    if (offer?.kind === "tool") await this.#approvals.grant(forSession(offer), subject);
    else if (offer?.kind === "session_tool") await this.#approvals.grant(offer, subject);
    else this.#approvals.accept(subject);
  }

  async #ask(
    request: PermissionRequest,
    judged: JudgedCall,
    ports: SessionPorts | undefined,
    signal: AbortSignal,
  ): Promise<Approval> {
    const bare = this.#question(request, judged);
    if (!ports) return { kind: "refused", reason: [NOBODY, ...lacking(bare)].join(", and ") };
    try {
      const presentation = await request.look?.();
      if (signal.aborted) return CANCELLED;
      const question = { ...bare, ...defined({ presentation }) };
      request.onAsking?.();
      const given = offered(question, await ports.ask(question, signal));
      const answer = plainAnswer(given);
      if (answer !== "cancelled" && !isReplaced(signal))
        await this.#approvals.record(judged.subject, answer, judged.call);
      return typeof given === "string" ? APPROVALS[given] : refusalOf(given);
    } catch (error) {
      if (signal.aborted) return CANCELLED;
      this.#log.warn("permission.failed", { tool: request.tool.id, error: messageOf(error) });
      return { kind: "refused", reason: `the question could not be asked: ${messageOf(error)}` };
    }
  }

  /** Every call comes through here: what is there at once is not waited for, and written out instead of copied. */
  #judged(request: PermissionRequest): Eventual<JudgedCall> {
    const preparing = this.prepareFor(request.tool);
    return preparing instanceof Promise ? this.#judgedOnce(preparing, request) : this.#judge.judge(request);
  }

  async #judgedOnce(preparing: Promise<unknown>, request: PermissionRequest): Promise<JudgedCall> {
    await preparing;
    return await this.#judge.judge(request);
  }

  #grantFacts({ origin, source }: ApprovalSubject): GrantFacts {
    const { platform } = this.#options;
    return { project: this.#approvals.project, program: this.#programs.get(origin, source), platform };
  }

  /** Undefined when the person has to be asked. */
  #withoutAsking(judged: JudgedCall): Approval | undefined {
    const { subject, decision } = judged;
    const { effect, rule, reason } = decision;
    if (effect === "deny") return { kind: "refused", reason };
    const status = this.#approvals.status(subject);
    if (status.kind === "never") return { kind: "refused", reason: "the person said never to this tool" };
    const hold = this.#lockHold(subject);
    if (hold && !hold.isReviewable) return { kind: "refused", reason: `it ${hold.reason}` };
    if (this.#whyAsked(judged) !== undefined) return undefined;
    if (effect === "allow") {
      const isHeld = (status.kind === "changed" && status.isHeld) || hold !== undefined;
      if (isHeld && !this.#isBypassed()) return undefined;
      this.#approvals.pin(subject);
      return ALLOWED;
    }
    // A rule that says ask is about these arguments, whatever was granted.
    if (rule !== undefined || hold !== undefined || status.kind === "changed") return undefined;
    return this.#approvals.covers(judged.call) ? ALLOWED : undefined;
  }

  /** Why a call is asked about that a grant, a rule or the mode would let through; undefined when none of that is so. */
  #whyAsked({ subject, mayAct }: JudgedCall): string | undefined {
    const unreadable = this.#approvals.unreadable(subject);
    if (unreadable !== undefined) return unreadable;
    if (this.#options.policy().afterUntrusted !== "ask" || !mayAct || this.#isBypassed()) return undefined;
    const outside = this.#options.outside?.();
    return outside && `this session has read ${outside}, and permissions.afterUntrusted is "ask"`;
  }

  /** Why the lock of definitions holds a tool back; undefined when exactly this definition was approved. */
  #lockHold(subject: ApprovalSubject): LockHold | undefined {
    const hold = this.#options.lock?.(subject);
    return hold?.isReviewable && this.#approvals.status(subject).kind === "approved" ? undefined : hold;
  }

  #isBypassed(): boolean {
    const { mode, mayBypass } = this.#options.policy();
    return mode === "bypass" && mayBypass;
  }

  #question(request: PermissionRequest, judged: JudgedCall): PermissionQuestion {
    const { toolCallId, tool, arguments: given, shown = given } = request;
    const warnings = this.#options.warnings?.(tool) ?? [];
    const { subject, decision } = judged;
    const isRuled = decision.effect === "ask" && decision.rule !== undefined;
    const reason = this.#whyAsked(judged) ?? (isRuled ? decision.reason : undefined);
    return {
      toolCallId,
      tool,
      arguments: shown,
      choices: choicesFor(judged, { mayRemember: reason === undefined }),
      ...defined({
        trustsHints: this.#trustsHints(tool),
        reason,
        protects: decision.protects ? (decision.protects.isOwn ? ("own" as const) : ("obeyed" as const)) : undefined,
        isFormer: this.#approvals.wasApprovedBefore(subject) ? true : undefined,
        warnings: warnings.length > 0 ? warnings : undefined,
      }),
      ...this.#changeOf(subject),
    };
  }

  /** About a changed definition, without a call: "once" is for the session then. */
  #reviewQuestion(
    request: Pick<PermissionQuestion, "toolCallId" | "tool" | "arguments">,
    judged: JudgedCall,
  ): PermissionQuestion {
    const { offer } = judged.call;
    const once = offer?.kind === "tool" ? grantLabel(forSession(offer)) : "Allow it for the rest of this session";
    const choices = choicesFor(judged, { mayRemember: offer?.kind === "tool", once });
    const trustsHints = this.#trustsHints(request.tool);
    return { ...request, choices, isReview: true, ...defined({ trustsHints }), ...this.#changeOf(judged.subject) };
  }

  #trustsHints({ origin, source }: ServerOf): true | undefined {
    return this.#options.server?.({ origin, source }).trustsAnnotations ? true : undefined;
  }

  #changeOf(subject: ApprovalSubject): Pick<PermissionQuestion, "change" | "lock"> {
    const status = this.#approvals.status(subject);
    if (status.kind === "changed") return { change: status.difference };
    const hold = this.#lockHold(subject);
    return hold ? { lock: hold.reason, change: hold.difference() } : {};
  }
}

function isReplaced(signal: AbortSignal): boolean {
  return signal.aborted && signal.reason === REPLACED;
}

function plainAnswer(answer: PermissionAnswer): Extract<PermissionAnswer, string> {
  return typeof answer === "string" ? answer : answer.answer;
}

/** The words are the person's: the model may act on them. */
function refusalOf({ words }: Refusal): Approval {
  const said = words === undefined ? "" : markForeign(words.slice(0, SESSION_LIMITS.refusalChars));
  return { kind: "refused", reason: said === "" ? "nobody could be asked" : `the person said no, and: ${said}` };
}

function onePerServer(tools: readonly SourcedTool[]): Iterable<SourcedTool> {
  return new Map(tools.map((one) => [`${one.tool.origin} ${one.tool.source}`, one])).values();
}

/** An answer that was not offered is no consent. */
function offered({ choices }: PermissionQuestion, answer: PermissionAnswer): PermissionAnswer {
  if (typeof answer !== "string") return answer;
  return answer === "cancelled" || choices.some((choice) => choice.answer === answer) ? answer : "no";
}

/** What a refusal says beside that nobody could be asked. */
function lacking({ change, lock, reason, isFormer }: PermissionQuestion): readonly string[] {
  return [
    ...(change ? [lock === undefined ? "its definition changed" : `it ${lock}`] : []),
    ...(reason === undefined ? [] : [reason]),
    ...(isFormer ? [FORMER] : []),
  ];
}

/** A client that never answers must not hold up the questions after a turn that was cancelled. */
async function orCancelled(answered: Promise<Approval>, signal: AbortSignal): Promise<Approval> {
  if (signal.aborted) return CANCELLED;
  const listeners = abortListeners(signal);
  let stop: () => void = () => undefined;
  const aborted = new Promise<Approval>((resolve) => {
    stop = () => resolve(CANCELLED);
    listeners.add(stop);
  });
  try {
    return await Promise.race([answered, aborted]);
  } finally {
    listeners.delete(stop);
  }
}

/** `ask` puts one question, and shows what `look` of its request gives. Never asks again about what did not change. */
async function askUntilUnchanged(
  request: PermissionRequest,
  ask: (request: PermissionRequest) => Promise<Approval>,
): Promise<Approval> {
  if (!request.look) return await ask(request);
  for (let round = 0; round < SESSION_LIMITS.changedFileMaxQuestions; round += 1) {
    let shown: string | undefined;
    const look = async () => {
      const presentation = await request.look?.();
      shown = presentation?.basis;
      return presentation && round > 0 ? { ...presentation, isRenewed: true } : presentation;
    };
    const approval = await ask({ ...request, look });
    if (approval.kind !== "allowed" || shown === undefined) return approval;
    const now = (await request.look())?.basis;
    // A change that cannot be made any more fails by itself, with its own reason.
    if (now === undefined || now === shown) return { ...approval, expected: shown };
  }
  const reason = `the file changed each of the ${SESSION_LIMITS.changedFileMaxQuestions} times it was asked about; nothing was written`;
  return { kind: "refused", reason };
}

/** At most one of each kind. */
function choicesFor(
  { subject, call: { offer } }: JudgedCall,
  { mayRemember, once = "Allow once" }: { readonly mayRemember: boolean; readonly once?: string },
): readonly PermissionChoice[] {
  return [
    { answer: "once", label: once },
    ...(offer && mayRemember ? [{ answer: "always", label: grantLabel(offer) } as const] : []),
    { answer: "no", label: "No" },
    { answer: "never", label: neverLabel(subject) },
  ];
}
