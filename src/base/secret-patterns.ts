// What a secret looks like: by the name it is kept under, and by its own form wherever it stands in a text.

export const REDACTED = "[redacted]";

/** Names whose values are secrets, without case, dashes and underscores. Exact: `max_tokens` and `nextToken` are none. */
const SECRET_KEYS: ReadonlySet<string> = new Set(
  [
    ["authorization", "proxyauthorization", "auth", "cookie", "cookies", "setcookie", "credential", "credentials"],
    ["apikey", "xapikey", "xgoogapikey", "apitoken", "xapitoken", "xauthtoken", "token", "accesstoken", "idtoken"],
    ["refreshtoken", "bearertoken", "authtoken", "sessiontoken", "securitytoken", "secret", "clientsecret"],
    ["secretkey", "secretaccesskey", "awssecretaccesskey", "privatekey", "password", "passwd", "passphrase", "pwd"],
    ["codeverifier", "assertion", "clientassertion", "connectionstring", "secrets"],
  ].flat(),
);

export function isSecretKey(key: string): boolean {
  return SECRET_KEYS.has(key.toLowerCase().replaceAll(/[-_\s]/gu, ""));
}

/** Names of variables and headers that promise a secret. Here a word too many does no harm. */
const SECRET_NAME =
  /key|token|secret|passw|credential|auth|cookie|signature|private|bearer|dsn|(?:^|[-_])(?:pat|pwd|pin)(?:$|[-_])/iu;

/** `PWD` is where one stands, not a password. */
const PLACE_NAME = /^(?:OLD)?PWD$/u;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !PLACE_NAME.test(name);
}

/** Headers whose values are worth seeing and tell nothing; every other value is left out. */
const PLAIN_HEADER =
  /^(?:accept|accept-encoding|content-type|content-length|content-encoding|user-agent|date|retry-after|anthropic-(?:version|beta)|openai-(?:version|processing-ms)|x-request-id|request-id|mcp-(?:protocol-version|method|name)|(?:x-|anthropic-)ratelimit-.*)$/iu;

export function isPlainHeader(name: string): boolean {
  return PLAIN_HEADER.test(name);
}

/** An option of a command whose value, behind `=` or as the next word, is a secret. */
export const SECRET_OPTION: RegExp =
  /^--?[A-Za-z-]{0,40}(?:key|token|secret|passw|credential|auth)[A-Za-z-]{0,40}(?:=|$)/iu;

/** Keys whose value maps names that people chose to schemas: `password` in there is the name of an argument. */
export const NAME_MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);

interface Form {
  /** Addresses that people are sent to have such parts too, and lead nowhere without them. */
  readonly isOfAddresses?: true;
  readonly pattern: RegExp;
  /** Without this in it, a text need not be looked at closely. */
  readonly needs: string | RegExp;
  readonly put: string;
}

/** Whoever wrote the text may mean harm: none of these may look at the same letters again and again. */
const FORMS: readonly Form[] = [
  { needs: "://", pattern: /([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@?#"'<>\\]{1,2000}@/giu, put: `$1${REDACTED}@` },
  {
    isOfAddresses: true,
    needs: "=",
    pattern:
      /([?&;](?:[\w.-]{0,64}[_.-])?(?:access_?token|id_?token|token|api_?key|key|secret|password|passwd|pwd|auth|authorization|signature|sig|credential|code|jwt)=)[^&#\s"'<>\\]+/giu,
    put: `$1${REDACTED}`,
  },
  {
    needs: /b(?:earer|asic)\s/iu,
    pattern: /\b(Bearer|Basic)\s{1,8}(?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/=-]{8,}/giu,
    put: `$1 ${REDACTED}`,
  },
  {
    needs: /sk-|pk-|rk-|gh[posur]_|github_pat_|glpat-|xox|A[KS]IA|AIza|ya29|eyJ|npm_|hf_|dop_v1_/u,
    pattern:
      /\b(?:(?:sk|pk|rk)-[\w-]{16,}|gh[posur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|A[KS]IA[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|dop_v1_[a-f0-9]{32,})/gu,
    put: REDACTED,
  },
  {
    needs: "PRIVATE KEY-----",
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/gu,
    put: REDACTED,
  },
];

const EVERYWHERE: readonly Form[] = FORMS.filter(({ isOfAddresses }) => isOfAddresses !== true);

/** Takes out what has the form of a secret: passwords in URLs, bearer tokens, the keys of well-known services. */
export function withoutForms(text: string): string {
  return without(FORMS, text);
}

/** The same for what people are to act on: the parameters of addresses stay. */
export function withoutKeys(text: string): string {
  return without(EVERYWHERE, text);
}

function without(forms: readonly Form[], text: string): string {
  let clean = text;
  for (const { needs, pattern, put } of forms) {
    const mayBeThere = typeof needs === "string" ? clean.includes(needs) : needs.test(clean);
    if (mayBeThere) clean = replaced(clean, pattern, put);
  }
  return clean;
}

/** Nothing is left of a text that is too much for V8: one word of megabytes is no sentence, and may be anything. */
function replaced(text: string, pattern: RegExp, put: string): string {
  try {
    return text.replaceAll(pattern, put);
  } catch (thrown) {
    if (thrown instanceof RangeError) return REDACTED;
    throw thrown;
  }
}

export function looksSecret(value: string): boolean {
  return withoutForms(value) !== value;
}

/** Long, of letters and digits, and no path: what a key looks like whatever its variable is called. */
const KEY_VALUE = /^(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[\w+=.-]{20,}$/u;

/** Stricter than `mayBeSecret`, for words that a model or a person has to act on: the name of a region is none. */
export function looksLikeKey(value: string): boolean {
  return KEY_VALUE.test(value) || looksSecret(value);
}

/**
 * Whether the value of a variable may be a secret although its name does not say so. Settings people would miss are not:
 * words, numbers, versions, dates, paths and plain addresses.
 */
export function mayBeSecret(value: string): boolean {
  if (value.length < 8 || isPlace(value)) return looksSecret(value);
  return !/^(?:[a-z]+(?:[-_ ][a-z]+)*|v?[\d.:]+|\d{4}-\d\d-\d\d)$/iu.test(value);
}

/** A path or an address, as its beginning says. */
function isPlace(value: string): boolean {
  return /^(?:\/|~|\.{1,2}[\\/]|[A-Za-z]:[\\/]|[a-z]+:\/\/)/u.test(value);
}

/** A path or an address with no secret in it: without it, words about files and servers would make no sense. */
export function isPlainPlace(value: string): boolean {
  return isPlace(value) && !looksSecret(value);
}
