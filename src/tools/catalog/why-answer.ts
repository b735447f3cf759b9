// The answer to why a tool is, or is not, in front of the model: a kind for programs and sentences for people.
import type { CatalogTool } from "../tool.js";

export type WhyKind =
  | "offered"
  /** Behind search, and found or called in this conversation. */
  | "loaded"
  /** Behind search, no prompt has been yet. */
  | "behind_search"
  | "below_cut"
  | "over_budget"
  | "manual"
  | "filtered"
  | "shadowed"
  | "quarantined"
  /** Held back, or every call of it refused, until the person says otherwise. */
  | "not_approved"
  /** Its server comes from the project, and nobody has approved it. */
  | "not_trusted"
  | "server_failed"
  | "server_connecting"
  | "disabled"
  /** The model has seen it, and it is not there any more. */
  | "gone"
  | "ambiguous"
  | "unknown";

export interface WhyAnswer {
  readonly kind: WhyKind;
  /** For people, in whole sentences. */
  readonly text: string;
  readonly tool?: CatalogTool;
  /** Whose tool it is, where that is known though the tool is not. */
  readonly server?: string;
  /** Where it stood when the first prompt chose. `rank` counts from 1 and is missing when nothing of it matched. */
  readonly search?: {
    readonly query: string;
    readonly rank?: number;
    readonly score: number;
    /** The score a tool needed to be chosen. */
    readonly cut: number;
    readonly matches: readonly { readonly term: string; readonly field: string; readonly score: number }[];
  };
  /** What of it looks like another tool, a sentence each; also in `text`. */
  readonly lookAlikes?: readonly string[];
  /** What could be meant, as `server/tool`. */
  readonly candidates?: readonly string[];
}
