// The sources of a session: their tools as the catalog knows them, include modes, and which source counts when two share a name.
import type { JsonObject } from "../../base/json/json.js";
import { markForeign } from "../../base/text/marking.js";
import { cut } from "../one-line.js";
import { definitionHash } from "../policy/difference.js";
import {
  type CatalogTool,
  type IncludeMode,
  mcpToolId,
  plainToolId,
  type ToolDefinition,
  type ToolId,
  type ToolOrigin,
  type ToolSource,
} from "../tool.js";
import { type MarkedDefinition, markDefinition } from "./mark-definition.js";
import { type Shaper, type SourceSettings, shaper, type ToolTransformer } from "./shape.js";

/** A tool that passed the shaping. */
export interface KnownTool {
  /** As it is now: where the model was shown an earlier definition, `Offer.tools` still has that one. */
  readonly tool: CatalogTool;
  readonly source: ToolSource;
  /** As its source defines it: the source is called by this name, and arguments are checked by this schema. */
  readonly raw: ToolDefinition;
  /** Put into every call, over the model's own value: the model is not shown these arguments. */
  readonly pinned: JsonObject;
  /** Put into a call where the model gave nothing. */
  readonly defaults: JsonObject;
}

/** A tool that did not pass, and why. */
export interface LeftOut {
  readonly ownName: string;
  readonly kind: "filtered" | "broken" | "shadowed";
  readonly reason: string;
}

/** The tools of one source: shaped, named, and made anew only where the source's list changed. */
export class KnownTools {
  readonly source: ToolSource;
  readonly settings: SourceSettings;
  readonly #shape: Shaper;
  /** Of the last list. Definitions are immutable: equal objects need shaping and hashing once. */
  #made: ReadonlyMap<ToolDefinition, KnownTool | LeftOut> = new Map();
  #list: readonly ToolDefinition[] | undefined;
  /** As of the last refresh. */
  tools: readonly KnownTool[] = [];
  leftOut: readonly LeftOut[] = [];

  constructor(source: ToolSource, settings: SourceSettings = {}, transformers: readonly ToolTransformer[] = []) {
    this.source = source;
    this.settings = settings;
    this.#shape = shaper(source, settings, transformers);
  }

  /** Takes the source's list as it is now; true when it has changed. */
  refresh(): boolean {
    const list = this.source.tools.value;
    if (list === this.#list) return false;
    this.#list = list;
    const byId = new Map<ToolId, KnownTool>();
    const leftOut: LeftOut[] = [];
    const all = new Map<ToolDefinition, KnownTool | LeftOut>();
    for (const raw of list) {
      const made = this.#made.get(raw) ?? this.#make(raw);
      all.set(raw, made);
      if ("reason" in made) {
        leftOut.push(made);
        continue;
      }
      const rival = byId.get(made.tool.id);
      const [winner, loser] = rival && isStronger(rival, made) ? [rival, made] : [made, rival];
      byId.set(made.tool.id, winner);
      if (loser) leftOut.push(nameTaken(loser, winner));
    }
    this.tools = [...byId.values()];
    this.leftOut = leftOut;
    this.#made = all;
    return true;
  }

  #make(raw: ToolDefinition): KnownTool | LeftOut {
    const shaped = this.#shape(raw);
    if (shaped.kind !== "kept") return { ownName: raw.name, kind: shaped.kind, reason: shaped.reason };
    const { definition, pinned, defaults } = shaped;
    const { source } = this;
    return { tool: new KnownCatalogTool(source, raw, definition), source, raw, pinned, defaults };
  }
}

/** A class, since there may be ten thousand: facts that few of them need are made when they are first asked for. */
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

const MAX_TITLE_CHARS = 80;

/** A title is the server's words: shown on one line, and cut. */
function titleOf(title: string): string {
  const isShort = title.length <= MAX_TITLE_CHARS && !/[\r\n\t\u0085\u2028\u2029]/u.test(title);
  return isShort ? title : cut(title.replaceAll(/[\s\u0085]+/gu, " ").trim(), MAX_TITLE_CHARS);
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

/**
 * Strongest first, which is also the order tools are offered in; Tenon's own come before them. Sources of the embedding
 * program stand above those of clients and files.
 */
const LAYERS: readonly ToolOrigin[] = ["extra", "client", "project", "user"];

export interface Shadowed {
  readonly known: KnownTools;
  readonly by: ToolSource;
}

export class SourceBook {
  readonly #transformers: readonly ToolTransformer[];
  #all: readonly KnownTools[] = [];
  #hasChanged = false;
  /** The sources that count, the strongest layer first, within it as they were added. */
  active: readonly KnownTools[] = [];
  shadowed: readonly Shadowed[] = [];

  constructor(transformers: readonly ToolTransformer[] = []) {
    this.#transformers = transformers;
  }

  /**
   * A source of the same layer and name is replaced, except for Tenon's own, whose tools have names of their own. Returns
   * a function that removes the source again.
   */
  add(source: ToolSource, settings: SourceSettings = {}): () => void {
    const known = new KnownTools(source, settings, this.#transformers);
    const isSame = (other: KnownTools) =>
      source.origin !== "builtin" && other.source.origin === source.origin && other.source.name === source.name;
    const isReplacing = this.#all.some(isSame);
    this.#set(isReplacing ? this.#all.map((other) => (isSame(other) ? known : other)) : [...this.#all, known]);
    return () => this.#set(this.#all.filter((other) => other !== known));
  }

  /** Removes every source of a layer, or the one of this name. */
  remove(origin: ToolOrigin, name?: string): void {
    const isGone = ({ source }: KnownTools) => source.origin === origin && (name === undefined || source.name === name);
    this.#set(this.#all.filter((known) => !isGone(known)));
  }

  /** Takes the lists of all sources as they are now; true when anything changed since the last refresh. */
  refresh(): boolean {
    let hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    for (const known of this.#all) if (known.refresh()) hasChanged = true;
    return hasChanged;
  }

  #set(all: readonly KnownTools[]): void {
    this.#all = all;
    this.#hasChanged = true;
    const winners = new Map<string, KnownTools>();
    const shadowed: Shadowed[] = [];
    for (const known of LAYERS.flatMap((layer) => all.filter(({ source }) => source.origin === layer))) {
      const winner = winners.get(known.source.name);
      if (winner) shadowed.push({ known, by: winner.source });
      else winners.set(known.source.name, known);
    }
    this.active = [...all.filter(({ source }) => source.origin === "builtin"), ...winners.values()];
    this.shadowed = shadowed;
  }
}

export interface Inclusion {
  readonly mode: IncludeMode;
  /** Where the mode was set: `tool` and `server` by configuration, client or person. */
  readonly by: "tool" | "server" | "default";
}

/** All tools, as far as the session's limits allow. */
const DEFAULT_INCLUSION: Inclusion = { mode: "always", by: "default" };

/** The include mode of each tool: a more specific setting counts before a general one, then the later one. */
export class IncludeModes {
  #default = DEFAULT_INCLUSION;
  readonly #byServer = new Map<string, IncludeMode>();
  readonly #byTool = new Map<string, ReadonlyMap<string, IncludeMode>>();

  /** At run time; by the source's own name of the tool. */
  set(source: string, tool: string | undefined, mode: IncludeMode): void {
    if (tool === undefined) this.#byServer.set(source, mode);
    else this.#byTool.set(source, new Map(this.#byTool.get(source)).set(tool, mode));
  }

  /** For servers without a setting; Tenon's own tools are always offered. */
  setDefault(mode: IncludeMode): void {
    this.#default = { mode, by: "default" };
  }

  of({ source, settings }: Pick<KnownTools, "source" | "settings">, ownName: string): Inclusion {
    const { include, includeByTool } = settings;
    const forTool =
      this.#byTool.get(source.name)?.get(ownName) ??
      (includeByTool && Object.hasOwn(includeByTool, ownName) ? includeByTool[ownName] : undefined);
    if (forTool) return { mode: forTool, by: "tool" };
    const forServer = this.#byServer.get(source.name) ?? include;
    if (forServer) return { mode: forServer, by: "server" };
    return source.origin === "builtin" ? DEFAULT_INCLUSION : this.#default;
  }
}
