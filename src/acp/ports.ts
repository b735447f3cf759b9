// What a session asks of its client, over one connection: permission and trust, files, terminals, questions, its servers.
import type * as acp from "@agentclientprotocol/sdk";
import { methods, RequestError } from "@agentclientprotocol/sdk";
import { orAborted } from "../base/async/deadline.js";
import { handled } from "../base/async/scope.js";
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import { markForeign, quoted } from "../base/text/marking.js";
import type { ChannelAnswer, ChannelRequest, McpChannel } from "../mcp/index.js";
import type { ExtraAnswer, ExtraCall, SessionPorts } from "../session/index.js";
import type { ClientAbilities } from "./capabilities.js";
import { elicitationPorts, readAnswer } from "./elicitation.js";
import { ACP_LIMITS } from "./limits.js";
import { asQuestion } from "./meta.js";
import { permissionPorts } from "./permission.js";

export function sessionPorts(
  client: acp.AgentContext,
  about: {
    readonly sessionId: string;
    readonly abilities: ClientAbilities;
    readonly messages: McpMessages;
    readonly calls: ToolCalls;
    /** `tell`: the person, that commands do not run in the client's terminals. */
    readonly terminals: { readonly trust: TerminalTrust; readonly tell: (words: string) => void };
    readonly world: Pick<World, "after">;
  },
): SessionPorts {
  const { sessionId, abilities, messages, calls, terminals, world } = about;
  const terminal = abilities.terminal ? clientTerminal(client, sessionId, world) : undefined;
  return {
    ...permissionPorts(client, sessionId),
    ...elicitationPorts(client, sessionId, abilities),
    mcpChannel: messages.channel(client),
    callTool: (call, signal) => calls.call(client, sessionId, call, signal),
    askPerson: askPerson(client, sessionId, abilities),
    fs: clientFiles(client, sessionId, abilities),
    ...defined({ terminal: terminal && terminals.trust.probed(terminal, terminals.tell) }),
  };
}

type AskPerson = NonNullable<SessionPorts["askPerson"]>;
type Options = Parameters<AskPerson>[1];

export function askPerson(
  client: acp.AgentContext,
  sessionId: string,
  { forms }: Pick<ClientAbilities, "forms">,
): AskPerson {
  let count = 0;
  return async (question, options, signal, toolCallId, asked) => {
    count += 1;
    const meta = asQuestion({}, asked);
    try {
      if (forms) {
        const form = { ...formOf(sessionId, question, options, toolCallId), ...meta };
        return await byForm(client, form, options, signal);
      }
      if (options.length === 0) {
        return { kind: "unavailable", reason: "the client cannot ask for a text; ask in your answer instead" };
      }
      // With the id of the call that asks, the question stands on its card.
      const id = toolCallId ?? `question-${count}`;
      const toolCall = { toolCallId: id, title: markForeign(question), kind: "other", status: "pending" } as const;
      return await byChoice(client, { sessionId, toolCall, ...meta }, options, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      return { kind: "unavailable", reason: messageOf(error) };
    }
  };
}

function formOf(
  sessionId: string,
  question: string,
  options: Options,
  toolCallId: string | undefined,
): acp.CreateElicitationRequest {
  const oneOf = options.map((option) => ({ const: option.label, title: nameOf(option) }));
  const answer = { type: "string" as const, title: "Answer", ...(oneOf.length > 0 ? { oneOf } : { minLength: 1 }) };
  const requestedSchema = { type: "object" as const, properties: { answer }, required: ["answer"] };
  return { mode: "form", sessionId, ...defined({ toolCallId }), message: markForeign(question), requestedSchema };
}

async function byForm(
  client: acp.AgentContext,
  form: acp.CreateElicitationRequest,
  options: Options,
  signal: AbortSignal,
): ReturnType<AskPerson> {
  const response = await client.request(methods.client.elicitation.create, form, { cancellationSignal: signal });
  const answered = readAnswer(response);
  const given = answered.action === "accept" ? answered.content?.["answer"] : undefined;
  if (typeof given !== "string") return { kind: "declined" };
  return options.some(({ label }) => label === given)
    ? { kind: "chosen", label: given }
    : { kind: "typed", text: given };
}

function nameOf({ label, description }: Options[number]): string {
  return markForeign(description === undefined ? label : `${label}: ${description}`);
}

/** ACP's permission question is the one every client can show. The last option is a way out. */
async function byChoice(
  client: acp.AgentContext,
  asked: Pick<acp.RequestPermissionRequest, "sessionId" | "toolCall" | "_meta">,
  options: Options,
  signal: AbortSignal,
): ReturnType<AskPerson> {
  const choices = options.map((option, index): acp.PermissionOption => {
    return { optionId: String(index), name: nameOf(option), kind: "allow_once" };
  });
  const none: acp.PermissionOption = { optionId: "none", name: "None of these", kind: "reject_once" };
  const request: acp.RequestPermissionRequest = { ...asked, options: [...choices, none] };
  const { outcome } = await client.request(methods.client.session.requestPermission, request, {
    cancellationSignal: signal,
  });
  const chosen = outcome.outcome === "cancelled" ? undefined : options[Number(outcome.optionId)];
  return chosen ? { kind: "chosen", label: chosen.label } : { kind: "declined" };
}

type ClientFiles = NonNullable<SessionPorts["fs"]>;

export function clientFiles(
  client: acp.AgentContext,
  sessionId: string,
  can: Pick<ClientAbilities, "readTextFile" | "writeTextFile">,
): ClientFiles {
  const readText: NonNullable<ClientFiles["readText"]> = async (path, { line, limit }, signal) => {
    const request: acp.ReadTextFileRequest = { sessionId, path, ...defined({ line, limit }) };
    const { content } = await client.request(methods.client.fs.readTextFile, request, { cancellationSignal: signal });
    return content;
  };
  const writeText: NonNullable<ClientFiles["writeText"]> = async (path, content, signal) => {
    const request = { sessionId, path, content };
    await client.request(methods.client.fs.writeTextFile, request, { cancellationSignal: signal });
  };
  return defined({
    readText: can.readTextFile ? readText : undefined,
    writeText: can.writeTextFile ? writeText : undefined,
  });
}

type Terminal = NonNullable<SessionPorts["terminal"]>;
type Running = Awaited<ReturnType<Terminal["run"]>>;
type Exit = Awaited<Running["exited"]>;

export function clientTerminal(client: acp.AgentContext, sessionId: string, world: Pick<World, "after">): Terminal {
  return {
    run: async ({ command, args, env, cwd, maxOutputBytes }, _onOutput, signal) => {
      signal.throwIfAborted();
      const request: acp.CreateTerminalRequest = {
        sessionId,
        command,
        args: [...args],
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
        cwd,
        outputByteLimit: maxOutputBytes,
      };
      const { terminalId } = await client.request(methods.client.terminal.create, request);
      const running = new ClientCommand(client, { sessionId, terminalId }, world);
      if (!signal.aborted) return running;
      await running.end();
      await running.release();
      throw signal.reason;
    },
  };
}

type Probe = Parameters<NonNullable<Terminal["keepsWords"]>>[0];

/**
 * One per connection: whether the client's terminals run the commands they are sent. A client that joins the words of a
 * command without quotes runs another one than the person approved: `cd build && rm -rf *` in the wrong folder.
 */
export class TerminalTrust {
  readonly #world: Pick<World, "deadline" | "log">;
  #isTrusted: Promise<boolean> | undefined;

  constructor(world: Pick<World, "deadline" | "log">) {
    this.#world = world;
  }

  /** The terminal with the question whether it may be used: answered by one harmless command, before the first real one. */
  probed(terminal: Terminal, tell: (words: string) => void): Terminal {
    const find = async (probe: Probe): Promise<boolean> => {
      const problem = await this.#problemOf(terminal, probe);
      if (problem === undefined) return true;
      this.#world.log.warn("acp.terminal_not_used", { problem });
      tell(`Commands run on this machine instead of in the client's terminal, since ${problem}.`);
      return false;
    };
    return {
      ...terminal,
      keepsWords: (probe, signal) => {
        this.#isTrusted ??= find(probe);
        return orAborted(this.#isTrusted, signal);
      },
    };
  }

  /** Undefined when the terminal printed what it should. */
  async #problemOf(terminal: Terminal, { request, isRight }: Probe): Promise<string | undefined> {
    const { log } = this.#world;
    using deadline = this.#world.deadline(ACP_LIMITS.clientTerminalProbeMs);
    let running: Running | undefined;
    try {
      running = await orAborted(
        terminal.run(request, () => {}, deadline.signal),
        deadline.signal,
      );
      const exit = await orAborted(running.exited, deadline.signal);
      if (exit.kind !== "exited") return `the terminal failed a test: ${quoted(exit.reason)}`;
      const { text } = await orAborted(running.output(0), deadline.signal);
      if (isRight(text)) return undefined;
      return `the terminal does not run commands as they are sent: a test printed ${quoted(text, 80)}`;
    } catch (error) {
      if (!deadline.signal.aborted) return `the terminal failed a test: ${quoted(messageOf(error))}`;
      return `the terminal did not finish a test within ${ACP_LIMITS.clientTerminalProbeMs / 1_000} s`;
    } finally {
      // Not waited for: a client that does not answer must not hold up the command.
      if (running && deadline.signal.aborted) handled(endOf(running), log, "end a test of the terminal");
      else if (running) handled(running.release(), log, "release a test of the terminal");
    }
  }
}

async function endOf(running: Running): Promise<void> {
  await running.end();
  await running.release();
}

/** A client that neither ends a command nor says so must not hold up the turn, nor the end of the session. */
const SILENT: Exit = { kind: "cut_off", reason: "the client was asked to end it, and has not said that it did" };

class ClientCommand implements Running {
  readonly terminalId: string;
  readonly exited: Promise<Exit>;
  readonly #client: acp.AgentContext;
  readonly #place: acp.TerminalOutputRequest;
  readonly #world: Pick<World, "after">;
  /** Resolves when the client was asked to end it and has let the time for that pass. */
  readonly #givenUp: Promise<undefined>;
  #giveUp: () => void = () => undefined;
  #isEnded = false;
  #isReleased = false;

  constructor(client: acp.AgentContext, place: acp.TerminalOutputRequest, world: Pick<World, "after">) {
    this.#client = client;
    this.#place = place;
    this.#world = world;
    this.terminalId = place.terminalId;
    this.#givenUp = new Promise((resolve) => {
      this.#giveUp = () => resolve(undefined);
    });
    this.exited = Promise.race([this.#wait(), this.#givenUp.then(() => SILENT)]);
  }

  /** The client gives the whole output each time, and may have dropped its beginning. */
  async output(sinceChar: number): Promise<{ text: string; nextChar: number }> {
    const read = await Promise.race([this.#client.request(methods.client.terminal.output, this.#place), this.#givenUp]);
    if (!read) return { text: "[the client does not say what it printed]", nextChar: sinceChar };
    const { output, truncated } = read;
    const nextChar = output.length;
    if (sinceChar === 0) return { text: truncated ? `[the beginning is not kept]\n${output}` : output, nextChar };
    if (truncated) return { text: `[some output may be missing or repeated here]\n${output}`, nextChar };
    return { text: output.slice(sinceChar), nextChar };
  }

  async end(): Promise<void> {
    if (this.#isEnded || this.#isReleased) return;
    this.#isEnded = true;
    const timer = this.#world.after(ACP_LIMITS.clientTerminalEndMs, this.#giveUp);
    const killed = this.#client.request(methods.client.terminal.kill, this.#place).catch(() => undefined); // gone already: fine
    const ended = Promise.race([this.exited, this.#givenUp]).finally(() => timer.clear());
    await Promise.race([killed, ended]);
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const released = this.#client.request(methods.client.terminal.release, this.#place).catch(() => undefined);
    await Promise.race([released, this.#givenUp]);
  }

  async #wait(): Promise<Exit> {
    try {
      const { exitCode, signal } = await this.#client.request(methods.client.terminal.waitForExit, this.#place);
      return { kind: "exited", code: exitCode ?? null, signal: signal ?? null };
    } catch (error) {
      return { kind: "cut_off", reason: `the client's terminal failed: ${messageOf(error)}` };
    }
  }
}

/** Of the unstable protocol, so the SDK's stable half has no name for it. */
export const MCP_MESSAGE = "mcp/message";

const INTERNAL_ERROR = -32_603;

/** One per connection: the ids of requests must not repeat on it, whichever session they are of. */
export class McpMessages {
  readonly #world: Pick<World, "soon">;
  readonly #listeners = new Map<string, ChannelRequest["onNotification"]>();
  #count = 0;

  constructor(world: Pick<World, "soon">) {
    this.#world = world;
  }

  channel(client: acp.AgentContext): McpChannel {
    return { request: (request) => this.#request(client, request) };
  }

  /** A notification of the client about a request that runs; any other is dropped. */
  hear(params: unknown): void {
    if (!isJsonObject(params)) return;
    const { serverId, requestId, method } = params;
    if (typeof method !== "string") return;
    this.#listeners.get(keyOf(serverId, requestId))?.(method, isJsonObject(params["params"]) ? params["params"] : {});
  }

  async #request(client: acp.AgentContext, request: ChannelRequest): Promise<ChannelAnswer> {
    const { serverId, method, params, signal } = request;
    this.#count += 1;
    const requestId = `tenon-${this.#count}`;
    const key = keyOf(serverId, requestId);
    this.#listeners.set(key, (notice, about) => request.onNotification(notice, about));
    try {
      const message = { serverId, requestId, method, params };
      return readOutcome(await client.request<unknown>(MCP_MESSAGE, message, { cancellationSignal: signal }));
    } catch (thrown) {
      const code = thrown instanceof RequestError ? thrown.code : undefined;
      return { kind: "failed", message: messageOf(thrown), ...defined({ code }) };
    } finally {
      await notificationsBefore(this.#world);
      this.#listeners.delete(key);
    }
  }
}

/** The SDK asks its handlers one after the other whose a notification is, so an answer that came behind it is there first. */
async function notificationsBefore(world: Pick<World, "soon">): Promise<void> {
  await new Promise<void>((resolve) => world.soon(resolve));
}

const TOOL_CALL = "_tenon/tool/call";
export const TOOL_PROGRESS = "_tenon/tool/progress";
const METHOD_NOT_FOUND = -32_601;

/** One per connection: calls of tools that the client added, and what it says of their progress. */
export class ToolCalls {
  readonly #world: Pick<World, "soon">;
  readonly #running = new Map<string, ExtraCall>();

  constructor(world: Pick<World, "soon">) {
    this.#world = world;
  }

  /** A notification of the client. One that is not about a call that runs at this client says nothing. */
  hear(params: unknown): void {
    if (!isJsonObject(params)) return;
    const { sessionId, toolCallId, progress, total, message } = params;
    const call = this.#running.get(keyOf(sessionId, toolCallId));
    if (!call || (progress !== undefined && !isAmount(progress))) return;
    call.onProgress({
      progress: progress ?? 0,
      ...defined({
        total: isAmount(total) ? total : undefined,
        message: typeof message === "string" ? markForeign(message.slice(0, MESSAGE_CHARS)) : undefined,
      }),
    });
  }

  async call(client: acp.AgentContext, sessionId: string, call: ExtraCall, signal: AbortSignal): Promise<ExtraAnswer> {
    const { toolCallId, key, name, arguments: given } = call;
    const id = keyOf(sessionId, toolCallId);
    this.#running.set(id, call);
    try {
      const params = { sessionId, toolCallId, key, name, arguments: given };
      const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
      return { kind: "answered", result: await client.request<unknown>(TOOL_CALL, params, options) };
    } catch (thrown) {
      if (!(thrown instanceof RequestError)) return { kind: "lost", message: messageOf(thrown) };
      const isUnknown = thrown.code === METHOD_NOT_FOUND;
      const words = isUnknown ? `the client does not know ${TOOL_CALL}` : `${thrown.message} (${thrown.code})`;
      return { kind: "refused", message: words };
    } finally {
      await notificationsBefore(this.#world);
      this.#running.delete(id);
    }
  }
}

const MESSAGE_CHARS = 1_000;

function isAmount(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function keyOf(serverId: JsonValue | undefined, requestId: JsonValue | undefined): string {
  return JSON.stringify([serverId ?? null, requestId ?? null]);
}

/** A result wins over an error, as the binding has it. */
function readOutcome(response: unknown): ChannelAnswer {
  if (isJsonObject(response)) {
    const { result, error } = response;
    if (result !== undefined) return { kind: "result", result };
    if (isJsonObject(error)) {
      const { code, message, data } = error;
      return {
        kind: "error",
        error: {
          code: typeof code === "number" ? code : INTERNAL_ERROR,
          message: typeof message === "string" ? message : "the server gave no message",
          ...defined({ data }),
        },
      };
    }
  }
  return { kind: "failed", code: INTERNAL_ERROR, message: "the client's answer carries neither a result nor an error" };
}
