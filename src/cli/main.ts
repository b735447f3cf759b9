// The `tenon` command. Only what a plain `tenon acp` (or with --gateway) needs to answer `initialize` is imported here; the rest loads on demand.
import { VERSION } from "../base/version.js";
import { runAcp } from "./commands/acp/acp.js";

async function main(words: readonly string[]): Promise<void> {
  const [verb, ...rest] = words;
  if (verb === "acp" && rest.length === 0) return runAcp({});
  if (verb === "acp" && rest.length === 1 && rest[0] === "--gateway") return runAcp({ gateway: {} });
  if (verb === "--version" || verb === "-v") {
    process.stdout.write(`${VERSION}\n`);
    return;
  }
  const { runCommandLine } = await import("./run.js");
  // Clients that replace the words of the agent by those of its terminal log-in, instead of appending them, run this.
  return await runCommandLine(verb === "--setup" ? ["acp", ...words] : words, runAcp);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`tenon: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
