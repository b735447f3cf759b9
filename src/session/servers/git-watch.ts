// Reports git repositories that appear in the session's directories while a sandboxed server may write there.
import { orAborted } from "../../base/async/deadline.js";
import { messageOf } from "../../base/errors.js";
import { SANDBOX_LIMITS } from "../../base/limits.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { markHidden } from "../../base/text/marking.js";
import { BARE_PARTS, findGitPlaces } from "../../mcp/index.js";
import type { Notify } from "../events.js";

const MAX_SHOWN = 10;

/** Created when the first server that may write the directories is about to be started. */
export class GitWatch {
  readonly #world: World;
  /** The session's directories. */
  readonly #directories: readonly string[];
  readonly #onNotice: Notify;
  /** What was there before the first sandboxed server, and what was reported since. */
  readonly #known = new Set<string>();
  readonly #begun: Promise<void>;
  #looking: Promise<void> | undefined;

  constructor(world: World, directories: readonly string[], onNotice: Notify) {
    this.#world = world;
    this.#directories = directories;
    this.#onNotice = onNotice;
    this.#begun = this.#learn().catch(() => {}); // never rejects: what cannot be looked at is logged
  }

  /** Before a prompt. What takes longer than the limit is reported when it is known. Never rejects. */
  async report(signal: AbortSignal): Promise<void> {
    this.#looking ??= this.#reportNew(this.#begun).finally(() => {
      this.#looking = undefined;
    });
    using deadline = this.#world.deadline(SANDBOX_LIMITS.gitLookMs, signal);
    await orAborted(this.#looking, deadline.signal).catch(() => {}); // the time is up, or the turn is cancelled
  }

  async #learn(): Promise<void> {
    for (const place of await this.#look()) this.#known.add(place);
  }

  async #reportNew(begun: Promise<void>): Promise<void> {
    await begun;
    const fresh = (await this.#look()).filter((place) => !this.#known.has(place));
    if (fresh.length === 0) return;
    for (const place of fresh) this.#known.add(place);
    const shown = fresh.slice(0, MAX_SHOWN).map((place) => markHidden(place.split("\n")[1] ?? ""));
    const more = fresh.length > MAX_SHOWN ? ` and ${fresh.length - MAX_SHOWN} more` : "";
    this.#onNotice(
      "warning",
      `A git repository appeared in the session's directory: ${shown.join(", ")}${more}. A server in the sandbox may have made it. git runs programs that a repository names: if it is not yours, delete it before you run git there.`,
    );
  }

  /** In a folder that is a repository itself a new `commondir` or `config` makes it another one. */
  async #partsOf(folder: string): Promise<readonly string[]> {
    const entries = await this.#world.files.entries(folder).catch(() => []);
    return BARE_PARTS.filter((part) => entries.some(({ name }) => name === part));
  }

  /** One text per repository: its kind and its path, with what a link leads to or what it consists of. Never rejects. */
  async #look(): Promise<readonly string[]> {
    const world = this.#world;
    const directories = this.#directories;
    try {
      return await recorded(world, {
        ask: "git.places",
        about: [...directories],
        work: async () => (await Promise.all(directories.map((folder) => this.#placesIn(folder)))).flat(),
        read: (recorded) =>
          Array.isArray(recorded) ? recorded.flatMap((place) => (typeof place === "string" ? [place] : [])) : undefined,
      });
    } catch (error) {
      world.log.warn("git.not_looked", { error: messageOf(error) });
      return [];
    }
  }

  async #placesIn(folder: string): Promise<readonly string[]> {
    const { files } = this.#world;
    const { places } = await findGitPlaces(files, folder);
    const found = await Promise.all(
      places.map(async ({ path, kind }) => {
        // The place a sandbox keeps free is an empty folder: git takes it for nothing.
        if (kind === "folder" && (await files.entries(path).catch(() => [])).length === 0) return [];
        const target = kind === "link" ? await files.linkTarget(path).catch(() => undefined) : undefined;
        const parts = kind === "bare" ? await this.#partsOf(path) : [];
        return [[kind, path, ...(target === undefined ? [] : [target]), ...parts].join("\n")];
      }),
    );
    return found.flat();
  }
}
