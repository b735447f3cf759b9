// Loopback listeners of the fake world: nothing is opened, tests bring the requests themselves.
import type { LoopbackAnswer, LoopbackListener, LoopbackRequest } from "../../base/ports/world.js";

type Answering = (request: LoopbackRequest) => LoopbackAnswer;

const FIRST_PORT = 49_152;

export class FakeListeners {
  readonly #open = new Map<number, Answering>();
  #nextPort = FIRST_PORT;

  /** None should be left when what opened them is done. */
  get ports(): readonly number[] {
    return [...this.#open.keys()];
  }

  open(wanted: number, answer: Answering): LoopbackListener {
    const port = wanted === 0 ? this.#nextPort++ : wanted;
    if (this.#open.has(port))
      throw Object.assign(new Error(`listen EADDRINUSE 127.0.0.1:${port}`), { code: "EADDRINUSE" });
    this.#open.set(port, answer);
    return {
      port,
      [Symbol.asyncDispose]: async () => {
        this.#open.delete(port);
      },
    };
  }

  /** What a browser on this machine gets. Throws when nobody listens there. */
  visit(address: string, other: Partial<LoopbackRequest> = {}): LoopbackAnswer {
    const { port, host, pathname, search } = new URL(address);
    const answer = this.#open.get(Number(port));
    if (!answer) throw new Error(`connect ECONNREFUSED ${host}`);
    return answer({ method: "GET", target: `${pathname}${search}`, host, ...other });
  }
}
