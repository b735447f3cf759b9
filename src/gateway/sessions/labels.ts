// Labels of sessions: a client that asks for a label again gets the session that was begun last with it.
import type { SessionStore } from "../../session/index.js";
import { GATEWAY_LIMITS } from "../limits.js";

/** Of one account. */
export class Labels {
  readonly #store: SessionStore;
  /** By label, the session that was begun with it last; the latest last. */
  readonly #ids = new Map<string, string>();
  readonly #lines = new Map<string, Promise<unknown>>();

  constructor(store: SessionStore) {
    this.#store = store;
  }

  note(label: string, id: string): void {
    this.#ids.delete(label);
    this.#ids.set(label, id);
    const [oldest] = this.#ids.keys();
    if (this.#ids.size > GATEWAY_LIMITS.sessions.labels && oldest !== undefined) this.#ids.delete(oldest);
  }

  /** The one that was begun last with this label, if it is still there. */
  async find(label: string, isOpen: (id: string) => boolean): Promise<string | undefined> {
    const known = this.#ids.get(label);
    if (known !== undefined && (isOpen(known) || (await this.#store.has(known)))) return known;
    const { sessions } = await this.#store.list({ label, pageSize: GATEWAY_LIMITS.sessions.labels });
    // Their ids begin with the time.
    const id = sessions.map((one): string => one.id).reduce((last, one) => (one > last ? one : last), "");
    if (id === "") return undefined;
    this.note(label, id);
    return id;
  }

  /** One after the other for each label: two clients that want the same one at once get one session. */
  async inLine<T>(label: string, work: () => Promise<T>): Promise<T> {
    const before = this.#lines.get(label);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return await work();
    })();
    this.#lines.set(label, mine);
    try {
      return await mine;
    } finally {
      if (this.#lines.get(label) === mine) this.#lines.delete(label);
    }
  }
}
