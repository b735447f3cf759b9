// How tools come before the model, by the names people write. In `base`, since the ACP front reads it before anything else is loaded.

export const INCLUDE_MODES = ["always", "search", "manual"] as const;

/** How a tool comes before the model: always, when a search finds it, or when the person adds it. */
export type IncludeMode = (typeof INCLUDE_MODES)[number];

/** Other clients call the mode `search` "agent". */
export const SEARCH_ALIAS = "agent";

/** Undefined for an unknown name. */
export function includeMode(written: unknown): IncludeMode | undefined {
  return written === SEARCH_ALIAS ? "search" : INCLUDE_MODES.find((mode) => mode === written);
}
