// Where metadata is looked for, in which order, and what counts as none.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { closeListener, listenOnLoopback } from "../../../test/remote/bench.js";
import { type LeakCheck, leakCheck } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { discover } from "./discovery.js";
import { OAuthHttp } from "./http.js";

const never = new AbortController().signal;
/** What is where: a value is a JSON document, a number a status, a text an HTML page. */
let documents: Record<string, unknown> = {};
let asked: string[] = [];
let server: Server;
let origin = "";
let leaks: LeakCheck;

beforeEach(async () => {
  leaks = await leakCheck();
  documents = {};
  asked = [];
  server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(request.url ?? "");
    const found = documents[request.url ?? ""];
    if (typeof found === "string" && found.startsWith("http")) response.writeHead(302, { location: found }).end();
    else if (typeof found === "string") response.writeHead(200, { "content-type": "text/html" }).end(found);
    else if (found === undefined || typeof found === "number") response.writeHead(found ?? 404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
  });
  origin = new URL(await listenOnLoopback(server)).origin;
});

afterEach(async () => {
  await closeListener(server);
  await leaks.verify();
});

async function find(path: string, resourceMetadata?: string): ReturnType<typeof discover> {
  const url = `${origin}${path}`;
  using http = new OAuthHttp({ world: nodeWorld({ env: {} }), serverUrl: url }, never);
  const challenge = { scheme: "bearer", ...(resourceMetadata === undefined ? {} : { resourceMetadata }) };
  return await discover(http, { url, challenge });
}

const metadataOf = (issuer: string) => ({ issuer, token_endpoint: `${issuer}/token` });

test("below the server's path first, then at the root", async () => {
  documents["/.well-known/oauth-protected-resource"] = { resource: origin, authorization_servers: [origin] };
  documents["/.well-known/oauth-authorization-server"] = metadataOf(origin);
  expect(await find("/a/mcp/")).toMatchObject({ issuer: origin, resourceIndicator: origin, isGuess: false });
  expect(asked).toEqual([
    "/.well-known/oauth-protected-resource/a/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
  ]);
});

test("where the challenge says, before anywhere else", async () => {
  documents["/elsewhere"] = { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["a", 1] };
  documents["/.well-known/openid-configuration"] = metadataOf(origin);
  expect(await find("/mcp", `${origin}/elsewhere`)).toMatchObject({ scopesSupported: ["a"] });
  expect(await find("/mcp", "/elsewhere")).toMatchObject({ scopesSupported: ["a"] });
  expect(asked.filter((path) => path === "/elsewhere")).toHaveLength(2);
  expect(asked[0]).toBe("/elsewhere");
});

test("an issuer with a path is looked for in three places, never at its root", async () => {
  documents["/.well-known/oauth-protected-resource/mcp"] = {
    resource: `${origin}/mcp`,
    authorization_servers: [`${origin}/tenant`],
  };
  documents["/tenant/.well-known/openid-configuration"] = metadataOf(`${origin}/tenant`);
  expect(await find("/mcp")).toMatchObject({ issuer: `${origin}/tenant` });
  expect(asked.slice(1)).toEqual([
    "/.well-known/oauth-authorization-server/tenant",
    "/.well-known/openid-configuration/tenant",
    "/tenant/.well-known/openid-configuration",
  ]);
});

test("an issuer may end with a slash or not, and nothing else may differ", async () => {
  const resource = { resource: `${origin}/mcp`, authorization_servers: [`${origin}/`] };
  documents["/.well-known/oauth-protected-resource/mcp"] = resource;
  documents["/.well-known/oauth-authorization-server"] = metadataOf(origin);
  expect(await find("/mcp")).toMatchObject({ issuer: `${origin}/`, server: { issuer: origin } });
  documents["/.well-known/oauth-authorization-server"] = metadataOf(`${origin}/other`);
  await expect(find("/mcp")).rejects.toMatchObject({ code: "mcp.unauthorized" });
});

test("a server of 2025-03-26 has its own metadata at its root", async () => {
  documents["/.well-known/oauth-authorization-server"] = metadataOf("https://claims.example");
  const found = await find("/mcp");
  // Whatever it claims to be: what is kept for it is kept under where it really is.
  expect(found).toMatchObject({ issuer: origin, server: { issuer: "https://claims.example" }, isGuess: false });
  expect(found.resourceIndicator).toBeUndefined();
});

test("one without any has its endpoints where that version puts them", async () => {
  const endpoints = { authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
  expect(await find("/mcp")).toMatchObject({ issuer: origin, server: endpoints, isGuess: true });
});

test("pages, other documents and refusals are no metadata", async () => {
  documents["/.well-known/oauth-protected-resource/mcp"] = "<html>";
  documents["/.well-known/oauth-protected-resource"] = { message: "hello" };
  documents["/.well-known/oauth-authorization-server"] = 403;
  documents["/.well-known/openid-configuration"] = [1, 2];
  expect(await find("/mcp")).toMatchObject({ isGuess: true });
});

test.each([500, 503, 429])("a server in trouble (%i) is not one without metadata", async (status) => {
  documents["/.well-known/oauth-protected-resource/mcp"] = status;
  await expect(find("/mcp")).rejects.toMatchObject({ code: "mcp.unavailable" });
});

test("an authorization server that does not describe itself is the end of it", async () => {
  documents["/.well-known/oauth-protected-resource/mcp"] = {
    resource: `${origin}/mcp`,
    authorization_servers: [`${origin}/as`],
  };
  await expect(find("/mcp")).rejects.toThrow("does not describe itself");
});

test("a redirect leads where the metadata itself might have led, and nowhere else", async () => {
  documents["/.well-known/oauth-protected-resource/mcp"] = `${origin}/moved`;
  documents["/moved"] = { resource: `${origin}/mcp`, authorization_servers: [origin] };
  documents["/.well-known/oauth-authorization-server"] = metadataOf(origin);
  expect(await find("/mcp")).toMatchObject({ isGuess: false });
  documents["/.well-known/oauth-protected-resource/mcp"] = "http://169.254.169.254/latest";
  await expect(find("/mcp")).rejects.toMatchObject({ code: "mcp.url_refused" });
});

test("metadata without end is cut off", async () => {
  documents["/.well-known/oauth-protected-resource/mcp"] = { resource: "x".repeat(300_000) };
  await expect(find("/mcp")).rejects.toMatchObject({ code: "mcp.too_large" });
});
