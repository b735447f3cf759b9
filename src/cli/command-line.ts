// Every command but a plain `tenon acp`: the table, on the real terminal.
import type { AcpOptions } from "./commands/acp.js";
import { realContext } from "./configuration/real-context.js";
import { EXIT, onUncaught } from "./exit.js";
import { TABLE } from "./table/commands.js";
import { runWords } from "./table/run.js";

/** `serve` is how `tenon acp` runs: the start of the program has it, and it must exist once. */
export async function runCommandLine(
  words: readonly string[],
  serve: (options: AcpOptions) => Promise<void>,
): Promise<void> {
  // Whoever read the output has seen enough; the exit code stays true. The ACP front looks after its own.
  if (words[0] !== "acp") {
    for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
    onUncaught((error) => {
      const details = process.env["TENON_LOG"] === "debug" ? (error.stack ?? error.message) : error.message;
      process.stderr.write(
        `tenon ${words[0] ?? ""}: internal error: ${details}\n  Report it with the output of TENON_LOG=debug.\n`,
      );
      process.exit(EXIT.failed);
    });
  }
  process.exitCode = await runWords(TABLE, words, () => ({ ...realContext(), serve }));
}
