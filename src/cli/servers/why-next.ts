// What to do about a tool that is not where it should be: commands and settings, the most likely first.
import { unreachable } from "../../base/id.js";
import { LOCK_NAME } from "../../config/index.js";
import type { WhyAnswer } from "../../index.js";
import { shellWord } from "./next.js";

/** `server` is whose tool it is, as far as that is known. */
export function nextForWhy({ kind, text }: WhyAnswer, tool: string, server: string | undefined): readonly string[] {
  const whose = server === undefined ? "SERVER" : shellWord(server);
  switch (kind) {
    case "offered":
    case "loaded":
    case "gone":
      return [];
    case "behind_search":
      return [`tenon mcp why ${shellWord(tool)} --prompt "what you would ask"`, '"include": "always" in its entry'];
    case "below_cut":
      return ['"include": "always" in its entry', '"tools": {"headStart": …} in your configuration'];
    case "over_budget":
      return ['"include": "always" for this tool in its entry', '"tools": {"maxAlwaysTools": …} in your configuration'];
    case "manual":
      return [`/tools add ${tool} in the conversation`];
    case "filtered":
      return [`tenon mcp get ${whose} shows its allow, deny and tools`];
    case "shadowed":
      return ["tenon mcp list --no-connect"];
    case "quarantined":
    case "server_failed":
    case "server_connecting":
      return [`tenon mcp test ${whose}`];
    case "not_approved":
      if (text.includes(LOCK_NAME)) return [`tenon mcp diff ${whose}`, `tenon mcp lock ${whose}`];
      return ["tenon trust approvals", `tenon trust forget ${whose}`];
    case "not_trusted":
      return ["tenon trust", `tenon trust approve ${whose}`];
    case "disabled":
      return [`tenon mcp enable ${whose}`];
    case "ambiguous":
      return [];
    case "unknown":
      return ["tenon mcp list", `tenon mcp tools --search ${shellWord(tool)}`];
    default:
      return unreachable(kind);
  }
}
