// Values that must not be seen, and texts without them: in whichever form they are written there.
import { TenonError } from "../errors.js";
import { defined } from "../json/defined.js";
import { isJsonObject, type JsonValue } from "../json/json.js";

/** Shorter values stand in too many other words. */
const MIN_CHARS = 6;

/** Deeper than anything people write: what lies below is left out, since it was not looked at. */
const MAX_DEPTH = 64;

/** Settings are kept under names such as `AUTH_MODE` too. None of these words is a usable password. */
const COMMON: ReadonlySet<string> = new Set(
  [
    ["enabled", "disabled", "default", "required", "optional", "automatic", "manual", "system", "custom", "unknown"],
    ["production", "development", "staging", "testing", "sandbox", "localhost", "127.0.0.1", "0.0.0.0", "undefined"],
    ["bearer", "digest", "oauth2", "apikey", "api_key", "api-key", "client", "server", "public", "private", "session"],
    ["anonymous", "password", "keyring", "keychain", "postgres", "readonly", "read-only", "verbose", "warning"],
  ].flat(),
);

export class KnownSecrets {
  readonly #forms = new Set<string>();
  #pattern: RegExp | undefined;
  #longest = 0;

  /**
   * Short and common values are not learnt: without them texts would make no sense. Of a secret of several lines each
   * line is learnt as well: logs come line by line.
   */
  learn(values: Iterable<string>): void {
    for (const value of values) {
      this.#learn(value.trim());
      for (const part of secretParts(value)) this.#learn(part);
      for (const line of linesOf(value)) this.#learn(line);
    }
  }

  get size(): number {
    return this.#forms.size;
  }

  get longestChars(): number {
    return this.#longest;
  }

  /** The text without what is known. */
  takenFrom(text: string): string {
    const pattern = this.#knownPattern();
    return pattern === undefined ? text : text.replaceAll(pattern, REDACTED);
  }

  /** As people and models may be given it: also without texts that have the form of a key. */
  clean(text: string): string {
    return without(EVERYWHERE, this.takenFrom(text));
  }

  /** Every text in it; the very same where there is nothing to take out. */
  takenFromAll(value: JsonValue): JsonValue {
    return inAll(value, (text) => this.takenFrom(text));
  }

  /** The same, also without what is a key by its form. */
  cleanAll(value: JsonValue): JsonValue {
    return inAll(value, (text) => this.clean(text));
  }

  /** The very same where it says nothing of them. */
  cleanError(error: TenonError): TenonError {
    const message = this.clean(error.message);
    const hint = this.clean(error.hint);
    const cause = this.#cleanCause(error.cause);
    if (message === error.message && hint === error.hint && cause === error.cause) return error;
    const { code, retryAfterMs, refusedTools } = error;
    return new TenonError(code, message, {
      hint,
      refusedTools,
      ...defined({ cause, retryAfterMs }),
    });
  }

  /** A cause whose message holds a secret is left out: its text is part of the new message. */
  #cleanCause(cause: unknown): unknown {
    if (cause instanceof TenonError) return this.cleanError(cause);
    return cause instanceof Error && this.clean(cause.message) !== cause.message ? undefined : cause;
  }

  #learn(value: string): void {
    const isTelling = value.length >= MIN_CHARS && !COMMON.has(value.toLowerCase()) && !REDACTED.includes(value);
    if (!isTelling || this.#forms.has(value)) return;
    for (const form of formsOf(value)) {
      this.#forms.add(form);
      this.#longest = Math.max(this.#longest, form.length);
    }
    this.#pattern = undefined;
  }

  /** Put together when it is next needed: values come in dozens. The longest first: one may be a part of another. */
  #knownPattern(): RegExp | undefined {
    if (this.#pattern !== undefined || this.#forms.size === 0) return this.#pattern;
    const longestFirst = [...this.#forms].sort((one, other) => other.length - one.length);
    this.#pattern = new RegExp(longestFirst.map((known) => escaped(known)).join("|"), "gu");
    return this.#pattern;
  }
}

function inAll(value: JsonValue, edit: (text: string) => string, depth = 0): JsonValue {
  if (typeof value === "string") return edit(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return null;
  if (!isJsonObject(value)) {
    const items = value.map((item) => inAll(item, edit, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const fields = Object.entries(value).map(
    ([key, field]) => [key, field === undefined ? undefined : inAll(field, edit, depth + 1)] as const,
  );
  return fields.every(([key, field]) => field === value[key]) ? value : Object.fromEntries(fields);
}

/** More lines than a key has: a longer value is a document. */
const MAX_LINES = 400;

/** The lines of a secret that tell something: one word of some length, or a sentence. Not the borders of a PEM block. */
function linesOf(value: string): readonly string[] {
  if (!/[\r\n]/u.test(value)) return [];
  return value
    .split(/[\r\n]+/u, MAX_LINES)
    .map((line) => line.trim())
    .filter((line) => line.length >= (/\s/u.test(line) ? 16 : 8) && !/^-----(?:BEGIN|END) /u.test(line));
}

/** What a command line gives its options of secrets, behind `=` or as the next word. */
export function optionValues(words: readonly unknown[]): readonly string[] {
  return words.flatMap((word, index) => {
    const option = typeof word === "string" ? SECRET_OPTION.exec(word)?.[0] : undefined;
    if (option === undefined || typeof word !== "string") return [];
    const value: unknown = option.endsWith("=") ? word.slice(option.length) : words[index + 1];
    return typeof value === "string" && !value.startsWith("-") ? [value] : [];
  });
}

/** The value of a header, and the same without the scheme before it. */
export function headerSecrets(value: string): readonly string[] {
  return [value, value.replace(/^(?:Bearer|Basic|Token|DPoP)\s+/iu, "")];
}

/** The ways a value is written inside other texts: JSON within JSON, addresses, basic authentication. */
function formsOf(value: string): readonly string[] {
  const quoted = withEscapes(value);
  const twice = withEscapes(quoted);
  const base64 = Buffer.from(value).toString("base64").replaceAll("=", "");
  // A lone half of a surrogate pair cannot be written into an address: the bytes have none.
  const inUri = encodeURIComponent(Buffer.from(value).toString());
  return [value, quoted, twice, withEscapes(twice), inUri, base64];
}

function withEscapes(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, (sign) => `\\${sign}`);
}

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
  return (
    SECRET_KEYS.has(key.toLowerCase().replaceAll(/[-_\s]/gu, "")) ||
    (isPasswordName(key) && key.toLowerCase() !== "pass")
  );
}

/** Names of variables and headers that promise a secret. Here a word too many does no harm. */
const SECRET_NAME =
  /key|token|secret|credential|auth|cookie|signature|private|bearer|dsn|(?:^|[-_])(?:pat|pin)(?:$|[-_])/iu;

/** `PWD` is where one stands, not a password. */
const PLACE_NAME = /^(?:OLD)?PWD$/u;

export function isSecretName(name: string): boolean {
  return (SECRET_NAME.test(name) && !PLACE_NAME.test(name)) || isPasswordName(name);
}

/** `PGPASSWORD`, `DB_PASS`, `SSHPASS`, `KEY_PASSPHRASE`, `MYSQL_PWD`, `dbPass`; not `GIT_ASKPASS`, `PROXY_BYPASS`, `PWD`. */
const PASSWORD_NAME =
  /passw(?:or)?d|passphrase|passcode|(?<![a-z])(?:[a-z]{0,20}(?<!ask|by|com|sur|tres|under|over))pass(?![a-z])|(?<![a-z])(?:pwd|pw)(?![a-z])/iu;

function isPasswordName(name: string): boolean {
  return !PLACE_NAME.test(name) && PASSWORD_NAME.test(inWords(name));
}

/** `dbPass` and `DBPass` as `db_Pass` and `DB_Pass`. */
function inWords(name: string): string {
  return name.replaceAll(/([a-z0-9])(?=[A-Z])/gu, "$1_");
}

/** Whole words of a name that promise a secret, and words that are one even inside others. */
const STRONG_NAME =
  /secret|credential|api_?key|access_?key|private_?key|signing_?key|encryption_?key|auth_?token|access_?token|connection_?string|webhook|(?<![a-z])sas(?![a-z])|(?:bw|op)_session|[a-z](?:tokens?|apikey)(?![a-z])|(?<![a-z])(?:keys?|tokens?|auth|bearer|cookies?|dsn|pat|jwt|pin)(?![a-z])/iu;

/** Where a secret lies is none: `SSH_AUTH_SOCK`, `GOOGLE_APPLICATION_CREDENTIALS_FILE`, `PASSWORD_STORE_DIR`. */
const PLACE_OF_SECRET = /(?:_(?:sock|socket|file|path|dir|home|agent_info|program|helper)|askpass|authority)$/iu;

/** A switch or a small number: `MAX_TOKENS=4096`, `USE_AUTH=true`. No password is one of these, but a PIN is. */
const SWITCH_VALUE = /^(?:\d{1,7}|true|false|yes|no|on|off|none|auto)?$/iu;

/** What programs need in order to run at all. */
const ESSENTIAL_NAME =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TERM|TMPDIR|TEMP|TMP|TZ|PWD|OLDPWD|HOSTNAME)$/u;

/**
 * The strong detector, by name and value together: whether a variable of the environment is a secret that commands and
 * logs must not have. Paths to secrets, switches and the variables every program needs are none.
 */
export function isSecretVariable(name: string, value: string): boolean {
  if (value === "" || ESSENTIAL_NAME.test(name)) return false;
  if (secretParts(value).length > 0 || without(KEY_FORMS, value) !== value) return true;
  if (PLACE_OF_SECRET.test(name)) return false;
  if (isPasswordName(name)) return true;
  const words = inWords(name);
  // Where a secret lies, in a variable that is named after it: `GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json`.
  if (/credentials$/iu.test(name) && /^(?:~|[A-Za-z]:)?[/\\][^\s;,]{1,300}$/u.test(value)) return false;
  return STRONG_NAME.test(words) && (!SWITCH_VALUE.test(value) || /(?<![a-z])pin(?![a-z])/iu.test(words));
}

/** The password of `scheme://name:password@host`. */
const URL_PASSWORD = /:\/\/[^/\s:@]{0,200}:([^/\s@]{1,2000})@/gu;
/** A password or key among the settings of a connection string: `Server=x;Password=y`, `host=x password=y`. */
const SETTING_PASSWORD =
  /(?:^|[;\s&?])(?:password|pwd|passwd|accountkey|sharedaccesskey|sharedaccesssignature)\s{0,4}=\s{0,4}("[^"]{1,500}"|'[^']{1,500}'|[^;\s&]{1,2000})/giu;

/** Passwords inside an address or a connection string: programs print them without the rest. */
export function secretParts(value: string): readonly string[] {
  const inUrls = value.includes("://") ? [...value.matchAll(URL_PASSWORD)] : [];
  const inSettings = value.includes("=") ? [...value.matchAll(SETTING_PASSWORD)] : [];
  return [...inUrls, ...inSettings].flatMap(([, part = ""]) => [part.replaceAll(/^["']|["']$/gu, "")]);
}

/** Headers whose values are worth seeing and tell nothing; every other value is left out. */
const PLAIN_HEADER =
  /^(?:accept|accept-encoding|content-type|content-length|content-encoding|user-agent|date|retry-after|anthropic-(?:version|beta)|openai-(?:version|processing-ms)|x-request-id|request-id|mcp-(?:protocol-version|method|name)|(?:x-|anthropic-)ratelimit-.*)$/iu;

export function isPlainHeader(name: string): boolean {
  return PLAIN_HEADER.test(name);
}

/** An option of a command whose value, behind `=` or as the next word, is a secret. */
export const SECRET_OPTION: RegExp =
  /^--?[A-Za-z-]{0,40}(?:key|token|secret|pass(?!ive|through|ed)|pwd|credential|auth(?!or))[A-Za-z-]{0,40}(?:=|$)/iu;

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
  /** A key by itself, whatever stands around it. */
  readonly isKey?: true;
  readonly pattern: RegExp;
  /** Without this in it, a text need not be looked at closely. */
  readonly needs: string | RegExp;
  readonly put: string;
}

/** The text may be hostile: none of these patterns may backtrack. */
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
    isKey: true,
    needs: /b(?:earer|asic)\s/iu,
    pattern: /\b(Bearer|Basic)\s{1,8}(?=[^\s\d]{0,200}\d)[A-Za-z0-9._~+/=-]{8,}/giu,
    put: `$1 ${REDACTED}`,
  },
  {
    isKey: true,
    needs:
      /[spr]k[-_]|gh[posur]_|github_pat_|gl[a-z]{2,5}-|xox|xapp-|A[KS]IA|AIza|ya29|GOCSPX-|eyJ|npm_|pypi-|hf_|dop_v1_|SG\.|whsec_|shp[a-z]{2}_|dckr_pat_|hvs\.|gsk_|xai-|nvapi-|AGE-SECRET-KEY-/u,
    pattern:
      /\b(?:(?:sk|pk|rk)-[\w-]{16,}|(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{20,}|xapp-[\w-]{16,}|GOCSPX-[\w-]{20,}|pypi-[\w-]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dckr_pat_[\w-]{20,}|hvs\.[\w-]{20,}|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}|nvapi-[\w-]{30,}|AGE-SECRET-KEY-1[A-Z0-9]{40,}|gl(?:ptt|dt|soat|rt|cbt|ft)-[\w-]{16,}|gh[posur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|A[KS]IA[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{20,}|dop_v1_[a-f0-9]{32,})/gu,
    put: REDACTED,
  },
  {
    isKey: true,
    needs: "PRIVATE KEY",
    pattern:
      /(?:-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?|^(?:[\w+/=]{1,100}\s{1,8}){1,400})(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/gu,
    put: REDACTED,
  },
];

/** For what people are to act on: the parameters of addresses stay. */
const EVERYWHERE: readonly Form[] = FORMS.filter(({ isOfAddresses }) => isOfAddresses !== true);
const KEY_FORMS: readonly Form[] = FORMS.filter(({ isKey }) => isKey === true);

/** Takes out what has the form of a secret: passwords in URLs, bearer tokens, the keys of well-known services. */
export function withoutForms(text: string): string {
  return without(FORMS, text);
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

const KEY_BEGINS = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/u;
const KEY_ENDS = /-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/u;
/** More lines than a private key has: a border that never closes hides no more than this. */
const KEY_MAX_LINES = 400;

/** Private keys in a text that comes line by line: each line between the borders is taken out. */
export class KeyLines {
  #left = 0;

  /** The line as it may be shown. */
  pass(line: string): string {
    if (this.#left > 0) {
      const end = KEY_ENDS.exec(line);
      this.#left = end ? 0 : this.#left - 1;
      return end ? `${REDACTED}${line.slice(end.index + end[0].length)}` : REDACTED;
    }
    const begin = KEY_BEGINS.exec(line);
    if (!begin) return line;
    if (!KEY_ENDS.test(line.slice(begin.index))) this.#left = KEY_MAX_LINES;
    return line; // its own form is taken out with all others
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
