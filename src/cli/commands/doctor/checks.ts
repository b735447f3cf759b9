// The configuration, what waits for trust, and the model with its key.

import { join } from "node:path";
import { orAborted } from "../../../base/async/deadline.js";
import { messageOf, toTenonError } from "../../../base/errors.js";
import { endTree } from "../../../base/io/process.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { LineSplitter } from "../../../base/json/ndjson.js";
import { LIMITS } from "../../../base/limits.js";
import type { Child, World } from "../../../base/ports/world.js";
import { VERSION } from "../../../base/version.js";
import { commandEnvironment } from "../../../builtin/index.js";
import {
  type EffectiveConfig,
  type EffectiveServer,
  parseDocument,
  placeText,
  problemText,
  tenonPaths,
  whyNotReady,
} from "../../../config/index.js";
import { bubblewrap } from "../../../mcp/index.js";
import type { CommandContext } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { grantsStanding, standingText } from "../../login/grants.js";
import { configuredModels } from "../../model.js";
import { secretResolver } from "../../secrets.js";
import { formatElapsed } from "../../terminal/stream.js";
import { nextFor, nextForStanding } from "../mcp/next.js";
import type { LookedServer } from "../mcp/visit.js";
import { lookAtProviders } from "../models/models.js";
import { EDITORS, recipeFor } from "../setup/editors.js";

export function checkConfiguration(config: EffectiveConfig, { world }: CommandContext): readonly Finding[] {
  const asServers = new Set(config.servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
  const findings = config.problems
    .filter((problem) => !asServers.has(problem))
    .map((problem, at): Finding => {
      const id = `configuration.${at + 1}`;
      const text = problemText(problem);
      const cures = [`correct ${placeText(problem.place)}`];
      return problem.severity === "error"
        ? wrong(id, "configuration", text, cures)
        : odd(id, "configuration", text, cures);
    });
  const file = tenonPaths(world.env).configFile;
  const isThere = file !== undefined && world.files.isFile(file);
  const counted = `${config.servers.length} ${config.servers.length === 1 ? "server" : "servers"}`;
  const text = isThere
    ? `${file}, ${counted} in all layers`
    : `no file of yours yet (${file ?? "no home"}), ${counted}`;
  return findings.length > 0 ? findings : [ok("configuration", "configuration", text)];
}

export function checkTrust({ questions }: EffectiveConfig): Finding {
  if (questions.length === 0) return ok("trust", "trust", "nothing of this project waits for a decision");
  const names = questions.map(({ server }) => (server === undefined ? "its settings" : `server "${server}"`));
  return odd("trust", "trust", `this project wants to bring ${names.join(", ")}`, ["tenon trust"]);
}

/** A key that is refused is found out here instead of in the first prompt. */
export async function checkModels(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
  const { world } = context;
  const available = await configuredModels(config, world, secretResolver(world));
  const { id } = available.first;
  const problem = available.problemOf(id);
  const providers = await lookAtProviders(config, context);
  const keys = providers.flatMap(({ name, key, problem: refusal, models }): Finding[] => {
    const subject = `key of ${name}`;
    const cures = [`tenon acp --setup, or correct ${key ?? "its key"}`, "tenon models"];
    if (refusal !== undefined) return [wrong(`key.${name}`, subject, refusal, cures)];
    return key === undefined ? [] : [ok(`key.${name}`, subject, `from ${key}; ${models.length} models`)];
  });
  return [modelFinding(id, problem && toTenonError(problem)), ...keys];
}

function modelFinding(id: string, problem: ReturnType<typeof toTenonError> | undefined): Finding {
  if (problem) return wrong("model", "model", `${id}: ${problem.message}`, ["tenon acp --setup", "tenon models"]);
  if (id.startsWith("offline/")) {
    const text = `${id}: it matches words to tools and does not reason, since there is no key`;
    return odd("model", "model", text, ["tenon acp --setup"]);
  }
  return ok("model", "model", id);
}

// Every server of the configuration: connected to where a session would, else why not.

export function checkServers(looked: readonly LookedServer[]): readonly Finding[] {
  return looked.filter(({ server }) => server.status !== "shadowed").map(findingOf);
}

/** Without starting any. */
export function checkEntries({ servers }: EffectiveConfig): readonly Finding[] {
  return checkServers(servers.map((server) => ({ server })));
}

function findingOf({ server, look }: LookedServer): Finding {
  const id = `server.${server.name}`;
  const subject = `server ${server.name}`;
  if (server.status !== "ready") return standing(server, { id, subject });
  if (!look) return { id, subject, state: "ok", text: "its entry is right; it was not started" };
  const { error, status, tools, tokens, quarantined } = look;
  if (error) return wrong(id, subject, error.message, nextFor(server, error));
  const time = status?.connectMs === undefined ? "" : `, ready after ${formatElapsed(status.connectMs)}`;
  const text = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}, about ${tokens} tokens${time}`;
  if (quarantined.length === 0) return ok(id, subject, text);
  return odd(id, subject, `${text}; ${quarantined.length} quarantined`, [`tenon mcp test ${server.name}`]);
}

function standing(
  server: Exclude<EffectiveServer, { status: "ready" }>,
  { id, subject }: Pick<Finding, "id" | "subject">,
): Finding {
  const text = whyNotReady(server) ?? server.status;
  const next = nextForStanding(server);
  const isFault = server.status === "invalid" || (server.status === "disabled" && server.isIntended !== true);
  if (isFault) return wrong(id, subject, text, next);
  return server.status === "untrusted" ? odd(id, subject, text, next) : { id, subject, state: "unused", text };
}

// Node, the folders Tenon writes to, the sandbox and the keyring of this machine.

/** As `engines` of the package says. */
const OLDEST_NODE = [20, 19] as const;

export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [needed, neededMinor] = OLDEST_NODE;
  const isNew = major > needed || (major === needed && minor >= neededMinor);
  const text = `Node ${version}, Tenon ${VERSION}`;
  if (isNew) return ok("node", "Node", text);
  return wrong("node", "Node", `${text}: Node ${OLDEST_NODE.join(".")} or newer is needed`, ["install a newer Node"]);
}

/** Names only. Nothing is said where nothing is withheld. */
export function checkCommandEnvironment(
  { commandVariables = [] }: EffectiveConfig,
  { world }: CommandContext,
): readonly Finding[] {
  const { withheld } = commandEnvironment(world, commandVariables);
  const all = commandEnvironment(world).withheld;
  if (all.length === 0) return [];
  const allowed = all.filter((name) => !withheld.includes(name));
  const words = [
    ...(withheld.length === 0 ? [] : [`not given to commands, as they look like secrets: ${withheld.join(", ")}`]),
    ...(allowed.length === 0 ? [] : [`given all the same (commands.env.allow): ${allowed.join(", ")}`]),
  ];
  return [ok("commands.env", "commands", words.join("; "))];
}

export async function checkFolders({ world }: CommandContext): Promise<readonly Finding[]> {
  const paths = tenonPaths(world.env);
  return [
    await checkFolder(world, () => paths.stateDir, { id: "state", subject: "kept data" }),
    await checkFolder(world, () => paths.cacheDir, { id: "cache", subject: "caches" }),
  ];
}

async function checkFolder(
  world: World,
  find: () => string,
  { id, subject }: Pick<Finding, "id" | "subject">,
): Promise<Finding> {
  let folder: string;
  try {
    folder = find();
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    return wrong(id, subject, message, [hint]);
  }
  const probe = join(folder, `.doctor-${Buffer.from(world.randomBytes(6)).toString("hex")}`);
  try {
    await world.files.writeAtomic(probe, "");
    await world.files.remove(probe);
  } catch (error) {
    const cures = [`make ${folder} writable, or set TENON_HOME to a folder that is`];
    return wrong(id, subject, `${folder} cannot be written to: ${messageOf(error)}`, cures);
  }
  const mode = (await world.files.find(folder))?.mode ?? 0;
  const isOpen = world.platform !== "win32" && (mode & 0o022) !== 0;
  if (isOpen) return odd(id, subject, `${folder} can be changed by others`, [`chmod 700 '${folder}'`]);
  return ok(id, subject, folder);
}

/** Wrong only where something here asks for it. */
export async function checkSandbox(config: EffectiveConfig, { world }: CommandContext): Promise<Finding> {
  const isWanted = config.servers.some(
    (server) => server.status === "ready" && server.spec.kind === "stdio" && server.settings.sandbox.mode !== "off",
  );
  try {
    const { path } = await bubblewrap(world);
    return ok("sandbox", "sandbox", `${path} works`);
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    const text = message.replace(/^not started: /u, "");
    if (isWanted) return wrong("sandbox", "sandbox", text, [hint]);
    return { id: "sandbox", subject: "sandbox", state: "unused", text: `${text}; no server here asks for one` };
  }
}

export async function checkKeyring(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
  const { world } = context;
  const isWanted = JSON.stringify([config.providers, config.servers.map(({ written }) => written ?? {})]).includes(
    '"keyring:',
  );
  const standing = await grantsStanding(world).catch(() => undefined);
  const logins = standing ? [ok("logins", "log-ins", standingText(standing))] : [];
  using deadline = world.deadline(CLI_LIMITS.keyringMs);
  try {
    await context.keyring.get("tenon-doctor", deadline.signal);
    return [ok("keyring", "keyring", "the system's keyring answers"), ...logins];
  } catch (error) {
    const { message, hint } = toTenonError(error);
    const text = deadline.expired ? "the keyring did not answer: it may wait to be unlocked" : message;
    if (isWanted) return [wrong("keyring", "keyring", text, [hint]), ...logins];
    const unused = {
      id: "keyring",
      subject: "keyring",
      state: "unused",
      text: `${text}; nothing here needs it`,
    } as const;
    return [unused, ...logins];
  }
}

// Which editors on this machine have Tenon in their configuration.

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

// What an editor would see: Tenon started as one would start it, asked who it is, and a session opened.

/** The session is opened in a folder of its own, so that nothing of it is left and no server is started for it. */
export async function checkEditor(context: CommandContext): Promise<Finding> {
  const { world } = context;
  const [, script = ""] = process.argv;
  const home = world.files.scratchFolder();
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) if (value !== undefined) env[name] = value;
  const child = world.spawn({
    command: process.execPath,
    args: [script, "acp"],
    env: { ...env, TENON_HOME: home, TENON_LOG: "error" },
    cwd: home,
  });
  child.stderr.resume();
  child.stdin.on("error", () => {});
  using deadline = world.deadline(CLI_LIMITS.editorMs);
  const beganMs = world.monotonicMs();
  try {
    const answers = answersOf(child);
    child.stdin.write(line(0, "initialize", { protocolVersion: 1, clientCapabilities: {} }));
    const about = await orAborted(answers(0), deadline.signal);
    const readyMs = world.monotonicMs() - beganMs;
    child.stdin.write(line(1, "session/new", { cwd: home, mcpServers: [] }));
    const opened = await orAborted(answers(1), deadline.signal);
    if (typeof opened["sessionId"] !== "string") throw new Error("no session was opened");
    const { name, version } = isJsonObject(about["agentInfo"]) ? about["agentInfo"] : {};
    const who = [name, version].filter((word) => typeof word === "string").join(" ");
    return ok("editor", "as an editor", `${who} answers after ${formatElapsed(readyMs)} and opens sessions`);
  } catch (error) {
    const text = deadline.expired ? "tenon acp did not answer" : `tenon acp failed: ${messageOf(error)}`;
    return wrong("editor", "as an editor", text, ["tenon acp --trace trace.ndjson", "report it with the trace"]);
  } finally {
    await endTree(child, world, LIMITS.exitGrace);
    await world.files.remove(home);
  }
}

function line(id: number, method: string, params: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}

interface Waiter {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

/** The result of the request with an id; rejects with its error. */
function answersOf(child: Child): (id: number) => Promise<JsonObject> {
  const waiting = new Map<number, Waiter>();
  const lines = new LineSplitter(LIMITS.acpMaxLineBytes);
  child.stdout.on("data", (chunk: Buffer) => {
    for (const read of lines.push(chunk)) {
      const parsed = read.kind === "line" ? parseJson(read.text) : undefined;
      if (!parsed?.ok || !isJsonObject(parsed.value)) continue;
      const { id, result, error } = parsed.value;
      const waiter = typeof id === "number" ? waiting.get(id) : undefined;
      if (isJsonObject(result)) waiter?.resolve(result);
      else if (isJsonObject(error)) waiter?.reject(new Error(messageOf(error)));
    }
  });
  const ended = child.exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error("it ended"));
  });
  ended.catch(() => {}); // it never rejects
  return (id) => new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

// What one check of the doctor found, and what to do about it.

export interface Finding {
  /** `server.github`: stays the same from run to run. */
  readonly id: string;
  /** What was looked at, in a word or two. */
  readonly subject: string;
  /** `wrong` makes the command fail; `odd` is worth a look; `unused` is not needed here. */
  readonly state: "ok" | "odd" | "wrong" | "unused";
  readonly text: string;
  /** Commands or steps, the most likely first. */
  readonly cures?: readonly string[];
}

function ok(id: string, subject: string, text: string): Finding {
  return { id, subject, state: "ok", text };
}

function wrong(id: string, subject: string, text: string, cures: readonly string[]): Finding {
  return { id, subject, state: "wrong", text, cures };
}

function odd(id: string, subject: string, text: string, cures: readonly string[] = []): Finding {
  return { id, subject, state: "odd", text, cures };
}
