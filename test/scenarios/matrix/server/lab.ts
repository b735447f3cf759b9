// What every bad server shares, whatever its transport: its tools, its record of what it was asked, and one strike.
import { appendFileSync } from "node:fs";
import type { JsonObject, JsonValue } from "../../../../src/base/json/json.js";
import type { MischiefName, Phase, Sizes } from "../cells.js";
import type { Out } from "./out.js";

export type Id = string | number;

export interface Settings {
  readonly mischief: MischiefName;
  readonly sizes: Sizes;
  /** A file that gets one line for every strike asked for and done: the runner counts them. */
  readonly recordFile: string;
  /** The deadline of calls: what is to be late has to know it. */
  readonly deadlineMs: number;
}

/** One occasion to misbehave. */
export interface Strike {
  readonly phase: Phase;
  readonly out: Out;
  /** The request to be answered; none while idle. */
  readonly id: Id | undefined;
  readonly token: Id | undefined;
  /** Aborts when the client cancels the call or leaves. */
  readonly gone: AbortSignal;
}

const OBJECT_SCHEMA: JsonObject = { type: "object", properties: {} };

const TOOL_NAMES = ["ping", "slow", "arm", "strike", "stream"];

export class Lab {
  readonly settings: Settings;
  /** Tools beside the standing ones. */
  #extra: readonly JsonObject[] = [];
  /** Merged into the definitions of `strike` and `stream`. */
  #schema: JsonObject = {};
  /** The pages after the first, without end. */
  #endless: ((page: number) => readonly JsonObject[]) | undefined;

  constructor(settings: Settings) {
    this.settings = settings;
  }

  record(line: string): void {
    appendFileSync(this.settings.recordFile, `${line}\n`);
  }

  listExtra(tools: readonly JsonObject[]): void {
    this.#extra = tools;
  }

  listSchema(schema: JsonObject): void {
    this.#schema = schema;
  }

  listEndlessly(page: (index: number) => readonly JsonObject[]): void {
    this.#endless = page;
  }

  /** The result of `tools/list`. */
  page(cursor: JsonValue | undefined): JsonObject {
    const index = typeof cursor === "string" ? Number(cursor) : 0;
    if (this.#endless) this.record("page");
    const standing = TOOL_NAMES.map((name) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema: OBJECT_SCHEMA,
      ...(name === "strike" || name === "stream" ? this.#schema : {}),
    }));
    const tools: readonly JsonObject[] = index === 0 ? [...standing, ...this.#extra] : (this.#endless?.(index) ?? []);
    return { tools, ...(this.#endless ? { nextCursor: String(index + 1) } : {}) };
  }
}

export function textResult(text: string): JsonObject {
  return { content: [{ type: "text", text }] };
}

export function response(id: Id | null, result: JsonValue): JsonObject {
  return { jsonrpc: "2.0", id, result };
}

export function notification(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: "2.0", method, ...(params && { params }) };
}

export const LIST_CHANGED: JsonObject = notification("notifications/tools/list_changed");

export function progressOf(token: Id | undefined, progress: number, message?: string): JsonObject {
  const params = { progressToken: token ?? "nobody", progress, ...(message !== undefined && { message }) };
  return notification("notifications/progress", params);
}

/** The answer to the struck call, or a log line when there is none to answer. */
export function payload(strike: Strike, text: string): JsonObject {
  return strike.id === undefined
    ? notification("notifications/message", { level: "info", data: text })
    : response(strike.id, textResult(text));
}

export async function answer(strike: Strike, result: JsonObject = textResult("struck")): Promise<void> {
  if (strike.id !== undefined) await strike.out.message(response(strike.id, result));
}

export function pause(ms: number, gone?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    gone?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
