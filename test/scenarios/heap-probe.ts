// The heap of a Node process that runs somebody else's program: it collects and tells when it is signalled.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ANSWER_WITHIN_MS = 20_000;
const POLL_MS = 20;
/** Whether the next collection finds less depends on what the one before has let go. */
const COLLECTIONS = 5;

export class HeapProbe {
  readonly #answer: string;
  readonly #hook: string;

  constructor(folder: string) {
    this.#answer = join(folder, "heap-answer.json");
    this.#hook = join(folder, "heap-hook.cjs");
    writeFileSync(this.#hook, hookFor(this.#answer));
  }

  /** What Node has to be started with. */
  get nodeArgs(): readonly string[] {
    return ["--expose-gc", "--require", this.#hook];
  }

  /** After collections. */
  async heapMb(pid: number): Promise<number> {
    rmSync(this.#answer, { force: true });
    process.kill(pid, "SIGUSR2");
    const until = performance.now() + ANSWER_WITHIN_MS;
    while (!existsSync(this.#answer)) {
      if (performance.now() > until) throw new Error(`process ${pid} did not tell its heap`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return Number(readFileSync(this.#answer, "utf8")) / 1_048_576;
  }
}

/** The answer is renamed into its place, so that it is whole when it is there. */
function hookFor(answer: string): string {
  return `
const { renameSync, writeFileSync } = require("node:fs");
const answer = ${JSON.stringify(answer)};
process.on("SIGUSR2", async () => {
  for (let round = 0; round < ${COLLECTIONS}; round++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc();
  }
  writeFileSync(answer + ".new", String(process.memoryUsage().heapUsed));
  renameSync(answer + ".new", answer);
});
`;
}
