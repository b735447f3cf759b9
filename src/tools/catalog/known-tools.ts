// The tools of one source as the catalog knows them: shaped, named, and made anew only where the source's list changed.
import type { JsonObject } from "../../base/json/json.js";
import { markForeign } from "../../base/text/marking.js";
import { mcpToolId, plainToolId } from "../name.js";
import { definitionHash } from "../policy/difference.js";
import { type MarkedDefinition, markDefinition } from "../shape/mark-definition.js";
import type { SourceSettings, ToolTransformer } from "../shape/settings.js";
import { type Shaper, shaper } from "../shape/shape.js";
import type { ToolSource } from "../source.js";
import type { CatalogTool, ToolDefinition, ToolId, ToolOrigin } from "../tool.js";
import { cut } from "./one-line.js";

/** A tool that passed the shaping. */
export interface KnownTool {
  readonly tool: CatalogTool;
  readonly source: ToolSource;
  readonly raw: ToolDefinition;
  readonly pinned: JsonObject;
  readonly defaults: JsonObject;
}

/** A tool that did not, and why. */
export interface LeftOut {
  readonly ownName: string;
  readonly kind: "filtered" | "broken" | "shadowed";
  readonly reason: string;
}

type Made = { readonly known: KnownTool } | { readonly leftOut: LeftOut };

export class KnownTools {
  readonly source: ToolSource;
  readonly settings: SourceSettings;
  readonly #shape: Shaper;
  /** Of the last list. Definitions are immutable: equal objects need shaping and hashing once. */
  #made: ReadonlyMap<ToolDefinition, Made> = new Map();
  #list: readonly ToolDefinition[] | undefined;
  #tools: readonly KnownTool[] = [];
  #leftOut: readonly LeftOut[] = [];

  constructor(source: ToolSource, settings: SourceSettings = {}, transformers: readonly ToolTransformer[] = []) {
    this.source = source;
    this.settings = settings;
    this.#shape = shaper(source, settings, transformers);
  }

  /** Takes the source's list as it is now; true when it is another than before. */
  refresh(): boolean {
    const list = this.source.tools.value;
    if (list === this.#list) return false;
    this.#list = list;
    this.#read(list);
    return true;
  }

  /** As of the last refresh. */
  get tools(): readonly KnownTool[] {
    return this.#tools;
  }

  get leftOut(): readonly LeftOut[] {
    return this.#leftOut;
  }

  #read(list: readonly ToolDefinition[]): void {
    const byId = new Map<ToolId, KnownTool>();
    const leftOut: LeftOut[] = [];
    const all = new Map<ToolDefinition, Made>();
    for (const raw of list) {
      const made = this.#made.get(raw) ?? makeTool(this.source, raw, this.#shape);
      all.set(raw, made);
      if ("leftOut" in made) {
        leftOut.push(made.leftOut);
        continue;
      }
      const { known } = made;
      const rival = byId.get(known.tool.id);
      const [winner, loser] = rival && isStronger(rival, known) ? [rival, known] : [known, rival];
      byId.set(known.tool.id, winner);
      if (loser) leftOut.push(nameTaken(loser, winner));
    }
    this.#tools = [...byId.values()];
    this.#leftOut = leftOut;
    this.#made = all;
  }
}

/** A class, since there may be ten thousand: what few of them need is made when it is first asked for. */
class KnownCatalogTool implements CatalogTool {
  readonly id: ToolId;
  readonly origin: ToolOrigin;
  readonly source: string;
  readonly label: string;
  readonly #raw: ToolDefinition;
  readonly #shaped: ToolDefinition;
  #marked: MarkedDefinition | undefined;
  #hash: string | undefined;

  constructor({ name, origin }: ToolSource, raw: ToolDefinition, shaped: ToolDefinition) {
    this.id = origin === "builtin" ? plainToolId(shaped.name) : mcpToolId(name, shaped.name);
    this.origin = origin;
    this.source = name;
    this.label = markForeign(`${name} / ${titleOf(shaped.title ?? raw.name)}`);
    this.#raw = raw;
    this.#shaped = shaped;
  }

  get definition(): ToolDefinition {
    return this.#markedDefinition().definition;
  }

  toOwn(args: JsonObject): JsonObject {
    return this.#markedDefinition().toOwn(args);
  }

  #markedDefinition(): MarkedDefinition {
    this.#marked ??=
      this.origin === "builtin" ? { definition: this.#shaped, toOwn: (args) => args } : markDefinition(this.#shaped);
    return this.#marked;
  }

  get definitionHash(): string {
    this.#hash ??= definitionHash(this.#raw);
    return this.#hash;
  }
}

/** A title is the server's words: on one line, and no longer than people read. */
function titleOf(title: string): string {
  const isShort = title.length <= MAX_TITLE_CHARS && !/[\r\n\t\u0085\u2028\u2029]/u.test(title);
  return isShort ? title : cut(title.replaceAll(/[\s\u0085]+/gu, " ").trim(), MAX_TITLE_CHARS);
}

const MAX_TITLE_CHARS = 80;

function makeTool(source: ToolSource, raw: ToolDefinition, shape: Shaper): Made {
  const shaped = shape(raw);
  if (shaped.kind !== "kept") return { leftOut: { ownName: raw.name, kind: shaped.kind, reason: shaped.reason } };
  const { definition, pinned, defaults } = shaped;
  return { known: { tool: new KnownCatalogTool(source, raw, definition), source, raw, pinned, defaults } };
}

/** A tool that has the name by itself keeps it against one that was given it; of equals the last one counts. */
function isStronger(rival: KnownTool, known: KnownTool): boolean {
  const isOwn = ({ raw, tool }: KnownTool) => raw.name === tool.definition.name;
  return isOwn(rival) && !isOwn(known);
}

function nameTaken(loser: KnownTool, winner: KnownTool): LeftOut {
  const { name } = winner.tool.definition;
  const reason = `the tool "${winner.raw.name}" of the same server is called "${name}" too, and that one counts`;
  return { ownName: loser.raw.name, kind: "shadowed", reason };
}
