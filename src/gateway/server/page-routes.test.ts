// The page over HTTP on a fake machine: its files, log-ins, pairing, and everything that is refused.
import { request as httpRequest, type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { watchEventLoop } from "../../testing/lab/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { Scope } from "../protocol.js";
import { type Gateway, type GatewayAccess, openAccess, startGateway } from "./gateway.js";
import { cookieOf } from "./page-routes.js";

const ORIGIN = "http://127.0.0.1:7000";
const SCRIPT = `console.log("page");\n`.repeat(50);
const FILES = {
  "/page/index.html": "<!doctype html><title>Tenon</title>",
  "/page/main-AB12CD34.js": SCRIPT,
  "/page/style.css": "body{}",
  "/page/icon.png": "no text",
  "/page/notes.exe": "not served",
  "/page/sub/inner.js": "not served",
  "/state/secret.txt": "outside",
};

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  json(): { readonly [key: string]: unknown };
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
}

interface Place {
  readonly world: FakeWorld;
  readonly gateway: Gateway;
  readonly access: GatewayAccess;
  token(scopes?: readonly Scope[]): Promise<string>;
  code(): Promise<string>;
  send(path: string, sent?: Sent): Promise<Answer>;
  /** As the page does it. */
  post(path: string, body?: string | object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The status of a refusal, or the WebSocket. */
  upgrade(headers: Readonly<Record<string, string>>): Promise<number | WebSocket>;
  audit(): Promise<string>;
}

interface PlaceOptions {
  readonly pageFolder?: string;
  readonly host?: string;
  readonly hosts?: readonly string[];
}

async function inPlace(run: (place: Place) => Promise<void>, options: PlaceOptions = {}): Promise<void> {
  const { pageFolder = "/page", host = "127.0.0.1", hosts = [] } = options;
  const world = fakeWorld({ files: FILES });
  const access = await openAccess(world, "/state");
  const listen = [{ kind: "tcp", host, port: 7_000, isInsecure: true } as const];
  const connect = () => {};
  const gateway = await startGateway({ world, access, listen, hosts, pageFolder, connect });
  const createConnection = () => world.servers.connect(`${host}:7000`);
  const send: Place["send"] = (path, { method = "GET", headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const given = { host: "127.0.0.1:7000", connection: "close", ...headers };
      const request = httpRequest({ createConnection, method, path, headers: given }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.once("end", () => {
          const whole = Buffer.concat(chunks);
          const { statusCode: status = 0, headers: answered } = response;
          resolve({ status, headers: answered, body: whole, json: () => JSON.parse(whole.toString()) });
        });
      });
      request.once("error", reject);
      request.end(typeof body === "object" ? JSON.stringify(body) : body);
    });
  const place: Place = {
    ...{ world, gateway, access, send },
    token: async (scopes = ["read", "prompt"]) => {
      const { token } = await access.tokens.kept.create({ name: "laptop", scopes });
      await access.tokens.ready();
      return token;
    },
    code: () => access.codes.create({ account: "me", scopes: ["read", "approve"] }),
    post: (path, body = {}, headers = {}) =>
      send(path, { method: "POST", body, headers: { origin: ORIGIN, "content-type": "application/json", ...headers } }),
    upgrade: (headers) =>
      new Promise((resolve) => {
        const web = new WebSocket("ws://127.0.0.1:7000/acp", { createConnection, headers });
        web.once("open", () => resolve(web));
        web.once("unexpected-response", (_request, { statusCode = 0 }) => {
          resolve(statusCode);
          web.terminate();
        });
        web.on("error", () => {});
      }),
    audit: () => world.files.readText(access.audit.path),
  };
  await run(place);
  await gateway[Symbol.asyncDispose]();
  await access[Symbol.asyncDispose]();
  await world.settle();
  expect(world.clock.pendingTimers).toBe(0);
  expect(world.servers.addresses).toEqual([]);
}

function cookieIn({ headers }: Answer): string {
  return String(headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";
}

describe("the files of the page", () => {
  test("are served by exact name, compressed, with an ETag and headers that let nothing foreign in", () =>
    inPlace(async ({ send }) => {
      const page = await send("/");
      expect(page.body.toString()).toContain("<title>Tenon</title>");
      expect(page.headers).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
      });
      expect(page.headers["set-cookie"]).toBeUndefined();
      const of = (encoding: string) => send("/assets/main-AB12CD34.js", { headers: { "accept-encoding": encoding } });
      const [br, gz, plain] = [await of("gzip, br"), await of("gzip, br;q=0"), await of("")];
      expect(brotliDecompressSync(br.body).toString()).toBe(SCRIPT);
      expect(gunzipSync(gz.body).toString()).toBe(SCRIPT);
      expect(plain.body.toString()).toBe(SCRIPT);
      expect(br.headers).toMatchObject({
        "content-encoding": "br",
        "cache-control": "public, max-age=31536000, immutable",
      });
      const etag = String(br.headers.etag);
      const known = { "accept-encoding": "br", "if-none-match": `"other", ${etag}` };
      const again = await send("/assets/main-AB12CD34.js", { headers: known });
      expect([again.status, again.body.length]).toEqual([304, 0]);
      expect((await send("/assets/style.css")).headers["cache-control"]).toBe("no-cache");
    }));

  test("by odd paths, methods and ranges: nothing else is ever read", () =>
    inPlace(async ({ send, world, audit }) => {
      const odd = ["../state/secret.txt", "..%2fstate%2fsecret.txt", "%2e%2e/secret.txt", "sub/inner.js", "notes.exe"];
      for (const name of [
        ...odd,
        "",
        "/etc/passwd",
        "index.html/",
        "__proto__",
        "constructor",
        "main-AB12CD34.js%00",
      ]) {
        expect((await send(`/assets/${name}`)).status, name).toBe(404);
        await world.advance(60_000); // ten a minute, then 429
      }
      expect(await audit()).toContain('"reason":"unknown_path"');
      const head = await send("/assets/style.css", { method: "HEAD" });
      expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([200, 0, "6"]);
      const range = await send("/assets/style.css", { headers: { range: "bytes=0-1" } });
      expect([range.status, range.body.toString()]).toEqual([200, "body{}"]);
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
        const answer = await send("/", { method, headers: { origin: ORIGIN } });
        expect([answer.status, answer.headers.allow], method).toEqual([405, "GET, HEAD"]);
      }
      expect((await send("/login")).headers.allow).toBe("POST");
      expect((await send("/", { headers: { host: "rebind.example:7000" } })).status).toBe(403);
      expect((await send("/me", { headers: { host: "rebind.example:7000" } })).status).toBe(403);
    }));

  test("that are missing are said to be, plainly", () =>
    inPlace(
      async ({ send }) => {
        const answer = await send("/");
        expect([answer.status, answer.body.toString()]).toEqual([404, expect.stringContaining("without its page")]);
      },
      { pageFolder: "/none" },
    ));
});

describe("a log-in by token", () => {
  test("gives a cookie with the token's rights, which ends with the token within a second", () =>
    inPlace(async ({ send, post, token, upgrade, access, world, audit }) => {
      expect((await send("/me")).status).toBe(401);
      expect(await audit()).not.toContain("refused"); // nothing was tried
      const answer = await post("/login", { token: await token() });
      expect([answer.status, answer.json()]).toEqual([
        200,
        { account: "me", scopes: ["read", "prompt"], name: "laptop" },
      ]);
      const set = String(answer.headers["set-cookie"]?.[0]);
      expect(set).toMatch(/^tenon-7000=tnd_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/u);
      const cookie = cookieIn(answer);
      const me = await send("/me", { headers: { cookie, "sec-fetch-site": "same-origin" } });
      expect(me.json()).toEqual({ account: "me", scopes: ["read", "prompt"], name: "laptop" });
      const web = await upgrade({ cookie, origin: ORIGIN });
      if (!(web instanceof WebSocket)) throw new Error("refused");
      const closed = new Promise((resolve) => web.once("close", resolve));
      const tokens = await access.tokens.kept.list();
      expect(tokens).toMatchObject([{ name: "laptop" }, { name: "laptop", isDevice: true, parent: tokens[0]?.id }]);
      await access.tokens.kept.revoke(tokens[0]?.id ?? "");
      expect(await closed).toBe(1008);
      await world.settle();
      const over = await send("/me", { headers: { cookie } });
      expect([over.status, over.headers["set-cookie"]]).toEqual([401, [expect.stringContaining("Max-Age=0")]]);
      expect(await upgrade({ cookie, origin: ORIGIN })).toBe(401);
      expect(await audit()).toMatch(/"event":"logged_in".*"by":"token"/u);
      expect(await audit()).not.toContain("tnd_");
    }));

  test("ends by a log-out, which ends its connections and leaves the token", () =>
    inPlace(async ({ send, post, token, upgrade, world, audit }) => {
      const bearer = await token();
      const cookie = cookieIn(await post("/login", { token: bearer }));
      const web = await upgrade({ cookie, origin: ORIGIN });
      if (!(web instanceof WebSocket)) throw new Error("refused");
      const closed = new Promise((resolve) => web.once("close", resolve));
      const out = await post("/logout", {}, { cookie });
      expect(out.headers["set-cookie"]).toEqual([expect.stringMatching(/^tenon-7000=; .*Max-Age=0/u)]);
      expect(await closed).toBe(1008);
      await world.settle();
      expect((await send("/me", { headers: { cookie } })).status).toBe(401);
      expect((await send("/me", { headers: { authorization: `Bearer ${bearer}` } })).status).toBe(200);
      expect((await post("/logout", {}, { cookie })).status).toBe(401);
      expect(await audit()).toContain("logged_out");
    }));

  test("with a wrong token, a wrong body or a long one lets nobody in", () =>
    inPlace(async ({ post, send, world, access }) => {
      const json = { "content-type": "application/json" };
      const rows: readonly (readonly [string | object, Readonly<Record<string, string>>, number, string])[] = [
        [{ token: "tng_x" }, json, 401, "unknown_token"],
        [{ token: 5 }, json, 401, "unknown_token"],
        [{}, json, 401, "unknown_token"],
        ["[]", json, 400, "malformed"],
        ["{", json, 400, "malformed"],
        ["token=tng_x", { "content-type": "application/x-www-form-urlencoded" }, 400, "malformed"],
        ['{"token":"x"}', { "content-type": "text/plain" }, 400, "malformed"],
        [" ".repeat(5_000), json, 413, "body_too_large"],
      ];
      for (const [body, headers, status, code] of rows) {
        const answer = await post("/login", body, headers);
        expect([answer.status, answer.json()["error"]]).toMatchObject([status, { code }]);
        expect(answer.headers["set-cookie"]).toBeUndefined();
        await world.advance(60_000);
      }
      const announced = { ...json, origin: ORIGIN, "content-length": "10000000" };
      expect((await send("/login", { method: "POST", headers: announced })).status).toBe(413);
      const paired = await post("/login", { token: cookieIn(await post("/pair", { code: "x" })) });
      expect(paired.status).toBe(401);
      expect(await access.tokens.kept.list()).toEqual([]);
    }));
});

test("log-ins by one token are bounded as its requests are, and a failure is an answer", () =>
  inPlace(async ({ post, token, access, world }) => {
    const given = await token();
    const statuses = [];
    for (let count = 0; count <= GATEWAY_LIMITS.requests.burst; count++)
      statuses.push((await post("/login", { token: given })).status);
    expect(statuses.indexOf(429)).toBe(GATEWAY_LIMITS.requests.burst);
    await world.advance(60_000);
    const { kept } = access.tokens;
    const { storage } = kept;
    const change = storage.change.bind(storage);
    storage.change = () => Promise.reject(new Error("ENOSPC"));
    const full = await post("/login", { token: given });
    expect([full.status, full.json()["error"]]).toMatchObject([503, { code: "unavailable" }]);
    storage.change = change;
    const cookie = cookieIn(await post("/login", { token: given }));
    kept.removeDevice = () => Promise.reject(new Error("ENOSPC"));
    const failed = await post("/logout", {}, { cookie });
    expect([failed.status, failed.json()["error"]]).toMatchObject([500, { code: "internal" }]);
    expect(world.logEntries.map(({ event }) => event)).toContain("gateway.page_failed");
  }));

test("log-ins and log-outs leave no devices behind, no flood in the audit file, and have the limits of their token", () =>
  inPlace(async ({ post, send, token, access, audit, world, upgrade }) => {
    const given = await token(["read"]);
    const { burst } = GATEWAY_LIMITS.requests;
    const count = burst / 2 - 1;
    for (let at = 0; at < count; at++) {
      const login = await post("/login", { token: given });
      expect((await post("/logout", {}, { cookie: cookieIn(login) })).status).toBe(200);
    }
    expect(await access.tokens.kept.list()).toMatchObject([{ name: "laptop" }]);
    await world.advance(GATEWAY_LIMITS.audit.countedMs);
    const lines = (await audit()).trim().split("\n");
    const of = (event: string) => lines.filter((line) => line.includes(`"event":"${event}"`));
    for (const event of ["logged_in", "logged_out"]) {
      const [first, rest, ...more] = of(event);
      expect([first, rest, more]).toEqual([
        expect.stringContaining('"device"'),
        expect.stringContaining(`"count":${count - 1}`),
        [],
      ]);
    }
    const [id] = (await access.tokens.kept.list()).map((one) => one.id);
    const device = { name: "b", account: "me", scopes: ["read"], parent: id ?? "" } as const;
    for (let at = 0; at < 20; at++) {
      const { listed } = await access.tokens.kept.createDevice(device);
      await access.tokens.kept.revoke(listed.id);
    }
    const { loginsPerToken } = GATEWAY_LIMITS.page;
    expect(await access.tokens.kept.list()).toHaveLength(loginsPerToken + 1);
    // Those that are over give way first.
    const kept = await access.tokens.kept.createDevice(device);
    for (let at = 1; at < loginsPerToken; at++) await access.tokens.kept.createDevice(device);
    await access.tokens.ready();
    const cookie = `tenon-7000=${kept.cookie}`;
    expect((await send("/me", { headers: { cookie } })).status).toBe(200);
    // Its browsers and the token itself have their connections together.
    const webs = [];
    for (let at = 0; at < GATEWAY_LIMITS.connections.perToken; at++) {
      const headers = at % 2 === 0 ? { cookie, origin: ORIGIN } : { authorization: `Bearer ${given}` };
      webs.push(await upgrade(headers));
    }
    expect(webs.filter((web) => typeof web === "number")).toEqual([]);
    expect(await upgrade({ cookie, origin: ORIGIN })).toBe(429);
    for (const web of webs) if (web instanceof WebSocket) web.terminate();
  }));

describe("pairing", () => {
  test("lets one browser in, once, as a device of its own", () =>
    inPlace(async ({ post, send, code, access, audit }) => {
      const given = await code();
      const answer = await post("/pair", { code: given, name: "Firefox on a phone" });
      expect(answer.json()).toEqual({ account: "me", scopes: ["read", "approve"], name: "Firefox on a phone" });
      const cookie = cookieIn(answer);
      expect((await send("/me", { headers: { cookie } })).status).toBe(200);
      expect(await access.tokens.kept.list()).toMatchObject([{ isDevice: true, name: "Firefox on a phone" }]);
      const again = await post("/pair", { code: given });
      expect([again.status, again.json()["error"]]).toMatchObject([401, { code: "used_code" }]);
      expect(String(JSON.stringify(again.json()))).toContain("tenon gateway pair");
      expect(await audit()).toContain('"reason":"used_code"');
      expect(await audit()).not.toContain(given);
      const named = await access.codes.create({ account: "me", scopes: ["read"], name: "my phone" });
      expect((await post("/pair", { code: named, name: "another" })).json()["name"]).toBe("my phone");
      expect((await post("/pair", { code: await code(), name: "\u202eevil" })).json()["name"]).toBe("a paired browser");
    }));

  test("is tried by no address that gave too many wrong codes: it cannot go on making those of others void", () =>
    inPlace(async ({ post, code, world }) => {
      for (let count = 0; count < 10; count++) await post("/login", { token: "tng_wrong" });
      expect((await post("/pair", { code: await code() })).status).toBe(200); // others may share the address
      for (let count = 0; count < 10; count++) await post("/pair", { code: "wrong" });
      const good = await code();
      for (let count = 0; count < 20; count++) {
        const answer = await post("/pair", { code: `guess${count}` });
        expect([answer.status, Number(answer.headers["retry-after"]) > 0]).toEqual([429, true]);
      }
      await world.advance(60_000);
      expect((await post("/pair", { code: good })).status).toBe(200);
    }));

  test("is refused too late, after five guesses, and to whoever guesses on", () =>
    inPlace(async ({ post, code, world, access, audit }) => {
      const late = await code();
      await world.advance(GATEWAY_LIMITS.page.codes.goodMs);
      expect((await post("/pair", { code: late })).json()).toMatchObject({ error: { code: "expired_code" } });
      const right = await code();
      const codes = [];
      for (let count = 0; count < 5; count++) codes.push((await post("/pair", { code: `guess${count}` })).json());
      for (const answer of codes) expect(answer).toMatchObject({ error: { code: "unknown_code" } });
      expect((await post("/pair", { code: right })).json()).toMatchObject({ error: { code: "void_code" } });
      for (let count = 0; count < 4; count++) await post("/pair", { code: "more" });
      const limited = await post("/pair", { code: "more" });
      expect([limited.status, limited.json()]).toMatchObject([429, { error: { code: "too_many_failures" } }]);
      expect(Number(limited.headers["retry-after"])).toBeGreaterThan(0);
      expect(await access.tokens.kept.list()).toEqual([]);
      const written = await audit();
      for (const reason of ["expired_code", "unknown_code", "void_code", "too_many_failures"])
        expect(written).toContain(reason);
    }));
});

test("a cookie or a log-in without our own Origin, and whatever another site sends, is refused and written down", () =>
  inPlace(async ({ post, send, upgrade, code, token, audit, world, access }) => {
    const cookie = cookieIn(await post("/pair", { code: await code() }));
    const foreign: readonly Readonly<Record<string, string>>[] = [
      {},
      { origin: "null" },
      { origin: "https://evil.example" },
      { origin: "http://127.0.0.1:3000" },
      { origin: "https://127.0.0.1:7000" },
      { origin: ORIGIN, "sec-fetch-site": "cross-site" },
      { origin: ORIGIN, "sec-fetch-site": "same-site" },
      { origin: ORIGIN, host: "rebind.example:7000" },
    ];
    const bearer = await token();
    for (const headers of foreign) {
      const json = { "content-type": "application/json", cookie, ...headers };
      for (const [path, body] of [
        ["/login", { token: bearer }],
        ["/pair", { code: await code() }],
        ["/logout", {}],
      ] as const) {
        const answer = await send(path, { method: "POST", body, headers: json });
        expect([answer.status, answer.headers["set-cookie"]], JSON.stringify(headers)).toEqual([403, undefined]);
      }
      expect(await upgrade({ cookie, ...headers }), JSON.stringify(headers)).toBe(403);
      await world.advance(60_000);
    }
    const read = { cookie, "sec-fetch-site": "cross-site" };
    expect((await send("/me", { headers: read })).status).toBe(403);
    // Over HTTP a cookie opens nothing but the page.
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
    expect((await post("/acp", initialize, { cookie })).status).toBe(401);
    expect((await send("/metrics", { headers: { cookie } })).status).toBe(200); // open at loopback anyway
    expect((await send("/me", { headers: { cookie } })).status).toBe(200);
    expect(await upgrade({ cookie: `${cookie}; ${cookie}`, origin: ORIGIN })).toBe(401);
    const [device] = (await access.tokens.kept.list()).filter(({ isDevice }) => isDevice);
    expect(device?.revokedAt).toBeUndefined();
    const written = await audit();
    for (const reason of ["no_origin", "origin", "cross_site", "host"])
      expect(written).toContain(`"reason":"${reason}"`);
  }));

test("a cookie counts at the Host that the page itself is at: not at another port of a name, nor at any address", () => {
  const options = { host: "0.0.0.0", hosts: ["box.example", "box.example:80"] };
  return inPlace(async ({ upgrade, access, send, code, world, audit }) => {
    const given = { name: "phone", account: "me", scopes: ["read", "admin"] } as const;
    const { cookie: secret } = await access.tokens.kept.createDevice(given);
    await access.tokens.ready();
    const cookie = `tenon-7000=${secret}`;
    const rows = [
      ["box.example:7000", "http://box.example:7000", true],
      ["BOX.example:7000", "http://box.example:7000", true],
      ["box.example:80", "http://box.example", true],
      ["box.example", "http://box.example", true],
      ["10.0.0.7:7000", "http://10.0.0.7:7000", true],
      ["box.example:7000", "http://box.example:8080", false],
      ["box.example:7000", "http://box.example", false],
      ["box.example:7000", "http://6.6.6.6:7000", false],
      ["10.0.0.7:7000", "http://6.6.6.6:7000", false],
      ["10.0.0.7:7000", "http://localhost:7000", false],
      ["box.example:7000", "https://box.example:7000", false],
    ] as const;
    for (const [host, origin, isGood] of rows) {
      const web = await upgrade({ host, origin, cookie });
      expect(web instanceof WebSocket ? "in" : web, `${origin} at ${host}`).toBe(isGood ? "in" : 403);
      if (web instanceof WebSocket) web.terminate();
      const headers = { host, origin, "content-type": "application/json" };
      const answer = await send("/pair", { method: "POST", headers, body: { code: await code() } });
      expect(answer.status, `${origin} at ${host}`).toBe(isGood ? 200 : 403);
      await world.advance(60_000);
    }
    expect(await audit()).toContain('"reason":"origin"');
  }, options);
});

test("a Cookie header of blanks does not hold the event loop", async () => {
  const request = new IncomingMessage(new Socket());
  request.headers.cookie = `a${" ".repeat(GATEWAY_LIMITS.head.maxBytes)}b; tenon-7000=c`;
  const entrance = { kind: "tcp", host: "127.0.0.1", port: 7_000, isTls: false } as const;
  const { value, longestMs } = await watchEventLoop(async () => cookieOf(request, entrance));
  expect(value).toBe("c");
  expect(longestMs).toBeLessThan(50);
});

test("of any Cookie header the value of one cookie of our name is read, and of several none", () => {
  const entrance = { kind: "tcp", host: "127.0.0.1", port: 7_000, isTls: false } as const;
  const read = (cookie: string) => {
    const request = new IncomingMessage(new Socket());
    request.headers.cookie = cookie;
    return cookieOf(request, entrance);
  };
  const pair = fc.oneof(
    fc.string(),
    fc.tuple(fc.constantFrom("tenon-7000", "tenon-7001", "__Host-tenon", "x"), fc.stringMatching(/^[\w-]{0,5}$/u)),
  );
  fc.assert(
    fc.property(fc.array(pair, { maxLength: 5 }), (pairs) => {
      const texts = pairs.map((one) => (typeof one === "string" ? one.replaceAll(/tenon|;/gu, "") : one.join("=")));
      const own = pairs.flatMap((one) => (typeof one !== "string" && one[0] === "tenon-7000" ? [one[1]] : []));
      expect(read(texts.join("; "))).toBe(own.length === 1 ? own[0] : undefined);
    }),
  );
});
