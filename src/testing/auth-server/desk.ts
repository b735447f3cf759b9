// The desk of the lab's authorization server: every request that reached it is answered here, from the options of the moment.
import { authorize, Codes, grantedScopes } from "./authorize.js";
import { Clients } from "./clients.js";
import { Devices } from "./device.js";
import { IdentityDesk } from "./identity.js";
import { type AuthPlaces, metadataAt, placesOf } from "./metadata.js";
import { type AuthAnswer, type AuthParams, type AuthRecord, type AuthServerOptions, refusal } from "./options.js";
import { answerToken } from "./token-endpoint.js";
import { TokenBook } from "./tokens.js";

export class AuthDesk {
  readonly book: TokenBook = new TokenBook(() => Date.now());
  readonly clients: Clients;
  readonly identity: IdentityDesk = new IdentityDesk();
  readonly #codes = new Codes();
  readonly #devices = new Devices();
  readonly #origin: string;
  readonly #options: () => AuthServerOptions;

  constructor(origin: string, options: () => AuthServerOptions) {
    this.#origin = origin;
    this.#options = options;
    this.clients = new Clients(options);
  }

  get secrets(): readonly string[] {
    const tokens = this.book.all.map(({ token }) => token);
    const others = [this.#codes, this.#devices, this.clients, this.identity].flatMap(({ secrets }) => secrets);
    return [...tokens, ...others];
  }

  get #places(): AuthPlaces {
    return placesOf(this.#origin, this.#options());
  }

  answer(record: AuthRecord, pathname: string): AuthAnswer {
    const { endpoint, method, params } = record;
    const isGet = endpoint === "metadata" || endpoint === "authorize";
    if (endpoint === "other") return { status: 404, error: "not_found" };
    if (method !== (isGet ? "GET" : "POST")) return { status: 405, error: "method" };
    switch (endpoint) {
      case "metadata":
        return this.#metadata(pathname);
      case "authorize":
        return authorize(params, this.#authorizeContext());
      case "token":
        return answerToken(params, this.#tokenContext(record));
      case "register":
        return this.clients.register(record.json);
      case "revoke":
        return this.#revoke(params);
      default:
        return this.#device(params);
    }
  }

  #metadata(pathname: string): AuthAnswer {
    const body = metadataAt(pathname, this.#places, this.#options());
    return body ? { status: 200, body } : { status: 404, error: "not_found" };
  }

  #authorizeContext(): Parameters<typeof authorize>[1] {
    const newFamily = () => this.book.newFamily();
    return {
      options: this.#options(),
      issuer: this.#places.issuer,
      clients: this.clients,
      codes: this.#codes,
      newFamily,
    };
  }

  #tokenContext({ headers }: AuthRecord): Parameters<typeof answerToken>[1] {
    const { authorization } = headers;
    return {
      options: this.#options(),
      clients: this.clients,
      codes: this.#codes,
      devices: this.#devices,
      book: this.book,
      identity: this.identity,
      issuer: this.#places.issuer,
      audiences: [this.#places.issuer, `${this.#places.issuer}/`, this.#places.token],
      authorization: typeof authorization === "string" ? authorization : undefined,
      nowMs: Date.now(),
    };
  }

  /** RFC 7009: an unknown token is no error; a refresh token takes all with it that came of its log-in. */
  #revoke(params: AuthParams): AuthAnswer {
    const found = this.book.find(params["token"] ?? "");
    const family = this.book.familyOf(params["token"] ?? "");
    this.book.revokeWhere(
      (token) => token.family === family && (found?.kind === "refresh" || token.token === found?.token),
    );
    return { status: 200 };
  }

  #device(params: AuthParams): AuthAnswer {
    const client = this.clients.find(params["client_id"] ?? "");
    if (!client) return refusal("invalid_client", "no such client", 401);
    const permit = {
      account: "",
      clientId: client.clientId,
      scopes: grantedScopes(params["scope"], this.#options()),
      resource: params["resource"],
    };
    return this.#devices.start(permit, this.#origin, this.#options());
  }
}
