// A server entry of another client in one common form: keys named as ours, texts still in that client's own syntax.
import type { JsonObject, JsonValue } from "../../base/json/json.js";

export interface RawEntry {
  /** How a url is spoken to. */
  readonly type?: JsonValue | undefined;
  readonly command?: JsonValue | undefined;
  readonly args?: JsonValue | undefined;
  readonly env?: JsonValue | undefined;
  readonly cwd?: JsonValue | undefined;
  readonly url?: JsonValue | undefined;
  readonly headers?: JsonValue | undefined;
  /** Already in Tenon's own words: variables that are handed on by name. */
  readonly references?: {
    readonly env?: Readonly<Record<string, string>>;
    readonly headers?: Readonly<Record<string, string>>;
    readonly token?: string;
  };
  /** Tenon's own keys: `allow`, `deny`, `timeouts`, `required`. */
  readonly extras?: JsonObject;
  readonly isDisabled?: boolean;
  /** What is lost on the way, one sentence each. */
  readonly notes?: readonly string[];
}

/** An entry that has no equal here. */
export interface Unusable {
  readonly reason: string;
  /** Nothing is wrong with it: it is not meant for anybody else. Told where somebody asks, and nowhere else. */
  readonly isExpected?: boolean;
}

export function isUnusable(entry: RawEntry | Unusable): entry is Unusable {
  return "reason" in entry;
}
