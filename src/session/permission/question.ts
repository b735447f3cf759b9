// The question a person is asked about a call or a changed tool, and what their answer means for it.

import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import {
  type Approval,
  type CatalogTool,
  forSession,
  grantLabel,
  neverLabel,
  type ToolDefinition,
} from "../../tools/index.js";
import type { PermissionAnswer, PermissionChoice, PermissionQuestion } from "../ports.js";
import type { Clearance, JudgedCall } from "./clearance.js";

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
  /** What about the tool could mislead, a sentence each; asked for only when somebody is asked. */
  warnings?(): readonly string[];
  /** Called when the person is being asked. */
  onAsking?(): void;
}

type AskedRequest = Pick<PermissionRequest, "toolCallId" | "tool" | "arguments" | "shown" | "warnings">;

export function questionAbout(
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
export function reviewOf(
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

export function approvalOf(answer: PermissionAnswer): Approval {
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
