// Tools that a prompt names: those come first whatever their words are worth.
import { LIMITS } from "../../base/limits.js";
import type { ToolShelf } from "./shelf.js";

const RUN = /[\p{L}\p{N}_][\p{L}\p{N}_.:/-]*/gu;
/** `get_forecast`, `math.sum`, `getForecast`, `list-files`: nobody writes that by chance, as they do `search`. */
const IDENTIFIER = /[_.:/-]|\p{Ll}\p{Lu}/u;
const END_OF_SENTENCE = /[.:/-]+$/u;
const QUOTED = /`([^`\n]{1,256})`/gu;
const MAX_NAME_CHARS = 1_024;

/** The whole prompt as a name, what stands in backticks, and whatever looks like an identifier and is one. */
export function namedTools(query: string, shelf: ToolShelf): ReadonlySet<number> {
  const { headChars, tailChars, names } = LIMITS.toolSearchQuery;
  const found = new Set<number>();
  const trimmed = query.trim();
  if (trimmed.length <= MAX_NAME_CHARS) addNamed(trimmed, shelf, found);
  const bounded =
    query.length <= headChars + tailChars ? query : `${query.slice(0, headChars)}\n${query.slice(-tailChars)}`;
  for (const [, name = ""] of bounded.matchAll(QUOTED)) addNamed(name.trim(), shelf, found);
  for (const [run] of bounded.matchAll(RUN)) {
    if (found.size >= names) break;
    const name = run.replace(END_OF_SENTENCE, "");
    if (IDENTIFIER.test(name)) addNamed(name, shelf, found);
  }
  return found;
}

function addNamed(name: string, shelf: ToolShelf, found: Set<number>): void {
  const slot = shelf.slotOf(name);
  if (slot !== undefined) found.add(slot);
  for (const named of shelf.slotsNamed(name)) found.add(named);
}
