// What the person has decided, as one session knows it: grants, refusals, and the definitions tools were used with.
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { Log } from "../../base/ports/log.js";
import { definitionData, definitionDifference } from "./difference.js";
import {
  type ApprovalSubject,
  coversCall,
  type Decision,
  type DecisionProblem,
  type DecisionStore,
  decisionId,
  type FormerApproval,
  type GrantedCall,
  grantId,
  isLasting,
  type KeptDecision,
  type MigrationReport,
  type OfferedGrant,
  refusalOf,
  type ToolGrant,
} from "./grant.js";

/** `always` is the one grant that the question offers. `never` is for the tool, whatever it becomes. */
export type ApprovalAnswer = "once" | "always" | "no" | "never";

/** Whether the person has approved a tool. */
export type ApprovalStatus =
  | { readonly kind: "new" }
  /** This definition is granted in this project, or was let through for the session. */
  | { readonly kind: "approved" }
  | { readonly kind: "never"; readonly decidedAt?: string }
  /** It was approved with another definition. `difference` is for people, a line each. */
  | { readonly kind: "changed"; readonly difference: readonly string[]; readonly isHeld: boolean };

export interface ApprovalsOptions {
  readonly log: Log;
  /** Without one nothing outlives the session. */
  readonly store?: DecisionStore;
  /** Real path of the session's folder. Never rejects. */
  project(): Promise<string>;
  /** See `ToolGrant`. Undefined for a server that cannot be distinguished from another one of the same name. */
  program?(subject: Pick<ApprovalSubject, "origin" | "source">): string | undefined;
  onMigrated?(report: MigrationReport): void;
}

interface Accepted {
  readonly hash: string;
  readonly definition: JsonObject | undefined;
  /** It may run without asking in this session. */
  readonly isApproved: boolean;
  /** Seen to be in force in this session: a change from now on holds it back. */
  readonly isPinned: boolean;
}

export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #accepted = new Map<string, Accepted>();
  /** With when it was said, if that is known. */
  readonly #refused = new Map<string, string | undefined>();
  readonly #former = new Map<string, FormerApproval>();
  /** By id. */
  readonly #grants = new Map<string, OfferedGrant>();
  #problems: readonly DecisionProblem[] = [];
  #project = "";
  #loaded: Promise<void> | undefined;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** Reads what was decided, once. Before that nothing of it counts. Never rejects. */
  load(): Promise<void> {
    this.#loaded ??= this.#read();
    return this.#loaded;
  }

  /** Real path of the session's folder; empty until it is loaded. */
  get project(): string {
    return this.#project;
  }

  /** What is in force in this session now. */
  get grants(): readonly OfferedGrant[] {
    return [...this.#grants.values()];
  }

  /**
   * Why the decision about a tool is not known, and what to do: an unreadable file may hold a `never`.
   * Undefined when everything about it could be read.
   */
  unreadable(subject: ApprovalSubject): string | undefined {
    const id = decisionId(refusalOf(subject));
    const problem = this.#problems.find((one) => one.id === undefined || one.id === id);
    if (!problem) return undefined;
    return `a decision about it may be kept in ${problem.file}, which cannot be read (${problem.reason}): make it readable, or remove it`;
  }

  status(subject: ApprovalSubject): ApprovalStatus {
    const key = keyOf(subject);
    const refusedAt = this.#refused.get(key);
    if (this.#refused.has(key)) return { kind: "never", ...defined({ decidedAt: refusedAt }) };
    const accepted = this.#acceptedOf(subject);
    if (!accepted) return { kind: "new" };
    if (accepted.hash === subject.definitionHash) return { kind: accepted.isApproved ? "approved" : "new" };
    const difference = definitionDifference(accepted.definition, subject.definition);
    return { kind: "changed", difference, isHeld: accepted.isPinned };
  }

  /** Whether a grant covers the call. */
  covers(call: GrantedCall): boolean {
    return [...this.#grants.values()].some((grant) => coversCall(grant, call));
  }

  /** The person allowed this tool in every project, before grants were for one. */
  wasApprovedBefore(subject: ApprovalSubject): boolean {
    return this.#former.has(keyOf(subject));
  }

  /**
   * Whether the tool was in force in this session with another definition: until that is approved, a model should not
   * even read it. A change between two sessions only asks again. Cheap: a hash is read only of tools decided on.
   */
  isHeld(subject: ApprovalSubject): boolean {
    const accepted = this.#acceptedOf(subject);
    if (!accepted) return false;
    if (accepted.hash !== subject.definitionHash) return accepted.isPinned;
    if (accepted.isApproved && !accepted.isPinned) this.#accepted.set(keyOf(subject), { ...accepted, isPinned: true });
    return false;
  }

  /** It runs without the person being asked (a rule, a mode): from now on a change of its definition is noticed. */
  pin(subject: ApprovalSubject): void {
    if (subject.origin === "builtin") return; // changes with Tenon itself only
    const known = this.#acceptedOf(subject);
    const isApproved = known?.hash === subject.definitionHash && known.isApproved;
    this.#accepted.set(keyOf(subject), acceptedOf(subject, { isApproved, isPinned: true }));
  }

  /** A changed definition was looked at, and may be used in this session. */
  accept(subject: ApprovalSubject): void {
    this.#accepted.set(keyOf(subject), acceptedOf(subject, { isApproved: true, isPinned: true }));
  }

  /** Remembers an answer about a call. Never rejects: what cannot be kept counts for the session. */
  async record(subject: ApprovalSubject, answer: ApprovalAnswer, { offer }: GrantedCall = {}): Promise<void> {
    switch (answer) {
      case "no":
        return;
      case "never":
        this.#refused.set(keyOf(subject), undefined);
        await this.#keep(refusalOf(subject));
        return await this.#forgetFormer(subject);
      case "once": {
        // What was approved stays so, and what changed stays held: the next one is compared with what was let through last.
        const known = this.#acceptedOf(subject);
        if (known?.isApproved || known?.isPinned || subject.origin === "builtin") return;
        this.#accepted.set(keyOf(subject), acceptedOf(subject, { isApproved: false, isPinned: false }));
        return;
      }
      case "always":
        if (!offer) return;
        await this.grant(offer, subject);
        return await this.#forgetFormer(subject);
    }
  }

  /** Puts a grant in force, and keeps it where it outlives the session. Never rejects. */
  async grant(offer: OfferedGrant, subject: ApprovalSubject): Promise<void> {
    this.#grants.set(grantId(offer), offer);
    if (offer.kind === "tool" || offer.kind === "session_tool") this.accept(subject);
    if (!isLasting(offer)) return;
    await this.#keep(offer.kind === "tool" ? { ...offer, definition: definitionData(subject.definition) } : offer);
  }

  /** Everything that is kept, for `/permissions`. Never rejects. */
  async kept(): Promise<readonly KeptDecision[]> {
    return (await this.#options.store?.load(await this.#options.project()))?.decisions ?? [];
  }

  /** Takes a decision back, in this session too. Rejects when the store cannot remove it. */
  async revoke({ id, decision }: KeptDecision): Promise<void> {
    await this.#options.store?.remove(id);
    if (decision.kind === "never") this.#refused.delete(keyOfNames(decision));
    else if (decision.kind === "former") this.#former.delete(keyOfNames(decision));
    else this.forget(decision);
  }

  /** Ends a grant in this session. */
  forget(grant: OfferedGrant): void {
    this.#grants.delete(grantId(grant));
    if (grant.kind !== "tool" && grant.kind !== "session_tool") return;
    const key = keyOfNames(grant);
    const known = this.#accepted.get(key);
    if (known) this.#accepted.set(key, { ...known, isApproved: false });
  }

  async #forgetFormer(subject: ApprovalSubject): Promise<void> {
    const former = this.#former.get(keyOf(subject));
    if (!former) return;
    this.#former.delete(keyOf(subject));
    try {
      await this.#options.store?.remove(decisionId(former));
    } catch (error) {
      this.#options.log.warn("decision.not_removed", { server: former.server, error: messageOf(error) });
    }
  }

  async #keep(decision: Decision): Promise<void> {
    const { store, log } = this.#options;
    try {
      await store?.keep(decision);
    } catch (error) {
      log.warn("decision.not_kept", { kind: decision.kind, error: messageOf(error) });
    }
  }

  async #read(): Promise<void> {
    const { store, log } = this.#options;
    this.#project = await this.#options.project();
    if (!store) return;
    try {
      const { decisions, problems, migrated } = await store.load(this.#project);
      this.#problems = problems;
      for (const kept of decisions) this.#take(kept);
      if (migrated) this.#options.onMigrated?.(migrated);
    } catch (error) {
      this.#problems = [{ file: "the store of decisions", reason: messageOf(error) }];
      log.warn("decision.not_read", { error: messageOf(error) });
    }
  }

  #take({ decision, decidedAt }: KeptDecision): void {
    if (decision.kind === "never") this.#refused.set(keyOfNames(decision), decidedAt);
    else if (decision.kind === "former") this.#former.set(keyOfNames(decision), decision);
    else this.#grants.set(grantId(decision), decision);
  }

  /** What this session knows of the tool's definition, else the latest grant of it or the approval of before. */
  #acceptedOf(subject: ApprovalSubject): Accepted | undefined {
    const key = keyOf(subject);
    const known = this.#accepted.get(key);
    if (known) return known;
    const mine = [...this.#grants.values()].filter((grant): grant is ToolGrant => this.#isAbout(grant, subject));
    const granted = mine.find((grant) => grant.definitionHash === subject.definitionHash) ?? mine.at(-1);
    const found = granted ?? this.#former.get(key);
    if (!found) return undefined;
    const { definitionHash: hash, definition } = found;
    return { hash, definition, isApproved: granted !== undefined, isPinned: false };
  }

  #isAbout(grant: OfferedGrant, subject: ApprovalSubject): boolean {
    if (grant.kind !== "tool" || keyOfNames(grant) !== keyOf(subject)) return false;
    return grant.program === this.#options.program?.(subject);
  }
}

function keyOf({ origin, source, definition }: ApprovalSubject): string {
  return keyOfNames({ origin, server: source, tool: definition.name });
}

function keyOfNames({ origin, server, tool }: Pick<ToolGrant, "origin" | "server" | "tool">): string {
  return `${origin}\0${server}\0${tool}`;
}

function acceptedOf(
  subject: ApprovalSubject,
  { isApproved, isPinned }: { readonly isApproved: boolean; readonly isPinned: boolean },
): Accepted {
  return { hash: subject.definitionHash, definition: definitionData(subject.definition), isApproved, isPinned };
}
