// Which sessions have something under way at one link of a shared server: what the server then asks can only be theirs.
import { Cell } from "../../base/cell.js";

/** Tells a session from the others, and nothing else. */
export type Lodger = object;

/** `several`: it may be any of them. `nobody`: no request is under way that it could belong to. */
export type Asker = { readonly kind: "one"; readonly lodger: Lodger } | { readonly kind: "several" | "nobody" };

export class LinkUsage {
  /**
   * Requests and calls that are not over for the server: those that run, and those that were given up here, by a cancel or a
   * deadline. Of those nobody can say when the server is done with them, so they count for as long as the link lives.
   */
  readonly #open = new Map<Lodger, number>();
  /** Counts changes of it. */
  readonly #changes = new Cell(0);
  #first: Lodger | undefined;
  #hasSeveral = false;

  /** Returns the way to end it; `isAnswered` is false when the server may still be at it. */
  begin(lodger: Lodger): (isAnswered: boolean) => void {
    this.#first ??= lodger;
    if (this.#first !== lodger) this.#hasSeveral = true;
    this.#add(lodger, 1);
    return (isAnswered) => {
      if (isAnswered) this.#add(lodger, -1);
    };
  }

  /** The only session that ever sent anything over the link; undefined when there was none, or more than one. */
  get only(): Lodger | undefined {
    return this.#hasSeveral ? undefined : this.#first;
  }

  get isUnused(): boolean {
    return this.#first === undefined;
  }

  get asker(): Asker {
    const [first, second] = this.#open.keys();
    if (!first) return { kind: "nobody" };
    return second ? { kind: "several" } : { kind: "one", lodger: first };
  }

  /** Those who may have something under way. */
  get lodgers(): readonly Lodger[] {
    return [...this.#open.keys()];
  }

  /** Whether a session other than this one may still have something under way. */
  hasOthersThan(lodger: Lodger): boolean {
    return this.lodgers.some((one) => one !== lodger);
  }

  /** Waits until it can be told who asks. Rejects when the signal aborts. */
  async decided(signal: AbortSignal): Promise<Asker> {
    await this.#changes.until(() => this.asker.kind !== "several", signal);
    return this.asker;
  }

  #add(lodger: Lodger, count: number): void {
    const open = (this.#open.get(lodger) ?? 0) + count;
    if (open > 0) this.#open.set(lodger, open);
    else this.#open.delete(lodger);
    this.#changes.set(this.#changes.value + 1);
  }
}
