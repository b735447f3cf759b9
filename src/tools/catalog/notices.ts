// What the person hears from the catalog, each thing once a session.
import { unreachable } from "../../base/id.js";
import type { ToolOrigin } from "../tool.js";
import type { CatalogLimits, Plan } from "./plan.js";
import type { Shadowed, SourceBook } from "./source-book.js";

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
