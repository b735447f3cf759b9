// What a bridge of `tenon wrap` and the wrapper agree on. Apart from both: a bridge loads nothing else.

/** What a bridge asks to speak after the head of its request. */
export const BRIDGE_PROTOCOL = "tenon-bridge";

/** The variable with its token. Not an argument: other users of the machine see those. */
export const BRIDGE_TOKEN = "TENON_BRIDGE_TOKEN";
