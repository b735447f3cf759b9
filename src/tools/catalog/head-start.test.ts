// A head start is small, has the best, and no server takes all of it.
import { expect, test } from "vitest";
import { testSource, testTool } from "../../../test/tool-source.js";
import { watchEventLoop } from "../../testing/lab/index.js";
import { TOOL_LIMITS } from "../limits.js";
import { ToolNames } from "../names.js";
import { KnownTools, mentionedTools } from "./offer.js";
import { type Ranked, serverIndexText } from "./offered-tools.js";
import { chooseHeadStart, tokensOf } from "./session-catalog.js";

function ranked(server: string, count: number, from: number, description = "x"): readonly Ranked[] {
  const known = new KnownTools(
    testSource(
      server,
      Array.from({ length: count }, (_, at) => testTool(`t${at}`, { description })),
    ),
    { names: new ToolNames() },
  );
  known.refresh();
  return known.tools.map((tool, at) => ({ known: tool, score: from - at / 100 }));
}

const ids = (chosen: readonly Ranked[]) => chosen.map(({ known }) => known.tool.id);

test("one server gets half of the places while others fit, and the rest when they do not", () => {
  const [loud, quiet] = [ranked("loud", 20, 1), ranked("quiet", 2, 0.5)];
  const chosen = chooseHeadStart([...loud, ...quiet], 6);
  expect(ids(chosen)).toEqual([...ids(loud.slice(0, 4)), ...ids(quiet)]);
  expect(ids(chooseHeadStart(loud, 6))).toEqual(ids(loud.slice(0, 6)));
  expect(chooseHeadStart(loud, 0)).toEqual([]);
});

test("what does not fit into the budget is skipped, but for the best", () => {
  const [best, ...others] = [
    ...ranked("a", 1, 1, "x".repeat(TOOL_LIMITS.headStart.tokens * 6)),
    ...ranked("b", 3, 0.5),
  ];
  if (!best) throw new Error("none");
  expect(tokensOf(best.known.tool)).toBeGreaterThan(TOOL_LIMITS.headStart.tokens);
  expect(ids(chooseHeadStart([best, ...others], 4))).toEqual([best.known.tool.id]);
  expect(ids(chooseHeadStart([...others, best], 4))).toEqual(ids(others));
  const [bomb] = ranked("c", 1, 1, "x".repeat(TOOL_LIMITS.headStart.tokens * 40));
  expect(ids(chooseHeadStart(bomb ? [bomb, ...others] : [], 4))).toEqual(ids(others));
});

test("the index of servers stays within its bound, whatever servers say", () => {
  const about = () => ({ instructions: "word ".repeat(2_000) });
  const names = new ToolNames();
  const sources = Array.from(
    { length: 300 },
    (_, at) => new KnownTools(testSource(`server-${at}`, ["t"], { about }), { names }),
  );
  for (const source of sources) source.refresh();
  const text = serverIndexText(sources);
  expect(text.length).toBeLessThanOrEqual(TOOL_LIMITS.serverIndex.maxChars);
  expect(text.split("\n").at(-1)).toMatch(/^- and \d+ more servers$/);
  const few = serverIndexText(sources.slice(0, 3));
  expect(few.split("\n").map((line) => line.length <= TOOL_LIMITS.serverIndex.lineChars)).toEqual([true, true, true]);
});

test("mentions are words of their own, without the punctuation after them, each once", () => {
  expect(mentionedTools("a @tool:x/y, @tool:x/y. (@tool:z) name@tool:no @tool: @tools:no")).toEqual(["x/y", "z"]);
});

test("a mention with many marks in it does not hold the event loop", async () => {
  const name = `${".".repeat(60_000)}x`;
  const { value, longestMs } = await watchEventLoop(async () => mentionedTools(`@tool:${name}.`));
  expect(value).toEqual([name]);
  expect(longestMs).toBeLessThan(50);
});
