// Servers changed mid-session: what stays is left alone, calls at what goes end properly, the configuration counts all along.
import { expect, test } from "vitest";
import { LIMITS } from "../../base/limits.js";
import type { ServerSpec } from "../../mcp/index.js";
import type { Model } from "../../models/index.js";
import { echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../../testing/index.js";
import type { SessionEvent } from "../events.js";
import { SessionHost } from "../host.js";
import type { Session } from "../session.js";

/** Calls the first tool of a server it is offered once, then stops. */
const caller: Model = {
  id: "test/model",
  stream: async function* ({ messages, tools }) {
    const tool = tools.find(({ name }) => name.startsWith("mcp__"));
    if (messages.length === 1 && tool) {
      yield { kind: "tool_call", call: { callId: "c", name: tool.name, argumentsJson: "{}" } };
      yield { kind: "finish", reason: "tool_calls" };
    } else {
      yield { kind: "text", text: "done" };
      yield { kind: "finish", reason: "stop" };
    }
  },
};

function setUp(options: { readonly userServers?: object; readonly spawn?: Parameters<typeof spawnsServer>[0] } = {}) {
  const world = fakeWorld({
    spawn: spawnsServer(options.spawn ?? { tools: [echoTool()] }),
    env: { TENON_HOME: "/home/.tenon" },
  });
  const { userServers } = options;
  if (userServers) world.files.write("/home/.tenon/config.json", JSON.stringify({ mcpServers: userServers }));
  const host = new SessionHost({
    world,
    model: caller,
    stateDir: "/state",
    client: { name: "t", version: "1" },
    ...(userServers ? { config: {} } : {}),
  });
  return { world, host };
}

function server(name: string, arg = ""): ServerSpec {
  return { kind: "stdio", name, command: "/bin/server", args: [arg], env: {} };
}

function listen(session: Session): SessionEvent[] {
  const heard: SessionEvent[] = [];
  (async () => {
    for await (const event of session.events()) heard.push(event);
  })().catch(() => undefined);
  return heard;
}

async function end(session: Session, world: FakeWorld): Promise<void> {
  const closing = session.close(LIMITS.exitGrace);
  await world.advance(10_000);
  await closing;
}

const standing = (session: Session) => session.servers.map(({ name, origin, state }) => `${origin}/${name} ${state}`);

test("other servers take the place of the earlier ones; those in both stay connected", async () => {
  const { world, host } = setUp();
  const session = host.createSession({ cwd: "/project", servers: [server("a"), server("b")] });
  await world.advance(100);
  await session.setServers({ servers: [server("b"), server("c")], rejected: [{ name: "d", reason: "no command" }] });
  await world.advance(10_000);
  expect(standing(session)).toEqual(["client/b ready", "client/c ready", "client/d failed"]);
  expect(world.children.map((child) => child.isGroupAlive())).toEqual([false, true, true]);
  expect(session.tools.list().map(({ source }) => source)).toEqual(expect.arrayContaining(["b", "c"]));
  expect(session.tools.list().some(({ source }) => source === "a")).toBe(false);
  await end(session, world);
});

test("a call at a server that is taken away in mid-turn ends as unknown, and the turn goes on to its end", async () => {
  const { world, host } = setUp({
    spawn: { tools: [{ name: "wait", steps: [{ do: "never" }], reply: { kind: "echo" } }] },
  });
  const session = host.createSession({ cwd: "/project", servers: [server("a")] });
  session.attach({ ask: async () => "once" });
  const heard = listen(session);
  await world.advance(100);
  const turn = session.prompt("go");
  await world.advance(100);
  await session.setServers({ servers: [] });
  await world.advance(10_000);
  expect(await turn).toMatchObject({ stopReason: "end_turn" });
  const ended = heard.flatMap((event) =>
    event.kind === "turn" && event.event.kind === "call_ended" ? event.event : [],
  );
  expect(ended).toMatchObject([{ outcome: { kind: "unknown" } }]);
  expect(session.servers).toEqual([]);
  await end(session, world);
});

test("the client's server wins over the user's of the same name with a notice, and gives it back when it goes", async () => {
  const { world, host } = setUp({ userServers: { it: { command: "/bin/server", args: ["user"] } } });
  const session = host.createSession({ cwd: "/project" });
  const heard = listen(session);
  await session.configured;
  await world.advance(100);
  expect(standing(session)).toEqual(["user/it ready"]);
  await session.setServers({ servers: [server("it", "client")] });
  await world.advance(10_000);
  expect(standing(session)).toEqual(["client/it ready"]);
  const notices = () => heard.flatMap((event) => (event.kind === "notice" ? event.text : []));
  expect(notices()).toEqual([expect.stringMatching(/"it" of the client.* replaces the one of/)]);
  await session.setServers({ servers: [] });
  await world.advance(10_000);
  expect(standing(session)).toEqual(["user/it ready"]);
  expect(notices()).toHaveLength(1); // the client asked for it: no word about a configuration that changed
  await end(session, world);
});

test("what only the entries say changes too: how tools are included, and what cannot be used", async () => {
  const { world, host } = setUp({ userServers: {} });
  const session = host.createSession({ cwd: "/project", servers: [server("a")] });
  await session.configured;
  await world.advance(100);
  const offered = () => session.tools.list().some(({ source }) => source === "a");
  expect(offered()).toBe(true);
  const includes = { a: { include: "search" } } as const;
  await session.setServers({ servers: [server("a")], includes, rejected: [{ name: "x", reason: "?" }] });
  expect(offered()).toBe(false);
  expect(standing(session)).toEqual(["client/a ready", "client/x failed"]);
  expect(world.children).toHaveLength(1);
  await end(session, world);
});

test("a closed session takes no servers", async () => {
  const { world, host } = setUp();
  const session = host.createSession({ cwd: "/project" });
  await end(session, world);
  await expect(session.setServers({ servers: [] })).rejects.toMatchObject({ code: "session.closed" });
});
