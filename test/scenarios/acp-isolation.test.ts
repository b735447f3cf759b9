// Many sessions in one process: nothing of one shows in another, bad servers cost nobody else, and nothing is left.
import { readdirSync } from "node:fs";
import type { McpServer } from "@agentclientprotocol/sdk";
import { expect } from "vitest";
import { isJsonObject, type JsonValue } from "../../src/base/json/json.js";
import { type AcpClient, type Behaviour, echoTool, listLiving, scriptedAcpServer } from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { HeapProbe } from "./heap-probe.js";
import { scenario } from "./scenario.js";

const COLOURS = ["crimson", "teal", "olive"] as const;

/** A server whose every word has the colour in it. */
function coloured(name: string, colour: string, more: Behaviour = {}): McpServer {
  const who = {
    name: `who_${colour}`,
    description: `Says who it is: ${colour}`,
    reply: { kind: "text", text: `I am ${colour}` },
  } as const;
  return scriptedAcpServer(name, {
    serverName: `server-${colour}`,
    instructions: `Ask for ${colour}.`,
    tools: [who],
    ...more,
  });
}

const notices = (colour: string, count: number) =>
  ({
    do: "notify",
    method: "notifications/message",
    params: { level: "warning", data: `${colour} ${count}` },
  }) as const;

/** One that works, and one of each bad kind; the names are the same in every session. */
function serversOf(colour: string): McpServer[] {
  return [
    coloured("main", colour),
    scriptedAcpServer("hung", { serverName: colour, steps: { initialize: [{ do: "never" }] } }),
    scriptedAcpServer("failed", { steps: { start: [{ do: "crash", exitCode: 3, stderr: `no ${colour} database` }] } }),
    coloured("slow", colour, {
      tools: [{ name: `late_${colour}`, description: `Late ${colour}`, reply: { kind: "text", text: colour } }],
      steps: { initialize: [{ do: "delay", ms: 1_500 }] },
    }),
    scriptedAcpServer("crashing", {
      tools: [
        {
          name: `explode_${colour}`,
          description: `Explodes in ${colour}`,
          steps: [{ do: "crash", exitCode: 9, stderr: `${colour} is over` }],
          reply: { kind: "echo" },
        },
      ],
    }),
    scriptedAcpServer("flooding", {
      tools: [
        {
          name: `flood_${colour}`,
          description: `Floods with ${colour}`,
          steps: [
            ...Array.from({ length: 200 }, (_, count) => notices(colour, count)),
            ...Array.from({ length: 50 }, (_, progress) => ({
              do: "progress" as const,
              progress,
              total: 50,
              message: `${colour} progress`,
            })),
            { do: "list_changed", count: 100 },
            { do: "stderr_flood", bytes: 500_000 },
          ],
          reply: { kind: "text", text: `flooded with ${colour}` },
        },
      ],
    }),
  ];
}

/** Every message that names a session, by the session. */
function heardIn(client: AcpClient, sessionId: string): string[] {
  return client.lines
    .filter(({ direction }) => direction === "received")
    .filter(({ text }) => {
      const message: JsonValue = JSON.parse(text);
      const params = isJsonObject(message) ? message["params"] : undefined;
      return isJsonObject(params) && params["sessionId"] === sessionId;
    })
    .map(({ text }) => text);
}

scenario(
  ["P60", "A7"],
  "three sessions with hung, failed, slow, crashing and flooding servers of the same names: nothing of one shows in another",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const opened = await Promise.all(
      COLOURS.map(async (colour) => {
        const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: serversOf(colour) });
        return { colour, sessionId };
      }),
    );
    await Promise.all(
      opened.map(async ({ colour, sessionId }) => {
        for (const words of [`who_${colour}`, `flood_${colour}`, `explode_${colour}`, `late_${colour}`]) {
          expect((await client.prompt(sessionId, words)).stopReason).toBe("end_turn");
        }
      }),
    );
    for (const { colour, sessionId } of opened) {
      const heard = heardIn(client, sessionId).join("\n");
      expect(heard).toContain(`I am ${colour}`);
      expect(heard).toContain(`flooded with ${colour}`);
      expect(heard).toContain("Outcome unknown");
      expect(heard).toContain(`no ${colour} database`);
      const others = COLOURS.filter((other) => other !== colour);
      for (const other of others) expect(heard, `${other} in the session of ${colour}`).not.toContain(other);
      const status = JSON.stringify(await client.request("_tenon/mcp/status", { sessionId }));
      expect(status).toContain(colour);
      for (const other of others) expect(status, `${other} in the status of ${colour}`).not.toContain(other);
      await client.closeSession(sessionId);
    }
  },
);

const SERVERS = 10;
const SESSIONS = 7;
const MAX_MEDIAN_MS = 10;

scenario(["P63"], "session/new with ten servers answers within 10 ms at the median", async () => {
  const medians: number[] = [];
  // Other work on a shared machine can spoil a median; it does not spoil three in a row.
  for (let attempt = 1; attempt <= 3; attempt++) {
    const median = await medianOfNewSession();
    if (median <= MAX_MEDIAN_MS) return;
    medians.push(median);
  }
  expect.fail(`session/new took ${medians.join(", ")} ms at the median`);
});

async function medianOfNewSession(): Promise<number> {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  await client.closeSession((await client.newSession({ cwd: home.path })).sessionId); // the agent is loaded now
  const tookMs: number[] = [];
  for (let round = 0; round < SESSIONS; round++) {
    const mcpServers = Array.from({ length: SERVERS }, (_, index) =>
      scriptedAcpServer(`s${index}`, { tools: [echoTool()], ...(index === 0 ? HUNG : {}) }),
    );
    const from = client.lines.length;
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers });
    tookMs.push(answeredAfter(client, from, sessionId));
    await client.closeSession(sessionId);
  }
  return tookMs.sort((a, b) => a - b)[SESSIONS >> 1] ?? Number.NaN;
}

/** From the line that asks to the line that answers: what the client's SDK does with it is no part of it. */
function answeredAfter(client: AcpClient, from: number, sessionId: string): number {
  const lines = client.lines.slice(from);
  const asked = lines.find(({ direction, text }) => direction === "sent" && text.includes('"session/new"'));
  const answered = lines.find(({ direction, text }) => direction === "received" && text.includes(`"${sessionId}"`));
  return (answered?.atMs ?? Number.NaN) - (asked?.atMs ?? Number.NaN);
}

const HUNG: Behaviour = { steps: { initialize: [{ do: "never" }] } };

const ROUNDS = 10;
const AT_A_TIME = 10;
/** Compiled code and the collector's slack, measured at about 0.5 MB. 100 sessions that were kept would be over 7 MB. */
const MAX_GROWTH_MB = 3;

scenario(
  ["P61"],
  "100 sessions with two servers each open and close, ten at a time: descriptors, children and heap are as before",
  async () => {
    using home = new TemporaryFolder();
    const probe = new HeapProbe(home.path);
    await using client = await startTenon(home, { nodeArgs: probe.nodeArgs });
    await client.initialize();
    const pid = client.pid ?? Number.NaN;
    const counts = async () => {
      const heapMb = await probe.heapMb(pid);
      return { heapMb, files: readdirSync(`/proc/${pid}/fd`).length, children: listLiving({ under: pid }).length };
    };
    for (let round = 0; round < 3; round++) await openAndClose(client, home.path);
    const before = await counts();
    for (let round = 0; round < ROUNDS; round++) await openAndClose(client, home.path);
    const after = await counts();
    expect(after.files).toBe(before.files);
    expect(after.children).toBe(before.children);
    expect(after.heapMb - before.heapMb).toBeLessThan(MAX_GROWTH_MB);
  },
  { timeoutMs: 300_000, platform: "linux" },
);

/** Each session uses one of its servers, so that both are connected and something was said. */
async function openAndClose(client: AcpClient, cwd: string): Promise<void> {
  const two = () => ["one", "two"].map((name) => scriptedAcpServer(name, { tools: [echoTool()] }));
  const opened = await Promise.all(
    Array.from({ length: AT_A_TIME }, () => client.newSession({ cwd, mcpServers: two() })),
  );
  await Promise.all(
    opened.map(async ({ sessionId }) => {
      expect((await client.prompt(sessionId, "please echo briefly")).stopReason).toBe("end_turn");
      await client.closeSession(sessionId);
    }),
  );
}
