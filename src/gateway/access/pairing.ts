// Pairing codes: each lets one browser in, once, within minutes. Kept in memory, as hashes, and gone with the gateway.
import { createHash } from "node:crypto";
import type { World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { NewDevice } from "./tokens.js";

/** What the browser becomes. */
export interface CodeGrant extends Pick<NewDevice, "account" | "scopes" | "expiresInMs"> {
  /** Undefined: the browser says what it is called. */
  readonly name?: string;
}

interface KeptCode {
  readonly grant: CodeGrant;
  readonly madeMs: number;
  state: "open" | "used" | "void";
}

export type CodeVerdict = CodeGrant | "unknown" | "used" | "expired" | "void";

export class PairingCodes {
  readonly #world: Pick<World, "monotonicMs" | "randomBytes">;
  /** By hash, the oldest first. Those that are over are remembered for a while: people are told why a code is refused. */
  readonly #codes = new Map<string, KeptCode>();
  #wrongTries = 0;

  constructor(world: Pick<World, "monotonicMs" | "randomBytes">) {
    this.#world = world;
  }

  /** 128 random bits. The oldest gives way to one too many. */
  create(grant: CodeGrant): string {
    const code = Buffer.from(this.#world.randomBytes(16)).toString("base64url");
    const madeMs = this.#world.monotonicMs();
    const { max, rememberMs } = GATEWAY_LIMITS.page.codes;
    for (const [hash, known] of this.#codes) {
      if (madeMs - known.madeMs > rememberMs || this.#codes.size >= max) this.#codes.delete(hash);
    }
    if (this.#open().length === 0) this.#wrongTries = 0;
    this.#codes.set(hashOf(code), { grant, madeMs, state: "open" });
    return code;
  }

  /** What the code is for, once. Every wrong try counts for all codes that wait: nobody gets to guess for long. */
  take(code: string): CodeVerdict {
    const known = this.#codes.get(hashOf(code));
    if (known && this.#open().includes(known)) {
      known.state = "used";
      return known.grant;
    }
    this.#wrongTries += 1;
    if (this.#wrongTries >= GATEWAY_LIMITS.page.codes.tries) for (const one of this.#open()) one.state = "void";
    if (!known) return "unknown";
    return known.state === "open" ? "expired" : known.state;
  }

  #open(): readonly KeptCode[] {
    const sinceMs = this.#world.monotonicMs() - GATEWAY_LIMITS.page.codes.goodMs;
    return [...this.#codes.values()].filter(({ state, madeMs }) => state === "open" && madeMs > sinceMs);
  }
}

function hashOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
