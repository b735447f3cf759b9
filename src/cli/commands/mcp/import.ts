// `tenon mcp import`: what other clients have, what would become of it, and the copying itself.
import { TenonError, toTenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import { LIMITS } from "../../../base/limits.js";
import { nearest } from "../../../base/text/nearest.js";
import {
  addServer,
  type ConfigFile,
  type Edited,
  type EffectiveConfig,
  IMPORT_NAMES,
  type ImportAction,
  type ImportName,
  maskEntry,
  type PlannedFile,
  type PlannedServer,
  planImport,
  problemText,
  projectFiles,
  readImports,
  type SecretWay,
  tenonPaths,
} from "../../../config/index.js";
import { type Run, refused, type Values } from "../../command.js";
import { type CommandContext, readConfig, report, saysYes, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import type { Palette } from "../../terminal/stream.js";
import { renderTable, visibleLine } from "../../terminal/text.js";
import { placeJson, problemJson, projectFile, targetOf, userFile } from "./configured.js";

export const runImport: Run<Values<"json" | "dry-run" | "replace" | "project", "secrets", "from">> = async (
  { values, words },
  context,
) => {
  const names = namesOf(values.from);
  const config = await readConfig(context);
  const target = values.project ? projectFile(config, context) : userFile(context);
  const { world, cwd } = context;
  const { layer } = target;
  const request = { world, env: world.env, cwd, projectPath: config.project, hasProject: true, layer };
  const planWith = async (secrets: SecretWay) =>
    planImport((await readImports(names ?? IMPORT_NAMES, request)).reads, {
      layer,
      existing: existingIn(config, values.project === true, context),
      mayReplace: values.replace === true,
      secrets,
      only: new Set(words),
    });
  const isDry = names === undefined || values["dry-run"] === true;
  const given = secretWay(values.secrets, layer);
  const first = await planWith(given ?? "file");
  refuseNothing(first, names, words);
  const asked = given === undefined && !isDry && values.json !== true ? await askAboutSecrets(first, context) : "file";
  const plan = asked === "keyring" ? await planWith(asked) : first;
  const done = isDry ? new Map<PlannedServer, DoneServer>() : await copy(plan, target, context);
  const facts = { target: target.path, isDry, isListing: names === undefined, secrets: given ?? asked, done };
  const files = plan.map((file) => fileJson(file, facts));
  const lines = plan.flatMap((file) => fileLines(file, facts, context));
  report(context, values.json, { target: target.path, isDry, files }, [
    ...lines,
    ...summaryLines(plan, facts, context),
  ]);
  const isFailed = [...done.values()].some(({ error }) => error !== undefined) || (!isDry && plan.some(isUnread));
  return isFailed ? EXIT.failed : EXIT.done;
};

/** Nothing could be made of it: whoever asked for its servers did not get them. */
function isUnread({ problems, servers }: PlannedFile): boolean {
  return servers.length === 0 && problems.some(({ severity }) => severity === "error");
}

/** Undefined when nothing is to be copied. */
function namesOf(given: readonly string[] | undefined): readonly ImportName[] | undefined {
  if (given === undefined) return undefined;
  const words = given.flatMap((text) => text.split(",")).flatMap((word) => word.trim() || []);
  if (words.includes("all")) return IMPORT_NAMES;
  return words.map((word) => {
    const known = IMPORT_NAMES.find((name) => name === word);
    if (known) return known;
    const meant = nearest(word, IMPORT_NAMES);
    const hint = meant === undefined ? `Known are ${IMPORT_NAMES.join(", ")} and all.` : `Did you mean ${meant}?`;
    throw new TenonError("usage.invalid", `there is no client ${JSON.stringify(word)}`, { hint });
  });
}

/** Undefined: nobody said, and a person may be asked. What a project's file holds is for others to read. */
function secretWay(given: string | undefined, layer: "user" | "project"): SecretWay | undefined {
  if (layer === "project") {
    if (given === "keyring" || given === "file") {
      throw new TenonError("usage.invalid", `--secrets ${given} does not go with --project`, {
        hint: "A project's file is for others too: there secrets become variables.",
      });
    }
    return "env";
  }
  return given === "file" || given === "keyring" || given === "env" ? given : undefined;
}

/** Of that very file, valid or not; layers name it as it was asked for, not by its real path. */
function existingIn(
  { servers }: EffectiveConfig,
  isProject: boolean,
  { world, cwd }: CommandContext,
): ReadonlyMap<string, JsonObject> {
  const file = isProject ? projectFiles(cwd).own : tenonPaths(world.env).configFile;
  const own = servers.filter(({ place }) => place.file === file && place.client === undefined);
  return new Map(own.map(({ name, written }) => [name, written ?? {}]));
}

function refuseNothing(
  plan: readonly PlannedFile[],
  names: readonly ImportName[] | undefined,
  words: readonly string[],
): void {
  const found = new Set(plan.flatMap(({ servers }) => servers.map(({ name }) => name)));
  const missing = words.find((word) => !found.has(word));
  if (missing !== undefined) {
    throw refused(`none of them has a server ${JSON.stringify(missing)}`, "tenon mcp import shows what there is.");
  }
  if (names === undefined || plan.length > 0) return;
  throw refused(`there is no file of ${names.join(", ")} here`, "tenon mcp import shows whose files there are.");
}

async function askAboutSecrets(plan: readonly PlannedFile[], context: CommandContext): Promise<SecretWay> {
  const copied = plan.flatMap(({ servers }) => servers).filter(isCopied);
  const found = copied.flatMap(({ name, secrets }) => secrets.map((secret) => `${name}: ${secret.key}.${secret.name}`));
  if (found.length === 0) return "file";
  const what = found.length === 1 ? "This looks like a secret" : `These ${found.length} look like secrets`;
  const list = found.map((one) => `  ${visibleLine(one)}\n`).join("");
  const question = `${what}:\n${list}Put into your keyring instead of the file? Type yes or no: `;
  return (await saysYes(context, question)) ? "keyring" : "file";
}

function isCopied({ action }: PlannedServer): boolean {
  return action === "add" || action === "replace";
}

/** One after the other, each on its own: what cannot be written costs the others nothing. */
async function copy(
  plan: readonly PlannedFile[],
  target: ConfigFile,
  context: CommandContext,
): Promise<ReadonlyMap<PlannedServer, DoneServer>> {
  const { world, keyring } = context;
  const done = new Map<PlannedServer, DoneServer>();
  for (const server of plan.flatMap(({ servers }) => servers).filter(isCopied)) {
    try {
      // First the keyring, then the file: a reference to nothing would be worse than none.
      for (const { account, value } of server.kept) {
        world.trace?.hide([value]);
        using deadline = world.deadline(LIMITS.secretTimeoutMs);
        await keyring.set(account, value, deadline.signal);
      }
      const { change, warnings } = await addServer(target, server.name, server.entry ?? {}, {
        mayReplace: server.action === "replace",
      });
      for (const text of warnings) warn(context, text);
      done.set(server, { change });
    } catch (thrown) {
      const { message, hint } = toTenonError(thrown);
      done.set(server, { error: `${message} ${hint}`.trim() });
    }
  }
  return done;
}

// What `tenon mcp import` found, would do and did, for people and for programs, secrets masked.

/** What became of one that was to be copied. */
interface DoneServer {
  readonly change?: Edited["change"];
  readonly error?: string;
}

interface ReportFacts {
  readonly target: string;
  /** Nothing was written. */
  readonly isDry: boolean;
  /** Nothing was asked for but a look. */
  readonly isListing: boolean;
  readonly secrets: SecretWay;
  readonly done: ReadonlyMap<PlannedServer, DoneServer>;
}

type Style = Pick<CommandContext, "columns" | "palette">;

const MARKS: Readonly<Record<ImportAction, { readonly sign: string; readonly style: keyof Palette }>> = {
  add: { sign: "+", style: "green" },
  replace: { sign: "+", style: "yellow" },
  same: { sign: "=", style: "dim" },
  conflict: { sign: "!", style: "yellow" },
  cannot: { sign: "✗", style: "red" },
  skip: { sign: "–", style: "dim" },
};

function fileLines(file: PlannedFile, facts: ReportFacts, { columns, palette }: Style): readonly string[] {
  const rows = file.servers.map((server) => [
    visibleLine(server.name),
    outcome(server, facts),
    visibleLine(targetOf(server.entry)),
  ]);
  const whose = file.owner === "project" ? " (this project's)" : "";
  return [
    `${palette.bold(file.label)}${whose}  ${palette.dim(visibleLine(file.file))}`,
    ...file.problems.map((problem) => `  ${palette.red(`✗ ${visibleLine(problemText(problem))}`)}`),
    ...(file.servers.length === 0 && file.problems.length === 0 ? [palette.dim("  no servers")] : []),
    ...renderTable(rows, { columns: columns - 4 }).flatMap((row, at) => {
      const server = file.servers[at];
      if (!server) return [];
      const { sign, style } = facts.done.get(server)?.error === undefined ? MARKS[server.action] : MARKS.cannot;
      return [
        `  ${palette[style](sign)} ${row}`,
        ...detailsOf(server, facts).map((line) => `      ${palette.dim(visibleLine(line))}`),
      ];
    }),
  ];
}

/** `add` before it is done, `added` after. */
function outcome(server: PlannedServer, { done }: ReportFacts): string {
  const made = done.get(server);
  return made === undefined ? server.action : (made.change ?? "failed");
}

function detailsOf(server: PlannedServer, facts: ReportFacts): readonly string[] {
  const { reason, notes, secrets } = server;
  const error = facts.done.get(server)?.error;
  const told = [error, reason].flatMap((text) => text ?? []);
  if (!isCopied(server)) return told;
  const hints = secrets.map(({ key, name, variable }) => secretText(`${key}.${name}`, variable, facts));
  return [...told, ...notes, ...hints];
}

function secretText(what: string, variable: string, { secrets, isDry }: ReportFacts): string {
  switch (secrets) {
    case "file":
      return `${what} looks like a secret, and ${isDry ? "would be written" : "was written"} to the file in plain text: see --secrets keyring|env`;
    case "keyring":
      return `${what} looks like a secret: ${isDry ? "it would go" : "it went"} into your keyring`;
    case "env":
      return `${what} looks like a secret: set the variable ${variable} to it`;
  }
}

function summaryLines(plan: readonly PlannedFile[], facts: ReportFacts, { palette }: Style): readonly string[] {
  const { isDry, isListing, target, done } = facts;
  const servers = plan.flatMap(({ servers: found }) => found);
  if (plan.length === 0)
    return ["No files of other clients here. tenon mcp add <name> -- command args… adds a server."];
  const count = (...actions: readonly ImportAction[]) =>
    servers.filter(({ action }) => actions.includes(action)).length;
  const copied = [...done.values()].filter(({ error }) => error === undefined).length;
  const amount = isDry ? count("add", "replace") : copied;
  const rest = [
    `${count("same")} there already`,
    `${count("conflict")} in conflict`,
    `${count("cannot", "skip")} not for Tenon`,
  ];
  const line = `${amount} ${isDry ? "would be copied" : "copied"} to ${visibleLine(target)}, ${rest.join(", ")}.`;
  const clients = [...new Set(plan.map(({ client }) => client))];
  if (!isListing) return [line];
  const use = `"import": ${JSON.stringify(clients)} in your config.json uses them as they are.`;
  return [line, palette.dim(`tenon mcp import --from ${clients.join(",")} copies them; ${use}`)];
}

function fileJson(file: PlannedFile, facts: ReportFacts): JsonObject {
  const { client, file: path, owner } = file;
  const servers = file.servers.map((server) => serverJson(server, facts));
  return { client, file: path, owner, problems: file.problems.map(problemJson), servers };
}

function serverJson(server: PlannedServer, { done }: ReportFacts): JsonObject {
  const { name, place, action, reason, entry, notes, secrets } = server;
  const made = done.get(server);
  return {
    name,
    source: placeJson(place),
    action,
    ...defined({
      change: made?.change,
      error: made?.error,
      reason,
      entry: entry && maskEntry(entry),
    }),
    notes,
    secrets: secrets.map(({ key, name: of }) => `${key}.${of}`),
  };
}
