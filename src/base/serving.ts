// How a `tenon mcp serve` is noticed that was started, however far below, as one of its own servers.

/** The variable with one mark for each that serves above. Servers inherit it. */
export const SERVING = "TENON_SERVING";

/** The same for servers at addresses of this machine: a header with the variable's value. */
export const SERVING_HEADER = "tenon-serving";
