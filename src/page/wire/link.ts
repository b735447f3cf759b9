// The life of the connection as a pure function: when to connect, when to wait, and when a person has to log in.

export type LinkState =
  /** Nobody is logged in, or the log-in is over. */
  | { readonly kind: "out"; readonly reason?: string }
  /** `attempt` counts those in a row that failed. */
  | { readonly kind: "connecting"; readonly attempt: number }
  | { readonly kind: "online" }
  | { readonly kind: "waiting"; readonly attempt: number; readonly delayMs: number };

export type LinkEvent =
  | { readonly kind: "log_in" }
  /** The gateway answered `initialize`. */
  | { readonly kind: "introduced" }
  | { readonly kind: "closed" }
  /** The wait is over, the network is back, or the page is looked at again. */
  | { readonly kind: "retry" }
  /** The gateway does not know the cookie (any more). */
  | { readonly kind: "refused"; readonly reason?: string };

/** The first retry follows at once: most breaks are a gateway that is replaced. Five seconds at most, as translators do. */
export const BACKOFF_MS = { first: 100, longest: 5_000 } as const;

/** `jitter` is from 0 to 1: pages that lost one gateway do not return in one moment. */
export function nextLink(state: LinkState, event: LinkEvent, jitter: number): LinkState {
  switch (event.kind) {
    case "log_in":
      return state.kind === "out" ? { kind: "connecting", attempt: 0 } : state;
    case "introduced":
      return state.kind === "connecting" ? { kind: "online" } : state;
    case "closed": {
      if (state.kind !== "connecting" && state.kind !== "online") return state;
      const attempt = state.kind === "connecting" ? state.attempt + 1 : 0;
      const delayMs = Math.min(BACKOFF_MS.longest, BACKOFF_MS.first * 2 ** Math.min(attempt, 10)) * (0.5 + jitter / 2);
      return { kind: "waiting", attempt, delayMs };
    }
    case "retry":
      return state.kind === "waiting" ? { kind: "connecting", attempt: state.attempt } : state;
    case "refused":
      return event.reason === undefined ? { kind: "out" } : { kind: "out", reason: event.reason };
  }
}
