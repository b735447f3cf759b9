// The wire trace in a file: one line of JSON for every message of ACP, MCP and the model, in order, without secrets.

import { AsyncLocalStorage } from "node:async_hooks";
import { defined } from "../base/json/defined.js";
import { hashJson } from "../base/json/hash.js";
import { isJsonObject, type JsonValue } from "../base/json/json.js";
import type { WireEntry, WireTrace } from "../base/ports/trace.js";
import type { Fetch } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import { recordedFetch } from "./trace-fetch.js";
import { TraceFile } from "./trace-file.js";
import { Redactor } from "./trace-redact.js";

export interface TraceOptions {
  readonly path: string;
  /** Secrets among its variables are hidden from the start. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Counts up when a reader of the old form would misread the new one. */
const FORMAT = 1;

export class FileTrace implements WireTrace, AsyncDisposable {
  readonly #options: TraceOptions;
  readonly #redactor = new Redactor();
  readonly #file: TraceFile;
  readonly #sessions = new AsyncLocalStorage<string>();
  #seq = 0;
  #connections = 0;
  #questions = 0;
  #exchanges = 0;

  /** Throws `usage.invalid` when the file cannot be written. */
  constructor(options: TraceOptions) {
    this.#options = options;
    this.#file = new TraceFile(options.path, (lost) => this.#ownLine({ kind: "gap", lost }));
    this.#redactor.hideEnvironment(options.env);
    this.#file.add(this.#ownLine({ kind: "start", format: FORMAT, tenon: VERSION }));
  }

  record(entry: WireEntry): void {
    const { channel, dir, session, server, connection, message } = entry;
    try {
      const { value, cut } = this.#redactor.clean(message);
      this.#file.add(
        JSON.stringify({
          ...this.#head(),
          channel,
          dir,
          session,
          server,
          connection,
          cut: cut === 0 ? undefined : cut,
          message: channel === "model" ? withHash(value) : value,
        }),
      );
    } catch {
      this.#file.add(this.#ownLine({ kind: "unwritten", channel, dir }));
    }
  }

  hide(values: Iterable<string>): void {
    this.#redactor.hide(values);
  }

  nextConnection(): number {
    this.#connections += 1;
    return this.#connections;
  }

  nextQuestion(): number {
    this.#questions += 1;
    return this.#questions;
  }

  modelFetch(fetch: Fetch): Fetch {
    return recordedFetch(fetch, () => {
      this.#exchanges += 1;
      const session = this.#sessions.getStore();
      const place = { channel: "model", ...defined({ session }) } as const;
      return { exchange: this.#exchanges, record: (dir, message) => this.record({ ...place, dir, message }) };
    });
  }

  within<T>(session: string, run: () => T): T {
    return this.#sessions.run(session, run);
  }

  /** Resolves once what was recorded so far is in the file. */
  flush(): Promise<void> {
    return this.#file.flush();
  }

  /** At once, for the exit of the process. */
  end(): void {
    this.#file.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  #head(): { readonly t: number; readonly seq: number } {
    this.#seq += 1;
    return { t: this.#options.now(), seq: this.#seq };
  }

  #ownLine(message: JsonValue): string {
    return JSON.stringify({ ...this.#head(), channel: "trace", message });
  }
}

/** Of the body as it stands in the trace: whoever replays it has no secrets to put back. */
function withHash(message: JsonValue): JsonValue {
  if (!isJsonObject(message) || message["kind"] !== "request") return message;
  return { ...message, hash: hashJson(message["body"] ?? null) };
}
