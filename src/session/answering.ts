// What a turn does from its prompt to its end: it waits for servers and answers of the person, then asks the model or runs a command.

import { defined } from "../base/json/defined.js";
import { plainText } from "../base/text/content.js";
import { markContent } from "../base/text/marking.js";
import { type EffectiveConfig, typedServer } from "../config/index.js";
import { NO_USAGE, type TurnEnd } from "../engine/index.js";
import { type Invocation, runCommand } from "./commands.js";
import type { SessionConfiguration } from "./configuration.js";
import type { GoingOn } from "./conversation/continuation.js";
import type { CalledTool, Conversation, PersonsCall } from "./conversation/conversation.js";
import type { PromptExpansion } from "./conversation/expansion.js";
import { givenPrompts, projectInstructions, systemPrompt } from "./conversation/system-prompt.js";
import type { TurnWork } from "./conversation/turns.js";
import type { EventStream } from "./events.js";
import type { Journal } from "./journal/journal.js";
import { SESSION_LIMITS } from "./limits.js";
import { RecordEvents } from "./log/record-events.js";
import type { SessionLogins } from "./login/session-logins.js";
import type { SessionOptions } from "./options.js";
import type { SessionPorts } from "./ports.js";
import type { SessionServers } from "./servers/servers.js";
import type { SessionSettings } from "./settings.js";
import type { SessionTools } from "./tools/tools.js";

/** The parts of the session that a turn uses. */
export interface AnsweringOptions {
  readonly session: SessionOptions;
  readonly events: EventStream;
  readonly journal: Journal;
  readonly settings: SessionSettings;
  readonly tools: SessionTools;
  readonly expansion: PromptExpansion;
  readonly conversation: Conversation;
  readonly servers: SessionServers;
  readonly logins: SessionLogins;
  readonly configuration: () => SessionConfiguration | undefined;
  readonly config: () => EffectiveConfig | undefined;
  readonly ports: () => SessionPorts | undefined;
  /** Before a prompt: what sandboxed servers left in the session's directories. */
  readonly reportGit: (signal: AbortSignal) => Promise<void>;
}

export class Answering {
  readonly #options: AnsweringOptions;
  /** `YYYY-MM-DD`. */
  readonly #date: string;
  /** Fixed with the first prompt, so that providers can cache it. */
  #system: string | undefined;
  #isCommand = false;
  /** Of the last turns that were calls of people, by the number of the turn. */
  readonly #called = new Map<number, CalledTool>();

  constructor(options: AnsweringOptions) {
    this.#options = options;
    this.#date = new Date(options.session.world.now()).toISOString().slice(0, 10);
  }

  /** The running turn is a command, which is not recorded step by step. */
  get isCommand(): boolean {
    return this.#isCommand;
  }

  async run(work: TurnWork, signal: AbortSignal): Promise<TurnEnd> {
    this.#isCommand = work.invocation !== undefined;
    await this.#options.reportGit(signal);
    return work.invocation ? await this.#runCommand(work.invocation, work, signal) : await this.#answer(work, signal);
  }

  /** The result of the call that a turn was; once. */
  takeCalled(turn: number): CalledTool | undefined {
    const called = this.#called.get(turn);
    this.#called.delete(turn);
    return called;
  }

  async #call(call: PersonsCall, turn: number, signal: AbortSignal): Promise<void> {
    this.#called.set(turn, await this.#options.conversation.call(call, turn, signal));
    const [oldest] = this.#called.keys();
    if (oldest !== undefined && this.#called.size > SESSION_LIMITS.prompts.remembered) this.#called.delete(oldest);
  }

  async #answer(work: Omit<TurnWork, "invocation">, signal: AbortSignal, plan?: GoingOn): Promise<TurnEnd> {
    const { number, isFirst, content: typed } = work;
    const { expansion, tools, conversation, ports } = this.#options;
    await this.#settle(isFirst, signal);
    const isPlain = this.#options.session.isPlain === true;
    const expand = async () =>
      isPlain ? ({ kind: "content", content: markContent(typed) } as const) : await expansion.expand(typed, signal);
    const expanded = plan?.isInTranscript ? undefined : await expand();
    if (expanded?.kind === "said") return await this.#say(expanded.text, signal);
    const content = expanded?.content;
    await tools.startPrompt(plainText(content ?? typed), ports(), signal);
    this.#system ??= await this.#systemPrompt();
    return await conversation.answer(content, { number, system: this.#system, ...defined({ plan }) }, signal);
  }

  /** The turn of another process. An attempt is recorded before anything else, so that those in a row can be counted. */
  async goOn(plan: GoingOn, signal: AbortSignal, notice?: string): Promise<TurnEnd> {
    const { turn: number, attempt, reason, repairs, prompt: content } = plan;
    const { journal, events, reportGit } = this.#options;
    journal.append(...repairs, { kind: "continued", turn: number, attempt, reason, ...defined({ notice }) });
    journal.assertWritten();
    await journal.durable();
    for (const repair of repairs) await events.publish(...new RecordEvents().of(repair));
    if (plan.isBrokenOff) events.notice("info", "The answer was broken off and begins again.");
    await reportGit(signal);
    return await this.#answer({ number, isFirst: true, content }, signal, plan);
  }

  /** The first turn waits for the configuration, every turn within a bound for servers that start; every turn may ask. */
  async #settle(isFirst: boolean, signal: AbortSignal): Promise<void> {
    const { servers, logins, ports } = this.#options;
    const configuration = this.#options.configuration();
    if (configuration) {
      if (isFirst) await configuration.opened;
      await configuration.retry();
      await configuration.askForTrust(ports(), signal);
      configuration.turnStarts();
    }
    await servers.settled(signal);
    await logins.ask(signal);
    if (!signal.aborted) servers.assertRequired();
  }

  /** Answered by Tenon: the model does not see it. */
  async #runCommand(invocation: Invocation, work: TurnWork, signal: AbortSignal): Promise<TurnEnd> {
    const { conversation, servers, tools, logins, events, settings, expansion, session } = this.#options;
    if (work.isFirst) {
      await this.#options.configuration()?.opened;
      await servers.connected(signal);
    }
    const { may } = work;
    const text = await runCommand(invocation, {
      ...defined({ may }),
      tools: tools.controls,
      servers,
      typedServer: async (typed) => {
        const { world, cwd } = session;
        const { allowHosts = [] } = this.#options.config() ?? {};
        const read = await typedServer(typed, { world, cwd, allowHosts, signal, isRemote: may?.isLocal === false });
        if ("problem" in read && read.isRefused) may?.onDenied?.("/mcp add");
        return read;
      },
      permissions: tools.permissions,
      grantServer: (server) => tools.grantServer(server),
      logins,
      show: async (text) => {
        await events.publishMoment({ kind: "turn", event: { kind: "text", text }, isForApprovers: true });
      },
      settings,
      commands: expansion.commands,
      usage: conversation.usage,
      callTool: (name, argumentsJson) => this.#call({ name, argumentsJson }, work.number, signal),
      compact: () => conversation.compact({ number: work.number, system: this.#system ?? "" }, signal),
      signal,
    });
    return await this.#say(text, signal);
  }

  async #say(text: string, signal: AbortSignal): Promise<TurnEnd> {
    if (text !== "") await this.#options.conversation.say(text);
    return { stopReason: signal.aborted ? "cancelled" : "end_turn", usage: NO_USAGE };
  }

  async #systemPrompt(): Promise<string> {
    const { world, cwd, additionalDirectories = [], systemPrompt: fromClient, isPlain } = this.#options.session;
    const instructions = isPlain ? "" : await projectInstructions(world, cwd);
    const given = givenPrompts(this.#options.config()?.systemPrompt ?? {}, fromClient);
    const { serverIndex } = this.#options.tools.catalog;
    return systemPrompt({ cwd, additionalDirectories, date: this.#date, serverIndex, instructions, given });
  }
}
