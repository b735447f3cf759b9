// `tenon mcp serve` where things go wrong in odd ways: servers that are slow, entries that lead back to it, clients that come and go.
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { SERVE_LIMITS } from "../../src/serve/limits.js";
import { type Behaviour, echoTool } from "../../src/testing/index.js";
import { ConfigBench } from "./config-bench.js";
import { agentNode, TENON } from "./peers.js";
import { scenario } from "./scenario.js";
import { RawServe, servedClient, serveOverHttp } from "./serve-bench.js";
import { entry } from "./tools/tool-session.js";

const ALLOW = { rules: [{ effect: "allow" }] };

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});

async function open(servers: object, more: object = {}): Promise<ConfigBench> {
  const bench = await ConfigBench.open();
  bench.put("home/config.json", { mcpServers: servers, ...more });
  return bench;
}

scenario(
  ["V316"],
  "while a server starts, what it does not offer stays out of reach, and what it offers can be called",
  async () => {
    // Longer than any client waits for a first list.
    const slow: Behaviour = {
      tools: [echoTool(), echoTool("by-hand")],
      steps: { initialize: [{ do: "delay", ms: 6_000 }] },
    };
    await using bench = await open(
      { work: { ...entry(slow), tools: { "by-hand": { include: "manual" } } } },
      { permissions: ALLOW },
    );
    await using raw = new RawServe(bench);
    await raw.initialize();
    const given = { text: "during the start" };
    raw.write({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    expect(await raw.next(({ id }) => id === 1)).toMatchObject({ result: { tools: [] } });
    const call = (id: number, name: string, args: object) => {
      raw.write({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
    };
    call(2, "tenon_call_tool", { name: "mcp__work__by-hand", arguments: given });
    call(3, "work__echo", given);
    const both = [await raw.next(({ id }) => id === 2 || id === 3), await raw.next(({ id }) => id === 2 || id === 3)];
    const answers = Object.fromEntries(both.map((answer) => [String(answer["id"]), JSON.stringify(answer)]));
    expect(answers["2"]).toContain("There is no tool named");
    expect(answers["3"]).toContain("during the start");
    await expect(raw.call(4, "work__by-hand", given)).resolves.toMatchObject({ error: { code: -32_602 } });
  },
);

scenario(["V317"], "an entry that starts the command itself fails with words, and the others are served", async () => {
  await using bench = await open({});
  const itself = {
    command: agentNode(),
    args: [TENON, "mcp", "serve"],
    env: { TENON_HOME: bench.home, TENON_LOG: "error" },
  };
  bench.put("home/config.json", {
    mcpServers: { itself, viaHome: { ...itself, cwd: bench.home }, work: entry({ tools: [echoTool()] }) },
    permissions: ALLOW,
  });
  await using raw = new RawServe(bench, [], "warn");
  const lines = createInterface({ input: raw.child.stderr })[Symbol.asyncIterator]();
  await raw.initialize();
  raw.write({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  expect(JSON.stringify(await raw.next(({ id }) => id === 1))).toContain("work__echo");
  let failed = "";
  while (!failed.includes('"server.failed"')) failed = String((await lines.next()).value);
  expect(JSON.parse(failed)).toMatchObject({
    server: "itself",
    error: expect.stringContaining("started by a `tenon mcp serve` of the same servers, as one of them"),
  });
});

scenario(
  ["V317"],
  "an entry with the address of the command itself is refused, and the others are served",
  async () => {
    await using bench = await open({});
    await using http = await serveOverHttp(bench);
    const itself = { type: "http", url: http.url, headers: { Authorization: `Bearer ${http.token}` } };
    bench.put("home/config.json", { mcpServers: { itself, work: entry({ tools: [echoTool()] }) }, permissions: ALLOW });
    await using client = await servedClient(bench, { http });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["work__echo"]);
    const call = { name: "itself__work__echo", arguments: { text: "round and round" } };
    await expect(client.callTool(call)).rejects.toMatchObject({ code: -32_602 });
  },
);

/** Lists one resource and a template, and puts down who follows what. */
const NOTES = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const capabilities = { resources: { subscribe: true } };
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "notes", version: "1" } },
    "resources/list": { resources: [] },
    "resources/templates/list": { resourceTemplates: [{ name: "note", uriTemplate: "note://{id}" }] },
    "resources/subscribe": {},
    "resources/unsubscribe": {},
  };
  if (!results[method]) return send({ id, error: { code: -32601, message: "Method not found" } });
  send({ id, result: results[method] });
  if (!method.endsWith("subscribe")) return;
  appendFileSync(process.argv[2], method + " " + params.uri + "\\n");
  if (method === "resources/subscribe") send({ method: "notifications/resources/updated", params: { uri: params.uri } });
});
`;

scenario(
  ["V319"],
  "a client may follow one resource after another, and no server is left with those before",
  async () => {
    await using bench = await open({});
    const record = bench.put("record", "");
    const notes = { command: agentNode(), args: [bench.put("notes.mjs", NOTES), record] };
    bench.put("home/config.json", { mcpServers: { notes } });
    await using raw = new RawServe(bench);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const streams = SERVE_LIMITS.followedResources + 10;
    for (let id = 1; id <= streams; id += 1) {
      const params = { _meta, notifications: { resourceSubscriptions: [`note://${id}`] } };
      raw.write({ jsonrpc: "2.0", id, method: "subscriptions/listen", params });
      await raw.next(({ method }) => method === "notifications/resources/updated");
      raw.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    }
    const told = () => readFileSync(record, "utf8").split("\n");
    const ended = (line: string) => line.startsWith("resources/unsubscribe");
    await expect.poll(() => told().filter(ended).length).toBe(streams);
  },
);

const send = (http: { readonly port: number; readonly token: string }, method: string, session = "", body = "") =>
  new Promise<{ readonly text: string; readonly session: string }>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${http.token}`,
      accept: "application/json, text/event-stream",
      ...(session && { "mcp-session-id": session }),
    };
    const sent = httpRequest({ host: "127.0.0.1", port: http.port, path: "/mcp", method, headers }, (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => {
        text += String(chunk);
      });
      const { "mcp-session-id": given = "" } = answer.headers;
      answer.on("end", () => resolve({ text, session: String(given) }));
    });
    sent.on("error", reject);
    sent.end(body);
  });

scenario(["V318"], "a client that comes and goes starts no more servers than one that stays", async () => {
  const stubborn: Behaviour = { tools: [echoTool()], ignoresEof: true, ignoresSigterm: true };
  await using bench = await open({ work: entry(stubborn) });
  await using http = await serveOverHttp(bench);
  const list = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  const begin = () => send(http, "POST", "", INITIALIZE);
  const begun = await Promise.all(Array.from({ length: SERVE_LIMITS.clients.perToken }, begin));
  await Promise.all(begun.map(({ session }) => send(http, "POST", session, list)));
  await Promise.all(begun.map(({ session }) => send(http, "DELETE", session)));
  expect((await begin()).text).toContain("there are 16 clients already"); // their servers do not end when they are told to
  await expect.poll(async () => (await begin()).session, { timeout: 20_000 }).not.toBe("");
});
