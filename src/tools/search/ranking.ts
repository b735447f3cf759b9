// The numbers of the ranking: BM25F over six fields, and what may be added to it. Measured on public sets, tuned to none.

/** In the order in which a posting packs their counts. */
export const FIELDS = ["name", "description", "server", "property", "property description", "enum"] as const;
export type SearchField = (typeof FIELDS)[number];

/** In tenths, so that lengths add up exactly: an index that had servers added and dropped equals one built at once. */
export const FIELD_TENTHS: readonly number[] = [20, 10, 10, 5, 3, 2];
/** Terms of earlier prompts that led to the tool count as a seventh field. */
export const USAGE_TENTHS = 5;

/** BM25: how soon more of the same term adds nothing, and how much long texts are held against a tool. */
export const K1 = 1.2;
export const B = 0.6;
/** A word said twice in a prompt counts for more than one said once, but never for twice as much. */
export const QUERY_SATURATION = 1;

/** Share of the best clause; the whole prompt has the rest. A tool often answers to one sentence of several. */
export const CLAUSE_SHARE = 0.3;
export const DENSE_SHARE = 0.3;
export const HINT_WEIGHT = 0.3;
/** A related word instead of the one that was said; more when no tool has the one that was said. */
export const RELATED_WEIGHT = 0.3;
export const RELATED_WEIGHT_UNSEEN = 0.6;
/** A related word that more of the tools have (and more than a few) tells none apart, and costs the most time. */
export const RELATED_MAX_SHARE = 0.05;
export const RELATED_MAX_TOOLS = 50;
/** More than everything else together can add up to. */
export const EXACT_NAME_BONUS = 2;

/** Bits of a posting's count per field: six fields in a small integer. More of the same term adds next to nothing. */
export const COUNT_BITS = 5;
export const MAX_COUNT: number = 2 ** COUNT_BITS - 1;
