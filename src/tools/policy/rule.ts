// A rule of the policy: for which tools and arguments it is, and what then happens.
import type { JsonValue } from "../../base/json/json.js";
import type { ToolAnnotations, ToolOrigin } from "../tool.js";

/** `ask` puts it to the person every time, whatever was answered before. */
export type PolicyEffect = "allow" | "ask" | "deny";

/** `ask`: as the rules say. `plan`: read-only tools only. `auto-edit`: Tenon's own edits are not asked about. `bypass`: nothing is asked. */
export type PermissionMode = "ask" | "plan" | "auto-edit" | "bypass";

/**
 * What an argument must be, by the JSON pointer of its place. An argument that is not there does not match. `glob`,
 * `prefix` and `under` are for texts; of a list of texts, all must match for `allow`, one is enough for `ask` and `deny`.
 */
export type ArgumentCondition = { readonly pointer: string } & (
  | { readonly equals: JsonValue }
  | { readonly glob: string }
  | { readonly prefix: string }
  /** A path in this directory, links followed; both are relative to the session's directory. */
  | { readonly under: string }
  | { readonly oneOf: readonly JsonValue[] }
);

/** Hints of the server, in the protocol's sense. Those of servers the user does not trust count as not given. */
export interface HintCondition {
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
}

/** All that is given must match; a rule with nothing but an effect is for every call. */
export interface PolicyRule {
  readonly effect: PolicyEffect;
  /** Globs (`*`, `?`) on the server's name, and on the server's own name of the tool. */
  readonly server?: string;
  readonly tool?: string;
  /**
   * Whose server it is. Unless given: any, except that `allow` is not for a project's servers, which could otherwise
   * take the name of one the user meant.
   */
  readonly origin?: readonly ToolOrigin[];
  readonly annotations?: HintCondition;
  readonly arguments?: readonly ArgumentCondition[];
  /** For the person and the model. */
  readonly reason?: string;
  /** Where it was written. */
  readonly place?: string;
  /** It stands for one that could not be read and may have been a `deny`: where nobody is asked, it denies. */
  readonly isBroken?: boolean;
}

// What a tool's hints are worth: those of Tenon, the embedder and trusted servers count, all others are as if not given.
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
