// The sources of a session by layer and name: which counts, which is shadowed by which, and what has changed.

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

/**
 * Strongest first, which is also the order tools are offered in; Tenon's own come before them. What the program around it
 * adds is its own word, so it stands above what clients and files bring.
 */
const LAYERS: readonly ToolOrigin[] = ["extra", "client", "project", "user"];

export interface Shadowed {
  readonly known: KnownTools;
  readonly by: ToolSource;
}

export class SourceBook {
  readonly #transformers: readonly ToolTransformer[];
  #all: readonly KnownTools[] = [];
  #active: readonly KnownTools[] = [];
  #shadowed: readonly Shadowed[] = [];
  #hasChanged = false;

  constructor(transformers: readonly ToolTransformer[] = []) {
    this.#transformers = transformers;
  }

  /**
   * One of the same layer and name takes the place of the earlier one, but for Tenon's own, whose tools have names of their
   * own. Returns the way to take it out again.
   */
  add(source: ToolSource, settings: SourceSettings = {}): () => void {
    const known = new KnownTools(source, settings, this.#transformers);
    const isSame = (other: KnownTools) =>
      source.origin !== "builtin" && other.source.origin === source.origin && other.source.name === source.name;
    const isReplacing = this.#all.some(isSame);
    this.#set(isReplacing ? this.#all.map((other) => (isSame(other) ? known : other)) : [...this.#all, known]);
    return () => this.#set(this.#all.filter((other) => other !== known));
  }

  /** Takes out every source of a layer, or the one of this name. */
  remove(origin: ToolOrigin, name?: string): void {
    const isGone = ({ source }: KnownTools) => source.origin === origin && (name === undefined || source.name === name);
    this.#set(this.#all.filter((known) => !isGone(known)));
  }

  /** Takes the lists of all sources as they are now; true when anything is other than at the last refresh. */
  refresh(): boolean {
    let hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    for (const known of this.#all) if (known.refresh()) hasChanged = true;
    return hasChanged;
  }

  /** Those that count, the strongest layer first, within it as they were added. */
  get active(): readonly KnownTools[] {
    return this.#active;
  }

  get shadowed(): readonly Shadowed[] {
    return this.#shadowed;
  }

  #set(all: readonly KnownTools[]): void {
    this.#all = all;
    this.#hasChanged = true;
    const winners = new Map<string, KnownTools>();
    const shadowed: Shadowed[] = [];
    const isOurs = ({ source }: KnownTools) => source.origin === "builtin";
    const servers = all.filter((known) => !isOurs(known));
    for (const layer of LAYERS) {
      for (const known of servers.filter(({ source }) => source.origin === layer)) {
        const winner = winners.get(known.source.name);
        if (winner) shadowed.push({ known, by: winner.source });
        else winners.set(known.source.name, known);
      }
    }
    this.#active = [...all.filter(isOurs), ...winners.values()];
    this.#shadowed = shadowed;
  }
}

// The tools of one source as the catalog knows them: shaped, named, and made anew only where the source's list changed.
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

// How each tool comes before the model, by everybody's word: the more specific one counts, then the later one.
export interface Inclusion {
  readonly mode: IncludeMode;
  /** Whose word it is: `tool` and `server` from configuration, client or person, or nobody's. */
  readonly by: "tool" | "server" | "default";
}

/** Nobody said anything: all tools, as far as the session's limits allow. */
const DEFAULT: Inclusion = { mode: "always", by: "default" };

export class IncludeModes {
  #default: Inclusion = DEFAULT;
  readonly #byServer = new Map<string, IncludeMode>();
  readonly #byTool = new Map<string, ReadonlyMap<string, IncludeMode>>();

  /** At run time; by the source's own name of the tool. */
  set(source: string, tool: string | undefined, mode: IncludeMode): void {
    if (tool === undefined) this.#byServer.set(source, mode);
    else this.#byTool.set(source, new Map(this.#byTool.get(source)).set(tool, mode));
  }

  /** For servers nobody said anything about; Tenon's own tools are always there. */
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
    return source.origin === "builtin" ? DEFAULT : this.#default;
  }
}
