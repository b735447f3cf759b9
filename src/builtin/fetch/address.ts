// Which URLs a model may reach: public ones over https, and what the user allows. Names are judged by what they resolve to.
import { orAborted } from "../../base/async/deadline.js";
import { messageOf } from "../../base/errors.js";
import { checkUrl, isPrivateAddress } from "../../base/io/net-policy.js";
import type { ResolvedAddress, World } from "../../base/ports/world.js";

export type Address =
  | { readonly ok: true; readonly url: URL; readonly addresses: readonly ResolvedAddress[] }
  | { readonly ok: false; readonly reason: string };

export interface AddressOptions {
  readonly world: World;
  readonly allowHosts: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * The addresses are those to dial, and no others: a name that is looked up again may lead elsewhere. A redirect is judged
 * like any other URL, even back to where it came from: only the user's word opens a private address.
 */
export async function addressOf(text: string, { allowHosts, signal, world }: AddressOptions): Promise<Address> {
  const verdict = checkUrl(text, { source: "redirect", allowHosts });
  if (!verdict.ok) return { ok: false, reason: reasonFor(text, verdict.reason) };
  const { url, mayBePrivate } = verdict;
  if (isAddress(url.hostname)) return { ok: true, url, addresses: [] };
  try {
    const found = await orAborted(world.lookup(url.hostname), signal);
    const usable = found.filter(({ address }) => mayBePrivate || !isPrivateAddress(address));
    if (usable.length > 0) return { ok: true, url, addresses: usable };
    return { ok: false, reason: `"${url.host}" leads to no public address` };
  } catch (thrown) {
    signal.throwIfAborted();
    return { ok: false, reason: `the host "${url.hostname}" cannot be found: ${messageOf(thrown)}` };
  }
}

/** What only a person might have typed is refused because a model named it, not because it was a redirect. */
function reasonFor(text: string, reason: string): string {
  const typed = checkUrl(text, { source: "typed" });
  return typed.ok ? `"${typed.url.host}" is not a public address, and the user has not allowed it` : reason;
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/u.test(hostname);
}
