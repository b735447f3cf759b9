// What the person hears from the catalog, each thing once a session.
import { unreachable } from "../../base/id.js";
import { TOOL_LIMITS } from "../limits.js";
import { cut, firstSentence, plain } from "../one-line.js";
import type { ToolOrigin } from "../tool.js";
import type { CatalogLimits, Plan } from "./offering.js";
import type { KnownTools, Shadowed, SourceBook } from "./sources.js";

export type NoticeSink = (level: "info" | "warning", text: string) => void;

export class Notices {
  readonly #sink: NoticeSink;
  readonly #told = new Set<string>();

  constructor(sink: NoticeSink) {
    this.#sink = sink;
  }

  sourcesChanged({ shadowed }: SourceBook): void {
    for (const one of shadowed) this.#tell(`shadowed ${shadowText(one)}`, "warning", shadowText(one));
  }

  /** Told once all are known that a model call begins with. */
  processes({ active }: SourceBook, { warnProcesses }: CatalogLimits): void {
    const processes = active.filter(({ source }) => source.isProcess === true).length;
    if (processes <= warnProcesses) return;
    const text = `this session runs ${processes} servers as processes (more than ${warnProcesses}): each takes memory and time to start`;
    this.#tell("processes", "warning", text);
  }

  /** Each server is named once, when its tools first go behind search for want of room. */
  overBudget(overBudget: Plan["overBudget"], limits: CatalogLimits): void {
    const fresh = [...overBudget].filter(([server]) => !this.#told.has(`budget ${server}`));
    if (fresh.length === 0) return;
    for (const [server] of fresh) this.#told.add(`budget ${server}`);
    const those = fresh.map(([server, { count }]) => `"${server}" (${count})`).join(", ");
    this.#sink(
      "warning",
      `there are more tools than a model call is offered (${limits.maxAlwaysTools} tools of ${limits.maxAlwaysServers} servers), so those of ${those} are behind search: nothing is lost, the model finds them when it needs them`,
    );
  }

  mention(name: string, problem: string): void {
    this.#sink("warning", `@tool:${name} adds nothing: ${problem}`);
  }

  #tell(key: string, level: "info" | "warning", text: string): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#sink(level, text);
  }
}

export function shadowText({ known: { source }, by }: Shadowed): string {
  return `the server "${source.name}" of ${layerText(by.origin)} replaces the one of ${layerText(source.origin)}, whose tools are not used`;
}

function layerText(origin: ToolOrigin): string {
  switch (origin) {
    case "client":
      return "the client";
    case "project":
      return "the project";
    case "user":
      return "the user's configuration";
    case "builtin":
      return "Tenon itself";
    case "extra":
      return "the program around Tenon";
    default:
      return unreachable(origin);
  }
}

// One line per server for the system prompt, so that a model knows what there is to search for. The same for the same servers.
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
