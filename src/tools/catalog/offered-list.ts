// The tools a model has been offered: appended to and never rewritten, so that providers' caches of the prompt hold.
import { defined } from "../../base/json/defined.js";
import { canonicalJson, type JsonObject } from "../../base/json/json.js";
import type { CatalogTool, ToolDefinition, ToolId } from "../tool.js";
import type { KnownTool } from "./known-tools.js";
import type { CatalogEntry, Offer } from "./offer.js";
import type { OfferedHow } from "./plan.js";

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
