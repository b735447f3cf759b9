// Which scopes are asked for, and whether a refusal for want of scope can be cured by asking.

export interface ScopeFacts {
  /** What the server's challenge names: its word for what the request needs. */
  readonly challenged?: string | undefined;
  /** What the user's configuration names. */
  readonly configured?: readonly string[] | undefined;
  /** What the resource's metadata lists. */
  readonly resourceScopes?: readonly string[] | undefined;
  /** What the authorization server's metadata lists. */
  readonly serverScopes?: readonly string[] | undefined;
  /** What an earlier log-in was granted, and lacked. */
  readonly before?: readonly (string | undefined)[];
  /** Whether a token that outlives the person's presence is wanted. */
  readonly wantsRefresh: boolean;
}

const OFFLINE = "offline_access";

/** Undefined: none is named, and the server decides. */
export function chooseScope(facts: ScopeFacts): string | undefined {
  const { challenged, configured, resourceScopes, serverScopes, before = [], wantsRefresh } = facts;
  const asked = challenged === undefined ? (configured ?? resourceScopes ?? []) : scopesOf(challenged);
  const offersOffline = serverScopes?.includes(OFFLINE) === true;
  // Where the authorization server does not know it, it must not be asked for, whatever the resource lists.
  const usable = asked.filter((scope) => scope !== OFFLINE || offersOffline || configured?.includes(OFFLINE));
  const all = new Set([...before.flatMap(scopesOf), ...usable, ...(configured ?? [])]);
  if (wantsRefresh && offersOffline) all.add(OFFLINE);
  return all.size === 0 ? undefined : [...all].join(" ");
}

export function scopesOf(text: string | undefined): readonly string[] {
  return (text ?? "").split(/\s+/u).filter((scope) => scope !== "");
}

/** All that `wanted` names is in `granted`. */
export function covers(granted: string | undefined, wanted: string): boolean {
  const has = new Set(scopesOf(granted));
  return scopesOf(wanted).every((scope) => has.has(scope));
}
