// Values by whose a server is and its name. Every call looks some up: a text made of both would cost more than the rest of it.
import type { ToolOrigin } from "../../tools/index.js";

export class ByServer<T> {
  readonly #names = new Map<ToolOrigin, Map<string, T>>();

  get(origin: ToolOrigin, name: string): T | undefined {
    return this.#names.get(origin)?.get(name);
  }

  set(origin: ToolOrigin, name: string, value: T): void {
    const names = this.#names.get(origin);
    if (names) names.set(name, value);
    else this.#names.set(origin, new Map([[name, value]]));
  }

  clear(): void {
    this.#names.clear();
  }
}
