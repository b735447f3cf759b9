// `tenon secret` on the real terminal.
import { realContext } from "../configuration/real-context.js";
import { runSecret } from "../configuration/secret.js";
import { readSecretValue } from "../configuration/secret-input.js";
import { systemKeyring } from "../keyring.js";

export async function runSecretCommand(words: readonly string[]): Promise<void> {
  const context = realContext();
  const source = { input: process.stdin, isTerminal: process.stdin.isTTY === true, output: process.stderr };
  process.exitCode = await runSecret(words, {
    ...context,
    keyring: systemKeyring(context.world),
    readValue: (question) => readSecretValue(question, source),
  });
}
