// Keeps the end of a stream of text: what a server said last, for the error people read.

export class Tail {
  readonly #maxBytes: number;
  #text = "";
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    const kept = chunk.length > this.#maxBytes ? chunk.subarray(chunk.length - this.#maxBytes) : chunk;
    const text = this.#text + Buffer.from(kept).toString("utf8");
    this.#isCut ||= kept !== chunk || text.length > this.#maxBytes;
    this.#text = text.slice(-this.#maxBytes);
  }

  /** From the first whole word on: the rest of a secret that was cut in two would not be known for one. */
  get text(): string {
    return (this.#isCut ? this.#text.replace(/^\S+\s/u, "") : this.#text).trim();
  }
}
