// The tools offered to one model call, and the tool behind every name: an immutable snapshot.
import { contained } from "../../base/async/scope.js";
import { isEmpty, type JsonObject } from "../../base/json/json.js";
import { sharedLog } from "../../base/ports/world.js";
import { withoutFinal } from "../../base/text/ends.js";
import { markForeign } from "../../base/text/marking.js";
import { plainToolId, ToolNames, toolKey } from "../names.js";
import { cut } from "../one-line.js";
import { definitionHash } from "../policy/lock.js";
import type { CatalogTool, IncludeMode, ToolDefinition, ToolId, ToolOrigin, ToolSource } from "../tool.js";
import { type MarkedDefinition, markDefinition } from "./mark-definition.js";
import { type Shaper, type SourceSettings, shaper, type ToolTransformer } from "./shape.js";

/** A tool a session knows, offered or not. */
export interface CatalogEntry extends KnownTool {
  /** The model was shown an earlier definition: if the arguments do not fit, it needs the new one. */
  readonly isChanged: boolean;
  /** Why it cannot be called, for the model: its server is gone, or it was set aside. */
  readonly unavailable?: string | undefined;
  /** Why it is not offered until a person approves it: its definition changed. A call asks. */
  readonly held?: string | undefined;
}

export interface Offer {
  /**
   * Only ever appended to within a session, in a stable order, until the conversation is compacted or the model changed; a
   * tool set aside is the one exception.
   */
  readonly tools: readonly CatalogTool[];
  /** Any tool the session knows, offered or not: a call of one that is not loaded loads it. */
  find(name: string): CatalogEntry | undefined;
  /** For the name of a tool that may be one of a server that still starts; undefined for all others. */
  starting?(name: string): StartingSource | undefined;
}

export interface StartingSource {
  readonly server: string;
  /** What goes on, for people. */
  readonly doing: string;
  /** Waits for the server. What can be called then, and why the server cannot be used if so. */
  started(signal: AbortSignal): Promise<{ readonly offer: Offer; readonly problem: string | undefined }>;
}

/** The arguments that are sent: defaults, then the model's own, then the pinned ones. */
export function callArguments(entry: Pick<CatalogEntry, "pinned" | "defaults">, given: JsonObject): JsonObject {
  const { defaults, pinned } = entry;
  return isEmpty(defaults) && isEmpty(pinned) ? given : { ...defaults, ...given, ...pinned };
}

/** Everything some sources have, offered at once and unshaped. */
export function snapshot(sources: readonly ToolSource[]): Offer {
  const table = new Map<string, CatalogEntry>();
  const names = new ToolNames();
  for (const source of sources) {
    const known = new KnownTools(source, { names });
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
    const first = new Map<ToolId, OfferedTool>();
    for (const one of more) if (!first.has(one.known.tool.id)) first.set(one.known.tool.id, one);
    const fresh = more.filter((one) => !this.how.has(one.known.tool.id) && first.get(one.known.tool.id) === one);
    if (fresh.length === 0) return this;
    return new OfferedList([...this.entries, ...fresh], this.#saw(fresh.map(({ known }) => known)));
  }

  /** Found and not offered: shown in the answer to a search. */
  show(found: readonly KnownTool[]): OfferedList {
    const fresh = found.filter(({ tool }) => this.seen.get(tool.id)?.tool !== tool && !this.how.has(tool.id));
    return fresh.length === 0 ? this : new OfferedList(this.entries, this.#saw(fresh));
  }

  /** With the tools as they are now, without those that `current` does not give: for when providers' caches are lost anyway. */
  renew(current: (known: KnownTool) => KnownTool | undefined): OfferedList {
    const entries = this.entries.flatMap((entry): OfferedTool[] => {
      const known = current(entry.known);
      return known ? [known === entry.known ? entry : { ...entry, known }] : [];
    });
    const isSame = entries.length === this.entries.length && entries.every((entry, at) => entry === this.entries[at]);
    return isSame ? this : new OfferedList(entries, this.#saw(entries.map(({ known }) => known)));
  }

  /** The other exception: a definition that providers refuse would fail every turn. */
  without(id: ToolId): OfferedList {
    if (!this.how.has(id)) return this;
    const rest = this.entries.filter(({ known }) => known.tool.id !== id);
    return new OfferedList(rest, this.seen);
  }

  #saw(tools: readonly KnownTool[]): ReadonlyMap<string, KnownTool> {
    return new Map([...this.seen, ...tools.map((known): [string, KnownTool] => [known.tool.id, known])]);
  }
}

/** A tool that passed the shaping. */
export interface KnownTool {
  /** As it is now: where the model was shown an earlier definition, `Offer.tools` still has that one. */
  readonly tool: CatalogTool;
  /** By which the memory of tools, and journals of earlier versions, know it: the same in every session. */
  readonly key: string;
  readonly source: ToolSource;
  /** As its source defines it: the source is called by this name, and arguments are checked by this schema. */
  readonly raw: ToolDefinition;
  /** Put into every call, over the model's own value: the model is not shown these arguments. */
  readonly pinned: JsonObject;
  /** Put into a call where the model gave nothing. */
  readonly defaults: JsonObject;
}

/** A tool that did not pass, and why. */
interface LeftOut {
  readonly ownName: string;
  readonly kind: "filtered" | "broken" | "shadowed";
  readonly reason: string;
}

interface KnownToolsOptions {
  readonly settings?: SourceSettings;
  readonly transformers?: readonly ToolTransformer[];
  /** Of the session. */
  readonly names: ToolNames;
}

const NONE_MADE: ReadonlyMap<ToolDefinition, KnownTool | LeftOut> = new Map();

/** The tools of one source: shaped, named, and made anew only where the source's list changed. */
export class KnownTools {
  readonly source: ToolSource;
  readonly settings: SourceSettings;
  readonly #names: ToolNames;
  readonly #shape: Shaper;
  /** Of the last list. Definitions are immutable: equal objects need shaping and hashing once. */
  #made: ReadonlyMap<ToolDefinition, KnownTool | LeftOut> = NONE_MADE;
  #list: readonly ToolDefinition[] | undefined;
  /** As of the last refresh. */
  tools: readonly KnownTool[] = [];
  /** Whether its source had failed or was closed at the last refresh: then nothing more of it is offered. */
  isDown = false;
  leftOut: readonly LeftOut[] = [];

  constructor(source: ToolSource, { settings = {}, transformers = [], names }: KnownToolsOptions) {
    this.source = source;
    this.settings = settings;
    this.#names = names;
    this.#shape = shaper(source, settings, transformers);
  }

  /** Takes the source as it is now; true when its list has changed, or whether it is down. */
  refresh(): boolean {
    const list = this.source.tools.value;
    const kind = this.source.state?.value.kind;
    const isDown = kind === "failed" || kind === "closed";
    const isOther = isDown !== this.isDown;
    this.isDown = isDown;
    if (list === this.#list) return isOther;
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
      // A tool that has the name by itself keeps it against one that was given it; of equals the last one counts.
      const [winner, loser] = rival && hasOwnName(rival) && !hasOwnName(made) ? [rival, made] : [made, rival];
      byId.set(made.tool.id, winner);
      if (!loser) continue;
      const { name } = winner.tool.definition;
      const reason = `the tool "${winner.raw.name}" of the same server is called "${name}" too, and that one counts`;
      leftOut.push({ ownName: loser.raw.name, kind: "shadowed", reason });
    }
    this.tools = [...byId.values()];
    this.leftOut = leftOut;
    this.#made = all.size === 0 ? NONE_MADE : all;
    return true;
  }

  #make(raw: ToolDefinition): KnownTool | LeftOut {
    const shaped = this.#shape(raw);
    if (shaped.kind !== "kept") return { ownName: raw.name, kind: shaped.kind, reason: shaped.reason };
    const { pinned, defaults } = shaped;
    const { source } = this;
    const { name } = shaped.definition;
    const isBare = shaped.definition.description.trim() === "";
    const definition = isBare
      ? { ...shaped.definition, description: `Tool ${name} of ${source.name}` }
      : shaped.definition;
    const isOwn = source.origin === "builtin";
    const plain = source.hasPlainNames === true ? this.#names.plain(source.name, name) : undefined;
    const id = isOwn ? plainToolId(name) : (plain ?? this.#names.of(source.name, name));
    const key = isOwn ? id : toolKey(source.name, name);
    return { tool: new KnownCatalogTool(id, source, raw, definition), key, source, raw, pinned, defaults };
  }
}

/** A class, since there may be ten thousand: facts that few of them need are made when they are first asked for. */
class KnownCatalogTool implements CatalogTool {
  readonly id: ToolId;
  readonly origin: ToolOrigin;
  readonly source: string;
  readonly #raw: ToolDefinition;
  readonly #shaped: ToolDefinition;
  #label: string | undefined;
  #marked: MarkedDefinition | undefined;
  #hash: string | undefined;

  constructor(id: ToolId, { name, origin }: ToolSource, raw: ToolDefinition, shaped: ToolDefinition) {
    this.id = id;
    this.origin = origin;
    this.source = name;
    this.#raw = raw;
    this.#shaped = shaped;
  }

  get label(): string {
    this.#label ??= markForeign(`${this.source} / ${titleOf(this.#shaped.title ?? this.#raw.name)}`);
    return this.#label;
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

function hasOwnName({ raw, tool }: KnownTool): boolean {
  return raw.name === tool.definition.name;
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
  readonly #names: ToolNames;
  readonly #transformers: readonly ToolTransformer[];
  #all: readonly KnownTools[] = [];
  #hasChanged = false;
  /** The sources that count, the strongest layer first, within it as they were added. */
  active: readonly KnownTools[] = [];
  shadowed: readonly Shadowed[] = [];
  readonly #listeners = new Set<() => void>();
  /** Follows the lists of all sources; nothing is followed while nobody listens. */
  #unfollow: (() => void) | undefined;

  constructor(names: ToolNames, transformers: readonly ToolTransformer[] = []) {
    this.#names = names;
    this.#transformers = transformers;
  }

  /**
   * A source of the same layer and name is replaced, except for Tenon's own, whose tools have names of their own. Returns
   * a function that removes the source again.
   */
  add(source: ToolSource, settings: SourceSettings = {}): () => void {
    const known = new KnownTools(source, { settings, transformers: this.#transformers, names: this.#names });
    const { origin, name, givesWay = false } = source;
    const isSame = ({ source: other }: KnownTools) =>
      origin !== "builtin" && other.origin === origin && other.name === name && (other.givesWay ?? false) === givesWay;
    const isReplacing = this.#all.some(isSame);
    this.#set(isReplacing ? this.#all.map((other) => (isSame(other) ? known : other)) : [...this.#all, known]);
    return () => this.#set(this.#all.filter((other) => other !== known));
  }

  /** Removes every source of a layer, or the one of this name. */
  remove(origin: ToolOrigin, name?: string): void {
    const isGone = ({ source }: KnownTools) => source.origin === origin && (name === undefined || source.name === name);
    this.#set(this.#all.filter((known) => !isGone(known)));
  }

  /** Calls `listener` when a source came, went, or has another list; returns the way to stop. */
  onChange(listener: () => void): () => void {
    const own = () => listener();
    this.#listeners.add(own);
    if (!this.#unfollow) this.#follow();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#unfollow?.();
      this.#unfollow = undefined;
    };
  }

  #follow(): void {
    this.#unfollow?.();
    const tell = () => {
      for (const listener of this.#listeners) contained(sharedLog(), "listener of a tool list", listener);
    };
    const stops = this.#all.map(({ source }) => source.tools.subscribe(tell));
    this.#unfollow = () => {
      for (const stop of stops) stop();
    };
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
    const inLayers = LAYERS.flatMap((layer) => all.filter(({ source }) => source.origin === layer));
    const givesWay = ({ source }: KnownTools) => source.givesWay === true;
    for (const known of [...inLayers.filter((one) => !givesWay(one)), ...inLayers.filter(givesWay)]) {
      const winner = winners.get(known.source.name);
      if (winner) shadowed.push({ known, by: winner.source });
      else winners.set(known.source.name, known);
    }
    this.active = [...all.filter(({ source }) => source.origin === "builtin"), ...winners.values()];
    this.shadowed = shadowed;
    if (!this.#unfollow) return;
    this.#follow();
    for (const listener of this.#listeners) contained(sharedLog(), "listener of a tool list", listener);
  }
}

interface Inclusion {
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

export type Resolved =
  | { readonly kind: "one"; readonly known: KnownTool }
  | { readonly kind: "many"; readonly candidates: readonly KnownTool[] }
  | { readonly kind: "none"; readonly similar: readonly KnownTool[] };

const MAX_SIMILAR = 5;

/** The first way that fits anything counts: an exact name is never ambiguous because of a title. */
export function resolveTool(name: string, sources: readonly KnownTools[]): Resolved {
  const all = sources.flatMap(({ tools }) => tools);
  const wanted = name.trim();
  if (wanted === "") return { kind: "none", similar: [] };
  const folded = wanted.toLowerCase();
  const ways: readonly ((known: KnownTool) => boolean)[] = [
    ({ tool, key }) => tool.id === wanted || key === wanted,
    (known) => pathOf(known) === wanted || known.tool.label === wanted,
    ({ raw, tool }) => raw.name === wanted || tool.definition.name === wanted,
    (known) => {
      const { tool, raw } = known;
      const names = [tool.id, pathOf(known), tool.label, raw.name, tool.definition.title ?? ""];
      return names.some((one) => one.toLowerCase() === folded);
    },
  ];
  for (const fits of ways) {
    const candidates = all.filter(fits);
    const [first] = candidates;
    if (first && candidates.length === 1) return { kind: "one", known: first };
    if (candidates.length > 1) return { kind: "many", candidates };
  }
  const isSimilar = ({ raw, tool }: KnownTool) => {
    const own = raw.name.toLowerCase();
    return own.includes(folded) || folded.endsWith(own) || tool.id.toLowerCase().includes(folded);
  };
  return { kind: "none", similar: all.filter(isSimilar).slice(0, MAX_SIMILAR) };
}

/** `server/tool`: the shortest name that means one tool whatever else is connected. */
export function pathOf({ source, raw }: KnownTool): string {
  return `${source.name}/${raw.name}`;
}

/** What a prompt names as `@tool:name`; the name ends at white space, and punctuation after it is not part of it. */
export function mentionedTools(prompt: string): readonly string[] {
  const names = [...prompt.matchAll(/(?<![\p{L}\p{N}_])@tool:(\S+)/gu)].map(([, name = ""]) =>
    withoutFinal(name, ".,;:!?)]}\"'`"),
  );
  return [...new Set(names.filter((name) => name !== ""))];
}
