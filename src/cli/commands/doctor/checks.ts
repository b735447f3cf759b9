// The checks of `tenon doctor`: the configuration, models, servers, this machine, and what an editor would see.
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
  parseDocument,
  placeText,
  problemText,
  tenonPaths,
  whyNotReady,
} from "../../../config/index.js";
import { bubblewrap } from "../../../mcp/index.js";
import type { CommandContext } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { grantKeyStatus, grantKeyText } from "../../logins.js";
import { configuredModels } from "../../model.js";
import { secretResolver } from "../../secrets.js";
import { formatElapsed } from "../../terminal/stream.js";
import type { InspectedServer } from "../mcp/inspect.js";
import { nextFor, nextForUnused } from "../mcp/next-steps.js";
import { lookAtProviders } from "../models/models.js";
import { EDITORS, recipeFor } from "../setup/editors.js";

export interface Finding {
  /** `server.github`: stays the same from run to run. */
  readonly id: string;
  /** What was checked, in a word or two. */
  readonly subject: string;
  /** `wrong` makes the command fail; `odd` is worth a look; `unused` is not needed here. */
  readonly state: "ok" | "odd" | "wrong" | "unused";
  readonly text: string;
  /** Commands or steps, the likeliest first. */
  readonly cures?: readonly string[];
}

export function checkConfiguration(config: EffectiveConfig, { world }: CommandContext): readonly Finding[] {
  const subject = "configuration";
  const asServers = new Set(config.servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
  const problems = config.problems.filter((problem) => !asServers.has(problem));
  const findings = problems.map((problem, at): Finding => {
    const state = problem.severity === "error" ? "wrong" : "odd";
    const cures = [`correct ${placeText(problem.place)}`];
    return { id: `configuration.${at + 1}`, subject, state, text: problemText(problem), cures };
  });
  if (findings.length > 0) return findings;
  const file = tenonPaths(world.env).configFile;
  const isThere = file !== undefined && world.files.isFile(file);
  const counted = `${config.servers.length} ${config.servers.length === 1 ? "server" : "servers"}`;
  const text = isThere
    ? `${file}, ${counted} in all layers`
    : `no file of yours yet (${file ?? "no home"}), ${counted}`;
  return [{ id: "configuration", subject, state: "ok", text }];
}

export function checkTrust({ questions }: EffectiveConfig): Finding {
  const about = { id: "trust", subject: "trust" };
  if (questions.length === 0) return { ...about, state: "ok", text: "nothing of this project waits for a decision" };
  const names = questions.map(({ server }) => (server === undefined ? "its settings" : `server "${server}"`));
  return { ...about, state: "odd", text: `not approved of this project: ${names.join(", ")}`, cures: ["tenon trust"] };
}

/** A key that is refused is found here instead of in the first prompt. */
export async function checkModels(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
  const { world } = context;
  const available = await configuredModels(config, world, secretResolver(world));
  const { id } = available.first;
  const problem = available.problemOf(id);
  const providers = await lookAtProviders(config, context);
  const keys = providers.flatMap(({ name, key, problem: refusal, models }): Finding[] => {
    const about = { id: `key.${name}`, subject: `key of ${name}` };
    const cures = [`tenon acp --setup, or correct ${key ?? "its key"}`, "tenon models"];
    if (refusal !== undefined) return [{ ...about, state: "wrong", text: refusal, cures }];
    return key === undefined ? [] : [{ ...about, state: "ok", text: `from ${key}; ${models.length} models` }];
  });
  return [modelFinding(id, problem && toTenonError(problem).message), ...keys];
}

function modelFinding(id: string, problem: string | undefined): Finding {
  const about = { id: "model", subject: "model" };
  if (problem !== undefined) {
    return { ...about, state: "wrong", text: `${id}: ${problem}`, cures: ["tenon acp --setup", "tenon models"] };
  }
  if (!id.startsWith("offline/")) return { ...about, state: "ok", text: id };
  const text = `${id}: it matches words to tools and does not reason, since there is no key`;
  return { ...about, state: "odd", text, cures: ["tenon acp --setup"] };
}

/** Servers that were not connected to are judged by their entry. */
export function checkServers(inspected: readonly InspectedServer[]): readonly Finding[] {
  return inspected.filter(({ server }) => server.status !== "shadowed").map(serverFinding);
}

function serverFinding({ server, inspection }: InspectedServer): Finding {
  const about = { id: `server.${server.name}`, subject: `server ${server.name}` };
  if (server.status !== "ready") {
    const isFault = server.status === "invalid" || (server.status === "disabled" && server.isIntended !== true);
    const state = isFault ? "wrong" : server.status === "untrusted" ? "odd" : "unused";
    const text = whyNotReady(server) ?? server.status;
    return { ...about, state, text, cures: state === "unused" ? [] : nextForUnused(server) };
  }
  if (!inspection) return { ...about, state: "ok", text: "its entry is right; it was not started" };
  const { error, status, tools, tokens, quarantined } = inspection;
  if (error) return { ...about, state: "wrong", text: error.message, cures: nextFor(server, error) };
  const time = status?.connectMs === undefined ? "" : `, ready after ${formatElapsed(status.connectMs)}`;
  const text = `${tools.length} ${tools.length === 1 ? "tool" : "tools"}, about ${tokens} tokens${time}`;
  if (quarantined.length === 0) return { ...about, state: "ok", text };
  const cures = [`tenon mcp test ${server.name}`];
  return { ...about, state: "odd", text: `${text}; ${quarantined.length} quarantined`, cures };
}

/** As `engines` of the package says. */
const OLDEST_NODE = [20, 19] as const;

export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [needed, neededMinor] = OLDEST_NODE;
  const isNew = major > needed || (major === needed && minor >= neededMinor);
  const about = { id: "node", subject: "Node" };
  const text = `Node ${version}, Tenon ${VERSION}`;
  if (isNew) return { ...about, state: "ok", text };
  const needs = `${text}: Node ${OLDEST_NODE.join(".")} or newer is needed`;
  return { ...about, state: "wrong", text: needs, cures: ["install a newer Node"] };
}

/** Names only. No finding where no variable is withheld. */
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
  return [{ id: "commands.env", subject: "commands", state: "ok", text: words.join("; ") }];
}

export async function checkFolders({ world }: CommandContext): Promise<readonly Finding[]> {
  const paths = tenonPaths(world.env);
  return [
    await checkFolder(world, () => paths.stateDir, { id: "state", subject: "kept data" }),
    await checkFolder(world, () => paths.cacheDir, { id: "cache", subject: "caches" }),
  ];
}

async function checkFolder(world: World, find: () => string, about: Pick<Finding, "id" | "subject">): Promise<Finding> {
  let folder: string;
  try {
    folder = find();
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    return { ...about, state: "wrong", text: message, cures: [hint] };
  }
  const probe = join(folder, `.doctor-${Buffer.from(world.randomBytes(6)).toString("hex")}`);
  try {
    await world.files.writeAtomic(probe, "");
    await world.files.remove(probe);
  } catch (error) {
    const cures = [`make ${folder} writable, or set TENON_HOME to a folder that is`];
    return { ...about, state: "wrong", text: `${folder} cannot be written to: ${messageOf(error)}`, cures };
  }
  const mode = (await world.files.find(folder))?.mode ?? 0;
  const isOpen = world.platform !== "win32" && (mode & 0o022) !== 0;
  if (!isOpen) return { ...about, state: "ok", text: folder };
  return { ...about, state: "odd", text: `${folder} can be changed by others`, cures: [`chmod 700 '${folder}'`] };
}

/** Wrong only where something here asks for it. */
export async function checkSandbox(config: EffectiveConfig, { world }: CommandContext): Promise<Finding> {
  const about = { id: "sandbox", subject: "sandbox" };
  const isWanted = config.servers.some(
    (server) => server.status === "ready" && server.spec.kind === "stdio" && server.settings.sandbox.mode !== "off",
  );
  try {
    const { path } = await bubblewrap(world);
    return { ...about, state: "ok", text: `${path} works` };
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    const text = message.replace(/^not started: /u, "");
    if (isWanted) return { ...about, state: "wrong", text, cures: [hint] };
    return { ...about, state: "unused", text: `${text}; no server here asks for one` };
  }
}

export async function checkKeyring(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
  const { world } = context;
  const about = { id: "keyring", subject: "keyring" };
  const written = JSON.stringify([config.providers, config.servers.map((server) => server.written ?? {})]);
  const standing = await grantKeyStatus(world).catch(() => undefined);
  const logins: readonly Finding[] = standing
    ? [{ id: "logins", subject: "log-ins", state: "ok", text: grantKeyText(standing) }]
    : [];
  using deadline = world.deadline(CLI_LIMITS.keyringMs);
  try {
    await context.keyring.get("tenon-doctor", deadline.signal);
    return [{ ...about, state: "ok", text: "the system's keyring answers" }, ...logins];
  } catch (error) {
    const { message, hint } = toTenonError(error);
    const text = deadline.expired ? "the keyring did not answer: it may wait to be unlocked" : message;
    if (written.includes('"keyring:')) return [{ ...about, state: "wrong", text, cures: [hint] }, ...logins];
    return [{ ...about, state: "unused", text: `${text}; nothing here needs it` }, ...logins];
  }
}

/** Reads the editors' files and nothing else; one that cannot be read has no Tenon in it. */
export async function checkEditors({ world }: CommandContext): Promise<Finding> {
  const about = { id: "editors", subject: "editors" };
  const found: string[] = [];
  for (const editor of EDITORS) {
    const recipe = recipeFor(editor, { command: "", args: [] }, world);
    if (recipe.kind !== "file" || recipe.file === undefined || !world.files.isFile(recipe.file)) continue;
    const text = await world.files.readText(recipe.file).catch(() => "");
    let value: unknown = parseDocument(text).value;
    for (const key of recipe.path) value = isJsonObject(value) ? value[key] : undefined;
    if (value !== undefined) found.push(`${editor} (${recipe.file})`);
  }
  if (found.length > 0) return { ...about, state: "ok", text: `set up in ${found.join(", ")}` };
  const text = "Zed, JetBrains and VS Code do not have it yet; tenon setup prints what they need";
  return { ...about, state: "unused", text };
}

/** Starts Tenon as an editor would and opens a session, in a folder of its own: nothing of it is left. */
export async function checkEditor({ world }: CommandContext): Promise<Finding> {
  const about = { id: "editor", subject: "as an editor" };
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
  const request = requesting(child, deadline.signal);
  try {
    const { agentInfo } = await request(0, "initialize", { protocolVersion: 1, clientCapabilities: {} });
    const readyMs = world.monotonicMs() - beganMs;
    const opened = await request(1, "session/new", { cwd: home, mcpServers: [] });
    if (typeof opened["sessionId"] !== "string") throw new Error("no session was opened");
    const { name, version } = isJsonObject(agentInfo) ? agentInfo : {};
    const agent = [name, version].filter((word) => typeof word === "string").join(" ");
    return { ...about, state: "ok", text: `${agent} answers after ${formatElapsed(readyMs)} and opens sessions` };
  } catch (error) {
    const text = deadline.expired ? "tenon acp did not answer" : `tenon acp failed: ${messageOf(error)}`;
    return { ...about, state: "wrong", text, cures: ["tenon acp --trace trace.ndjson", "report it with the trace"] };
  } finally {
    await endTree(child, world, LIMITS.exitGrace);
    await world.files.remove(home);
  }
}

/** Sends a request to the agent and gives its result; rejects with its error, at its end, and when the signal aborts. */
function requesting(
  child: Child,
  signal: AbortSignal,
): (id: number, method: string, params: JsonObject) => Promise<JsonObject> {
  const waiting = new Map<number, { resolve(result: JsonObject): void; reject(error: Error): void }>();
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
    for (const waiter of waiting.values()) waiter.reject(new Error("it ended"));
  });
  ended.catch(() => {}); // it never rejects
  return async (id, method, params) => {
    const answer = new Promise<JsonObject>((resolve, reject) => waiting.set(id, { resolve, reject }));
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return await orAborted(answer, signal);
  };
}
