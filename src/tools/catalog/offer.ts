// The tools offered to one model call, and the tool behind every name: an immutable snapshot.
import { defined } from "../../base/json/defined.js";
import { canonicalJson, type JsonObject } from "../../base/json/json.js";
import type { CatalogTool, ToolDefinition, ToolId, ToolSource } from "../tool.js";
import { type KnownTool, KnownTools } from "./sources.js";

/** A tool a session knows, offered or not. */
export interface CatalogEntry extends KnownTool {
  /** The model was shown an earlier definition: if the arguments do not fit, it needs the new one. */
  readonly isChanged: boolean;
  /** Why it cannot be called, for the model: its server is gone, or it was set aside. */
  readonly unavailable?: string;
  /** Why it is not offered until a person approves it: its definition changed. A call asks. */
  readonly held?: string;
}

export interface Offer {
  /** Only ever appended to within a session, in a stable order; a tool set aside is the one exception. */
  readonly tools: readonly CatalogTool[];
  /** Any tool the session knows, offered or not: a call of one that is not loaded loads it. */
  find(name: string): CatalogEntry | undefined;
}

/** The arguments that are sent: defaults, then the model's own, then the pinned ones. */
export function callArguments(entry: Pick<CatalogEntry, "pinned" | "defaults">, given: JsonObject): JsonObject {
  return { ...entry.defaults, ...given, ...entry.pinned };
}

/** Everything some sources have, offered at once and unshaped. */
export function snapshot(sources: readonly ToolSource[]): Offer {
  const table = new Map<string, CatalogEntry>();
  for (const source of sources) {
    const known = new KnownTools(source);
    known.refresh();
    for (const tool of known.tools) table.set(tool.tool.id, { ...tool, isChanged: false });
  }
  return { tools: [...table.values()].map(({ tool }) => tool), find: (name) => table.get(name) };
}

export type OfferedHow = "always" | "manual" | "head_start";

export interface OfferedTool {
  readonly known: KnownTool;
  readonly how: OfferedHow;
}

/**
 * The tools a model has been offered: appended to and never rewritten, so that providers' caches of the prompt hold.
 * Immutable: appending gives another list.
 */
export class OfferedList {
  static readonly EMPTY: OfferedList = new OfferedList([], new Map());
  readonly entries: readonly OfferedTool[];
  readonly tools: readonly CatalogTool[];
  readonly how: ReadonlyMap<ToolId, OfferedHow>;
  /** The tools the model has seen or found, as it saw them: one that is gone still answers. */
  readonly seen: ReadonlyMap<string, KnownTool>;

  private constructor(entries: readonly OfferedTool[], seen: ReadonlyMap<string, KnownTool>) {
    this.entries = entries;
    this.tools = entries.map(({ known }) => known.tool);
    this.how = new Map(entries.map(({ known, how }) => [known.tool.id, how]));
    this.seen = seen;
  }

  append(more: readonly OfferedTool[]): OfferedList {
    const byId = new Map(more.toReversed().map((one) => [one.known.tool.id, one]));
    const fresh = more.filter((one) => !this.how.has(one.known.tool.id) && byId.get(one.known.tool.id) === one);
    if (fresh.length === 0) return this;
    return new OfferedList([...this.entries, ...fresh], this.#saw(fresh.map(({ known }) => known)));
  }

  /** Found and not offered: shown in the answer to a search. */
  show(found: readonly KnownTool[]): OfferedList {
    const fresh = found.filter(({ tool }) => this.seen.get(tool.id)?.tool !== tool && !this.how.has(tool.id));
    return fresh.length === 0 ? this : new OfferedList(this.entries, this.#saw(fresh));
  }

  /** The one exception: a definition that providers refuse would fail every turn. */
  without(id: ToolId): OfferedList {
    if (!this.how.has(id)) return this;
    const rest = this.entries.filter(({ known }) => known.tool.id !== id);
    return new OfferedList(rest, this.seen);
  }

  #saw(tools: readonly KnownTool[]): ReadonlyMap<string, KnownTool> {
    return new Map([...this.seen, ...tools.map((known): [string, KnownTool] => [known.tool.id, known])]);
  }
}

interface OfferParts {
  readonly list: OfferedList;
  /** A tool that is there now. */
  readonly current: (name: string) => KnownTool | undefined;
  readonly whySetAside: (known: KnownTool) => string | undefined;
  readonly whyHeld: (known: KnownTool) => string | undefined;
}

export function makeOffer({ list, current, whySetAside, whyHeld }: OfferParts): Offer {
  const find = (name: string): CatalogEntry | undefined => {
    const seen = list.seen.get(name);
    const known = current(name);
    if (!known) return seen && { ...seen, isChanged: false, unavailable: goneText(seen) };
    const setAside = whySetAside(known);
    const unavailable = setAside === undefined ? undefined : `it was set aside: ${setAside}`;
    const isChanged = seen !== undefined && isOther(seen.tool.definition, known.tool.definition);
    return { ...known, isChanged, ...defined({ unavailable, held: whyHeld(known) }) };
  };
  return { tools: list.tools, find };
}

function goneText({ tool, source }: KnownTool): string {
  return `${tool.label} is gone: its server "${source.name}" does not have it any more`;
}

function isOther(shown: ToolDefinition, current: ToolDefinition): boolean {
  const asJson = ({ name, title, description, inputSchema }: ToolDefinition) =>
    canonicalJson({ name, title, description, inputSchema });
  return shown !== current && asJson(shown) !== asJson(current);
}
