// Holds what is sent now against what was sent then: the first difference counts, and nothing goes on before its time.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import { REDACTED } from "../../../base/text/secrets.js";
import { isUrl } from "../../../base/text/url.js";
import type { Entry } from "./recording.js";

export interface Difference {
  /** Which line of the recording says otherwise; absent when none does. */
  readonly seq?: number;
  /** In words. */
  readonly where: string;
  /** Inside the message, as a JSON pointer. */
  readonly path?: string;
  readonly recorded?: JsonValue | undefined;
  readonly now?: JsonValue | undefined;
}

/** What a recorded run sent out is expected of the run that follows it: by lane, each once. */
export class Comparison {
  readonly all: readonly Expected[];
  /** The first there was. */
  difference: Difference | undefined;
  readonly #byLane = new Map<string, Expected[]>();
  readonly #stalled: (signal: AbortSignal) => Promise<void>;
  #changed: () => void = () => {};

  /** `stalled` resolves once nothing more can be waited for. */
  constructor(entries: readonly Entry[], stalled: (signal: AbortSignal) => Promise<void>) {
    this.#stalled = stalled;
    const asides = new Set(entries.flatMap((entry) => (isAside(entry) ? [answerLane(entry.message)] : [])));
    const sent = entries.filter(({ dir }) => dir === "out").flatMap((entry) => expectedOf(entry) ?? []);
    this.all = sent.filter(({ lane }) => !asides.has(lane));
    for (const expected of this.all) {
      const lane = this.#byLane.get(expected.lane);
      if (lane) lane.push(expected);
      else this.#byLane.set(expected.lane, [expected]);
    }
  }

  /** What was expected, from now on met; undefined when nothing of the kind is left. */
  find(lane: string, said: JsonValue): Expected | undefined {
    const expected = this.#byLane.get(lane)?.find((one) => !one.isMet && !divergence(one.said, said));
    if (expected) expected.isMet = true;
    this.#changed();
    return expected;
  }

  /** The same; what was not expected is a difference. */
  meet(lane: string, said: JsonValue, name: string): Expected | undefined {
    const expected = this.find(lane, said);
    if (expected) return expected;
    const nearest = this.#byLane.get(lane)?.find(({ isMet }) => !isMet);
    if (nearest) this.differ({ seq: nearest.entry.seq, where: nearest.name, ...divergence(nearest.said, said) });
    else this.differ({ where: `${name}, which the recording does not have`, now: said });
    return undefined;
  }

  /** The last that was met and says the same: for questions that are asked once more than they were. */
  again(lane: string, said: JsonValue): Expected | undefined {
    return this.#byLane.get(lane)?.findLast((one) => one.isMet && !divergence(one.said, said));
  }

  differ(difference: Difference): void {
    this.difference ??= difference;
    this.#changed();
  }

  /** Until all that was sent before this line is sent again. */
  async until(seq: number): Promise<void> {
    const stall = new AbortController();
    let isStalled = false;
    const stalled = this.#stalled(stall.signal).then(() => {
      isStalled = true;
    });
    for (;;) {
      const missing = this.all.find((one) => one.isAwaited && !one.isMet && one.entry.seq < seq);
      if (!missing || this.difference) break;
      if (isStalled) {
        const { entry, name, said } = missing;
        this.differ({ seq: entry.seq, where: `${name}: it was not sent this time`, recorded: said });
        break;
      }
      const changed = new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
      await Promise.race([changed, stalled]);
    }
    stall.abort();
    await stalled.catch(() => {});
  }
}

/** Something that was sent, and is expected again. */
export interface Expected {
  readonly entry: Entry;
  /** Within a lane the order is free: calls that run together go out as they come. */
  readonly lane: string;
  readonly said: JsonValue;
  /** In words, for people. */
  readonly name: string;
  /** What came in after it was sent, so it must be sent before that comes in again. */
  readonly isAwaited: boolean;
  isMet: boolean;
}

/** What has no counterpart in a replay: what only closes, what the machine did by itself, servers reached over the client. */
const OTHERS_DOING = /^(?:fs|terminal|mcp)\//u;
const HARMLESS: ReadonlySet<string> = new Set(["notifications/cancelled", "$/cancel_request"]);

export function isOthersDoing(method: JsonValue | undefined): boolean {
  return typeof method === "string" && OTHERS_DOING.test(method);
}

function expectedOf(entry: Entry): Expected | undefined {
  const { channel, message, server = "?", connection = 0 } = entry;
  const made = (lane: string, said: JsonValue, name: string, isAwaited = true): Expected => ({
    entry,
    lane,
    said,
    name,
    isAwaited,
    isMet: false,
  });
  const { id, method } = message;
  switch (channel) {
    case "acp":
      if (id === undefined || isOthersDoing(method)) return undefined;
      if (typeof method !== "string") {
        return made(answerLane(message), answerSaid(message), `the answer to request ${JSON.stringify(id)}`);
      }
      return made(`acp ${method}`, message["params"] ?? null, `${method} to the client`);
    case "mcp": {
      if (message["open"] !== undefined) return made(`open ${server}`, server, `the connection to ${server}`);
      const said = mcpSaid(message);
      return said ? made(`mcp ${connection}`, said, `${mcpName(message)} to ${server}`) : undefined;
    }
    case "model":
      return message["kind"] === "request" ? made("model", modelSaid(message), "the request to the model") : undefined;
    case "host":
      return made("host", hostSaid(message), `the question ${JSON.stringify(message["ask"])}`, false);
  }
}

/**
 * Its result, or its error by its code: the words are for people. What can be chosen in a session is left out, since the
 * answer to a `session/new` that comes very early does not know it yet.
 */
export function answerSaid({ result, error }: JsonObject): JsonValue {
  if (isJsonObject(error)) return { error: error["code"] ?? null };
  if (!isJsonObject(result)) return { result: result ?? null };
  const { configOptions: _options, modes: _modes, ...rest } = result;
  return { result: rest };
}

/** Undefined for what nobody needs to send again. */
export function mcpSaid(message: JsonObject): JsonValue | undefined {
  const { method, params } = message;
  if (typeof method === "string") return HARMLESS.has(method) ? undefined : { method, params: params ?? {} };
  return message["jsonrpc"] === undefined ? undefined : answerSaid(message);
}

export function mcpName({ method }: JsonObject): string {
  return typeof method === "string" ? method : "an answer";
}

export function modelSaid({ method, url, body }: JsonObject): JsonValue {
  return { method: method ?? "GET", path: pathOf(url), body: body ?? null };
}

function pathOf(url: JsonValue | undefined): string {
  return typeof url === "string" && isUrl(url) ? new URL(url).pathname.split("/").slice(-2).join("/") : "";
}

export function hostSaid({ ask, about }: JsonObject): JsonValue {
  return { ask: ask ?? null, about: about ?? null };
}

/** A question about how things stand, such as `_tenon/mcp/status`: the answer is another at every moment. */
export function isAsideMethod(method: JsonValue | undefined): boolean {
  return typeof method === "string" && method.startsWith("_");
}

function isAside({ channel, dir, message }: Entry): boolean {
  return channel === "acp" && dir === "in" && message["id"] !== undefined && isAsideMethod(message["method"]);
}

function answerLane({ id }: JsonObject): string {
  return `answer ${JSON.stringify(id)}`;
}

// Where two messages differ: the first place, by its path. What the recording does not show is equal to anything.

/** The path is that of a JSON pointer; empty for the whole. */
type Divergence = Pick<Difference, "path" | "recorded" | "now">;

type Value = JsonValue | undefined;

export function divergence(recorded: Value, now: Value, path = ""): Divergence | undefined {
  if (typeof recorded === "string" && typeof now === "string") {
    return isSameText(recorded, now) ? undefined : { path, recorded, now };
  }
  if (recorded === REDACTED && now !== undefined) return undefined;
  if (Array.isArray(recorded) && Array.isArray(now)) {
    for (let index = 0; index < Math.max(recorded.length, now.length); index++) {
      const found = divergence(recorded[index], now[index], `${path}/${index}`);
      if (found) return found;
    }
    return undefined;
  }
  if (isJsonObject(recorded) && isJsonObject(now)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
      if (key === "_meta") continue; // timings and versions of programs, which are never twice the same
      const step = key.replaceAll("~", "~0").replaceAll("/", "~1");
      const found = divergence(recorded[key], now[key], `${path}/${step}`);
      if (found) return found;
    }
    return undefined;
  }
  return recorded === now ? undefined : { path, recorded, now };
}

/** A secret that was taken out may have been any text. */
function isSameText(recorded: string, now: string): boolean {
  if (recorded === now) return true;
  const parts = recorded.split(REDACTED);
  const [first = "", ...rest] = parts;
  if (rest.length === 0 || !now.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const part of rest) {
    const found = now.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return now.endsWith(last) && now.length - last.length >= at;
}
