// Reads `WWW-Authenticate`: which scheme a server wants, and what it says about how to get in.

export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Where the protected resource describes itself. Only text: whoever follows it checks it first. */
  readonly resourceMetadata?: string;
  readonly scope?: string;
  readonly error?: string;
  readonly errorDescription?: string;
}

/** A name with a value, or a scheme (or something else without a value), and the commas before it. */
const PIECE = /[\s,]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"|([^\s,"=][^\s,"]*)))?/uy;

/** The bearer challenge where there are several; undefined when there is none at all. */
export function readChallenge(header: string | undefined): Challenge | undefined {
  const challenges = parse(header ?? "");
  const bearer = challenges.find(({ scheme, parameters }) => scheme === "bearer" && parameters.size > 0);
  const found = bearer ?? challenges.find(({ scheme }) => scheme === "bearer") ?? challenges[0];
  if (!found) return undefined;
  const { scheme, parameters } = found;
  return {
    scheme,
    ...named("resourceMetadata", parameters.get("resource_metadata")),
    ...named("scope", parameters.get("scope")),
    ...named("error", parameters.get("error")),
    ...named("errorDescription", parameters.get("error_description")),
  };
}

interface Parsed {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

function parse(header: string): readonly Parsed[] {
  const found: Parsed[] = [];
  let at = 0;
  while (at < header.length) {
    PIECE.lastIndex = at;
    const match = PIECE.exec(header);
    if (!match) {
      at = afterComma(header, at);
      continue;
    }
    at = PIECE.lastIndex;
    const [, name = "", quoted, plain] = match;
    const value = quoted === undefined ? plain : quoted.replace(/\\([^])/gu, "$1");
    const current = found.at(-1);
    if (value === undefined) found.push({ scheme: name.toLowerCase(), parameters: new Map() });
    // The first word counts: a parameter given twice is a mistake, or an attempt.
    else if (current && !current.parameters.has(name.toLowerCase())) current.parameters.set(name.toLowerCase(), value);
  }
  return found;
}

/** What cannot be read (a `token68`, a lone quote) is passed over up to the next comma. */
function afterComma(header: string, from: number): number {
  const comma = header.indexOf(",", from);
  return comma === -1 ? header.length : comma + 1;
}

function named<Name extends string>(name: Name, value: string | undefined): { readonly [Key in Name]?: string } {
  const known: { [Key in Name]?: string } = {};
  if (value !== undefined && value !== "") known[name] = value;
  return known;
}
