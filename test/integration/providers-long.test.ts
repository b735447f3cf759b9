// Long conversations and large results: the requests stay small, the window is kept, and nothing is lost.
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { scriptedHttpServer, type ToolScript } from "../../src/testing/index.js";
import { answerText, answerToolCall, type ProviderReply, type ProviderRequest } from "../../src/testing/lab/index.js";
import { onStage } from "../scenarios/providers/stage.js";
import { conversationIn, resultsIn, TARGETS, toolsIn } from "../scenarios/providers/target.js";
import { scenario } from "../scenarios/scenario.js";

const TURNS = 200;
const WINDOW_TOKENS = 32_768;
const RESULT_BYTES = 40_000;
const SUMMARY = "They looked at logs, one a day, and found nothing of note.";

/** Several of them: one alone would be asked too often a minute. */
const SERVERS = ["s0", "s1", "s2", "s3"];

const LOG_SERVER = {
  tools: [
    {
      name: "log",
      description: "Returns a long log.",
      inputSchema: { type: "object", properties: { day: { type: "integer" } }, required: ["day"] },
      reply: { kind: "bytes", bytes: RESULT_BYTES },
    },
    { name: "first", description: "Returns the first log.", reply: { kind: "text", text: firstLog() } },
  ],
} as const;

/** Long enough to be kept under a handle, with one line that only a reader of the whole can know. */
function firstLog(): string {
  const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index}: nothing of note happened`);
  lines[1_500] = "line 1500: the needle is 4711";
  return lines.join("\n");
}

function longAnswer(request: ProviderRequest): ProviderReply {
  // Without tools it is Tenon itself that asks, for a summary.
  if (toolsIn(request).length === 0) return answerText(SUMMARY);
  const turn = Number(/turn number (\d+)/.exec(JSON.stringify(conversationIn(request).at(-1)))?.[1] ?? -1);
  if (turn < 0) return answerText("Nothing of note in it.");
  const server = SERVERS[turn % SERVERS.length];
  return answerToolCall(`mcp__${server}__${turn === 0 ? "first" : "log"}`, turn === 0 ? {} : { day: turn });
}

for (const target of TARGETS) {
  scenario(
    ["L11"],
    `${target.name}: ${TURNS} turns with large results stay within the window, and the first result can still be read`,
    () =>
      onStage(
        target,
        async (stage) => {
          stage.provider.replyWith(longAnswer);
          for (let turn = 0; turn < TURNS; turn++) {
            const told = await stage.prompt(`turn number ${turn}`);
            expect(told.error, `turn ${turn}`).toBeUndefined();
            expect(told.result?.stopReason).toBe("end_turn");
          }
          const means = stage.events.items.flatMap((told) =>
            told.kind === "turn" && told.event.kind === "compaction" && told.event.phase === "done"
              ? [told.event.means]
              : [],
          );
          expect(means).toContain("handles");
          expect(means).toContain("model");
          expect(stage.requestTexts.at(-1)).toContain(SUMMARY);
          stage.provider.reply(
            answerToolCall("tenon_read_result", { handle: "r1", grep: "needle" }),
            answerText("The needle is 4711."),
          );
          const told = await stage.prompt("what was in the first log?");
          expect(told.text).toBe("The needle is 4711.");
          const request = stage.provider.requests.at(-1);
          expect(request && resultsIn(request).at(-1)?.content).toContain("the needle is 4711");
        },
        {
          servers: Object.fromEntries(SERVERS.map((name) => [name, LOG_SERVER])),
          provider: { contextTokens: WINDOW_TOKENS },
          load: { settings: { contextTokens: WINDOW_TOKENS, maxOutputTokens: 4_096 } },
        },
      ),
    { timeoutMs: 600_000 },
  );

  scenario(
    ["L12"],
    `${target.name}: a text result of 12 MB leaves the next request small, and can be read on`,
    () =>
      onStage(
        target,
        async (stage) => {
          stage.provider.reply(
            answerToolCall("mcp__s__huge", {}),
            answerToolCall("tenon_read_result", { handle: "r1", byte: 11_000_000, lines: 1 }),
            answerText("It is long."),
          );
          const told = await stage.prompt("fetch it");
          expect(told.text).toBe("It is long.");
          for (const text of stage.requestTexts) expect(text.length).toBeLessThan(300_000);
          expect(resultsIn(await stage.provider.awaitRequest(2)).at(-1)?.content.length).toBeGreaterThan(100);
        },
        {
          servers: {
            s: {
              tools: [{ name: "huge", description: "12 MB of text.", reply: { kind: "bytes", bytes: 12_000_000 } }],
            },
          },
        },
      ),
    { timeoutMs: 120_000 },
  );

  scenario(
    ["L12", "L4"],
    `${target.name}: over 20 turns with 500 tools the offered ones change only by appending, at a fifth of the cost`,
    async () => {
      await using server = await scriptedHttpServer({ tools: MANY_TOOLS });
      await onStage(
        target,
        async (stage) => {
          for (let turn = 0; turn < 20; turn++) {
            stage.provider.reply(
              answerToolCall("tenon_search_tools", {
                query: `${VERBS[turn % VERBS.length]} ${NOUNS[turn % NOUNS.length]}`,
              }),
              answerText(`Turn ${turn} is done.`),
            );
            const told = await stage.prompt(`do something with ${NOUNS[turn % NOUNS.length]}`);
            expect(told.result?.stopReason).toBe("end_turn");
          }
          const { requests } = stage.provider;
          const offered = requests.map((request) => toolsIn(request).map((tool) => JSON.stringify(unmarked(tool))));
          for (const [index, tools] of offered.entries()) {
            expect(tools.slice(0, offered[index - 1]?.length ?? 0), `request ${index}`).toEqual(
              offered[index - 1] ?? [],
            );
          }
          const all = MANY_TOOLS.map((tool) => JSON.stringify(tool)).join("").length;
          const ours = stage.requestTexts.reduce((sum, text) => sum + text.length, 0);
          const withAll = requests.reduce((sum, request, index) => {
            return sum + (stage.requestTexts[index]?.length ?? 0) - JSON.stringify(toolsIn(request)).length + all;
          }, 0);
          expect(ours / withAll).toBeLessThan(1 / 5);
        },
        { servers: {}, specs: [{ kind: "http", name: "many", url: server.url, headers: {} }] },
      );
    },
    { timeoutMs: 120_000 },
  );
}

function unmarked(tool: JsonObject): JsonObject {
  const { cache_control: _, ...rest } = tool;
  return rest;
}

const VERBS = ["create", "read", "update", "delete", "list", "search", "archive", "export", "import", "share"];
const NOUNS = [
  [
    "invoices",
    "issues",
    "calendars",
    "contacts",
    "tickets",
    "repositories",
    "branches",
    "commits",
    "releases",
    "pages",
  ],
  ["documents", "folders", "images", "videos", "songs", "playlists", "orders", "payments", "refunds", "shipments"],
  ["customers", "products", "prices", "discounts", "taxes", "reports", "dashboards", "alerts", "metrics", "traces"],
  ["servers", "databases", "tables", "queries", "backups", "users", "groups", "roles", "policies", "secrets"],
  ["meetings", "notes", "tasks", "projects", "boards", "cards", "labels", "comments", "messages", "channels"],
].flat();

/** 500 tools about as long as those of real servers. */
const MANY_TOOLS: readonly ToolScript[] = VERBS.flatMap((verb) =>
  NOUNS.map((noun) => ({
    name: `${verb}_${noun}`,
    description: `Use this to ${verb} ${noun} of the workspace. It takes the workspace, an optional filter and a limit, and returns what was done, with the ids of all ${noun} it was done to. Ask the person before you ${verb} many ${noun} at once.`,
    inputSchema: {
      type: "object",
      properties: {
        workspace: { type: "string", description: `The workspace whose ${noun} are meant.` },
        filter: { type: "string", description: `Which ${noun}: words, or field:value pairs separated by spaces.` },
        limit: { type: "integer", minimum: 1, maximum: 500, description: `How many ${noun} at most; 50 unless given.` },
        isDryRun: { type: "boolean", description: "Only tell what would be done." },
      },
      required: ["workspace"],
    },
    reply: { kind: "echo" as const },
  })),
);
