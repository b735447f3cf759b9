// Where requests go, and what goes with them.

import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { bench, closeListener, listenOnLoopback } from "../../../../test/remote/bench.js";
import { TestTransport, textOf } from "../../../../test/remote/test-transport.js";
import { FakeWorld, type HttpFault } from "../../../testing/index.js";

const { own, serve, legacy, transportTo } = bench();

function redirect(location: string, status = 307): HttpFault {
  return { kind: "answer", status, headers: { location } };
}

describe("the URL", () => {
  test.each([
    ["http://example.com/mcp", "https"],
    ["ftp://127.0.0.1/x", "ftp"],
    ["https://user:pa55@127.0.0.1/", "password"],
    ["nonsense", "valid URL"],
  ])("%s is refused before anything is sent, without repeating it", async (url, says) => {
    const transport = transportTo({ url });
    const error = await transport.closed();
    expect(error).toMatchObject({ code: "mcp.url_refused", message: expect.stringContaining(says) });
    expect(error.message).not.toContain("pa55");
  });

  test("http is used for a host the user allows", async () => {
    const server = await serve();
    const { port } = new URL(server.url);
    const world = new FakeWorld({ hosts: { "mcp.test": ["127.0.0.1"] } });
    const url = `http://mcp.test:${port}/mcp`;
    expect((await transportTo({ url }, {}, { world }).closed()).code).toBe("mcp.url_refused");
    const transport = transportTo({ url }, {}, { world, allowHosts: ["mcp.test"] });
    expect((await transport.initialize()).kind).toBe("result");
  });

  test("a name is resolved once, and only what was resolved then is dialled", async () => {
    const server = await serve();
    const { port } = new URL(server.url);
    const world = new FakeWorld({ hosts: { localhost: ["127.0.0.1"] } });
    const transport = await legacy({ url: `http://localhost:${port}/mcp` }, {}, { world });
    await transport.call("echo");
    await transport.call("echo");
    expect(world.lookups).toEqual(["localhost"]);
    expect(server.requests[0]?.headers["host"]).toBe(`localhost:${port}`);
  });

  test("a server that cannot be reached is looked up anew: it may have moved", async () => {
    const listener = createServer();
    const url = new URL(await listenOnLoopback(listener));
    await closeListener(listener);
    const world = new FakeWorld({ hosts: { "moving.test": ["127.0.0.1"] } });
    const transport = transportTo(
      { url: `http://moving.test:${url.port}/mcp` },
      {},
      { world, allowHosts: ["moving.test"] },
    );
    for (const lookups of [1, 2]) {
      expect(await transport.initialize()).toMatchObject({ kind: "lost", loss: { wasSent: false } });
      expect(world.lookups).toHaveLength(lookups);
    }
  });

  test("a name of this machine that leads elsewhere is refused: it would go there without TLS", async () => {
    const world = new FakeWorld({ hosts: { "app.localhost": ["203.0.113.9"] } });
    const transport = transportTo({ url: "http://app.localhost:1/mcp" }, {}, { world });
    expect(await transport.initialize()).toMatchObject({
      kind: "lost",
      loss: { wasSent: false, error: { code: "mcp.url_refused" } },
    });
  });

  test("a name that does not exist is unavailable, not refused", async () => {
    const transport = transportTo({ url: "https://nowhere.test/mcp" }, {}, { world: new FakeWorld() });
    expect(await transport.initialize()).toMatchObject({
      kind: "lost",
      loss: { wasSent: false, error: { code: "mcp.unavailable", message: expect.stringContaining("nowhere.test") } },
    });
  });
});

describe("redirects", () => {
  test("within the server are followed, with the body", async () => {
    const server = await serve();
    const transport = await legacy(server, { headers: { "x-key": "k" } });
    server.misbehave({ method: "tools/call" }, redirect("/mcp?moved=1"), 1);
    expect(textOf(await transport.call("echo", { text: "hi" }))).toBe('{"text":"hi"}');
    expect(server.requests.at(-1)).toMatchObject({ path: "/mcp?moved=1", headers: { "x-key": "k" } });
  });

  test("in circles end", async () => {
    const server = await serve();
    const transport = await legacy(server);
    await transport.call("echo");
    server.misbehave({ method: "tools/call" }, redirect("/mcp"));
    const before = server.requests.length;
    expect(await transport.call("echo")).toMatchObject({
      kind: "lost",
      loss: { wasSent: false, error: { code: "mcp.protocol", message: expect.stringContaining("more than 5") } },
    });
    expect(server.requests.length - before).toBe(6);
  });

  test.each([301, 302, 303])("%i is refused: it would turn the POST into a GET", async (status) => {
    const server = await serve();
    server.misbehave({ method: "initialize" }, redirect("/mcp", status));
    expect(await transportTo(server).initialize()).toMatchObject({
      kind: "lost",
      loss: { error: { code: "mcp.protocol" } },
    });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    ["http://example.com/"],
    ["https://169.254.169.254/latest/meta-data"],
    ["https://10.0.0.1/"],
    ["https://[::ffff:127.0.0.1]/"],
    ["file:///etc/passwd"],
    ["https://u:p@example.com/"],
  ])("to %s are refused", async (location) => {
    const server = await serve();
    server.misbehave({ method: "initialize" }, redirect(location));
    const ended = await transportTo(server).initialize();
    expect(ended).toMatchObject({ kind: "lost", loss: { wasSent: false, error: { code: "mcp.url_refused" } } });
    if (ended.kind === "lost") expect(ended.loss.httpStatus).toBeUndefined();
  });

  test("to a name that leads to a private address are refused", async () => {
    const server = await serve();
    const world = new FakeWorld({ hosts: { "rebind.test": ["192.168.0.1", "127.0.0.1"] } });
    server.misbehave({ method: "initialize" }, redirect("https://rebind.test/"));
    expect(await transportTo(server, {}, { world }).initialize()).toMatchObject({
      kind: "lost",
      loss: { error: { code: "mcp.url_refused", message: expect.stringContaining("no public address") } },
    });
    expect(world.lookups).toEqual(["rebind.test"]);
  });

  test("to another origin never see headers, tokens or sessions", async () => {
    const seen: unknown[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    const origin = await listenOnLoopback(other);
    own({ [Symbol.asyncDispose]: () => closeListener(other) });
    const host = new URL(origin).host;
    const server = await serve();
    const allowHosts = [host];
    const transport = await legacy(server, {}, { allowHosts });
    await transport.call("echo");
    server.misbehave({}, redirect(`${origin}/steal`));
    const expected = {
      kind: "lost",
      loss: { error: { code: "mcp.url_refused", message: expect.stringContaining(host) } },
    };
    expect(await transport.call("echo")).toMatchObject(expected); // it carries the session id
    expect(await transportTo(server, { headers: { "x-key": "k" } }, { allowHosts }).initialize()).toMatchObject(
      expected,
    );
    const auth = { type: "bearer", token: "t" } as const;
    expect(await transportTo(server, { auth }, { allowHosts }).initialize()).toMatchObject(expected);
    expect(seen).toEqual([]);
    expect((await transportTo(server, {}, { allowHosts }).initialize()).kind).toBe("lost");
    expect(seen).toHaveLength(1); // with nothing confidential in it, it may go where the user allows
  });
});

describe("headers", () => {
  test("of the user go with everything, but never instead of the protocol's own", async () => {
    const server = await serve();
    const world = new FakeWorld();
    const headers = {
      "X-Tenant": "acme",
      "Content-Type": "text/plain",
      Accept: "*/*",
      "MCP-Protocol-Version": "1999-01-01",
      "Mcp-Session-Id": "mine",
      Host: "evil.test",
      "Content-Length": "1",
      "Mcp-Param-X": "1",
      "Last-Event-ID": "1",
      "Transfer-Encoding": "chunked",
    };
    const transport = await legacy(server, { headers }, { world });
    await transport.call("echo");
    for (const request of server.requests) {
      expect(request.headers["x-tenant"]).toBe("acme");
      expect(request.headers["host"]).toBe(new URL(server.url).host);
      expect(request.headers["mcp-session-id"]).not.toBe("mine");
      expect(request.headers["mcp-protocol-version"]).not.toBe("1999-01-01");
      expect(request.headers["last-event-id"]).toBeUndefined();
      expect(request.headers["mcp-param-x"]).toBeUndefined();
    }
    expect(server.requests[0]?.headers).toMatchObject({ "content-type": "application/json" });
    const ignored = world.logEntries.filter(({ event }) => event === "mcp.header_ignored");
    expect(ignored).toHaveLength(9);
    expect(world.logLines.join("")).not.toMatch(/acme|evil|1999/);
  });

  test("a token is sent as Authorization and wins over a header of that name", async () => {
    const server = await serve(undefined, { bearer: "good" });
    const transport = transportTo(server, {
      headers: { authorization: "Basic bad" },
      auth: { type: "bearer", token: "good" },
    });
    expect((await transport.initialize()).kind).toBe("result");
  });

  test("that cannot be sent are named, not shown", async () => {
    const transport = new TestTransport({ url: "http://127.0.0.1:1/", headers: { "x-key": "s3cret\r\nx-evil: 1" } });
    own(transport);
    const error = await transport.closed();
    expect(error).toMatchObject({ code: "mcp.invalid_spec", message: expect.stringContaining("x-key") });
    expect(error.message).not.toContain("s3cret");
  });
});
