// What must not be seen of a server's own entry: a server that is given a secret may say it back with its errors.
import {
  headerSecrets,
  isPlainHeader,
  isPlainPlace,
  isSecretName,
  isSecretVariable,
  KnownSecrets,
  looksLikeKey,
  mayBeSecret,
  optionValues,
} from "../../base/text/secrets.js";
import { isUrl } from "../../base/text/url.js";
import { settingsSecrets } from "../auth/port.js";
import { isRemote, type RemoteSpec, type ServerSpec, type StdioSpec } from "../spec.js";
import type { ConnectionOptions } from "./options.js";

/** What is given to it later, such as the token of a log-in, is learnt when it is given. */
export function entrySecrets(
  spec: ServerSpec,
  { secrets = [], oauth }: Pick<ConnectionOptions, "secrets" | "oauth">,
): KnownSecrets {
  const known = new KnownSecrets();
  known.learn(secrets.filter((value) => !isPlainPlace(value)));
  if (spec.kind === "stdio") known.learn(startedWith(spec));
  if (isRemote(spec)) known.learn(sentWith(spec));
  known.learn(settingsSecrets(oauth?.settings ?? {}));
  return known;
}

function startedWith({ env, args }: StdioSpec): readonly string[] {
  const variables = Object.entries(env).flatMap(([name, value]) =>
    isSecretName(name) || looksLikeKey(value) || isSecretVariable(name, value) ? [value] : [],
  );
  return [...variables, ...optionValues(args)];
}

function sentWith({ headers, auth, url }: RemoteSpec): readonly string[] {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    !isPlainHeader(name) && (isSecretName(name) || mayBeSecret(value)) ? headerSecrets(value) : [],
  );
  return [...given, ...(auth ? [auth.token] : []), ...inAddress(url)];
}

/** A password, and parameters that are called a secret or look like a key. */
function inAddress(url: string): readonly string[] {
  if (!isUrl(url)) return [];
  const { password, searchParams } = new URL(url);
  const parameters = [...searchParams].flatMap(([name, value]) =>
    isSecretName(name) || looksLikeKey(value) ? [value] : [],
  );
  return [password, ...parameters].map(decoded);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a lone percent sign
  }
}
