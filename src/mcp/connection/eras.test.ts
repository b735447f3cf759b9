// The whole way, in both eras: a connection over stdio and over HTTP to a scripted server that speaks them.
import { afterEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import {
  type Behaviour,
  echoTool,
  type FakeWorld,
  fakeWorld,
  type ScriptedHttpServer,
  type SpawnScript,
  scriptedHttpServer,
  spawnsServer,
} from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import type { ElicitRequest, ServerLog } from "../protocol/peer.js";
import { McpConnection } from "./connection.js";
import type { ConnectionOptions } from "./options.js";

const never = new AbortController().signal;
const quiet = { signal: never, onProgress: () => {} };
const owned: AsyncDisposable[] = [];

afterEach(async () => {
  for (const one of owned.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

type More = Partial<ConnectionOptions>;

async function overStdio(
  spawn: SpawnScript,
  more: More = {},
): Promise<{ connection: McpConnection; world: FakeWorld }> {
  const world = fakeWorld({ spawn });
  const spec = { kind: "stdio", name: "s", command: "server", args: [], env: {} } as const;
  const connection = new McpConnection(spec, { world, cwd: "/", client: { name: "tenon", version: "1" }, ...more });
  connection.start();
  await world.settle();
  return { connection, world };
}

async function overHttp(
  behaviour: Behaviour,
  more: More = {},
): Promise<{ connection: McpConnection; server: ScriptedHttpServer }> {
  const server = await scriptedHttpServer(behaviour);
  owned.push(server);
  const spec = { kind: "http", name: "h", url: server.url, headers: {} } as const;
  const options = { world: nodeWorld(), cwd: "/", client: { name: "tenon", version: "1" }, ...more };
  const connection = new McpConnection(spec, options);
  owned.push(connection);
  connection.start();
  await connection.state.until(({ kind }) => kind !== "connecting" && kind !== "idle", never);
  return { connection, server };
}

function eraOf({ state }: McpConnection): string {
  return state.value.kind === "ready" ? state.value.agreement.era : state.value.kind;
}

describe("over stdio", () => {
  test.each<[Behaviour["era"], string]>([
    ["legacy", "legacy"],
    ["modern", "modern"],
    ["dual", "modern"],
  ])("a %s server is spoken to in the %s era, with one process", async (era, spoken) => {
    const { connection, world } = await overStdio(spawnsServer({ ...(era && { era }), tools: [echoTool()] }));
    expect(eraOf(connection)).toBe(spoken);
    const call = connection.call("echo", { text: "hi" }, quiet);
    await world.settle();
    expect(await call).toMatchObject({ kind: "answered", content: [{ text: '{"text":"hi"}' }] });
    expect(world.children).toHaveLength(1);
    const closing = connection.close();
    await world.advance(5_000);
    await closing;
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("a server that ignores the probe is asked to initialize in place, in the same process", async () => {
    let started = 0;
    const silent: Behaviour = { steps: { "server/discover": [{ do: "never" }] }, tools: [echoTool()] };
    const { connection, world } = await overStdio((request, inWorld) => {
      started += 1;
      return spawnsServer(silent)(request, inWorld);
    });
    expect(eraOf(connection)).toBe("connecting");
    await world.advance(5_000);
    expect([eraOf(connection), started]).toEqual(["legacy", 1]);
    const closing = connection.close();
    await world.advance(5_000);
    await closing;
  });

  test("a server that dies of the probe is started again as legacy, and only then believed dead", async () => {
    const crash: Behaviour = { steps: { "server/discover": [{ do: "crash", exitCode: 3 }] }, tools: [echoTool()] };
    const { connection, world } = await overStdio(spawnsServer(crash));
    await world.advance(5_000);
    expect([eraOf(connection), world.children.length]).toEqual(["legacy", 2]);
    const closing = connection.close();
    await world.advance(5_000);
    await closing;
    const dead = await overStdio(
      spawnsServer({ steps: { start: [{ do: "crash", exitCode: 3, stderr: "no API key" }] } }),
    );
    await dead.world.advance(10_000);
    expect(dead.connection.state.value).toMatchObject({ kind: "failed", cause: { message: /3[^]*no API key/ } });
    expect(dead.world.children).toHaveLength(2);
    await dead.connection.close();
  });

  test("a change of a modern server's tools arrives", async () => {
    const changed: Behaviour = {
      era: "modern",
      tools: [
        {
          name: "grow",
          steps: [{ do: "set_tools", tools: [echoTool("new")] }, { do: "list_changed" }],
          reply: { kind: "text", text: "ok" },
        },
      ],
    };
    const { connection, world } = await overStdio(spawnsServer(changed));
    const call = connection.call("grow", {}, quiet);
    await world.advance(2_000);
    expect(await call).toMatchObject({ kind: "answered" });
    expect(connection.tools.value.map(({ name }) => name)).toEqual(["new"]);
    const closing = connection.close();
    await world.advance(5_000);
    await closing;
  });
});

describe("over HTTP", () => {
  test.each<[Behaviour["era"], string]>([
    ["legacy", "legacy"],
    ["modern", "modern"],
    ["dual", "modern"],
  ])("a %s server is spoken to in the %s era", async (era, spoken) => {
    const { connection } = await overHttp({ ...(era && { era }), tools: [echoTool()] });
    expect(eraOf(connection)).toBe(spoken);
    expect(await connection.call("echo", { text: "ü" }, quiet)).toMatchObject({ kind: "answered" });
  });

  test("a modern server's questions are answered round by round", async () => {
    const asked: ElicitRequest[] = [];
    const requestedSchema = { type: "object", properties: { size: { type: "integer", default: 0 } } };
    const inputRequests: JsonObject = {
      q: { method: "elicitation/create", params: { message: "size?", requestedSchema } },
    };
    const reply = { kind: "ask_input", inputRequests, requestState: "s", rounds: 3 } as const;
    const peer = {
      elicit: async (request: ElicitRequest) => {
        asked.push(request);
        return { action: "accept", content: {} } as const;
      },
    };
    const { connection } = await overHttp({ era: "modern", tools: [{ name: "ask", reply }] }, { peer });
    const outcome = await connection.call("ask", {}, quiet);
    const given = { inputResponses: { q: { action: "accept", content: { size: 0 } } }, requestState: "s#3" };
    expect(outcome).toMatchObject({ kind: "answered", content: [{ text: JSON.stringify(given) }] });
    expect(asked).toHaveLength(3);
  });

  test("arguments travel as headers where the schema says so, and a tool that says so wrongly is set aside", async () => {
    const region = { type: "string", "x-mcp-header": "Region" };
    const tool = (name: string, property: JsonObject) => ({
      ...echoTool(name),
      inputSchema: { type: "object", properties: { region: property } },
    });
    const wrong = tool("wrong", { ...region, "x-mcp-header": "a b" });
    const { connection, server } = await overHttp({ era: "modern", tools: [tool("right", region), wrong] });
    expect(connection.tools.value.map(({ name }) => name)).toEqual(["right"]);
    expect(connection.problems.join()).toMatch(/wrong.*no header name/);
    expect(await connection.call("right", { region: "Zürich" }, quiet)).toMatchObject({ kind: "answered" });
    const { headers } = await server.awaitMessage("tools/call");
    expect(headers["mcp-param-region"]).toBe("=?base64?WsO8cmljaA==?=");
    expect(headers["mcp-name"]).toBe("right");
  });

  test("a change of a modern server's tools arrives over the stream it listens on", async () => {
    const { connection } = await overHttp({
      era: "modern",
      tools: [
        {
          name: "grow",
          steps: [{ do: "set_tools", tools: [echoTool("new")] }, { do: "list_changed" }],
          reply: { kind: "text", text: "ok" },
        },
      ],
    });
    expect(await connection.call("grow", {}, quiet)).toMatchObject({ kind: "answered" });
    await connection.tools.until((tools) => tools.some(({ name }) => name === "new"), never);
  });

  test("a stream of changes that drops is opened again, and what was missed meanwhile is fetched", async () => {
    const { connection } = await overHttp({
      era: "modern",
      tools: [
        {
          name: "vanish",
          steps: [{ do: "set_tools", tools: [echoTool("new")] }, { do: "crash" }],
          reply: { kind: "text", text: "never comes" },
        },
      ],
    });
    expect(await connection.call("vanish", {}, quiet)).toMatchObject({ kind: "unknown" });
    await connection.tools.until((tools) => tools.some(({ name }) => name === "new"), never);
    expect(eraOf(connection)).toBe("modern");
  });

  test("log messages of a modern server come with its answers, when somebody reads them", async () => {
    const logged: ServerLog[] = [];
    const { connection } = await overHttp(
      {
        era: "modern",
        tools: [
          {
            name: "loud",
            steps: [{ do: "notify", method: "notifications/message", params: { level: "info", data: "working" } }],
            reply: { kind: "text", text: "ok" },
          },
        ],
      },
      { peer: { log: (entry) => logged.push(entry) } },
    );
    expect(await connection.call("loud", {}, quiet)).toMatchObject({ kind: "answered" });
    expect(logged).toEqual([{ level: "info", text: "working" }]);
  });
});
