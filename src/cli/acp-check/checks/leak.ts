// Nothing stays behind: not after a session, not after the agent, however it ends.

import type { Behaviour } from "../../../testing/index.js";
import type { RunningAgent } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, demand } from "../check.js";
import type { TestServer } from "../test-servers.js";
import { seconds, waitUntil } from "../wait.js";
import { BOUNDS, demandConnected, openWith } from "./shared.js";

const WHY = "Processes pile up until the machine is out of memory; people have counted hundreds.";
const MAY_CLOSE: Pick<Check, "ruledOut"> = {
  ruledOut: ({ mayClose }) => (mayClose ? undefined : "sessionCapabilities.close is not claimed"),
};
/** It heeds nothing but SIGKILL, and has a child, as servers behind `npx` or a shell have. */
const STUBBORN: Behaviour = {
  ignoresEof: true,
  ignoresSigterm: true,
  steps: { start: [{ do: "spawn_children", count: 1 }] },
};

type Act = (agent: RunningAgent, sessionId: string) => Promise<void>;

const close: Act = async (agent, sessionId) => {
  const closed = await agent.ask("session/close", { sessionId });
  demand(closed.ok, "session/close failed");
};

export const LEAK: readonly Check[] = [
  { ...leak("leak.close", "after session/close no process of its servers is left", {}, close), ...MAY_CLOSE },
  {
    ...leak("leak.close-stubborn", "session/close ends servers that do not end by themselves too", STUBBORN, close),
    ...MAY_CLOSE,
  },
  leak("leak.eof", "when the client is gone (end of input) no server is left", STUBBORN, async (agent) =>
    agent.endInput(),
  ),
  leak("leak.sigterm", "after SIGTERM to the agent no server is left", STUBBORN, async (agent) =>
    agent.connection.link.kill("SIGTERM"),
  ),
  leak("leak.sigkill", "after SIGKILL of the agent no server is left", STUBBORN, async (agent) => {
    agent.connection.link.kill("SIGKILL");
    agent.endInput();
  }),
  {
    id: "leak.http",
    title: "session/close ends the session at an HTTP server (DELETE)",
    why: "Servers keep the state of sessions nobody will come back to.",
    ruledOut: ({ kinds, mayClose }) => {
      if (!kinds.includes("http")) return "mcpCapabilities.http is not claimed";
      return mayClose ? undefined : "sessionCapabilities.close is not claimed";
    },
    run: async (bench) => {
      const server = await bench.remote("http", []);
      const agent = await bench.start();
      const { sessionId } = await openWith(agent, [server.entry]);
      await demandConnected(bench, { agent, sessionId }, [server]);
      await close(agent, sessionId);
      const isDeleted = () => server.requests().some(({ method }) => method === "DELETE");
      demand(await waitUntil(isDeleted, BOUNDS.goneMs), "no DELETE came");
      return "the server was told by DELETE";
    },
  },
  exit("exit.eof", "the agent itself ends when its input does", (agent) => agent.endInput()),
  exit("exit.sigterm", "the agent itself ends on SIGTERM", (agent) => agent.connection.link.kill("SIGTERM")),
];

function leak(id: string, title: string, behaviour: Behaviour, act: Act): Check {
  return {
    id,
    title,
    why: WHY,
    run: async (bench) => {
      const servers = [bench.stdio(behaviour), bench.stdio()];
      const agent = await bench.start();
      const { sessionId } = await openWith(
        agent,
        servers.map(({ entry }) => entry),
      );
      await demandConnected(bench, { agent, sessionId }, servers);
      const before = livingOf(servers);
      const since = performance.now();
      await act(agent, sessionId);
      const areGone = await waitUntil(() => livingOf(servers) === 0, BOUNDS.goneMs);
      demand(areGone, `${livingOf(servers)} of ${before} processes still live after ${seconds(BOUNDS.goneMs)}`);
      return `${before} processes were gone after ${seconds(performance.now() - since)}`;
    },
  };
}

function exit(id: string, title: string, act: (agent: RunningAgent) => void): Check {
  return {
    id,
    title,
    why: "An agent for every window ever opened stays in memory.",
    run: async (bench: Bench) => {
      const server = bench.stdio();
      const agent = await bench.start();
      const { sessionId } = await openWith(agent, [server.entry]);
      await demandConnected(bench, { agent, sessionId }, [server]);
      act(agent);
      const tookMs = await agent.endsWithin(BOUNDS.exitMs);
      demand(tookMs !== undefined, `it still ran after ${seconds(BOUNDS.exitMs)}`);
      return `it ended after ${seconds(tookMs)}`;
    },
  };
}

function livingOf(servers: readonly TestServer[]): number {
  return servers.reduce((count, server) => count + server.living().length, 0);
}
