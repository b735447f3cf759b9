// The arguments that are really sent: what the model gave, with kept results, pinned values and defaults put in, and checked.
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { checkAgainstSchema } from "../../mcp/index.js";
import { type CatalogEntry, callArguments } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import { type Inserted, substituteResults } from "../result/substitute.js";
import type { RunPorts } from "./ports.js";

export type FinishedArguments =
  | { readonly ok: true; readonly arguments: JsonObject; readonly inserted: readonly Inserted[] }
  /** In words for the model, without a full stop. */
  | { readonly ok: false; readonly reason: string };

/** Checked is what is sent, by the source's own schema: a model's view of it may be shaped or compiled for its provider. */
export async function finishArguments(
  entry: CatalogEntry,
  given: JsonObject,
  { world, results }: Pick<RunPorts, "world" | "results">,
): Promise<FinishedArguments> {
  const filled = await substituteResults(entry.tool.toOwn?.(given) ?? given, results);
  if (!filled.ok) return filled;
  const complete = callArguments(entry, filled.arguments);
  const fit = await checkAgainstSchema(entry.raw.inputSchema, complete, world);
  if (fit.kind !== "misfit") return { ok: true, arguments: complete, inserted: filled.inserted };
  const problems = `the arguments do not fit its schema: ${fit.problems.join("; ")}`;
  return { ok: false, reason: entry.isChanged ? `${problems}. ${changed(entry)}` : problems };
}

/** The list a model is shown stays as it was, so this is where it hears of the new schema. */
function changed({ tool }: CatalogEntry): string {
  const schema: JsonValue = tool.definition.inputSchema;
  const json = JSON.stringify(schema);
  const told = json.length <= TOOL_LIMITS.changedSchemaMaxChars ? `is now ${json}` : "has to be looked up anew";
  return `The tool has changed since you were given it, and its schema ${told}`;
}
