// `tenon setup`: prints what an editor needs to use Tenon, or merges it into the editor's own file.
import { resolve } from "node:path";
import { messageOf, TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { canonicalJson, isJsonObject, type JsonValue } from "../../../base/json/json.js";
import { parseDocument, setValue } from "../../../config/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report, tableLines } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { type AgentCommand, agentCommand, EDITORS, type FileRecipe, type Recipe, recipeFor } from "./editors.js";

const GATEWAY = "--gateway";

export const runEditorSetup: Run<Values<"json" | "write" | "gateway", "file">> = async ({ values, words }, context) => {
  const editor = EDITORS.find((name) => name === words[0]);
  const { command, args } = await agentCommand(context.world);
  if (editor === undefined) return listEditors({ command, args }, values, context);
  const more = values.gateway === true ? [GATEWAY] : [];
  const recipe = recipeFor(editor, { command, args: [...args, ...more] }, context.world);
  const given = values.file === undefined ? undefined : resolve(context.cwd, values.file);
  if (values.write !== true) show(recipe, given, values.json === true, context);
  else await write(recipe, given, values.json === true, context);
};

/** What can be set up, and the command for each. */
function listEditors(
  agent: AgentCommand,
  { json, write, file, gateway }: Values<"json" | "write" | "gateway", "file">,
  context: CommandContext,
): void {
  if (write === true || file !== undefined || gateway === true) throw misused("EDITOR is missing: say which one");
  const editors = EDITORS.map((name) => ({ name, recipe: recipeFor(name, agent, context.world) }));
  const rows = editors.map(({ name, recipe: { kind, title } }) => {
    return [title, `tenon setup ${name}${kind === "file" ? " --write" : ""}`];
  });
  const shown = editors.map(({ name, recipe }) => ({ name, title: recipe.title, mayWrite: recipe.kind === "file" }));
  report(context, json, { editors: shown, command: agent }, [
    ...tableLines(["editor", "command"], rows, context),
    context.palette.dim("Any other ACP client: register the command tenon acp."),
  ]);
}

function show(recipe: Recipe, given: string | undefined, isJson: boolean, context: CommandContext): void {
  const { palette } = context;
  if (recipe.kind === "code") {
    const { title, parts, next } = recipe;
    const lines = parts.flatMap(({ about, code, servers }) => [palette.dim(about), code, palette.dim(servers), ""]);
    return report(context, isJson, { editor: title, parts, next }, [...lines, palette.dim(next)]);
  }
  const { title, path, entry, servers, next } = recipe;
  const file = given ?? recipe.file;
  const whole = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), entry);
  report(context, isJson, { editor: title, ...defined({ file }), path, entry, servers, next }, [
    palette.dim(`${title}: in ${file === undefined ? "its settings" : visibleLine(file)}`),
    JSON.stringify(whole, undefined, 2),
    palette.dim(servers),
    palette.dim(`${next} tenon setup … --write puts it into that file.`),
  ]);
}

async function write(
  recipe: Recipe,
  given: string | undefined,
  isJson: boolean,
  context: CommandContext,
): Promise<void> {
  if (recipe.kind === "code") {
    throw misused(`the configuration of ${recipe.title} is your own code, which is not edited: leave out --write`);
  }
  const file = given ?? recipe.file;
  if (file === undefined) {
    throw new TenonError("config.unreadable", "there is no home directory to look for the editor's file in", {
      hint: "Name the file with --file.",
    });
  }
  const { change, path } = await merge(file, recipe, context);
  const done = change === "unchanged" ? "is set up already" : change;
  const lines = [
    `Tenon ${done} in ${visibleLine(path)}`,
    context.palette.dim(recipe.servers),
    context.palette.dim(recipe.next),
  ];
  report(context, isJson, { editor: recipe.title, file: path, change, servers: recipe.servers }, lines);
}

/** The path is that of the file itself, links followed. */
async function merge(file: string, recipe: FileRecipe, { world }: CommandContext) {
  const found = await world.files.find(file);
  if (found && found.kind !== "file") throw unwritable(`${file} is no file`);
  // It would be replaced by a file, and what it is to lead to stays without.
  if (!found && (await world.files.kindOf(file)) === "link") throw unwritable(`${file} is a link that leads nowhere`);
  const path = found?.realPath ?? file;
  const before = found ? await tried(`${path} cannot be read`, world.files.readText(path)) : "";
  const { change, text } = mergedText(before, recipe, path);
  if (change === "unchanged") return { change, path };
  // A file can be replaced where it cannot be written to; whoever took its write permission meant both.
  if (found && (found.mode & 0o222) === 0) throw unwritable(`${path} is read-only`);
  await tried(`${path} cannot be written`, world.files.saveText(path, text));
  return { change, path };
}

async function tried<T>(failure: string, work: Promise<T>): Promise<T> {
  return await work.catch((error: unknown) => Promise.reject(unwritable(`${failure}: ${messageOf(error)}`)));
}

function unwritable(message: string): TenonError {
  return new TenonError("config.unreadable", message, {
    hint: "Nothing was written. Name another file with --file, or put in by hand what is printed without --write.",
  });
}

// Puts one entry into a JSON text with comments: nothing else in it changes, not even in an entry that is there already.

/** Throws `config.invalid` for a text that must be corrected first. */
export function mergedText(
  before: string,
  { path, entry }: Pick<FileRecipe, "path" | "entry">,
  file: string,
): { readonly change: "added" | "updated" | "unchanged"; readonly text: string } {
  const document = parseDocument(before);
  const fault = document.problems.find(({ severity }) => severity === "error");
  if (fault && before.trim() !== "") {
    const { line, column } = fault.position;
    throw refused(`${file}:${line}:${column}: ${fault.message}`, "Correct that first; nothing was written.");
  }
  for (const length of path.keys()) {
    const outer = valueAt(document.value, path.slice(0, length));
    if (outer !== undefined && !isJsonObject(outer)) {
      throw refused(`${file}: ${path.slice(0, length).join(".") || "it"} is no object`, "Nothing was written.");
    }
  }
  const present = valueAt(document.value, path);
  if (present === undefined) {
    const text = setValue(before, path, entry);
    return { change: "added", text: before.trim() === "" && !text.endsWith("\n") ? `${text}\n` : text };
  }
  if (!isJsonObject(present)) throw refused(`${file}: ${path.join(".")} is no object`, "Nothing was written.");
  let text = before;
  for (const [key, value] of Object.entries(entry)) {
    const now = present[key];
    // What the person gave it in the environment is theirs.
    if (value === undefined || key === "env") continue;
    // So are the options behind the words that start it.
    if (key === "args" && beginsWith(now, value)) continue;
    const isAdded = Array.isArray(value) && value.at(-1) === GATEWAY && beginsWith(now, value.slice(0, -1));
    if (key === "args" && isAdded && Array.isArray(now)) {
      const rest = now.slice(value.length - 1);
      if (!rest.includes(GATEWAY)) text = setValue(text, [...path, key], [...value, ...rest]);
      continue;
    }
    if (now === undefined || canonicalJson(now) !== canonicalJson(value)) text = setValue(text, [...path, key], value);
  }
  return { change: text === before ? "unchanged" : "updated", text };
}

function beginsWith(now: JsonValue | undefined, value: JsonValue): boolean {
  return Array.isArray(now) && Array.isArray(value) && value.every((word, index) => now[index] === word);
}

function valueAt(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const key of path) {
    if (!isJsonObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}
