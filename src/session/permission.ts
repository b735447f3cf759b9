// Who may call what in this session: the policy decides, approvals remember, the person is asked about the rest.
import { abortListeners } from "../base/async/scope.js";
import { messageOf } from "../base/errors.js";
import { FOREIGN_LIMITS } from "../base/limits.js";
import type { Log } from "../base/ports/log.js";
import type { Approval, ApprovalSubject, KeptDecision, OfferedGrant, SourcedTool, Standing } from "../tools/index.js";
import { forSession } from "../tools/index.js";
import { askUntilUnchanged } from "./permission/checked-question.js";
import { Clearance, type ClearanceOptions, type JudgedCall } from "./permission/clearance.js";
import { approvalOf, type PermissionRequest, questionAbout, reviewOf } from "./permission/question.js";
import type { PermissionAnswer, PermissionQuestion, SessionPorts } from "./ports.js";

export interface PermissionsOptions extends ClearanceOptions {
  /** A call was let through and is about to be made. */
  onAllowed?(request: PermissionRequest): void;
}

const CANCELLED: Approval = { kind: "cancelled" };
const NOBODY = "nobody is attached to this session who could approve it";
const FORMER = "it was approved before grants were for one project, and has to be confirmed once";

export class Permissions {
  readonly #log: Log;
  readonly #options: PermissionsOptions;
  readonly #clearance: Clearance;
  /** Held tools the person did not approve of: asked about again when they are called, not before. */
  readonly #reviewed = new Set<string>();
  /** Questions wait for each other: the answer to one may answer the next. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(log: Log, options: PermissionsOptions = {}) {
    this.#log = log;
    this.#options = options;
    this.#clearance = new Clearance(log, options);
  }

  /** Never rejects. */
  async approve(request: PermissionRequest, ports: SessionPorts | undefined, signal: AbortSignal): Promise<Approval> {
    const approval = await this.#approve(request, ports, signal);
    if (approval.kind === "allowed") this.#options.onAllowed?.(request);
    return approval;
  }

  async #approve(request: PermissionRequest, ports: SessionPorts | undefined, signal: AbortSignal): Promise<Approval> {
    const subject = subjectOf({ tool: request.tool, raw: request.raw ?? request.tool.definition });
    await this.#clearance.load([subject]);
    const judged = await this.#clearance.judge(request, subject);
    const early = this.#clearance.withoutAsking(judged);
    if (early) return early;
    const impossible = await request.impossible?.();
    if (impossible !== undefined) return { kind: "refused", reason: impossible };
    const answered = this.#last.then(async () => {
      if (signal.aborted) return CANCELLED;
      // While this question waited, another one's answer may have covered it.
      return (
        this.#clearance.withoutAsking(judged) ??
        (await askUntilUnchanged(request, (shown) => this.#ask(shown, judged, ports, signal)))
      );
    });
    const ended = orCancelled(answered, signal);
    this.#last = ended.catch(() => undefined); // whoever asked hears of it
    return await ended;
  }

  /** Reads what was decided; until then `isHeld` knows only what happened in this session. */
  async prepare(tools: readonly SourcedTool[]): Promise<void> {
    await this.#clearance.load(tools.map(subjectOf));
  }

  /** Why a tool should not be offered until the person approves of it; undefined when it may be. */
  whyHeld(tool: SourcedTool): string | undefined {
    if (this.isHeld(tool)) return "its definition changed since it was approved";
    const hold = this.#clearance.lockHold(subjectOf(tool));
    return hold && `it ${hold.reason}`;
  }

  /** Whether the lock of definitions is what holds it. */
  isHeldByLock(tool: SourcedTool): boolean {
    return this.#clearance.lockHold(subjectOf(tool)) !== undefined;
  }

  isHeld(tool: SourcedTool): boolean {
    return this.#clearance.approvals.isHeld(subjectOf(tool));
  }

  /** Where a tool stands with the person, for `why`. */
  standing(tool: SourcedTool): Standing {
    return this.#clearance.standing(subjectOf(tool));
  }

  /** Grants in force in this session, and every decision that is kept for this project. Never rejects. */
  async decisions(): Promise<{ readonly session: readonly OfferedGrant[]; readonly kept: readonly KeptDecision[] }> {
    const { approvals } = this.#clearance;
    await approvals.load();
    return { session: approvals.grants.filter((grant) => !("project" in grant)), kept: await approvals.kept() };
  }

  /** Rejects when the store cannot remove it. */
  async revoke(decision: KeptDecision | OfferedGrant): Promise<void> {
    if ("decision" in decision) await this.#clearance.approvals.revoke(decision);
    else this.#clearance.approvals.forgetSessionGrant(decision);
  }

  /** Grants exactly these definitions in this project; returns those that were granted: a `never` stays one. */
  async grantAll(tools: readonly SourcedTool[]): Promise<readonly SourcedTool[]> {
    const { approvals } = this.#clearance;
    await this.prepare(tools);
    const granted: SourcedTool[] = [];
    for (const sourced of tools) {
      const subject = subjectOf(sourced);
      const { offer } = await this.#clearance.grantedCall(subject, {});
      if (!offer || (offer.kind !== "tool" && offer.kind !== "session_tool")) continue;
      if (approvals.standing(subject).kind === "never") continue;
      await this.#clearance.record({ subject, call: { offer } }, "always");
      granted.push(sourced);
    }
    return granted;
  }

  /**
   * Puts changed definitions of tools in use to the person, each once, so that they need not wait for a call that cannot
   * come. Without somebody to ask they stay held; of those that are not as locked, only a few are asked about at a time.
   * Returns whether any was approved.
   */
  async review(tools: readonly SourcedTool[], ports: SessionPorts | undefined, signal: AbortSignal): Promise<boolean> {
    let isAnyApproved = false;
    let lockReviews = 0;
    for (const { tool, raw } of tools) {
      const subject = subjectOf({ tool, raw });
      const key = `${tool.origin} ${tool.id} ${tool.definitionHash}`;
      const isChanged = this.#clearance.approvals.isHeld(subject);
      const isLocked =
        this.#clearance.lockHold(subject)?.isReviewable === true && lockReviews < FOREIGN_LIMITS.lockMaxReviews;
      if (!ports || signal.aborted || this.#reviewed.has(key) || !(isChanged || isLocked)) continue;
      if (!isChanged) lockReviews += 1;
      this.#reviewed.add(key);
      const toolCallId = `definition-${tool.definitionHash.slice(0, 12)}`;
      const request = { toolCallId, tool, arguments: {} };
      await this.prepare([{ tool, raw }]);
      const judged = await this.#clearance.judge({ ...request, raw }, subject);
      const question = reviewOf(request, judged, this.#clearance);
      const answer = await ports.ask(question, signal).catch((): PermissionAnswer => "cancelled");
      await this.#answerReview(judged, offered(question, answer));
      isAnyApproved ||= this.whyHeld({ tool, raw }) === undefined;
    }
    return isAnyApproved;
  }

  /** There is no call that it could be for: "once" means this definition, as long as the session lasts. */
  async #answerReview({ subject, call }: JudgedCall, answer: PermissionAnswer): Promise<void> {
    if (answer === "cancelled") return;
    if (answer !== "once") return await this.#clearance.record({ subject, call }, answer);
    const { offer } = call;
    if (offer?.kind === "tool") await this.#clearance.approvals.grant(forSession(offer), subject);
    else if (offer?.kind === "session_tool") await this.#clearance.approvals.grant(offer, subject);
    else this.#clearance.approvals.accept(subject);
  }

  async #ask(
    request: PermissionRequest,
    judged: JudgedCall,
    ports: SessionPorts | undefined,
    signal: AbortSignal,
  ): Promise<Approval> {
    const bare = questionAbout(request, judged, this.#clearance);
    if (!ports) return { kind: "refused", reason: [NOBODY, ...lacking(bare)].join(", and ") };
    try {
      const presentation = await request.look?.();
      if (signal.aborted) return CANCELLED;
      const question = presentation ? { ...bare, presentation } : bare;
      request.onAsking?.();
      const answer = offered(question, await ports.ask(question, signal));
      if (answer === "cancelled") return CANCELLED;
      await this.#clearance.record(judged, answer);
      return approvalOf(answer);
    } catch (error) {
      if (signal.aborted) return CANCELLED;
      this.#log.warn("permission.failed", { tool: request.tool.id, error: messageOf(error) });
      return { kind: "refused", reason: `the question could not be asked: ${messageOf(error)}` };
    }
  }
}

/** An answer that was not offered is no consent. */
function offered({ choices }: PermissionQuestion, answer: PermissionAnswer): PermissionAnswer {
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

/** A tool of the catalog as what is approved: the form its source gave it. */
function subjectOf({ tool, raw }: SourcedTool): ApprovalSubject {
  return {
    origin: tool.origin,
    source: tool.source,
    definition: raw,
    get definitionHash() {
      return tool.definitionHash;
    },
  };
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
