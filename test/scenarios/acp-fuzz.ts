// One agent, in this process, under lines that nobody should send: what it did that it should not have.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Front, loadAgent } from "../../src/acp/index.js";
import { isJsonObject, type JsonValue, parseJson } from "../../src/base/json.js";
import { LineSplitter } from "../../src/base/ndjson.js";
import { createRuntime, nodeWorld, type SessionHost } from "../../src/index.js";
import { agentMessage, envelopeProblem } from "../../src/testing/acp-client/agent-message.js";
import { acpSchemaValidator, type MessageValidator } from "../../src/testing/index.js";
import { PLACES } from "./acp-fuzz-messages.js";
import { cleanEnv } from "./agent.js";

const ANSWER_WITHIN_MS = 20_000;
const MAX_LINE_BYTES = 268_435_456;
const LONG_CHARS = 20_000;

let validator: Promise<MessageValidator> | undefined;

/** Lines are bytes, one character each. Resolves with one sentence for everything that was wrong; rejects never. */
export async function runFuzz(lines: readonly string[]): Promise<readonly string[]> {
  validator ??= acpSchemaValidator({ unstable: true });
  const problems: string[] = [];
  const onRejection = (reason: unknown) => problems.push(`an unhandled rejection: ${describe(reason)}`);
  process.on("unhandledRejection", onRejection);
  const home = mkdtempSync(join(tmpdir(), "tenon-fuzz-"));
  const agent = new FuzzedAgent(home, await validator, (problem) => problems.push(problem));
  try {
    await agent.begin();
    for (const line of lines) await agent.send(line);
    await agent.end();
  } catch (error) {
    problems.push(describe(error));
  } finally {
    await agent.dispose();
    process.removeListener("unhandledRejection", onRejection);
    // What was asked for last may still be at work on the disk, and is nobody's concern.
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
  return problems;
}

class FuzzedAgent {
  readonly #home: string;
  readonly #toAgent = new PassThrough();
  readonly #fromAgent = new PassThrough();
  readonly #host: SessionHost;
  readonly #front: Front;
  readonly #validate: MessageValidator;
  readonly #onProblem: (problem: string) => void;
  /** The methods that were asked for under an id, which may be several: what is answered must fit one of them. */
  readonly #asked = new Map<string, string[]>();
  readonly #answers = new Map<string, (message: JsonValue) => void>();
  #places: Readonly<Record<string, string>> = {};

  constructor(home: string, validate: MessageValidator, onProblem: (problem: string) => void) {
    this.#home = home;
    this.#validate = validate;
    this.#onProblem = onProblem;
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const world = nodeWorld({ env: { ...cleanEnv(home), HOME: home }, log });
    this.#host = createRuntime({ world, model: "offline/echo", config: {} });
    const splitter = new LineSplitter(MAX_LINE_BYTES);
    this.#fromAgent.on("data", (chunk: Buffer) => {
      for (const line of splitter.push(chunk)) this.#receive(line.kind === "line" ? line.text : "a line without end");
    });
    this.#front = new Front({
      input: this.#toAgent,
      output: this.#fromAgent,
      world,
      newSessionId: () => randomUUID(),
      start: (stream, takePromised) => {
        loadAgent().then(
          ({ createAgent }) => createAgent({ host: this.#host, promised: takePromised() }).connect(stream),
          (error: unknown) => onProblem(describe(error)),
        );
      },
    });
  }

  /** One session that is open, and one that is not any more. */
  async begin(): Promise<void> {
    const cwd = this.#home;
    await this.#request("initialize", { protocolVersion: 1, clientCapabilities: { session: { notices: {} } } });
    const open = sessionIn(await this.#request("session/new", { cwd, mcpServers: [] }));
    const stored = sessionIn(await this.#request("session/new", { cwd, mcpServers: [] }));
    await this.#request("session/prompt", { sessionId: stored, prompt: [{ type: "text", text: "hello" }] });
    await this.#request("session/close", { sessionId: stored });
    this.#places = {
      [PLACES.cwd]: cwd,
      [PLACES.open]: open,
      [PLACES.stored]: stored,
      [PLACES.long]: "x".repeat(LONG_CHARS),
    };
  }

  async send(line: string): Promise<void> {
    let text = line;
    for (const [place, value] of Object.entries(this.#places)) text = text.replaceAll(place, value);
    const bytes = Buffer.from(text, "latin1");
    // A broken line may hold line ends of its own: each part is a message to the agent.
    for (const part of bytes.toString("utf8").split("\n")) this.#note(part);
    if (!this.#toAgent.write(Buffer.concat([bytes, Buffer.from("\n")]))) {
      await new Promise((resolve) => this.#toAgent.once("drain", resolve));
    }
  }

  /** Whatever was sent: it still answers, and it ends with its input. */
  async end(): Promise<void> {
    await this.#request("_tenon/still/there", {});
    await this.#request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    this.#toAgent.end();
    await within(this.#front.closed, "the end of the input was not seen");
    await within(this.#host.close(), "the sessions did not close");
  }

  async dispose(): Promise<void> {
    this.#toAgent.destroy();
    await within(this.#host.close(), "the sessions did not close");
    this.#fromAgent.destroy();
  }

  async #request(method: string, params: object): Promise<JsonValue> {
    const id = `fuzz:${randomUUID()}`;
    const answered = new Promise<JsonValue>((resolve) => this.#answers.set(JSON.stringify(id), resolve));
    await this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return await within(answered, `${method} was not answered`);
  }

  #note(text: string): void {
    const parsed = parseJson(text);
    if (!parsed.ok || !isJsonObject(parsed.value)) return;
    const { id, method } = parsed.value;
    if (id === undefined || typeof method !== "string") return;
    const key = JSON.stringify(id);
    this.#asked.set(key, [...(this.#asked.get(key) ?? []), method]);
  }

  #receive(text: string): void {
    const parsed = parseJson(text);
    if (!parsed.ok || !isJsonObject(parsed.value)) return this.#onProblem(`no message: ${clipped(text)}`);
    const message = parsed.value;
    const key = JSON.stringify(message["id"] ?? null);
    const methods = message["method"] === undefined ? (this.#asked.get(key) ?? [undefined]) : [undefined];
    const problems = methods.map((method) => envelopeProblem(message) ?? this.#validate(agentMessage(message, method)));
    if (problems.every((problem) => problem !== undefined)) this.#onProblem(`${problems[0]} in ${clipped(text)}`);
    if (message["method"] === undefined) this.#answers.get(key)?.(message);
  }
}

function sessionIn(answer: JsonValue): string {
  const result = isJsonObject(answer) ? answer["result"] : undefined;
  const id = isJsonObject(result) ? result["sessionId"] : undefined;
  if (typeof id !== "string") throw new Error(`no session: ${clipped(JSON.stringify(answer))}`);
  return id;
}

async function within<T>(promise: Promise<T>, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise} within ${ANSWER_WITHIN_MS / 1000} s`)), ANSWER_WITHIN_MS);
  });
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function clipped(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 400)}…`;
}
