// Who may call what in this session: the policy decides, approvals remember, the person is asked about the rest.
import { abortListeners } from "../base/abort-listeners.js";
import { unreachable } from "../base/brand.js";
import { messageOf } from "../base/errors.js";
import type { JsonObject } from "../base/json.js";
import { FOREIGN_LIMITS } from "../base/limits-foreign.js";
import type { Log } from "../base/log.js";
import type { Files } from "../base/world.js";
import {
  type Approval,
  type ApprovalStore,
  type ApprovalSubject,
  Approvals,
  type CatalogTool,
  decide,
  type LockHold,
  NO_PATHS,
  type PathTable,
  type PermissionMode,
  type PolicyDecision,
  type PolicyRule,
  resolvePaths,
  type SourcedTool,
  type Standing,
  type ToolDefinition,
} from "../tools/index.js";
import type { PermissionAnswer, PermissionQuestion, SessionPorts } from "./ports.js";

/** What the configuration says now; it may change between two calls. */
export interface SessionPolicy {
  readonly mode: PermissionMode;
  readonly mayBypass: boolean;
  /** In their order: command line, user, project. */
  readonly rules: readonly PolicyRule[];
}

/** What the session knows of a tool's server. */
export interface ServerFacts {
  /** `launchFingerprint` of its spec: without it approvals last for the session. */
  readonly fingerprint?: string;
  /** The project's real path, for a project's server. */
  readonly project?: string;
  /** The user's word that the server's hints are true. */
  readonly trustsAnnotations?: boolean;
  /** Where it runs, if not in the session's directory: its relative paths begin there. */
  readonly cwd?: string;
}

export interface PermissionsOptions {
  /** The mode `ask` without rules unless given. */
  policy?(): SessionPolicy;
  server?(tool: Pick<CatalogTool, "origin" | "source">): ServerFacts;
  /** Every tool the same source has now, as it defines them: what `always_server` covers. */
  siblings?(tool: CatalogTool): readonly ApprovalSubject[];
  /** What the lock of definitions has against a tool. */
  lock?(tool: ApprovalSubject): LockHold | undefined;
  /** Where `always` and `never` outlive the session. */
  readonly store?: ApprovalStore;
  /** For rules about directories; without it they are unclear, and so never allow. */
  readonly places?: {
    readonly files: Pick<Files, "find" | "linkTarget">;
    readonly cwd: string;
    readonly home?: string;
  };
}

/** A call that waits for permission. */
export interface PermissionRequest {
  readonly toolCallId: string;
  readonly tool: CatalogTool;
  /** As they would be sent. */
  readonly arguments: JsonObject;
  /** The same for people, where they are longer than anybody reads. */
  readonly shown?: JsonObject;
  /** How the call looks, for people; asked for only when somebody is asked. Never rejects. */
  look?(): Promise<PermissionQuestion["presentation"]>;
  /** The tool as its source defines it, where the model is shown another form. */
  readonly raw?: ToolDefinition;
  /** Called when the person is being asked. */
  onAsking?(): void;
}

const DEFAULT_POLICY: SessionPolicy = { mode: "ask", mayBypass: false, rules: [] };
const ALLOWED: Approval = { kind: "allowed" };
const CANCELLED: Approval = { kind: "cancelled" };
const NOBODY = "nobody is attached to this session who could approve it";

export class Permissions {
  readonly #log: Log;
  readonly #options: PermissionsOptions;
  readonly #approvals: Approvals;
  /** Held tools the person did not approve of: asked about again when they are called, not before. */
  readonly #reviewed = new Set<string>();
  /** Questions wait for each other: the answer to one may answer the next. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(log: Log, options: PermissionsOptions = {}) {
    this.#log = log;
    this.#options = options;
    this.#approvals = new Approvals({
      log,
      ...(options.store ? { store: options.store } : {}),
      identify: ({ origin, source }) => {
        const { fingerprint, project } = this.#facts({ origin, source });
        return {
          origin,
          name: source,
          ...(fingerprint === undefined ? {} : { fingerprint }),
          ...(project === undefined ? {} : { project }),
        };
      },
    });
  }

  /** Never rejects. */
  async approve(request: PermissionRequest, ports: SessionPorts | undefined, signal: AbortSignal): Promise<Approval> {
    const subject = subjectOf({ tool: request.tool, raw: request.raw ?? request.tool.definition });
    await this.#approvals.load([subject]);
    const decision = await this.#decide(request);
    const early = this.#withoutAsking(subject, decision);
    if (early) return early;
    const answered = this.#last.then(async () => {
      if (signal.aborted) return CANCELLED;
      // While this question waited, another one's answer may have covered it.
      return this.#withoutAsking(subject, decision) ?? (await this.#ask(request, { subject, decision }, ports, signal));
    });
    const ended = orCancelled(answered, signal);
    this.#last = ended.catch(() => undefined); // whoever asked hears of it
    return await ended;
  }

  /** Reads what is remembered of these tools' servers; until then `isHeld` knows only what happened in this session. */
  async prepare(tools: readonly SourcedTool[]): Promise<void> {
    await this.#approvals.load(tools.map(subjectOf));
  }

  /** Why a tool should not be offered until the person approves of it; undefined when it may be. */
  whyHeld(tool: SourcedTool): string | undefined {
    if (this.isHeld(tool)) return "its definition changed since it was approved";
    const hold = this.#lockHold(subjectOf(tool));
    return hold && `it ${hold.reason}`;
  }

  /** Whether the lock of definitions is what holds it. */
  isHeldByLock(tool: SourcedTool): boolean {
    return this.#lockHold(subjectOf(tool)) !== undefined;
  }

  isHeld(tool: SourcedTool): boolean {
    return this.#approvals.isHeld(subjectOf(tool));
  }

  /** Where a tool stands with the person, for `why`. */
  standing(tool: SourcedTool): Standing {
    return this.#approvals.standing(subjectOf(tool));
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
      const isChanged = this.#approvals.isHeld(subject);
      const isLocked = this.#lockHold(subject)?.isReviewable === true && lockReviews < FOREIGN_LIMITS.lockMaxReviews;
      if (!ports || signal.aborted || this.#reviewed.has(key) || !(isChanged || isLocked)) continue;
      if (!isChanged) lockReviews += 1;
      this.#reviewed.add(key);
      const toolCallId = `definition-${tool.definitionHash.slice(0, 12)}`;
      const question = this.#question({ toolCallId, tool, arguments: {} }, { subject, isReview: true });
      const answer = await ports.ask(question, signal).catch((): PermissionAnswer => "cancelled");
      // There is no call that it could be for: "once" means this definition, as long as the session lasts.
      await this.#remember(subject, tool, answer === "once" ? "session" : answer);
      isAnyApproved ||= this.whyHeld({ tool, raw }) === undefined;
    }
    return isAnyApproved;
  }

  async #decide({ tool, raw = tool.definition, arguments: given }: PermissionRequest): Promise<PolicyDecision> {
    const { mode, mayBypass, rules } = this.#policy();
    const { trustsAnnotations = false, cwd } = this.#facts(tool);
    const { places } = this.#options;
    const paths: PathTable = places
      ? await resolvePaths(rules, given, { ...places, ...(cwd === undefined ? {} : { toolCwd: cwd }) })
      : NO_PATHS;
    const { origin, source: server } = tool;
    const { name, annotations } = raw;
    return decide(
      { origin, server, tool: name, annotations, trustsAnnotations, arguments: given, paths, mode, mayBypass },
      rules,
    );
  }

  /** Undefined when the person has to be asked. */
  #withoutAsking(subject: ApprovalSubject, { effect, rule, reason }: PolicyDecision): Approval | undefined {
    if (effect === "deny") return { kind: "refused", reason };
    const standing = this.#approvals.standing(subject);
    if (standing.kind === "never") return { kind: "refused", reason: "the person said never to this tool" };
    const hold = this.#lockHold(subject);
    if (hold && !hold.isReviewable) return { kind: "refused", reason: `it ${hold.reason}` };
    if (effect === "allow") {
      const { mode, mayBypass } = this.#policy();
      const isBypassed = mode === "bypass" && mayBypass;
      const isHeld = (standing.kind === "changed" && standing.isHeld) || hold !== undefined;
      if (isHeld && !isBypassed) return undefined;
      this.#approvals.pin(subject);
      return ALLOWED;
    }
    // A rule that says ask is about these arguments; an approval was about the tool.
    return standing.kind === "approved" && rule === undefined ? ALLOWED : undefined;
  }

  async #ask(
    request: PermissionRequest,
    { subject, decision }: { readonly subject: ApprovalSubject; readonly decision: PolicyDecision },
    ports: SessionPorts | undefined,
    signal: AbortSignal,
  ): Promise<Approval> {
    const bare = this.#question(request, { subject, decision });
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

  #question(
    { toolCallId, tool, arguments: given, shown = given }: PermissionRequest,
    about: { readonly subject: ApprovalSubject; readonly decision?: PolicyDecision; readonly isReview?: boolean },
  ): PermissionQuestion {
    const { subject, decision, isReview = false } = about;
    const standing = this.#approvals.standing(subject);
    const hold = standing.kind === "changed" ? undefined : this.#lockHold(subject);
    return {
      toolCallId,
      tool,
      arguments: shown,
      mayRemember: decision?.effect === "allow" || decision?.rule === undefined,
      ...(decision?.rule && decision.effect === "ask" ? { reason: decision.reason } : {}),
      ...(standing.kind === "changed" ? { change: standing.difference } : {}),
      ...(hold ? { lock: hold.reason, change: hold.difference() } : {}),
      ...(isReview ? { isReview } : {}),
    };
  }

  async #remember(subject: ApprovalSubject, tool: CatalogTool, answer: PermissionAnswer): Promise<void> {
    if (answer === "cancelled") return;
    const siblings = answer === "always_server" ? (this.#options.siblings?.(tool) ?? []) : [];
    await this.#approvals.record(subject, answer, siblings);
  }

  /** Whoever approved of exactly this definition has looked at it. */
  #lockHold(subject: ApprovalSubject): LockHold | undefined {
    const hold = this.#options.lock?.(subject);
    return hold?.isReviewable && this.#approvals.standing(subject).kind === "approved" ? undefined : hold;
  }

  #policy(): SessionPolicy {
    return this.#options.policy?.() ?? DEFAULT_POLICY;
  }

  #facts(tool: Pick<CatalogTool, "origin" | "source">): ServerFacts {
    return this.#options.server?.(tool) ?? {};
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

function approvalOf(answer: PermissionAnswer): Approval {
  switch (answer) {
    case "once":
    case "session":
    case "always":
    case "always_server":
      return ALLOWED;
    case "no":
      return { kind: "refused", reason: "the person said no" };
    case "never":
      return { kind: "refused", reason: "the person said no, and never to ask again" };
    case "cancelled":
      return CANCELLED;
    default:
      return unreachable(answer);
  }
}
