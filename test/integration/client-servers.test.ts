// Servers of the clients of one session: told apart, taken up again by the client that returns, failed when it does not.
import { expect } from "vitest";
import type { ChannelAnswer, ChannelRequest } from "../../src/mcp/index.js";
import type { SessionEvent } from "../../src/session/events.js";
import { SessionHost } from "../../src/session/host.js";
import { SESSION_LIMITS } from "../../src/session/limits.js";
import type { PermissionAnswer } from "../../src/session/ports.js";
import type { Session } from "../../src/session/session.js";
import { fakeWorld } from "../../src/testing/index.js";
import { scenario } from "../scenarios/scenario.js";

type Model = ConstructorParameters<typeof SessionHost>[0]["model"];

/** Calls the tool that the prompt names (`NAME {…}`), then says what it was told. To anybody else it says nothing. */
const caller: Model = {
  id: "test/caller",
  stream: async function* ({ messages }) {
    const last = messages.at(-1);
    if (last?.role === "user") {
      const [block] = last.content;
      const [name = "", given = "{}"] = (block?.type === "text" ? block.text : "").split(" ");
      if (name === "sample") {
        yield { kind: "finish", reason: "stop" };
        return;
      }
      yield { kind: "tool_call", call: { callId: "c", name, argumentsJson: given } };
      yield { kind: "finish", reason: "tool_calls" };
      return;
    }
    yield { kind: "text", text: JSON.stringify(last) };
    yield { kind: "finish", reason: "stop" };
  },
};

const SAMPLE = { maxTokens: 5, messages: [{ role: "user", content: { type: "text", text: "sample" } }] };

/** A client with a server that says whose it is; calls of `wait` are never answered. */
class Client {
  readonly id: string;
  readonly asked: string[] = [];
  /** Questions that it was shown, each with what the person is to answer. */
  readonly questions: { readonly about: string; readonly answer: (answer: PermissionAnswer) => void }[] = [];
  /** To all questions, unless they are to wait. */
  answer: PermissionAnswer | "wait" = "once";
  onCall: () => void = () => {};
  #leave: (cause?: "closed") => void = () => {};

  constructor(id: string) {
    this.id = id;
  }

  join(session: Session, mayApprove = true): this {
    const { leave } = session.join({
      client: { client: this.id, name: `name of ${this.id}` },
      ...{ role: "controller", mayApprove, isUnattended: false },
      ports: {
        ask: ({ tool }) =>
          new Promise((answer) => {
            this.questions.push({ about: tool.id, answer });
            if (this.answer !== "wait") answer(this.answer);
          }),
        approveSampling: async ({ server }) => {
          this.questions.push({ about: `sampling of ${server}`, answer: () => undefined });
          return "session";
        },
        mcpChannel: { request: (request) => this.#answer(request) },
      },
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
        return result({
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: { listChanged: true }, resources: {} },
        });
      case "resources/read":
        return result({ contents: [{ uri: "r://1", text: `resource of ${this.id}` }] });
      case "tools/list":
        return result({ tools: ["who", "wait", "sample"].map((name) => ({ name, inputSchema: { type: "object" } })) });
      case "tools/call":
        this.onCall();
        if (params["name"] === "sample" && params["inputResponses"] === undefined) {
          const inputRequests = { q: { method: "sampling/createMessage", params: SAMPLE } };
          return result({ resultType: "input_required", inputRequests, requestState: "s" });
        }
        return params["name"] === "wait"
          ? await never
          : result({ content: [{ type: "text", text: `I am ${this.id}` }] });
      default:
        return await never;
    }
  }
}

function stage(clients: readonly string[], rules?: readonly object[]) {
  const files = rules && { "/home/config.json": JSON.stringify({ permissions: { rules } }) };
  const world = fakeWorld({ env: { HOME: "/home", TENON_HOME: "/home" }, ...(files && { files }) });
  const client = { name: "tenon", version: "1" };
  const host = new SessionHost({
    ...{ world, model: caller, stateDir: "/state", client, unattended: "wait", builtin: [] },
    ...(rules && { config: {} }),
  });
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
    expect(state("zed")).toMatchObject({ state: "reconnecting", toolCount: 3 });
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

/** The server "files" of this client, in the place of all others. */
function filesOf(client: string, serverId = "same") {
  return { servers: [{ kind: "acp" as const, name: "files", serverId, client }] };
}

scenario(
  ["G720"],
  "what was allowed of a client's server is for that client: another one with the same name and the same tools is asked about",
  async () => {
    await using house = stage(["zed"]);
    const { session, ready, said, world } = house;
    const zed = new Client("zed").join(session);
    await session.setServers(filesOf("zed"));
    await ready("files");
    zed.answer = "always";
    const READ = 'tenon_read_resource {"server":"files","uri":"r://1"}';
    const all = ["mcp__files__who", READ, "mcp__files__sample"];
    const askedFor = async () => {
      const before = zed.questions.length;
      const words: string[] = [];
      for (const prompt of all) words.push(await said(prompt));
      return { asked: zed.questions.slice(before).map(({ about }) => about), words: words.join("\n") };
    };
    const names = ["mcp__files__who", "tenon_read_resource", "mcp__files__sample", "sampling of files"];
    expect(await askedFor()).toEqual({ asked: names, words: expect.stringContaining("resource of zed") });
    expect((await askedFor()).asked).toEqual([]);

    // The same client, back after its connection broke, and with another id of its server.
    zed.leave();
    await world.advance(awayMs - 1_000);
    zed.join(session);
    await ready("files");
    expect((await askedFor()).asked).toEqual([]);
    await session.setServers({ servers: [] });
    await session.setServers(filesOf("zed", "anew"));
    await ready("files");
    expect((await askedFor()).asked).toEqual([]);

    new Client("phone").join(session, false);
    await session.setServers(filesOf("phone"));
    await ready("files");
    const other = await askedFor();
    expect(other.words).toContain("I am phone");
    expect(other.words).toContain("resource of phone");
    expect(other.asked).toEqual(names);
  },
);

scenario(
  ["G721"],
  "the answer to a question about a client's server is none about the server of another client that has its name by now",
  async () => {
    await using house = stage([]);
    const { session, ready, said, until, world } = house;
    const zed = new Client("zed").join(session);
    await session.setServers(filesOf("zed"));
    await ready("files");
    zed.answer = "wait";
    for (const prompt of ["mcp__files__who", 'tenon_read_resource {"server":"files","uri":"r://1"}']) {
      const count = zed.questions.length;
      const turn = said(prompt);
      await until(() => zed.questions.length === count + 1);
      const owner = count === 0 ? "phone" : "zed";
      const other = owner === "zed" ? zed : new Client("phone").join(session, false);
      await session.setServers(filesOf(owner));
      expect(await turn).toContain("another one took its place, while it was asked about; nothing was called");
      zed.questions.at(-1)?.answer("always");
      await world.advance(0);
      await ready("files");
      expect(other.asked.filter((method) => method === "tools/call" || method === "resources/read")).toEqual([]);
      const again = said(prompt);
      await until(() => zed.questions.length === count + 2);
      zed.questions.at(-1)?.answer("no");
      expect(await again).toContain("the person said no");
    }
  },
);

scenario(
  ["G722"],
  "a rule that allows a server's tools is not for a client's server of its name, unless it says so",
  async () => {
    for (const [origin, asked] of [
      [undefined, 1],
      [["client"], 0],
    ] as const) {
      await using house = stage(["github"], [{ effect: "allow", server: "github", ...(origin && { origin }) }]);
      const github = new Client("github").join(house.session);
      await house.session.configured;
      await house.ready("github");
      expect(await house.said("mcp__github__who")).toContain("I am github");
      expect(github.questions).toHaveLength(asked);
    }
  },
);
