// The keyring and the hidden input of the real terminal, for commands about secrets.
import { systemKeyring } from "../keyring.js";
import type { CommandContext } from "./context.js";
import type { SecretContext } from "./secret.js";
import { readSecretValue } from "./secret-input.js";

export function secretContext(context: CommandContext): SecretContext {
  const source = { input: process.stdin, isTerminal: process.stdin.isTTY === true, output: process.stderr };
  return {
    ...context,
    keyring: context.keyring ?? systemKeyring(context.world),
    readValue: context.readValue ?? ((question) => readSecretValue(question, source)),
  };
}
