// A server's lists: all of it, without what is bad, whatever the server does to us.
import { describe, expect, it, test } from "vitest";
import { type Answer, FakeLink, type FakeLinkOptions } from "../../../test/fake-link.js";
import { longestStandstillMs } from "../../../test/standstill.js";
import { TenonError } from "../../base/errors.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import type { PartFacts } from "../transport/large/message-parts.js";
import { type PartLookup, withParts } from "../transport/large/spilled.js";
import type { Listing } from "./lists.js";
import { listTools, type McpTool } from "./tools.js";

const never = new AbortController().signal;

function tool(name: string, extra: JsonObject = {}): JsonObject {
  return { name, description: `does ${name}`, inputSchema: { type: "object" }, ...extra };
}

function list(answer: FakeLinkOptions["answer"], options: Partial<FakeLinkOptions> = {}) {
  const world = fakeWorld();
  const link = new FakeLink(world, { answer, ...options });
  const listed = Promise.resolve().then(() => listTools(link, world, never)); // once the test has its link
  return { world, link, listed };
}

/** One page, however often it is asked for. */
function page(...tools: JsonValue[]): () => Answer {
  return () => ({ result: { tools } });
}

function names({ items: tools }: Listing<McpTool>): string[] {
  return tools.map(({ name }) => name);
}

describe("listTools", () => {
  it("follows the cursors to the end", async () => {
    const pages: Record<string, JsonObject> = {
      "": { tools: [tool("a")], nextCursor: "2" },
      "2": { tools: [tool("b")], nextCursor: "3" },
      "3": { tools: [tool("c")] },
    };
    const { link, listed } = list(({ params }) => ({ result: pages[String(params["cursor"] ?? "")] ?? {} }));
    expect(names(await listed)).toEqual(["a", "b", "c"]);
    expect(link.asked.map(({ params }) => params)).toEqual([{}, { cursor: "2" }, { cursor: "3" }]);
  });

  describe("asks for the next page before it has read this one", () => {
    /** Three pages, and in what order requests went out and pages were read. */
    function peeked(peek: NonNullable<FakeLinkOptions["peek"]>) {
      const events: string[] = [];
      const next: Record<string, JsonObject> = { first: { nextCursor: "2" }, "2": { nextCursor: "3" }, "3": {} };
      const answer: FakeLinkOptions["answer"] = ({ params }) => {
        const name = String(params["cursor"] ?? "first");
        events.push(`asked ${name}`);
        // Only what is read touches a tool's name.
        const one = Object.defineProperty(tool(name), "name", {
          enumerable: true,
          get: () => {
            if (!events.includes(`read ${name}`)) events.push(`read ${name}`);
            return name;
          },
        });
        return { result: { tools: [one], ...next[name] } };
      };
      return { events, ...list(answer, { peek }) };
    }
    const plainEnds = (cursor: string) => () => ({ head: "{", tail: `"x":[],"nextCursor":"${cursor}"}}` });

    it("when it sees the cursor in its end", async () => {
      const { events, link, listed } = peeked(({ nextCursor = "" }) => ({
        head: "{",
        tail: `"tools":[],"nextCursor":"${String(nextCursor)}"}}`,
      }));
      expect(names(await listed)).toEqual(["first", "2", "3"]);
      expect(events).toEqual(["asked first", "asked 2", "read first", "asked 3", "read 2", "read 3"]);
      expect(link.cancelled).toEqual([]);
    });

    it("not any more when it saw a cursor that is none of the list's, which is called off in the end", async () => {
      const { link, listed } = peeked(plainEnds("other"));
      expect(names(await listed)).toEqual(["first", "2", "3"]);
      const cursors = link.asked.map(({ params }) => params["cursor"] ?? "");
      expect(cursors.filter((cursor) => cursor !== "other")).toEqual(["", "2", "3"]);
      expect(cursors.filter((cursor) => cursor === "other")).toHaveLength(1);
    });

    it("and calls off what it asked for when the list is at its end", async () => {
      const isOpen = new Promise<Answer>(() => {});
      const { link, listed } = list(
        ({ params }) => (params["cursor"] === undefined ? { result: { tools: [tool("a")] } } : isOpen),
        { peek: plainEnds("more") },
      );
      expect(names(await listed)).toEqual(["a"]);
      expect(link.asked).toHaveLength(2);
      expect(link.cancelled).toEqual([2]);
    });

    it("but never for ever", async () => {
      const { link, listed } = list(() => ({ result: { tools: [tool("a")], nextCursor: `c${link.asked.length}` } }), {
        peek: true,
      });
      expect((await listed).problems).toContainEqual(expect.stringContaining("does not end: cut after 12 pages"));
      expect(link.asked).toHaveLength(12);
      const same = list(() => ({ result: { tools: [tool("a")], nextCursor: "same" } }), { peek: true });
      await same.listed;
      expect(same.link.asked).toHaveLength(2);
    });
  });

  it("does not ask a server that declares no tools", async () => {
    const { link, listed } = list(page(tool("a")), { capabilities: {} });
    expect(await listed).toEqual({ items: [], problems: [] });
    expect(link.asked).toEqual([]);
  });

  it("takes method not found on a declared list for an empty one", async () => {
    const { listed } = list(() => ({ error: { code: -32601, message: "Method not found" } }));
    expect(await listed).toEqual({ items: [], problems: [] });
  });

  it("sets malformed tools aside with their reasons and keeps the others", async () => {
    const { listed } = list(page(7, tool("good"), { name: "bad", inputSchema: { type: "string" } }, { name: "worse" }));
    expect(await listed).toMatchObject({
      items: [{ name: "good" }],
      problems: [
        'tool "?" is left out: the entry is not an object',
        'tool "bad" is left out: its inputSchema has type "string" instead of "object"',
        'tool "worse" is left out: its inputSchema is not an object',
      ],
    });
  });

  it("of two tools with one name the last counts, and it is told", async () => {
    const { listed } = list(page(tool("a", { title: "1" }), tool("b"), tool("a", { title: "2" })));
    const found = await listed;
    expect(found.items).toMatchObject([{ name: "a", title: "2" }, { name: "b" }]);
    expect(found.problems).toEqual(['tool "a" is defined twice: the last one counts']);
  });

  it("keeps tools named like properties of every object", async () => {
    const { listed } = list(page(tool("__proto__"), tool("constructor"), tool("toString")));
    expect(names(await listed)).toEqual(["__proto__", "constructor", "toString"]);
  });

  it("leaves out a tool nested too deep to be written again, and one too large", async () => {
    const deep: JsonValue = JSON.parse(`${'{"items":'.repeat(100_000)}{}${"}".repeat(100_000)}`);
    const large = { type: "object", properties: { a: { description: "x".repeat(5_000_000) } } };
    const { listed } = list(
      page(tool("deep", { outputSchema: deep }), tool("large", { inputSchema: large }), tool("a")),
    );
    expect(await listed).toMatchObject({
      items: [{ name: "a" }],
      problems: [
        'tool "deep" is left out: its definition is nested more than 100 deep',
        'tool "large" is left out: its definition is more than 4194304 bytes',
      ],
    });
  });

  it("leaves out a tool with header annotations that cannot be honoured, in the modern era only", async () => {
    const bad = tool("bad", {
      inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": "" } } },
    });
    const modern = list(page(bad, tool("good")), {
      agreement: { era: "modern", protocolVersion: "2026-07-28" },
    });
    expect(await modern.listed).toMatchObject({
      items: [{ name: "good" }],
      problems: [expect.stringContaining('tool "bad" is left out: the x-mcp-header')],
    });
    expect(names(await list(page(bad, tool("good"))).listed)).toEqual(["bad", "good"]);
  });

  it("ends with a cursor that comes again", async () => {
    const { link, listed } = list(({ params }) => ({
      result: { tools: [tool(`t${link.asked.length}`)], nextCursor: params["cursor"] === "a" ? "b" : "a" },
    }));
    expect(await listed).toMatchObject({
      items: { length: 3 },
      problems: ["the list of tools does not end: cut after 3 pages and 3 tools"],
    });
  });

  it("ends with new cursors whose pages bring nothing new", async () => {
    const { link, listed } = list(() => ({ result: { tools: [tool("a")], nextCursor: `c${link.asked.length}` } }));
    expect(names(await listed)).toEqual(["a"]);
    expect(link.asked).toHaveLength(12); // the next page is asked for before this one is read
  });

  it("ends an endless list of new tools, within pages, entries and bytes", async () => {
    const { link, listed } = list(() => ({
      result: { tools: [tool(`t${link.asked.length}`)], nextCursor: `c${link.asked.length}` },
    }));
    expect(await listed).toMatchObject({
      items: { length: 2_000 },
      problems: [expect.stringContaining("does not end")],
    });

    const many = list(page(...Array.from({ length: 30_000 }, (_, index) => tool(`t${index}`))));
    expect(await many.listed).toMatchObject({
      items: { length: 12_000 },
      problems: ["the list of tools is too long: cut after 12000 tools"],
    });

    const text = "x".repeat(3_000_000);
    const large = list(() => ({
      result: {
        tools: [tool(`t${large.link.asked.length}`, { description: text })],
        nextCursor: `${large.link.asked.length}`,
      },
    }));
    expect((await large.listed).items).toHaveLength(12);

    // As text 60 KB each, as objects over a megabyte.
    const fat = list(() => ({
      result: {
        tools: [tool(`t${fat.link.asked.length}`, { _meta: { objects: Array.from({ length: 20_000 }, () => ({})) } })],
        nextCursor: `${fat.link.asked.length}`,
      },
    }));
    expect((await fat.listed).items).toHaveLength(20);
  });

  it("says no more than a bounded number of problems", async () => {
    const { listed } = list(page(...Array.from({ length: 5_000 }, () => 1)));
    const { problems } = await listed;
    expect(problems).toHaveLength(51);
    expect(problems.at(-1)).toBe("and 4950 more problems of this kind");
  });

  it("keeps the pages it has when a later one fails, and says where it broke off", async () => {
    const { listed } = list(({ params }) =>
      params["cursor"] === undefined
        ? { result: { tools: [tool("a")], nextCursor: "2" } }
        : { error: { code: -32603, message: "database is gone" } },
    );
    expect(await listed).toMatchObject({
      items: [{ name: "a" }],
      problems: [
        expect.stringContaining(
          "the list of tools breaks off after page 1: tools/list: the server answered with error -32603: database is gone",
        ),
      ],
      brokenOff: { code: "mcp.call_failed" },
    });
  });

  it.each<[string, Answer, string]>([
    [
      "an error",
      { error: { code: -32603, message: "offline" } },
      "tools/list: the server answered with error -32603: offline",
    ],
    [
      "a loss",
      { lost: { error: new TenonError("mcp.too_large", "too large"), wasSent: true } },
      "tools/list: too large",
    ],
  ])("throws when the first page is %s", async (_, answer, message) => {
    await expect(list(() => answer).listed).rejects.toThrow(message);
  });

  it("leaves out what was too long for memory, instead of taking what is left of it for a definition", async () => {
    const file: PartFacts = { path: "/f", bytes: 9, form: "json", preview: "" };
    const inFile: PartLookup = (text) => (text === "@" ? file : undefined);
    const cut = (tools: JsonValue) => list(() => ({ result: { tools: withParts(tools, inFile) } })).listed;
    const listed = await cut([tool("a"), tool("b", { inputSchema: "@" }), tool("c", { description: "@" }), "@"]);
    expect(names(listed)).toEqual(["a"]);
    expect(listed.problems).toEqual(
      ["b", "c", "?"].map((name) => `tool "${name}" is left out, if not more: the message it came in is too long`),
    );
    expect(await cut("@")).toEqual({ items: [], problems: ['"tools" in the result is too long'] });
  });

  it("tolerates a result without a list and one whose list is none", async () => {
    expect(await list(() => ({ result: {} })).listed).toEqual({ items: [], problems: [] });
    expect(await list(() => ({ result: { tools: {} } })).listed).toEqual({
      items: [],
      problems: ['"tools" in the result is no list'],
    });
  });
});

function manyTools(): string {
  const properties = Object.fromEntries(
    Array.from({ length: 8 }, (_, index) => [
      `argument_${index}`,
      { type: "string", description: "what it is for ".repeat(4) },
    ]),
  );
  const tools = Array.from({ length: 10_000 }, (_, index) =>
    tool(`tool_${index}`, {
      description: `${index} ${"word ".repeat(30)}`,
      inputSchema: { type: "object", properties, required: ["argument_0"] },
    }),
  );
  return JSON.stringify({ tools });
}

test("10,000 tools in one page are all listed, for a part of what parsing them costs, and leave the loop free", async () => {
  const world = nodeWorld();
  const startMs = performance.now();
  const result: JsonObject = JSON.parse(manyTools());
  const parseMs = performance.now() - startMs;
  const costs: number[] = [];
  const standstillMs = await longestStandstillMs(async () => {
    const listMs = performance.now();
    const { items: tools, problems } = await listTools(
      new FakeLink(world, { answer: () => ({ result }) }),
      world,
      never,
    );
    costs.push(performance.now() - listMs);
    expect(tools).toHaveLength(10_000);
    expect(problems).toEqual([]);
  });
  expect(Math.min(...costs)).toBeLessThan(parseMs);
  expect(standstillMs).toBeLessThan(50);
});
