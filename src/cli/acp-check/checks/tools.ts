// Names, environment, results and cancelling: what happens with the tools once they are there.

import type { JsonObject } from "../../../base/json/json.js";
import { echoTool } from "../../../testing/index.js";
import { formatElapsed } from "../../terminal/stream.js";
import type { Bench } from "../bench.js";
import { BOUNDS, type Checks, demand, waitUntil } from "../check.js";
import { SECRETS } from "../environment.js";
import { callsOf, demandCall, stopReasonOf, type Turn } from "../session.js";
import { IMAGE_DATA, receivedBy, receivesWithin, tool } from "../test-servers.js";

/** What OpenAI takes, the narrowest of the providers. */
const VALID_NAME = /^[a-zA-Z0-9_-]{1,64}$/u;
const LONG = 100;

export const TOOLS: Checks = {
  "env.minimal": {
    title: "the secrets in the agent's own environment are not handed to servers",
    why: "Every server, whoever wrote it, can read the person's keys and tokens.",
    run: async (bench) => {
      const watched = [...Object.keys(SECRETS), "OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
      const server = bench.stdio({ recordEnv: watched });
      await (await bench.openWith([server])).connected(server);
      const [started] = server.starts();
      const names = started?.["names"];
      const count = Array.isArray(names) ? names.length : 0;
      const found = Object.keys(started?.["values"] ?? {});
      demand(found.length === 0, `the server got ${count} variables, among them ${found.join(", ")}`);
      return `the server got ${count} variables, none of the ${watched.length} secrets`;
    },
  },
  "names.valid": {
    title: "odd and overlong tool names are offered in a form every provider takes, and still reach the server",
    why: "A provider refuses the whole request because of one name, and every turn fails.",
    needsModel: true,
    run: async (bench) => {
      const [odd, long] = [bench.word("odd"), bench.word("long")];
      const tools = [`${odd}.with dots/and: ünïcode`, `${long}${"x".repeat(LONG)}`];
      const name = `${bench.word("srv")} näme: v1.0`;
      const server = bench.stdio({ tools: tools.map((one) => echoTool(one)) }, { name });
      const session = await bench.openWith([server]);
      const { offered, called: names } = await session.turn([odd, long]);
      const invalid = [...offered, ...names].filter((one) => !VALID_NAME.test(one));
      const [first = ""] = invalid;
      const shown = `${first.length} characters: ${JSON.stringify(first.slice(0, LONG))}`;
      demand(invalid.length === 0, `the model was offered a name of ${shown}`);
      const called = receivedBy(server, "tools/call").map((call) => call["name"]);
      const lost = tools.filter((one) => !called.includes(one));
      demand(lost.length === 0, `${JSON.stringify(lost[0]?.slice(0, 40))} was not offered, or its call went nowhere`);
      return `called as ${names.filter((one) => one.includes(odd) || one.includes(long)).join(" and ")}`;
    },
  },
  "names.same-tool": {
    title: "two servers with a tool of the same name coexist",
    why: "One of the two is silently unusable, or calls reach the wrong server.",
    needsModel: true,
    run: async (bench) => {
      const name = bench.word("same");
      const servers = [1, 2].map(() => bench.stdio({ tools: [echoTool(name)] }));
      const turn = await (await bench.openWith(servers)).turn([name]);
      const names = turn.called.filter((one) => one.includes(name));
      const reached = servers.map(callsOf);
      const callable = `${names.length} (${names.join(", ") || "none"})`;
      const isEachReached = reached.every((count) => count === 1);
      demand(isEachReached, `the model could call ${callable}; the servers got ${reached.join(" and ")} calls`);
      return `called as ${names.join(" and ")}; each call reached its own server`;
    },
  },
  "cancel.server": {
    title: "session/cancel reaches the server as notifications/cancelled",
    why: "The person stops a command, and the server goes on with it.",
    needsModel: true,
    run: async (bench) => {
      const { server, session, answer } = await holdCall(bench);
      const before = performance.now();
      session.cancel();
      const isHeard = await receivesWithin(server, "notifications/cancelled", BOUNDS.cancelMs);
      const tookMs = performance.now() - before;
      await answer.catch(() => undefined); // another check is about the answer
      demand(isHeard, `the server heard nothing within ${formatElapsed(BOUNDS.cancelMs)}`);
      return `the server heard of it after ${formatElapsed(tookMs)}`;
    },
  },
  "cancel.answer": {
    title: 'a cancelled turn ends with the stop reason "cancelled", and the session goes on',
    why: "The editor shows a finished turn or an error, or waits for ever.",
    needsModel: true,
    run: async (bench) => {
      const { server, session, answer } = await holdCall(bench);
      session.cancel();
      const before = performance.now();
      const given = await session.agent.awaited("session/prompt after session/cancel", answer, BOUNDS.cancelMs);
      const tookMs = performance.now() - before;
      const reason = stopReasonOf(given);
      demand(reason === "cancelled", `the prompt was answered with ${reason}`);
      const next = await session.turn([bench.word("echo")]);
      demand(next.stopReason === "end_turn", `the next turn ended with ${next.stopReason}`);
      const isOpen = callsOf(server) === 1 && openCalls(session.updates) > 0;
      demand(!isOpen, "the tool call is still shown as running");
      return `answered after ${formatElapsed(tookMs)}; the next turn works`;
    },
  },
  "result.image": {
    title: "a picture that a tool returns reaches the model or the client",
    why: "Screenshots and charts vanish without a word.",
    needsModel: true,
    run: async (bench) => {
      const server = bench.stdio({ tools: [tool(bench.word("picture"), "image")] });
      const turn = await (await bench.openWith([server])).turn([server.tool]);
      demandCall(server, turn);
      const isShown = JSON.stringify(turn.updates).includes(IMAGE_DATA);
      demand(isShown || turn.hasImage, "neither the model's next request nor any update holds the picture");
      return `it reached ${[turn.hasImage && "the model", isShown && "the client"].filter(Boolean).join(" and ")}`;
    },
  },
  "result.error": {
    title: "a tool that fails is shown as failed, and the turn goes on",
    why: "A failure that looks like success misleads the person.",
    needsModel: true,
    run: async (bench) => await failingCall(bench, "error"),
  },
  "result.crash": {
    title: "a server that dies during a call fails that call, not the turn",
    why: "The turn hangs or ends with an error, and the conversation is stuck.",
    needsModel: true,
    run: async (bench) => await failingCall(bench, "crash"),
  },
};

async function failingCall(bench: Bench, reply: "error" | "crash"): Promise<string> {
  const server = bench.stdio({ tools: [tool(bench.word(reply), reply)] });
  const turn = await (await bench.openWith([server])).turn([server.tool]);
  demandCall(server, turn);
  demand(turn.stopReason === "end_turn", `the turn ended with ${turn.stopReason}`);
  const isFailed = turn.updates.some(({ status }) => status === "failed");
  demand(isFailed, "no tool call was shown as failed");
  return `shown as failed; the turn ended after ${formatElapsed(turn.ms)}`;
}

/** A turn in the middle of a call that only ends when it is cancelled. */
async function holdCall(bench: Bench) {
  const server = bench.stdio({ tools: [tool(bench.word("hold"), "hold")] });
  const session = await bench.openWith([server]);
  const { answer, turn } = session.beginTurn([server.tool]);
  let ended: Turn | undefined;
  answer.then((given) => (ended = turn(given))).catch(() => undefined); // who awaits the answer hears of it
  await waitUntil(() => callsOf(server) > 0 || ended !== undefined, bench.context.answerMs);
  if (ended) demandCall(server, ended);
  demand(callsOf(server) > 0, "the tool was never called");
  return { server, session, answer };
}

/** Tool calls whose last word is that they are pending or in progress. */
function openCalls(updates: readonly JsonObject[]): number {
  const states = new Map(
    updates.flatMap(({ toolCallId, status }) => (toolCallId && status ? [[toolCallId, status]] : [])),
  );
  return [...states.values()].filter((status) => status === "pending" || status === "in_progress").length;
}
