// Turns JSON from a command line into checked options of the lab, or says exactly what is wrong with them.
import {
  type Check,
  count,
  type Fields,
  flag,
  isRecord,
  json,
  list,
  nonEmptyText,
  oneOf,
  optional,
  parseBehaviour,
  plainObject,
  positive,
  record,
  text,
} from "../kit/mcp-server/check-behaviour.js";
import type { AuthServerOptions, LabClient, LabPlace, LabProvider } from "./options.js";
import type { ProtectedServerOptions } from "./protected-server.js";

const CLIENT: Fields<LabClient> = {
  clientId: nonEmptyText,
  clientSecret: optional(nonEmptyText),
  authMethod: optional(oneOf(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"])),
  redirectUris: optional(list(text)),
  publicKey: optional(text),
};

const DEVICE: Fields<NonNullable<AuthServerOptions["device"]>> = {
  intervalSeconds: optional(count),
  approvedAtPoll: positive,
  slowsDown: optional(flag),
};

const IDENTITY: Fields<NonNullable<AuthServerOptions["identity"]>> = {
  idTokenMs: optional(count),
  refreshes: optional(flag),
  audiences: optional(list(text)),
  clientIdThere: optional(nonEmptyText),
  issuedType: optional(nonEmptyText),
};

const PROVIDER: Fields<LabProvider> = { issuer: nonEmptyText, publicKey: nonEmptyText };

const PLACE: Fields<LabPlace> = { address: optional(nonEmptyText), hostname: optional(nonEmptyText) };

const AUTH: Fields<AuthServerOptions> = {
  ...PLACE,
  issuerPath: optional(text),
  metadataAt: optional(list(oneOf(["oauth", "oidc"]))),
  metadata: optional(plainObject),
  iss: optional(nonEmptyText),
  scopes: optional(list(nonEmptyText)),
  accessTokenMs: optional(count),
  saysExpiry: optional(flag),
  refreshTokens: optional(oneOf(["always", "offline_access", "never"])),
  rotates: optional(flag),
  reuseRevokes: optional(flag),
  clients: optional(list(record(CLIENT))),
  registration: optional(oneOf(["open", "secret", "none"])),
  clientDocuments: optional(plainObject),
  resources: optional(list(text)),
  requiresResource: optional(flag),
  account: optional(nonEmptyText),
  denies: optional(flag),
  device: optional(record(DEVICE)),
  identity: optional(record(IDENTITY)),
  trusts: optional(list(record(PROVIDER))),
  delaysMs: optional(plainObject),
};

/** What a program can be told: its authorization server is the one it starts itself. */
type ServerOptions = Omit<ProtectedServerOptions, "authServers">;

const behaviour: Check = (value) => {
  parseBehaviour(value);
  return [];
};

const SERVER: Fields<ServerOptions> = {
  ...PLACE,
  behaviour: optional(behaviour),
  http: optional(plainObject),
  scopes: optional(list(nonEmptyText)),
  toolScopes: optional(plainObject),
  challengesScope: optional(flag),
  metadataAt: optional(oneOf(["path", "root", "nowhere"])),
  metadataUrl: optional(json),
  metadata: optional(plainObject),
  takesAnyResource: optional(flag),
};

/** Throws an error that lists every problem with its path. */
export function checkedAuth(value: unknown): AuthServerOptions {
  if (isAuth(value)) return value;
  throw new Error(record(AUTH)(value, "auth").join("\n  "));
}

export function checkedServer(value: unknown): ServerOptions {
  if (isServer(value)) return value;
  throw new Error(record(SERVER)(value, "server").join("\n  "));
}

function isAuth(value: unknown): value is AuthServerOptions {
  return isRecord(value) && record(AUTH)(value, "auth").length === 0;
}

function isServer(value: unknown): value is ServerOptions {
  return isRecord(value) && record(SERVER)(value, "server").length === 0;
}
