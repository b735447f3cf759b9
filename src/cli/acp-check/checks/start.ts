// Servers that hang, are slow or fail cost nobody else anything, and the client is told.

import type { JsonObject } from "../../../base/json/json.js";
import { CLIENT } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, CheckFailure, demand } from "../check.js";
import { wordOf } from "../fields.js";
import { failure, initialize, receivesWithin, type TestServer } from "../test-servers.js";
import { pause, seconds } from "../wait.js";
import { BOUNDS, callsOf, howTold, openWith, useServer } from "./shared.js";

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
      const agent = await bench.start();
      const { sessionId, opened } = await openWith(agent, [hung.entry, good.entry]);
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
      const agent = await bench.start();
      const { sessionId } = await openWith(agent, [slow.entry]);
      const first = await bench.turn(agent, sessionId, [slow.tool]);
      if (callsOf(slow) > 0) return `the first turn waited for it and ended after ${seconds(first.ms)}`;
      demand(await receivesWithin(slow, "tools/list", bench.lab.answerMs), "its tools were never asked for");
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
