// Pairing codes: each lets one browser in, once, within minutes. Kept as hashes.
import { createHash } from "node:crypto";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";
import { SCOPES } from "./principal.js";
import type { NewDevice } from "./tokens.js";

/** What the browser becomes. */
export interface CodeGrant extends Pick<NewDevice, "account" | "scopes" | "expiresInMs"> {
  /** Undefined: the browser says what it is called. */
  readonly name?: string;
}

interface KeptCode {
  readonly hash: string;
  readonly grant: CodeGrant;
  readonly madeMs: number;
  readonly state: "open" | "used" | "void";
}

export interface CodeState {
  /** The oldest first. Those that are over are remembered for a while: people are told why a code is refused. */
  readonly codes: readonly KeptCode[];
  readonly wrongTries: number;
}

/** Where the codes are kept: every gateway that shares it takes the codes of the others. */
export interface CodeStorage {
  /** One edit at a time, by one clock. */
  change<T>(edit: (state: CodeState, nowMs: number) => { readonly state: CodeState; readonly result: T }): Promise<T>;
}

export type CodeVerdict = CodeGrant | "unknown" | "used" | "expired" | "void";

const NO_CODES: CodeState = { codes: [], wrongTries: 0 };

export class PairingCodes {
  readonly #world: Pick<World, "randomBytes">;
  readonly #storage: CodeStorage;

  constructor(world: Pick<World, "randomBytes">, storage: CodeStorage) {
    this.#world = world;
    this.#storage = storage;
  }

  /** 128 random bits. The oldest gives way to one too many. */
  async create(grant: CodeGrant): Promise<string> {
    const code = Buffer.from(this.#world.randomBytes(16)).toString("base64url");
    const hash = hashOf(code);
    await this.#storage.change(({ codes, wrongTries }, nowMs) => {
      const { max, rememberMs } = GATEWAY_LIMITS.page.codes;
      const known = codes.filter(({ madeMs }) => nowMs - madeMs <= rememberMs).slice(1 - max);
      const isFirst = !known.some((one) => isOpen(one, nowMs));
      const made: KeptCode = { hash, grant, madeMs: nowMs, state: "open" };
      return { state: { codes: [...known, made], wrongTries: isFirst ? 0 : wrongTries }, result: undefined };
    });
    return code;
  }

  /** What the code is for, once. Every wrong try counts for all codes that wait: nobody gets to guess for long. */
  async take(code: string): Promise<CodeVerdict> {
    const hash = hashOf(code);
    return await this.#storage.change<CodeVerdict>(({ codes, wrongTries }, nowMs) => {
      const known = codes.find((one) => one.hash === hash);
      if (known && isOpen(known, nowMs)) {
        const rest = codes.map((one) => (one === known ? { ...known, state: "used" as const } : one));
        return { state: { codes: rest, wrongTries }, result: known.grant };
      }
      const tries = wrongTries + 1;
      const isOver = tries >= GATEWAY_LIMITS.page.codes.tries;
      const left = codes.map((one) => (isOver && isOpen(one, nowMs) ? { ...one, state: "void" as const } : one));
      const result = known === undefined ? "unknown" : known.state === "open" ? "expired" : known.state;
      return { state: { codes: left, wrongTries: tries }, result };
    });
  }
}

/** They end with the gateway. */
export function codesInMemory(world: Pick<World, "monotonicMs">): CodeStorage {
  let kept = NO_CODES;
  return {
    change: async (edit) => {
      const { state, result } = edit(kept, world.monotonicMs());
      kept = state;
      return result;
    },
  };
}

/** From JSON; none where it is not what was written. */
export function readCodeState(text: string): CodeState {
  const { codes, wrongTries } = parseObject(text) ?? {};
  if (!Array.isArray(codes) || typeof wrongTries !== "number") return NO_CODES;
  return { codes: codes.flatMap((one: JsonValue) => (isJsonObject(one) ? (keptCode(one) ?? []) : [])), wrongTries };
}

function keptCode({ hash, madeMs, state, grant }: JsonObject): KeptCode | undefined {
  const known = (["open", "used", "void"] as const).find((one) => one === state);
  if (typeof hash !== "string" || typeof madeMs !== "number" || !known || !isJsonObject(grant)) return undefined;
  const { account, expiresInMs, name } = grant;
  const given: unknown = grant["scopes"];
  if (typeof account !== "string" || !Array.isArray(given)) return undefined;
  const rest = defined({
    expiresInMs: typeof expiresInMs === "number" ? expiresInMs : undefined,
    name: typeof name === "string" ? name : undefined,
  });
  const scopes = SCOPES.filter((scope) => given.includes(scope));
  return { hash, madeMs, state: known, grant: { account, scopes, ...rest } };
}

function isOpen({ state, madeMs }: KeptCode, nowMs: number): boolean {
  return state === "open" && nowMs - madeMs < GATEWAY_LIMITS.page.codes.goodMs;
}

function hashOf(code: string): string {
  return createHash("sha256").update(code).digest("hex");
}
