// Sessions that are loaded, resumed, forked or closed, with servers given again.

import type { JsonObject } from "../../../base/json/json.js";
import { type Introduction, problemOf, type RunningAgent } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, demand } from "../check.js";
import { BOUNDS, demandConnected, openWith, useServer } from "./shared.js";

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
      const agent = await bench.start();
      const { sessionId } = await openWith(agent, [server.entry]);
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
