// `tenon mcp serve` over HTTP on a fake machine: what becomes of clients that leave, with a clock that the test moves.
import { request as httpRequest, type IncomingMessage } from "node:http";
import { expect } from "vitest";
import { LiveTokens, tokensInFile } from "../../src/gateway/index.js";
import { serveHttp, unstoredSessions } from "../../src/serve/index.js";
import { SERVE_LIMITS } from "../../src/serve/limits.js";
import { createHost } from "../../src/session/index.js";
import { type Behaviour, echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../../src/testing/index.js";
import { scenario } from "../scenarios/scenario.js";

const STEP_MS = 20;
const HOUR_MS = 3_600_000;
const HELD: Behaviour = {
  tools: [echoTool(), { name: "slow", steps: [{ do: "delay", ms: 60_000 }], reply: { kind: "text", text: "done" } }],
};

class Place implements AsyncDisposable {
  readonly world: FakeWorld;
  readonly #token: string;
  readonly #close: () => Promise<void>;

  private constructor(world: FakeWorld, token: string, close: () => Promise<void>) {
    this.world = world;
    this.#token = token;
    this.#close = close;
  }

  static async open(behaviour: Behaviour): Promise<Place> {
    const config = { mcpServers: { work: { command: "server" } }, permissions: { rules: [{ effect: "allow" }] } };
    const world = fakeWorld({
      env: { TENON_HOME: "/home", HOME: "/home" },
      files: { "/home/config.json": JSON.stringify(config) },
      spawn: spawnsServer(behaviour),
    });
    const tokens = new LiveTokens(world, tokensInFile(world, "/state"));
    await tokens.ready();
    const host = createHost({ world, model: "offline/operator", store: unstoredSessions(), builtin: [], config: {} });
    const settings = { isSearch: false, hasOwnNames: false, allowsAsked: false };
    const serving = serveHttp(
      { host, cwd: "/project", settings },
      { listen: { kind: "tcp", host: "127.0.0.1", port: 7_000 }, tokens, hosts: [] },
    );
    await serving.start();
    const made = await tokens.kept.create({ name: "agent", scopes: ["tools"], expiresInMs: HOUR_MS * 10 });
    await tokens.ready();
    const place: Place = new Place(world, made.token, async () => {
      const closing = (async () => {
        await serving.close();
        await host.close();
        await tokens[Symbol.asyncDispose]();
      })();
      await place.during(closing);
    });
    return place;
  }

  /** Time goes on in small steps until it is settled: a server takes some to start and to end. */
  async during<T>(work: Promise<T>): Promise<T> {
    const progress = { isOver: false };
    const over = () => {
      progress.isOver = true;
    };
    work.then(over, over);
    for (let step = 0; !progress.isOver && step < 2_000; step += 1) await this.world.advance(STEP_MS);
    return await work;
  }

  /** Processes of servers that live. */
  get processes(): number {
    return this.world.children.filter((child) => child.isGroupAlive()).length;
  }

  post(message: object, session = ""): { readonly answer: Promise<Answered>; leave(): void } {
    const { world } = this;
    const sent = httpRequest({
      createConnection: () => world.servers.connect("127.0.0.1:7000"),
      method: "POST",
      path: "/mcp",
      headers: {
        host: "127.0.0.1:7000",
        authorization: `Bearer ${this.#token}`,
        accept: "application/json, text/event-stream",
        ...(session === "" ? {} : { "mcp-session-id": session }),
      },
    });
    sent.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
    const answer = new Promise<Answered>((resolve, reject) => {
      sent.on("error", reject);
      sent.on("response", (response: IncomingMessage) => {
        let text = "";
        response.on("data", (chunk: Buffer) => {
          text += String(chunk);
        });
        const { "mcp-session-id": given = "" } = response.headers;
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text, session: String(given) }));
      });
    });
    answer.catch(() => {});
    return { answer, leave: () => sent.destroy() };
  }

  async begin(): Promise<string> {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const { session } = await this.during(this.post({ id: 1, method: "initialize", params }).answer);
    return session;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly session: string;
}

scenario(["V318"], "a client that left in the middle of a call is forgotten, and its servers end", async () => {
  await using place = await Place.open(HELD);
  const session = await place.begin();
  expect((await place.during(place.post({ id: 2, method: "tools/list" }, session).answer)).text).toContain(
    "work__slow",
  );
  expect(place.processes).toBe(1);
  const call = place.post({ id: 3, method: "tools/call", params: { name: "work__slow" } }, session);
  await place.world.settle();
  call.leave();
  await place.world.advance(61_000); // the call ends, and nobody is there
  await place.world.advance(SERVE_LIMITS.idleMs + 10_000);
  expect(place.processes).toBe(0);
  expect((await place.during(place.post({ id: 4, method: "ping" }, session).answer)).status).toBe(404);
});
