// What one compilation may cost: every schema looked at, merged or written is paid for, so that none can make it long.

/** Thrown when the work allowed for one schema is used up; the schema is then refused as too large. */
export class OutOfFuel extends Error {}

export class Fuel {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfFuel();
  }
}
