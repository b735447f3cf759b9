// Who may call what in this session: the policy decides, approvals remember, the person is asked about the rest.
import { abortListeners } from "../base/abort-listeners.js";
import { messageOf } from "../base/errors.js";
import { FOREIGN_LIMITS } from "../base/limits-foreign.js";
import type { Log } from "../base/log.js";
import type { Approval, ApprovalSubject, CatalogTool, PolicyDecision, SourcedTool, Standing } from "../tools/index.js";
import { askUntilUnchanged } from "./permission/checked-question.js";
import { Clearance, type ClearanceOptions } from "./permission/clearance.js";
import { approvalOf, type PermissionRequest, questionAbout } from "./permission/question.js";
import type { PermissionAnswer, SessionPorts } from "./ports.js";

export interface PermissionsOptions extends ClearanceOptions {
  /** Every tool the same source has now, as it defines them: what `always_server` covers. */
  siblings?(tool: CatalogTool): readonly ApprovalSubject[];
}

const CANCELLED: Approval = { kind: "cancelled" };
const NOBODY = "nobody is attached to this session who could approve it";

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
    const subject = subjectOf({ tool: request.tool, raw: request.raw ?? request.tool.definition });
    await this.#clearance.load([subject]);
    const decision = await this.#clearance.decide(request);
    const early = this.#clearance.withoutAsking(subject, decision);
    if (early) return early;
    const impossible = await request.impossible?.();
    if (impossible !== undefined) return { kind: "refused", reason: impossible };
    const answered = this.#last.then(async () => {
      if (signal.aborted) return CANCELLED;
      // While this question waited, another one's answer may have covered it.
      return (
        this.#clearance.withoutAsking(subject, decision) ??
        (await askUntilUnchanged(request, (shown) => this.#ask(shown, { subject, decision }, ports, signal)))
      );
    });
    const ended = orCancelled(answered, signal);
    this.#last = ended.catch(() => undefined); // whoever asked hears of it
    return await ended;
  }

  /** Reads what is remembered of these tools' servers; until then `isHeld` knows only what happened in this session. */
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
    return this.#clearance.isHeld(subjectOf(tool));
  }

  /** Where a tool stands with the person, for `why`. */
  standing(tool: SourcedTool): Standing {
    return this.#clearance.standing(subjectOf(tool));
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
      const isChanged = this.#clearance.isHeld(subject);
      const isLocked =
        this.#clearance.lockHold(subject)?.isReviewable === true && lockReviews < FOREIGN_LIMITS.lockMaxReviews;
      if (!ports || signal.aborted || this.#reviewed.has(key) || !(isChanged || isLocked)) continue;
      if (!isChanged) lockReviews += 1;
      this.#reviewed.add(key);
      const toolCallId = `definition-${tool.definitionHash.slice(0, 12)}`;
      const question = questionAbout({ toolCallId, tool, arguments: {} }, { subject, isReview: true }, this.#clearance);
      const answer = await ports.ask(question, signal).catch((): PermissionAnswer => "cancelled");
      // There is no call that it could be for: "once" means this definition, as long as the session lasts.
      await this.#remember(subject, tool, answer === "once" ? "session" : answer);
      isAnyApproved ||= this.whyHeld({ tool, raw }) === undefined;
    }
    return isAnyApproved;
  }

  async #ask(
    request: PermissionRequest,
    { subject, decision }: { readonly subject: ApprovalSubject; readonly decision: PolicyDecision },
    ports: SessionPorts | undefined,
    signal: AbortSignal,
  ): Promise<Approval> {
    const bare = questionAbout(request, { subject, decision }, this.#clearance);
    const lacking = bare.lock === undefined ? "its definition changed" : `it ${bare.lock}`;
    if (!ports) return { kind: "refused", reason: bare.change ? `${NOBODY}, and ${lacking}` : NOBODY };
    try {
      const presentation = await request.look?.();
      if (signal.aborted) return CANCELLED;
      const question = presentation ? { ...bare, presentation } : bare;
      request.onAsking?.();
      const answer = await ports.ask(question, signal);
      if (answer === "cancelled") return CANCELLED;
      const isRemembered = question.mayRemember || answer === "no" || answer === "never";
      await this.#remember(subject, request.tool, isRemembered ? answer : "once");
      return approvalOf(answer);
    } catch (error) {
      if (signal.aborted) return CANCELLED;
      this.#log.warn("permission.failed", { tool: request.tool.id, error: messageOf(error) });
      return { kind: "refused", reason: `the question could not be asked: ${messageOf(error)}` };
    }
  }

  async #remember(subject: ApprovalSubject, tool: CatalogTool, answer: PermissionAnswer): Promise<void> {
    if (answer === "cancelled") return;
    const siblings = answer === "always_server" ? (this.#options.siblings?.(tool) ?? []) : [];
    await this.#clearance.record(subject, answer, siblings);
  }
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
