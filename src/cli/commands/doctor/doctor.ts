// `tenon doctor`: checks everything a session here needs, and ends with what to do.
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { orAborted } from "../../../base/async/deadline.js";
import { messageOf, toTenonError } from "../../../base/errors.js";
import { endTree } from "../../../base/io/process.js";
import { isJsonObject } from "../../../base/json/json.js";
import { LIMITS } from "../../../base/limits.js";
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
import { configuredEmbedder } from "../../../session/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, report } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { configuredModels } from "../../model.js";
import { definedVariables, grantKeyStatus, grantKeyText, secretResolver } from "../../secrets.js";
import { progress } from "../../terminal/screen.js";
import { formatElapsed, type Palette } from "../../terminal/stream.js";
import { displayWidth, padToWidth, visible, visibleLine, wrapText } from "../../terminal/text.js";
import { askGateway, socketOf } from "../gateway/control.js";
import { type InspectedServer, inspectAll, liveConfig } from "../mcp/inspect.js";
import { nextFor, nextForUnused } from "../mcp/next-steps.js";
import { lookAtProviders } from "../models/models.js";
import { EDITORS, recipeFor } from "../setup/editors.js";

interface Finding {
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

export const runDoctor: Run<Values<"json" | "no-connect">> = async ({ values }, context) => {
  const findings = await examine(context, values["no-connect"] !== true);
  const isWell = findings.every(({ state }) => state !== "wrong");
  const shown = findings.map(({ id, subject, state, text, cures = [] }) => ({ id, subject, state, text, cures }));
  report(context, values.json, { isWell, findings: shown }, findingLines(findings, context));
  return isWell ? EXIT.done : EXIT.failed;
};

async function examine(context: CommandContext, mayConnect: boolean): Promise<readonly Finding[]> {
  const config = await liveConfig(context);
  const servers = mayConnect
    ? await inspectAll(config, context, { timeoutMs: CLI_LIMITS.connectMs })
    : config.servers.map((server) => ({ server }));
  using _shown = progress(context, "Looking at this machine…");
  const [meaning, state, cache, models, sandbox, keyring, gateway, editor, editors] = await Promise.all([
    checkMeaning(config, context),
    checkFolder("stateDir", context),
    checkFolder("cacheDir", context),
    checkModels(config, context),
    checkSandbox(config, context),
    checkKeyring(config, context),
    checkGateway(context),
    checkEditor(context),
    checkEditors(context),
  ]);
  return [
    checkNode(),
    ...checkConfiguration(config, context),
    checkTrust(config),
    ...models,
    ...meaning,
    ...servers.filter(({ server }) => server.status !== "shadowed").map((one) => checkServer(one, context.world.env)),
    sandbox,
    ...checkCommandEnvironment(config, context),
    ...keyring,
    state,
    cache,
    gateway,
    editor,
    editors,
  ];
}

const MARKS: Readonly<Record<Finding["state"], { readonly sign: string; readonly style: keyof Palette }>> = {
  ok: { sign: "✓", style: "green" },
  odd: { sign: "!", style: "yellow" },
  wrong: { sign: "✗", style: "red" },
  unused: { sign: "–", style: "dim" },
};

/** A subject wider than this pushes its text to the next line. */
const SUBJECT_COLUMNS = 24;

/** The findings, and below them what to do: that is read last. */
function findingLines(findings: readonly Finding[], { columns, palette }: CommandContext): readonly string[] {
  const widths = findings.map(({ subject }) => displayWidth(visibleLine(subject)));
  const width = Math.min(SUBJECT_COLUMNS, Math.max(...widths));
  const margin = " ".repeat(width + 4);
  const textWidth = Math.max(30, Math.min(columns, 120) - margin.length);
  const lines = findings.flatMap(({ state, subject, text }) => {
    const { sign, style } = MARKS[state];
    const name = visibleLine(subject);
    const texts = visible(text).split("\n");
    const [first = "", ...more] = texts.flatMap((line) => wrapText(line.trimEnd(), textWidth));
    const head = `${palette[style](sign)} ${padToWidth(name, width)}`;
    const rest = more.map((line) => margin + line);
    return displayWidth(name) > width ? [head, margin + first, ...rest] : [`${head}  ${first}`, ...rest];
  });
  return [...lines, "", ...toDo(findings, palette)];
}

/** Wrong findings first, then odd ones: each with its cures. */
function toDo(findings: readonly Finding[], palette: Palette): readonly string[] {
  const wrong = findings.filter(({ state }) => state === "wrong");
  const odd = findings.filter(({ state, cures = [] }) => state === "odd" && cures.length > 0);
  if (wrong.length === 0 && odd.length === 0) return [palette.green("All is well.")];
  const section = (title: string, ones: readonly Finding[]) => {
    const lines = ones.map(({ subject, cures = [] }, at) => {
      return `  ${at + 1}. ${visibleLine(subject)}: ${cures.map(visibleLine).join(", or ")}`;
    });
    return ones.length === 0 ? [] : [palette.bold(title), ...lines];
  };
  const count = `${wrong.length} ${wrong.length === 1 ? "thing is" : "things are"} wrong. What to do:`;
  return [...section(count, wrong), ...section("Worth a look:", odd)];
}

function checkConfiguration(config: EffectiveConfig, { world }: CommandContext): readonly Finding[] {
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

function checkTrust({ questions }: EffectiveConfig): Finding {
  const about = { id: "trust", subject: "trust" };
  if (questions.length === 0) return { ...about, state: "ok", text: "nothing of this project waits for a decision" };
  const names = questions.map(({ server }) => (server === undefined ? "its settings" : `server "${server}"`));
  return { ...about, state: "odd", text: `not approved of this project: ${names.join(", ")}`, cures: ["tenon trust"] };
}

/** A key that is refused is found here instead of in the first prompt. */
async function checkModels(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
  const { world } = context;
  const available = await configuredModels(config, world, secretResolver(world));
  const { id } = available.first;
  const problem = available.problemOf(id);
  const keys = (await lookAtProviders(config, context)).flatMap(
    ({ name, key, problem: refusal, models }): Finding[] => {
      const about = { id: `key.${name}`, subject: `key of ${name}` };
      const cures = [`tenon login, or correct ${key ?? "its key"}`, "tenon models"];
      if (refusal !== undefined) return [{ ...about, state: "wrong", text: refusal, cures }];
      return key === undefined ? [] : [{ ...about, state: "ok", text: `from ${key}; ${models.length} models` }];
    },
  );
  return [modelFinding(id, problem && toTenonError(problem).message), ...keys];
}

/** One text is embedded, as the first search would. No finding where meaning is not configured. */
async function checkMeaning(config: EffectiveConfig, { world }: CommandContext): Promise<readonly Finding[]> {
  if (!config.embeddings) return [];
  const about = { id: "search.embeddings", subject: "search by meaning" };
  const embedder = configuredEmbedder(config, { world, resolveSecret: secretResolver(world) });
  using deadline = world.deadline(CLI_LIMITS.embeddingMs);
  const startedMs = world.monotonicMs();
  try {
    const [vector = []] = await orAborted(embedder.embed(["tenon doctor"], deadline.signal, "query"), deadline.signal);
    const time = formatElapsed(world.monotonicMs() - startedMs);
    return [{ ...about, state: "ok", text: `${embedder.id} gives ${vector.length} numbers after ${time}` }];
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    const late = `${embedder.id} gave no answer within ${CLI_LIMITS.embeddingMs / 1_000} s`;
    const text = `${deadline.expired ? late : message} Until then tools are found by their words.`;
    return [{ ...about, state: "wrong", text, cures: [hint, "correct search.embeddings in your configuration"] }];
  }
}

function modelFinding(id: string, problem: string | undefined): Finding {
  const about = { id: "model", subject: "model" };
  if (problem !== undefined) {
    return { ...about, state: "wrong", text: `${id}: ${problem}`, cures: ["tenon login", "tenon models"] };
  }
  if (!id.startsWith("offline/")) return { ...about, state: "ok", text: id };
  const text = `${id}: it matches words to tools and does not reason, since there is no key`;
  return { ...about, state: "odd", text, cures: ["tenon login"] };
}

/** A server that was not connected to is judged by its entry. */
function checkServer({ server, inspection }: InspectedServer, env: CommandContext["world"]["env"]): Finding {
  const about = { id: `server.${server.name}`, subject: `server ${server.name}` };
  if (server.status !== "ready") {
    const isFault = server.status === "invalid" || (server.status === "disabled" && server.isIntended !== true);
    const state = isFault ? "wrong" : server.status === "untrusted" ? "odd" : "unused";
    const text = whyNotReady(server) ?? server.status;
    return { ...about, state, text, cures: state === "unused" ? [] : nextForUnused(server, env) };
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

function checkNode(): Finding {
  const version = process.versions.node;
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
function checkCommandEnvironment(
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

const PROBE_BYTES = 65_536;

async function checkFolder(which: "stateDir" | "cacheDir", { world }: CommandContext): Promise<Finding> {
  const about = which === "stateDir" ? { id: "state", subject: "kept data" } : { id: "cache", subject: "caches" };
  let folder: string;
  try {
    folder = tenonPaths(world.env)[which];
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    return { ...about, state: "wrong", text: message, cures: [hint] };
  }
  const probe = join(folder, `.doctor-${Buffer.from(world.randomBytes(6)).toString("hex")}`);
  try {
    await world.files.writeAtomic(probe, "x".repeat(PROBE_BYTES)); // an empty file fits on a full disk
    await world.files.remove(probe);
  } catch (error) {
    const cures = [`make room there, or make ${folder} writable, or set TENON_HOME to another folder`];
    return { ...about, state: "wrong", text: `${folder} cannot be written to: ${messageOf(error)}`, cures };
  }
  const mode = (await world.files.find(folder))?.mode ?? 0;
  const isOpen = world.platform !== "win32" && (mode & 0o022) !== 0;
  if (!isOpen) return { ...about, state: "ok", text: folder };
  return { ...about, state: "odd", text: `${folder} can be changed by others`, cures: [`chmod 700 '${folder}'`] };
}

/** Wrong only where something here asks for it. */
async function checkSandbox(config: EffectiveConfig, { world }: CommandContext): Promise<Finding> {
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

async function checkKeyring(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
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

async function checkGateway(context: CommandContext): Promise<Finding> {
  const about = { id: "gateway", subject: "gateway" };
  try {
    const status = await askGateway(socketOf(context, undefined), "_tenon/gateway/status", {});
    if (!status) {
      const text = "none runs; with tenon setup EDITOR --gateway sessions go on when the editor ends";
      return { ...about, state: "unused", text };
    }
    const { version, pid, questions } = status;
    const sessions = isJsonObject(status["sessions"]) ? Object.entries(status["sessions"]) : [];
    const counts = sessions.flatMap(([state, count]) => (count === 0 ? [] : [`${JSON.stringify(count)} ${state}`]));
    const doing = counts.length === 0 ? "no session open" : `sessions: ${counts.join(", ")}`;
    const text = `process ${JSON.stringify(pid)}; ${doing}`;
    if (version !== VERSION) {
      const cures = ["tenon gateway stop: the next editor starts the newer one"];
      return { ...about, state: "odd", text: `${text}; it is of Tenon ${JSON.stringify(version)}`, cures };
    }
    if (questions === 0) return { ...about, state: "ok", text };
    const cures = ["tenon sessions list --all, then tenon attach SESSION"];
    return { ...about, state: "odd", text: `${text}; ${JSON.stringify(questions)} open questions`, cures };
  } catch (thrown) {
    const { message } = toTenonError(thrown);
    return { ...about, state: "wrong", text: message, cures: ["tenon gateway logs", "tenon gateway stop"] };
  }
}

/** Reads the editors' files and nothing else; one that cannot be read has no Tenon in it. */
async function checkEditors({ world }: CommandContext): Promise<Finding> {
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
async function checkEditor({ world }: CommandContext): Promise<Finding> {
  const about = { id: "editor", subject: "as an editor" };
  const [, script = ""] = process.argv;
  const home = world.files.scratchFolder();
  const env = { ...definedVariables(world), TENON_HOME: home, TENON_LOG: "error" };
  const child = world.spawn({ command: process.execPath, args: [script, "acp"], env, cwd: home });
  child.stderr.resume();
  child.stdin.on("error", () => {});
  using deadline = world.deadline(CLI_LIMITS.editorMs);
  const beganMs = world.monotonicMs();
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const connection = client({ name: "tenon-doctor" }).connect(stream);
  const { agent } = connection;
  try {
    const initializing = agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { agentInfo } = await orAborted(initializing, deadline.signal);
    const readyMs = world.monotonicMs() - beganMs;
    const opening = agent.request(methods.agent.session.new, { cwd: home, mcpServers: [] });
    await orAborted(opening, deadline.signal);
    const name = `${agentInfo?.name ?? ""} ${agentInfo?.version ?? ""}`.trim();
    return { ...about, state: "ok", text: `${name} answers after ${formatElapsed(readyMs)} and opens sessions` };
  } catch (error) {
    const text = deadline.expired ? "tenon acp did not answer" : `tenon acp failed: ${messageOf(error)}`;
    return { ...about, state: "wrong", text, cures: ["tenon acp --trace trace.ndjson", "report it with the trace"] };
  } finally {
    connection.close();
    await endTree(child, world, LIMITS.exitGrace);
    await world.files.remove(home);
  }
}
