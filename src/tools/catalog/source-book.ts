// The sources of a session by layer and name: which counts, which is shadowed by which, and what has changed.
import type { SourceSettings, ToolTransformer } from "../shape/settings.js";
import type { ToolSource } from "../source.js";
import type { ToolOrigin } from "../tool.js";
import { KnownTools } from "./known-tools.js";

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
