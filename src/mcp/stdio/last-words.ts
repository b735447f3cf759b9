// The end of a server's stderr as it may be quoted: to people, to the model, in the journal. The secrets it was started with are taken out.
import type { SpawnRequest } from "../../base/world.js";

const REDACTED = "[redacted]";

/** Shorter values stand in too many other words. */
const MIN_CHARS = 6;

const SECRET_NAME =
  /key|token|secret|passw|credential|auth|cookie|signature|private|bearer|dsn|(?:^|[-_])(?:pat|pin)(?:$|[-_])/iu;

const SECRET_OPTION = /^--?[A-Za-z-]{0,40}(?:key|token|secret|passw|credential|auth)[A-Za-z-]{0,40}(=|$)/iu;

/** Long, of letters and digits, and no path: what a key looks like whatever its variable is called. */
const SECRET_VALUE = /^(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[\w+=.-]{20,}$/u;

export function lastWords(text: string, { args, env }: Pick<SpawnRequest, "args" | "env">): string {
  if (text === "") return text;
  const values = [...fromVariables(env), ...fromOptions(args)].filter((value) => value.length >= MIN_CHARS);
  return (
    values
      // A secret may be a part of another.
      .sort((one, other) => other.length - one.length)
      .reduce((said, value) => said.replaceAll(value, REDACTED), text)
      .replaceAll(/(\/\/[^\s/:@]{0,200}:)[^\s/@]{1,500}@/gu, `$1${REDACTED}@`)
  );
}

function fromVariables(env: SpawnRequest["env"]): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) || SECRET_VALUE.test(value) ? [value] : [],
  );
}

function fromOptions(args: readonly string[]): readonly string[] {
  return args.flatMap((word, index) => {
    const [option, sign] = SECRET_OPTION.exec(word) ?? [];
    if (option === undefined) return [];
    return [sign === "=" ? word.slice(option.length) : (args[index + 1] ?? "")];
  });
}
