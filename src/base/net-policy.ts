// Which URLs may be used and which addresses are not public. Pure: names are judged again by the address they resolve to.
import { BlockList, isIP, isIPv6 } from "node:net";

/** Who named the URL: the person or client themselves, a project's file, an answer that redirects, or OAuth metadata. */
export type UrlSource = "typed" | "project" | "redirect" | "discovery";

export interface UrlPolicy {
  readonly source: UrlSource;
  /** Hosts the user allows without TLS and at private addresses: `host` (any port) or `host:port`. */
  readonly allowHosts?: readonly string[];
  /** The URL whose answer named this one. A relative text is read against it, and leading back to it is always fine. */
  readonly from?: URL;
}

export type UrlVerdict =
  | {
      readonly ok: true;
      readonly url: URL;
      /** Whether the name may also resolve to a private address; if not, whoever dials checks with `isPrivateAddress`. */
      readonly mayBePrivate: boolean;
    }
  | { readonly ok: false; readonly reason: string };

/** The reason never repeats more of the URL than scheme and host: the rest may hold secrets. */
export function checkUrl(text: string, policy: UrlPolicy): UrlVerdict {
  if (!URL.canParse(text, policy.from?.href)) return { ok: false, reason: "it is not a valid URL" };
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
  const mayBePrivate = isAllowed || policy.source === "typed" || leadsBack(url, policy.from);
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
  const family = isIP(name);
  if (family !== 0) return LOOPBACK.check(name, family === 4 ? "ipv4" : "ipv6");
  return name === "localhost" || name.endsWith(".localhost"); // RFC 6761: never anything else
}

/**
 * True for every address that is not public unicast: private, shared, link-local, loopback, unspecified, multicast,
 * reserved, documentation, and IPv6 forms that carry such an IPv4 address. True also for what is no address at all.
 */
export function isPrivateAddress(ip: string): boolean {
  const address = bareHost(ip);
  const family = isIP(address);
  if (family === 4) return NOT_PUBLIC.check(address, "ipv4");
  return family === 0 || !PUBLIC_V6.check(address, "ipv6") || NOT_PUBLIC.check(address, "ipv6");
}

function isPrivateHost(hostname: string): boolean {
  return isLoopbackHost(hostname) || (isIP(bareHost(hostname)) !== 0 && isPrivateAddress(hostname));
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
  const authority = isIPv6(entry) ? `[${entry}]` : entry;
  if (/[/\\?#@\s]/.test(authority)) return false; // a URL, not a host: its scheme must not pass for a host
  const candidates = [`http://${authority}`, `https://${authority}`].filter((text) => URL.canParse(text));
  const [plain, secure] = candidates.map((text) => new URL(text));
  if (!plain || !secure || bareHost(plain.hostname) !== bareHost(url.hostname)) return false;
  const port = plain.port || secure.port; // each scheme hides its own default
  return port === "" || port === portOf(url);
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80");
}

/** Without brackets, zone (`%eth0`, which BlockList silently never matches), root dot and case. */
function bareHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/%.*$/, "")
    .replace(/\.$/, "");
}

type Subnet = readonly [network: string, prefix: number];

/** IANA's special-purpose registry: what is not globally reachable. */
const NOT_PUBLIC_V4: readonly Subnet[] = [
  ["0.0.0.0", 8], // "this network"; Linux connects 0.0.0.0 to itself
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // shared by carriers; a cloud's metadata service lives here
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // public by number, but a cloud's host service to every machine in it
  ["169.254.0.0", 16], // link-local, metadata services
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Exceptions inside PUBLIC_V6; the rest (::1, fc00::/7, fe80::/10, ff00::/8 …) lies outside of it. */
const NOT_PUBLIC_V6: readonly Subnet[] = [
  ["2001::", 23], // protocol assignments, Teredo among them
  ["2001:db8::", 32],
  ["3fff::", 20],
];

const PUBLIC_V6: BlockList = blockList([
  ["2000::", 3], // all global unicast there is
  ["::ffff:0:0", 96], // IPv4-mapped: judged by the address inside
  ["64:ff9b::", 96], // NAT64: the same; networks without IPv4 see every IPv4 host so
]);
const NOT_PUBLIC: BlockList = blockList([...NOT_PUBLIC_V4.flatMap(allFormsOf), ...NOT_PUBLIC_V6]);
const LOOPBACK: BlockList = blockList([
  ["127.0.0.0", 8],
  ["::ffff:127.0.0.0", 104],
  ["::1", 128],
]);

/** An IPv4 subnet as such, IPv4-mapped, behind NAT64, and as a 6to4 prefix. */
function allFormsOf([network, prefix]: Subnet): readonly Subnet[] {
  const hex = network.split(".").map((octet) => Number(octet).toString(16).padStart(2, "0"));
  const sixToFour = `2002:${hex.slice(0, 2).join("")}:${hex.slice(2).join("")}::`;
  return [
    [network, prefix],
    [`::ffff:${network}`, 96 + prefix],
    [`64:ff9b::${network}`, 96 + prefix],
    [sixToFour, 16 + prefix],
  ];
}

function blockList(subnets: readonly Subnet[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, isIPv6(network) ? "ipv6" : "ipv4");
  return list;
}
