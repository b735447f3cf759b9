// Every command but a plain `tenon acp`: the table, on the real terminal.
import type { AcpOptions } from "./commands/acp.js";
import { realContext } from "./configuration/real-context.js";
import { TABLE } from "./table/commands.js";
import { runWords } from "./table/run.js";

/** `serve` is how `tenon acp` runs: the start of the program has it, and it must exist once. */
export async function runCommandLine(
  words: readonly string[],
  serve: (options: AcpOptions) => Promise<void>,
): Promise<void> {
  // Whoever read the output has seen enough; the exit code stays true. The ACP front looks after its own.
  if (words[0] !== "acp") process.stdout.on("error", () => {});
  process.exitCode = await runWords(TABLE, words, () => ({ ...realContext(), serve }));
}
