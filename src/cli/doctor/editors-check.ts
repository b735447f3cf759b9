// Which editors on this machine have Tenon in their configuration.
import { isJsonObject } from "../../base/json/json.js";
import { parseDocument } from "../../config/index.js";
import type { CommandContext } from "../configuration/context.js";
import { EDITORS, recipeFor } from "../setup/editors.js";
import { type Finding, ok } from "./finding.js";

/** Their files are read and nothing else; one that cannot be read has no Tenon in it. */
export async function checkEditors({ world }: CommandContext): Promise<Finding> {
  const found: string[] = [];
  for (const editor of EDITORS) {
    const recipe = recipeFor(editor, { command: "", args: [] }, world);
    if (recipe.kind !== "file" || recipe.file === undefined || !world.files.isFile(recipe.file)) continue;
    const text = await world.files.readText(recipe.file).catch(() => "");
    let value: unknown = parseDocument(text).value;
    for (const key of recipe.path) value = isJsonObject(value) ? value[key] : undefined;
    if (value !== undefined) found.push(`${editor} (${recipe.file})`);
  }
  if (found.length > 0) return ok("editors", "editors", `set up in ${found.join(", ")}`);
  const text = "Zed, JetBrains and VS Code do not have it yet; tenon setup prints what they need";
  return { id: "editors", subject: "editors", state: "unused", text };
}
