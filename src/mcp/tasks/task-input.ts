// What a modern task wants to know before it can go on: each question is put to the peer once, and answered until it is taken.

import { handled } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { sharedLog } from "../../base/ports/log.js";
import { INPUT_KINDS, type InputRequest, readInput } from "../era/input-required.js";
import type { Link } from "../era/link.js";
import { MCP_LIMITS, TASK_LIMITS } from "../limits.js";

export class TaskInput {
  readonly #taskId: string;
  readonly #onRefused: (reason: string) => void;
  readonly #over = new AbortController();
  readonly #asked = new Set<string>();
  readonly #answers = new Map<string, JsonObject>();
  #work: Promise<void> | undefined;

  /** `onRefused`: what was asked for has no polite no, or must not be asked at all. */
  constructor(taskId: string, onRefused: (reason: string) => void) {
    this.#taskId = taskId;
    this.#onRefused = onRefused;
  }

  /**
   * Takes what is outstanding now. Servers name a question again and again until its answer has arrived: the person is
   * asked the first time only, and an answer that was lost on its way is sent again.
   */
  attend(outstanding: JsonObject, link: Link): void {
    if (this.#work || this.#over.signal.aborted) return;
    const requests = Object.entries(outstanding).map(([key, raw]) => readInput(key, raw));
    const strange = requests.find(({ method }) => !INPUT_KINDS.includes(method));
    if (strange) return this.#onRefused(`it asks for ${JSON.stringify(strange.method.slice(0, 100))}`);
    const fresh = requests.filter(({ key }) => !this.#asked.has(key));
    if (this.#asked.size + fresh.length > MCP_LIMITS.inputMaxRequests) {
      return this.#onRefused(`it asks for more than ${MCP_LIMITS.inputMaxRequests} inputs`);
    }
    for (const { key } of fresh) this.#asked.add(key);
    this.#work = this.#answer(requests, fresh, link).finally(() => {
      this.#work = undefined;
    });
    handled(this.#work, sharedLog(), "answer what a task asks");
  }

  /** Takes back what is being asked. */
  async close(): Promise<void> {
    this.#over.abort(new DOMException("the task is over", "AbortError"));
    await this.#work;
  }

  /** Never rejects. One after the other: a person reads one at a time. */
  async #answer(requests: readonly InputRequest[], fresh: readonly InputRequest[], link: Link): Promise<void> {
    const { signal } = this.#over;
    try {
      for (const { key, method, params } of fresh) {
        if (!link.askPeer) throw new Error("nobody here can be asked");
        const answer = await link.askPeer(method, params, signal);
        if (signal.aborted) return;
        this.#answers.set(key, answer);
      }
    } catch (thrown) {
      if (!signal.aborted) this.#onRefused(`what the server asked for was refused: ${messageOf(thrown)}`);
      return;
    }
    const known = requests.flatMap(({ key }): [string, JsonObject][] => {
      const answer = this.#answers.get(key);
      return answer ? [[key, answer]] : [];
    });
    if (known.length === 0) return;
    const params = { taskId: this.#taskId, inputResponses: Object.fromEntries(known) };
    // Whatever becomes of it, the next look at the task tells: a question still outstanding is answered again.
    await link.request("tasks/update", params, { signal, timeoutMs: TASK_LIMITS.pollTimeoutMs });
  }
}
