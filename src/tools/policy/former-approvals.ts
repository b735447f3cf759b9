// Approvals as they were kept before grants: what of them stays, what has to be confirmed once, and what lapses.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import type { ToolOrigin } from "../tool.js";
import type { FormerApproval, Refusal } from "./decision.js";

export interface FormerRecords {
  readonly never: readonly Refusal[];
  readonly former: readonly FormerApproval[];
  /** Approvals of Tenon's own tools and of whole servers. */
  readonly lapsed: number;
}

const NAME = /^[0-9a-f]{32}-(?:server|[0-9a-f]{32})\.json$/u;
const ORIGINS: readonly ToolOrigin[] = ["client", "project", "user", "builtin", "extra"];

/** By file name. `damaged` may have been a `never`. */
export function readFormer(
  texts: ReadonlyMap<string, string>,
): FormerRecords & { readonly damaged: readonly string[] } {
  const never: Refusal[] = [];
  const former: FormerApproval[] = [];
  const damaged: string[] = [];
  let lapsed = 0;
  for (const [name, text] of texts) {
    if (!NAME.test(name)) continue;
    const record = recordOf(text);
    if (!record) damaged.push(name);
    else if (record.decision === "never")
      never.push(...record.tools.map((tool) => ({ kind: "never", ...about(record, tool) }) as const));
    else if (record.origin === "builtin" || record.scope === "server") lapsed += 1;
    else
      former.push(
        ...record.tools.map((tool) => ({ kind: "former", ...about(record, tool), ...definitionOf(tool) }) as const),
      );
  }
  return { never, former, lapsed, damaged };
}

interface FormerTool {
  readonly name: string;
  readonly hash: string;
  readonly definition?: FormerApproval["definition"];
}

interface FormerRecord {
  readonly decision: "always" | "never";
  readonly scope: "tool" | "server";
  readonly origin: ToolOrigin;
  readonly server: string;
  readonly tools: readonly FormerTool[];
}

function about({ origin, server }: FormerRecord, { name }: FormerTool): Omit<Refusal, "kind"> {
  return { origin, server, tool: name };
}

function definitionOf({ hash, definition }: FormerTool): Pick<FormerApproval, "definitionHash" | "definition"> {
  return { definitionHash: hash, ...defined({ definition }) };
}

function recordOf(text: string): FormerRecord | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { version, decision, scope, server, tools } = parsed.value;
  const origin = ORIGINS.find((one) => one === (isJsonObject(parsed.value) ? parsed.value["origin"] : undefined));
  if (version !== 1 || (decision !== "always" && decision !== "never") || !origin) return undefined;
  if ((scope !== "tool" && scope !== "server") || typeof server !== "string" || !Array.isArray(tools)) return undefined;
  const read = tools.map(toolOf).filter((tool) => tool !== undefined);
  return read.length === tools.length ? { decision, scope, origin, server, tools: read } : undefined;
}

function toolOf(value: JsonValue): FormerTool | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, hash, definition } = value;
  if (typeof name !== "string" || typeof hash !== "string") return undefined;
  return { name, hash, ...defined({ definition: isJsonObject(definition) ? definition : undefined }) };
}
