// Reads the body of a response, capped, and reports how it ended.
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { MCP_LIMITS } from "../../limits.js";

export type Body =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  /** Over the cap; what was read is dropped and the rest is not waited for. */
  | { readonly kind: "too_large" }
  /** It broke off. */
  | { readonly kind: "broken"; readonly error: Error };

/** `done` is called exactly once, unless the answer is destroyed from our side. */
export function readBody(response: IncomingMessage, maxBytes: number, done: (body: Body) => void): void {
  const gathered = new Gathered(maxBytes);
  let isDone = false;
  const end = (body: Body) => {
    if (isDone) return;
    isDone = true;
    done(body);
  };
  response.on("data", (chunk: Buffer) => {
    if (isDone) return;
    gathered.add(chunk);
    if (gathered.droppedBytes === 0) return;
    end({ kind: "too_large" });
    response.destroy();
  });
  response.on("end", () => end({ kind: "whole", bytes: gathered.take() }));
  response.on("error", (error: Error) => end({ kind: "broken", error }));
  response.on("close", () => end({ kind: "broken", error: new Error("the connection was closed") }));
  if (Number(response.headers["content-length"] ?? 0) <= maxBytes) return;
  end({ kind: "too_large" });
  response.destroy();
}

/** Lets a body go by that nobody reads, so that its connection can be used again; a long one costs the connection. */
export function drain(response: IncomingMessage): void {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MCP_LIMITS.httpMaxErrorBytes) response.destroy();
  });
}

/** The media type without its parameters, in lower case; empty when there is none. */
export function mediaType(response: IncomingMessage): string {
  const given = response.headers["content-type"] ?? "";
  if (given === "application/json" || given === "text/event-stream") return given; // every call asks
  return given.split(";")[0]?.trim().toLowerCase() ?? "";
}

const NOTHING: Buffer = Buffer.alloc(0);

/** Joins bytes that come in pieces, in linear time and capped. A first piece is kept as it is; later ones are copied to it. */
export class Gathered {
  droppedBytes = 0;
  readonly #maxBytes: number;
  #bytes: Buffer = NOTHING;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  get isEmpty(): boolean {
    return this.#length === 0 && this.droppedBytes === 0;
  }

  add(piece: Buffer): void {
    if (this.droppedBytes > 0 || this.#length + piece.length > this.#maxBytes) {
      this.droppedBytes += this.#length + piece.length;
      this.#bytes = NOTHING;
      this.#length = 0;
      return;
    }
    if (this.#length === 0) this.#bytes = piece;
    else this.#append(piece);
    this.#length += piece.length;
  }

  /** All of it, with this last piece. */
  with(last: Buffer): Buffer {
    if (last.length > 0) this.add(last);
    return this.peek();
  }

  /** What is there so far. */
  peek(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** All of it, and nothing is kept. */
  take(): Buffer {
    const all = this.with(NOTHING);
    this.clear();
    return all;
  }

  clear(): void {
    this.#bytes = NOTHING;
    this.#length = 0;
    this.droppedBytes = 0;
  }

  #append(piece: Buffer): void {
    const wanted = this.#length + piece.length;
    // Always so after the first piece, whose memory is not ours to write to.
    if (wanted > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(wanted, this.#length * 2), this.#maxBytes));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    piece.copy(this.#bytes, this.#length);
  }
}
