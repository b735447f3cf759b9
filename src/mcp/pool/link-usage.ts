// Which sessions have something under way at one link of a shared server: what the server then asks can only be theirs.
import { Cell } from "../../base/async/cell.js";

/** Tells a session from the others, and nothing else. */
export type LinkUser = object;

/** `several`: it may be any of them. `nobody`: no request is under way that it could belong to. */
export type Asker = { readonly kind: "one"; readonly linkUser: LinkUser } | { readonly kind: "several" | "nobody" };

export class LinkUsage {
  /**
   * Requests and calls that are not over for the server: those that run, and those that were given up here, by a cancel or a
   * deadline. Of those nobody can say when the server is done with them, so they count for as long as the link lives.
   */
  readonly #open = new Map<LinkUser, number>();
  /** Counts changes of it. */
  readonly #changes = new Cell(0);
  #first: LinkUser | undefined;
  #hasSeveral = false;

  /** Returns the way to end it; `isAnswered` is false when the server may still be at it. */
  begin(linkUser: LinkUser): (isAnswered: boolean) => void {
    this.#first ??= linkUser;
    if (this.#first !== linkUser) this.#hasSeveral = true;
    this.#add(linkUser, 1);
    return (isAnswered) => {
      if (isAnswered) this.#add(linkUser, -1);
    };
  }

  /** The only session that ever sent anything over the link; undefined when there was none, or more than one. */
  get only(): LinkUser | undefined {
    return this.#hasSeveral ? undefined : this.#first;
  }

  get isUnused(): boolean {
    return this.#first === undefined;
  }

  get asker(): Asker {
    const [first, second] = this.#open.keys();
    if (!first) return { kind: "nobody" };
    return second ? { kind: "several" } : { kind: "one", linkUser: first };
  }

  /** Those who may have something under way. */
  get linkUsers(): readonly LinkUser[] {
    return [...this.#open.keys()];
  }

  /** Whether a session other than this one may still have something under way. */
  hasOthersThan(linkUser: LinkUser): boolean {
    return this.linkUsers.some((one) => one !== linkUser);
  }

  /** Waits until it can be told who asks. Rejects when the signal aborts. */
  async decided(signal: AbortSignal): Promise<Asker> {
    await this.#changes.until(() => this.asker.kind !== "several", signal);
    return this.asker;
  }

  #add(linkUser: LinkUser, count: number): void {
    const open = (this.#open.get(linkUser) ?? 0) + count;
    if (open > 0) this.#open.set(linkUser, open);
    else this.#open.delete(linkUser);
    this.#changes.set(this.#changes.value + 1);
  }
}
