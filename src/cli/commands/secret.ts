// `tenon secret` on the real terminal.
import { runSecret, type SecretValues, type SecretVerb } from "../configuration/secret.js";
import { secretContext } from "../configuration/secret-context.js";
import type { Run } from "../table/command.js";

export function runSecretCommand(verb: SecretVerb): Run<SecretValues> {
  return async (given, context) => await runSecret(verb, given, secretContext(context));
}
