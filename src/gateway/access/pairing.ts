// Pairing codes: each lets one browser in, once, within minutes. Kept as hashes.
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

export interface PairingCodes {
  /** 128 random bits. The oldest gives way to one too many. */
  create(grant: CodeGrant): Promise<string>;
  /** What the code is for, once. Every wrong try counts for all codes that wait: nobody gets to guess for long. */
  take(code: string): Promise<CodeVerdict>;
}

/** Gone with the gateway. */
export class CodesInMemory implements PairingCodes {
  readonly #world: Pick<World, "monotonicMs" | "randomBytes">;
  /** By hash, the oldest first. Those that are over are remembered for a while: people are told why a code is refused. */
  readonly #codes = new Map<string, KeptCode>();
  #wrongTries = 0;

  constructor(world: Pick<World, "monotonicMs" | "randomBytes">) {
    this.#world = world;
  }

  async create(grant: CodeGrant): Promise<string> {
    const code = newCode(this.#world);
    const madeMs = this.#world.monotonicMs();
    const { max, rememberMs } = GATEWAY_LIMITS.page.codes;
    for (const [hash, known] of this.#codes) {
      if (madeMs - known.madeMs > rememberMs || this.#codes.size >= max) this.#codes.delete(hash);
    }
    if (this.#open().length === 0) this.#wrongTries = 0;
    this.#codes.set(codeHash(code), { grant, madeMs, state: "open" });
    return code;
  }

  async take(code: string): Promise<CodeVerdict> {
    const known = this.#codes.get(codeHash(code));
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

function newCode(world: Pick<World, "randomBytes">): string {
  return Buffer.from(world.randomBytes(16)).toString("base64url");
}

function codeHash(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
