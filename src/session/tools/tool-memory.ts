// What a project's prompts led to before, for whoever searches its tools: opened when the configuration wants it, or not at all.
import type { Scope } from "../../base/async/scope.js";
import type { World } from "../../base/ports/world.js";
import { UsageMemory, type UsagePort } from "../../tools/index.js";

export class ToolMemory {
  /** Knows nothing until the memory is open. */
  readonly usage: UsagePort = {
    scores: () => this.#memory?.scores() ?? { counts: new Map(), lengths: new Map() },
    add: (prompt, id) => this.#memory?.add(prompt, id),
  };
  readonly #world: World;
  readonly #folder: string;
  #memory: UsageMemory | undefined;
  /** Set while prompts are remembered. */
  #opening: Promise<UsageMemory> | undefined;

  constructor(world: World, folder: string) {
    this.#world = world;
    this.#folder = folder;
  }

  /** Resolves once it is open; at once when nothing is remembered. */
  get opened(): Promise<unknown> | undefined {
    return this.#opening;
  }

  configure({ isWanted, project }: { readonly isWanted: boolean; readonly project: string }, scope: Scope): void {
    if (!isWanted) {
      this.#opening = undefined;
      this.#memory = undefined;
      return;
    }
    if (this.#opening) return;
    const opening = UsageMemory.open({ world: this.#world, folder: this.#folder, project });
    this.#opening = opening;
    scope.run("open the memory of tools", async () => {
      const memory = await opening;
      if (this.#opening === opening) this.#memory = memory; // or it was switched off meanwhile
    });
  }
}
