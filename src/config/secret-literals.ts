// Secrets that stand in an entry as they are, and the same entry with references in their place.
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { isSecretLiteral, maskEntry } from "./mask.js";
import { parseTemplate } from "./template.js";

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
    (changed, literal) => (way === "env" ? inVariable(changed, literal) : inKeyring(changed, literal)),
    { entry, kept: [] },
  );
}

function inVariable({ entry, kept }: Referenced, { key, name, before, variable }: SecretLiteral): Referenced {
  return { entry: replaced(entry, key, name, `${before}\${${variable}}`), kept };
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
