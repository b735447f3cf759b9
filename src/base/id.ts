// Nominal types over plain values; each brand has one maker, the only place a cast is allowed.

declare const brand: unique symbol;

export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** Ends an exhaustive switch: unreachable while the types are right, loud when they are not. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}

// Ids of sessions: time-ordered ones (UUIDv7, RFC 9562), so that a listing by id is a listing by age, and the check of given ones.

/** Safe as a part of a file name: nothing that becomes a path takes an unchecked id. */
export type SessionId = Brand<string, "SessionId">;

export function isSessionId(text: string): text is SessionId {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/u.test(text);
}

/** `random` fills a buffer with random bytes; injected, so that tests can fix it. */
export function uuidV7(nowMs: number, random: (bytes: number) => Uint8Array): string {
  const bytes = random(16);
  let rest = nowMs;
  for (let index = 5; index >= 0; index--) {
    bytes[index] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
