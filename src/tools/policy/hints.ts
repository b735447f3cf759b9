// What a tool's hints are worth: those of Tenon, the embedder and trusted servers count, all others are as if not given.
import type { ToolAnnotations, ToolOrigin } from "../tool.js";
import type { HintCondition } from "./rule.js";

/** Tenon's own tools whose arguments the policy understands. */
export const RUN_COMMAND = "run_command";
export const FETCH_URL = "fetch_url";
export const EDIT_TOOLS: readonly string[] = ["write_file", "edit_file"];

export interface HintedTool {
  readonly origin: ToolOrigin;
  readonly annotations?: ToolAnnotations | undefined;
  /** The user's word (`trustAnnotations`) that this server's hints are true. */
  readonly trustsAnnotations: boolean;
}

/** What is not said has the protocol's default, which is the worst. */
export function hintsOf({ origin, annotations, trustsAnnotations }: HintedTool): Required<HintCondition> {
  const isTrusted = trustsAnnotations || origin === "builtin" || origin === "extra";
  const given = isTrusted ? annotations : undefined;
  const readOnly = given?.readOnlyHint === true;
  return {
    readOnly,
    destructive: !readOnly && given?.destructiveHint !== false,
    idempotent: readOnly || given?.idempotentHint === true,
    openWorld: given?.openWorldHint !== false,
  };
}

/** A tool of Tenon's own that changes files and reaches nothing else: what `auto-edit` is about. */
export function isOwnEdit(tool: HintedTool): boolean {
  const { readOnly, openWorld } = hintsOf(tool);
  return tool.origin === "builtin" && !readOnly && !openWorld;
}
