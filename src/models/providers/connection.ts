// How a provider is reached: its key and address from the environment, and a fetch that takes the key nowhere else.
import { TenonError } from "../../base/errors.js";
import type { Fetch, Timer, World } from "../../base/ports/world.js";
import { isUrl } from "../../base/text/url.js";

export type Environment = World["env"];

export interface Connection {
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly baseURL: string;
  readonly fetch: Fetch;
}

/** Where a provider's connection is read from. */
export interface ConnectionRules {
  readonly keyVariable: string;
  /** The first of these that is set is where requests go. */
  readonly urlVariables: readonly string[];
  /** What the maker's own tools append to a base URL and the package does not. */
  readonly urlSuffix?: string;
  /** The provider's own address, where a key is needed. Without one, a variable must name it, and there may be no key. */
  readonly url?: string;
}

export function connectionOf(
  id: string,
  rules: ConnectionRules,
  given: {
    readonly env: Environment;
    readonly fetch: Fetch;
    readonly name: string;
    /** How long a request may bring no byte; without it there is no limit. */
    readonly silence?: SilenceOptions | undefined;
  },
): Connection {
  const { keyVariable, urlVariables } = rules;
  const { env, name } = given;
  const apiKey = readVariable(env, keyVariable);
  if (rules.url !== undefined && apiKey === undefined) {
    const hint = `Set ${keyVariable} in the environment, or choose another model with --model provider/name.`;
    throw new TenonError("model.unauthorized", `${id} needs a key: ${keyVariable} is not set.`, { hint });
  }
  const baseURL = baseUrlOf(rules, env);
  if (baseURL === undefined) {
    const hint = `Set ${urlVariables.join(" or ")}, for example to http://127.0.0.1:11434/v1 for Ollama.`;
    throw new TenonError("model.unknown", `${id} needs a base URL: ${urlVariables.join(" or ")} is not set.`, { hint });
  }
  if (!isUrl(baseURL) || !/^https?:$/.test(new URL(baseURL).protocol)) {
    throw new TenonError("model.unknown", `${id} has a base URL that is no http or https URL: ${baseURL}`, {
      hint: `Correct ${urlVariables.join(" or ")}.`,
    });
  }
  const fetch = given.silence ? withSilenceLimit(id, given.fetch, given.silence) : given.fetch;
  return { name, apiKey, baseURL, fetch: withoutRedirects(id, fetch) };
}

/** Where requests go; undefined where the provider has no address of its own and none is set. */
export function baseUrlOf(
  { urlVariables, urlSuffix = "", url }: ConnectionRules,
  env: Environment,
): string | undefined {
  const set = urlVariables.map((variable) => readVariable(env, variable)).find((value) => value !== undefined);
  const base = set?.replace(/\/+$/, "");
  return base === undefined || base.endsWith(urlSuffix) ? (base ?? url) : `${base}${urlSuffix}`;
}

/** An empty variable counts as unset, and a newline at the end of a pasted key would break the request. */
export function readVariable(env: Environment, variable: string): string | undefined {
  return env[variable]?.trim() || undefined;
}

/** A redirect would take headers with the key, and the conversation, to wherever it leads. */
function withoutRedirects(id: string, fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "manual" });
    if (response.status < 300 || response.status >= 400) return response;
    const to = shownUrl(response.headers.get("location") ?? "an address it does not name");
    await response.body?.cancel();
    throw new TenonError("model.unavailable", `${id}: the base URL redirects (${response.status}) to ${to}.`, {
      hint: "The key is not sent after redirects: set the base URL to where the provider really is.",
    });
  };
}

/** Without what may be secret in it: user, password and query. */
export function shownUrl(url: string): string {
  if (!isUrl(url)) return url;
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname === "/" ? "" : pathname}`;
}

// Gives up on a provider that sends nothing: not one byte of an answer, or none of the rest of it.

export interface SilenceOptions {
  readonly clock: Pick<World, "after" | "monotonicMs">;
  readonly silenceMs: number;
}

/** Counted in bytes, not in words: while a model thinks, providers send pings. Time in which the body is not read does not count. */
export function withSilenceLimit(id: string, fetch: Fetch, options: SilenceOptions): Fetch {
  return async (input, init) => {
    const silence = new Silence(id, options);
    const onAbort = () => silence.controller.abort(init?.signal?.reason);
    if (init?.signal?.aborted) onAbort();
    init?.signal?.addEventListener("abort", onAbort, { once: true });
    const end = () => {
      silence.stop();
      init?.signal?.removeEventListener("abort", onAbort);
    };
    try {
      const response = await silence.during(fetch(input, { ...init, signal: silence.controller.signal }));
      const { body, status, statusText, headers } = response;
      if (body) return new Response(watched(body, silence, end), { status, statusText, headers });
      end();
      return response;
    } catch (thrown) {
      end();
      throw silence.error ?? thrown;
    }
  };
}

class Silence {
  readonly controller: AbortController = new AbortController();
  readonly #id: string;
  readonly #options: SilenceOptions;
  #sinceMs: number | undefined;
  #timer: Timer | undefined;
  #giveUp: (error: TenonError) => void = () => {};
  /** Why it was given up. */
  error: TenonError | undefined;

  constructor(id: string, options: SilenceOptions) {
    this.#id = id;
    this.#options = options;
  }

  /** The same promise, unless it takes too long. */
  async during<T>(waiting: Promise<T>): Promise<T> {
    this.#sinceMs = this.#options.clock.monotonicMs();
    if (!this.#timer) this.#arm(this.#options.silenceMs);
    const silent = new Promise<never>((_, reject) => {
      this.#giveUp = reject;
    });
    try {
      return await Promise.race([waiting, silent]);
    } finally {
      this.#sinceMs = undefined;
    }
  }

  stop(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  /** One timer for many reads: it looks at how long the current one has taken. */
  #arm(ms: number): void {
    const { clock, silenceMs } = this.#options;
    this.#timer = clock.after(ms, () => {
      this.#timer = undefined;
      if (this.#sinceMs === undefined) return;
      const leftMs = silenceMs - (clock.monotonicMs() - this.#sinceMs);
      if (leftMs > 0) {
        this.#arm(leftMs);
        return;
      }
      const hint = "Send the prompt again, or raise silenceMs of this model in the configuration.";
      const text = `${this.#id} has sent nothing for ${Math.round(silenceMs / 1_000)} s.`;
      this.error = new TenonError("model.unavailable", text, { hint });
      this.#giveUp(this.error);
      this.controller.abort(this.error);
    });
  }
}

function watched(body: ReadableStream<Uint8Array>, silence: Silence, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const read = await silence.during(reader.read());
          if (!read.done) {
            controller.enqueue(read.value);
            return;
          }
          end();
          controller.close();
        } catch (thrown) {
          end();
          controller.error(silence.error ?? thrown);
        }
      },
      cancel: async (reason) => {
        end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
