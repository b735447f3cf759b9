// Sessions of one agent process know nothing of each other's servers.
import { setTimeout as pause } from "node:timers/promises";
import type { Bench } from "../bench.js";
import { BOUNDS, type Check, demand } from "../check.js";
import { callsOf, demandCall } from "../session.js";
import { failure, type TestServer } from "../test-servers.js";

const LEAKS = "Tools and credentials of one project become usable from another, opened in the same editor.";

export const ISOLATION: readonly Check[] = [
  {
    id: "isolation.tools",
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
  {
    id: "isolation.same-name",
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
  {
    id: "isolation.updates",
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
  {
    id: "isolation.close",
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
];

/** Two sessions of one agent. */
async function openBoth(bench: Bench, servers: readonly TestServer[], others: readonly TestServer[]) {
  const agent = await bench.start();
  const sessions = [await bench.openWith(servers, agent), await bench.openWith(others, agent)] as const;
  demand(sessions[0].id !== sessions[1].id, "two sessions have the same id");
  return sessions;
}
