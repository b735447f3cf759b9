// Takes the bytes of messages as they come: short ones are read at once, long ones by the machinery that stdio has for them.
import { Buffer } from "node:buffer";
import type { World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";
import type { RpcId } from "../json-rpc.js";
import { MessageLines } from "../large/message-lines.js";
import { Gathered } from "./gathered.js";
import { type Incoming, incomingOf, readIncoming } from "./incoming.js";

export interface IntakeParts {
  readonly world: World;
  /** A folder for what is too long for memory. */
  readonly folder: () => string;
}

export interface IntakeListener {
  onIncoming(incoming: Incoming): void;
  /** More than can be handled at the moment: the source should wait until the opposite is said. */
  onFull(isFull: boolean): void;
  /** The message under way is over every limit: the rest of it is dropped as it comes. Once a message. */
  onTooLarge(): void;
}

const LF = 0x0a;
const SPACE = 0x20;
const LINE_END: Buffer = Buffer.from("\n");

export class Intake {
  readonly #parts: IntakeParts;
  readonly #listener: IntakeListener;
  readonly #postId: RpcId | undefined;
  readonly #short = new Gathered(MCP_LIMITS.messagePlainBytes);
  #long: MessageLines | undefined;
  #isInLong = false;
  #bytes = 0;

  constructor(parts: IntakeParts, listener: IntakeListener, postId?: RpcId) {
    this.#parts = parts;
    this.#listener = listener;
    this.#postId = postId;
  }

  /** The next bytes of the message under way. */
  push(bytes: Buffer): void {
    const isWithin = this.#bytes <= MCP_LIMITS.mcpMaxLineBytes;
    this.#bytes += bytes.length;
    if (!this.#isInLong && this.#short.length + bytes.length <= MCP_LIMITS.messagePlainBytes) {
      this.#short.add(bytes);
      return;
    }
    const long = (this.#long ??= this.#lines());
    if (!this.#isInLong) long.push(onOneLine(this.#short.take()));
    this.#isInLong = true;
    long.push(onOneLine(bytes));
    if (isWithin && this.#bytes > MCP_LIMITS.mcpMaxLineBytes) this.#listener.onTooLarge();
  }

  /** The message is whole. It is told now, or when it has been read. */
  end(): void {
    this.#bytes = 0;
    if (this.#isInLong) {
      this.#isInLong = false;
      this.#long?.push(LINE_END);
    } else this.#listener.onIncoming(readIncoming(this.#short.take(), this.#postId));
  }

  /** The bytes since the last end, for what turned out to be no message (nothing of a long one); they are gone after it. */
  take(): Buffer {
    this.#bytes = 0;
    if (this.#isInLong) {
      this.#long?.close();
      this.#long = undefined;
      this.#isInLong = false;
    }
    return this.#short.take();
  }

  get isEmpty(): boolean {
    return this.#short.isEmpty && !this.#isInLong;
  }

  /** Everything has been told that was whole. */
  get isIdle(): boolean {
    return this.#long === undefined;
  }

  /** Resolves when nothing is being read any more. What is not whole by then is forgotten. */
  async settled(): Promise<void> {
    const long = this.#long;
    if (!long) return;
    await long.end();
  }

  close(): void {
    this.#long?.close();
  }

  #lines(): MessageLines {
    return new MessageLines(this.#parts, {
      onValue: (value) => this.#listener.onIncoming(incomingOf(value, this.#postId)),
      onLost: (id, error) => this.#listener.onIncoming({ messages: [], unread: { id, error } }),
      onNoise: (noise) => this.#listener.onIncoming({ messages: [], noise }),
      onFull: (isFull) => this.#listener.onFull(isFull),
    });
  }
}

/** Between the values of JSON a newline is no more than a space, and inside of them there is none. */
function onOneLine(bytes: Buffer): Buffer {
  let at = bytes.indexOf(LF);
  if (at === -1) return bytes;
  const own = Buffer.from(bytes);
  for (; at !== -1; at = own.indexOf(LF, at + 1)) own[at] = SPACE;
  return own;
}
