// What explanations and views of a catalog are made from: how it stands at one moment.
import type { CatalogTool, ToolId, ToolOrigin } from "../tool.js";
import type { ToolFinder } from "./finder.js";
import type { IncludeModes } from "./include-modes.js";
import type { KnownTool, KnownTools } from "./known-tools.js";
import type { OfferedList } from "./offered-list.js";
import type { CatalogLimits, Plan } from "./plan.js";
import type { SourceBook } from "./source-book.js";

/** How a tool behind search came to be used. */
export interface Pick {
  readonly how: "head_start" | "found" | "called";
  /** What was searched for, and how well it fitted. */
  readonly query?: string;
  readonly score?: number;
}

/** A server that brought no source: the session knows why. */
export interface AbsentServer {
  readonly name: string;
  readonly origin: ToolOrigin;
  readonly kind: "failed" | "not_trusted" | "disabled" | "shadowed";
  readonly reason: string;
}

/** A tool as a search found it. */
export interface FoundTool {
  readonly tool: CatalogTool;
  readonly score: number;
  /** It is in the offered list already, so it can be called by its own name in any case. */
  readonly isOffered: boolean;
}

export interface CatalogState {
  readonly book: SourceBook;
  /** The sources that count, Tenon's tools about tools among them once they are offered. */
  readonly sources: readonly KnownTools[];
  readonly modes: IncludeModes;
  readonly limits: CatalogLimits;
  readonly list: OfferedList;
  readonly plan: Plan;
  readonly picks: ReadonlyMap<ToolId, Pick>;
  readonly finder: ToolFinder;
  /** The prompt the head start was chosen by. */
  readonly firstPrompt: string | undefined;
  readonly absent: readonly AbsentServer[];
  whySetAside(known: KnownTool): string | undefined;
  whyHeld(known: KnownTool): string | undefined;
  /** What of it looks like another tool, a sentence each. */
  lookAlikes(known: KnownTool): readonly string[];
}
