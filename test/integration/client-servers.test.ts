// Servers of the clients of one session: told apart, taken up again by the client that returns, failed when it does not.
import { expect } from "vitest";
import type { ChannelAnswer, ChannelRequest } from "../../src/mcp/index.js";
import type { SessionEvent } from "../../src/session/events.js";
import { SessionHost } from "../../src/session/host.js";
import { SESSION_LIMITS } from "../../src/session/limits.js";
import type { Session } from "../../src/session/session.js";
import { fakeWorld } from "../../src/testing/index.js";
import { scenario } from "../scenarios/scenario.js";

type Model = ConstructorParameters<typeof SessionHost>[0]["model"];

/** Calls the tool that the prompt names, then says what it was told. */
const caller: Model = {
  id: "test/caller",
  stream: async function* ({ messages }) {
    const last = messages.at(-1);
    if (last?.role === "user") {
      const [block] = last.content;
      const name = block?.type === "text" ? block.text : "";
      yield { kind: "tool_call", call: { callId: "c", name, argumentsJson: "{}" } };
      yield { kind: "finish", reason: "tool_calls" };
      return;
    }
    yield { kind: "text", text: JSON.stringify(last) };
    yield { kind: "finish", reason: "stop" };
  },
};

/** A client with a server that says whose it is; calls of `wait` are never answered. */
class Client {
  readonly id: string;
  readonly asked: string[] = [];
  onCall: () => void = () => {};
  #leave: (cause?: "closed") => void = () => {};

  constructor(id: string) {
    this.id = id;
  }

  join(session: Session): this {
    const { leave } = session.join({
      client: { client: this.id, name: `name of ${this.id}` },
      ...{ role: "controller", mayApprove: true, isUnattended: false },
      ports: { ask: async () => "once", mcpChannel: { request: (request) => this.#answer(request) } },
    });
    this.#leave = leave;
    return this;
  }

  leave(cause?: "closed"): void {
    this.#leave(cause);
  }

  async #answer({ method, params }: ChannelRequest): Promise<ChannelAnswer> {
    this.asked.push(method);
    const never = new Promise<never>(() => {});
    const result = (value: object): ChannelAnswer => ({ kind: "result", result: JSON.parse(JSON.stringify(value)) });
    switch (method) {
      case "server/discover":
        return result({ supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } });
      case "tools/list":
        return result({ tools: ["who", "wait"].map((name) => ({ name, inputSchema: { type: "object" } })) });
      case "tools/call":
        this.onCall();
        return params["name"] === "wait"
          ? await never
          : result({ content: [{ type: "text", text: `I am ${this.id}` }] });
      default:
        return await never;
    }
  }
}

function stage(clients: readonly string[]) {
  const world = fakeWorld({ env: { HOME: "/home" } });
  const client = { name: "tenon", version: "1" };
  const host = new SessionHost({ world, model: caller, stateDir: "/state", client, unattended: "wait", builtin: [] });
  const session = host.createSession({
    cwd: "/work",
    servers: clients.map((id) => ({ kind: "acp", name: id, serverId: "same", client: id })),
  });
  const events: SessionEvent[] = [];
  const reading = (async () => {
    for await (const event of session.events()) events.push(event);
  })();
  const state = (name: string) => session.view().servers.find((server) => server.name === name);
  const until = async (isSo: () => boolean) => {
    for (let passed = 0; !isSo() && passed < 20_000; passed += 50) await world.advance(50);
    expect(isSo()).toBe(true);
  };
  const ready = (name: string) => until(() => state(name)?.state === "ready");
  const said = async (prompt: string) => {
    const seen = events.length;
    await session.prompt([{ type: "text", text: prompt }]);
    return JSON.stringify(events.slice(seen));
  };
  return {
    ...{ world, session, state, ready, until, said, events },
    [Symbol.asyncDispose]: async () => {
      await host.close();
      await reading;
    },
  };
}

const { awayMs } = SESSION_LIMITS.clients;

scenario(["G610"], "two clients with the same server id are told apart", async () => {
  await using house = stage(["zed", "phone"]);
  const { session, ready, said } = house;
  const [zed, phone] = [new Client("zed").join(session), new Client("phone").join(session)];
  await ready("zed");
  await ready("phone");
  expect(await said("mcp__phone__who")).toContain("I am phone");
  expect(await said("mcp__zed__who")).toContain("I am zed");
  for (const { asked } of [zed, phone]) expect(asked.filter((method) => method === "tools/call")).toHaveLength(1);
});

scenario(
  ["G604"],
  "a client that goes takes its running call with it: the outcome is unknown at once, and the session says why",
  async () => {
    await using house = stage(["zed"]);
    const { world, session, ready, said, state, until } = house;
    const zed = new Client("zed").join(session);
    await ready("zed");
    zed.onCall = () => zed.leave();
    const beganMs = world.monotonicMs();
    const words = await said("mcp__zed__wait");
    expect(world.monotonicMs()).toBe(beganMs);
    expect(words).toContain("whether it took effect is unknown");
    expect(words).toContain("the client that has this server (name of zed) is gone");
    await until(() => state("zed")?.state === "reconnecting");
    expect(state("zed")).toMatchObject({ error: expect.stringContaining("it is waited for 60 s") });
  },
);

scenario(
  ["G605"],
  "back within the grace it is asked again; later its servers have failed with the reason, and are connected anew",
  async () => {
    await using house = stage(["zed"]);
    const { world, session, ready, said, state, events } = house;
    const zed = new Client("zed").join(session);
    await ready("zed");
    zed.leave();
    await world.advance(awayMs - 1_000);
    expect(state("zed")).toMatchObject({ state: "reconnecting", toolCount: 2 });
    zed.join(session);
    await ready("zed");
    expect(await said("mcp__zed__who")).toContain("I am zed");

    zed.leave();
    await world.advance(awayMs + 1_000);
    const reason = "the client that has this server (name of zed) left, and did not return within 60 s";
    expect(state("zed")).toMatchObject({ state: "failed", error: expect.stringContaining(reason) });
    expect(JSON.stringify(events)).toContain(reason);
    zed.join(session);
    await ready("zed");
    expect(await said("mcp__zed__who")).toContain("I am zed");
  },
);

scenario(
  ["G605"],
  "a client that closes the session is not waited for, and has its servers again when it opens it",
  async () => {
    await using house = stage(["zed"]);
    const { session, ready, state, until } = house;
    const zed = new Client("zed").join(session);
    await ready("zed");
    zed.leave("closed");
    await until(() => state("zed")?.state === "failed");
    expect(state("zed")?.error).toContain("the client that has this server (name of zed) has closed the session");
    zed.join(session);
    await ready("zed");
  },
);

scenario(
  ["G605"],
  "a client that comes back before its old connection is found dead has its servers at once",
  async () => {
    await using house = stage(["zed"]);
    const { world, session, ready, said } = house;
    const zed = new Client("zed").join(session);
    await ready("zed");
    const beganMs = world.monotonicMs();
    zed.join(session);
    await world.advance(0);
    await ready("zed");
    expect(zed.asked.filter((method) => method === "server/discover")).toHaveLength(2);
    expect(world.monotonicMs() - beganMs).toBeLessThan(1_000);
    expect(await said("mcp__zed__who")).toContain("I am zed");
  },
);

scenario(["G610"], "another client does not answer for the one that is away", async () => {
  await using house = stage(["zed"]);
  const { session, ready, state, until, world } = house;
  const zed = new Client("zed").join(session);
  await ready("zed");
  const phone = new Client("phone").join(session);
  zed.leave();
  await until(() => state("zed")?.state === "reconnecting");
  await world.advance(awayMs);
  expect(state("zed")?.state).toBe("failed");
  expect(phone.asked).toEqual([]);
});
