// A merged entry, interpolated, as what the MCP room takes: the spec of a server and the settings of its connection.

import { checkUrl } from "../base/io/net-policy.js";
import { defined } from "../base/json/defined.js";
import { normaliseKind } from "../base/server-kind.js";
import type { IdentityProvider, OAuthSettings, ServerSpec } from "../mcp/index.js";
import {
  type IdentityProviderEntry,
  isRemoteEntry,
  type OAuthEntry,
  type RemoteEntry,
  type StdioEntry,
} from "./entry.js";
import { type InterpolationSource, interpolate, isMissing, type Missing, type TextToFill } from "./interpolate.js";
import type { LayerServer, WrittenServer } from "./layer.js";
import type { ApprovedProgram } from "./project-trust.js";
import { isWebAddress } from "./read-entry.js";
import { type LayerRules, type ServerSettings, settingsOf } from "./settings.js";
import type { KeyPath } from "./text-tree.js";

export type SpecResult =
  | { readonly kind: "ready"; readonly spec: ServerSpec; readonly settings: ServerSettings }
  | Missing
  | { readonly kind: "refused"; readonly reason: string };

/** The spec of an entry. `program` is what was approved of a project's: its path replaces the entry's command. */
export async function toSpec(
  server: LayerServer<WrittenServer>,
  rules: LayerRules,
  source: InterpolationSource,
  program?: ApprovedProgram,
): Promise<SpecResult> {
  const { entry } = server.definition;
  const filler = new Filler(server.definition, source);
  const [spec, oauth] = await Promise.all([
    isRemoteEntry(entry) ? remoteSpec(server.name, entry, filler) : stdioSpec(server.name, entry, filler, program),
    isRemoteEntry(entry) && entry.oauth ? oauthSettings(entry.oauth, filler) : undefined,
  ]);
  // The one that must be corrected comes before the one that only takes time.
  const failed = filler.missing.find(({ kind }) => kind === "missing") ?? filler.missing[0];
  if (failed) return failed;
  const settings = {
    ...settingsOf(entry, server.place.layer, rules, filler.secrets),
    ...defined({ oauth }),
  };
  const refusal = "url" in spec ? urlRefusal(spec.url, settings) : undefined;
  return refusal === undefined ? { kind: "ready", spec, settings } : { kind: "refused", reason: refusal };
}

class Filler {
  readonly missing: Missing[] = [];
  readonly secrets: string[] = [];
  readonly #placeOf: WrittenServer["placeOf"];
  readonly #source: InterpolationSource;

  constructor({ placeOf }: WrittenServer, source: InterpolationSource) {
    this.#placeOf = placeOf;
    this.#source = source;
  }

  async text(text: string, path: KeyPath, mayBeSecret = false): Promise<string> {
    const given: TextToFill = { text, path, mayBeSecret };
    const result = await interpolate(given, this.#placeOf, this.#source);
    if (isMissing(result)) {
      this.missing.push(result);
      return "";
    }
    this.secrets.push(...result.secrets);
    return result.text;
  }

  /** Names stay as they are; only values are filled. */
  async record(values: Readonly<Record<string, string>> | undefined, key: string): Promise<Record<string, string>> {
    const filled: Record<string, string> = {};
    const pairs = Object.entries(values ?? {});
    const texts = await Promise.all(pairs.map(([name, value]) => this.text(value, [key, name], true)));
    for (const [index, [name]] of pairs.entries()) filled[name] = texts[index] ?? "";
    return filled;
  }
}

async function stdioSpec(
  name: string,
  entry: StdioEntry,
  filler: Filler,
  program: ApprovedProgram | undefined,
): Promise<ServerSpec> {
  const [written, args, env, cwd] = await Promise.all([
    filler.text(entry.command, ["command"]),
    Promise.all((entry.args ?? []).map((arg, index) => filler.text(arg, ["args", index]))),
    filler.record(entry.env, "env"),
    entry.cwd === undefined ? undefined : filler.text(entry.cwd, ["cwd"]),
  ]);
  return {
    kind: "stdio",
    name,
    command: program?.command ?? written,
    args,
    env,
    ...defined({ cwd }),
    ...(program ? { approved: { by: "project", files: program.files } } : {}),
  };
}

async function remoteSpec(name: string, entry: RemoteEntry, filler: Filler): Promise<ServerSpec> {
  const { kind = "http", note } = normaliseKind(entry.type ?? entry.transport ?? "http") ?? {};
  const [url, headers, token] = await Promise.all([
    filler.text(entry.url, ["url"]),
    filler.record(entry.headers, "headers"),
    entry.auth && filler.text(entry.auth.token, ["auth", "token"], true),
  ]);
  return {
    kind: kind === "sse" ? "sse" : "http",
    name,
    url,
    headers,
    ...(token === undefined ? {} : { auth: { type: "bearer", token } }),
    ...defined({ note }),
  };
}

async function oauthSettings(entry: OAuthEntry, filler: Filler): Promise<OAuthSettings> {
  const fill = async (key: "clientId" | "clientSecret" | "assertion" | "privateKey") => {
    const written = entry[key];
    return written === undefined ? undefined : await filler.text(written, ["oauth", key], key !== "clientId");
  };
  const [clientId, clientSecret, assertion, privateKey, idp] = await Promise.all([
    fill("clientId"),
    fill("clientSecret"),
    fill("assertion"),
    fill("privateKey"),
    entry.idp && identityProvider(entry.idp, filler),
  ]);
  const { issuer, clientMetadataUrl, scopes, grant, signingAlgorithm, keyId, authMethod, callbackPort } = entry;
  return defined({
    issuer,
    clientId,
    clientSecret,
    assertion,
    privateKey,
    idp,
    clientMetadataUrl,
    scopes,
    grant,
    signingAlgorithm,
    keyId,
    authMethod,
    callbackPort,
  });
}

async function identityProvider(entry: IdentityProviderEntry, filler: Filler): Promise<IdentityProvider> {
  const secret = async (key: "clientSecret" | "idToken") => {
    const written = entry[key];
    return written === undefined ? undefined : await filler.text(written, ["oauth", "idp", key], true);
  };
  const [clientId, clientSecret, idToken] = await Promise.all([
    filler.text(entry.clientId, ["oauth", "idp", "clientId"]),
    secret("clientSecret"),
    secret("idToken"),
  ]);
  const { issuer, tokenEndpoint, authMethod } = entry;
  return {
    clientId,
    ...defined({ issuer, tokenEndpoint, clientSecret, authMethod, idToken }),
  };
}

function urlRefusal(url: string, { urlSource, allowHosts }: ServerSettings): string | undefined {
  if (!isWebAddress(url)) return "its url is no full http:// or https:// address once its references are filled in";
  const verdict = checkUrl(url, { source: urlSource, allowHosts });
  return verdict.ok ? undefined : `its url cannot be used: ${verdict.reason}`;
}
