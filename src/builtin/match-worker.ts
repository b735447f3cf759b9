// Runs in a thread of its own: answers each text with the lines that match one regular expression, and those around them.
import { parentPort, workerData } from "node:worker_threads";
import type { LineHit, MatchSettings } from "./grep.js";

const { source, flags, context, maxLines }: MatchSettings = workerData;
const pattern = new RegExp(source, flags);

parentPort?.on("message", (text: string) => parentPort?.postMessage(hitsIn(text)));

/** Every line once, also where the surroundings of two matches meet. */
function hitsIn(text: string): readonly LineHit[] {
  const hits: LineHit[] = [];
  /** The last lines that were not shown: they may come before a match. */
  let before: LineHit[] = [];
  let matches = 0;
  let contextEnd = 0;
  // An empty last line does not count.
  for (let start = 0, line = 1; start < text.length; line++) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    const shown = text.slice(start, end);
    if (pattern.test(shown.endsWith("\r") ? shown.slice(0, -1) : shown)) {
      hits.push(...before, { line, text: shown, isContext: false });
      before = [];
      contextEnd = line + context;
      matches += 1;
      if (matches >= maxLines) break;
    } else if (line <= contextEnd) hits.push({ line, text: shown, isContext: true });
    else if (context > 0) before = [...before, { line, text: shown, isContext: true }].slice(-context);
    start = end + 1;
  }
  return hits;
}
