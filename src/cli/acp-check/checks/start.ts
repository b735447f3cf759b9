// Servers of every kind are connected; servers that hang, are slow or fail affect no other, and the client is told.
import type { JsonObject } from "../../../base/json/json.js";
import { CLIENT, type RunningAgent } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, CheckFailure, demand } from "../check.js";
import { wordOf } from "../fields.js";
import { failure, initialize, receivesWithin, type TestServer } from "../test-servers.js";
import { pause, seconds } from "../wait.js";
import { BOUNDS, callsOf, howTold, openWith, startWith, useServer } from "./shared.js";

const IGNORED = "The editor's servers are silently ignored: the person believes they have tools they do not have.";
const HEADER = { name: "x-acp-check", value: "given" };

export const CONNECT: readonly Check[] = [
  {
    id: "connect.stdio",
    title: "a stdio server is connected and its tool is called",
    why: IGNORED,
    run: async (bench) => {
      const server = bench.stdio(
        { recordEnv: ["ACP_CHECK_GIVEN"] },
        { env: [{ name: "ACP_CHECK_GIVEN", value: "given" }] },
      );
      const evidence = await connectAndUse(bench, await bench.start(), server);
      const values = server.starts().map(({ values: given }) => JSON.stringify(given));
      demand(
        values.some((text) => text.includes('"given"')),
        "the server did not get the env of its entry",
      );
      return `${evidence}; its env arrived`;
    },
  },
  remote("http", "a Streamable HTTP server is connected and its tool is called"),
  remote("sse", "an HTTP+SSE server is connected and its tool is called"),
  {
    id: "connect.acp",
    title: "a server of the client itself (type acp) is connected over mcp/message",
    why: IGNORED,
    ruledOut: ({ kinds }) => (kinds.includes("acp") ? undefined : "mcpCapabilities.acp is not claimed"),
    run: async (bench) => {
      const agent = await bench.start();
      return await connectAndUse(bench, agent, bench.overAcp(agent));
    },
  },
];

function remote(type: "http" | "sse", title: string): Check {
  return {
    id: `connect.${type}`,
    title,
    why: IGNORED,
    ruledOut: ({ kinds }) => (kinds.includes(type) ? undefined : `mcpCapabilities.${type} is not claimed`),
    run: async (bench) => {
      const server = await bench.remote(type, [HEADER]);
      const evidence = await connectAndUse(bench, await bench.start(), server);
      const sent = server.requests().map(({ headers }) => headers[HEADER.name]);
      demand(
        sent.every((value) => value === HEADER.value),
        `${sent.filter((value) => value !== HEADER.value).length} of ${sent.length} requests came without the headers of the entry`,
      );
      return `${evidence}; its headers arrived with all ${sent.length} requests`;
    },
  };
}

async function connectAndUse(bench: Bench, agent: RunningAgent, server: TestServer): Promise<string> {
  const { sessionId } = await openWith(agent, [server.entry]);
  return await useServer(bench, agent, sessionId, server);
}

const UNTOLD = "A failure nobody is told of looks like a stupid model: the person cannot know what to repair.";
const WORDS = "acp-check: no database at port 5432";
const FAILURE = failure(WORDS);

export const START: readonly Check[] = [
  {
    id: "start.hung",
    title: "a server that never answers does not hold up session/new, nor the others",
    why: "One bad server freezes the editor: some clients wait 20 s for session/new, then give up.",
    run: async (bench) => {
      const good = bench.stdio();
      const hung = bench.stdio(initialize({ do: "never" }));
      const { agent, sessionId, opened } = await startWith(bench, [hung, good]);
      demand(opened.ms <= BOUNDS.newSessionMs, `session/new took ${seconds(opened.ms)}`);
      await useServer(bench, agent, sessionId, good);
      return `session/new took ${seconds(opened.ms)}; the good server beside it was used`;
    },
  },
  {
    id: "start.slow",
    title: "the tools of a slow server are there in the first turn, or join later",
    why: "Servers that take seconds to start (npx, Java, containers) are lost for the whole session.",
    needsModel: true,
    run: async (bench) => {
      const slow = bench.stdio(initialize({ do: "delay", ms: BOUNDS.slowMs }));
      const { agent, sessionId } = await startWith(bench, [slow]);
      const first = await bench.turn(agent, sessionId, [slow.tool]);
      if (callsOf(slow) > 0) return `the first turn waited for it and ended after ${seconds(first.ms)}`;
      demand(await receivesWithin(slow, "tools/list", bench.context.answerMs), "its tools were never asked for");
      await pause(BOUNDS.quietMs);
      await bench.turn(agent, sessionId, [slow.tool]);
      demand(callsOf(slow) > 0, "its tools were missing in the first turn and in the next, although it was ready");
      return "missing in the first turn, there in the second";
    },
  },
  {
    id: "start.failed",
    title: "servers that cannot be started fail neither the session nor the others",
    why: "One broken entry takes all tools away, or the whole session.",
    run: async (bench) => {
      const good = bench.stdio();
      const agent = await bench.start();
      const broken = [bench.stdio(FAILURE).entry, missing(bench)];
      const { sessionId } = await openWith(agent, [...broken, good.entry]);
      return `the session opened; beside two broken servers ${await useServer(bench, agent, sessionId, good)}`;
    },
  },
  told("start.told", "the client is told of a stdio server that fails", {
    client: CLIENT,
    server: (bench) => bench.stdio(FAILURE),
  }),
  told("start.told-missing", "the client is told of a server whose program does not exist", {
    client: CLIENT,
    server: (bench) => ({ ...bench.stdio(), ...namedEntry(missing(bench)) }),
  }),
  {
    ...told("start.told-http", "the client is told of an HTTP server that refuses", {
      client: CLIENT,
      server: (bench) => bench.remote("http", [], WORDS),
    }),
    ruledOut: ({ kinds }) => (kinds.includes("http") ? undefined : "mcpCapabilities.http is not claimed"),
  },
  told("start.told-plain", "a client that shows no notices is told of a failed server in another way", {
    client: { ...CLIENT, session: {} },
    server: (bench) => bench.stdio(FAILURE),
  }),
];

function missing(bench: Bench): JsonObject {
  return { name: bench.word("gone"), command: "/nowhere/acp-check-no-such-program", args: [], env: [] };
}

function namedEntry(entry: JsonObject): Pick<TestServer, "name" | "entry"> {
  return { name: wordOf(entry["name"]), entry };
}

interface Telling {
  readonly client: JsonObject;
  readonly server: (bench: Bench) => TestServer | Promise<TestServer>;
}

function told(id: string, title: string, { client, server }: Telling): Check {
  return {
    id,
    title,
    why: UNTOLD,
    run: async (bench) => {
      const { name, entry } = await server(bench);
      const agent = await bench.start(client);
      const { sessionId, opened } = await openWith(agent, [entry]);
      const how = await howTold(bench, { agent, sessionId, opened }, name);
      if (how === undefined) throw new CheckFailure(`no notice, message, failed tool call or _meta names "${name}"`);
      demand(
        how.startsWith("notice") === false || client === CLIENT,
        "a notice was sent to a client that does not take notices",
      );
      return how;
    },
  };
}
