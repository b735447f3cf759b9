// Starts servers one after the other: each start blocks the event loop, and answers are waiting to go out.
import { contained, handled } from "../../base/async/scope.js";
import type { World } from "../../base/ports/world.js";

/** The last start asked for, per World: sessions opened in a row share one event loop, and so one queue. */
const lastStarts = new WeakMap<World, Promise<void>>();

/** One per turn of the event loop, whichever session it is for. What one `start` throws is reported, and the next goes on. */
export function startInTurn(world: World, start: () => void): void {
  const before = lastStarts.get(world) ?? Promise.resolve();
  const started = before.then(async () => {
    await new Promise<void>((resolve) => {
      world.after(0, resolve);
    });
    contained(world.log, "start a server", start);
  });
  lastStarts.set(world, started);
  handled(started, world.log, "start a server");
}
