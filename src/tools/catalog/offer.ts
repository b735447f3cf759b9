// What one model call is offered, and what is behind every name: an immutable snapshot.

import { defined } from "../../base/json/defined.js";
import { canonicalJson, type JsonObject } from "../../base/json/json.js";
import type { CatalogTool, ToolDefinition, ToolId, ToolSource } from "../tool.js";
import type { OfferedHow } from "./offering.js";
import { type KnownTool, KnownTools } from "./sources.js";

/** A tool a session knows, whether it is offered or not. */
export interface CatalogEntry {
  /** As it is now: where the model was shown an earlier definition, `Offer.tools` still has that one. */
  readonly tool: CatalogTool;
  readonly source: ToolSource;
  /** As its source defines it: the source is called by this name, and arguments are checked by this schema. */
  readonly raw: ToolDefinition;
  /** Put into every call, over whatever the model gave: the model is not shown these arguments. */
  readonly pinned: JsonObject;
  /** Put into a call where the model gave nothing. */
  readonly defaults: JsonObject;
  /** The model was shown an earlier definition: if the arguments do not fit, it needs the new one. */
  readonly isChanged: boolean;
  /** Why it cannot be called, for the model: its server is gone, or it was set aside. */
  readonly unavailable?: string;
  /** Why it is not offered until somebody approves of it: its definition changed. A call asks. */
  readonly held?: string;
}

export interface Offer {
  /** Only ever appended to within a session, in a stable order; a tool set aside is the one exception. */
  readonly tools: readonly CatalogTool[];
  /** Any tool the session knows, offered or not: a call of one that is not loaded loads it. */
  find(name: string): CatalogEntry | undefined;
}

/** What is really sent: defaults, then what the model gave, then what is pinned. */
export function callArguments(entry: Pick<CatalogEntry, "pinned" | "defaults">, given: JsonObject): JsonObject {
  return { ...entry.defaults, ...given, ...entry.pinned };
}

// The tools a model has been offered: appended to and never rewritten, so that providers' caches of the prompt hold.
export interface OfferedTool {
  readonly known: KnownTool;
  readonly how: OfferedHow;
}

/** Immutable: appending gives another list. */
export class OfferedList {
  static readonly EMPTY: OfferedList = new OfferedList([], new Map());
  readonly entries: readonly OfferedTool[];
  readonly tools: readonly CatalogTool[];
  readonly how: ReadonlyMap<ToolId, OfferedHow>;
  /** What the model has seen or found, as it saw it: a tool that is gone still answers. */
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
    return this.how.has(id)
      ? new OfferedList(
          this.entries.filter(({ known }) => known.tool.id !== id),
          this.seen,
        )
      : this;
  }

  #saw(tools: readonly KnownTool[]): ReadonlyMap<string, KnownTool> {
    return new Map([...this.seen, ...tools.map((known): [string, KnownTool] => [known.tool.id, known])]);
  }
}

export interface OfferParts {
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
    const held = whyHeld(known);
    return {
      ...known,
      isChanged: seen !== undefined && isOther(seen.tool.definition, known.tool.definition),
      ...defined({ unavailable: setAside === undefined ? undefined : `it was set aside: ${setAside}`, held }),
    };
  };
  return { tools: list.tools, find };
}

function goneText({ tool, source }: KnownTool): string {
  return `${tool.label} is gone: its server "${source.name}" does not have it any more`;
}

function isOther(shown: ToolDefinition, current: ToolDefinition): boolean {
  return shown !== current && canonicalJson(asData(shown)) !== canonicalJson(asData(current));
}

function asData({ name, title, description, inputSchema }: ToolDefinition): JsonObject {
  return { name, title, description, inputSchema };
}

// Everything some sources have, offered at once and unshaped.
export function snapshot(sources: readonly ToolSource[]): Offer {
  const table = new Map<string, CatalogEntry>();
  for (const source of sources) {
    const known = new KnownTools(source);
    known.refresh();
    for (const tool of known.tools) table.set(tool.tool.id, { ...tool, isChanged: false });
  }
  return { tools: [...table.values()].map(({ tool }) => tool), find: (name) => table.get(name) };
}
