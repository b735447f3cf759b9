// Tokens bound to a key: what a proof says, and that each request has its own.
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, verify } from "node:crypto";
import { expect, test } from "vitest";
import { anyhow, lab, never, settled, specOf } from "../../../test/oauth/bench.js";
import { type JsonObject, parseObject } from "../../base/json/json.js";
import { echoTool, fakeWorld, type HttpGate, scriptedHttpServer } from "../../testing/index.js";
import { OAuthHttp } from "./http.js";
import { dpopProof, newDpopKey } from "./jwt.js";
import { resourceOf } from "./port.js";
import { requestToken } from "./tokens.js";

const bench = lab();

function decoded(part: string | undefined): JsonObject {
  return parseObject(Buffer.from(part ?? "", "base64url").toString()) ?? {};
}

function claimsOf(proof: string | string[] | undefined): JsonObject {
  return decoded(typeof proof === "string" ? proof.split(".")[1] : undefined);
}

test("a proof names the request and the token, carries the public key, and is signed with the private one", () => {
  const key = newDpopKey();
  const world = fakeWorld();
  const proof = dpopProof({ world, key, method: "POST", url: "https://x.example/mcp?a=1#b", token: "t", nonce: "n" });
  const [header, claims, signature] = proof.split(".");
  expect(decoded(header)).toMatchObject({ typ: "dpop+jwt", alg: "ES256", jwk: { kty: "EC", crv: "P-256" } });
  expect(Object.keys(Object.assign({}, decoded(header)["jwk"]))).toEqual(["kty", "crv", "x", "y"]);
  expect(decoded(claims)).toMatchObject({
    htm: "POST",
    htu: "https://x.example/mcp",
    iat: Math.floor(world.now() / 1000),
    ath: createHash("sha256").update("t").digest("base64url"),
    nonce: "n",
  });
  const signed = Buffer.from(`${header}.${claims}`);
  const check = { key: createPublicKey(key), dsaEncoding: "ieee-p1363" } as const;
  expect(verify("sha256", signed, check, Buffer.from(signature ?? "", "base64url"))).toBe(true);
});

test("a token endpoint that wants a word repeated is asked again with it, and with a new proof", async () => {
  const proofs: JsonObject[] = [];
  const gate: HttpGate = (request, response) => {
    const claims = claimsOf(request.headers["dpop"]);
    proofs.push(claims);
    const isGood = claims["nonce"] === "word";
    const body = isGood ? { access_token: "bound", token_type: "DPoP" } : { error: "use_dpop_nonce" };
    const headers = { "content-type": "application/json", "dpop-nonce": "word" };
    response.writeHead(isGood ? 200 : 400, headers).end(JSON.stringify(body));
    return true;
  };
  const server = bench.own(await scriptedHttpServer({}, { gate }));
  using http = new OAuthHttp({ world: bench.world, serverUrl: server.url }, never);
  const dpopKey = newDpopKey();
  const client = { client: { clientId: "me" }, settings: {}, issuer: server.url };
  const request = { endpoint: server.url, ...client, grantType: "refresh_token", params: {}, dpopKey };
  const answer = await requestToken(http, request);
  expect(answer).toEqual({ accessToken: "bound", dpopKey });
  expect(proofs).toHaveLength(2);
  expect(proofs[0]?.["jti"]).not.toBe(proofs[1]?.["jti"]);
  expect(proofs[1]).not.toHaveProperty("ath");
});

test("a bound token goes with a proof of its own in every request, with the word the server wants", async () => {
  const seen: JsonObject[] = [];
  const gate: HttpGate = (request, response) => {
    const claims = claimsOf(request.headers["dpop"]);
    if (request.headers.authorization === "DPoP bound" && claims["nonce"] === "word") {
      seen.push(claims);
      return false;
    }
    const challenge = 'DPoP error="use_dpop_nonce"';
    response.writeHead(401, { "dpop-nonce": "word", "www-authenticate": challenge }).end();
    return true;
  };
  const server = bench.own(await scriptedHttpServer({ tools: [echoTool()] }, { gate }));
  const key = { issuer: "https://as.example", resource: resourceOf(server.url), account: "default" };
  const grant = { accessToken: "bound", client: { clientId: "me" }, tokenEndpoint: "https://as.example/token" };
  bench.grants.put(key, { ...grant, dpopKey: newDpopKey() });
  const connection = bench.connect(specOf(server), bench.oauth());
  expect(await settled(connection)).toBe("ready");
  expect((await connection.call("echo", {}, anyhow)).kind).toBe("answered");
  expect(seen.length).toBeGreaterThan(2);
  expect(new Set(seen.map(({ jti }) => jti)).size).toBe(seen.length);
  expect(new Set(seen.map(({ htu }) => htu))).toEqual(new Set([server.url]));
});
