// Attempts to get in by the page: codes, cookies, other sites and names, odd requests for its files.
import { strict as assert } from "node:assert";
import type { Scope } from "../../../src/gateway/index.js";
import type { Attack, Target } from "./attacks.js";
import { type HttpAnswer, send, WireClient } from "./wire-client.js";

const JSON_TYPE = { "content-type": "application/json" };

function originOf({ host, port }: Target): string {
  return `http://${host}:${port}`;
}

/** As the page does it, but for what is given. */
async function post(
  target: Target,
  path: string,
  { body = {}, headers = {}, from }: { body?: object | string; headers?: Record<string, string>; from: string },
): Promise<HttpAnswer> {
  const all = { ...JSON_TYPE, origin: originOf(target), ...headers };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return await send(target, { method: "POST", path, headers: all, body: text, from });
}

/** A fresh code, as `tenon gateway pair` gets one. */
async function codeOf({ socketPath }: Target): Promise<string> {
  const client = await WireClient.open(`ws+unix:${socketPath}:/acp`);
  await client.initialize();
  const { result } = await client.request("_tenon/gateway/page", { from: "elsewhere" });
  await client.close();
  const [, code = ""] = /#pair=([\w-]{22})$/u.exec(String(result?.["url"])) ?? [];
  assert.notEqual(code, "", JSON.stringify(result));
  return code;
}

/** Of a browser that logged in by a token. */
async function cookieOf(target: Target, from: string, token: string): Promise<string> {
  const answer = await post(target, "/login", { body: { token }, from });
  assert.equal(answer.status, 200, answer.body);
  return String(answer.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";
}

function isLetIn({ status, headers }: HttpAnswer): boolean {
  return status === 200 || headers["set-cookie"] !== undefined;
}

async function isRefused(target: Target, headers: Record<string, string>, from: string, status: number): Promise<void> {
  const opening = WireClient.open(`ws://${target.host}:${target.port}/acp`, headers, from);
  await assert.rejects(opening, new RegExp(`HTTP ${status}`, "u"));
}

const FOREIGN: readonly Readonly<Record<string, string>>[] = [
  { origin: "https://evil.example" },
  { origin: "null" },
  { origin: "http://127.0.0.1:3000" },
  { "sec-fetch-site": "cross-site" },
];

export const PAGE_ATTACKS: Readonly<Record<string, Attack>> = {
  "pairing codes that are guessed": {
    run: async (target, from) => {
      const code = await codeOf(target);
      for (const guess of ["", "a", code.slice(1), `${code}x`, code.toLowerCase().toUpperCase()])
        assert.ok(!isLetIn(await post(target, "/pair", { body: { code: guess }, from })), guess);
      const late = await post(target, "/pair", { body: { code }, from });
      assert.deepEqual([late.status, JSON.parse(late.body).error.code], [401, "void_code"]);
      for (let count = 0; count < 4; count++) await post(target, "/pair", { body: { code: "more" }, from });
      assert.equal((await post(target, "/pair", { body: { code: "more" }, from })).status, 429);
    },
    logged: /"reason":"void_code","remote":"ADDRESS"/u,
  },
  "a pairing code that was used": {
    run: async (target, from) => {
      const code = await codeOf(target);
      assert.ok(isLetIn(await post(target, "/pair", { body: { code }, from })));
      const again = await post(target, "/pair", { body: { code }, from });
      assert.ok(!isLetIn(again));
      assert.equal(JSON.parse(again.body).error.code, "used_code");
    },
    logged: /"reason":"used_code","remote":"ADDRESS"/u,
  },
  "a pairing code in the address": {
    run: async (target, from) => {
      const code = await codeOf(target);
      for (const path of [`/pair?code=${code}`, `/?pair=${code}`]) {
        assert.ok(!isLetIn(await post(target, path, { from })));
        const { headers } = await send(target, { path, from });
        assert.equal(headers["set-cookie"], undefined);
      }
    },
    logged: /"reason":"unknown_code","remote":"ADDRESS"/u,
  },
  "a log-in by a wrong token, a cookie or a hash": {
    run: async (target, from) => {
      const cookie = await cookieOf(target, from, await target.token());
      const secret = cookie.split("=", 2)[1] ?? "";
      for (const token of ["", "tng_x", "0".repeat(64), secret, [], { token: secret }])
        assert.ok(!isLetIn(await post(target, "/login", { body: { token }, from })));
      // Nor is a cookie a token, or a token a cookie.
      await isRefused(target, { authorization: `Bearer ${secret}` }, from, 401);
      const name = cookie.split("=", 1)[0] ?? "";
      const token = await target.token();
      await isRefused(target, { cookie: `${name}=${token}`, origin: originOf(target) }, from, 401);
    },
    logged: /"reason":"unknown_token","remote":"ADDRESS"/u,
  },
  "a cookie without an origin": {
    run: async (target, from) => {
      const cookie = await cookieOf(target, from, await target.token());
      await isRefused(target, { cookie }, from, 403);
      const answer = await send(target, { method: "POST", path: "/logout", headers: { ...JSON_TYPE, cookie }, from });
      assert.equal(answer.status, 403);
      assert.equal((await send(target, { path: "/me", headers: { cookie }, from })).status, 200);
    },
    logged: /"reason":"no_origin","remote":"ADDRESS"/u,
  },
  "a cookie over HTTP": {
    run: async (target, from) => {
      const cookie = await cookieOf(target, from, await target.token());
      const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
      assert.equal((await post(target, "/acp", { body, headers: { cookie }, from })).status, 401);
    },
    logged: /"reason":"no_token","remote":"ADDRESS"/u,
  },
  "log-ins, log-outs and sockets of other sites": {
    run: async (target, from) => {
      const token = await target.token();
      const cookie = await cookieOf(target, from, token);
      const code = await codeOf(target);
      for (const headers of FOREIGN) {
        const given = { ...headers, cookie };
        for (const [path, body] of [
          ["/login", { token }],
          ["/pair", { code }],
          ["/logout", {}],
        ] as const) {
          const { status } = await post(target, path, { body, headers: given, from });
          assert.ok(status === 403 || status === 429, `${path}: ${status}`);
        }
        const opening = WireClient.open(
          `ws://${target.host}:${target.port}/acp`,
          { origin: originOf(target), ...given },
          from,
        );
        await assert.rejects(opening, /HTTP (403|429)/u);
      }
      assert.ok(isLetIn(await post(target, "/pair", { body: { code }, from })), "the code was spent by another site");
      assert.equal((await send(target, { path: "/me", headers: { cookie }, from })).status, 200);
    },
    logged: /"reason":"origin","remote":"ADDRESS"/u,
  },
  "the page by another name": {
    run: async (target, from) => {
      const headers = { host: `rebind.evil.example:${target.port}` };
      for (const path of ["/", "/me", "/assets/x.js"])
        assert.equal((await send(target, { path, headers, from })).status, 403);
      const origin = `http://rebind.evil.example:${target.port}`;
      const token = await target.token();
      const answer = await post(target, "/login", { body: { token }, headers: { ...headers, origin }, from });
      assert.ok(!isLetIn(answer) && answer.status === 403);
    },
    logged: /"reason":"host","remote":"ADDRESS"/u,
  },
  "a cookie whose token is revoked": {
    run: async (target, from) => {
      const token = await target.token();
      const cookie = await cookieOf(target, from, token);
      const headers = { cookie, origin: originOf(target) };
      const client = await WireClient.open(`ws://${target.host}:${target.port}/acp`, headers, from);
      await client.initialize();
      const startedMs = performance.now();
      await target.revoke(token);
      assert.equal((await client.ended).code, 1008);
      assert.ok(performance.now() - startedMs < 1_000, "it took more than a second");
      await isRefused(target, headers, from, 401);
    },
    logged: /"reason":"revoked_token","remote":"ADDRESS"/u,
  },
  "a cookie with more scopes than its token": {
    run: async (target, from) => {
      const scopes: readonly Scope[] = ["read"];
      const cookie = await cookieOf(target, from, await target.token({ scopes }));
      const headers = { cookie, origin: originOf(target) };
      const client = await WireClient.open(`ws://${target.host}:${target.port}/acp`, headers, from);
      await client.initialize({ tenon: { scopes: ["admin"], account: "other" } });
      for (const method of ["session/new", "_tenon/gateway/page", "_tenon/session/call_tool", "_tenon/mcp/restart"])
        assert.equal((await client.request(method, { cwd: "/", mcpServers: [] })).error?.code, -32003, method);
      await client.close();
    },
    logged: /"event":"denied".*"method":"_tenon\/gateway\/page"/u,
  },
  "files of the page by odd paths and methods": {
    run: async (target, from) => {
      for (const name of ["../cli/main.js", "..%2fcli%2fmain.js", "/etc/passwd", "__proto__", "index.html%00"])
        assert.equal((await send(target, { path: `/assets/${name}`, from })).status, 404, name);
      for (const method of ["PUT", "DELETE", "OPTIONS", "TRACE"])
        assert.equal((await send(target, { path: "/", method, from })).status, 405, method);
    },
    logged: /"reason":"unknown_path","remote":"ADDRESS"/u,
  },
  "log-ins of 10 MB": {
    run: async (target, from) => {
      const headers = { ...JSON_TYPE, origin: originOf(target), "content-length": "10000000" };
      const announced = await send(target, { method: "POST", path: "/login", headers, from });
      assert.equal(announced.status, 413);
      const chunked = { "transfer-encoding": "chunked" };
      const sent = post(target, "/pair", { body: "x".repeat(10_000_000), headers: chunked, from });
      const status = await sent.then((answer) => answer.status).catch(() => 413); // the rest was not taken
      assert.equal(status, 413);
    },
    logged: /"reason":"body_too_large","remote":"ADDRESS"/u,
  },
};
