// What the person decided about tools once and for all, told to whoever watches: a run that is run again asks as little.
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.js";
import { witnessed } from "../base/trace.js";
import type { World } from "../base/world.js";
import type { ApprovalStore, KeptApproval } from "../tools/index.js";

/** The store itself, unless somebody watches or a recording is run again. */
export function witnessedApprovals(store: ApprovalStore, world: World): ApprovalStore {
  if (!world.trace && !world.replay) return store;
  return {
    load: async (server) =>
      await witnessed<readonly KeptApproval[]>(world, {
        ask: "approvals",
        about: { ...server },
        work: () => store.load(server),
        read: (recorded) => (Array.isArray(recorded) ? recorded.filter(isKept) : undefined),
      }).catch(() => []),
    keep: (server, approval) => store.keep(server, approval),
  };
}

function isKept(value: JsonValue): value is JsonObject & KeptApproval {
  return isJsonObject(value) && Array.isArray(value["tools"]) && typeof value["decision"] === "string";
}
