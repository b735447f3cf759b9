// A server's tools, kept up to date at a pace of our own, whatever the server announces.
import { afterEach, describe, expect, it, test } from "vitest";
import { type Answer, type Ask, FakeLink } from "../../../test/fake-link.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { fakeWorld } from "../../testing/index.js";
import type { Listing } from "../protocol/lists.js";
import type { McpTool } from "../protocol/tools.js";
import { ToolList } from "./supervisor.js";

const never = new AbortController().signal;
const CHANGED = "notifications/tools/list_changed";

function tool(name: string, extra: JsonObject = {}): JsonObject {
  return { name, description: `does ${name}`, inputSchema: { type: "object" }, ...extra };
}

/** One page, however often it is asked for. */
function page(...tools: JsonValue[]): () => Answer {
  return () => ({ result: { tools } });
}

function names({ items: tools }: Listing<McpTool>): string[] {
  return tools.map(({ name }) => name);
}

function follow(answer: (ask: Ask) => Answer | Promise<Answer>) {
  const world = fakeWorld();
  const link = new FakeLink(world, { answer });
  const seen: Listing<McpTool>[] = [];
  const tools = new ToolList(link, world, (discovered) => seen.push(discovered));
  return { world, link, seen, tools };
}

describe("ToolList", () => {
  let version = 1;
  afterEach(() => {
    version = 1;
  });
  const versioned = (): Answer => ({ result: { tools: [tool("same"), tool(`v${version}`)] } });

  it("lists once, then again after a change, keeping what did not change", async () => {
    const { world, link, seen, tools } = follow(versioned);
    await tools.load(never);
    version = 2;
    link.announce(CHANGED);
    await world.advance(1_000);
    expect(seen.map(names)).toEqual([
      ["same", "v1"],
      ["same", "v2"],
    ]);
    expect(seen[1]?.items[0]).toBe(seen[0]?.items[0]);
    expect(link.asked).toHaveLength(2);
    await tools.close();
  });

  it("tells nobody when the list came out the same", async () => {
    const { world, link, seen, tools } = follow(versioned);
    await tools.load(never);
    link.announce(CHANGED);
    await world.advance(1_000);
    expect(link.asked).toHaveLength(2);
    expect(seen).toHaveLength(1);
    await tools.close();
  });

  it("is not starved by a storm that never ends, and asks no more often than every half second", async () => {
    const { world, link, seen, tools } = follow(versioned);
    await tools.load(never);
    for (let step = 0; step < 1_000; step++) {
      version = step;
      link.announce(CHANGED);
      await world.advance(10);
    }
    expect(seen.length).toBeGreaterThanOrEqual(19);
    expect(link.asked.length).toBeLessThanOrEqual(22);
    expect(seen[1]?.items[1]?.name).toBe("v49"); // half a second after the first list, not at the end of the storm
    await tools.close();
  });

  it("takes 300,000 notices in its stride", async () => {
    const { world, link, tools } = follow(versioned);
    await tools.load(never);
    const startMs = performance.now();
    for (let count = 0; count < 300_000; count++) link.announce(CHANGED);
    expect(performance.now() - startMs).toBeLessThan(500);
    await world.advance(5_000);
    expect(link.asked).toHaveLength(2);
    expect(world.clock.pendingTimers).toBe(0);
    await tools.close();
  });

  it("lists again when a notice comes while it is listing, and never twice at a time", async () => {
    let running = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const { world, link, seen, tools } = follow(async () => {
      running += 1;
      most = Math.max(most, running);
      const answer = versioned();
      if (version > 1) await new Promise<void>((resolve) => gates.push(resolve));
      running -= 1;
      return answer;
    });
    await tools.load(never);
    version = 2;
    link.announce(CHANGED);
    await world.advance(1_000);
    version = 3;
    link.announce(CHANGED);
    await world.advance(5_000);
    expect(link.asked).toHaveLength(2);
    gates.shift()?.();
    await world.advance(1_000);
    gates.shift()?.();
    await world.settle();
    expect(seen.map((each) => each.items[1]?.name)).toEqual(["v1", "v2", "v3"]);
    expect(most).toBe(1);
    await tools.close();
  });

  it("looks again when the notices came before the first list was there", async () => {
    const { world, link, seen, tools } = follow(versioned);
    const loading = tools.load(never);
    link.announce(CHANGED);
    await loading;
    version = 2;
    await world.advance(1_000);
    expect(seen.map((each) => each.items[1]?.name)).toEqual(["v1", "v2"]);
    await tools.close();
  });

  it("keeps the list it has when it cannot be renewed, tries a few times, and says so", async () => {
    let isBroken = false;
    const { world, link, seen, tools } = follow(() =>
      isBroken ? { error: { code: -32603, message: "busy" } } : versioned(),
    );
    await tools.load(never);
    isBroken = true;
    link.announce(CHANGED);
    await world.advance(60_000);
    expect(link.asked).toHaveLength(4);
    expect(seen).toHaveLength(1);
    expect(world.logEntries.filter(({ event }) => event === "mcp.relist_failed")).toHaveLength(3);
    isBroken = false;
    version = 2;
    link.announce(CHANGED);
    await world.advance(1_000);
    expect(seen).toHaveLength(2);
    await tools.close();
  });

  it("does not take half a list for the list", async () => {
    let isBroken = false;
    const { world, link, seen, tools } = follow(({ params }) => {
      if (!isBroken) return { result: { tools: [tool("a"), tool("b")] } };
      if (params["cursor"] !== undefined) return { error: { code: -32603, message: "busy" } };
      return { result: { tools: [tool("a")], nextCursor: "2" } };
    });
    await tools.load(never);
    isBroken = true;
    link.announce(CHANGED);
    await world.advance(60_000);
    expect(seen.map(names)).toEqual([["a", "b"]]);
    await tools.close();
  });

  it("takes half of the first list rather than none, says that it is half, and asks for the whole a few times", async () => {
    let failures = 2;
    const { world, link, seen, tools } = follow(({ params }) => {
      if (params["cursor"] === undefined) return { result: { tools: [tool("a")], nextCursor: "2" } };
      failures -= 1;
      return failures >= 0 ? { error: { code: -32603, message: "busy" } } : { result: { tools: [tool("b")] } };
    });
    await tools.load(never);
    expect(seen).toMatchObject([{ brokenOff: { code: "mcp.call_failed" } }]);
    await world.advance(60_000);
    expect(seen.map(names)).toEqual([["a"], ["a", "b"]]);
    expect(seen[1]?.brokenOff).toBeUndefined();
    expect(link.asked).toHaveLength(6);
    await tools.close();

    const hopeless = follow(({ params }) =>
      params["cursor"] === undefined
        ? { result: { tools: [tool("a")], nextCursor: "2" } }
        : { error: { code: 1, message: "" } },
    );
    await hopeless.tools.load(never);
    await hopeless.world.advance(600_000);
    expect(hopeless.link.asked).toHaveLength(6);
    await hopeless.tools.close();
  });

  it("ends with the link, and with close, which waits for what is under way", async () => {
    const broken = follow(versioned);
    await broken.tools.load(never);
    broken.link.announce(CHANGED);
    broken.link.break();
    await broken.world.advance(5_000);
    expect(broken.link.asked).toHaveLength(1);
    expect(broken.world.clock.pendingTimers).toBe(0);

    const closed = follow(() => (version === 1 ? versioned() : undefined));
    await closed.tools.load(never);
    version = 2;
    closed.link.announce(CHANGED);
    await closed.world.advance(1_000);
    expect(closed.link.asked).toHaveLength(2);
    await closed.tools.close();
    expect(closed.link.cancelled).toEqual([2]);
    closed.link.announce(CHANGED);
    await closed.world.advance(5_000);
    expect(closed.link.asked).toHaveLength(2);
    expect(closed.seen).toHaveLength(1);
    expect(closed.world.clock.pendingTimers).toBe(0);
  });

  it("throws the reason when loading is aborted, and tells nobody", async () => {
    const { tools, seen } = follow(() => undefined);
    const controller = new AbortController();
    const loading = tools.load(controller.signal);
    controller.abort(new Error("too late"));
    await expect(loading).rejects.toThrow("too late");
    expect(seen).toEqual([]);
    await tools.close();
  });
});

test("two connections to the same server share one list in memory, and different ones do not", async () => {
  const same = () => page(tool("a", { inputSchema: { type: "object", properties: { x: {} } } }), tool("b"))();
  const one = follow(same);
  const two = follow(same);
  const other = follow(page(tool("a", { inputSchema: { type: "object", properties: { y: {} } } }), tool("b")));
  for (const { tools } of [one, two, other]) await tools.load(never);
  expect(two.seen[0]?.items).toBe(one.seen[0]?.items);
  expect(other.seen[0]?.items).not.toBe(one.seen[0]?.items);
  for (const { tools } of [one, two, other]) await tools.close();
});
