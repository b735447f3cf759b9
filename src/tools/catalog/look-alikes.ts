// Tools whose name, title or server looks like another's. The person sees a warning; no decision depends on it.
import { plainForm, skeleton } from "../../base/text/look-alike.js";
import { cut, plain } from "../one-line.js";
import type { KnownTool, KnownTools } from "./offer.js";

export interface NamedTool {
  readonly server: string;
  /** It is Tenon's own: the one that is imitated, never the imitation. */
  readonly isOwn: boolean;
  readonly name: string;
  readonly title?: string | undefined;
}

/** A name or title of a tool. */
interface Known extends Pick<NamedTool, "server" | "isOwn"> {
  readonly text: string;
  readonly what: "name" | "title";
  readonly tool: string;
}

/** Of one skeleton: enough to find one of another server, however many there are. */
const MAX_ALIKE = 8;
const MAX_NAME_CHARS = 64;
/** A server that is called so, in whichever letters, is not Tenon. */
const OWN_NAME = "Tenon";

/** Linear in the number of tools. */
export class LookAlikes {
  readonly #known = new Map<string, Known[]>();
  readonly #servers = new Map<string, Set<string>>();

  constructor(tools: Iterable<NamedTool>) {
    const servers = new Set<string>();
    for (const { server, isOwn, name, title } of tools) {
      servers.add(isOwn ? OWN_NAME : server);
      this.#note({ server, isOwn, text: name, what: "name", tool: name });
      if (title !== undefined) this.#note({ server, isOwn, text: title, what: "title", tool: name });
    }
    for (const server of servers) {
      const key = skeleton(server);
      const alike = this.#servers.get(key) ?? new Set();
      if (alike.size < MAX_ALIKE) this.#servers.set(key, alike.add(server));
    }
  }

  /** What of a tool looks like another's, a sentence each. Exactly the same name at two servers is no imitation. */
  of(tool: NamedTool): readonly string[] {
    if (tool.isOwn) return [];
    const { server, name, title } = tool;
    const rival = [...(this.#servers.get(skeleton(server)) ?? [])].find((other) => other !== server);
    const likeName = this.#alike(tool, name).find(({ text, what, isOwn }) => {
      return text !== name && (what === "name" || isOwn);
    });
    // Titles of different servers are often the same words; only letters that are not what they seem count there.
    const likeTitle = this.#alike(tool, title).find(({ text, isOwn, tool: other }) =>
      isOwn ? other !== name : plainForm(text) !== plainForm(title ?? ""),
    );
    return [
      rival === undefined ? [] : `The name of its server looks like ${shown(rival)}.`,
      likeName ? `Its name looks like ${described(likeName)}.` : [],
      likeTitle ? `Its title looks like ${described(likeTitle)}.` : [],
    ].flat();
  }

  #alike({ server }: NamedTool, text = ""): readonly Known[] {
    return (this.#known.get(skeleton(text)) ?? []).filter((known) => known.isOwn || known.server !== server);
  }

  #note(known: Known): void {
    const key = skeleton(known.text);
    if (key === "") return;
    const alike = this.#known.get(key) ?? [];
    const isKnown = alike.some(({ server, text, what }) => {
      return server === known.server && text === known.text && what === known.what;
    });
    if (!isKnown && alike.length < MAX_ALIKE) alike.push(known);
    this.#known.set(key, alike);
  }
}

function described({ server, isOwn, text, what, tool }: Known): string {
  const whose = isOwn ? "Tenon" : `the server ${shown(server)}`;
  return what === "name" ? `the tool ${shown(text)} of ${whose}` : `the title of the tool ${shown(tool)} of ${whose}`;
}

function shown(text: string): string {
  return JSON.stringify(cut(plain(text), MAX_NAME_CHARS));
}

/** The same for a catalog: made again only when a list changed. */
export class CatalogLookAlikes {
  #lists: readonly (readonly KnownTool[])[] = [];
  #index: LookAlikes | undefined;

  of(known: KnownTool, sources: readonly KnownTools[]): readonly string[] {
    const lists = sources.map(({ tools }) => tools);
    const isSame = lists.length === this.#lists.length && lists.every((list, index) => list === this.#lists[index]);
    if (!this.#index || !isSame) {
      this.#lists = lists;
      this.#index = new LookAlikes(lists.flat().map(named));
    }
    return this.#index.of(named(known));
  }
}

function named({ source, raw }: KnownTool): NamedTool {
  return { server: source.name, isOwn: source.origin === "builtin", name: raw.name, title: raw.title };
}
