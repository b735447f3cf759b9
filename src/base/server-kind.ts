// The names people and clients give the transports of an MCP server, and what each of them means here.

export type ServerKind = "stdio" | "http" | "sse";

export interface NamedKind {
  readonly kind: ServerKind;
  /** Set when the name means something else than it says: worth reporting to the author of the entry. */
  readonly note?: string;
}

const KINDS: ReadonlyMap<string, ServerKind> = new Map([
  ["stdio", "stdio"],
  ["http", "http"],
  ["streamable-http", "http"],
  ["streamableHttp", "http"],
  ["streamable_http", "http"],
  ["sse", "sse"],
]);

const WEBSOCKET_NOTE =
  'type "websocket" is no transport of MCP: it is taken as Streamable HTTP ("http") at the same address';

/** Undefined for an unknown name. In `base`, since the ACP front reads it before anything else is loaded. */
export function normaliseKind(type: string): NamedKind | undefined {
  if (type === "websocket") return { kind: "http", note: WEBSOCKET_NOTE };
  const kind = KINDS.get(type);
  return kind && { kind };
}
