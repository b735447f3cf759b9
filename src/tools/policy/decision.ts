// What a person decided for longer than one call, and the port it is kept behind.
import { hashJson } from "../../base/json/hash.js";
import type { JsonObject } from "../../base/json/json.js";
import type { ToolOrigin } from "../tool.js";
import { type ApprovalSubject, grantId, type PermissionGrant } from "./grant.js";

/** For a tool whatever its definition, its server's program or the project: else a server could ask again by changing. */
export interface Refusal {
  readonly kind: "never";
  readonly origin: ToolOrigin;
  readonly server: string;
  readonly tool: string;
}

/** An `always` of before grants were for one project. It allows nothing: the next question about the tool mentions it. */
export interface FormerApproval {
  readonly kind: "former";
  readonly origin: ToolOrigin;
  readonly server: string;
  readonly tool: string;
  readonly definitionHash: string;
  readonly definition?: JsonObject;
}

export type Decision = PermissionGrant | Refusal | FormerApproval;

export interface KeptDecision {
  /** What `remove` takes. */
  readonly id: string;
  readonly decision: Decision;
  /** ISO 8601. */
  readonly decidedAt: string;
}

/** Something that was decided and cannot be read. */
export interface DecisionProblem {
  readonly file: string;
  readonly reason: string;
  /** The decision it was; undefined when it may be any, also a `never`. */
  readonly id?: string;
}

/** What became of approvals of before grants, told once. */
export interface MigrationReport {
  readonly never: number;
  /** To be confirmed for the project of their first use. */
  readonly former: number;
  readonly lapsed: number;
  /** Where the old records are kept. */
  readonly backup: string;
}

export interface LoadedDecisions {
  readonly decisions: readonly KeptDecision[];
  readonly problems: readonly DecisionProblem[];
  /** Set for the one reader that brought old approvals over. */
  readonly migrated?: MigrationReport;
}

/** Where decisions outlive a session. */
export interface DecisionStore {
  /** Grants of one project, and every refusal and former approval; all grants without a project. Never rejects. */
  load(project?: string): Promise<LoadedDecisions>;
  /** Rejects when it cannot be kept. The same decision twice is kept once. */
  keep(decision: Decision): Promise<void>;
  /** Rejects when it cannot be removed; one that is not there is no error. */
  remove(id: string): Promise<void>;
}

export function decisionId(decision: Decision): string {
  switch (decision.kind) {
    case "never":
      return `never-${subjectHash(decision)}`;
    case "former":
      return `former-${subjectHash(decision)}`;
    default:
      return `grant-${grantId(decision)}`;
  }
}

export function refusalOf({ origin, source, definition }: ApprovalSubject): Refusal {
  return { kind: "never", origin, server: source, tool: definition.name };
}

function subjectHash({ origin, server, tool }: Pick<Refusal, "origin" | "server" | "tool">): string {
  return hashJson({ origin, server, tool }).slice(0, 32);
}
