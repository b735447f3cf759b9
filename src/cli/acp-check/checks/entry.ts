// Server entries as clients really send them: none fails the session, and none is dropped without a word.

import { basename } from "node:path";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import type { Bench } from "../bench.js";
import { BOUNDS, type Check, CheckFailure, type Checks, demand, waitUntil } from "../check.js";
import { tells } from "../session.js";
import { isInitialized, receivesWithin, type TestServer } from "../test-servers.js";

const WHY = "One entry that a strict parser dislikes takes the whole session down, or vanishes without a word.";

interface OddEntry extends Pick<Check, "title" | "needs" | "ruledOut"> {
  /** It has no name by which the client could be told of it. */
  readonly isNameless?: boolean;
  /** The server, and its entry where it is not as it was made. */
  readonly make: (bench: Bench) => Promise<Made> | Made;
}

type Made = readonly [server: TestServer, entry?: JsonValue];

const ODD: Readonly<Record<string, OddEntry>> = {
  "entry.missing-args": {
    title: "a stdio entry without args is used, or reported",
    make: (bench) => [bench.stdio({}, { bareEntry: { env: [] } })],
  },
  "entry.missing-env": {
    title: "a stdio entry without env is used, or reported",
    make: (bench) => changed(bench.stdio(), { env: undefined }),
  },
  "entry.env-map": {
    title: "a stdio entry whose env is a map is used, or reported",
    make: (bench) => changed(bench.stdio(), { env: { ACP_CHECK_GIVEN: "given" } }),
  },
  "entry.type-stdio": {
    title: 'a stdio entry with type "stdio" is used, or reported',
    make: (bench) => changed(bench.stdio(), { type: "stdio" }),
  },
  "entry.bare-command": {
    title: "a command without a path is looked up and used, or reported",
    make: (bench) => changed(bench.stdio(), { command: basename(process.execPath) }),
  },
  "entry.missing-headers": {
    title: "an HTTP entry without headers is used, or reported",
    needs: ["mcpCapabilities.http"],
    make: async (bench) => [await bench.remote("http")],
  },
  "entry.missing-command": {
    title: "an entry without command and url is reported",
    make: (bench) => changed(bench.stdio(), { command: undefined }),
  },
  "entry.unknown-type": {
    title: "an entry of an unknown type is reported",
    make: (bench) => {
      const server = bench.stdio();
      return [server, { type: "pigeon", name: server.name, url: "pigeon://roof" }];
    },
  },
  "entry.unclaimed-type": {
    title: "an entry of a kind the agent does not claim is used, or reported",
    ruledOut: ({ kinds }) => (kinds.length === 3 ? "every kind is claimed" : undefined),
    make: async (bench) => {
      const { kinds } = bench.agent;
      const type = (["http", "sse"] as const).find((one) => !kinds.includes(one));
      if (type) return [await bench.remote(type, [])];
      const server = bench.stdio();
      return [server, { type: "acp", name: server.name, serverId: bench.word("id") }];
    },
  },
  "entry.no-object": {
    title: "an entry that is no object does not fail the session",
    isNameless: true,
    make: (bench) => [bench.stdio(), "just a word"],
  },
};

export const ENTRY: Checks = {
  ...Object.fromEntries(Object.entries(ODD).map(([id, entry]) => [id, oddCheck(entry)])),
  "entry.duplicate": {
    title: "of two servers with the same name neither is dropped without a word",
    why: "Half of the person's servers vanish, and nothing says so.",
    run: async (bench) => {
      const name = bench.word("twin");
      const twins = [bench.stdio({}, { name }), bench.stdio({}, { name })];
      const session = await bench.openWith(twins);
      const connected = () => twins.filter(isInitialized).length;
      const isTold = () => session.updates.some((update) => tells(update, name));
      await waitUntil(() => connected() === twins.length || (connected() > 0 && isTold()), BOUNDS.toldMs);
      if (connected() === twins.length) return "both were connected";
      const how = await session.howTold(name);
      demand(connected() > 0, "neither was connected");
      if (how === undefined) throw new CheckFailure("one was connected, the other dropped; nothing says so");
      return `one was connected; the client was told: ${how}`;
    },
  },
};

function oddCheck({ isNameless = false, make, ...about }: OddEntry): Check {
  return {
    ...about,
    why: WHY,
    run: async (bench) => {
      const good = bench.stdio();
      const [server, entry = server.entry] = await make(bench);
      const session = await bench.open(await bench.start(), [entry, good.entry]);
      await session.use(good);
      if (isNameless) return "the session opened, and the server beside it was used";
      if (await receivesWithin(server, "initialize", BOUNDS.quietMs)) return "it was connected";
      const how = await session.howTold(server.name);
      // A slow agent may have connected it in the meantime.
      if (isInitialized(server)) return "it was connected";
      if (how === undefined) throw new CheckFailure("the session opened, the entry was dropped, and nothing says so");
      return `reported: ${how}`;
    },
  };
}

function changed(server: TestServer, fields: JsonObject): Made {
  return [server, { ...server.entry, ...fields }];
}
