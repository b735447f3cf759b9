// Calls through a `CallGate`, as a connection makes them.
import type { World } from "../src/base/ports/world.js";
import { CallGate, type GatedCall } from "../src/mcp/connection/call-gate.js";
import type { CallLimits } from "../src/mcp/connection/options.js";
import type { CallOutcome } from "../src/mcp/protocol/call.js";

export class GatedCalls {
  readonly #gate: CallGate;

  constructor(world: World, limits: CallLimits) {
    this.#gate = new CallGate(world, limits);
  }

  setSharingSessions(count: number): void {
    this.#gate.setSharingSessions(count);
  }

  async run(request: GatedCall, call: () => Promise<CallOutcome>): Promise<CallOutcome> {
    const refused = await this.#gate.enter(request);
    if (refused) return refused;
    try {
      return await call();
    } finally {
      this.#gate.leave(request);
    }
  }
}
