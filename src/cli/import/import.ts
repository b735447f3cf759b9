// `tenon mcp import`: what other clients have, what would become of it, and the copying itself.
import { TenonError, toTenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { nearest } from "../../base/text/nearest.js";
import {
  addServer,
  type ConfigFile,
  type EffectiveConfig,
  IMPORT_NAMES,
  type ImportName,
  type PlannedFile,
  type PlannedServer,
  planImport,
  projectFiles,
  readImports,
  type SecretWay,
  tenonPaths,
} from "../../config/index.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { systemKeyring } from "../keyring.js";
import type { Given } from "../table/command.js";
import { visibleLine } from "../terminal/visible.js";
import { type DoneServer, fileJson, fileLines, type ReportFacts, summaryLines } from "./report.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly from?: string[] | undefined;
  readonly "dry-run"?: boolean | undefined;
  readonly replace?: boolean | undefined;
  readonly project?: boolean | undefined;
  readonly secrets?: string | undefined;
}

export async function runImport({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
  const names = namesOf(values.from);
  const config = await readConfig(context);
  const target = targetOf(values.project === true, config, context);
  const planWith = async (secrets: SecretWay) =>
    planImport(await readAll(names ?? IMPORT_NAMES, target.layer, config, context), {
      layer: target.layer,
      existing: existingIn(config, values.project === true, context),
      mayReplace: values.replace === true,
      secrets,
      only: new Set(words),
    });
  const isDry = names === undefined || values["dry-run"] === true;
  const given = secretWay(values.secrets, target.layer);
  const first = await planWith(given ?? "file");
  refuseNothing(first, names, words);
  const asked = given === undefined && !isDry && values.json !== true ? await askAboutSecrets(first, context) : "file";
  const plan = asked === "keyring" ? await planWith(asked) : first;
  const done = isDry ? new Map<PlannedServer, DoneServer>() : await copy(plan, target, context);
  const facts: ReportFacts = {
    target: target.path,
    isDry,
    isListing: names === undefined,
    secrets: given ?? asked,
    done,
  };
  if (values.json === true) {
    printJson(context, { target: target.path, isDry, files: plan.map((file) => fileJson(file, facts)) });
  } else {
    print(context, [...plan.flatMap((file) => fileLines(file, facts, context)), ...summaryLines(plan, facts, context)]);
  }
  const isFailed = [...done.values()].some(({ error }) => error !== undefined) || (!isDry && plan.some(isUnread));
  return isFailed ? EXIT.failed : EXIT.done;
}

/** Nothing could be made of it: whoever asked for its servers did not get them. */
function isUnread({ problems, servers }: PlannedFile): boolean {
  return servers.length === 0 && problems.some(({ severity }) => severity === "error");
}

/** Undefined when nothing is to be copied. */
function namesOf(given: readonly string[] | undefined): readonly ImportName[] | undefined {
  const words = given
    ?.flatMap((text) => text.split(","))
    .map((word) => word.trim())
    .filter((word) => word !== "");
  if (words === undefined) return undefined;
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

async function readAll(
  names: readonly ImportName[],
  layer: "user" | "project",
  config: EffectiveConfig,
  { world, cwd }: CommandContext,
): Promise<Awaited<ReturnType<typeof readImports>>["reads"]> {
  const request = { world, env: world.env, cwd, projectPath: config.project, hasProject: true, layer };
  return (await readImports(names, request)).reads;
}

function targetOf(isProject: boolean, { project }: EffectiveConfig, { world }: CommandContext): ConfigFile {
  if (isProject) return { world, path: projectFiles(project).own, layer: "project", within: project };
  const path = tenonPaths(world.env).configFile;
  if (path !== undefined) return { world, path, layer: "user" };
  throw new TenonError("config.unreadable", "there is no place for your configuration: HOME is not set", {
    hint: "Set HOME, or TENON_HOME, to a full path.",
  });
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
    throw new TenonError("config.invalid", `none of them has a server ${JSON.stringify(missing)}`, {
      hint: "tenon mcp import shows what there is.",
    });
  }
  if (names === undefined || plan.length > 0) return;
  throw new TenonError("config.invalid", `there is no file of ${names.join(", ")} here`, {
    hint: "tenon mcp import shows whose files there are.",
  });
}

async function askAboutSecrets(plan: readonly PlannedFile[], { ask }: CommandContext): Promise<SecretWay> {
  const copied = plan.flatMap(({ servers }) => servers).filter(isCopied);
  const found = copied.flatMap(({ name, secrets }) => secrets.map((secret) => `${name}: ${secret.key}.${secret.name}`));
  if (!ask || found.length === 0) return "file";
  const what = found.length === 1 ? "This looks like a secret" : `These ${found.length} look like secrets`;
  const answer = await ask(
    `${what}:\n${found.map((one) => `  ${visibleLine(one)}\n`).join("")}Put into your keyring instead of the file? Type yes or no: `,
  );
  return answer?.trim().toLowerCase() === "yes" ? "keyring" : "file";
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
  const done = new Map<PlannedServer, DoneServer>();
  for (const server of plan.flatMap(({ servers }) => servers).filter(isCopied)) {
    try {
      await keep(server, context);
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

/** First the keyring, then the file: a reference to nothing would be worse than none. */
async function keep({ kept }: PlannedServer, { world, keyring = systemKeyring(world) }: CommandContext): Promise<void> {
  for (const { account, value } of kept) {
    world.trace?.hide([value]);
    using deadline = world.deadline(LIMITS.secretTimeoutMs);
    await keyring.set(account, value, deadline.signal);
  }
}
