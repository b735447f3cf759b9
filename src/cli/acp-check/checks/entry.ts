// Server entries as clients really send them: none fails the session, and none is dropped without a word.

import { basename } from "node:path";
import { defined } from "../../../base/json/defined.js";
import type { JsonValue } from "../../../base/json/json.js";
import type { Introduction } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, CheckFailure, demand } from "../check.js";
import { isInitialized, receivesWithin, type TestServer } from "../test-servers.js";
import { waitUntil } from "../wait.js";
import { BOUNDS, howTold, openWith, startWith, tells, useServer } from "./shared.js";

const WHY = "One entry that a strict parser dislikes takes the whole session down, or vanishes without a word.";

interface OddEntry {
  readonly id: string;
  readonly title: string;
  readonly ruledOut?: (agent: Introduction) => string | undefined;
  /** It has no name by which the client could be told of it. */
  readonly isNameless?: boolean;
  readonly make: (bench: Bench) => Promise<{ readonly server: TestServer; readonly entry: JsonValue }>;
}

const ODD: readonly OddEntry[] = [
  {
    id: "entry.missing-args",
    title: "a stdio entry without args is used, or reported",
    make: async (bench) => asMade(bench.stdio({}, { bareEntry: { env: [] } })),
  },
  {
    id: "entry.missing-env",
    title: "a stdio entry without env is used, or reported",
    make: async (bench) => without(bench.stdio(), "env"),
  },
  {
    id: "entry.env-map",
    title: "a stdio entry whose env is a map is used, or reported",
    make: async (bench) => {
      const server = bench.stdio();
      return { server, entry: { ...server.entry, env: { ACP_CHECK_GIVEN: "given" } } };
    },
  },
  {
    id: "entry.type-stdio",
    title: 'a stdio entry with type "stdio" is used, or reported',
    make: async (bench) => {
      const server = bench.stdio();
      return { server, entry: { ...server.entry, type: "stdio" } };
    },
  },
  {
    id: "entry.bare-command",
    title: "a command without a path is looked up and used, or reported",
    make: async (bench) => {
      const server = bench.stdio();
      return { server, entry: { ...server.entry, command: basename(process.execPath) } };
    },
  },
  {
    id: "entry.missing-headers",
    title: "an HTTP entry without headers is used, or reported",
    ruledOut: ({ kinds }) => (kinds.includes("http") ? undefined : "mcpCapabilities.http is not claimed"),
    make: async (bench) => asMade(await bench.remote("http")),
  },
  {
    id: "entry.missing-command",
    title: "an entry without command and url is reported",
    make: async (bench) => without(bench.stdio(), "command"),
  },
  {
    id: "entry.unknown-type",
    title: "an entry of an unknown type is reported",
    make: async (bench) => {
      const server = bench.stdio();
      return { server, entry: { type: "pigeon", name: server.name, url: "pigeon://roof" } };
    },
  },
  {
    id: "entry.unclaimed-type",
    title: "an entry of a kind the agent does not claim is used, or reported",
    ruledOut: ({ kinds }) => (kinds.length === 3 ? "every kind is claimed" : undefined),
    make: async (bench) => {
      const { kinds } = bench.agent;
      const type = (["http", "sse"] as const).find((one) => !kinds.includes(one));
      if (type) return asMade(await bench.remote(type, []));
      const server = bench.stdio();
      return { server, entry: { type: "acp", name: server.name, serverId: bench.word("id") } };
    },
  },
  {
    id: "entry.no-object",
    title: "an entry that is no object does not fail the session",
    isNameless: true,
    make: async (bench) => ({ server: bench.stdio(), entry: "just a word" }),
  },
];

export const ENTRY: readonly Check[] = [
  ...ODD.map(oddCheck),
  {
    id: "entry.duplicate",
    title: "of two servers with the same name neither is dropped without a word",
    why: "Half of the person's servers vanish, and nothing says so.",
    run: async (bench) => {
      const name = bench.word("twin");
      const twins = [bench.stdio({}, { name }), bench.stdio({}, { name })];
      const { agent, sessionId, opened } = await startWith(bench, twins);
      const connected = () => twins.filter(isInitialized).length;
      const isTold = () => agent.updatesOf(sessionId).some((update) => tells(update, name));
      await waitUntil(() => connected() === twins.length || (connected() > 0 && isTold()), BOUNDS.toldMs);
      if (connected() === twins.length) return "both were connected";
      const how = await howTold(bench, { agent, sessionId, opened }, name);
      demand(connected() > 0, "neither was connected");
      if (how === undefined) throw new CheckFailure("one was connected, the other dropped; nothing says so");
      return `one was connected; the client was told: ${how}`;
    },
  },
];

function oddCheck({ id, title, ruledOut, isNameless = false, make }: OddEntry): Check {
  return {
    id,
    title,
    why: WHY,
    ...defined({ ruledOut }),
    run: async (bench) => {
      const good = bench.stdio();
      const { server, entry } = await make(bench);
      const agent = await bench.start();
      const { sessionId, opened } = await openWith(agent, [entry, good.entry]);
      await useServer(bench, agent, sessionId, good);
      if (isNameless) return "the session opened, and the server beside it was used";
      if (await receivesWithin(server, "initialize", BOUNDS.quietMs)) return "it was connected";
      const how = await howTold(bench, { agent, sessionId, opened }, server.name);
      // A slow agent may have connected it in the meantime.
      if (isInitialized(server)) return "it was connected";
      if (how === undefined) throw new CheckFailure("the session opened, the entry was dropped, and nothing says so");
      return `reported: ${how}`;
    },
  };
}

function asMade(server: TestServer): { readonly server: TestServer; readonly entry: JsonValue } {
  return { server, entry: server.entry };
}

function without(server: TestServer, field: string): { readonly server: TestServer; readonly entry: JsonValue } {
  return { server, entry: { ...server.entry, [field]: undefined } };
}
