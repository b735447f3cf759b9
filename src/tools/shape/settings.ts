// What configuration and code may change about a source's tools, before the catalog sees them.
import type { JsonObject } from "../../base/json/json.js";
import type { IncludeMode, ToolDefinition, ToolOrigin } from "../tool.js";

/** One tool, by its source's own name. */
export interface ToolShape {
  /** Shown to the model in place of its own; taken as it is, without the prefix. The source is called by its own name. */
  readonly name?: string;
  readonly description?: string;
  /** Put into every call and not shown to the model. */
  readonly arguments?: JsonObject;
  /** Put into a call where the model gives nothing; shown as defaults. */
  readonly defaults?: JsonObject;
  /** By provider: see `ToolDefinition.providerOptions`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
}

export interface ShapeSettings {
  /** Globs on the source's own names: only what matches one is used. */
  readonly allow?: readonly string[];
  /** Stronger than `allow`. */
  readonly deny?: readonly string[];
  /** Put before the name of every tool that has no name of its own in `tools`. */
  readonly prefix?: string;
  readonly tools?: Readonly<Record<string, ToolShape>>;
}

/** How a source is to be treated by the catalog. */
export interface SourceSettings extends ShapeSettings {
  /** Undefined: the default, which is `always` as far as the session's limits allow. */
  readonly include?: IncludeMode;
  /** By the source's own names; stronger than `include`. A tool that is `always` here keeps its place over any limit. */
  readonly includeByTool?: Readonly<Record<string, IncludeMode>>;
}

/** Include modes as a client may send them with a server: see `_meta.tenon.include`. */
export interface ServerInclude {
  readonly include?: IncludeMode;
  readonly includeByTool?: Readonly<Record<string, IncludeMode>>;
}

/** Where the tool being transformed comes from. */
export interface ToolPlace {
  readonly source: string;
  readonly origin: ToolOrigin;
  /** The source's own name of it, whatever was done to the rest. */
  readonly ownName: string;
}

/**
 * Code that changes tools: another name, description or schema, or null to leave the tool out. It sees what configuration
 * made of the tool, and the source is still called by its own name, with the arguments as the model wrote them. Must be
 * quick and give the same for the same tool; one that throws costs that tool, with its reason, and no other.
 */
export interface ToolTransformer {
  transform(tool: ToolDefinition, place: ToolPlace): ToolDefinition | null;
}
