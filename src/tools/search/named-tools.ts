// Tools that a prompt names: those come first whatever their words are worth.
import { TOOL_LIMITS } from "../limits.js";
import type { IndexedTools } from "./indexed-tools.js";

const RUN = /[\p{L}\p{N}_][\p{L}\p{N}_.:/-]*/gu;
/** `get_forecast`, `math.sum`, `getForecast`, `list-files`: nobody writes that by chance, as they do `search`. */
const IDENTIFIER = /[_.:/-]|\p{Ll}\p{Lu}/u;
const END_OF_SENTENCE = /[.:/-]+$/u;
const QUOTED = /`([^`\n]{1,256})`/gu;
const MAX_NAME_CHARS = 1_024;

/** The whole prompt as a name, what stands in backticks, and whatever looks like an identifier and is one. */
export function namedTools(query: string, indexed: IndexedTools): ReadonlySet<number> {
  const { headChars, tailChars, names } = TOOL_LIMITS.toolSearchQuery;
  const found = new Set<number>();
  const trimmed = query.trim();
  if (trimmed.length <= MAX_NAME_CHARS) addNamed(trimmed, indexed, found);
  const bounded =
    query.length <= headChars + tailChars ? query : `${query.slice(0, headChars)}\n${query.slice(-tailChars)}`;
  for (const [, name = ""] of bounded.matchAll(QUOTED)) addNamed(name.trim(), indexed, found);
  for (const [run] of bounded.matchAll(RUN)) {
    if (found.size >= names) break;
    const name = run.replace(END_OF_SENTENCE, "");
    if (IDENTIFIER.test(name)) addNamed(name, indexed, found);
  }
  return found;
}

function addNamed(name: string, indexed: IndexedTools, found: Set<number>): void {
  const slot = indexed.slotOf(name);
  if (slot !== undefined) found.add(slot);
  for (const named of indexed.slotsNamed(name)) found.add(named);
}
