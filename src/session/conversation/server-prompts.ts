// The prompts of a session's servers, as commands: listed when a server is ready, and again when it says that they changed.
import { Cell } from "../../base/async/cell.js";
import { Scope } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { base64Bytes, type ContentBlock, plainText, text } from "../../base/text/content.js";
import { alreadyMarked, hostLine, type MarkedContent, markBlock, quoted } from "../../base/text/marking.js";
import {
  complete,
  getPrompt,
  type Link,
  listPrompts,
  type McpConnection,
  type McpPrompt,
  type McpPromptArgument,
  type McpPromptMessage,
} from "../../mcp/index.js";
import { oneLine } from "../commands.js";
import type { CommandInfo } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";

/** What is needed of a connection. */
export type PromptServer = Pick<McpConnection, "spec" | "state" | "link">;

export interface PromptCommand {
  /** `server:prompt`, without white space: what is typed after the slash. */
  readonly name: string;
  readonly server: string;
  readonly prompt: McpPrompt;
  /** The live conversation; undefined while the server is not ready. */
  readonly link: () => Link | undefined;
}

interface Followed {
  readonly stop: () => void;
  /** The last link that was asked: a server that comes back is asked again. */
  link?: Link;
  prompts: readonly McpPrompt[];
  timer?: Timer;
}

const PROMPTS_CHANGED = "notifications/prompts/list_changed";

export class ServerPrompts implements AsyncDisposable {
  readonly #world: World;
  readonly #scope: Scope;
  readonly #onChange: () => void;
  readonly #followed = new Map<PromptServer, Followed>();
  /** How many lists are being asked for. */
  readonly #asking = new Cell(0);
  #commands: readonly PromptCommand[] = [];

  /** `onChange`: the list of commands is another one. */
  constructor(world: World, onChange: () => void) {
    this.#world = world;
    this.#scope = new Scope(world.log);
    this.#onChange = onChange;
  }

  /** In the order of the servers; of two that would be typed the same way the first. */
  get commands(): readonly PromptCommand[] {
    return this.#commands;
  }

  find(name: string): PromptCommand | undefined {
    return this.#commands.find((command) => command.name === name);
  }

  /**
   * Waits for the server of that name while it starts, and for lists that are on their way, but not for long: then what is
   * known has to do. Says what became of the server; `undefined`: there is none of that name.
   */
  async settled(name: string, signal: AbortSignal): Promise<"starting" | "settled" | undefined> {
    const server = [...this.#followed.keys()].find(({ spec }) => typed(spec.name) === name);
    if (server?.state.value.kind === "connecting") {
      using patience = this.#world.deadline(SESSION_LIMITS.promptServerWaitMs, signal);
      await server.state.until(({ kind }) => kind !== "connecting", patience.signal).catch(() => undefined);
    }
    using deadline = this.#world.deadline(SESSION_LIMITS.promptListWaitMs, signal);
    await this.#asking.until((count) => count === 0, deadline.signal).catch(() => undefined);
    return server && (server.state.value.kind === "connecting" ? "starting" : "settled");
  }

  follow(servers: readonly PromptServer[]): void {
    const before = new Map(this.#followed);
    this.#followed.clear();
    for (const server of servers) this.#followed.set(server, before.get(server) ?? this.#start(server));
    for (const [server, { stop }] of before) if (!this.#followed.has(server)) stop();
    for (const server of servers) this.#look(server);
    this.#rename();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.follow([]);
    await this.#scope.close();
  }

  #start(server: PromptServer): Followed {
    const unsubscribe = server.state.subscribe(() => this.#look(server));
    const followed: Followed = {
      prompts: [],
      stop: () => {
        unsubscribe();
        followed.timer?.clear();
      },
    };
    return followed;
  }

  /** A server that is away keeps its commands: they say that it is. */
  #look(server: PromptServer): void {
    const followed = this.#followed.get(server);
    const { link } = server;
    if (!followed || !link || followed.link === link || !isJsonObject(link.capabilities["prompts"])) return;
    followed.link = link;
    link.onNotification((method) => {
      if (method === PROMPTS_CHANGED && followed.link === link) this.#later(server, followed);
    });
    this.#list(server, followed, link);
  }

  /** A burst of notices is one: however often a server says so, it is asked once in a while. */
  #later(server: PromptServer, followed: Followed): void {
    if (followed.timer || this.#scope.isClosed) return;
    followed.timer = this.#world.after(SESSION_LIMITS.promptRelistMs, () => {
      delete followed.timer;
      const { link } = server;
      if (link && this.#followed.get(server) === followed) this.#list(server, followed, link);
    });
  }

  #list(server: PromptServer, followed: Followed, link: Link): void {
    if (this.#scope.isClosed) return;
    this.#asking.set(this.#asking.value + 1);
    this.#scope.run(`list prompts of ${server.spec.name}`, async (signal) => {
      using deadline = this.#world.deadline(LIMITS.connectTimeoutMs, signal);
      try {
        const { items } = await listPrompts(link, this.#world, deadline.signal);
        if (this.#followed.get(server) !== followed || followed.link !== link) return;
        followed.prompts = items.slice(0, SESSION_LIMITS.promptCommands);
        this.#rename();
      } catch (error) {
        if (signal.aborted) return;
        this.#world.log.warn("session.no_prompts", { server: server.spec.name, error: messageOf(error) });
      } finally {
        this.#asking.set(this.#asking.value - 1);
      }
    });
  }

  #rename(): void {
    const commands = new Map<string, PromptCommand>();
    for (const [server, { prompts }] of this.#followed) {
      for (const prompt of prompts) {
        const name = `${typed(server.spec.name)}:${typed(prompt.name)}`;
        if (commands.has(name)) continue;
        commands.set(name, { name, server: server.spec.name, prompt, link: () => server.link });
      }
    }
    const isSame =
      commands.size === this.#commands.length &&
      this.#commands.every(({ name, prompt }) => commands.get(name)?.prompt === prompt);
    if (isSame) return;
    this.#commands = [...commands.values()];
    this.#onChange();
  }
}

/** A name as it can be typed: in one word. */
function typed(name: string): string {
  return name.trim().replaceAll(/\s+/gu, "_");
}

/** A prompt as the model gets it. */
export type Expanded =
  | { readonly kind: "content"; readonly content: MarkedContent }
  /** Answered by Tenon, in Markdown: the model hears nothing of it. */
  | { readonly kind: "said"; readonly text: string };

export async function runPrompt(command: PromptCommand, words: string, signal: AbortSignal): Promise<Expanded> {
  const link = command.link();
  if (!link) return said(`The server "${oneLine(command.server)}" is not connected; \`/mcp\` says why.`);
  const read = readArguments(words, command.prompt.arguments);
  if (!read.ok) {
    const suggestions = await suggested(command, link, { names: read.missing, given: {} }, signal);
    return said([`${usage(command)}: ${read.reason}.`, ...suggestions].join("\n"));
  }
  try {
    const { messages } = await getPrompt(link, command.prompt.name, read.given, { signal });
    const content = contentOf(messages);
    return content.length === 0 ? said("The prompt is empty: nothing was sent.") : { kind: "content", content };
  } catch (error) {
    signal.throwIfAborted();
    const names = Object.keys(read.given);
    const suggestions = await suggested(command, link, { names, given: read.given }, signal);
    return said([`${usage(command)} failed: ${oneLine(messageOf(error), 500)}`, ...suggestions].join("\n"));
  }
}

function said(words: string): Expanded {
  return { kind: "said", text: words };
}

function usage({ name, prompt }: PromptCommand): string {
  return `\`/${oneLine(`${name} ${argumentHint(prompt.arguments)}`.trim())}\``;
}

/** Of each argument what the server would complete it to; nothing where it offers none. */
async function suggested(
  { prompt }: PromptCommand,
  link: Link,
  { names, given }: { readonly names: readonly string[]; readonly given: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { name, description = "" } of prompt.arguments.filter((argument) => names.includes(argument.name))) {
    const values = await completions(link, prompt.name, { name, given }, signal);
    const told = [description, values.length === 0 ? "" : `one of: ${values.join(", ")}`].filter((part) => part !== "");
    if (told.length > 0) lines.push(`- ${oneLine(`${name}: ${told.join("; ")}`, 500)}`);
  }
  return lines;
}

async function completions(
  link: Link,
  prompt: string,
  { name, given: { [name]: value = "", ...given } }: { name: string; given: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (!isJsonObject(link.capabilities["completions"])) return [];
  const ask = async (start: string) => {
    const target = { kind: "prompt", name: prompt } as const;
    const request = { target, argument: { name, value: start }, given };
    return (await complete(link, request, { signal, timeoutMs: SESSION_LIMITS.completionTimeoutMs })).values;
  };
  const values = await ask(value);
  // A wrong value has no completion: then the first ones of all are of more use.
  const all = values.length === 0 && value !== "" ? await ask("") : values;
  return all.slice(0, SESSION_LIMITS.completionsShown);
}

/** One voice is the person's own; of several, each says who speaks. */
function contentOf(messages: readonly McpPromptMessage[]): MarkedContent {
  const isDialogue = messages.some(({ role }) => role === "assistant");
  return alreadyMarked(
    messages.flatMap(({ role, content }) => {
      const words = content.flatMap((block) => bounded(block));
      return isDialogue ? [text(role === "assistant" ? "Assistant:" : "User:"), ...words] : words;
    }),
  );
}

export type ReadArguments =
  | { readonly ok: true; readonly given: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: string; readonly missing: readonly string[] };

/**
 * `name=value` counts only for names the prompt has, so that a text with `=` in it is a text. What is left over at the end
 * belongs to the last argument: most prompts take one text, and nobody wants to quote it.
 */
export function readArguments(words: string, known: readonly McpPromptArgument[]): ReadArguments {
  const names = known.map(({ name }) => name);
  const given = new Map<string, string>();
  const loose: Word[] = [];
  for (const word of split(words)) {
    const [, name = "", value = ""] = word.isQuoted ? [] : (/^([^=]+)=([\s\S]*)$/u.exec(word.text) ?? []);
    if (names.includes(name)) given.set(name, value);
    else loose.push(word);
  }
  const open = names.filter((name) => !given.has(name));
  for (const [index, name] of open.entries()) {
    const rest = index === open.length - 1 ? loose.splice(0) : loose.splice(0, 1);
    if (rest.length > 0) given.set(name, rest.map(({ text }) => text).join(" "));
  }
  if (loose.length > 0)
    return { ok: false, reason: `it takes no ${names.length === 0 ? "" : "more "}words`, missing: [] };
  const missing = known.filter(({ name, isRequired }) => isRequired && !given.has(name)).map(({ name }) => name);
  if (missing.length > 0) return { ok: false, reason: `it needs ${missing.join(", ")}`, missing };
  return { ok: true, given: Object.fromEntries(given) };
}

interface Word {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Words in double quotes are one; `name="a b"` too. A quote that is never closed is a quote. */
function split(words: string): Word[] {
  return [...words.matchAll(/([^\s"]*)"((?:[^"\\]|\\.)*)"(?=\s|$)|\S+/gu)].map(([whole, before, quoted]) => {
    if (quoted === undefined) return { text: whole, isQuoted: false };
    return { text: `${before}${quoted.replaceAll(/\\(.)/gu, "$1")}`, isQuoted: before === "" };
  });
}

/** For people: required ones in angle brackets. */
export function argumentHint(known: readonly McpPromptArgument[]): string {
  return known.map(({ name, isRequired }) => (isRequired ? `<${name}>` : `[${name}]`)).join(" ");
}

export function promptInfo({ name, server, prompt }: PromptCommand): CommandInfo {
  const input = oneLine(argumentHint(prompt.arguments));
  const description = oneLine(prompt.description || prompt.title || `A prompt of the server ${server}`);
  return { name: oneLine(name), description, ...defined({ input: input === "" ? undefined : input }) };
}

/** Cut, then marked. Lines of Tenon's own stand beside the words of others, never among them. */
export function bounded(block: ContentBlock): readonly ContentBlock[] {
  switch (block.type) {
    case "text": {
      const { kept, note } = cut(block.text);
      return [markBlock(text(kept)), ...note];
    }
    case "resource": {
      if (block.text === undefined) return [orLabel(block, block.blob ?? "")];
      const { kept, note } = cut(block.text);
      return [markBlock({ ...block, text: kept }), ...note];
    }
    case "image":
    case "audio":
      return [orLabel(block, block.data)];
    case "resource_link":
    case "spilled":
    case "unknown":
      return [markBlock(block)];
  }
}

function cut(words: string): { readonly kept: string; readonly note: readonly ContentBlock[] } {
  const { maxChars } = SESSION_LIMITS.mentions;
  const more = words.length - maxChars;
  if (more <= 0) return { kept: words, note: [] };
  const note = hostLine(`cut here, there are ${more} more characters; read the rest with a tool`);
  return { kept: words.slice(0, maxChars), note: [text(note)] };
}

function orLabel(block: ContentBlock, base64: string): ContentBlock {
  if (base64Bytes(base64) <= LIMITS.resultMaxImageBytes) return markBlock(block);
  return text(hostLine(`left out, it is too large: ${quoted(plainText([block]), 2_000)}`));
}
