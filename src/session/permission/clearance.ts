// What may be called without asking anybody: what the policy says, what the person said before, what the lock of definitions holds.
import type { JsonObject } from "../../base/json.js";
import type { Log } from "../../base/log.js";
import type { Files } from "../../base/world.js";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalStore,
  type ApprovalSubject,
  Approvals,
  type CatalogTool,
  decide,
  type Finding,
  hintsOf,
  type LockHold,
  NO_PATHS,
  type PathTable,
  type PermissionMode,
  type PolicyDecision,
  type PolicyRule,
  resolvePaths,
  type Standing,
  type ToolDefinition,
  underProtection,
} from "../../tools/index.js";

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

export interface ClearanceOptions {
  /** The mode `ask` without rules unless given. */
  policy?(): SessionPolicy;
  server?(tool: Pick<CatalogTool, "origin" | "source">): ServerFacts;
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
  /** The protected files that a call would write. Never rejects. Without it none is protected. */
  protects?(call: CalledTool & { readonly cwd?: string }): Promise<readonly Finding[]>;
}

/** What the policy decides about. */
export interface CalledTool {
  readonly tool: CatalogTool;
  /** As its source defines it, where the model is shown another form. */
  readonly raw?: ToolDefinition;
  readonly arguments: JsonObject;
}

const DEFAULT_POLICY: SessionPolicy = { mode: "ask", mayBypass: false, rules: [] };
const ALLOWED: Approval = { kind: "allowed" };

export class Clearance {
  readonly #options: ClearanceOptions;
  readonly #approvals: Approvals;

  constructor(log: Log, options: ClearanceOptions) {
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

  /** Reads what is remembered of these tools' servers; until then only what happened in this session is known. */
  load(subjects: readonly ApprovalSubject[]): Promise<void> {
    return this.#approvals.load(subjects);
  }

  /** Where a tool stands with the person. */
  standing(subject: ApprovalSubject): Standing {
    return this.#approvals.standing(subject);
  }

  /** Its definition changed since it was approved. */
  isHeld(subject: ApprovalSubject): boolean {
    return this.#approvals.isHeld(subject);
  }

  /** What the lock of definitions has against a tool. Whoever approved of exactly this definition has looked at it. */
  lockHold(subject: ApprovalSubject): LockHold | undefined {
    const hold = this.#options.lock?.(subject);
    return hold?.isReviewable && this.#approvals.standing(subject).kind === "approved" ? undefined : hold;
  }

  record(subject: ApprovalSubject, answer: ApprovalAnswer, siblings: readonly ApprovalSubject[]): Promise<void> {
    return this.#approvals.record(subject, answer, siblings);
  }

  async decide({ tool, raw = tool.definition, arguments: given }: CalledTool): Promise<PolicyDecision> {
    const { mode, mayBypass, rules } = this.#policy();
    const { trustsAnnotations = false, cwd } = this.#facts(tool);
    const { places } = this.#options;
    const paths: PathTable = places
      ? await resolvePaths(rules, given, { ...places, ...(cwd === undefined ? {} : { toolCwd: cwd }) })
      : NO_PATHS;
    const { origin, source: server } = tool;
    const { name, annotations } = raw;
    const decision = decide(
      { origin, server, tool: name, annotations, trustsAnnotations, arguments: given, paths, mode, mayBypass },
      rules,
    );
    if (decision.effect === "deny" || hintsOf({ origin, annotations, trustsAnnotations }).readOnly) return decision;
    const found = await this.#options.protects?.({
      tool,
      arguments: given,
      ...(cwd === undefined ? {} : { cwd }),
    });
    return underProtection(decision, found ?? [], {
      mode,
      mayBypass,
      cwd: cwd ?? places?.cwd ?? "/",
      home: places?.home,
    });
  }

  /** Undefined when the person has to be asked. */
  withoutAsking(subject: ApprovalSubject, { effect, rule, reason }: PolicyDecision): Approval | undefined {
    if (effect === "deny") return { kind: "refused", reason };
    const standing = this.#approvals.standing(subject);
    if (standing.kind === "never") return { kind: "refused", reason: "the person said never to this tool" };
    const hold = this.lockHold(subject);
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

  #policy(): SessionPolicy {
    return this.#options.policy?.() ?? DEFAULT_POLICY;
  }

  #facts(tool: Pick<CatalogTool, "origin" | "source">): ServerFacts {
    return this.#options.server?.(tool) ?? {};
  }
}
