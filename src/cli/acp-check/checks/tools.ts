// Names, environment, results and cancelling: what happens with the tools once they are there.

import { echoTool } from "../../../testing/index.js";
import type { RunningAgent } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, demand } from "../check.js";
import { SECRETS } from "../environment.js";
import { wordOf } from "../fields.js";
import { IMAGE_DATA, receivedBy, receivesWithin, type TestServer, tool } from "../test-servers.js";
import { seconds, waitUntil } from "../wait.js";
import { BOUNDS, callsOf, demandCall, demandConnected, startWith } from "./shared.js";

/** What OpenAI takes, the narrowest of the providers. */
const VALID_NAME = /^[a-zA-Z0-9_-]{1,64}$/u;
const LONG = 100;

export const TOOLS: readonly Check[] = [
  {
    id: "env.minimal",
    title: "the secrets in the agent's own environment are not handed to servers",
    why: "Every server, whoever wrote it, can read the person's keys and tokens.",
    run: async (bench) => {
      const watched = [...Object.keys(SECRETS), "OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
      const server = bench.stdio({ recordEnv: watched });
      const { agent, sessionId } = await startWith(bench, [server]);
      await demandConnected(bench, { agent, sessionId }, [server]);
      const [started] = server.starts();
      const names = started?.["names"];
      const count = Array.isArray(names) ? names.length : 0;
      const found = Object.keys(started?.["values"] ?? {});
      demand(found.length === 0, `the server got ${count} variables, among them ${found.join(", ")}`);
      return `the server got ${count} variables, none of the ${watched.length} secrets`;
    },
  },
  {
    id: "names.valid",
    title: "odd and overlong tool names are offered in a form every provider takes, and still reach the server",
    why: "A provider refuses the whole request because of one name, and every turn fails.",
    needsModel: true,
    run: async (bench) => {
      const [odd, long] = [bench.word("odd"), bench.word("long")];
      const tools = [`${odd}.with dots/and: ünïcode`, `${long}${"x".repeat(LONG)}`];
      const server = bench.stdio(
        { tools: tools.map((name) => echoTool(name)) },
        { name: `${bench.word("srv")} näme: v1.0` },
      );
      const { agent, sessionId } = await startWith(bench, [server]);
      const { offered, called: names } = await bench.turn(agent, sessionId, [odd, long]);
      const invalid = [...offered, ...names].filter((name) => !VALID_NAME.test(name));
      const [first = ""] = invalid;
      demand(
        invalid.length === 0,
        `the model was offered a name of ${first.length} characters: ${JSON.stringify(first.slice(0, LONG))}`,
      );
      const called = receivedBy(server, "tools/call").map(({ name }) => name);
      const lost = tools.filter((name) => !called.includes(name));
      demand(lost.length === 0, `${JSON.stringify(lost[0]?.slice(0, 40))} was not offered, or its call went nowhere`);
      return `called as ${names.filter((name) => name.includes(odd) || name.includes(long)).join(" and ")}`;
    },
  },
  {
    id: "names.same-tool",
    title: "two servers with a tool of the same name coexist",
    why: "One of the two is silently unusable, or calls reach the wrong server.",
    needsModel: true,
    run: async (bench) => {
      const name = bench.word("same");
      const servers = [1, 2].map(() => bench.stdio({ tools: [echoTool(name)] }));
      const { agent, sessionId } = await startWith(bench, servers);
      const turn = await bench.turn(agent, sessionId, [name]);
      const names = turn.called.filter((one) => one.includes(name));
      const reached = servers.map(callsOf);
      demand(
        reached.every((count) => count === 1),
        `the model could call ${names.length} (${names.join(", ") || "none"}); the servers got ${reached.join(" and ")} calls`,
      );
      return `called as ${names.join(" and ")}; each call reached its own server`;
    },
  },
  {
    id: "cancel.server",
    title: "session/cancel reaches the server as notifications/cancelled",
    why: "The person stops a command, and the server goes on with it.",
    needsModel: true,
    run: async (bench) => {
      const { server, agent, sessionId, answer } = await holdCall(bench);
      const before = performance.now();
      agent.connection.notify("session/cancel", { sessionId });
      const isHeard = await receivesWithin(server, "notifications/cancelled", BOUNDS.cancelMs);
      const tookMs = performance.now() - before;
      await answer.catch(() => undefined); // another check is about the answer
      demand(isHeard, `the server heard nothing within ${seconds(BOUNDS.cancelMs)}`);
      return `the server heard of it after ${seconds(tookMs)}`;
    },
  },
  {
    id: "cancel.answer",
    title: 'a cancelled turn ends with the stop reason "cancelled", and the session goes on',
    why: "The editor shows a finished turn or an error, or waits for ever.",
    needsModel: true,
    run: async (bench) => {
      const { agent, sessionId, answer, server } = await holdCall(bench);
      agent.connection.notify("session/cancel", { sessionId });
      const before = performance.now();
      const given = await agent.awaited("session/prompt after session/cancel", answer, BOUNDS.cancelMs);
      const tookMs = performance.now() - before;
      const reason = given.ok ? wordOf(given.result["stopReason"]) : `error ${given.code} ${given.message}`;
      demand(reason === "cancelled", `the prompt was answered with ${reason}`);
      const echo = bench.word("echo");
      const next = await bench.turn(agent, sessionId, [echo]);
      demand(next.stopReason === "end_turn", `the next turn ended with ${next.stopReason}`);
      const isOpen = callsOf(server) === 1 && openCalls(agent, sessionId) > 0;
      demand(!isOpen, "the tool call is still shown as running");
      return `answered after ${seconds(tookMs)}; the next turn works`;
    },
  },
  {
    id: "result.image",
    title: "a picture that a tool returns reaches the model or the client",
    why: "Screenshots and charts vanish without a word.",
    needsModel: true,
    run: async (bench) => {
      const server = bench.stdio({ tools: [tool(bench.word("picture"), "image")] });
      const { agent, sessionId } = await startWith(bench, [server]);
      const turn = await bench.turn(agent, sessionId, [server.tool]);
      demandCall(server, turn);
      const isShown = JSON.stringify(turn.updates).includes(IMAGE_DATA);
      demand(isShown || turn.hasImage, "neither the model's next request nor any update holds the picture");
      return `it reached ${[turn.hasImage && "the model", isShown && "the client"].filter(Boolean).join(" and ")}`;
    },
  },
  {
    id: "result.error",
    title: "a tool that fails is shown as failed, and the turn goes on",
    why: "A failure that looks like success misleads the person.",
    needsModel: true,
    run: async (bench) => await failingCall(bench, "error"),
  },
  {
    id: "result.crash",
    title: "a server that dies during a call fails that call, not the turn",
    why: "The turn hangs or ends with an error, and the conversation is stuck.",
    needsModel: true,
    run: async (bench) => await failingCall(bench, "crash"),
  },
];

async function failingCall(bench: Bench, reply: "error" | "crash"): Promise<string> {
  const server = bench.stdio({ tools: [tool(bench.word(reply), reply)] });
  const { agent, sessionId } = await startWith(bench, [server]);
  const turn = await bench.turn(agent, sessionId, [server.tool]);
  demandCall(server, turn);
  demand(turn.stopReason === "end_turn", `the turn ended with ${turn.stopReason}`);
  const isFailed = turn.updates.some(({ status }) => status === "failed");
  demand(isFailed, "no tool call was shown as failed");
  return `shown as failed; the turn ended after ${seconds(turn.ms)}`;
}

interface Held {
  readonly server: TestServer;
  readonly agent: RunningAgent;
  readonly sessionId: string;
  readonly answer: ReturnType<Bench["beginTurn"]>["answer"];
}

/** A turn in the middle of a call that only ends when it is cancelled. */
async function holdCall(bench: Bench): Promise<Held> {
  const server = bench.stdio({ tools: [tool(bench.word("hold"), "hold")] });
  const { agent, sessionId } = await startWith(bench, [server]);
  const { answer, turn } = bench.beginTurn(agent, sessionId, [server.tool]);
  const early = answer.then(turn);
  let ended: Awaited<typeof early> | undefined;
  early.then((given) => (ended = given)).catch(() => undefined); // who awaits the answer hears of it
  await waitUntil(() => callsOf(server) > 0 || ended !== undefined, bench.context.answerMs);
  if (ended) demandCall(server, ended);
  demand(callsOf(server) > 0, "the tool was never called");
  return { server, agent, sessionId, answer };
}

/** Tool calls whose last word is that they are pending or in progress. */
function openCalls(agent: RunningAgent, sessionId: string): number {
  const states = new Map<string, string>();
  for (const { toolCallId, status } of agent.updatesOf(sessionId)) {
    if (typeof toolCallId === "string" && typeof status === "string") states.set(toolCallId, status);
  }
  return [...states.values()].filter((status) => status === "pending" || status === "in_progress").length;
}
