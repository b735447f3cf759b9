// One line per server for the system prompt, so that a model knows what there is to search for. The same for the same servers.
import { TOOL_LIMITS } from "../limits.js";
import type { KnownTools } from "./known-tools.js";
import { cut, firstSentence, plain } from "./one-line.js";

const MAX_NAMES = 8;

/** Sorted by name and bounded; with very many servers the lines get shorter, then the last ones are only counted. */
export function serverIndexText(sources: readonly KnownTools[]): string {
  const servers = sources
    .filter(({ source, tools }) => source.origin !== "builtin" && tools.length > 0)
    .sort((one, other) => (one.source.name < other.source.name ? -1 : 1));
  const { maxChars, lineChars } = TOOL_LIMITS.serverIndex;
  const perLine = Math.max(40, Math.min(lineChars, Math.floor(maxChars / Math.max(1, servers.length)) - 1));
  const lines: string[] = [];
  let left = maxChars - perLine;
  for (const server of servers) {
    const line = lineOf(server, perLine);
    if (line.length + 1 > left) return [...lines, `- and ${servers.length - lines.length} more servers`].join("\n");
    left -= line.length + 1;
    lines.push(line);
  }
  return lines.join("\n");
}

/** The server's own words are a description, not instructions: one line of them, and nothing that could pass for ours. */
function lineOf({ source, tools }: KnownTools, maxChars: number): string {
  const { title, instructions } = source.about?.() ?? {};
  const said = firstSentence(instructions ?? "") || plain(title ?? "");
  const names = tools.slice(0, MAX_NAMES).map(({ raw }) => plain(raw.name));
  const what = said === "" ? `${names.join(", ")}${tools.length > MAX_NAMES ? ", …" : ""}` : said;
  return cut(`- ${plain(source.name)} (${tools.length} ${tools.length === 1 ? "tool" : "tools"}): ${what}`, maxChars);
}
