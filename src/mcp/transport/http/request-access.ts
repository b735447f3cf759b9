// The access that requests to a remote server are sent with: the port a log-in implements, and `WWW-Authenticate`.

import type { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";

/** A request that the server refused because of its credentials, without acting on it. */
export interface Refusal {
  readonly status: number;
  readonly challenge: Challenge | undefined;
  /** The token the request carried. */
  readonly token: string | undefined;
}

/** Supplies tokens for the requests of one connection and handles refusals. Implemented by `auth/access.ts`. */
export interface RequestAccess {
  /** Synchronous unless a token must be read or renewed first; undefined without a log-in. */
  token(): string | undefined | Promise<string | undefined>;
  /** Header names and values in turn for a request with this token. */
  headers(token: string, request: { readonly method: string; readonly url: string }): string[];
  /** Takes the DPoP nonce for the next proofs. True when it is a new one. */
  takeNonce(nonce: string): boolean;
  /** The server accepted a request with this token. */
  worked(token: string | undefined): void;
  /** `"again"`: send the request again with the current `token`; otherwise the reason why not. Never rejects. */
  refused(refusal: Refusal): Promise<"again" | TenonError>;
  close(): Promise<void>;
}

export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** The URL of the protected resource's metadata, not checked yet. */
  readonly resourceMetadata?: string;
  readonly scope?: string;
  readonly error?: string;
  readonly errorDescription?: string;
}

/** A parameter with its value, or a scheme (any name without a value), and the commas before it. */
const PIECE = /[\s,]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|([^\s,"=][^\s,"]*)))?/uy;

/** The bearer challenge if there are several; undefined without any challenge. */
export function readChallenge(header: string | undefined): Challenge | undefined {
  const challenges = parse(header ?? "");
  const bearer = challenges.find(({ scheme, parameters }) => scheme === "bearer" && parameters.size > 0);
  const found = bearer ?? challenges.find(({ scheme }) => scheme === "bearer") ?? challenges[0];
  if (!found) return undefined;
  const { scheme, parameters } = found;
  const value = (name: string) => parameters.get(name) || undefined;
  return {
    scheme,
    ...defined({
      resourceMetadata: value("resource_metadata"),
      scope: value("scope"),
      error: value("error"),
      errorDescription: value("error_description"),
    }),
  };
}

interface Parsed {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

function parse(header: string): readonly Parsed[] {
  const found: Parsed[] = [];
  let at = 0;
  while (at < header.length) {
    PIECE.lastIndex = at;
    const match = PIECE.exec(header);
    if (!match) {
      at = afterComma(header, at);
      continue;
    }
    at = PIECE.lastIndex;
    const [, name = "", quoted, plain] = match;
    const value = quoted === undefined ? plain : quoted.replace(/\\([^])/gu, "$1");
    const current = found.at(-1);
    if (value === undefined) found.push({ scheme: name.toLowerCase(), parameters: new Map() });
    // The first value counts: a repeated parameter is a mistake or an attack.
    else if (current && !current.parameters.has(name.toLowerCase())) current.parameters.set(name.toLowerCase(), value);
  }
  return found;
}

/** Unreadable text (a `token68`, an unpaired quote) is skipped up to the next comma. */
function afterComma(header: string, from: number): number {
  const comma = header.indexOf(",", from);
  return comma === -1 ? header.length : comma + 1;
}
