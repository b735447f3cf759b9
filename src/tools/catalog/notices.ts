// The catalog's notices for the person, each once per session; and the index of servers in the system prompt.
import { TOOL_LIMITS } from "../limits.js";
import { cut, firstSentence, plain } from "../one-line.js";
import type { ToolOrigin } from "../tool.js";
import type { CatalogLimits, Plan } from "./offering.js";
import type { KnownTools, Shadowed, SourceBook } from "./sources.js";

export type NoticeSink = (level: "info" | "warning", text: string) => void;

export class Notices {
  readonly #sink: NoticeSink;
  readonly #emitted = new Set<string>();

  constructor(sink: NoticeSink) {
    this.#sink = sink;
  }

  sourcesChanged({ shadowed }: SourceBook): void {
    for (const text of shadowed.map(shadowText)) this.#emitOnce(`shadowed ${text}`, text);
  }

  /** Emitted when a model call begins, since only then all servers are known. */
  processes({ active }: SourceBook, { warnProcesses }: CatalogLimits): void {
    const processes = active.filter(({ source }) => source.isProcess === true).length;
    if (processes <= warnProcesses) return;
    const text = `this session runs ${processes} servers as processes (more than ${warnProcesses}): each takes memory and time to start`;
    this.#emitOnce("processes", text);
  }

  /** Each server is named once, when its tools first go behind search because of a limit. */
  overBudget(overBudget: Plan["overBudget"], { maxAlwaysTools, maxAlwaysServers }: CatalogLimits): void {
    const fresh = [...overBudget].filter(([server]) => !this.#emitted.has(`budget ${server}`));
    if (fresh.length === 0) return;
    for (const [server] of fresh) this.#emitted.add(`budget ${server}`);
    const those = fresh.map(([server, { count }]) => `"${server}" (${count})`).join(", ");
    const text = `there are more tools than a model call is offered (${maxAlwaysTools} tools of ${maxAlwaysServers} servers), so those of ${those} are behind search: nothing is lost, the model finds them when it needs them`;
    this.#sink("warning", text);
  }

  mention(name: string, problem: string): void {
    this.#sink("warning", `@tool:${name} adds nothing: ${problem}`);
  }

  #emitOnce(key: string, text: string): void {
    if (this.#emitted.has(key)) return;
    this.#emitted.add(key);
    this.#sink("warning", text);
  }
}

const LAYER_NAMES: Readonly<Record<ToolOrigin, string>> = {
  client: "the client",
  project: "the project",
  user: "the user's configuration",
  builtin: "Tenon itself",
  extra: "the program around Tenon",
};

export function shadowText({ known: { source }, by }: Shadowed): string {
  return `the server "${source.name}" of ${LAYER_NAMES[by.origin]} replaces the one of ${LAYER_NAMES[source.origin]}, whose tools are not used`;
}

const MAX_NAMES = 8;

/**
 * One line per server, so that a model knows what there is to search for; the same for the same servers. Sorted by name and
 * bounded: with very many servers the lines get shorter, then the last ones are only counted.
 */
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
  const names = tools.slice(0, MAX_NAMES).map(({ raw }) => plain(raw.name));
  const listed = `${names.join(", ")}${tools.length > MAX_NAMES ? ", …" : ""}`;
  const about = firstSentence(instructions ?? "") || plain(title ?? "") || listed;
  return cut(`- ${plain(source.name)} (${tools.length} ${tools.length === 1 ? "tool" : "tools"}): ${about}`, maxChars);
}
