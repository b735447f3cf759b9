// Sessions of one agent process know nothing of each other's servers; they are loaded, resumed, forked or closed with
// servers given again; no process stays behind, however the agent ends.
import { setTimeout as pause } from "node:timers/promises";
import type { Behaviour } from "../../../testing/index.js";
import { formatElapsed } from "../../terminal/stream.js";
import { type Claim, problemOf, type RunningAgent } from "../agent.js";
import type { Bench } from "../bench.js";
import { BOUNDS, type Check, type Checks, demand, waitUntil } from "../check.js";
import { CheckedSession, callsOf, demandCall } from "../session.js";
import { failure, type TestServer } from "../test-servers.js";

const LEAKS = "Tools and credentials of one project become usable from another, opened in the same editor.";

export const ISOLATION: Checks = {
  "isolation.tools": {
    title: "of three sessions in one process each is offered the tools of its own servers only",
    why: LEAKS,
    needsModel: true,
    run: async (bench) => {
      const servers = [bench.stdio(), bench.stdio()] as const;
      const [first, second] = await openBoth(bench, [servers[0]], [servers[1]]);
      const sessions = [first, second, await bench.openWith([], first.agent)];
      demand(new Set(sessions.map(({ id }) => id)).size === 3, "two sessions have the same id");
      const words = servers.map(({ tool }) => tool);
      for (const [at, session] of sessions.entries()) {
        const before = servers.map(callsOf);
        // Every session asks for the tools of all: what is not offered may still be found by a search, or be callable.
        const turn = await session.turn(words);
        for (const [of, server] of servers.entries()) {
          const isCalled = callsOf(server) > (before[of] ?? 0);
          const isOffered = turn.offered.some((name) => name.includes(server.tool));
          const verb = isCalled ? "called" : "offered";
          const isOwn = of === at;
          demand(isOwn || !(isOffered || isCalled), `a tool of session ${of + 1} was ${verb} in session ${at + 1}`);
          if (isOwn) demandCall(server, turn);
        }
      }
      return "three sessions (two with a server each, one with none): no tool crossed over";
    },
  },
  "isolation.same-name": {
    title: "two sessions with servers of the same name get their own each, with their own environment",
    why: "The second project talks to the first one's server, with the first one's credentials.",
    run: async (bench) => {
      const name = bench.word("srv");
      const recorded = { recordEnv: ["ACP_CHECK_WHO"] };
      const serverOf = (value: string) => bench.stdio(recorded, { name, env: [{ name: "ACP_CHECK_WHO", value }] });
      const [one, two] = [serverOf("one"), serverOf("two")];
      const [first, second] = await openBoth(bench, [one], [two]);
      const checked = [
        { number: 1, session: first, server: one, own: '"one"' },
        { number: 2, session: second, server: two, own: '"two"' },
      ];
      for (const { number, session, server, own } of checked) {
        await session.use(server);
        const isOwn = server.starts().every(({ values }) => JSON.stringify(values).includes(own));
        demand(isOwn, `session ${number}'s server ran with another environment`);
      }
      return "two processes, each with the environment of its own session";
    },
  },
  "isolation.updates": {
    title: "nothing about one session's servers is told to another",
    why: "Names, errors and paths of one project show up in another one's window.",
    run: async (bench) => {
      const [failing, good] = [bench.stdio(failure("acp-check: broken")), bench.stdio()];
      const [first, second] = await openBoth(bench, [failing, good], []);
      await first.connected(good);
      if (bench.hasModel) {
        await first.turn([good.tool]);
        await second.turn([]);
      }
      await pause(BOUNDS.quietMs);
      const heard = JSON.stringify(second.updates);
      for (const { name, tool } of [failing, good]) {
        demand(!heard.includes(name) && !heard.includes(tool), `session 2 was told of session 1's server "${name}"`);
      }
      const [one, two] = [first.updates.length, second.updates.length];
      return `${one} updates in the first session, ${two} in the second, none mixed up`;
    },
  },
  "isolation.close": {
    title: "closing one session leaves the servers of another running",
    why: "Closing one tab breaks the tools in another.",
    needs: ["sessionCapabilities.close"],
    run: async (bench) => {
      const name = bench.word("srv");
      const [one, two] = [bench.stdio({}, { name }), bench.stdio({}, { name })];
      const [first, second] = await openBoth(bench, [one], [two]);
      await first.connected(one);
      await second.connected(two);
      await first.close();
      await pause(BOUNDS.quietMs);
      demand(two.living().length > 0, "the other session's server ended too");
      await second.use(two);
      if (bench.hasModel) demand(callsOf(one) === 0, "the call went to the closed session's server");
      return "the other session's server lives and was used";
    },
  },
};

/** Two sessions of one agent. */
async function openBoth(bench: Bench, servers: readonly TestServer[], others: readonly TestServer[]) {
  const agent = await bench.start();
  const sessions = [await bench.openWith(servers, agent), await bench.openWith(others, agent)] as const;
  demand(sessions[0].id !== sessions[1].id, "two sessions have the same id");
  return sessions;
}

const LOST =
  "After a restart of the editor the conversation is back, but its tools are gone or are those of yesterday.";

export const SESSION: Checks = {
  "session.load": comesBack("load", "loadSession"),
  "session.resume": comesBack("resume", "sessionCapabilities.resume"),
  "session.fork": {
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
  "session.close": {
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
};

/** In a new process, as after a restart of the editor, with another server than before. */
function comesBack(verb: "load" | "resume", claim: Claim): Check {
  return {
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

export const LEAK: Checks = {
  "leak.close": {
    ...leak("after session/close no process of its servers is left", {}, (session) => session.close()),
    needs: [CLOSE],
  },
  "leak.close-stubborn": {
    ...leak("session/close ends servers that do not end by themselves too", STUBBORN, (session) => session.close()),
    needs: [CLOSE],
  },
  "leak.eof": leak("when the client is gone (end of input) no server is left", STUBBORN, ({ agent }) =>
    agent.endInput(),
  ),
  "leak.sigterm": leak("after SIGTERM to the agent no server is left", STUBBORN, ({ agent }) =>
    agent.connection.link.kill("SIGTERM"),
  ),
  "leak.sigkill": leak("after SIGKILL of the agent no server is left", STUBBORN, ({ agent }) => {
    agent.connection.link.kill("SIGKILL");
    agent.endInput();
  }),
  "leak.http": {
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
  "exit.eof": exit("the agent itself ends when its input does", (agent) => agent.endInput()),
  "exit.sigterm": exit("the agent itself ends on SIGTERM", (agent) => agent.connection.link.kill("SIGTERM")),
};

function leak(title: string, behaviour: Behaviour, act: (session: CheckedSession) => Promise<void> | void): Check {
  return {
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

function exit(title: string, act: (agent: RunningAgent) => void): Check {
  return {
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
