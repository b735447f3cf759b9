// The slash commands of a session: answered by Tenon itself, in Markdown, in any editor and in the terminal chat.
import { messageOf } from "../base/errors.js";
import { includeMode } from "../base/include-mode.js";
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";
import { markForeign } from "../base/text/marking.js";
import { maskEntry, type TypedServer } from "../config/index.js";
import type { ServerSpec } from "../mcp/index.js";
import type { ModelUsage } from "../models/index.js";
import {
  type CatalogView,
  grantId,
  grantLabel,
  type KeptDecision,
  type OfferedGrant,
  type Selection,
  type ViewedTool,
} from "../tools/index.js";
import type { CommandInfo, ServerChange, ServerStatus } from "./events.js";
import type { SessionLogins } from "./login/session-logins.js";
import type { SenderRights } from "./ports.js";
import { sandboxWords } from "./servers/sandbox.js";
import type { SessionServers } from "./servers/servers.js";
import type { SessionSettings } from "./settings.js";
import type { SessionTools } from "./tools/tools.js";

/** What commands may look at and change. */
export interface CommandContext {
  readonly tools: SessionTools["controls"];
  /** The servers of this session; a change of them is written nowhere. */
  readonly servers: Pick<
    SessionServers,
    "open" | "statuses" | "connected" | "restart" | "enable" | "disable" | "add" | "remove"
  >;
  /** What the sender may do; everything unless given. */
  readonly may?: SenderRights;
  /** Reads the words behind `/mcp add`, for this sender. */
  typedServer(words: string): Promise<TypedServer>;
  readonly permissions: Pick<SessionTools["permissions"], "decisions" | "revoke">;
  readonly grantServer: SessionTools["grantServer"];
  readonly logins: Pick<SessionLogins, "login">;
  /** Shows something before the answer that is for this moment: it is not kept with the conversation. */
  show(text: string): Promise<void>;
  readonly settings: Pick<SessionSettings, "view" | "set" | "available">;
  /** Every command there is now, those of servers included. */
  readonly commands: readonly CommandInfo[];
  /** Of the session so far. */
  readonly usage: ModelUsage;
  /** One call in this turn, as the model's are made; the model hears nothing of it. */
  readonly callTool: (name: string, argumentsJson: string) => Promise<void>;
  /** Shortens the conversation; what came of it is told by its own events. */
  readonly compact: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** What a sender needs besides the right to send prompts. */
type Right = "approve" | "tools";

interface Command extends CommandInfo {
  /** By the first word of those given. */
  readonly needs?: Readonly<Record<string, Right>>;
  /** The answer, in Markdown; empty when everything was said by other means. Rejects only for a bug. */
  run(words: string, context: CommandContext): Promise<string>;
}

/** Words of others, as part of a line of Markdown. */
export function oneLine(text: string, maxChars = 200): string {
  const line = markForeign(text).replaceAll(/\s+/gu, " ").replaceAll("`", "'").trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1)}…`;
}

/** The first word, and the others as one text. */
function verbAndName(words: string): readonly [string, string] {
  const [verb = "", ...rest] = words.split(/\s+/u).filter((word) => word !== "");
  return [verb, rest.join(" ")];
}

const mcpCommand: Command = {
  name: "mcp",
  description: "The MCP servers of this session and their state; restarts, switches, adds and removes them",
  input:
    "[<server> | restart|enable|disable|remove <server> | login <server> [paste] | add <server> <url> | add <server> -- <command and arguments>]",
  needs: {
    ...{ restart: "tools", enable: "tools", disable: "tools", remove: "tools" },
    ...{ login: "tools", add: "tools" },
  },
  async run(words, context) {
    const [verb, name] = verbAndName(words);
    switch (verb) {
      case "":
        return context.servers.statuses.map(serverLine).join("\n") || "No MCP servers in this session.";
      case "restart":
      case "enable":
      case "disable":
      case "remove":
      case "login":
        if (name === "") return `Say which server: \`/mcp ${verb} <server>\`.`;
        if (verb === "login") return await login(name, context);
        return await outcome(await context.servers[verb](name), name, context);
      case "add": {
        const read = await context.typedServer(words.slice(verb.length));
        if ("problem" in read) return `Nothing changed: ${oneLine(read.problem, 500)}.\n${ADD_FORM}`;
        return await outcome(await context.servers.add(read.spec), read.spec.name, context);
      }
      default: {
        const wanted = verb === "get" ? name : words;
        const found = context.servers.statuses.filter((one) => one.name === wanted);
        if (found.length > 0) return found.map((status) => serverDetails(status, context)).join("\n");
        const known = context.servers.statuses.map((one) => oneLine(one.name)).join(", ") || "none";
        const verbs = "restart, enable, disable, add, remove, login";
        return `There is no server "${oneLine(wanted, 80)}" in this session; there are: ${known}. Or use ${verbs}.`;
      }
    }
  },
};

/** With the state of the server after the change. */
async function outcome(switched: ServerChange, name: string, context: CommandContext): Promise<string> {
  if (!switched.ok) return `Nothing changed: ${oneLine(switched.reason, 500)}.`;
  await context.servers.connected(context.signal);
  const server = context.servers.statuses.find((one) => one.name === name);
  return [oneLine(switched.text, 500), ...(server ? [serverLine(server)] : [])].join("\n");
}

/** `paste`: the browser is on another machine, so the address it ends at is asked for. */
async function login(words: string, context: CommandContext): Promise<string> {
  const isNamed = context.servers.statuses.some((one) => one.name === words);
  const [, before = words] = (isNamed ? undefined : /^(.*\S)\s+paste$/u.exec(words)) ?? [];
  const talk = { show: (text: string) => context.show(text), isPasted: before !== words };
  return await outcome(await context.logins.login(before, talk, context.signal), before, context);
}

function serverLine(status: ServerStatus): string {
  const { name, origin, state, toolCount, sandbox, error, hint, note, problems = [] } = status;
  const tools = toolCount === 1 ? "1 tool" : `${toolCount} tools`;
  const lines = [
    `- **${oneLine(name)}** (${origin}): ${state}, ${tools}${sandbox ? `, ${sandboxWords(sandbox)}` : ""}`,
  ];
  if (error !== undefined) lines.push(`  ${oneLine(error, 500)}`);
  if (hint !== undefined && state === "failed") lines.push(`  ${oneLine(hint)}`);
  if (note !== undefined) lines.push(`  ${oneLine(note)}`);
  for (const problem of problems) lines.push(`  ${oneLine(problem)}`);
  return lines.join("\n");
}

const ADD_FORM =
  "Write `/mcp add <server> <url>` with `--header NAME=VALUE`, or `/mcp add <server> --env NAME=VALUE -- <command> <arguments>`, as `tenon mcp add` takes it.";

/** What is known of one server: how it is reached, how it answered, and what became of its tools. */
function serverDetails(status: ServerStatus, { servers, tools }: CommandContext): string {
  const { name, origin, server, era, protocolVersion, connectMs } = status;
  const open = servers.open.find(({ connection, source }) => connection.spec.name === name && source.origin === origin);
  const { request, behindSearch } = tools.inspect();
  const offered = request.filter(({ tool }) => tool.source === name && tool.origin === origin);
  const behind = behindSearch.reduce((sum, one) => (one.server === name ? sum + one.count : sum), 0);
  const lines = [serverLine(status)];
  if (open) lines.push(...reachLines(open.connection.spec));
  if (server) lines.push(`  calls itself ${oneLine(`${server.title ?? server.name} ${server.version}`)}`);
  if (protocolVersion !== undefined) lines.push(`  protocol ${oneLine(protocolVersion)}${era ? ` (${era})` : ""}`);
  if (connectMs !== undefined) lines.push(`  ready after ${connectMs} ms`);
  if (behind > 0) lines.push(`  ${behind} of its tools behind search`);
  return [...lines, ...offered.map(toolLine)].join("\n");
}

/** Names of variables and headers only: their values may be secrets. */
function reachLines(spec: ServerSpec): readonly string[] {
  if (spec.kind === "acp") return ["  reached through the client"];
  const names = (what: string, values: Readonly<Record<string, string>>) => {
    const keys = Object.keys(values);
    return keys.length === 0 ? [] : [`  ${what}: ${oneLine(keys.join(", "), LINE_CHARS)}`];
  };
  if (spec.kind !== "stdio") {
    const { url } = maskEntry({ url: spec.url });
    const shown = typeof url === "string" ? oneLine(url, LINE_CHARS) : "a masked address";
    return [`  at ${shown} (${spec.kind})`, ...names("headers", spec.headers)];
  }
  const { args } = maskEntry({ command: spec.command, args: [...spec.args] });
  const words = [spec.command, ...(Array.isArray(args) ? args : [])].map((word) => {
    return /^[^\s"'\\]+$/u.test(String(word)) ? String(word) : JSON.stringify(word);
  });
  return [`  runs \`${oneLine(words.join(" "), LINE_CHARS)}\``, ...names("variables", spec.env)];
}

const toolsCommand: Command = {
  name: "tools",
  description:
    "The tools of this session; searches them, adds or removes one, or changes how they come before the model",
  input:
    "[words to search for | add <tool> | remove <tool or server> | always|manual|search <tool or server> | call <tool> <arguments as JSON>]",
  needs: { call: "tools" },
  async run(words, context) {
    const [verb, name] = verbAndName(words);
    if (verb === "call" && name !== "") return await callTool(words, context);
    if (verb === "") return toolsOverview(context.tools.inspect());
    if (verb === "add" && name !== "") {
      return selected(context.tools.include(name), (what) => `${what} is offered from the next model call on.`);
    }
    if (verb === "remove" && name !== "") {
      const back = `\`/tools always ${oneLine(name, 80)}\` brings it back.`;
      return selected(context.tools.remove(name), (what) => `${what} is not offered any more. ${back}`);
    }
    const mode = includeMode(verb);
    if (mode && name !== "") {
      return selected(context.tools.setInclude(name, mode), (what) => `${what} is now in mode "${mode}".`);
    }
    return await foundTools(words, context);
  },
};

/** The call says itself what came of it. */
async function callTool(words: string, { callTool: call }: CommandContext): Promise<string> {
  const [, tool = "", argumentsJson = ""] = /^call\s+(\S+)\s*([\s\S]*)$/u.exec(words) ?? [];
  await call(tool, argumentsJson.trim() === "" ? "{}" : argumentsJson);
  return "";
}

function selected(selection: Selection, say: (what: string) => string): string {
  return selection.ok ? say(selection.what) : `Nothing changed: ${selection.reason}.`;
}

function toolsOverview({ session, request, behindSearch, shadowed }: CatalogView): string {
  const picked = request.slice(session.length);
  const lines = [`**${session.length} tools in front of the model**`, ...session.map(toolLine)];
  if (picked.length > 0) lines.push("", `**${picked.length} found for this conversation**`, ...picked.map(toolLine));
  if (behindSearch.length > 0) {
    const total = behindSearch.reduce((sum, { count }) => sum + count, 0);
    const shares = behindSearch.map(({ server, count }) => `${oneLine(server)} (${count})`).join(", ");
    lines.push("", `${total} more are behind search: ${shares}. The model finds them with tenon_search_tools.`);
  }
  for (const { server, origin, by } of shadowed) {
    lines.push("", `The server "${oneLine(server)}" of the layer "${origin}" is shadowed by the one of "${by}".`);
  }
  return lines.join("\n");
}

function toolLine({ tool, how, score }: ViewedTool): string {
  const why = how === "always" ? "" : ` (${how.replace("_", " ")}${score === undefined ? "" : ` ${score.toFixed(2)}`})`;
  return `- \`${tool.id}\` ${oneLine(tool.definition.title ?? tool.definition.description, 80)}${why}`;
}

async function foundTools(query: string, { tools, signal }: CommandContext): Promise<string> {
  const result = await tools.search({ query, limit: LIMITS.toolSearchResults.most }, signal);
  if (result.kind === "no_server") return "There is no such server.";
  if (result.tools.length === 0) return `Nothing of this session's tools matches "${oneLine(query, 80)}".`;
  return result.tools
    .map(({ tool, score, isOffered }) => {
      const state = isOffered ? "offered" : "behind search";
      return `- \`${tool.id}\` ${oneLine(tool.definition.description, 80)} (${score.toFixed(2)}, ${state})`;
    })
    .join("\n");
}

const LINE_CHARS = 400;
/** Enough of an id to tell one from another. */
const ID_CHARS = 8;

interface PermissionEntry {
  readonly id: string;
  readonly text: string;
  /** `server/tool` or a server, by which it may be named too. */
  readonly names: readonly string[];
  readonly of: KeptDecision | OfferedGrant;
}

const permissionsCommand: Command = {
  name: "permissions",
  description: "What is allowed and refused here without asking; takes it back, or allows all tools of a server",
  input: "[revoke <id or server/tool> | revoke all | allow <server>]",
  needs: { revoke: "approve", allow: "approve" },
  async run(words, context) {
    const [verb, name] = verbAndName(words);
    if (verb === "") return await permissionsOverview(context);
    if (verb === "revoke" && name !== "") return await revoke(name, context);
    if (verb === "allow" && name !== "") return await allow(name, context);
    return "Use `/permissions`, `/permissions revoke <id>`, `/permissions revoke all` or `/permissions allow <server>`.";
  },
};

async function entriesOf({ permissions }: CommandContext): Promise<readonly PermissionEntry[]> {
  const { session, kept } = await permissions.decisions();
  return [
    ...session.map(
      (of): PermissionEntry => ({ id: `session-${grantId(of)}`, text: grantLabel(of), names: namesOf(of), of }),
    ),
    ...kept.map((of): PermissionEntry => ({ id: of.id, text: decisionText(of), names: namesOf(of.decision), of })),
  ];
}

function decisionText({ decision }: KeptDecision): string {
  if (decision.kind === "never") return `Never allow ${decision.server} / ${decision.tool}, in any project`;
  if (decision.kind !== "former") return grantLabel(decision);
  return `${decision.server} / ${decision.tool} was allowed in every project before: its next call asks once more`;
}

function namesOf(about: OfferedGrant | KeptDecision["decision"]): readonly string[] {
  if (!("tool" in about)) return [];
  return [about.server, `${about.server}/${about.tool}`];
}

async function permissionsOverview(context: CommandContext): Promise<string> {
  const entries = await entriesOf(context);
  const mode = `Mode: **${context.settings.view.mode}**.`;
  if (entries.length === 0) return `${mode} Nothing is granted or refused beyond single calls.`;
  const lines = entries.map(
    ({ id, text }) => `- ${oneLine(text, LINE_CHARS)} \`${id.slice(0, id.indexOf("-") + 1 + ID_CHARS)}\``,
  );
  return [mode, ...lines, "", "`/permissions revoke <id>` takes one back."].join("\n");
}

async function revoke(which: string, context: CommandContext): Promise<string> {
  const entries = await entriesOf(context);
  const meant = entries.filter((entry) => which === "all" || isMeant(entry, which));
  if (meant.length === 0) return `Nothing changed: nothing is kept about ${oneLine(which, 80)}.`;
  try {
    for (const { of } of meant) await context.permissions.revoke(of);
  } catch (error) {
    return `Not everything could be taken back: ${oneLine(messageOf(error), LINE_CHARS)}.`;
  }
  return meant.map(({ text }) => `Taken back: ${oneLine(text, LINE_CHARS)}`).join("\n");
}

function isMeant({ id, names }: PermissionEntry, which: string): boolean {
  const digits = id.slice(id.indexOf("-") + 1);
  const isId = which.length >= ID_CHARS && (id.startsWith(which) || digits.startsWith(which));
  return isId || names.includes(which);
}

async function allow(server: string, context: CommandContext): Promise<string> {
  const granted = await context.grantServer(server);
  if (granted === undefined)
    return `Nothing changed: there is no server ${oneLine(server, 80)} in this session. See \`/mcp\`.`;
  if (granted.length === 0) return `Nothing changed: ${oneLine(server, 80)} has no tools that could be allowed.`;
  const names = granted.map((name) => `\`${oneLine(name, 80)}\``).join(", ");
  return `Allowed in this project, as they are defined now: ${names}. A tool that changes or is added is asked about.`;
}

const whyCommand: Command = {
  name: "why",
  description: "Why a tool is, or is not, in front of the model",
  input: "<tool>",
  async run(words, { tools }) {
    const name = words.trim();
    if (name === "")
      return "Say which tool: `/why <tool>`, by its own name, `server/tool`, or the name the model sees.";
    const { text, candidates = [] } = tools.why(name);
    const more = candidates.length === 0 ? [] : ["", ...candidates.map((path) => `- ${markForeign(path)}`)];
    return [markForeign(text), ...more].join("\n");
  },
};

const modelCommand: Command = {
  name: "model",
  description: "The model of this session; changes it, or asks the providers for all they have",
  input: "[provider/name | all]",
  async run(words, context) {
    const wanted = words.trim();
    if (wanted === "") return modelOverview(context);
    if (wanted === "all") return await modelsOfProviders(context);
    try {
      context.settings.set("model", wanted);
      return `${oneLine(wanted)} answers from the next model call on.`;
    } catch (error) {
      return `Nothing changed: ${oneLine(messageOf(error), 500)}`;
    }
  },
};

function modelOverview({ settings }: CommandContext): string {
  const { model = "", models, thinking } = settings.view;
  const lines = models.map((id) => `- \`${oneLine(id)}\`${id === model ? " (in use)" : ""}`);
  const more = settings.available
    ? ["", "Any `provider/name` will do; `/model all` asks the providers for theirs."]
    : [];
  return [`**${oneLine(model)}**, thinking: ${thinking}`, ...lines, ...more].join("\n");
}

async function modelsOfProviders({ settings }: CommandContext): Promise<string> {
  const { ids = [], problems = [] } = (await settings.available?.ask()) ?? {};
  const failed = problems.map((problem) => `- could not be asked: ${oneLine(problem, 500)}`);
  const lines = [...ids.map((id) => `- \`${oneLine(id)}\``), ...failed];
  return lines.length === 0 ? "There is no provider that could be asked: no key is set." : lines.join("\n");
}

const compactCommand: Command = {
  name: "compact",
  description: "Summarises the conversation so far, to make room in the model's window",
  async run(_words, { compact }) {
    await compact();
    return "";
  },
};

const costCommand: Command = {
  name: "cost",
  description: "Tokens this session used, and what they cost where the price is known",
  async run(_words, { usage }) {
    const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, costUsd } = usage;
    const cached = cachedInputTokens > 0 ? `, ${cachedInputTokens} of them from the provider's cache` : "";
    const written = cacheWriteTokens > 0 ? `, ${cacheWriteTokens} written to it` : "";
    const cost = costUsd === undefined ? "The price of this model is not known." : `About $${costUsd.toFixed(4)}.`;
    return `${inputTokens} tokens in${cached}${written}; ${outputTokens} out. ${cost}`;
  },
};

const helpCommand: Command = {
  name: "help",
  description: "These commands",
  async run(_words, { commands }) {
    const lines = commands.map(({ name, input, description }) => {
      return `- \`/${input === undefined ? name : `${name} ${input}`}\` ${description}`;
    });
    return lines.join("\n");
  },
};

const COMMANDS: readonly Command[] = [
  mcpCommand,
  toolsCommand,
  whyCommand,
  permissionsCommand,
  modelCommand,
  compactCommand,
  costCommand,
  helpCommand,
];

/** Tenon's own, without the prompts of servers. */
export const OWN_COMMANDS: readonly CommandInfo[] = COMMANDS.map(({ name, description, input }) => {
  return { name, description, ...defined({ input }) };
});

export interface Invocation {
  readonly command: Command;
  readonly words: string;
}

/** The answer, also for a sender that may not do this. Rejects only for a bug. */
export async function runCommand({ command, words }: Invocation, context: CommandContext): Promise<string> {
  const [verb] = verbAndName(words);
  const { may } = context;
  const needed = Object.hasOwn(command.needs ?? {}, verb) ? command.needs?.[verb] : undefined;
  if (!may || needed === undefined || may[needed]) return await command.run(words, context);
  may.onDenied?.(`/${command.name} ${verb}`);
  return `Nothing changed: \`/${command.name} ${verb}\` needs the scope "${needed}", which the client that sent it does not have.`;
}

/**
 * The command a prompt is, or undefined when it is for the model: `/etc/hosts` is no command, and `/word and more` only
 * when there is such a command.
 */
export function commandOf(prompt: string): Invocation | undefined {
  const [, name, words = ""] = /^\/([a-z]+)(?:\s+([\s\S]*))?$/u.exec(prompt.trim()) ?? [];
  if (name === undefined) return undefined;
  const command = COMMANDS.find((one) => one.name === name);
  if (command) return { command, words: words.trim() };
  const run = async () => `There is no command /${name}. /help lists them.`;
  return words === "" ? { command: { name, description: "", run }, words } : undefined;
}

/** `/server:prompt words`, as it is typed; whether there is such a prompt only its server can say. */
export function promptNameIn(typed: string): { readonly server: string; name: string; words: string } | undefined {
  const [, server, prompt, words = ""] = /^\/([^\s/:]+):(\S+)(?:\s+([\s\S]*))?$/u.exec(typed.trim()) ?? [];
  if (server === undefined || prompt === undefined) return undefined;
  return { server, name: `${server}:${prompt}`, words: words.trim() };
}
