// Chooses the scopes of a log-in and compares scopes.

export interface ScopeFacts {
  /** The scope in the server's challenge. */
  readonly challenged?: string | undefined;
  /** The scopes in the user's configuration. */
  readonly configured?: readonly string[] | undefined;
  /** The scopes in the resource's metadata. */
  readonly resourceScopes?: readonly string[] | undefined;
  /** The scopes in the authorization server's metadata. */
  readonly serverScopes?: readonly string[] | undefined;
  /** The scopes an earlier log-in was granted, and lacked. */
  readonly before?: readonly (string | undefined)[];
  /** Whether a refresh token is wanted. */
  readonly wantsRefresh: boolean;
}

const OFFLINE = "offline_access";

/** Undefined: the request names no scope, and the server decides. */
export function chooseScope(facts: ScopeFacts): string | undefined {
  const { challenged, configured, resourceScopes, serverScopes, before = [], wantsRefresh } = facts;
  const asked = challenged === undefined ? (configured ?? resourceScopes ?? []) : scopesOf(challenged);
  const offersOffline = serverScopes?.includes(OFFLINE) === true;
  // An authorization server that does not list it may refuse the request, whatever the resource lists.
  const usable = asked.filter((scope) => scope !== OFFLINE || offersOffline || configured?.includes(OFFLINE));
  const all = new Set([...before.flatMap(scopesOf), ...usable, ...(configured ?? [])]);
  if (wantsRefresh && offersOffline) all.add(OFFLINE);
  return all.size === 0 ? undefined : [...all].join(" ");
}

export function scopesOf(text: string | undefined): readonly string[] {
  return (text ?? "").split(/\s+/u).filter((scope) => scope !== "");
}

/** Whether `granted` includes every scope of `wanted`. */
export function covers(granted: string | undefined, wanted: string): boolean {
  const has = new Set(scopesOf(granted));
  return scopesOf(wanted).every((scope) => has.has(scope));
}
