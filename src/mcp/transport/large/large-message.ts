// One long message: streamed to a thread that splits it, and assembled from pieces over several turns of the event loop.
import { messageOf } from "../../../base/errors.js";
import { isJsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import type { Thread, World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { PartFacts } from "./message-parts.js";
import { type FromSplitter, SPLITTER_LIMITS, type SplitterData, type ToSplitter } from "./message-splitter.js";
import { withParts } from "./spilled.js";

export interface LargeMessageOptions {
  readonly world: World;
  /** Where its long parts are put, in a folder of its own that is made when the first is. */
  readonly folder: string;
  /** After a `push` that returned false: there is room again. */
  readonly onRoom: () => void;
}

/** The memory through which bytes go to the thread. */
const SLOT_BYTES = 65_536;
const SLOTS = 16;

export class LargeMessage {
  readonly #options: LargeMessageOptions;
  readonly #nonce: string;
  readonly #folder: string;
  readonly #thread: Thread;
  readonly #lists: JsonValue[][] = [];
  #parts: readonly PartFacts[] = [];
  #skeleton: JsonValue = null;
  readonly #slots: Uint8Array;
  readonly #free: number[] = Array.from({ length: SLOTS }, (_, slot) => slot);
  readonly #queue: Uint8Array[] = [];
  #isEndSent = false;
  #backlog = 0;
  #settle: { resolve: (value: JsonValue) => void; reject: (error: Error) => void } | undefined;
  #failure: Error | undefined;
  /** Since when pieces have been handled in this turn of the event loop. */
  #pieceSinceMs: number | undefined;
  /** Resolves, never rejects, when `end` has. */
  readonly settled: Promise<void>;
  #onSettled: () => void = () => {};

  constructor(options: LargeMessageOptions) {
    this.#options = options;
    this.settled = new Promise((resolve) => {
      this.#onSettled = resolve;
    });
    const { world } = options;
    const name = Buffer.from(world.randomBytes(9)).toString("base64url");
    this.#nonce = `tenon-${name}-`;
    this.#folder = `${options.folder}/${name}`;
    this.#slots = new Uint8Array(new SharedArrayBuffer(SLOTS * SLOT_BYTES));
    const data: SplitterData = {
      settings: { nonce: this.#nonce, ...SPLITTER_LIMITS },
      folder: this.#folder,
      slots: this.#slots,
      slotBytes: SLOT_BYTES,
      previewBytes: MCP_LIMITS.spillPreviewBytes,
      spillBytes: MCP_LIMITS.messageSpillBytes,
    };
    this.#thread = world.thread(new URL("./splitter-worker.mjs", import.meta.url), data);
    this.#thread.listen({
      onMessage: (message) => {
        if (isReply(message)) this.#receive(message);
      },
      onFailed: (error) => this.#fail(error),
    });
  }

  /** The bytes must not change after this. False when the thread is behind: their source should wait for `onRoom`. */
  push(chunk: Uint8Array): boolean {
    if (this.#failure) return true;
    this.#backlog += chunk.length;
    this.#queue.push(chunk);
    this.#pump();
    return this.#backlog < MCP_LIMITS.threadBacklogBytes;
  }

  /** The message, as `JSON.parse` would give it but for what is in files. Rejects when it is no message at all. */
  end(): Promise<JsonValue> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      if (this.#failure) reject(this.#failure);
      else this.#pump();
    });
  }

  /** The message is not needed any more. */
  abandon(): void {
    this.#fail(new Error("given up"));
  }

  #send(message: ToSplitter): void {
    this.#thread.post(message);
  }

  /** Bytes go over in memory both threads see: copies for each message would pile up until they are collected. */
  #pump(): void {
    for (let chunk = this.#queue[0]; chunk; chunk = this.#queue[0]) {
      const slot = this.#free.pop();
      if (slot === undefined) return;
      const part = chunk.subarray(0, SLOT_BYTES);
      this.#slots.set(part, slot * SLOT_BYTES);
      this.#send({ kind: "chunk", slot, length: part.length });
      if (part.length < chunk.length) this.#queue[0] = chunk.subarray(part.length);
      else this.#queue.shift();
    }
    if (!this.#settle || this.#isEndSent) return;
    this.#isEndSent = true;
    this.#send({ kind: "end" });
  }

  #receive(reply: FromSplitter): void {
    if (this.#failure) return;
    switch (reply.kind) {
      case "taken":
        this.#taken(reply.slot, reply.length);
        break;
      case "failed":
        this.#fail(new Error(reply.reason));
        break;
      case "skeleton":
        this.#parts = reply.parts;
        this.#skeleton = this.#parse(reply.text, true);
        this.#send({ kind: "next" });
        break;
      case "piece": {
        this.#pieceSinceMs ??= this.#options.world.monotonicMs();
        const elements = this.#parse(`[${reply.text}]`, reply.hasParts);
        const list = (this.#lists[reply.list] ??= []);
        if (Array.isArray(elements)) for (const element of elements) list.push(element);
        this.#askNext();
        break;
      }
      case "over":
        this.#finish();
        break;
    }
  }

  /** Quick answers of the thread would all be delivered in one turn of the event loop: so the turn is ended. */
  #askNext(): void {
    const { world } = this.#options;
    const next = () => {
      if (!this.#failure) this.#send({ kind: "next" });
    };
    if (world.monotonicMs() - (this.#pieceSinceMs ?? 0) < MCP_LIMITS.serverTurnMs / 2) return next();
    this.#pieceSinceMs = undefined;
    world.after(0, next);
  }

  #taken(slot: number, bytes: number): void {
    const wasFull = this.#backlog >= MCP_LIMITS.threadBacklogBytes;
    this.#backlog -= bytes;
    this.#free.push(slot);
    this.#pump();
    if (wasFull && this.#backlog < MCP_LIMITS.threadBacklogBytes) this.#options.onRoom();
  }

  #parse(text: string, hasParts: boolean): JsonValue {
    const parsed = parseJson(text);
    if (!parsed.ok) {
      this.#fail(new Error(parsed.isDeep ? parsed.reason : "it is no JSON"));
      return null;
    }
    return hasParts && this.#parts.length > 0 ? withParts(parsed.value, (text) => this.#part(text)) : parsed.value;
  }

  #part(text: string): PartFacts | undefined {
    const prefix = `${this.#nonce}P`;
    return text.startsWith(prefix) ? this.#parts[Number(text.slice(prefix.length))] : undefined;
  }

  #finish(): void {
    if (this.#failure) return;
    this.#thread.end();
    this.#settle?.resolve(this.#withLists(this.#skeleton));
    this.#onSettled();
  }

  #withLists(message: JsonValue): JsonValue {
    if (!isJsonObject(message)) return message;
    const result = message["result"];
    if (!isJsonObject(result)) return message;
    const prefix = `${this.#nonce}L`;
    const filled = Object.entries(result).map(([key, value]) => {
      const isList = typeof value === "string" && value.startsWith(prefix);
      return [key, isList ? (this.#lists[Number(value.slice(prefix.length))] ?? []) : value];
    });
    return { ...message, result: Object.fromEntries(filled) };
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#queue.length = 0;
    this.#thread.end();
    const { files, log } = this.#options.world;
    files.remove(this.#folder).catch((thrown: unknown) => log.warn("mcp.spill_remains", { error: messageOf(thrown) }));
    this.#settle?.reject(error);
    this.#onSettled();
    this.#options.onRoom();
  }
}

/** The thread is our own code: its word is taken, its shape is not in doubt. */
function isReply(message: unknown): message is FromSplitter {
  return typeof message === "object" && message !== null && "kind" in message;
}
