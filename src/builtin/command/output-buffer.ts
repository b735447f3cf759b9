// The output of a command, however long: its start and its end are kept, and what lies between is counted.
import { BUILTIN_LIMITS } from "../limits.js";
import type { CommandOutput } from "../ports.js";

export interface OutputBounds {
  readonly headChars: number;
  readonly tailChars: number;
}

export class OutputBuffer {
  readonly #bounds: OutputBounds;
  #head = "";
  #tail = "";
  #total = 0;

  constructor(bounds: OutputBounds = BUILTIN_LIMITS.commandOutput) {
    this.#bounds = bounds;
  }

  push(text: string): void {
    this.#total += text.length;
    const room = this.#bounds.headChars - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Cut now and then, not at every piece: each cut copies.
    if (this.#tail.length > 2 * this.#bounds.tailChars) this.#tail = this.#tail.slice(-this.#bounds.tailChars);
  }

  since(sinceChar: number): CommandOutput {
    const from = Math.min(sinceChar, this.#total);
    const tail = this.#tail.slice(-this.#bounds.tailChars);
    const tailStart = this.#total - tail.length;
    const headPart = this.#head.slice(from);
    const tailPart = tail.slice(Math.max(0, from - tailStart));
    const gap = tailStart - Math.max(from, this.#head.length);
    const middle = gap > 0 ? `\n[… ${gap} characters left out …]\n` : "";
    return { text: `${headPart}${middle}${tailPart}`, nextChar: this.#total };
  }
}
