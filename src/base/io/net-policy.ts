// Which URLs may be used and which addresses are not public. Pure: names are judged again by the address they resolve to.
import { isUrl } from "../text/url.js";

/** Who named the URL: the person or client themselves, a project's file, an answer that redirects, or OAuth metadata. */
export type UrlSource = "typed" | "project" | "redirect" | "discovery";

export interface UrlPolicy {
  readonly source: UrlSource;
  /** Hosts the user allows without TLS and at private addresses: `host` (any port) or `host:port`. */
  readonly allowHosts?: readonly string[];
  /** The URL whose answer named this one. A relative text is read against it, and leading back to it is always fine. */
  readonly from?: URL;
  /** Whether that one might resolve to a private address; it might unless said otherwise. What leads back to it may no more. */
  readonly isFromPrivate?: boolean;
}

export type UrlVerdict =
  | {
      readonly ok: true;
      readonly url: URL;
      /** Whether the name may also resolve to a private address; if not, the caller checks with `isPrivateAddress` when it connects. */
      readonly mayBePrivate: boolean;
    }
  | { readonly ok: false; readonly reason: string };

/** The reason never repeats more of the URL than scheme and host: the rest may hold secrets. */
export function checkUrl(text: string, policy: UrlPolicy): UrlVerdict {
  if (!isUrl(text, policy.from?.href)) return { ok: false, reason: "it is not a valid URL" };
  const url = new URL(text, policy.from?.href);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return { ok: false, reason: `only http and https URLs are used, not "${url.protocol}"` };
  }
  if (url.username !== "" || url.password !== "") {
    return { ok: false, reason: "a URL must not carry a user name or password; send credentials as a header" };
  }
  const isAllowed = policy.allowHosts?.some((entry) => isSameHost(entry, url)) ?? false;
  if (url.protocol === "http:" && !isAllowed && !isLoopbackHost(url.hostname)) {
    return { ok: false, reason: `http is used for loopback and allowed hosts only; use https for "${url.host}"` };
  }
  const mayBePrivate =
    isAllowed || policy.source === "typed" || (policy.isFromPrivate !== false && leadsBack(url, policy.from));
  if (!mayBePrivate && isPrivateHost(url.hostname)) {
    return {
      ok: false,
      reason: `"${url.host}" is not a public address and ${SOURCE_NAMES[policy.source]} may not lead there unless the user allows it`,
    };
  }
  return { ok: true, url, mayBePrivate };
}

const SOURCE_NAMES: Readonly<Record<UrlSource, string>> = {
  typed: "a typed URL",
  project: "a project's file",
  redirect: "a redirect",
  discovery: "OAuth discovery",
};

/** True for names and addresses of this machine itself, as in `URL.hostname` (brackets allowed). */
export function isLoopbackHost(host: string): boolean {
  const name = bareHost(host);
  const address = parseAddress(name);
  if (address === undefined) return name === "localhost" || name.endsWith(".localhost"); // RFC 6761: never anything else
  return address === 1n || (address >> 32n === MAPPED && isWithin(Number(address & 0xffff_ffffn), LOOPBACK_V4));
}

/**
 * True for every address that is not public unicast: private, shared, link-local, loopback, unspecified, multicast,
 * reserved, documentation, and IPv6 forms that carry such an IPv4 address. True also for what is no address at all.
 */
export function isPrivateAddress(ip: string): boolean {
  const address = parseAddress(bareHost(ip));
  if (address === undefined) return true;
  const inside = carriedV4(address);
  if (inside !== undefined) return NOT_PUBLIC_V4.some((subnet) => isWithin(inside, subnet));
  if (address >> 125n !== 1n) return true; // 2000::/3 is all global unicast there is
  return NOT_PUBLIC_V6.some(({ bits, prefix }) => address >> BigInt(128 - prefix) === bits);
}

function isPrivateHost(hostname: string): boolean {
  return isLoopbackHost(hostname) || (parseAddress(bareHost(hostname)) !== undefined && isPrivateAddress(hostname));
}

/** Same origin, where the spellings of loopback count as one host: `localhost:3000` names itself `127.0.0.1:3000`. */
function leadsBack(url: URL, from: URL | undefined): boolean {
  if (!from) return false;
  if (url.origin === from.origin) return true;
  const isLocal = isLoopbackHost(url.hostname) && isLoopbackHost(from.hostname);
  return isLocal && url.protocol === from.protocol && url.port === from.port;
}

/** `entry` is read by the URL parser, so that case, IDN and address spellings match as they do in a URL. */
function isSameHost(entry: string, url: URL): boolean {
  const authority = parseV6(entry) === undefined ? entry : `[${entry}]`;
  if (/[/\\?#@\s]/.test(authority)) return false; // a URL, not a host: its scheme must not pass for a host
  const candidates = [`http://${authority}`, `https://${authority}`].filter((text) => isUrl(text));
  const [plain, secure] = candidates.map((text) => new URL(text));
  if (!plain || !secure || bareHost(plain.hostname) !== bareHost(url.hostname)) return false;
  const port = plain.port || secure.port; // each scheme hides its own default
  return port === "" || port === portOf(url);
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80");
}

/** Without brackets, zone (`%eth0`), root dot and case. */
function bareHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/%.*$/, "")
    .replace(/\.$/, "");
}

/** The 128 bits of an address, IPv4 as IPv4-mapped. Own arithmetic, since `node:net` reaches outside of the process. */
function parseAddress(text: string): bigint | undefined {
  const v4 = parseV4(text);
  return v4 === undefined ? parseV6(text) : (MAPPED << 32n) | BigInt(v4);
}

/** Four plain decimals only; the URL parser has turned every other spelling into this one. */
function parseV4(text: string): number | undefined {
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1);
  if (!octets?.every((octet) => Number(octet) < 256 && String(Number(octet)) === octet)) return undefined;
  return octets.reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

/** Leaves validity and the dotted tail to the URL parser, whose output has nothing but hex groups and one `::`. */
function parseV6(text: string): bigint | undefined {
  if (!/^[0-9a-f:.]+$/i.test(text) || !isUrl(`http://[${text}]`)) return undefined;
  const [before = [], after = []] = new URL(`http://[${text}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

const MAPPED = 0xffffn; // ::ffff:0:0/96
const NAT64 = 0x64_ff9b_0000_0000_0000_0000n; // 64:ff9b::/96; networks without IPv4 see every IPv4 host so
const SIX_TO_FOUR = 0x2002n; // 2002::/16

/** The IPv4 address that an IPv6 address leads to. */
function carriedV4(address: bigint): number | undefined {
  const head = address >> 32n;
  if (head === MAPPED || head === NAT64) return Number(address & 0xffff_ffffn);
  return address >> 112n === SIX_TO_FOUR ? Number((address >> 80n) & 0xffff_ffffn) : undefined;
}

interface SubnetV4 {
  readonly first: number;
  readonly size: number;
}

function subnet(network: string, prefix: number): SubnetV4 {
  return { first: parseV4(network) ?? Number.NaN, size: 2 ** (32 - prefix) };
}

function isWithin(address: number, { first, size }: SubnetV4): boolean {
  return address >= first && address < first + size;
}

const LOOPBACK_V4: SubnetV4 = subnet("127.0.0.0", 8);

/** IANA's special-purpose registry: what is not globally reachable. */
const NOT_PUBLIC_V4: readonly SubnetV4[] = [
  subnet("0.0.0.0", 8), // "this network"; Linux connects 0.0.0.0 to itself
  subnet("10.0.0.0", 8),
  subnet("100.64.0.0", 10), // shared by carriers; a cloud's metadata service lives here
  LOOPBACK_V4,
  subnet("168.63.129.16", 32), // public by number, but a cloud's host service to every machine in it
  subnet("169.254.0.0", 16), // link-local, metadata services
  subnet("172.16.0.0", 12),
  subnet("192.0.0.0", 24),
  subnet("192.0.2.0", 24),
  subnet("192.88.99.0", 24),
  subnet("192.168.0.0", 16),
  subnet("198.18.0.0", 15),
  subnet("198.51.100.0", 24),
  subnet("203.0.113.0", 24),
  subnet("224.0.0.0", 4),
  subnet("240.0.0.0", 4),
];

/** Exceptions inside 2000::/3; all other special ranges (::1, fc00::/7, fe80::/10, ff00::/8 …) lie outside of it. */
const NOT_PUBLIC_V6: readonly { readonly bits: bigint; readonly prefix: number }[] = [
  { bits: 0x2001_0000n >> 9n, prefix: 23 }, // 2001::/23: protocol assignments, Teredo among them
  { bits: 0x2001_0db8n, prefix: 32 }, // documentation
  { bits: 0x3fff_0n, prefix: 20 }, // documentation
];
