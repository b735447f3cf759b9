// Every tool that is missing has a reason, in words, whatever it is asked for by.
import { expect, test } from "vitest";
import { names, testSource, testTool } from "../../../test/tool-source.js";
import { SessionCatalog } from "./session-catalog.js";

const signal = new AbortController().signal;

test("offered tools say by what: always, added, chosen by a prompt", async () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["always", "named"]), { includeByTool: { named: "always" } });
  catalog.add(testSource("m", ["by_hand"]), { include: "manual" });
  catalog.add(testSource("s", ["count_words"]), { include: "search" });
  await catalog.startPrompt("count words @tool:by_hand", signal);
  expect(catalog.why("a/always")).toMatchObject({ kind: "offered", tool: { id: "mcp__a__always" } });
  expect(catalog.why("always").text).toBe(
    'a / always (mcp__a__always) is offered to the model: its include mode is "always" (default).',
  );
  expect(catalog.why("mcp__a__named").text).toContain('its include mode is "always".');
  expect(catalog.why("by_hand").text).toContain("the person added it");
  expect(catalog.why("Count_Words").text).toMatch(
    /the prompt "count words @tool:by_hand" chose it with the score \d+\.\d\d/,
  );
  expect(catalog.why("tenon_search_tools").text).toContain("it is Tenon's own");
});

test("all tools at once have the same reasons, those that are left out too; a trial search loads nothing", async () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["always", "dropped"]), { deny: ["dropped"] });
  catalog.add(testSource("m", ["by_hand"]), { include: "manual" });
  catalog.add(testSource("s", ["count_words"]), { include: "search" });
  const found = await catalog.search({ query: "count words", isTrial: true }, signal);
  expect(found).toMatchObject({ tools: [{ tool: { id: "mcp__s__count_words" }, score: expect.any(Number) }] });
  const all = catalog.inspect().all();
  expect(all.map(({ name, server, kind }) => [name, server, kind])).toEqual([
    ["mcp__a__always", "a", "offered"],
    ["dropped", "a", "filtered"],
    ["mcp__m__by_hand", "m", "manual"],
    ["mcp__s__count_words", "s", "behind_search"],
    ["tenon_search_tools", "tenon", "offered"],
    ["tenon_call_tool", "tenon", "offered"],
    ...all.slice(6).map(({ name, server, kind }) => [name, server, kind]),
  ]);
  for (const { name, reason, tool } of all) if (tool) expect(catalog.why(name).text).toBe(reason);
  await catalog.search({ query: "count words" }, signal);
  expect(catalog.why("count_words").kind).toBe("loaded");
});

test("a search that must cost nothing asks no embedder", async () => {
  const asked: string[] = [];
  const dense = async (query: string) => {
    asked.push(query);
    return new Map<string, number>();
  };
  const catalog = new SessionCatalog({ dense });
  catalog.add(testSource("s", ["count_words"]), { include: "search" });
  const request = { query: "count words", isTrial: true };
  expect(await catalog.search({ ...request, isFree: true }, signal)).toMatchObject({ tools: { length: 1 } });
  expect(asked).toEqual([]);
  await catalog.search(request, signal);
  expect(asked).toEqual(["count words"]);
});

test("an offered tool whose server is down says that too", () => {
  const catalog = new SessionCatalog();
  const source = testSource("a", ["t"]);
  catalog.add(source);
  catalog.offer();
  source.state.set({ kind: "failed", reason: "exit code 1" });
  expect(catalog.why("t")).toMatchObject({ kind: "offered", text: expect.stringContaining("(exit code 1)") });
});

test("filtered: which glob it was", () => {
  const catalog = new SessionCatalog({
    transformers: [{ transform: (tool) => (tool.name === "c" ? null : tool) }],
  });
  catalog.add(testSource("s", ["wipe_all", "b", "c", "d"]), { deny: ["wipe_*"], allow: ["wipe_*", "b", "c"] });
  expect(catalog.why("s/wipe_all")).toEqual({
    kind: "filtered",
    server: "s",
    text: 'The tool "wipe_all" of "s" is left out: "deny" of its server has "wipe_*", or "enabled" of it is false.',
  });
  expect(catalog.why("mcp__s__d")).toMatchObject({ kind: "filtered", text: expect.stringContaining('"allow"') });
  expect(catalog.why("c")).toMatchObject({ kind: "filtered", text: expect.stringContaining("transformer") });
  expect(catalog.why("b").kind).toBe("offered");
});

test("shadowed: by whom, for a server and for a name that was given away", () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("git", ["commit"]));
  catalog.add(testSource("git", ["old"], { origin: "user" }));
  catalog.add(testSource("s", ["a", "b"]), { tools: { b: { name: "a" } } });
  catalog.offer();
  expect(catalog.why("old")).toEqual({
    kind: "shadowed",
    text: 'The server "git" of the client replaces the one of the user\'s configuration, whose tools are not used.',
  });
  expect(catalog.why("s/b")).toMatchObject({ kind: "shadowed", text: expect.stringContaining('is called "a" too') });
  expect(catalog.peek().find("mcp__s__a")?.raw.name).toBe("a");
});

test("quarantined: by a provider, by its server's list, by a transformer that fails", () => {
  const text = 'tool "broken" is left out: its inputSchema is not an object';
  const leftOut = () => [{ name: "broken", text }];
  const transform = (tool: { name: string }) => {
    if (tool.name === "odd") throw new Error("no such field");
    return testTool(tool.name);
  };
  const catalog = new SessionCatalog({ transformers: [{ transform }] });
  catalog.add(testSource("s", ["refused", "odd", "fine"], { leftOut }));
  const tool = catalog.offer().find("mcp__s__refused")?.tool;
  if (tool) catalog.quarantine(tool.id, "it is too deep");
  expect(catalog.why("refused")).toMatchObject({
    kind: "quarantined",
    text: expect.stringContaining("it is too deep"),
  });
  for (const name of ["broken", "s/broken", "mcp__s__broken"]) {
    const text = expect.stringContaining("not an object");
    expect(catalog.why(name)).toMatchObject({ kind: "quarantined", text, server: "s" });
  }
  expect(catalog.why("odd")).toMatchObject({ kind: "quarantined", text: expect.stringContaining("no such field") });
  expect(catalog.offer().tools.map(({ id }) => id)).toEqual(["mcp__s__fine"]);
});

test("over budget: what there is too much of", async () => {
  const catalog = new SessionCatalog({ limits: { maxAlwaysServers: 1, maxAlwaysTools: 30 } });
  catalog.add(testSource("one", ["x"]));
  catalog.add(testSource("two", ["y"]));
  catalog.add(testSource("many", names(50)));
  expect(catalog.why("two/y")).toMatchObject({ kind: "over_budget", text: expect.stringContaining("1 other servers") });
  await catalog.startPrompt("nothing that matches", signal);
  expect(catalog.why("tool_7")).toMatchObject({ kind: "over_budget" });
});

test("below the cut: its rank, its score and what was needed", async () => {
  const catalog = new SessionCatalog({ limits: { headStart: 1 } });
  catalog.add(testSource("s", ["read_file", "read_clock", "paint"]), { include: "search" });
  expect(catalog.why("paint").kind).toBe("behind_search");
  await catalog.startPrompt("read file", signal);
  const { kind, search, text } = catalog.why("read_clock");
  expect(kind).toBe("below_cut");
  expect(search).toMatchObject({ query: "read file", rank: 2 });
  expect(search?.score).toBeLessThan(search?.cut ?? 0);
  expect(search?.matches.map(({ term }) => term)).toContain("read");
  expect(text).toMatch(/it was number 2 with the score \d\.\d+ \(by words alone\); \d\.\d+ was needed\.$/);
  expect(catalog.why("paint")).toMatchObject({
    kind: "below_cut",
    text: expect.stringContaining("Nothing in the last"),
  });
});

test("found and called tools are loaded, and say how", async () => {
  const catalog = new SessionCatalog({ limits: { headStart: 0 } });
  catalog.add(testSource("s", ["read_file", "paint"]), { include: "search" });
  await catalog.startPrompt("hello", signal);
  await catalog.search({ query: "read a file" }, signal);
  const paint = catalog.offer().find("mcp__s__paint");
  if (paint) catalog.used(paint.tool.id);
  expect(catalog.why("read_file")).toMatchObject({ kind: "loaded", text: expect.stringContaining('"read a file"') });
  expect(catalog.why("paint")).toMatchObject({
    kind: "loaded",
    text: expect.stringContaining("called it by its name"),
  });
});

test("manual, held, gone", () => {
  const catalog = new SessionCatalog({
    isHeld: ({ tool: { id } }) => (id === "mcp__s__held" ? "its definition changed" : undefined),
  });
  const source = testSource("s", ["manual", "held", "goes"]);
  catalog.add(source, { includeByTool: { manual: "manual" } });
  catalog.offer();
  expect(catalog.why("manual")).toMatchObject({ kind: "manual", text: expect.stringContaining("@tool:s/manual") });
  expect(catalog.why("held")).toMatchObject({
    kind: "not_approved",
    text: expect.stringContaining("definition changed"),
  });
  source.tools.set([]);
  expect(catalog.why("mcp__s__goes").kind).toBe("gone");
});

test("a server that failed, connects or was never used explains its tools", () => {
  const catalog = new SessionCatalog();
  const down = testSource("down", []);
  down.state.set({ kind: "failed", reason: "command not found" });
  const slow = testSource("slow", []);
  slow.state.set({ kind: "connecting" });
  catalog.add(down);
  catalog.add(slow);
  catalog.add(testSource("up", ["t"]));
  catalog.setAbsent([{ name: "proj", origin: "project", kind: "not_trusted", reason: "not trusted yet" }]);
  for (const name of ["down", "down/x", "mcp__down__x"]) {
    expect(catalog.why(name)).toEqual({ kind: "server_failed", text: 'The server "down" failed: command not found.' });
  }
  expect(catalog.why("slow/x").kind).toBe("server_connecting");
  expect(catalog.why("proj/x")).toEqual({
    kind: "not_trusted",
    text: 'The server "proj" is not used: not trusted yet.',
  });
  expect(catalog.why("up/x")).toMatchObject({ kind: "unknown", candidates: ["up/t"] });
});

test("a name that means several tools, or none, gets what could be meant", () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["read"]));
  catalog.add(testSource("b", ["read", "read_all"]));
  expect(catalog.why("read")).toMatchObject({ kind: "ambiguous", candidates: ["a/read", "b/read"] });
  expect(catalog.why("b/red_all").text).toBe('The server "b" is ready and has no such tool. Did you mean b/read_all?');
  expect(catalog.why("rea")).toMatchObject({ kind: "unknown", candidates: ["a/read", "b/read", "b/read_all"] });
  expect(catalog.why("")).toMatchObject({ kind: "unknown", candidates: [] });
});
