// Gives up on a provider that sends nothing: not one byte of an answer, or none of the rest of it.
import { TenonError } from "../base/errors.js";
import type { Fetch, Timer, World } from "../base/ports/world.js";

export interface SilenceOptions {
  readonly clock: Pick<World, "after" | "monotonicMs">;
  readonly silenceMs: number;
}

/** Counted in bytes, not in words: models that think for long are told of by pings. Time in which nobody reads does not count. */
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
      if (response.body) return withBody(response, watched(response.body, silence, end));
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

function withBody({ status, statusText, headers }: Response, body: ReadableStream<Uint8Array>): Response {
  return new Response(body, { status, statusText, headers });
}
