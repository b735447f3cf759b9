// The client of the stream bench: reads as little as it can while the clock runs, and checks everything afterwards.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/base/json/json.js";
import type { Program } from "../lib/sample.js";
import { type Order, wordsFor } from "./order.js";

const ANSWER_WITHIN_MS = 60_000;
/** Longer than the end of an answer that tells it from an update. */
const OVERLAP = 200;

export interface Piece {
  readonly bytes: Buffer;
  /** On the machine's clock, as the agent's is. */
  readonly arrivedNs: bigint;
}

export interface Streamed {
  /** From the sending of the prompt to the arrival of its answer. */
  readonly elapsedMs: number;
  /** What every chunk said, in order, and when it arrived. */
  readonly chunks: readonly { readonly text: string; readonly arrivedNs: bigint }[];
}

export class StreamClient {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #ended: Promise<void>;
  #pieces: Piece[] = [];
  #tail = "";
  #id = 0;
  #isAnswered: () => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor({ node, file, env, cwd }: Program, args: readonly string[]) {
    this.#child = spawn(node, [file, ...args], { env, cwd, detached: true, stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin.on("error", () => {}); // told by its end
    this.#child.stdout.on("data", (bytes: Buffer) => this.#receive(bytes));
    this.#ended = new Promise((resolve) => {
      this.#child.once("error", (error) => {
        this.#fail(error);
        resolve();
      });
      this.#child.once("close", (code, signal) => {
        this.#fail(new Error(`the agent ended (${signal ?? `exit code ${code}`})`));
        resolve();
      });
    });
  }

  async begin(): Promise<void> {
    await this.#request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  }

  /** In a session of its own: what came before is no part of it. */
  async stream(order: Order, cwd: string): Promise<Streamed> {
    const opened = lastMessage(await this.#request("session/new", { cwd, mcpServers: [] }));
    const sessionId = isJsonObject(opened["result"]) ? (opened["result"]["sessionId"] ?? null) : null;
    const prompt = [{ type: "text", text: wordsFor(order) }];
    const startMs = performance.now();
    const pieces = await this.#request("session/prompt", { sessionId, prompt });
    return { elapsedMs: performance.now() - startMs, chunks: chunksIn(pieces) };
  }

  /** Of the agent, since it was started. */
  async cpuUs(): Promise<number> {
    const { result } = lastMessage(await this.#request("_bench/cpu", {}));
    return isJsonObject(result) ? Number(result["cpuUs"]) : Number.NaN;
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), ANSWER_WITHIN_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  async #request(method: string, params: JsonObject): Promise<readonly Piece[]> {
    this.#pieces = [];
    this.#tail = "";
    this.#id += 1;
    const answered = new Promise<void>((resolve, reject) => {
      this.#isAnswered = resolve;
      this.#fail = reject;
    });
    const late = () => this.#fail(new Error(`${method} was not answered within ${ANSWER_WITHIN_MS / 1000} s`));
    const timer = setTimeout(late, ANSWER_WITHIN_MS);
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: this.#id, method, params })}\n`);
    await answered.finally(() => clearTimeout(timer));
    return this.#pieces;
  }

  /** Only updates have a method, and only answers an id: a search for the words is all that is done for each piece. */
  #receive(bytes: Buffer): void {
    this.#pieces.push({ bytes, arrivedNs: process.hrtime.bigint() });
    const text = this.#tail + bytes.toString("latin1");
    this.#tail = text.slice(-OVERLAP);
    if (text.includes(`"id":${this.#id},"result"`) && text.endsWith("\n")) this.#isAnswered();
    else if (text.includes(`"id":${this.#id},"error"`)) this.#fail(new Error(text.trim().split("\n").at(-1)));
  }
}

interface Line {
  readonly message: JsonObject;
  readonly arrivedNs: bigint;
}

/** A line has arrived with the piece that ends it. */
function linesIn(pieces: readonly Piece[]): readonly Line[] {
  const lines: Line[] = [];
  let begun = "";
  for (const { bytes, arrivedNs } of pieces) {
    const parts = (begun + bytes.toString("utf8")).split("\n");
    begun = parts.pop() ?? "";
    for (const part of parts) lines.push({ message: messageIn(part), arrivedNs });
  }
  return lines;
}

export function messageIn(text: string): JsonObject {
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) throw new Error(`no message: ${text.slice(0, 200)}`);
  return parsed.value;
}

function lastMessage(pieces: readonly Piece[]): JsonObject {
  const answer = linesIn(pieces).findLast(({ message }) => message["id"] !== undefined);
  return answer?.message ?? {};
}

function chunksIn(pieces: readonly Piece[]): Streamed["chunks"] {
  return linesIn(pieces).flatMap(({ message, arrivedNs }) => {
    const text = chunkText(message);
    return text === undefined ? [] : [{ text, arrivedNs }];
  });
}

export function chunkText(message: JsonObject): string | undefined {
  const update = fieldOf(fieldOf(message, "params"), "update");
  if (fieldOf(update, "sessionUpdate") !== "agent_message_chunk") return undefined;
  const text = fieldOf(fieldOf(update, "content"), "text");
  return typeof text === "string" ? text : undefined;
}

function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}
