// A prompt as the model gets it: a server's prompt filled in, what is mentioned read and attached.

import type { World } from "../../base/ports/world.js";
import type { ContentBlock } from "../../base/text/content.js";
import { alreadyMarked, type MarkedContent } from "../../base/text/marking.js";
import type { TextFile } from "../../builtin/index.js";
import { OWN_COMMANDS } from "../commands/index.js";
import type { CommandInfo, EventStream } from "../events.js";
import type { OutsideRead } from "../permission/clearance.js";
import type { OpenServer } from "../servers/entry.js";
import { attachMentions } from "./mentions.js";
import { promptInfo, promptNameIn, runPrompt, ServerPrompts } from "./server-prompts.js";

export type Expanded =
  | { readonly kind: "content"; readonly content: MarkedContent }
  /** Answered by Tenon: the model hears nothing of it. */
  | { readonly kind: "said"; readonly text: string };

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
    if (meant && !this.#prompts.find(meant.name)) await this.#prompts.settled(signal);
    const command = meant && this.#prompts.find(meant.name);
    if (!meant || !command) {
      if (!meant || !this.#prompts.hasServer(meant.server)) return undefined;
      return { kind: "said", text: `The server ${meant.server} has no such prompt. /help lists what there is.` };
    }
    const run = await runPrompt(command, meant.words, signal);
    if (run.kind === "said") return run;
    this.#noteOutside(command.server);
    // Links in the server's own words are not the person's mentions.
    return { kind: "content", content: alreadyMarked([...run.content, ...(await this.#attach(rest, signal))]) };
  }

  #attach(content: readonly ContentBlock[], signal: AbortSignal): Promise<MarkedContent> {
    const { world, events } = this.#options;
    const options = {
      world,
      servers: this.#open.map(({ connection }) => connection),
      readText: (path: string) => this.#options.readText(path, signal),
      onServerRead: (server: string) => this.#noteOutside(server),
      onFailure: (text: string) => events.emit({ kind: "notice", level: "warning", text }),
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
