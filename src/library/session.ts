// One session for programs: prompts with answers, a flat stream of events, tools, servers.
import { handled, Scope } from "../base/async/scope.js";
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import type { ContentBlock } from "../base/text/content.js";
import type {
  GivenServers,
  Session as InnerSession,
  PermissionQuestion,
  ServerStatus,
  SessionPorts,
} from "../session/index.js";
import type { ToolSource as InnerSource } from "../tools/index.js";
import { Approving } from "./approving.js";
import { checkContent } from "./content.js";
import {
  AnswerText,
  type EventListener,
  EventTranslator,
  type PromptResult,
  type SessionEvent,
  tell,
} from "./events.js";
import { checkOptions, SIGNAL, TEXT } from "./options.js";
import { Registrations, SourceStack } from "./registrations.js";
import { readServer, type ServerEntry } from "./servers.js";
import { SessionToolSet } from "./session-tools.js";
import type { ToolSource } from "./source.js";
import type { Tool } from "./tool.js";
import type { ToolInfo, ToolSet } from "./tool-set.js";

/**
 * Options of a prompt.
 *
 * @example
 * await session.prompt("summarise the notes", { signal: AbortSignal.timeout(60_000) });
 */
export interface PromptOptions {
  /** Aborting it ends the turn with the stop reason `cancelled`. */
  readonly signal?: AbortSignal;
}

/**
 * What `ready` waits for.
 *
 * @example
 * await session.ready({ server: "files", signal: AbortSignal.timeout(10_000) });
 */
export interface ReadyOptions {
  /** One server; all of them unless given. */
  readonly server?: string;
  readonly signal?: AbortSignal;
}

/**
 * The tools of a session.
 *
 * @example
 * const { text } = await session.tools.call("read_file", { path: "README.md" });
 * console.log(session.tools.bySource("files").length, "tools of files");
 */
export interface SessionTools extends ToolSet {
  /** Every tool of a server or of another source, offered to the model or not. */
  bySource(source: string): readonly ToolInfo[];
  /** The tools that fit the words best, the best first: as the model's own search finds them. */
  search(
    query: string,
    options?: { readonly limit?: number; readonly signal?: AbortSignal },
  ): Promise<readonly ToolInfo[]>;
}

/**
 * A call that policy wants to be approved.
 *
 * @example
 * const approve = ({ tool, arguments: args }: ApprovalRequest) => tool.annotations?.readOnlyHint === true || confirm(tool.name, args);
 */
export interface ApprovalRequest {
  readonly sessionId: string;
  readonly tool: ToolInfo;
  /** As they would be sent; long texts are shortened. */
  readonly arguments: JsonObject;
  /** Why it is asked, where a rule or content from outside is the cause. */
  readonly reason?: string;
  /** What could mislead: a tool that looks like another one, a definition that changed. */
  readonly warnings: readonly string[];
  /** Aborts when the answer is of no use any more. */
  readonly signal: AbortSignal;
}

/**
 * The answer to an approval request: `true` and `once` for this call, `always` for this tool from now on, `false` and `no` for not
 * this call, `never` for not this tool.
 *
 * @example
 * const answer: ApprovalAnswer = "always";
 */
export type ApprovalAnswer = boolean | "once" | "always" | "no" | "never";

/**
 * Decides about calls that policy wants to be approved. One that throws is taken as a no.
 *
 * @example
 * const approve: Approve = ({ tool }) => !tool.name.includes("delete");
 */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/**
 * One conversation with its servers and tools. Close it to end its processes.
 *
 * @example
 * const session = await runtime.createSession({ cwd: process.cwd() });
 * try {
 *   console.log((await session.prompt("hello")).text);
 * } finally {
 *   await session.close();
 * }
 */
export interface Session extends AsyncDisposable {
  readonly id: string;
  readonly cwd: string;
  readonly tools: SessionTools;
  /** Runs one turn. Rejects with a TenonError when the model fails, or a turn is running already. */
  prompt(content: string | readonly ContentBlock[], options?: PromptOptions): Promise<PromptResult>;
  /** The same turn as events; the last one is `done`. Leaving the loop cancels the turn. */
  stream(content: string | readonly ContentBlock[], options?: PromptOptions): AsyncGenerator<SessionEvent, void, void>;
  /** Ends the running turn. */
  cancel(): void;
  /**
   * Resolves once no server is connecting, with the state of all. Rejects with `mcp.not_ready` when the named server, or one that is
   * `required`, cannot be used.
   */
  ready(options?: ReadyOptions): Promise<readonly ServerStatus[]>;
  /** The state of every server now, those with malformed entries included. */
  servers(): readonly ServerStatus[];
  /** Rejects with `config.invalid` for a malformed entry. One of the same name is replaced. It connects in the background. */
  addServer(name: string, entry: ServerEntry): Promise<void>;
  /** Ends the server; its tools are gone. Rejects with `mcp.not_ready` when there is none of that name. */
  removeServer(name: string): Promise<void>;
  /** Adds a tool, or a source of tools, to this session; returns the way to take it out again. */
  register(tool: Tool | ToolSource): () => void;
  /** Takes out every tool that was registered under the name of this source. */
  unregister(source: string): void;
  /** Calls `listener` for every event of this session from now on; returns the way to stop. */
  onEvent(listener: EventListener): () => void;
  close(): Promise<void>;
}

export interface SessionParts {
  readonly world: World;
  readonly inner: InnerSession;
  readonly given: GivenServers;
  /** Of the runtime: they hear of this session too. */
  readonly listeners: ReadonlySet<EventListener>;
  readonly approve?: Approve;
  readonly onEvent?: EventListener;
  readonly elicit?: SessionPorts["elicit"];
  readonly onClosed: () => void;
}

export class LibrarySession implements Session {
  readonly #parts: SessionParts;
  readonly #listeners = new Set<EventListener>();
  readonly #approving = new Approving();
  readonly #scope: Scope;
  readonly #sources: SourceStack;
  readonly #registrations: Registrations;
  readonly tools: SessionToolSet;
  #given: GivenServers;
  #lastChange: Promise<void> = Promise.resolve();
  #isPrompted = false;

  constructor(parts: SessionParts) {
    const { inner, world, approve, elicit } = parts;
    this.#parts = parts;
    this.#given = parts.given;
    this.#scope = new Scope(world.log);
    if (parts.onEvent) this.#listeners.add(parts.onEvent);
    this.tools = new SessionToolSet(inner, {
      isHeard: () => this.#hasListeners,
      tell: (event) => this.#tell(event),
      isApproving: () => this.#approving.isInside,
    });
    this.#sources = new SourceStack((source) => inner.tools.add(source));
    this.#registrations = new Registrations((source) => this.#sources.add(source));
    if (approve || elicit) {
      const ask: SessionPorts["ask"] = async (question, signal) => await this.#approved(approve, question, signal);
      inner.attach({ ask, ...defined({ elicit }) });
    }
    this.#scope.run("events of a session", () => this.#follow());
  }

  get id(): string {
    return this.#parts.inner.id;
  }

  get cwd(): string {
    return this.#parts.inner.cwd;
  }

  async prompt(content: string | readonly ContentBlock[], options?: PromptOptions): Promise<PromptResult> {
    for await (const event of this.stream(content, options)) {
      if (event.type !== "done") continue;
      const { text, stopReason, usage } = event;
      return { text, stopReason, usage };
    }
    throw new TenonError("session.closed", `session ${this.id} was closed during the turn`);
  }

  async *stream(
    content: string | readonly ContentBlock[],
    options: PromptOptions = {},
  ): AsyncGenerator<SessionEvent, void, void> {
    const { inner, world } = this.#parts;
    checkContent(content);
    checkOptions(options, { signal: SIGNAL }, "a prompt");
    const { signal } = options;
    if (this.#isPrompted) {
      throw new TenonError("session.busy", "a turn is running in this session", { hint: "Wait for it, or cancel it." });
    }
    this.#isPrompted = true;
    const events = inner.events();
    let skipped = inner.current.length; // the state of everything, which no turn made
    const turnsBefore = inner.turnCount;
    const answered = inner.prompt(content, signal);
    let hasFailed = false;
    let isWaiting = false;
    // What was told before the failure is read first; then no event may come any more, not even the turn's end.
    const endWhenRead = () => {
      world.after(0, () => {
        if (isWaiting) handled(Promise.resolve(events.return?.()), world.log, "end of a failed prompt");
      });
    };
    const settled = answered.catch(async () => {
      hasFailed = true;
      // A prompt that is refused begins no turn, so no event of one will come.
      if (inner.turnCount === turnsBefore) await events.return?.();
      else endWhenRead();
    });
    const read = async () => {
      isWaiting = true;
      if (hasFailed) endWhenRead();
      const next = await events.next();
      isWaiting = false;
      return next;
    };
    const answer = new AnswerText();
    const translator = new EventTranslator();
    let isOver = false;
    try {
      for (let next = await read(); !isOver && next.done !== true; next = isOver ? next : await read()) {
        skipped -= 1;
        if (skipped >= 0) continue;
        isOver = next.value.kind === "turn_ended";
        const event = translator.of(next.value);
        if (!event) continue;
        answer.add(event);
        yield event;
      }
      isOver = true;
      const { stopReason, usage } = await answered;
      yield { type: "done", text: answer.text, stopReason, usage };
    } finally {
      if (!isOver) inner.cancel();
      await events.return?.();
      await settled;
      this.#isPrompted = false;
    }
  }

  cancel(): void {
    this.#parts.inner.cancel();
  }

  async ready(options: ReadyOptions = {}): Promise<readonly ServerStatus[]> {
    checkOptions(options, { server: TEXT, signal: SIGNAL }, "ready");
    const { server, signal = new AbortController().signal } = options;
    const { inner } = this.#parts;
    await inner.serversSettled(signal, server);
    if (signal.aborted)
      throw new TenonError("cancelled", "waiting for servers was cancelled", { cause: signal.reason });
    const all = inner.servers;
    const found = server === undefined ? undefined : all.find(({ name }) => name === server);
    if (server !== undefined && !found) throw notReady(server, "this session has no server of that name");
    const required = new Set(this.#required());
    const failing = (found ? [found] : all).find(({ name, state }) => {
      return (found !== undefined || required.has(name)) && state !== "ready" && state !== "idle";
    });
    if (failing) throw notReady(failing.name, failing.error ?? `it is ${failing.state}`, failing.hint);
    return all;
  }

  #required(): readonly string[] {
    const { settings = {}, rejected = [] } = this.#given;
    const ready = Object.entries(settings).flatMap(([name, { isRequired }]) => (isRequired ? [name] : []));
    return [...ready, ...rejected.flatMap(({ name, isRequired }) => (isRequired === true ? [name] : []))];
  }

  servers(): readonly ServerStatus[] {
    return this.#parts.inner.servers;
  }

  async addServer(name: string, entry: ServerEntry): Promise<void> {
    const { world, inner } = this.#parts;
    await this.#inTurn(async () => {
      const { spec, settings, warnings } = await readServer(world, inner.cwd, name, entry);
      const rest = this.#without(name);
      await this.#give({
        ...rest,
        servers: [...rest.servers, spec],
        settings: { ...rest.settings, [name]: settings },
      });
      for (const warning of warnings) inner.notice("warning", warning);
    });
  }

  async removeServer(name: string): Promise<void> {
    await this.#inTurn(async () => {
      const { servers, rejected = [] } = this.#given;
      const isThere = servers.some((spec) => spec.name === name) || rejected.some((one) => one.name === name);
      if (!isThere) throw notReady(name, "it is none of the servers that were handed over");
      await this.#give(this.#without(name));
    });
  }

  /** Each change begins with what the one before it has left, or servers would be lost. */
  async #inTurn(change: () => Promise<void>): Promise<void> {
    const changed = this.#lastChange.then(change);
    this.#lastChange = changed.catch(() => undefined); // its caller hears of it
    await changed;
  }

  #without(name: string): GivenServers {
    const { servers, settings = {}, rejected = [] } = this.#given;
    const others = Object.entries(settings).filter(([known]) => known !== name);
    return {
      servers: servers.filter((spec) => spec.name !== name),
      settings: Object.fromEntries(others),
      rejected: rejected.filter((one) => one.name !== name),
    };
  }

  async #give(given: GivenServers): Promise<void> {
    await this.#parts.inner.setServers(given);
    this.#given = given;
  }

  /** A source of the runtime, which all of its sessions have. */
  share(source: InnerSource): void {
    this.#sources.add(source);
  }

  unshare(source: InnerSource): void {
    this.#sources.remove(source);
  }

  register(tool: Tool | ToolSource): () => void {
    return this.#registrations.add(tool);
  }

  unregister(source: string): void {
    this.#registrations.remove(source);
  }

  onEvent(listener: EventListener): () => void {
    const own: EventListener = (event, about) => listener(event, about);
    this.#listeners.add(own);
    this.tools.watch();
    return () => {
      this.#listeners.delete(own);
    };
  }

  async close(): Promise<void> {
    await this.#parts.inner.close();
    this.#registrations.close();
    this.tools.close();
    await this.#scope.close();
    this.#parts.onClosed();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #hasListeners(): boolean {
    return this.#listeners.size > 0 || this.#parts.listeners.size > 0;
  }

  /** Until the session is closed, which ends its events. */
  async #follow(): Promise<void> {
    const translator = new EventTranslator();
    for await (const inner of this.#parts.inner.events()) {
      const event = this.#hasListeners ? translator.of(inner) : undefined;
      if (event) this.#tell(event);
    }
  }

  #tell(event: SessionEvent): void {
    const { world, listeners } = this.#parts;
    const onError = (error: string) => world.log.warn("library.listener_failed", { session: this.id, error });
    tell([...listeners, ...this.#listeners], event, { sessionId: this.id, onError });
  }

  async #approved(
    approve: Approve | undefined,
    question: PermissionQuestion,
    signal: AbortSignal,
  ): Promise<"once" | "always" | "no" | "never"> {
    if (!approve) throw new TenonError("tool.refused", "no approve callback was given");
    const { tool, arguments: args, reason, choices, warnings = [], change = [] } = question;
    const request: ApprovalRequest = {
      sessionId: this.id,
      tool: this.tools.infoOf(tool),
      arguments: structuredClone(args), // what the callback does to it must not reach the call that policy has looked at
      warnings: [...warnings, ...change],
      signal,
      ...defined({ reason }),
    };
    const answer = await this.#approving.run(() => approve(request));
    if (answer === true) return "once";
    // Where it may not be remembered, the call itself is allowed all the same.
    if (answer === "always" && !choices.some((choice) => choice.answer === "always")) return "once";
    return answer === "once" || answer === "always" || answer === "never" ? answer : "no";
  }
}

function notReady(server: string, reason: string, hint?: string): TenonError {
  const text = `the server ${JSON.stringify(server)} cannot be used: ${reason}`;
  return new TenonError("mcp.not_ready", text, defined({ hint }));
}
