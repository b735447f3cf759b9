// `tenon mcp add|add-json`: servers as people type them or copy them from a README, with what is odd about them said at once.
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { addServer, type EffectiveConfig, hasSecretWords, secretLiterals, typedEntry } from "../../../config/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { type CommandContext, print, readConfig, warn } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { readPiped } from "../secret/secret.js";
import { printApproval, printEdited, projectFile, userFile } from "./configured.js";
import { shellWord } from "./next-steps.js";
import { runTest } from "./test.js";

type AddValues = Values<"json" | "project" | "replace", "type", "env" | "header">;

export const runAdd: Run<AddValues> = async (given, context) => {
  const { name, entry } = typedEntry(given);
  await addAll([[name, entry]], given.values, context);
};

type Named = readonly [name: string, entry: JsonObject];

export const runAddJson: Run<Values<"json" | "project" | "replace">> = async ({ values, words }, context) => {
  const [first = "", second] = words;
  const text = second ?? first;
  const source = text === "-" ? await pipedText(context) : text;
  await addAll(jsonServers(source, second === undefined ? undefined : first), values, context);
};

async function pipedText({ readValue }: CommandContext): Promise<string> {
  if (readValue) return (await readValue("")) ?? "";
  const tooLong = () => misused("what is piped in is longer than any configuration");
  return await readPiped(process.stdin, CLI_LIMITS.callInputBytes, tooLong);
}

/** One entry with its name, or a whole `{"mcpServers": {…}}` as READMEs print it. Never repeats what was given. */
function jsonServers(text: string, name: string | undefined): readonly Named[] {
  const parsed = parseJson(text);
  if (!parsed.ok) throw misused(`that is no JSON: ${parsed.reason}`);
  if (!isJsonObject(parsed.value)) throw misused('it must be a JSON object: {"command": …} or {"mcpServers": {…}}');
  const table = serverTable(parsed.value);
  if (table) {
    const servers = Object.entries(table).flatMap(([key, entry]): Named[] =>
      isJsonObject(entry) ? [[key, entry]] : [],
    );
    const chosen = name === undefined ? servers : servers.filter(([key]) => key === name);
    if (chosen.length === 0)
      throw misused(name === undefined ? "it has no servers" : `it has no server ${JSON.stringify(name)}`);
    return chosen;
  }
  // VS Code writes the name into the entry.
  const { name: inside, ...entry } = parsed.value;
  const own = name ?? (typeof inside === "string" ? inside : undefined);
  if (own === undefined) throw misused("NAME is missing: tenon mcp add-json NAME '{\"command\": …}'");
  return [[own, entry]];
}

/** Under the keys that READMEs show for Claude, Cursor, VS Code and Zed. */
function serverTable({ mcpServers, servers, context_servers, mcp }: JsonObject): JsonObject | undefined {
  const inner = isJsonObject(mcp) ? mcp["servers"] : undefined;
  return [mcpServers, servers, context_servers, inner].find(isJsonObject);
}

async function addAll(servers: readonly Named[], values: AddValues, context: CommandContext): Promise<void> {
  const { json, project, replace } = values;
  const config = await readConfig(context);
  const isProject = project === true;
  const file = isProject ? projectFile(config, context) : userFile(context);
  for (const [name, entry] of servers) {
    const edited = await addServer(file, name, entry, { mayReplace: replace === true });
    const doubts = [...secretDoubts(name, entry, isProject), ...programDoubts(entry, config, context)];
    printEdited(name, { ...edited, warnings: [...edited.warnings, ...doubts] }, json === true, context);
  }
  if (json === true) return;
  if (isProject) for (const [name] of servers) printApproval(name, context);
  else
    await offerTest(
      servers.map(([name]) => name),
      context,
    );
}

/** A file may be read by others, copied and committed. */
function secretDoubts(name: string, entry: JsonObject, isProject: boolean): readonly string[] {
  const whose = isProject ? "the project's file, which others read" : "your file";
  const values = secretLiterals(name, entry).map(({ key, name: of, variable, account }) => {
    const better = isProject ? `\${${variable}}` : `keyring:${account}, after tenon secret set ${shellWord(account)}`;
    return `${key}.${of} looks like a secret and is in ${whose} as plain text; better: ${better}`;
  });
  const words = hasSecretWords(entry)
    ? [`its command or address has what looks like a secret, in ${whose} as plain text; better: \${VARIABLE}`]
    : [];
  return [...values, ...words];
}

function programDoubts(
  { command, cwd }: JsonObject,
  { project }: EffectiveConfig,
  { world }: CommandContext,
): readonly string[] {
  if (typeof command !== "string" || /[$!{]/u.test(command) || world.platform === "win32") return [];
  const folder = typeof cwd === "string" && isAbsolute(cwd) ? cwd : project;
  const folders = command.includes("/") ? [folder] : (world.env["PATH"] ?? "").split(delimiter);
  if (folders.some((path) => world.files.isFile(command.includes("/") ? resolve(path, command) : join(path, command))))
    return [];
  return [
    `there is no program ${JSON.stringify(command)} ${command.includes("/") ? "there" : "in PATH"}: install it, or correct the command`,
  ];
}

async function offerTest(names: readonly string[], context: CommandContext): Promise<void> {
  const [name = "", ...more] = names;
  const next = `tenon mcp test ${shellWord(name)}`;
  if (more.length > 0 || !context.ask) return print(context, [context.palette.dim(`next: ${next}`)]);
  const answer = (await context.ask(`Test it now (${next})? [Y/n] `))?.trim().toLowerCase();
  if (answer === undefined || !["", "y", "yes"].includes(answer)) return;
  const code = await runTest({ values: {}, words: [name] }, context);
  if (code !== undefined && code !== 0)
    warn(context, `it stays in the file; tenon mcp remove ${shellWord(name)} takes it out`);
}
