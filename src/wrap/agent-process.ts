// One process of the wrapped agent: its messages, the requests it has not answered, and its end.
import { handled } from "../base/async/scope.js";
import { type EndGrace, endTree } from "../base/io/process.js";
import { isJsonObject, type JsonObject, parseJson } from "../base/json/json.js";
import { type Line, LineSplitter } from "../base/json/ndjson.js";
import { LIMITS } from "../base/limits.js";
import type { Child, ChildExit, SpawnRequest, World } from "../base/ports/world.js";
import { ERRORS, failure, type Outcome, type RpcId, readRpc } from "../translator/index.js";
import { WRAP_LIMITS } from "./limits.js";

export interface AgentProcessOptions {
  readonly world: World;
  readonly command: SpawnRequest;
  readonly onStderr: (chunk: Uint8Array) => void;
  /** A request or notification; answers go to whoever asked. */
  readonly onMessage: (message: JsonObject) => void;
  /** It ended by itself, after what it left unanswered was answered as failed. `why`: after "the agent". */
  readonly onEnded: (why: string, code: number) => void;
}

/** Called once, in the order of the agent's messages. */
export type OnAnswer = (outcome: Outcome) => void;

export class AgentProcess {
  readonly #options: AgentProcessOptions;
  readonly #child: Child;
  readonly #lines = new LineSplitter(LIMITS.acpMaxLineBytes, { findsHeads: true });
  readonly #asked = new Map<RpcId, OnAnswer>();
  #ownRequests = 0;
  #noise = 0;
  #state: "running" | "ending" | "ended" = "running";

  constructor(options: AgentProcessOptions) {
    this.#options = options;
    const child = options.world.spawn(options.command);
    this.#child = child;
    child.stdin.on("error", () => {}); // its end is told by `exited`
    child.stdout.on("error", () => {});
    child.stderr.on("error", () => {});
    child.stderr.on("data", (chunk: Buffer) => options.onStderr(chunk));
    child.stdout.on("data", (chunk: Buffer) => this.#read(this.#lines.push(chunk)));
    child.stdout.once("end", () => options.world.after(LIMITS.killWaitMs, () => this.#silenced()));
    handled(this.#watch(child), options.world.log, "end of a wrapped agent");
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  send(message: JsonObject): void {
    if (this.#state === "ended") return;
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    // One that goes on without reading has hung: what it is sent would fill the memory.
    if (this.#child.stdin.writableLength > WRAP_LIMITS.unreadBytes) this.#child.signalGroup("SIGKILL");
  }

  /** A request with an id of the caller's. */
  ask(message: JsonObject & { readonly id: RpcId }, onAnswer: OnAnswer): void {
    if (this.#state === "ended") return onAnswer(gone("has ended"));
    this.#asked.set(message.id, onAnswer);
    this.send(message);
  }

  /** A request of Tenon's own. Never rejects. */
  async request(method: string, params: JsonObject, timeoutMs: number): Promise<Outcome> {
    this.#ownRequests += 1;
    const id = `tenon-wrap-${this.#ownRequests}`;
    const answered = new Promise<Outcome>((resolve) => this.ask({ jsonrpc: "2.0", id, method, params }, resolve));
    const { world } = this.#options;
    const late = new Promise<Outcome>((resolve) => {
      const timer = world.after(timeoutMs, () =>
        resolve(gone(`did not answer ${method} within ${timeoutMs / 1_000} s`)),
      );
      handled(
        answered.then(() => timer.clear()),
        world.log,
        "wait for a wrapped agent",
      );
    });
    return await Promise.race([answered, late]);
  }

  /** While the editor does not read, nothing more is read from the agent. */
  waitFor(over: Promise<void>): void {
    this.#child.stdout.pause();
    handled(
      over.then(() => this.#child.stdout.resume()),
      this.#options.world.log,
      "wait for the editor",
    );
  }

  /** End of input, TERM, KILL; nothing of it is left. What it was asked is not answered any more. */
  async end(grace: EndGrace): Promise<void> {
    if (this.#state === "running") this.#state = "ending";
    await endTree(this.#child, this.#options.world, grace);
  }

  async #watch(child: Child): Promise<void> {
    const exit = await child.exited;
    if (child.pid !== undefined && !child.stdout.readableEnded) {
      await new Promise<void>((resolve) => {
        child.stdout.once("close", resolve);
        child.stdout.once("end", resolve);
        this.#options.world.after(LIMITS.killWaitMs, resolve); // a process that it left behind may hold the pipe
      });
    }
    this.#read(this.#lines.flush());
    const isExpected = this.#state === "ending";
    this.#state = "ended";
    const why = exitText(exit);
    for (const [id, onAnswer] of [...this.#asked]) {
      this.#asked.delete(id);
      onAnswer(gone(why));
    }
    if (isExpected) return;
    this.#options.onEnded(why, exit.kind === "exited" ? (exit.code ?? 1) : 1);
    await endTree(child, this.#options.world, LIMITS.closeGrace);
  }

  /** It lives, and can never answer again. */
  #silenced(): void {
    if (this.#state !== "running") return;
    this.#options.world.log.warn("wrap.agent_silent", { text: "it closed its output and runs on: it is ended" });
    handled(
      endTree(this.#child, this.#options.world, LIMITS.closeGrace),
      this.#options.world.log,
      "end a silent agent",
    );
  }

  #read(lines: readonly Line[]): void {
    for (const line of lines) {
      const parsed = line.kind === "line" ? parseJson(line.text) : undefined;
      if (parsed?.ok && isJsonObject(parsed.value)) this.#hear(parsed.value);
      else if (line.kind === "oversize") this.#tooLong(line);
      else this.#heardNoise(line.text);
    }
  }

  #hear(message: JsonObject): void {
    const read = readRpc(message);
    if (read.kind === "invalid") return this.#heardNoise(JSON.stringify(message));
    if (read.kind !== "answer") return this.#options.onMessage(message);
    const onAnswer = this.#asked.get(read.id);
    this.#asked.delete(read.id);
    if (onAnswer) onAnswer(read.outcome);
    else this.#heardNoise(`an answer to ${JSON.stringify(read.id)}, which was not asked`);
  }

  /** An answer that cannot be read still ends the request it is for. */
  #tooLong({ bytes, head }: Extract<Line, { kind: "oversize" }>): void {
    const { id, hasMethod = true } = head ?? {};
    const onAnswer = id === undefined || hasMethod ? undefined : this.#asked.get(id);
    const words = `a message of ${bytes} bytes is over the limit of ${LIMITS.acpMaxLineBytes}`;
    if (id !== undefined && onAnswer) {
      this.#asked.delete(id);
      onAnswer(gone(`answered with ${words}`));
    } else if (id !== undefined && hasMethod) {
      this.send({ jsonrpc: "2.0", id, error: { code: ERRORS.invalidRequest, message: `Invalid request: ${words}` } });
    }
    this.#heardNoise(words);
  }

  #heardNoise(text: string): void {
    this.#noise += 1;
    const { lines, chars } = WRAP_LIMITS.noise;
    if (this.#noise > lines) return;
    const more = this.#noise === lines ? { note: "further lines are not logged" } : {};
    this.#options.world.log.warn("wrap.agent_noise", { text: text.slice(0, chars), ...more });
  }
}

function gone(why: string): Outcome {
  return failure(ERRORS.internal, `The wrapped agent ${why}`, "agent.gone", "Its stderr may say why.");
}

function exitText(exit: ChildExit): string {
  if (exit.kind === "not_started") return `could not be started: ${exit.error.message}`;
  return exit.signal === null ? `ended with exit code ${exit.code}` : `was ended by ${exit.signal}`;
}
