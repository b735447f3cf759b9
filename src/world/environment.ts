// The variables of this process, with the home the system knows where nobody set one.
import { userInfo } from "node:os";
import { isAbsolute } from "node:path";

type Variables = Readonly<Record<string, string | undefined>>;

/** A `HOME` that is empty or relative is no home: it would lie in whatever project is open. */
export function machineEnv(given: Variables = process.env, ask: () => string | undefined = systemHome): Variables {
  if (given["HOME"] !== undefined && isAbsolute(given["HOME"])) return { ...given };
  const home = ask();
  const { HOME: _unusable, ...rest } = given;
  return home === undefined ? rest : { ...rest, HOME: home };
}

/** By the user database; undefined for a user it does not know, as containers have them. */
function systemHome(): string | undefined {
  try {
    const { homedir } = userInfo();
    return isAbsolute(homedir) ? homedir : undefined;
  } catch {
    return undefined;
  }
}
