// A yes counts for what was shown: if the file changed while the question was open, the new change is asked about.

import type { Approval } from "../../tools/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { PermissionRequest } from "./question.js";

/** `ask` puts one question, and shows what `look` of its request gives. Never asks again about what did not change. */
export async function askUntilUnchanged(
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
