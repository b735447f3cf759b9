// `tenon acp --setup` on the real terminal: the log-in that editors offer to run.
import { realContext } from "../configuration/real-context.js";
import { readSecretValue } from "../configuration/secret-input.js";
import { runSetup } from "../configuration/setup.js";
import { systemKeyring } from "../keyring.js";

export async function runSetupCommand(): Promise<void> {
  const context = realContext();
  const source = { input: process.stdin, isTerminal: process.stdin.isTTY === true, output: process.stderr };
  process.exitCode = await runSetup({
    ...context,
    keyring: systemKeyring(context.world),
    readValue: (question) => readSecretValue(question, source),
  });
}
