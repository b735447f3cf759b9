// Runs in a thread of its own: answers each text with the lines that match one regular expression.
import { parentPort, workerData } from "node:worker_threads";
import type { MatchSettings } from "./grep.js";

const settings: MatchSettings = workerData;
const pattern = new RegExp(settings.source, settings.flags);

parentPort?.on("message", (text: string) => {
  parentPort?.postMessage(matchingLines(text));
});

function matchingLines(text: string): number[] {
  const lines: number[] = [];
  let number = 0;
  for (let start = 0; start <= text.length; number++) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    // An empty last line does not count.
    if (newline === -1 && start === end) break;
    const line = text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end);
    if (pattern.test(line) && lines.push(number) >= settings.maxLines) break;
    start = end + 1;
  }
  return lines;
}
