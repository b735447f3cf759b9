// Tokens bound to a key (DPoP, RFC 9449): whoever steals one cannot use it. Only for servers that ask for it.

import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { defined } from "../../base/json/defined.js";
import type { World } from "../../base/ports/world.js";
import { signJwt } from "./jwt.js";

export const DPOP_ALGORITHM = "ES256";

/** PEM. */
export function newDpopKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

export interface ProofOf {
  readonly world: World;
  /** PEM. */
  readonly key: string;
  readonly method: string;
  readonly url: string;
  /** What a server has asked to be told again. */
  readonly nonce?: string | undefined;
  /** The token the request carries; none where one is asked for. */
  readonly token?: string | undefined;
}

/** Good for one request: each has its own. */
export function dpopProof({ world, key: privateKey, method, url, nonce, token }: ProofOf): string {
  const {
    kty = "",
    crv = "",
    x = "",
    y = "",
  } = createPublicKey(createPrivateKey(privateKey)).export({ format: "jwk" });
  const { origin, pathname } = new URL(url);
  const claims = {
    jti: Buffer.from(world.randomBytes(16)).toString("base64url"),
    htm: method,
    htu: `${origin}${pathname}`,
    iat: Math.floor(world.now() / 1000),
    ...defined({
      ath: token === undefined ? undefined : createHash("sha256").update(token).digest("base64url"),
      nonce,
    }),
  };
  const header = { typ: "dpop+jwt", jwk: { kty, crv, x, y } };
  return signJwt(claims, { privateKey, algorithm: DPOP_ALGORITHM, header });
}
