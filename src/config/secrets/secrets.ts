// What stands behind `!command` and `keyring:name`: fetched through a port, once, and never waited for without end.
import { orAborted } from "../../base/async/deadline.js";
import { messageOf } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";

export type SecretRequest =
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "keyring"; readonly name: string };

/** Fetches one secret; undefined when there is none of that name. This room neither spawns nor reaches a keyring itself. */
export interface ResolveSecret {
  (request: SecretRequest, signal: AbortSignal): Promise<string | undefined>;
  /** The value proved wrong: it is fetched again when next asked for. */
  forget?(request: SecretRequest, value: string): void;
}

interface SharedFetch {
  readonly value: Promise<string | undefined>;
  /** Those who still wait for it. Once there is none, it is given up. */
  waiting: number;
  readonly controller: AbortController;
}

/**
 * Fetches each secret once for all sessions of a process, and keeps it in memory only. Those who ask at the same time share one
 * run. A failure is not kept: the next one who asks starts another run. The key is the text of the reference.
 */
export function sharedSecrets(resolve: ResolveSecret): ResolveSecret {
  const fetches = new Map<string, SharedFetch>();
  const values = new Map<string, string>();
  const start = (key: string, request: SecretRequest): SharedFetch => {
    const controller = new AbortController();
    const fetching = async () => {
      try {
        const value = await resolve(request, controller.signal);
        if (value !== undefined) values.set(key, value);
        return value;
      } finally {
        fetches.delete(key);
      }
    };
    const fetch: SharedFetch = { value: fetching(), waiting: 0, controller };
    fetches.set(key, fetch);
    return fetch;
  };
  const shared: ResolveSecret = async (request, signal) => {
    const key = JSON.stringify(request);
    const known = values.get(key);
    if (known !== undefined) return known;
    const fetch = fetches.get(key) ?? start(key, request);
    fetch.waiting++;
    try {
      return await orAborted(fetch.value, signal);
    } finally {
      fetch.waiting--;
      if (fetch.waiting === 0 && signal.aborted) {
        fetches.delete(key);
        fetch.controller.abort(signal.reason);
      }
    }
  };
  shared.forget = (request, value) => {
    const key = JSON.stringify(request);
    if (values.get(key) === value) values.delete(key); // another session may have a newer one already
    resolve.forget?.(request, value);
  };
  return shared;
}

export type SecretAnswer =
  | { readonly kind: "found"; readonly value: string }
  | { readonly kind: "missing"; readonly reason: string }
  /** Still being fetched when the caller stopped waiting. */
  | { readonly kind: "waiting" };

interface Asked {
  readonly request: SecretRequest;
  readonly answer: Promise<SecretAnswer>;
  settled: SecretAnswer | undefined;
}

export class Secrets {
  readonly #world: World;
  readonly #resolve: ResolveSecret | undefined;
  readonly #asked = new Map<string, Asked>();

  constructor(world: World, resolve: ResolveSecret | undefined) {
    this.#world = world;
    this.#resolve = resolve;
  }

  /** Each is asked for once: a person who has unlocked their vault is not asked to at every reload. */
  async get(request: SecretRequest, patience: AbortSignal): Promise<SecretAnswer> {
    const key = JSON.stringify(request);
    const { settled, answer } = this.#asked.get(key) ?? this.#ask(key, request);
    return settled ?? (await orAborted(answer, patience).catch((): SecretAnswer => ({ kind: "waiting" })));
  }

  /** Resolves once nothing is being fetched any more. */
  async idle(): Promise<void> {
    await Promise.all([...this.#asked.values()].map(({ answer }) => answer));
  }

  /** What could not be had is asked for again when next wanted. */
  forgetFailures(): void {
    for (const [key, { settled }] of this.#asked) {
      if (settled !== undefined && settled.kind !== "found") this.#asked.delete(key);
    }
  }

  /** These values proved wrong. True when one of them was fetched here: it is fetched again when next wanted. */
  forgetValues(values: readonly string[]): boolean {
    let hasForgotten = false;
    for (const [key, { request, settled }] of this.#asked) {
      if (settled?.kind !== "found" || !values.includes(settled.value)) continue;
      this.#asked.delete(key);
      this.#resolve?.forget?.(request, settled.value);
      hasForgotten = true;
    }
    return hasForgotten;
  }

  #ask(key: string, request: SecretRequest): Asked {
    const answer = this.#fetch(request).then((fetched) => {
      asked.settled = fetched;
      return fetched;
    });
    const asked: Asked = { request, answer, settled: undefined };
    this.#asked.set(key, asked);
    return asked;
  }

  /** Never rejects. */
  async #fetch(request: SecretRequest): Promise<SecretAnswer> {
    const what = request.kind === "command" ? `the command ${JSON.stringify(request.command)}` : "the keyring";
    if (!this.#resolve) return { kind: "missing", reason: `${what} cannot be asked here` };
    using deadline = this.#world.deadline(LIMITS.secretTimeoutMs);
    try {
      const value = await orAborted(this.#resolve(request, deadline.signal), deadline.signal);
      return value === undefined
        ? { kind: "missing", reason: `${what} ${noneText(request)}` }
        : { kind: "found", value };
    } catch (error) {
      const late = `gave no answer within ${LIMITS.secretTimeoutMs} ms`;
      return { kind: "missing", reason: `${what} ${deadline.expired ? late : `failed: ${messageOf(error)}`}` };
    }
  }
}

function noneText(request: SecretRequest): string {
  if (request.kind === "command") return "gave nothing";
  const { name } = request;
  return `has no entry ${JSON.stringify(name)}: tenon secret set ${/^[\w.@/:-]+$/u.test(name) ? name : "<name>"} puts it there`;
}
