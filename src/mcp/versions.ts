// The protocol versions Tenon speaks, and the `_meta` keys of the modern era.

export const MODERN_VERSION = "2026-07-28";

/** Newest first: the first one is offered, any of them is accepted. */
export const LEGACY_VERSIONS: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];

export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** In `_meta` of a result that asks for input: the call itself is held at the other side, and waits for its answers. */
export const HELD = "tenon/held";

/** Says that a call which is held is not gone on with; with its `requestState`. */
export const RELEASE = "tenon/release";
