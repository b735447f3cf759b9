// A connection to a remote server: aliases, credentials, the address rules, eras, refusals, the end of a session.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { McpConnection, type ServerSpec } from "../../src/mcp/index.js";
import { echoTool, type HttpFault, scriptedHttpServer } from "../../src/testing/index.js";
import { nodeWorld, stderrLog } from "../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { callOptions, connected, remoteSpec, unending } from "./real-server.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const world = nodeWorld({ log: stderrLog("error") });
const client = { name: "scenario", version: "1" };
const GREETER = {
  tools: [{ name: "greet", description: "Greets the person", reply: { kind: "text", text: "good evening" } as const }],
};

scenario(["D3", "M1"], "every name for Streamable HTTP works in a config file, with a bearer token", async () => {
  using home = new TemporaryFolder();
  await using server = await scriptedHttpServer(GREETER, { bearer: "s3cret" });
  for (const type of ["http", "streamable-http", "streamableHttp", "websocket"]) {
    const config = join(home.path, "servers.json");
    const web = { type, url: server.url, auth: { type: "bearer", token: "s3cret" } };
    writeFileSync(config, JSON.stringify({ mcpServers: { web } }));
    const args = [TENON, "chat", "-p", "greet me", "--mcp-config", config, "--yes"];
    const { stdout, stderr } = await runCommand(agentNode(), args, { env: cleanEnv(home.path), cwd: home.path });
    expect(stdout, `${type}: ${stderr}`).toContain("good evening");
    expect(`${stdout}${stderr}`).not.toContain("s3cret");
  }
});

scenario(["E6", "M5"], "plain http is for loopback and for hosts the user allows", async () => {
  await using server = await scriptedHttpServer(GREETER);
  const url = server.url.replace("127.0.0.1", "intranet.example");
  // No name server is asked: this host is where the test says it is.
  const there = { ...world, lookup: async () => [{ address: "127.0.0.1", family: 4 as const }] };
  const refused = new McpConnection(remoteSpec("far", url), { world: there, cwd: "/", client });
  refused.start();
  const state = await refused.state.until(({ kind }) => kind === "failed", unending());
  expect(state).toMatchObject({ cause: { code: "mcp.url_refused", message: expect.stringContaining("https") } });
  expect(server.requests).toHaveLength(0);
  await refused.close();

  const options = { world: there, allowHosts: ["intranet.example"] };
  await using allowed = await connected(remoteSpec("far", url), "/", options);
  expect((await allowed.call("greet", {}, callOptions())).kind).toBe("answered");
});

scenario(["M5"], "a server that wants credentials is a state that says what is missing", async () => {
  await using server = await scriptedHttpServer(GREETER, { bearer: "right" });
  const spec = (token?: string): ServerSpec => ({
    kind: "http",
    name: "web",
    url: server.url,
    headers: {},
    ...(token !== undefined && { auth: { type: "bearer", token } }),
  });
  for (const token of [undefined, "wrong"]) {
    await using connection = new McpConnection(spec(token), { world, cwd: "/", client });
    connection.start();
    const state = await connection.state.until(({ kind }) => kind === "failed", unending());
    expect(state).toMatchObject({ cause: { code: "mcp.unauthorized", message: expect.stringContaining("401") } });
    expect(await connection.call("greet", {}, callOptions())).toMatchObject({ kind: "failed" });
  }
  await using connection = await connected(spec("right"), "/");
  expect((await connection.call("greet", {}, callOptions())).kind).toBe("answered");
});

const PROBE_ANSWERS: readonly HttpFault[] = [
  { kind: "answer", status: 500, body: "<h1>Oops</h1>", headers: { "content-type": "text/html" } },
  { kind: "answer", status: 503 },
  { kind: "answer", status: 200, body: "<html>", headers: { "content-type": "text/html" } },
  { kind: "answer", status: 202 },
  { kind: "hang" },
];

scenario(["M3"], "a probe answered with 5xx, HTML, 202 or nothing means legacy", async () => {
  for (const fault of PROBE_ANSWERS) {
    await using server = await scriptedHttpServer(GREETER);
    server.misbehave({ method: "server/discover" }, fault);
    await using connection = await connected(remoteSpec("web", server.url), "/", { limits: { probeTimeoutMs: 300 } });
    expect(connection.state.value, JSON.stringify(fault)).toMatchObject({ agreement: { era: "legacy" } });
    expect((await connection.call("greet", {}, callOptions())).kind).toBe("answered");
  }
});

scenario(["M3"], "a modern server over HTTP is spoken to in its era: no session, no initialize", async () => {
  await using server = await scriptedHttpServer({ era: "modern", tools: [echoTool()] });
  await using connection = await connected(remoteSpec("web", server.url), "/");
  expect(connection.state.value).toMatchObject({ agreement: { era: "modern", protocolVersion: "2026-07-28" } });
  expect((await connection.call("echo", { text: "hi" }, callOptions())).kind).toBe("answered");
  expect(server.requests.map(({ message }) => message?.["method"])).not.toContain("initialize");
  for (const { headers } of server.requests) expect(headers).not.toHaveProperty("mcp-session-id");
});

scenario(["M5", "D8"], "a lost session is opened anew and the call goes on; closing tells the server", async () => {
  await using server = await scriptedHttpServer(GREETER);
  const connection = await connected(remoteSpec("web", server.url), "/");
  expect(server.sessionCount).toBe(1);
  await server.forgetSessions();
  expect((await connection.call("greet", {}, callOptions())).kind).toBe("answered");
  expect(server.sessionCount).toBe(1);
  await connection.close();
  expect(server.sessionCount).toBe(0);
  expect(server.requests.at(-1)?.method).toBe("DELETE");
});
