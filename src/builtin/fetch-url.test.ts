// fetch_url against real HTTP servers, with names that lead where the test wants.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { plainText } from "../base/text/content.js";
import { fakeWorld, type LeakCheck, leakCheck } from "../testing/index.js";
import { builtinSource } from "./index.js";
import { BUILTIN_LIMITS } from "./limits.js";

let leaks: LeakCheck;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let requests: IncomingMessage[];
let port: number;
const server = createServer((request, response) => {
  requests.push(request);
  answer(request, response);
});

beforeEach(async () => {
  leaks = await leakCheck();
  requests = [];
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  port = typeof address === "object" ? (address?.port ?? 0) : 0;
});

afterEach(async () => {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
  await leaks.verify();
});

const HOSTS = {
  "docs.test": ["127.0.0.1"],
  "rebound.test": ["127.0.0.1"],
  "mixed.test": ["10.0.0.1", "169.254.169.254"],
};

function open(isAllowed = true) {
  const world = fakeWorld({ hosts: HOSTS });
  const allowHosts = () => (isAllowed ? [`docs.test:${port}`] : []);
  const source = builtinSource({ world, cwd: "/project", allowHosts });
  const fetch = async (url: string, signal = new AbortController().signal) => {
    const outcome = await source.call({ tool: "fetch_url", arguments: { url }, signal, onProgress: () => {} });
    return outcome.kind === "done" || outcome.kind === "failed"
      ? `${outcome.kind}: ${plainText(outcome.content)}`
      : outcome.kind;
  };
  return { world, fetch, page: `http://docs.test:${port}/page?q=1` };
}

const html = (response: ServerResponse, body: string | Buffer, headers: Record<string, string> = {}) => {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...headers }).end(body);
};

test("a page comes as readable text with its links", async () => {
  answer = (_, response) =>
    html(response, '<title>T</title><nav>menu</nav><h1>Head</h1><p>See <a href="/more">more</a> &amp; less.</p>');
  const { fetch, page } = open();
  expect(await fetch(page)).toBe(
    `done: [from ${page}]\nT\n\n# Head\n\nSee [more](http://docs.test:${port}/more) & less.`,
  );
  expect(requests[0]?.url).toBe("/page?q=1");
  expect(requests[0]?.headers).toMatchObject({
    host: `docs.test:${port}`,
    "user-agent": expect.stringMatching(/^tenon\//),
  });
  expect(requests[0]?.headers.cookie).toBeUndefined();
});

test("packed and otherwise encoded pages are read", async () => {
  answer = (_, response) => html(response, gzipSync("<p>packed"), { "content-encoding": "gzip" });
  const { fetch, page } = open();
  expect(await fetch(page)).toContain("packed");
  answer = (_, response) =>
    html(response, Buffer.from("caf\xe9", "latin1"), { "content-type": "text/html; charset=latin1" });
  expect(await fetch(page)).toContain("café");
});

test("text and JSON come as they are, images as images, the rest by its name", async () => {
  const { fetch, page } = open();
  answer = (_, response) => html(response, '{"a": "<b>"}', { "content-type": "application/json" });
  expect(await fetch(page)).toBe(`done: [from ${page}]\n{"a": "<b>"}`);
  answer = (_, response) => html(response, Buffer.from("89504e470d0a1a0a00", "hex"), { "content-type": "image/png" });
  expect(await fetch(page)).toBe(`done: [from ${page}]\n[image image/png, 9 bytes]`);
  answer = (_, response) => html(response, Buffer.from([0, 1]), { "content-type": "application/zip" });
  expect(await fetch(page)).toBe(`failed: ${page} is application/zip of 2 bytes: nothing that could be read here.`);
});

test("an error page is an error, with its words", async () => {
  answer = (_, response) => response.writeHead(404, { "content-type": "text/plain" }).end("no such page");
  const { fetch, page } = open();
  expect(await fetch(page)).toBe(`failed: [from ${page}]\nThe server answered with status 404.\nno such page`);
});

test("a page without end, and one that unpacks without end, are cut", async () => {
  answer = (_, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  };
  const { fetch, page } = open();
  const endless = await fetch(page);
  expect(endless).toMatch(/\[The page is longer than what is shown\.\]$/);
  expect(endless.length).toBeLessThan(BUILTIN_LIMITS.fetchMaxBytes + 1_000);
  const bomb = gzipSync(Buffer.alloc(100_000_000, "x"));
  answer = (_, response) => html(response, bomb, { "content-type": "text/plain", "content-encoding": "gzip" });
  expect((await fetch(page)).length).toBeLessThan(BUILTIN_LIMITS.fetchMaxBytes + 1_000);
});

test.each([
  ["file:///etc/passwd", /only http and https/],
  ["https://user:pass@docs.test/", /must not carry a user name/],
  ["http://example.test/", /use https for "example.test"/],
  ["https://127.0.0.1/", /"127.0.0.1" is not a public address, and the user has not allowed it/],
  ["https://[::1]/", /is not a public address/],
  ["https://0x7f.1/", /"127.0.0.1" is not a public address/],
  ["https://169.254.169.254/latest", /is not a public address/],
  ["https://localhost/", /is not a public address/],
  ["https://rebound.test/", /"rebound.test" leads to no public address/],
  ["https://mixed.test/", /leads to no public address/],
  ["https://unknown.test/", /cannot be found/],
  ["nonsense", /not a valid URL/],
])("%s is refused, and nothing is dialled", async (url, words) => {
  expect(await open(false).fetch(url)).toMatch(words);
  expect(requests).toEqual([]);
});

test("redirects are followed only to where the first URL might have gone, and not for ever", async () => {
  const { fetch, page, world } = open();
  const redirect = (location: string) => {
    answer = (_, response) => response.writeHead(302, { location }).end();
  };
  for (const other of [`http://127.0.0.1:${port}/secret`, "https://rebound.test/", "file:///etc/passwd"]) {
    redirect(other);
    expect(await fetch(page)).toBe(
      `failed: The page leads on to another host: ${other}\nFetch that address if you need it.`,
    );
  }
  requests.length = 0;
  redirect("/again");
  expect(await fetch(page)).toBe("failed: The page leads on and on: more than 5 redirects.");
  expect(requests).toHaveLength(6);
  answer = (request, response) =>
    request.url === "/there" ? html(response, "<p>arrived") : response.writeHead(307, { location: "/there" }).end();
  expect(await fetch(page)).toBe(`done: [from http://docs.test:${port}/there]\narrived`);
  expect(world.lookups.length).toBeGreaterThan(6); // every hop anew
});

test("a server that is silent or breaks off is given up, and a cancel is heard at once", async () => {
  const { fetch, page, world } = open();
  let arrived: () => void = () => {};
  const arrival = () => new Promise<void>((resolve) => (arrived = resolve));
  answer = () => arrived();
  let came = arrival();
  const silent = fetch(page);
  await came;
  await world.advance(BUILTIN_LIMITS.fetchTimeoutMs);
  expect(await silent).toBe("failed: There was no whole answer within 30 s.");
  const controller = new AbortController();
  came = arrival();
  const cancelled = fetch(page, controller.signal);
  await came;
  controller.abort();
  expect(await cancelled).toBe("cancelled");
  answer = (_, response) => {
    response.writeHead(200, { "content-length": "100", "content-type": "text/plain" }).write("half");
    response.destroy();
  };
  expect(await fetch(page)).toMatch(/^failed: The page could not be fetched: /);
  expect(world.clock.pendingTimers).toBe(0);
});
