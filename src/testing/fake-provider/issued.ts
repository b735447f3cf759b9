// What a provider signed and wants back verbatim: signatures of thoughts, and which calls they came with.
import { createHash } from "node:crypto";

export class Issued {
  /** The text that was shown with a signature. */
  readonly #shown = new Map<string, string>();
  /** The signature that came with a call. */
  readonly #ofCall = new Map<string, string>();
  #count = 0;

  /** A signature for a thought, of which `shown` is what the client got to see. */
  sign(thought: string, shown: string): string {
    this.#count += 1;
    const signature = createHash("sha256").update(`${this.#count}:${thought}`).digest("base64");
    this.#shown.set(signature, shown);
    return signature;
  }

  bind(callId: string, signature: string): void {
    this.#ofCall.set(callId, signature);
  }

  /** What was shown with it; undefined when it was never given out. */
  shownWith(signature: string): string | undefined {
    return this.#shown.get(signature);
  }

  signatureOf(callId: string): string | undefined {
    return this.#ofCall.get(callId);
  }
}

/** Ids that are unique in the process, so that no two answers share one. */
let lastId = 0;

export function newId(prefix: string): string {
  lastId += 1;
  return `${prefix}${String(lastId).padStart(8, "0")}`;
}
