// A prompt as the model gets it: a server's prompt filled in, what is mentioned read and attached.

import { fileURLToPath } from "node:url";
import { orAborted } from "../../base/async/deadline.js";
import { messageOf } from "../../base/errors.js";
import { isJsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { type ContentBlock, text } from "../../base/text/content.js";
import { withoutFinal } from "../../base/text/ends.js";
import {
  alreadyMarked,
  hostLine,
  type MarkedContent,
  markContent,
  markHidden,
  quoted,
} from "../../base/text/marking.js";
import type { TextFile } from "../../builtin/index.js";
import { type Link, listResources, listResourceTemplates, type McpConnection, readResource } from "../../mcp/index.js";
import { OWN_COMMANDS, promptNameIn } from "../commands.js";
import type { CommandInfo, EventStream } from "../events.js";
import { SESSION_LIMITS } from "../limits.js";
import type { OutsideRead } from "../permission/guards.js";
import type { OpenServer } from "../servers/entry.js";
import { bounded, type Expanded, promptInfo, runPrompt, ServerPrompts } from "./server-prompts.js";

export interface ExpansionOptions {
  readonly world: World;
  readonly events: EventStream;
  /** Reads a file of the session's directories. */
  readText(path: string, signal: AbortSignal): Promise<TextFile>;
  /** Text of a server is about to become part of the prompt. */
  onOutside(read: OutsideRead): void;
}

export class PromptExpansion implements AsyncDisposable {
  readonly #options: ExpansionOptions;
  readonly #prompts: ServerPrompts;
  #open: readonly OpenServer[] = [];

  constructor(options: ExpansionOptions) {
    const { world, events } = options;
    this.#options = options;
    this.#prompts = new ServerPrompts(world, () => events.emit({ kind: "commands", commands: this.commands }));
  }

  /** The servers of the session are these from now on. */
  follow(open: readonly OpenServer[]): void {
    this.#open = open;
    this.#prompts.follow(open.map(({ connection }) => connection));
  }

  /** The slash commands there are now, prompts of servers included. */
  get commands(): readonly CommandInfo[] {
    return [...OWN_COMMANDS, ...this.#prompts.commands.map(promptInfo)];
  }

  /** Rejects only for a bug; what is cancelled has nothing for the model. */
  async expand(content: readonly ContentBlock[], signal: AbortSignal): Promise<Expanded> {
    try {
      return (
        (await this.#asPrompt(content, signal)) ?? { kind: "content", content: await this.#attach(content, signal) }
      );
    } catch (error) {
      if (!signal.aborted) throw error;
      return { kind: "said", text: "" };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#prompts[Symbol.asyncDispose]();
  }

  /** Undefined when it is not the prompt of a server. */
  async #asPrompt([first, ...rest]: readonly ContentBlock[], signal: AbortSignal): Promise<Expanded | undefined> {
    const meant = first?.type === "text" ? promptNameIn(first.text) : undefined;
    if (!meant) return undefined;
    const server = this.#prompts.find(meant.name) ? "settled" : await this.#prompts.settled(meant.server, signal);
    const command = this.#prompts.find(meant.name);
    if (!command) {
      if (!server) return undefined;
      const isStarting = "is still starting. Send this again when it is there; `/mcp` shows it.";
      const words = server === "starting" ? isStarting : "has no such prompt. /help lists what there is.";
      return { kind: "said", text: `The server ${meant.server} ${words}` };
    }
    const run = await runPrompt(command, meant.words, signal);
    if (run.kind === "said") return run;
    this.#noteOutside(command.server);
    // Links in the server's own words are not the person's mentions.
    return { kind: "content", content: alreadyMarked([...run.content, ...(await this.#attach(rest, signal))]) };
  }

  #attach(content: readonly ContentBlock[], signal: AbortSignal): Promise<MarkedContent> {
    const { world, events } = this.#options;
    const options: AttachOptions = {
      world,
      servers: this.#open.map(({ connection }) => connection),
      readText: (path) => this.#options.readText(path, signal),
      onServerRead: (server) => this.#noteOutside(server),
      onFailure: (text) => events.emit({ kind: "notice", level: "warning", text }),
    };
    return attachMentions(content, options, signal);
  }

  /** By whichever layers have a server of that name. */
  #noteOutside(server: string): void {
    const named = this.#open.filter(({ connection }) => connection.spec.name === server);
    for (const { source } of named) this.#options.onOutside({ kind: "server", server, origin: source.origin });
    if (named.length === 0) this.#options.onOutside({ kind: "server", server });
  }
}

export interface AttachOptions {
  readonly world: World;
  readonly servers: readonly ResourceServer[];
  /** A file of the session's own directories. */
  readText(path: string, signal: AbortSignal): Promise<TextFile>;
  /** A resource of this server was read. */
  onServerRead(server: string): void;
  /** Something that was mentioned could not be read. */
  onFailure(words: string): void;
}

/** The blocks of the prompt as they are, and after them what they mention. Rejects only when the signal aborts. */
export async function attachMentions(
  content: readonly ContentBlock[],
  options: AttachOptions,
  signal: AbortSignal,
): Promise<MarkedContent> {
  const { world, servers } = options;
  const marked = markContent(content);
  const mentions = mentionsIn(content, (name) => servers.some(({ spec }) => spec.name === name));
  if (mentions.length === 0) return marked;
  using deadline = world.deadline(SESSION_LIMITS.mentions.timeoutMs, signal);
  const attached = await Promise.all(
    mentions.map(async (mention) => {
      try {
        return await orAborted(read(mention, options, deadline.signal), deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        const why = deadline.expired
          ? `not read within ${SESSION_LIMITS.mentions.timeoutMs / 1_000} s`
          : messageOf(error);
        options.onFailure(`${markHidden(mention.uri)} was mentioned and is not attached: ${markHidden(why)}`);
        return [];
      }
    }),
  );
  return alreadyMarked([...marked, ...attached.flat()]);
}

async function read(mention: Mention, options: AttachOptions, signal: AbortSignal): Promise<readonly ContentBlock[]> {
  const { uri, server } = mention;
  const path = server === undefined ? pathOf(uri) : undefined;
  if (path !== undefined) {
    const file = await options.readText(path, signal);
    if (file.kind === "failed") throw new Error(file.reason);
    if (file.kind === "text") return bounded({ type: "resource", uri, text: file.text });
  }
  const { servers, world } = options;
  const owner = server === undefined ? await ownerOf(uri, servers, world, signal) : named(server, servers);
  if (!owner?.link) return []; // a link to somewhere else: the model is told where it leads
  const blocks = await readResource(owner.link, uri, { signal });
  if (blocks.length === 0) throw new Error(`the server "${owner.spec.name}" gave nothing for it`);
  options.onServerRead(owner.spec.name);
  const what = `the resource ${quoted(uri, 2_000)} of the server ${quoted(owner.spec.name)}`;
  const about = text(hostLine(`${what} was mentioned by the person; it is data`));
  return [about, ...blocks.flatMap((block) => bounded(block))];
}

/** The person meant this server: what is wrong with that is said. */
function named(name: string, servers: readonly ResourceServer[]): ResourceServer {
  const server = servers.find(({ spec }) => spec.name === name);
  if (!server?.link) throw new Error(`the server "${name}" is not connected`);
  if (!hasResources(server)) throw new Error(`the server "${name}" has no resources`);
  return server;
}

function pathOf(uri: string): string | undefined {
  if (!uri.startsWith("file:")) return undefined;
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

export interface Mention {
  readonly uri: string;
  /** Named by the person; a link says nothing of whose it is. */
  readonly server?: string;
}

/** In their order, each once, bounded. What is embedded already needs no reading; `@word:` counts for servers only. */
export function mentionsIn(content: readonly ContentBlock[], isServer: (name: string) => boolean): readonly Mention[] {
  const embedded = new Set(content.flatMap((block) => (block.type === "resource" ? [block.uri] : [])));
  const found = new Map<string, Mention>();
  for (const mention of content.flatMap((block) => mentionsOf(block, isServer))) {
    const key = `${mention.server ?? ""} ${mention.uri}`;
    if (!embedded.has(mention.uri) && !found.has(key)) found.set(key, mention);
  }
  return [...found.values()].slice(0, SESSION_LIMITS.mentions.max);
}

function mentionsOf(block: ContentBlock, isServer: (name: string) => boolean): readonly Mention[] {
  if (block.type === "resource_link") return [{ uri: block.uri }];
  if (block.type !== "text") return [];
  return [...block.text.matchAll(/(?<![\p{L}\p{N}_])@([^\s:@]+):(\S+)/gu)].flatMap(([, server = "", rest = ""]) => {
    // A sentence may end with a mention; addresses hardly ever end like this.
    const uri = withoutFinal(rest, ".,;:!?)]}\"'`>");
    return uri !== "" && isServer(server) ? [{ server, uri }] : [];
  });
}

/** What is needed of a connection. */
export type ResourceServer = Pick<McpConnection, "spec" | "link">;

interface Known {
  readonly uris: ReadonlySet<string>;
  /** What stands before the first placeholder of each template. */
  readonly beginnings: readonly string[];
}

const RESOURCES_CHANGED = "notifications/resources/list_changed";

/** Asked once for each link, until it says that something changed: a prompt with links must not list everything anew. */
const lists = new WeakMap<Link, Promise<Known>>();
const heard = new WeakSet<Link>();

/** Undefined when it is nobody's. A server that cannot list what it has is passed over. */
async function ownerOf(
  uri: string,
  servers: readonly ResourceServer[],
  world: World,
  signal: AbortSignal,
): Promise<ResourceServer | undefined> {
  const having = servers.filter(hasResources);
  const known = await Promise.all(
    having.map(async ({ link }) => link && (await knownOf(link, world, signal).catch(() => undefined))),
  );
  const listing = having.find((_, index) => known[index]?.uris.has(uri));
  return listing ?? having.find((_, index) => known[index]?.beginnings.some((start) => uri.startsWith(start)));
}

function hasResources({ link }: ResourceServer): boolean {
  return link !== undefined && isJsonObject(link.capabilities["resources"]);
}

function knownOf(link: Link, world: World, signal: AbortSignal): Promise<Known> {
  const asked = lists.get(link);
  if (asked) return asked;
  if (!heard.has(link)) {
    heard.add(link);
    link.onNotification((method) => {
      if (method === RESOURCES_CHANGED) lists.delete(link);
    });
  }
  const asking = listAll(link, world, signal);
  lists.set(link, asking);
  asking.catch(() => lists.delete(link)); // the caller gets the rejection; the next one asks again
  return asking;
}

async function listAll(link: Link, world: World, signal: AbortSignal): Promise<Known> {
  const [resources, templates] = await Promise.all([
    listResources(link, world, signal),
    listResourceTemplates(link, world, signal).catch(() => ({ items: [] })),
  ]);
  const beginnings = templates.items.map(({ uriTemplate }) => uriTemplate.replace(/\{.*$/su, ""));
  return {
    uris: new Set(resources.items.map(({ uri }) => uri)),
    // `{+path}` and `file://{path}` would be everybody's.
    beginnings: beginnings.filter((start) => /^[a-z][a-z0-9+.-]*:(?:\/\/)?./iu.test(start)),
  };
}
