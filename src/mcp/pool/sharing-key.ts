// What two sessions must have in common to use one connection: everything that decides what runs, and what it is told of us.
import { hashJson } from "../../base/json/hash.js";
import type { JsonValue } from "../../base/json/json.js";
import { clientCapabilities } from "../era/envelope.js";
import type { ConnectionOptions } from "../options.js";
import type { ServerSpec } from "../spec.js";

/** Options that belong to the process or to one session. All others are part of the key, whatever they are. */
const APART = {
  world: "one for all sessions of a pool",
  cache: "one for all sessions of a pool",
  session: "only for the trace: a shared connection has none",
  cwd: "counts for servers that run here",
  peer: "counts by what it declares, and by its roots",
  channel: "only for servers of the client's own, which are never shared",
  admit: "the pool's own",
  onStderr: "the same record for all sessions: the first one's serves them",
} as const satisfies Partial<Record<keyof ConnectionOptions, string>>;

/**
 * Servers here are shared only within the same directories: they run in one of them, and are told of all. A server elsewhere
 * has nothing of them unless it asks, and one that asks is not shared.
 */
export function sharingKey(spec: ServerSpec, options: ConnectionOptions): string {
  const { cwd, peer } = options;
  const settings = Object.entries(options).filter(([name]) => !Object.hasOwn(APART, name));
  return hashJson({
    spec: plain(spec),
    declared: clientCapabilities(peer),
    places: spec.kind === "stdio" ? plain({ cwd, roots: peer?.roots?.() ?? [] }) : null,
    settings: Object.fromEntries(settings.map(([name, value]) => [name, plain(value)])),
  });
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** Data by what it says; anything that is more than data by which one it is, so that two can never be taken for one. */
function plain(value: unknown): JsonValue {
  if (value === undefined) return null;
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (Array.isArray(value)) return value.map((item) => plain(item));
  if (typeof value === "object" && isData(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [`.${name}`, plain(item)]));
  }
  if (typeof value === "object" || typeof value === "function") return { identity: identityOf(value) };
  return { identity: ++lastIdentity }; // a symbol or the like: never the same again
}

function isData(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function identityOf(value: object): number {
  const known = identities.get(value);
  if (known !== undefined) return known;
  lastIdentity += 1;
  identities.set(value, lastIdentity);
  return lastIdentity;
}
