// An entry as it may be shown anywhere: what looks like a secret is masked, references stay as they are.

import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import {
  isSecretName as isCommonSecretName,
  isSecretVariable,
  looksSecret,
  SECRET_OPTION,
} from "../../base/text/secrets.js";
import { hasReferences, parseTemplate } from "../layers/read-entry.js";

const MASK = "********";

/** Besides what is a secret everywhere: a session's id opens it. */
function isSecretName(name: string): boolean {
  return isCommonSecretName(name) || /session/iu.test(name);
}

const PASSWORD_IN_URL = /([a-z][a-z0-9+.-]*:\/\/[^\s/:@?#]*:)[^\s/@?#]+@/giu;

/** Whether a value of `env` or `headers`, by its name or its form, is or holds a secret that is written out. */
function isSecretLiteral(name: string, value: string): boolean {
  return maskText(value, isSecretName(name) || isSecretVariable(name, value)) !== value;
}

/** How the value of each key of an entry is shown that may hold a secret. */
const MASKS: Readonly<Record<string, (value: JsonValue) => JsonValue>> = {
  env: maskNamed,
  headers: maskNamed,
  oauth: (value) => {
    const masked = maskKeys(value, ["clientSecret", "assertion", "privateKey"]);
    if (!isJsonObject(masked) || masked["idp"] === undefined) return masked;
    return { ...masked, idp: maskKeys(masked["idp"], ["clientSecret", "idToken"]) };
  },
  auth: (value) => maskKeys(value, ["token"]),
  args: (value) => (Array.isArray(value) ? maskArguments(value) : value),
  url: (value) => (typeof value === "string" ? maskUrl(value) : value),
};

/** At trust questions everything is shown instead: there the person must see what they approve. */
export function maskEntry(entry: JsonObject): JsonObject {
  const mask = (key: string, value: JsonValue = null) =>
    Object.hasOwn(MASKS, key) ? (MASKS[key]?.(value) ?? null) : value;
  return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, mask(key, value)]));
}

function maskKeys(value: JsonValue, keys: readonly string[]): JsonValue {
  if (!isJsonObject(value)) return value;
  const pairs = keys.filter((key) => key in value).map((key) => [key, maskText(value[key], true)] as const);
  return { ...value, ...Object.fromEntries(pairs) };
}

function maskNamed(values: JsonValue): JsonValue {
  if (!isJsonObject(values)) return values;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, maskText(value, isSecretName(name))]));
}

function maskArguments(words: readonly JsonValue[]): readonly JsonValue[] {
  return words.map((word, index) => {
    if (typeof word !== "string") return word;
    const option = SECRET_OPTION.exec(word);
    if (option?.[0].endsWith("=") === true) {
      const value = word.slice(option[0].length);
      return hasReferences(value) || value === "" ? word : `${option[0]}${MASK}`;
    }
    const before = words[index - 1];
    const isValue = typeof before === "string" && SECRET_OPTION.exec(before)?.[0] === before && !before.includes("=");
    return maskText(word, isValue && !word.startsWith("-"));
  });
}

function maskUrl(url: string): string {
  return url
    .replace(/^([a-z]+:\/\/)[^/@?#]*@/iu, `$1${MASK}@`)
    .replaceAll(/([?&][^=&#]*=)([^&#]*)/gu, (whole, name: string, value: string) =>
      hasReferences(value) || !(isSecretName(name) || looksSecret(value)) ? whole : `${name}${MASK}`,
    );
}

function maskText(value: JsonValue | undefined, isSecret: boolean): JsonValue {
  if (typeof value !== "string") return value ?? null;
  // `!!` is how a plain `!` begins.
  const isReference = hasReferences(value) || /^(?:!(?!!)|keyring:)/u.test(value);
  if (isReference || value === "") return value;
  // `postgres://name:password@host` is a secret in the middle of what is none.
  const rest = value.replaceAll(PASSWORD_IN_URL, `$1${MASK}@`);
  return isSecret || isSecretVariable("", rest.replaceAll(`:${MASK}@`, "@")) ? MASK : rest;
}

// Secrets that stand in an entry as they are, and the same entry with references in their place.

/** `file` leaves them where they are. */
export type SecretWay = "file" | "keyring" | "env";

export interface SecretLiteral {
  readonly key: "env" | "headers" | "auth";
  readonly name: string;
  readonly value: string;
  /** The variable that could hold it. */
  readonly variable: string;
  /** The entry of the keyring that could. */
  readonly account: string;
  /** What stands before it: a scheme such as `Bearer `. */
  readonly before: string;
}

export function secretLiterals(server: string, entry: JsonObject): readonly SecretLiteral[] {
  const { env, headers, auth } = entry;
  const found = (key: "env" | "headers", values: JsonValue | undefined) =>
    Object.entries(isJsonObject(values) ? values : {}).flatMap(([name, value]): SecretLiteral[] =>
      typeof value === "string" && isSecretLiteral(name, value) ? [literalOf(server, key, name, value)] : [],
    );
  const token = isJsonObject(auth) ? auth["token"] : undefined;
  const bearer = typeof token === "string" && isSecretLiteral("token", token);
  return [
    ...found("env", env),
    ...found("headers", headers),
    ...(bearer ? [literalOf(server, "auth", "token", token)] : []),
  ];
}

/** Whether words of the command or the address look like secrets: there no reference can be put by itself. */
export function hasSecretWords(entry: JsonObject): boolean {
  const masked = maskEntry(entry);
  return ["args", "url"].some((key) => JSON.stringify(masked[key]) !== JSON.stringify(entry[key]));
}

function literalOf(server: string, key: SecretLiteral["key"], name: string, written: string): SecretLiteral {
  const value = parseTemplate(written, { mayBeSecret: true })
    .map((part) => (part.kind === "text" ? part.text : part.written))
    .join("");
  const [before = ""] = (key === "headers" ? /^(?:Bearer|Basic|Token) +/iu.exec(value) : undefined) ?? [];
  const variable = key === "env" ? name : `${server}_${name}`;
  return {
    key,
    name,
    value: value.slice(before.length),
    variable: variable
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/gu, "_")
      .replace(/^(?=[0-9])/u, "_"),
    account: `${server}/${name}`.replaceAll(/[^\w.@/:-]+/gu, "-"),
    before,
  };
}

export interface Referenced {
  readonly entry: JsonObject;
  /** What the keyring must hold for it. */
  readonly kept: readonly { readonly account: string; readonly value: string }[];
}

/** A bearer token in a header becomes `auth`: the keyring stands for a value as a whole only. */
export function withReferences(server: string, entry: JsonObject, way: SecretWay): Referenced {
  if (way === "file") return { entry, kept: [] };
  return secretLiterals(server, entry).reduce<Referenced>(
    (changed, literal) => {
      if (way === "keyring") return inKeyring(changed, literal);
      const { key, name, before, variable } = literal;
      return { ...changed, entry: replaced(changed.entry, key, name, `${before}\${${variable}}`) };
    },
    { entry, kept: [] },
  );
}

function inKeyring({ entry, kept }: Referenced, literal: SecretLiteral): Referenced {
  const { key, name, before, value, account } = literal;
  const reference = `keyring:${account}`;
  const isBearer = key === "headers" && name.toLowerCase() === "authorization" && /^bearer /iu.test(before);
  if (!isBearer || entry["auth"] !== undefined) {
    return {
      entry: replaced(entry, key, name, reference),
      kept: [...kept, { account, value: `${before}${value}` }],
    };
  }
  const { headers, ...rest } = entry;
  const others = Object.entries(isJsonObject(headers) ? headers : {}).filter(([one]) => one !== name);
  return {
    entry: {
      ...rest,
      ...defined({ headers: others.length === 0 ? undefined : Object.fromEntries(others) }),
      auth: { type: "bearer", token: reference },
    },
    kept: [...kept, { account, value }],
  };
}

function replaced(entry: JsonObject, key: SecretLiteral["key"], name: string, text: string): JsonObject {
  const values = entry[key];
  return { ...entry, [key]: { ...(isJsonObject(values) ? values : {}), [name]: text } };
}
