// Keeps the end of a stream of text: what a server said last, for the error people read.

export class Tail {
  readonly #maxBytes: number;
  #text = "";

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    const kept = chunk.length > this.#maxBytes ? chunk.subarray(chunk.length - this.#maxBytes) : chunk;
    this.#text = (this.#text + Buffer.from(kept).toString("utf8")).slice(-this.#maxBytes);
  }

  get text(): string {
    return this.#text.trim();
  }
}
