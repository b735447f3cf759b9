// The processes of the wrapped agent: one for each session, or one for all; and what they ask the editor.
import { handled } from "../base/async/scope.js";
import type { EndGrace } from "../base/io/process.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import type { SpawnRequest, World } from "../base/ports/world.js";
import { ERRORS, failure, type Outcome, type RpcId } from "../translator/index.js";
import { AgentProcess } from "./agent-process.js";
import { WRAP_LIMITS } from "./limits.js";

export const CANCEL_REQUEST = "$/cancel_request";

/** A process of the agent, and what only the wrapper knows of it. */
export interface RunningAgent {
  readonly process: AgentProcess;
  /** 0 is the one the editor was introduced to: the ids of its requests stay as they are. */
  readonly number: number;
  /** Settles with the answer to `initialize`. */
  ready: Promise<Outcome>;
  /** It has, or had, a session: another one in it could see what is left of that. */
  isUsed: boolean;
  /** Sessions that are being opened in it, whose ids are not known, and their updates so far. */
  opening: number;
  early: JsonObject[];
}

export interface AgentsOptions {
  readonly world: World;
  readonly agent: SpawnRequest;
  /** All sessions in one process of the agent: for agents that keep sessions apart themselves. */
  readonly isOneProcess: boolean;
  /** How ids begin that no agent gives. */
  readonly prefix: string;
  readonly onStderr: (chunk: Uint8Array) => void;
  /** To the editor. A promise when it does not keep up. */
  readonly send: (message: JsonObject) => Promise<void> | undefined;
  readonly onMessage: (agent: RunningAgent, message: JsonObject) => void;
  /** One ended by itself; it is none of them any more. */
  readonly onEnded: (agent: RunningAgent, why: string, code: number) => void;
}

export class Agents {
  /** The words of the editor, with which each process is introduced. */
  initialize: JsonObject | undefined;
  readonly #options: AgentsOptions;
  readonly #running = new Set<RunningAgent>();
  /** Requests of agents to the editor, by the ids the editor knows them by. */
  readonly #questions = new Map<RpcId, { readonly agent: RunningAgent; readonly id: RpcId }>();
  readonly #ending = new Set<Promise<void>>();
  #count = 0;

  /** Starts the first at once: the editor is about to be introduced to it. */
  constructor(options: AgentsOptions) {
    this.#options = options;
    this.#start(() => Promise.resolve(NOT_INTRODUCED));
  }

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  /** For the next session. */
  free(): RunningAgent {
    const { isOneProcess } = this.#options;
    const free = [...this.#running].find(({ process, isUsed }) => process.isRunning && (isOneProcess || !isUsed));
    return free ?? this.#startAnother();
  }

  /** For what belongs to no session. */
  any(): RunningAgent {
    return [...this.#running].find(({ process }) => process.isRunning) ?? this.#startAnother();
  }

  /** Ends one that is not needed any more. */
  retire(agent: RunningAgent): void {
    this.#leave(agent);
    const ending = agent.process.end(LIMITS.closeGrace).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    handled(ending, this.#options.world.log, "end a process of the agent");
  }

  async end(grace: EndGrace): Promise<void> {
    await Promise.all([...[...this.#running].map(({ process }) => process.end(grace)), ...this.#ending]);
  }

  /** What one of them says. Requests of several processes may have the same id. */
  tell(agent: RunningAgent, message: JsonObject): void {
    const { method, params } = message;
    let passed = message;
    if ("id" in message) {
      const id = idOf(message["id"]);
      passed = { ...message, id: this.#named(agent, id) };
      this.#questions.set(this.#named(agent, id), { agent, id });
    } else if (method === CANCEL_REQUEST && isJsonObject(params)) {
      passed = { ...message, params: { ...params, requestId: this.#named(agent, idOf(params["requestId"])) } };
    }
    const jammed = this.#options.send(passed);
    if (jammed) agent.process.waitFor(jammed);
  }

  /** An answer of the editor. False: none of them asked. */
  answer(id: RpcId, message: JsonObject): boolean {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    question?.agent.process.send({ ...message, id: question.id });
    return question !== undefined;
  }

  /** Introduced with the editor's own words. */
  #startAnother(): RunningAgent {
    return this.#start((process) => process.request("initialize", this.initialize ?? {}, WRAP_LIMITS.initializeMs));
  }

  #start(ready: (process: AgentProcess) => Promise<Outcome>): RunningAgent {
    const { world, agent: command, onStderr } = this.#options;
    const process = new AgentProcess({
      world,
      command,
      onStderr,
      onMessage: (message) => this.#options.onMessage(agent, message),
      onEnded: (why, code) => {
        this.#leave(agent);
        this.#options.onEnded(agent, why, code);
      },
    });
    const number = this.#count;
    this.#count += 1;
    const agent: RunningAgent = { process, number, ready: ready(process), isUsed: false, opening: 0, early: [] };
    this.#running.add(agent);
    return agent;
  }

  /** What it asked the editor is not to be answered any more. */
  #leave(agent: RunningAgent): void {
    this.#running.delete(agent);
    for (const [requestId, question] of [...this.#questions]) {
      if (question.agent !== agent) continue;
      this.#questions.delete(requestId);
      const jammed = this.#options.send({ jsonrpc: "2.0", method: CANCEL_REQUEST, params: { requestId } });
      if (jammed) handled(jammed, this.#options.world.log, "wait for the editor");
    }
  }

  #named({ number }: RunningAgent, id: RpcId): RpcId {
    return number === 0 ? id : `${this.#options.prefix}${number}-${JSON.stringify(id)}`;
  }
}

const NOT_INTRODUCED = failure(ERRORS.invalidRequest, "initialize comes first", "acp.not_initialized");

export function idOf(value: JsonValue | undefined): RpcId {
  return typeof value === "string" || typeof value === "number" ? value : null;
}
