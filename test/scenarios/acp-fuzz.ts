// One agent, in this process, under lines that nobody should send: what it did that it should not have.
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Front, HostAccess, loadAgent } from "../../src/acp/index.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/base/json/json.js";
import { LineSplitter } from "../../src/base/json/ndjson.js";
import type { World } from "../../src/base/ports/world.js";
import { createHost, type SessionHost } from "../../src/session/index.js";
import { acpSchemaValidator, echoTool, type MessageValidator } from "../../src/testing/index.js";
import { agentMessage, envelopeProblem } from "../../src/testing/kit/acp-client/connection.js";
import { scriptedChild } from "../../src/testing/kit/world/child.js";
import { nodeWorld } from "../../src/world/index.js";
import { PLACES } from "./acp-fuzz-messages.js";
import { cleanEnv } from "./agent.js";

const ANSWER_WITHIN_MS = 20_000;
const MAX_LINE_BYTES = 268_435_456;
const LONG_CHARS = 20_000;
const HUGE_CHARS = 1_000_000;
/** How many lines come in one go, in turn: one at a time, some, a burst. */
const BURSTS: readonly number[] = [1, 8, 8, 64, 3];
/** One line of so many comes in two halves; one of so many finds a client that does not read for a while. */
const HALVED_EVERY = 7;
const UNREAD_EVERY = 41;
const UNREAD_LINES = 12;
const OPEN_SESSIONS = 4;
const POLL_MS = 5;

let validator: Promise<MessageValidator> | undefined;

/** Lines are bytes, one character each. Resolves with one sentence for everything that was wrong; rejects never. */
export async function runFuzz(lines: readonly string[]): Promise<readonly string[]> {
  validator ??= acpSchemaValidator({ unstable: true });
  const problems: string[] = [];
  const onRejection = (reason: unknown) => problems.push(`an unhandled rejection: ${describe(reason)}`);
  const onThrown = (error: unknown) => problems.push(`would have ended the process: ${describe(error)}`);
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onThrown);
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
    process.removeListener("uncaughtException", onThrown);
    rmSync(home, { recursive: true, force: true });
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
  /** How often an id was sent, in whatever. */
  readonly #uses = new Map<string, number>();
  /** Requests that are as they should be, by id. */
  readonly #owed = new Map<string, string>();
  /** How often an id was answered. */
  readonly #answered = new Map<string, number>();
  /** Sessions that were opened, in any way. */
  readonly #open: string[] = [];
  #places: Readonly<Record<string, string>> = {};
  #sent = 0;
  #burst = 1;
  /** A line is written by half: others wait. */
  #isHalf = false;
  readonly #waiting: string[] = [];

  constructor(home: string, validate: MessageValidator, onProblem: (problem: string) => void) {
    this.#home = home;
    this.#validate = validate;
    this.#onProblem = onProblem;
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const real = nodeWorld({ env: { ...cleanEnv(home), HOME: home }, log });
    const world: World = {
      ...real,
      // A server that works, without a process for each session.
      spawn: (request) =>
        request.command === serverIn(home)
          ? scriptedChild(request, { tools: [echoTool()] }, (delayMs, run) => real.after(delayMs, run))
          : real.spawn(request),
    };
    this.#host = createHost({ world, config: {} });
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
          ({ createAgent }) =>
            createAgent({ access: new HostAccess(this.#host), promised: takePromised(), send: stream.send }).connect(
              stream,
            ),
          (error: unknown) => onProblem(describe(error)),
        );
      },
    });
  }

  /** Some sessions that are open, and one that is not any more. */
  async begin(): Promise<void> {
    const cwd = this.#home;
    plantFolders(cwd);
    await this.#request("initialize", { protocolVersion: 1, clientCapabilities: { session: { notices: {} } } });
    for (let count = 0; count < OPEN_SESSIONS; count++) await this.#request("session/new", { cwd, mcpServers: [] });
    const stored = sessionIn(await this.#request("session/new", { cwd, mcpServers: [] }));
    await this.#request("session/prompt", { sessionId: stored, prompt: [{ type: "text", text: "hello" }] });
    await this.#request("session/close", { sessionId: stored });
    this.#places = {
      [PLACES.cwd]: cwd,
      [PLACES.stored]: stored,
      [PLACES.long]: "x".repeat(LONG_CHARS),
      [PLACES.huge]: "x".repeat(HUGE_CHARS),
      [PLACES.server]: serverIn(cwd),
    };
  }

  async send(line: string): Promise<void> {
    let text = line;
    const open = this.#open[this.#sent % this.#open.length] ?? "";
    for (const [place, value] of Object.entries({ ...this.#places, [PLACES.open]: open })) {
      text = text.replaceAll(place, value);
    }
    const bytes = Buffer.from(text, "latin1");
    // A broken line may hold line ends of its own: each part is a message to the agent.
    for (const part of bytes.toString("utf8").split("\n")) this.#note(part);
    await this.#write(Buffer.concat([bytes, Buffer.from("\n")]));
  }

  /** Some lines come in one go, as clients send them, others in halves, and others find the agent at work or nobody reading. */
  async #write(line: Buffer): Promise<void> {
    const count = ++this.#sent;
    if (count % UNREAD_EVERY === 0) this.#fromAgent.pause();
    if (count % UNREAD_EVERY === UNREAD_LINES) this.#fromAgent.resume();
    const half = count % HALVED_EVERY === 0 ? Math.floor(line.length / 2) : line.length;
    this.#toAgent.write(line.subarray(0, half));
    if (half < line.length) {
      this.#isHalf = true;
      await pause(1);
      this.#isHalf = false;
      this.#toAgent.write(line.subarray(half));
      for (const waiting of this.#waiting.splice(0)) this.#toAgent.write(waiting);
    }
    this.#burst -= 1;
    if (this.#burst > 0) return;
    this.#burst = BURSTS[count % BURSTS.length] ?? 1;
    await pause(1);
  }

  /** Whatever was sent: every request is answered, it still answers, and it ends with its input. */
  async end(): Promise<void> {
    this.#fromAgent.resume();
    await this.#request("_tenon/still/there", {});
    const until = performance.now() + ANSWER_WITHIN_MS;
    while (this.#unanswered().length > 0 && performance.now() < until) await pause(POLL_MS);
    for (const words of this.#unanswered()) this.#onProblem(`never answered: ${words}`);
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
    const parsed = parseJson(text, Number.POSITIVE_INFINITY);
    if (!parsed.ok || !isJsonObject(parsed.value)) return;
    const { id, method, jsonrpc } = parsed.value;
    if (id === undefined) return;
    const key = JSON.stringify(id);
    if (typeof method === "string") this.#asked.set(key, [...(this.#asked.get(key) ?? []), method]);
    const isClear = jsonrpc === "2.0" && (typeof id === "string" || Number.isInteger(id));
    if (isClear && typeof method === "string") this.#owed.set(key, text);
    this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
  }

  #unanswered(): readonly string[] {
    const left = [...this.#owed].filter(([key]) => this.#uses.get(key) === 1 && !this.#answered.has(key));
    return left.map(([, text]) => clipped(text));
  }

  #receive(text: string): void {
    const parsed = parseJson(text);
    if (!parsed.ok || !isJsonObject(parsed.value)) return this.#onProblem(`no message: ${clipped(text)}`);
    const message = parsed.value;
    const key = JSON.stringify(message["id"] ?? null);
    const methods = message["method"] === undefined ? (this.#asked.get(key) ?? [undefined]) : [undefined];
    const problems = methods.map((method) => envelopeProblem(message) ?? this.#validate(agentMessage(message, method)));
    if (problems.every((problem) => problem !== undefined)) this.#onProblem(`${problems[0]} in ${clipped(text)}`);
    if (message["method"] === undefined) this.#settle(key, message);
    else if (message["id"] !== undefined) this.#refuse(message["id"]);
  }

  #settle(key: string, message: JsonObject): void {
    const times = (this.#answered.get(key) ?? 0) + 1;
    this.#answered.set(key, times);
    if (key !== "null" && times > (this.#uses.get(key) ?? 0))
      this.#onProblem(`answered ${times} times: ${clipped(key)}`);
    const { result } = message;
    if (isJsonObject(result) && typeof result["sessionId"] === "string") this.#open.push(result["sessionId"]);
    this.#answers.get(key)?.(message);
  }

  /** What the agent asks its client for is not to be had; some of it the fuzzed lines have answered before. */
  #refuse(id: JsonValue): void {
    const error = { code: -32601, message: "Method not found" };
    const line = `${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`;
    if (this.#isHalf) this.#waiting.push(line);
    else if (this.#toAgent.writable) this.#toAgent.write(line);
  }
}

function serverIn(home: string): string {
  return join(home, "bin", "works");
}

/** Projects whose files are against whoever opens them; their names are in acp-fuzz-messages.ts. */
function plantFolders(home: string): void {
  const write = (path: string, text: string) => {
    mkdirSync(join(home, path, ".."), { recursive: true });
    writeFileSync(join(home, path), text, { mode: 0o755 });
  };
  write("bin/works", "");
  write("a-file", "no folder");
  symlinkSync(join(home, "loop"), join(home, "loop"));
  write("broken-json/.mcp.json", '{"mcpServers": {"a": ');
  write("broken-json/.tenon/config.json", "\u0000\u0000");
  write("nested-json/.mcp.json", `{"mcpServers":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`);
  write("nested-json/.tenon/tools.lock", "[".repeat(20_000));
  write("bad-commands/README.md", "a file");
  const bad = ["./README.md/x", "", "/", "x".repeat(5_000), "a\u0000b", "../../../../bin/sh"];
  const commands = Object.fromEntries(bad.map((command, index) => [`s${index}`, { command, args: ["."] }]));
  write("bad-commands/.mcp.json", JSON.stringify({ mcpServers: commands }));
  const many = Array.from({ length: 2_000 }, (_, index) => [`s${index}`, { command: `./server-${index}` }]);
  write("many-servers/.mcp.json", JSON.stringify({ mcpServers: Object.fromEntries(many) }));
  mkdirSync(join(home, "looping-files"));
  for (const name of [".mcp.json", ".tenon", "AGENTS.md"])
    symlinkSync(join(home, "looping-files", name), join(home, "looping-files", name));
  write("odd-values/.mcp.json/is-a-folder", "");
  const rules = [{ effect: "deny", paths: ["**/".repeat(50)] }, 7, null, { effect: [[]] }];
  write(
    "odd-values/.tenon/config.json",
    JSON.stringify({ permissions: { rules, mode: {} }, mcpServers: [1], model: [] }),
  );
  write("odd-values/.gitignore", `${"*?".repeat(500)}\n`.repeat(100));
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
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
