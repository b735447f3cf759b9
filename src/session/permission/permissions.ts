// Who may call what in this session: the policy decides, approvals remember, the person is asked about the rest.
import { abortListeners } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { FOREIGN_LIMITS } from "../../base/limits.js";
import type { Log } from "../../base/ports/world.js";
import {
  type Approval,
  type ApprovalStatus,
  type ApprovalSubject,
  type CatalogTool,
  forSession,
  grantLabel,
  type KeptDecision,
  neverLabel,
  type OfferedGrant,
  type SourcedTool,
  type ToolDefinition,
} from "../../tools/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { PermissionAnswer, PermissionChoice, PermissionQuestion, SessionPorts } from "../ports.js";
import { Clearance, type ClearanceOptions, type JudgedCall } from "./verdict.js";

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
    this.#last = ended.catch(() => undefined); // the caller gets the rejection
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
  standing(tool: SourcedTool): ApprovalStatus {
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
    else this.#clearance.approvals.forget(decision);
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
      if (approvals.status(subject).kind === "never") continue;
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

/** A call that waits for permission. */
export interface PermissionRequest {
  readonly toolCallId: string;
  readonly tool: CatalogTool;
  /** As they would be sent. */
  readonly arguments: JsonObject;
  /** The same for people, where they are longer than anybody reads. */
  readonly shown?: JsonObject;
  /** How the call looks, for people; called only when the person is asked. Never rejects. */
  look?(): Promise<PermissionQuestion["presentation"]>;
  /** Why it would fail even if allowed; checked before the person is asked. Never rejects. */
  impossible?(): Promise<string | undefined>;
  /** The tool as its source defines it, where the model is shown another form. */
  readonly raw?: ToolDefinition;
  /** What about the tool could mislead, a sentence each; called only when the person is asked. */
  warnings?(): readonly string[];
  /** Called when the person is being asked. */
  onAsking?(): void;
}

type AskedRequest = Pick<PermissionRequest, "toolCallId" | "tool" | "arguments" | "shown" | "warnings">;

function questionAbout(
  request: AskedRequest,
  judged: JudgedCall,
  clearance: Pick<Clearance, "standing" | "lockHold" | "whyAsked" | "approvals">,
): PermissionQuestion {
  const { toolCallId, tool, arguments: given, shown = given } = request;
  const warnings = request.warnings?.() ?? [];
  const { subject, decision } = judged;
  const why = clearance.whyAsked(judged);
  const isRuled = decision.effect === "ask" && decision.rule !== undefined;
  const reason = why ?? (isRuled ? decision.reason : undefined);
  return {
    toolCallId,
    tool,
    arguments: shown,
    choices: choicesFor(judged, { mayRemember: reason === undefined }),
    ...defined({
      reason,
      protects: decision.protects ? (decision.protects.isOwn ? ("own" as const) : ("obeyed" as const)) : undefined,
      isFormer: clearance.approvals.wasApprovedBefore(subject) ? true : undefined,
    }),
    ...changeOf(judged, clearance),
    ...defined({ warnings: warnings.length > 0 ? warnings : undefined }),
  };
}

/** About a changed definition, without a call: "once" is for the session then. */
function reviewOf(
  request: Omit<AskedRequest, "warnings">,
  judged: JudgedCall,
  clearance: Pick<Clearance, "standing" | "lockHold">,
): PermissionQuestion {
  const { offer } = judged.call;
  const once = offer?.kind === "tool" ? grantLabel(forSession(offer)) : "Allow it for the rest of this session";
  const choices = choicesFor(judged, { mayRemember: offer?.kind === "tool", once });
  return { ...request, choices, isReview: true, ...changeOf(judged, clearance) };
}

function changeOf(
  { subject }: JudgedCall,
  clearance: Pick<Clearance, "standing" | "lockHold">,
): Pick<PermissionQuestion, "change" | "lock"> {
  const standing = clearance.standing(subject);
  if (standing.kind === "changed") return { change: standing.difference };
  const hold = clearance.lockHold(subject);
  return hold ? { lock: hold.reason, change: hold.difference() } : {};
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

function approvalOf(answer: PermissionAnswer): Approval {
  switch (answer) {
    case "once":
    case "always":
      return { kind: "allowed" };
    case "no":
      return { kind: "refused", reason: "the person said no" };
    case "never":
      return { kind: "refused", reason: "the person said no, and never to ask again" };
    case "cancelled":
      return { kind: "cancelled" };
    default:
      return unreachable(answer);
  }
}
