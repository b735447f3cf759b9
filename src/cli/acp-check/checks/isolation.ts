// Sessions of one agent process know nothing of each other's servers.
import type { RunningAgent } from "../agent.js";
import { type Check, demand } from "../check.js";
import { failure, type TestServer } from "../test-servers.js";
import { pause } from "../wait.js";
import { BOUNDS, callsOf, demandCall, demandConnected, openWith, useServer } from "./shared.js";

const LEAKS = "Tools and credentials of one project become usable from another, opened in the same editor.";

export const ISOLATION: readonly Check[] = [
  {
    id: "isolation.tools",
    title: "of three sessions in one process each is offered the tools of its own servers only",
    why: LEAKS,
    needsModel: true,
    run: async (bench) => {
      const agent = await bench.start();
      const servers = [bench.stdio(), bench.stdio()];
      const sessions = await openAll(agent, [...servers.map((server) => [server]), []]);
      const words = servers.map(({ tool }) => tool);
      for (const [at, sessionId] of sessions.entries()) {
        const before = servers.map(callsOf);
        // Every session asks for the tools of all: what is not offered may still be found by a search, or be callable.
        const turn = await bench.turn(agent, sessionId, words);
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
  {
    id: "isolation.same-name",
    title: "two sessions with servers of the same name get their own each, with their own environment",
    why: "The second project talks to the first one's server, with the first one's credentials.",
    run: async (bench) => {
      const agent = await bench.start();
      const name = bench.word("srv");
      const servers = ["one", "two"].map((value) =>
        bench.stdio({ recordEnv: ["ACP_CHECK_WHO"] }, { name, env: [{ name: "ACP_CHECK_WHO", value }] }),
      );
      const sessions = await openAll(
        agent,
        servers.map((server) => [server]),
      );
      for (const [at, server] of servers.entries()) {
        await useServer(bench, agent, sessions[at] ?? "", server);
        const values = server.starts().map(({ values: given }) => JSON.stringify(given));
        const own = at === 0 ? '"one"' : '"two"';
        demand(
          values.every((text) => text.includes(own)),
          `session ${at + 1}'s server ran with another environment`,
        );
      }
      return "two processes, each with the environment of its own session";
    },
  },
  {
    id: "isolation.updates",
    title: "nothing about one session's servers is told to another",
    why: "Names, errors and paths of one project show up in another one's window.",
    run: async (bench) => {
      const agent = await bench.start();
      const [failing, good] = [bench.stdio(failure("acp-check: broken")), bench.stdio()];
      const [first = "", second = ""] = await openAll(agent, [[failing, good], []]);
      await demandConnected(bench, { agent, sessionId: first }, [good]);
      if (bench.hasModel) {
        await bench.turn(agent, first, [good.tool]);
        await bench.turn(agent, second, []);
      }
      await pause(BOUNDS.quietMs);
      const heard = JSON.stringify(agent.updatesOf(second));
      for (const { name, tool } of [failing, good]) {
        demand(!heard.includes(name) && !heard.includes(tool), `session 2 was told of session 1's server "${name}"`);
      }
      const counts = [first, second].map((id) => agent.updatesOf(id).length);
      return `${counts[0]} updates in the first session, ${counts[1]} in the second, none mixed up`;
    },
  },
  {
    id: "isolation.close",
    title: "closing one session leaves the servers of another running",
    why: "Closing one tab breaks the tools in another.",
    ruledOut: ({ mayClose }) => (mayClose ? undefined : "sessionCapabilities.close is not claimed"),
    run: async (bench) => {
      const agent = await bench.start();
      const name = bench.word("srv");
      const [one, two] = [bench.stdio({}, { name }), bench.stdio({}, { name })];
      const [first = "", second = ""] = await openAll(agent, [[one], [two]]);
      await demandConnected(bench, { agent, sessionId: first }, [one]);
      await demandConnected(bench, { agent, sessionId: second }, [two]);
      const closed = await agent.ask("session/close", { sessionId: first });
      demand(closed.ok, "session/close failed");
      await pause(BOUNDS.quietMs);
      demand(two.living().length > 0, "the other session's server ended too");
      await useServer(bench, agent, second, two);
      if (bench.hasModel) demand(callsOf(one) === 0, "the call went to the closed session's server");
      return "the other session's server lives and was used";
    },
  },
];

async function openAll(agent: RunningAgent, groups: readonly (readonly TestServer[])[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const servers of groups) {
    const { sessionId } = await openWith(
      agent,
      servers.map(({ entry }) => entry),
    );
    ids.push(sessionId);
  }
  demand(new Set(ids).size === ids.length, "two sessions have the same id");
  return ids;
}
