// An entry as it may be shown anywhere: what looks like a secret is masked, references stay as they are.
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import {
  isSecretName as isCommonSecretName,
  isSecretVariable,
  looksSecret,
  SECRET_OPTION,
} from "../base/text/secret-patterns.js";
import { hasReferences } from "./template.js";

const MASK = "********";

/** Besides what is a secret everywhere: a session's id opens it. */
function isSecretName(name: string): boolean {
  return isCommonSecretName(name) || /session/iu.test(name);
}

const PASSWORD_IN_URL = /([a-z][a-z0-9+.-]*:\/\/[^\s/:@?#]*:)[^\s/@?#]+@/giu;

/** Whether a value of `env` or `headers`, by its name or its form, is or holds a secret that is written out. */
export function isSecretLiteral(name: string, value: string): boolean {
  return maskText(value, isSecretName(name) || isSecretVariable(name, value)) !== value;
}

/** At trust questions everything is shown instead: there the person must see what they approve. */
export function maskEntry(entry: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, maskField(key, value)]));
}

function maskField(key: string, value: JsonValue | undefined): JsonValue {
  if (value === undefined) return null;
  switch (key) {
    case "env":
    case "headers":
      return isJsonObject(value) ? maskNamed(value) : value;
    case "oauth":
      return maskLogin(value);
    case "auth":
      return maskKeys(value, ["token"]);
    case "args":
      return Array.isArray(value) ? maskArguments(value) : value;
    case "url":
      return typeof value === "string" ? maskUrl(value) : value;
    default:
      return value;
  }
}

function maskLogin(value: JsonValue): JsonValue {
  const masked = maskKeys(value, ["clientSecret", "assertion", "privateKey"]);
  if (!isJsonObject(masked) || masked["idp"] === undefined) return masked;
  return { ...masked, idp: maskKeys(masked["idp"], ["clientSecret", "idToken"]) };
}

function maskKeys(value: JsonValue, keys: readonly string[]): JsonValue {
  if (!isJsonObject(value)) return value;
  const pairs = keys.filter((key) => key in value).map((key) => [key, maskText(value[key], true)] as const);
  return { ...value, ...Object.fromEntries(pairs) };
}

function maskNamed(values: JsonObject): JsonObject {
  const pairs = Object.entries(values).map(([name, value]): [string, JsonValue] => [
    name,
    maskText(value, isSecretName(name)),
  ]);
  return Object.fromEntries(pairs);
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
