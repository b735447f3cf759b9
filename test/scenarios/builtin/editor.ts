// An editor with buffers, terminals and forms of its own in front of the built `tenon acp`, and a model that is scripted over HTTP.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type ClientApp,
  type ClientCapabilities,
  type CreateElicitationResponse,
  type CreateTerminalRequest,
  methods,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { expect } from "vitest";
import type { JsonObject } from "../../../src/base/json/json.js";
import type { AcpClient, PermissionPolicy } from "../../../src/testing/index.js";
import { answerText, type FakeProvider, fakeProvider } from "../../../src/testing/lab/index.js";
import { startTenon, TemporaryFolder } from "../agent.js";
import { itemsOf } from "../conversation.js";
import { resultsIn, TARGETS } from "../providers/target.js";

export interface EditorOptions {
  readonly capabilities?: ClientCapabilities;
  readonly permissions?: PermissionPolicy;
  /** What the person answers to a form. */
  readonly answerForm?: (message: string) => CreateElicitationResponse;
  /** Holds up what is read from the editor. */
  readonly onRead?: (path: string) => Promise<void>;
  /**
   * How the editor's terminals run what they are sent. `joining`: the words joined with blanks, through a shell, as VS Code's
   * ACP Client does. `hanging`: never done. `refusing`: no terminal is opened.
   */
  readonly terminals?: "right" | "joining" | "hanging" | "refusing";
  /** Files of the project before the session opens. */
  readonly files?: Readonly<Record<string, string>>;
  readonly mcpServers?: Parameters<AcpClient["newSession"]>[0]["mcpServers"];
  /** Of the user. */
  readonly config?: JsonObject;
}

export interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
}

export const HAS_FILES: ClientCapabilities = { fs: { readTextFile: true, writeTextFile: true } };
export const HAS_TERMINALS: ClientCapabilities = { terminal: true };
export const HAS_FORMS: ClientCapabilities = { elicitation: { form: {} } };

interface EditorTerminal {
  readonly request: CreateTerminalRequest;
  readonly child: ChildProcess;
  readonly exit: Promise<{ exitCode: number | null; signal: string | null }>;
  output: string;
  isReleased: boolean;
}

/** What the editor itself has: buffers, terminals, and the person's answers to forms. */
export class Desk {
  /** By absolute path: what is open, saved or not. Everything else is read from the disk. */
  readonly buffers: Map<string, string> = new Map();
  readonly written: { readonly path: string; readonly content: string }[] = [];
  readonly terminals: Map<string, EditorTerminal> = new Map();
  readonly forms: { readonly message: string; readonly toolCallId: unknown; readonly schema: unknown }[] = [];

  extend(app: ClientApp, { answerForm, onRead, terminals }: EditorOptions): ClientApp {
    return this.#withTerminals(this.#withFiles(app, onRead), terminals).onRequest(
      methods.client.elicitation.create,
      ({ params }) => {
        const schema = "requestedSchema" in params ? params.requestedSchema : undefined;
        const toolCallId = "toolCallId" in params ? params.toolCallId : undefined;
        this.forms.push({ message: params.message, toolCallId, schema });
        return answerForm?.(params.message) ?? { action: "decline" };
      },
    );
  }

  #withFiles(app: ClientApp, onRead: EditorOptions["onRead"]): ClientApp {
    return app
      .onRequest(methods.client.fs.readTextFile, async ({ params }) => {
        await onRead?.(params.path);
        return { content: this.buffers.get(params.path) ?? fromDisk(params.path) };
      })
      .onRequest(methods.client.fs.writeTextFile, ({ params: { path, content } }) => {
        this.written.push({ path, content });
        if (this.buffers.has(path)) this.buffers.set(path, content);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, content);
        return {};
      });
  }

  #withTerminals(app: ClientApp, how: EditorOptions["terminals"]): ClientApp {
    return app
      .onRequest(methods.client.terminal.create, ({ params }) => {
        if (how === "refusing") throw RequestError.internalError(undefined, "no more windows");
        const terminalId = `t${this.terminals.size + 1}`;
        this.terminals.set(terminalId, startTerminal(params, how));
        return { terminalId };
      })
      .onRequest(methods.client.terminal.output, ({ params }) => {
        return { output: this.#terminal(params.terminalId).output, truncated: false };
      })
      .onRequest(methods.client.terminal.waitForExit, ({ params }) => this.#terminal(params.terminalId).exit)
      .onRequest(methods.client.terminal.kill, async ({ params }) => {
        const { child, exit } = this.#terminal(params.terminalId);
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
        await exit;
        return {};
      })
      .onRequest(methods.client.terminal.release, ({ params }) => {
        this.#terminal(params.terminalId).isReleased = true;
        return {};
      });
  }

  /** A released terminal is known no more, as the protocol has it. */
  #terminal(id: string): EditorTerminal {
    const terminal = this.terminals.get(id);
    if (!terminal || terminal.isReleased) throw RequestError.resourceNotFound(id);
    return terminal;
  }
}

function fromDisk(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw RequestError.resourceNotFound(path);
  }
}

/** The session's directory, by its real path. */
export class Project {
  readonly path: string;

  constructor(path: string) {
    this.path = realpathSync(path);
  }

  at(name: string): string {
    return join(this.path, name);
  }

  read(name: string): string {
    return readFileSync(this.at(name), "utf8");
  }

  write(name: string, content: string): void {
    mkdirSync(dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), content);
  }
}

export interface Parts {
  readonly project: Project;
  readonly desk: Desk;
  readonly client: AcpClient;
  readonly provider: FakeProvider;
  readonly sessionId: string;
}

export class Editor {
  readonly project: Project;
  readonly desk: Desk;
  readonly client: AcpClient;
  readonly provider: FakeProvider;
  readonly sessionId: string;

  constructor({ project, desk, client, provider, sessionId }: Parts) {
    this.project = project;
    this.desk = desk;
    this.client = client;
    this.provider = provider;
    this.sessionId = sessionId;
  }

  /** The model makes these calls in one answer, hears their results, and ends. Each as the provider's JSON has it. */
  async calls(...calls: readonly Call[]): Promise<readonly string[]> {
    const { stopReason } = await this.#prompt(calls);
    if (stopReason !== "end_turn") throw new Error(`the turn ended with ${stopReason}`);
    const request = this.provider.requests.at(-1);
    const results = request ? resultsIn(request).slice(-calls.length) : [];
    if (results.length !== calls.length) throw new Error(`${calls.length} calls had ${results.length} results`);
    return results.map(({ content }) => content);
  }

  async call(name: string, args: JsonObject = {}): Promise<string> {
    const [result = ""] = await this.calls({ name, arguments: args });
    return result;
  }

  /** Begins a turn with this call and does not wait for its end. */
  begin(name: string, args: JsonObject): Promise<{ readonly stopReason: string }> {
    return this.#prompt([{ name, arguments: args }]);
  }

  get updates(): readonly SessionUpdate[] {
    return this.client.updates(this.sessionId);
  }

  /** Every call as its card looks now, oldest first. */
  get cards(): readonly Readonly<Record<string, unknown>>[] {
    return itemsOf(this.updates).flatMap((item) => (item.kind === "card" ? [{ id: item.id, ...item.card }] : []));
  }

  /** The first update with these words, recorded or to come. */
  async seen(words: string): Promise<SessionUpdate> {
    return await this.client.waitForUpdate(this.sessionId, (update) => JSON.stringify(update).includes(words));
  }

  get questions(): readonly RequestPermissionRequest[] {
    return this.client.permissionRequests;
  }

  #prompt(calls: readonly Call[]): Promise<{ readonly stopReason: string }> {
    const parts = calls.map(({ name, arguments: given }) => ({ kind: "tool_call", name, arguments: given }) as const);
    this.provider.reply({ kind: "answer", parts });
    return this.client.prompt(this.sessionId, "do it");
  }
}

function startTerminal(request: CreateTerminalRequest, how: EditorOptions["terminals"]): EditorTerminal {
  const { env = [], cwd } = request;
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const words = [request.command, ...(request.args ?? [])];
  const joined = ["/bin/sh", "-c", how === "hanging" ? "sleep 300" : words.join(" ")];
  const [command = "", ...args] = how === "joining" || how === "hanging" ? joined : words;
  const child = spawn(command, args, {
    cwd: cwd ?? undefined,
    env: { PATH: process.env["PATH"], ...own },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exit = new Promise<{ exitCode: number | null; signal: string | null }>((resolve) => {
    child.once("close", (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const terminal: EditorTerminal = { request, child, exit, output: "", isReleased: false };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      terminal.output += chunk.toString("utf8");
    });
  }
  return terminal;
}

/** Opens a session in a project of its own; afterwards nothing of Tenon's may have been refused by the provider. */
export async function inEditor(options: EditorOptions, run: (editor: Editor) => Promise<void>): Promise<void> {
  const [target] = TARGETS;
  if (!target) throw new Error("there are no targets");
  using home = new TemporaryFolder();
  using folder = new TemporaryFolder();
  await using provider = await fakeProvider({ schemaFaults: target.schemaFaults });
  provider.replyWith(() => answerText("Done."));
  const desk = new Desk();
  const project = new Project(folder.path);
  for (const [name, content] of Object.entries(options.files ?? {})) project.write(name, content);
  if (options.config) writeFileSync(join(home.path, "config.json"), JSON.stringify(options.config));
  await using client = await startTenon(home, {
    env: { ...target.env(provider), TENON_MODEL: target.model },
    permissions: options.permissions ?? "allow",
    extend: (app) => desk.extend(app, options),
  });
  await client.initialize({ clientCapabilities: { session: { notices: {} }, ...options.capabilities } });
  const { mcpServers = [] } = options;
  const { sessionId } = await client.newSession({ cwd: project.path, mcpServers });
  await run(new Editor({ project, desk, client, provider, sessionId }));
  expect(provider.refusals.map(({ fault }) => fault)).toEqual([]);
}
