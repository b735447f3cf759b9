// Sessions that are loaded, resumed, forked or closed with servers given again; no process stays behind, however the agent ends.
import type { Behaviour } from "../../../testing/index.js";
import { formatElapsed } from "../../terminal/stream.js";
import { type Claim, problemOf, type RunningAgent } from "../agent.js";
import { BOUNDS, type Check, demand, waitUntil } from "../check.js";
import { CheckedSession } from "../session.js";
import type { TestServer } from "../test-servers.js";

const LOST =
  "After a restart of the editor the conversation is back, but its tools are gone or are those of yesterday.";

export const SESSION: readonly Check[] = [
  comesBack("load", "loadSession"),
  comesBack("resume", "sessionCapabilities.resume"),
  {
    id: "session.fork",
    title: "servers given with session/fork are connected for the new session",
    why: LOST,
    needsModel: true,
    needs: ["sessionCapabilities.fork"],
    run: async (bench) => {
      const session = await bench.openWith([]);
      await session.turn([]);
      const server = bench.stdio();
      const forked = await session.ask("session/fork", session.agent.newSessionParams([server.entry]));
      demand(forked.ok, `session/fork failed: ${problemOf(forked)}`);
      const id = forked.result["sessionId"];
      demand(typeof id === "string" && id !== session.id, "the fork has no session id of its own");
      return await new CheckedSession(bench, session.agent, id, forked).use(server);
    },
  },
  {
    id: "session.close",
    title: "a closed session takes no prompt, and its servers can be given again to a new one",
    why: "Editors reopen the same servers all day long; what close leaves behind gets in their way.",
    needs: ["sessionCapabilities.close"],
    run: async (bench) => {
      const server = bench.stdio();
      const session = await bench.openWith([server]);
      await session.connected(server);
      await session.close();
      const late = await session.ask("session/prompt", { prompt: [{ type: "text", text: "hello" }] });
      demand(!late.ok, "a prompt to the closed session was answered as if it were open");
      const again = await bench.openWith([server], session.agent);
      return `a prompt was refused; given again, ${await again.use(server)}`;
    },
  },
];

/** In a new process, as after a restart of the editor, with another server than before. */
function comesBack(verb: "load" | "resume", claim: Claim): Check {
  return {
    id: `session.${verb}`,
    title: `servers given with session/${verb} are connected, in place of the earlier ones`,
    why: LOST,
    needsModel: true,
    needs: [claim],
    run: async (bench) => {
      const [earlier, later] = [bench.stdio(), bench.stdio()];
      const before = await bench.openWith([earlier]);
      const { stopReason } = await before.turn([]);
      demand(stopReason === "end_turn", `the turn before it ended with ${stopReason}`);
      before.agent.endInput();
      await before.agent.endsWithin(BOUNDS.exitMs);
      await before.agent[Symbol.asyncDispose]();
      const startsBefore = earlier.starts().length;
      const agent = await bench.start();
      const params = { ...agent.newSessionParams([later.entry]), sessionId: before.id };
      const back = await agent.ask(`session/${verb}`, params);
      demand(back.ok, `session/${verb} failed: ${problemOf(back)}`);
      const evidence = await new CheckedSession(bench, agent, before.id, back).use(later);
      const isBack = earlier.starts().length > startsBefore;
      demand(!isBack, "a server of the earlier set, not given again, was started");
      return evidence;
    },
  };
}

const WHY = "Processes pile up until the machine is out of memory; people have counted hundreds.";
/** It heeds nothing but SIGKILL, and has a child, as servers behind `npx` or a shell have. */
const STUBBORN: Behaviour = {
  ignoresEof: true,
  ignoresSigterm: true,
  steps: { start: [{ do: "spawn_children", count: 1 }] },
};

const CLOSE = "sessionCapabilities.close";

export const LEAK: readonly Check[] = [
  {
    ...leak("leak.close", "after session/close no process of its servers is left", {}, (session) => session.close()),
    needs: [CLOSE],
  },
  {
    ...leak(
      "leak.close-stubborn",
      "session/close ends servers that do not end by themselves too",
      STUBBORN,
      (session) => session.close(),
    ),
    needs: [CLOSE],
  },
  leak("leak.eof", "when the client is gone (end of input) no server is left", STUBBORN, ({ agent }) =>
    agent.endInput(),
  ),
  leak("leak.sigterm", "after SIGTERM to the agent no server is left", STUBBORN, ({ agent }) =>
    agent.connection.link.kill("SIGTERM"),
  ),
  leak("leak.sigkill", "after SIGKILL of the agent no server is left", STUBBORN, ({ agent }) => {
    agent.connection.link.kill("SIGKILL");
    agent.endInput();
  }),
  {
    id: "leak.http",
    title: "session/close ends the session at an HTTP server (DELETE)",
    why: "Servers keep the state of sessions nobody will come back to.",
    needs: ["mcpCapabilities.http", CLOSE],
    run: async (bench) => {
      const server = await bench.remote("http", []);
      const session = await bench.openWith([server]);
      await session.connected(server);
      await session.close();
      const isDeleted = () => server.requests().some(({ method }) => method === "DELETE");
      demand(await waitUntil(isDeleted, BOUNDS.goneMs), "no DELETE came");
      return "the server was told by DELETE";
    },
  },
  exit("exit.eof", "the agent itself ends when its input does", (agent) => agent.endInput()),
  exit("exit.sigterm", "the agent itself ends on SIGTERM", (agent) => agent.connection.link.kill("SIGTERM")),
];

function leak(
  id: string,
  title: string,
  behaviour: Behaviour,
  act: (session: CheckedSession) => Promise<void> | void,
): Check {
  return {
    id,
    title,
    why: WHY,
    run: async (bench) => {
      const servers = [bench.stdio(behaviour), bench.stdio()];
      const session = await bench.openWith(servers);
      await session.connected(...servers);
      const before = livingOf(servers);
      const since = performance.now();
      await act(session);
      const areGone = await waitUntil(() => livingOf(servers) === 0, BOUNDS.goneMs);
      demand(areGone, `${livingOf(servers)} of ${before} processes still live after ${formatElapsed(BOUNDS.goneMs)}`);
      return `${before} processes were gone after ${formatElapsed(performance.now() - since)}`;
    },
  };
}

function exit(id: string, title: string, act: (agent: RunningAgent) => void): Check {
  return {
    id,
    title,
    why: "An agent for every window ever opened stays in memory.",
    run: async (bench) => {
      const server = bench.stdio();
      const session = await bench.openWith([server]);
      await session.connected(server);
      act(session.agent);
      const tookMs = await session.agent.endsWithin(BOUNDS.exitMs);
      demand(tookMs !== undefined, `it still ran after ${formatElapsed(BOUNDS.exitMs)}`);
      return `it ended after ${formatElapsed(tookMs)}`;
    },
  };
}

function livingOf(servers: readonly TestServer[]): number {
  return servers.reduce((count, server) => count + server.living().length, 0);
}
