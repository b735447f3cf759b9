// The server of a gateway with a small agent behind it: both transports, access, limits, and what is left behind.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { agent, client, methods } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { expect } from "vitest";
import {
  type Gateway,
  type GatewayAccess,
  type GatewayServerOptions,
  loadGatewayServer,
  type NewToken,
} from "../../src/gateway/index.js";
import { nodeWorld } from "../../src/index.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { ATTACKS, type Target } from "../scenarios/gateway/attacks.js";
import { send, WireClient } from "../scenarios/gateway/wire-client.js";
import { scenario } from "../scenarios/scenario.js";

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Answers every request with the account it belongs to; counts what reached it. */
class EchoAgent {
  readonly heard: string[] = [];

  readonly connect: GatewayServerOptions["connect"] = ({ account }, stream) => {
    agent({ name: "echo" })
      .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
      .onRequest(methods.agent.session.list, () => ({ sessions: [] }))
      .onRequest(methods.agent.session.new, () => {
        this.heard.push("session/new");
        return { sessionId: `s-${account}` };
      })
      .onRequest(methods.agent.session.prompt, async ({ params }) => {
        this.heard.push("session/prompt");
        const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: account } };
        await stream.send({
          jsonrpc: "2.0",
          method: "session/update",
          params: { sessionId: params.sessionId, update },
        });
        return { stopReason: "end_turn" as const };
      })
      .connect(stream);
  };
}

interface Running extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly access: GatewayAccess;
  readonly echo: EchoAgent;
  readonly home: TemporaryFolder;
  readonly port: number;
  readonly socketPath: string;
  audit(): string;
  token(name: string, scopes?: readonly ("read" | "prompt" | "approve" | "tools" | "admin")[]): Promise<string>;
}

async function running(more: Partial<GatewayServerOptions> = {}): Promise<Running> {
  const home = new TemporaryFolder();
  const world = nodeWorld({ env: cleanEnv(home.path), log: QUIET });
  const { startGateway, openAccess } = await loadGatewayServer();
  const access = await openAccess(world, home.path);
  const echo = new EchoAgent();
  const socketPath = join(home.path, "gateway", "gateway.sock");
  const listen = [{ kind: "tcp", host: "127.0.0.1", port: 0 } as const, { kind: "socket", path: socketPath } as const];
  const gateway = await startGateway({ world, listen, access, connect: echo.connect, ...more });
  return {
    gateway,
    access,
    echo,
    home,
    socketPath,
    port: Number(gateway.addresses[0]?.split(":")[1]),
    audit: () => readFileSync(access.audit.path, "utf8"),
    token: async (name, scopes = ["read", "prompt"]) => {
      const { token } = await access.tokens.file.create({ name, scopes });
      await access.tokens.ready();
      return token;
    },
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await access[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

scenario(["G300"], "a client speaks ACP over WebSocket, by token and by socket, and over Streamable HTTP", async () => {
  await using place = await running();
  const authorization = `Bearer ${await place.token("laptop")}`;
  const remote = await WireClient.open(`ws://127.0.0.1:${place.port}/acp`, { authorization });
  expect((await remote.initialize()).result).toMatchObject({ protocolVersion: 1 });
  const { result } = await remote.request("session/new", { cwd: "/", mcpServers: [] });
  expect(result).toEqual({ sessionId: "s-me" });
  const prompt = { sessionId: "s-me", prompt: [{ type: "text", text: "hello" }] };
  expect((await remote.request("session/prompt", prompt)).result).toEqual({ stopReason: "end_turn" });
  expect(remote.received.map(({ method }) => method)).toContain("session/update");
  await remote.close();
  const local = await WireClient.open(`ws+unix:${place.socketPath}:/acp`);
  expect((await local.initialize()).result).toMatchObject({ protocolVersion: 1 });
  await local.close();
  const updates: unknown[] = [];
  const connection = client({ name: "http" })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
    })
    .connect(createHttpStream(`http://127.0.0.1:${place.port}/acp`, { headers: { authorization } }));
  await connection.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const session = await connection.agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
  expect(session.sessionId).toBe("s-me");
  const ended = await connection.agent.request(methods.agent.session.prompt, prompt as never);
  expect(ended.stopReason).toBe("end_turn");
  expect(updates).toHaveLength(1);
  connection.close();
  await connection.closed;
  expect(place.audit().match(/"event":"connected"/gu)).toHaveLength(3);
});

scenario(["G301", "G311"], "health is open, everything else needs a token", async () => {
  await using place = await running();
  const at = { host: "127.0.0.1", port: place.port };
  expect((await send(at, { path: "/healthz" })).status).toBe(200);
  expect((await send(at, { path: "/readyz" })).body).toBe("ready\n");
  expect((await send(at, { path: "/metrics" })).body).toContain("tenon_gateway_connections");
  expect((await send(at, { path: "/elsewhere" })).status).toBe(404);
  expect(await send(at, { method: "POST", body: "{}" })).toMatchObject({ status: 401, body: "Unauthorized\n" });
  place.gateway.drain();
  expect((await send(at, { path: "/readyz" })).status).toBe(503);
});

scenario(
  ["G301", "G303", "G304", "G305", "G307", "G308", "G309", "G313"],
  "attacks on the server: none reaches the agent, each is written down, no token or environment is kept",
  async () => {
    await using place = await running();
    const tokens = new Map<string, string>();
    const target: Target = {
      host: "127.0.0.1",
      port: place.port,
      socketPath: place.socketPath,
      token: async (more = {}) => {
        const given: NewToken = { name: `t${tokens.size}`, scopes: ["read", "prompt"], ...more };
        const { token, listed } = await place.access.tokens.file.create(given);
        await place.access.tokens.ready();
        tokens.set(token, listed.id);
        return token;
      },
      revoke: async (token) => {
        await place.access.tokens.file.revoke(tokens.get(token) ?? "");
      },
    };
    const attacks = Object.entries(ATTACKS).filter(([, { needsSessions }]) => needsSessions !== true);
    expect(attacks.length).toBeGreaterThanOrEqual(20);
    for (const [index, [name, { run, logged }]] of attacks.entries()) {
      const from = `127.0.1.${index + 1}`;
      await run(target, from).catch((cause: unknown) => {
        throw new Error(`${name}: ${String(cause)}`, { cause });
      });
      const written = new RegExp(logged.source.replace("ADDRESS", from.replaceAll(".", "\\.")), "u");
      await expect.poll(() => place.audit(), { message: name }).toMatch(written);
    }
    expect(place.echo.heard).toEqual([]);
    const kept = readdirSync(place.home.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    for (const canary of [...tokens.keys(), "env-canary-over-tcp"])
      expect(kept.some((text) => text.includes(canary.replace("tng_", "")))).toBe(false);
  },
  { platform: "linux", timeoutMs: 60_000 },
);
