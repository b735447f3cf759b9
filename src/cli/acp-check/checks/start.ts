// Servers of every kind are connected; servers that hang, are slow or fail affect no other, and the client is told.
import { setTimeout as pause } from "node:timers/promises";
import type { JsonObject } from "../../../base/json/json.js";
import { formatElapsed } from "../../terminal/stream.js";
import { CLIENT } from "../agent.js";
import type { Bench } from "../bench.js";
import { BOUNDS, type Check, CheckFailure, type Checks, demand } from "../check.js";
import { callsOf } from "../session.js";
import { failure, initialize, receivesWithin, type TestServer } from "../test-servers.js";

const IGNORED = "The editor's servers are silently ignored: the person believes they have tools they do not have.";
const HEADER = { name: "x-acp-check", value: "given" };

export const CONNECT: Checks = {
  "connect.stdio": {
    title: "a stdio server is connected and its tool is called",
    why: IGNORED,
    run: async (bench) => {
      const server = bench.stdio(
        { recordEnv: ["ACP_CHECK_GIVEN"] },
        { env: [{ name: "ACP_CHECK_GIVEN", value: "given" }] },
      );
      const evidence = await (await bench.openWith([server])).use(server);
      const isGiven = server.starts().some(({ values }) => JSON.stringify(values).includes('"given"'));
      demand(isGiven, "the server did not get the env of its entry");
      return `${evidence}; its env arrived`;
    },
  },
  "connect.http": remote("http", "a Streamable HTTP server is connected and its tool is called"),
  "connect.sse": remote("sse", "an HTTP+SSE server is connected and its tool is called"),
  "connect.acp": {
    title: "a server of the client itself (type acp) is connected over mcp/message",
    why: IGNORED,
    needs: ["mcpCapabilities.acp"],
    run: async (bench) => {
      const agent = await bench.start();
      const server = bench.overAcp(agent);
      return await (await bench.openWith([server], agent)).use(server);
    },
  },
};

function remote(type: "http" | "sse", title: string): Check {
  return {
    title,
    why: IGNORED,
    needs: [`mcpCapabilities.${type}`],
    run: async (bench) => {
      const server = await bench.remote(type, [HEADER]);
      const evidence = await (await bench.openWith([server])).use(server);
      const sent = server.requests();
      const without = sent.filter(({ headers }) => headers[HEADER.name] !== HEADER.value).length;
      demand(without === 0, `${without} of ${sent.length} requests came without the headers of the entry`);
      return `${evidence}; its headers arrived with all ${sent.length} requests`;
    },
  };
}

const UNTOLD = "A failure nobody is told of looks like a stupid model: the person cannot know what to repair.";
const WORDS = "acp-check: no database at port 5432";

export const START: Checks = {
  "start.hung": {
    title: "a server that never answers does not hold up session/new, nor the others",
    why: "One bad server freezes the editor: some clients wait 20 s for session/new, then give up.",
    run: async (bench) => {
      const good = bench.stdio();
      const hung = bench.stdio(initialize({ do: "never" }));
      const session = await bench.openWith([hung, good]);
      const took = `session/new took ${formatElapsed(session.opened.ms)}`;
      demand(session.opened.ms <= BOUNDS.newSessionMs, took);
      await session.use(good);
      return `${took}; the good server beside it was used`;
    },
  },
  "start.slow": {
    title: "the tools of a slow server are there in the first turn, or join later",
    why: "Servers that take seconds to start (npx, Java, containers) are lost for the whole session.",
    needsModel: true,
    run: async (bench) => {
      const slow = bench.stdio(initialize({ do: "delay", ms: BOUNDS.slowMs }));
      const session = await bench.openWith([slow]);
      const first = await session.turn([slow.tool]);
      if (callsOf(slow) > 0) return `the first turn waited for it and ended after ${formatElapsed(first.ms)}`;
      demand(await receivesWithin(slow, "tools/list", bench.context.answerMs), "its tools were never asked for");
      await pause(BOUNDS.quietMs);
      await session.turn([slow.tool]);
      demand(callsOf(slow) > 0, "its tools were missing in the first turn and in the next, although it was ready");
      return "missing in the first turn, there in the second";
    },
  },
  "start.failed": {
    title: "servers that cannot be started fail neither the session nor the others",
    why: "One broken entry takes all tools away, or the whole session.",
    run: async (bench) => {
      const good = bench.stdio();
      const session = await bench.openWith([failing(bench), missing(bench), good]);
      return `the session opened; beside two broken servers ${await session.use(good)}`;
    },
  },
  "start.told": told("the client is told of a stdio server that fails", failing),
  "start.told-missing": told("the client is told of a server whose program does not exist", missing),
  "start.told-http": {
    ...told("the client is told of an HTTP server that refuses", (bench) => bench.remote("http", [], WORDS)),
    needs: ["mcpCapabilities.http"],
  },
  "start.told-plain": told("a client that shows no notices is told of a failed server in another way", failing, {
    ...CLIENT,
    session: {},
  }),
};

function failing(bench: Bench): TestServer {
  return bench.stdio(failure(WORDS));
}

function missing(bench: Bench): TestServer {
  const name = bench.word("gone");
  return {
    ...bench.stdio(),
    name,
    entry: { name, command: "/nowhere/acp-check-no-such-program", args: [], env: [] },
  };
}

function told(
  title: string,
  make: (bench: Bench) => TestServer | Promise<TestServer>,
  client: JsonObject = CLIENT,
): Check {
  return {
    title,
    why: UNTOLD,
    run: async (bench) => {
      const server = await make(bench);
      const session = await bench.openWith([server], await bench.start(client));
      const how = await session.howTold(server.name);
      if (how === undefined) {
        throw new CheckFailure(`no notice, message, failed tool call or _meta names "${server.name}"`);
      }
      const isTaken = !how.startsWith("notice") || client === CLIENT;
      demand(isTaken, "a notice was sent to a client that does not take notices");
      return how;
    },
  };
}
