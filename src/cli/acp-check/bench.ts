// What one check works with: agents, servers of every kind, turns; all of it gone when the check is over.

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { Introduction } from "./agent/introduction.js";
import type { Answer } from "./agent/link.js";
import type { AgentCommand } from "./agent/process.js";
import { RunningAgent } from "./agent/running.js";
import type { Validate } from "./agent/validity.js";
import { wordOf } from "./fields.js";
import { wishText } from "./model/conversation.js";
import type { ModelServer } from "./model/server.js";
import { endProcess, isAlive, processesOf } from "./processes.js";
import { FileLog, MemoryLog, type ServerLog } from "./server/log.js";
import { logPathOf } from "./server/program.js";
import { ServerProtocol } from "./server/protocol.js";
import { RemoteServer } from "./server/remote.js";
import type { ServerScript } from "./server/script.js";

export interface Lab {
  readonly command: AgentCommand;
  readonly validate: Validate;
  readonly model: ModelServer;
  readonly answerMs: number;
  readonly authMethod: string | undefined;
  /** How the checker's stdio server is started; the path of its script is added. */
  readonly serverCommand: { readonly command: string; readonly args: readonly string[] };
  readonly folder: string;
  /** Unique words, for the whole run. */
  word(prefix: string): string;
  /** Every agent that was started, for what is judged over the whole run. */
  readonly started: RunningAgent[];
}

/** A server of the checker: the entry a client sends for it, and what it sees. */
export interface TestServer {
  readonly name: string;
  /** Its first tool. */
  readonly tool: string;
  readonly entry: JsonObject;
  readonly log: ServerLog;
  /** Processes of it that live now. */
  living(): readonly number[];
  /** Ends those, whatever they think of it. */
  end(): void;
}

type Written = Pick<TestServer, "name" | "tool" | "log">;

export interface Turn {
  readonly stopReason: string;
  readonly ms: number;
  /** Names of all tools the model was offered in it, last request first. */
  readonly offered: readonly string[];
  /** Names of the tools the model called, searches included. */
  readonly called: readonly string[];
  readonly requestCount: number;
  /** The provider's protocol in which the model was asked. */
  readonly format: string;
  readonly hasImage: boolean;
  /** Updates of its session that came in it. */
  readonly updates: readonly JsonObject[];
}

export class Bench implements AsyncDisposable {
  readonly lab: Lab;
  readonly agent: Introduction;
  readonly hasModel: boolean;
  readonly folder: string;
  readonly #agents: RunningAgent[] = [];
  readonly #servers: TestServer[] = [];
  readonly #remotes: RemoteServer[] = [];

  constructor(lab: Lab, agent: Introduction, hasModel: boolean) {
    this.lab = lab;
    this.agent = agent;
    this.hasModel = hasModel;
    this.folder = join(lab.folder, lab.word("check"));
    mkdirSync(join(this.folder, "project"), { recursive: true });
  }

  word(prefix: string): string {
    return this.lab.word(prefix);
  }

  /** Started, nothing said to it yet. */
  launch(): RunningAgent {
    const cwd = join(this.folder, "project");
    const { command, validate, answerMs, authMethod } = this.lab;
    const agent = new RunningAgent({ command, validate, answerMs, authMethod, cwd });
    this.#agents.push(agent);
    this.lab.started.push(agent);
    return agent;
  }

  /** Started and initialized. */
  async start(clientCapabilities?: JsonObject): Promise<RunningAgent> {
    const agent = this.launch();
    await agent.initialize(clientCapabilities);
    return agent;
  }

  stdio(script: Partial<ServerScript> = {}, env: readonly JsonObject[] = []): TestServer {
    const { path, ...server } = this.#write(script);
    const { command, args } = this.lab.serverCommand;
    return this.#keep({ ...server, entry: { name: server.name, command, args: [...args, path], env } }, path);
  }

  /** One file that needs no words to be started with; its entry lacks what is not in `entry`. */
  executable(script: Partial<ServerScript>, entry: JsonObject): TestServer {
    const { path, ...server } = this.#write(script);
    const { command, args } = this.lab.serverCommand;
    const file = `${path}.sh`;
    const words = [command, ...args, path].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
    writeFileSync(file, `#!/bin/sh\nexec ${words.join(" ")}\n`);
    chmodSync(file, 0o755);
    return this.#keep({ ...server, entry: { name: server.name, command: file, ...entry } }, path);
  }

  async remote(
    type: "http" | "sse",
    script: Partial<ServerScript> = {},
    headers?: readonly JsonObject[],
  ): Promise<TestServer> {
    const whole = this.#script(script);
    const server = new RemoteServer(whole);
    await server.open();
    this.#remotes.push(server);
    const entry = { type, name: whole.name, url: server.urlOf(type), ...defined({ headers }) };
    return this.#keep({ name: whole.name, tool: toolOf(whole), entry, log: server.log }, undefined);
  }

  /** Lives in the client of `agent` and is reached over ACP itself. */
  overAcp(agent: RunningAgent, script: Partial<ServerScript>): TestServer {
    const whole = this.#script(script);
    const log = new MemoryLog();
    const serverId = this.word("id");
    agent.acpServers.set(serverId, new ServerProtocol(whole, { record: log.record, crash: () => {} }));
    const entry = { type: "acp", name: whole.name, serverId };
    return this.#keep({ name: whole.name, tool: toolOf(whole), entry, log }, undefined);
  }

  /** One prompt that has every tool called whose name contains one of the words. */
  async turn(agent: RunningAgent, sessionId: string, words: readonly string[]): Promise<Turn> {
    const { turn, answer } = this.beginTurn(agent, sessionId, words);
    return turn(await answer);
  }

  /** The same without waiting for its end. */
  beginTurn(
    agent: RunningAgent,
    sessionId: string,
    words: readonly string[],
  ): { readonly answer: Promise<Answer>; readonly turn: (answer: Answer) => Turn } {
    const name = this.word("turn");
    const before = agent.link.updatesOf(sessionId).length;
    const prompt = [{ type: "text", text: wishText({ turn: name, words }) }];
    const answer = agent.ask("session/prompt", { sessionId, prompt });
    return { answer, turn: (given) => this.#turnOf(name, given, agent.link.updatesOf(sessionId).slice(before)) };
  }

  /** At once, without asking. */
  endAgents(): void {
    for (const { process } of this.#agents) process.signal("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent[Symbol.asyncDispose]()));
    for (const server of this.#remotes) await server[Symbol.asyncDispose]();
    for (const server of this.#servers) server.end();
  }

  #turnOf(name: string, answer: Answer, updates: readonly JsonObject[]): Turn {
    const requests = this.lab.model.requestsOf(name);
    return {
      stopReason: answer.ok ? wordOf(answer.result["stopReason"]) : `error ${answer.code} ${answer.message}`,
      ms: answer.ms,
      offered: [...new Set(requests.toReversed().flatMap(({ tools }) => tools))],
      called: requests.flatMap(({ called }) => (called === undefined ? [] : [called])),
      requestCount: requests.length,
      format: requests[0]?.format ?? "",
      hasImage: requests.some(({ hasImage }) => hasImage),
      updates,
    };
  }

  #script(script: Partial<ServerScript>): ServerScript {
    const { name = this.word("srv"), tools = [{ name: this.word("echo"), reply: "echo" }] } = script;
    return { ...script, name, tools };
  }

  #write(script: Partial<ServerScript>): Written & { readonly path: string } {
    const whole = this.#script(script);
    const path = join(this.folder, `${this.word("script")}.json`);
    writeFileSync(path, JSON.stringify(whole));
    return { name: whole.name, tool: toolOf(whole), path, log: new FileLog(logPathOf(path)) };
  }

  /** `path` is a word in the command line of all its processes; a server without any has none. */
  #keep(server: Written & Pick<TestServer, "entry">, path: string | undefined): TestServer {
    const pids = () => (path === undefined ? [] : processesOf(server.log));
    const kept: TestServer = {
      ...server,
      living: () => pids().filter((pid) => isAlive(pid, path ?? "")),
      end: () => {
        for (const pid of pids()) endProcess(pid, path ?? "");
      },
    };
    this.#servers.push(kept);
    return kept;
  }
}

function toolOf({ tools }: ServerScript): string {
  return tools[0]?.name ?? "";
}
