// Sessions that are loaded, resumed, forked or closed with servers given again; no process stays behind, however the agent ends.
import type { JsonObject } from "../../../base/json/json.js";
import type { Behaviour } from "../../../testing/index.js";
import { type Introduction, problemOf, type RunningAgent } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, demand } from "../check.js";
import type { TestServer } from "../test-servers.js";
import { seconds, waitUntil } from "../wait.js";
import { BOUNDS, demandConnected, openWith, startWith, useServer } from "./shared.js";

const LOST =
  "After a restart of the editor the conversation is back, but its tools are gone or are those of yesterday.";

export const SESSION: readonly Check[] = [
  comesBack("load", "loadSession", ({ mayLoad }) => mayLoad),
  comesBack("resume", "sessionCapabilities.resume", ({ mayResume }) => mayResume),
  {
    id: "session.fork",
    title: "servers given with session/fork are connected for the new session",
    why: LOST,
    needsModel: true,
    ruledOut: ({ mayFork }) => (mayFork ? undefined : "sessionCapabilities.fork is not claimed"),
    run: async (bench) => {
      const agent = await bench.start();
      const { sessionId } = await openWith(agent, []);
      await bench.turn(agent, sessionId, []);
      const server = bench.stdio();
      const params = { ...agent.newSessionParams([server.entry]), sessionId };
      const forked = await agent.ask("session/fork", params);
      demand(forked.ok, `session/fork failed: ${problemOf(forked)}`);
      const id = forked.result["sessionId"];
      demand(typeof id === "string" && id !== sessionId, "the fork has no session id of its own");
      return await useServer(bench, agent, id, server);
    },
  },
  {
    id: "session.close",
    title: "a closed session takes no prompt, and its servers can be given again to a new one",
    why: "Editors reopen the same servers all day long; what close leaves behind gets in their way.",
    ruledOut: ({ mayClose }) => (mayClose ? undefined : "sessionCapabilities.close is not claimed"),
    run: async (bench) => {
      const server = bench.stdio();
      const { agent, sessionId } = await startWith(bench, [server]);
      await demandConnected(bench, { agent, sessionId }, [server]);
      const closed = await agent.ask("session/close", { sessionId });
      demand(closed.ok, `session/close failed: ${problemOf(closed)}`);
      const late = await agent.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] });
      demand(!late.ok, "a prompt to the closed session was answered as if it were open");
      const again = await openWith(agent, [server.entry]);
      return `a prompt was refused; given again, ${await useServer(bench, agent, again.sessionId, server)}`;
    },
  },
];

/** In a new process, as after a restart of the editor, with another server than before. */
function comesBack(verb: "load" | "resume", claim: string, may: (agent: Introduction) => boolean): Check {
  return {
    id: `session.${verb}`,
    title: `servers given with session/${verb} are connected, in place of the earlier ones`,
    why: LOST,
    needsModel: true,
    ruledOut: (agent) => (may(agent) ? undefined : `${claim} is not claimed`),
    run: async (bench) => {
      const [earlier, later] = [bench.stdio(), bench.stdio()];
      const sessionId = await oneTurn(bench, earlier.entry);
      const startsBefore = earlier.starts().length;
      const agent = await bench.start();
      const back = await agent.ask(`session/${verb}`, { ...agent.newSessionParams([later.entry]), sessionId });
      demand(back.ok, `session/${verb} failed: ${problemOf(back)}`);
      const evidence = await useServer(bench, agent, sessionId, later);
      const isBack = earlier.starts().length > startsBefore;
      demand(!isBack, "a server of the earlier set, not given again, was started");
      return evidence;
    },
  };
}

/** A session with a turn in it, left by the end of its agent. */
async function oneTurn(bench: Bench, entry: JsonObject): Promise<string> {
  const agent: RunningAgent = await bench.start();
  const { sessionId } = await openWith(agent, [entry]);
  const { stopReason } = await bench.turn(agent, sessionId, []);
  demand(stopReason === "end_turn", `the turn before it ended with ${stopReason}`);
  agent.endInput();
  await agent.endsWithin(BOUNDS.exitMs);
  await agent[Symbol.asyncDispose]();
  return sessionId;
}

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
      const { agent, sessionId } = await startWith(bench, [server]);
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
      const { agent, sessionId } = await startWith(bench, servers);
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
      const { agent, sessionId } = await startWith(bench, [server]);
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
