// The question a person is asked about a call or a changed tool, and what their answer means for it.
import { unreachable } from "../../base/brand.js";
import type { JsonObject } from "../../base/json.js";
import type { Approval, ApprovalSubject, CatalogTool, PolicyDecision, ToolDefinition } from "../../tools/index.js";
import type { PermissionAnswer, PermissionQuestion } from "../ports.js";
import type { Clearance } from "./clearance.js";

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
  /** Why it would fail whoever allowed it; looked at before anybody is asked. Never rejects. */
  impossible?(): Promise<string | undefined>;
  /** The tool as its source defines it, where the model is shown another form. */
  readonly raw?: ToolDefinition;
  /** Called when the person is being asked. */
  onAsking?(): void;
}

export function questionAbout(
  { toolCallId, tool, arguments: given, shown = given }: PermissionRequest,
  about: { readonly subject: ApprovalSubject; readonly decision?: PolicyDecision; readonly isReview?: boolean },
  clearance: Pick<Clearance, "standing" | "lockHold">,
): PermissionQuestion {
  const { subject, decision, isReview = false } = about;
  const standing = clearance.standing(subject);
  const hold = standing.kind === "changed" ? undefined : clearance.lockHold(subject);
  return {
    toolCallId,
    tool,
    arguments: shown,
    mayRemember: decision?.effect === "allow" || decision?.rule === undefined,
    ...(decision?.rule && decision.effect === "ask" ? { reason: decision.reason } : {}),
    ...(decision?.protects ? { protects: decision.protects.isOwn ? ("own" as const) : ("obeyed" as const) } : {}),
    ...(standing.kind === "changed" ? { change: standing.difference } : {}),
    ...(hold ? { lock: hold.reason, change: hold.difference() } : {}),
    ...(isReview ? { isReview } : {}),
  };
}

export function approvalOf(answer: PermissionAnswer): Approval {
  switch (answer) {
    case "once":
    case "session":
    case "always":
    case "always_server":
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
