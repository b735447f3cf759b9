// Where two messages differ: the first place, by its path. What the recording does not show is equal to anything.
import { isJsonObject, type JsonValue } from "../../base/json/json.js";
import { REDACTED } from "../../base/text/secrets.js";

export interface Divergence {
  /** As a JSON pointer; empty for the whole. */
  readonly path: string;
  readonly recorded: JsonValue | undefined;
  readonly now: JsonValue | undefined;
}

type Value = JsonValue | undefined;

/** Timings and versions of programs, which are never twice the same. */
const PASSED_OVER: ReadonlySet<string> = new Set(["_meta"]);

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
      if (PASSED_OVER.has(key)) continue;
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
