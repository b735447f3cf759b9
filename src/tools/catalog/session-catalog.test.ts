// One catalog per session: what is offered only grows, what does not fit is found, and everything has one name.
import fc from "fast-check";
import { expect, test } from "vitest";
import { names, testSource, testTool } from "../../../test/tool-source.js";
import { toolKey } from "../names.js";
import type { ToolDefinition, ToolOrigin } from "../tool.js";
import { SessionCatalog } from "./session-catalog.js";

const signal = new AbortController().signal;
const ids = (catalog: SessionCatalog) => catalog.offer().tools.map(({ id }) => id);

function told() {
  const notices: string[] = [];
  return { notices, onNotice: (_: string, text: string) => notices.push(text) };
}

test("names are valid and unique, stay when servers come and go, and every name leads back to its tool", () => {
  const part = fc.oneof(fc.string({ minLength: 1, maxLength: 90 }), fc.stringMatching(/^[_a-c.]{1,5}$/));
  const server = fc.record({ name: part, tools: fc.uniqueArray(part, { maxLength: 5 }) });
  fc.assert(
    fc.property(fc.uniqueArray(server, { selector: ({ name }) => name, maxLength: 6 }), (servers) => {
      const catalog = new SessionCatalog();
      const add = () => servers.map(({ name, tools }) => catalog.add(testSource(name, tools)));
      const remove = add();
      const offer = catalog.offer();
      expect(new Set(offer.tools.map(({ id }) => id)).size).toBe(servers.flatMap(({ tools }) => tools).length);
      for (const { id, source, definition } of offer.tools) {
        expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        for (const name of [id, toolKey(source, definition.name)]) {
          const entry = offer.find(name);
          if (name === id) expect([entry?.source.name, entry?.raw.name]).toEqual([source, definition.name]);
          expect(entry).toBeDefined();
        }
      }
      for (const one of remove.reverse()) one();
      servers.reverse();
      add();
      expect(catalog.offer().tools).toEqual(offer.tools);
      expect(catalog.toolsOf("client", servers[0]?.name ?? "").map(({ tool }) => tool.id)).toEqual(
        offer.tools.filter(({ source }) => source === servers[0]?.name).map(({ id }) => id),
      );
    }),
  );
});

test("whatever happens, the offered list only grows, byte by byte, but for tools that were set aside", async () => {
  const origins: readonly ToolOrigin[] = ["client", "project", "user", "extra"];
  const step = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), server: fc.nat(4), origin: fc.nat(3), count: fc.nat(9) }),
    fc.record({ kind: fc.constant("change" as const), server: fc.nat(4), count: fc.nat(9) }),
    fc.record({ kind: fc.constant("remove" as const), server: fc.nat(4) }),
    fc.record({
      kind: fc.constant("include" as const),
      server: fc.nat(4),
      mode: fc.constantFrom("always", "manual", "search"),
    }),
    fc.record({ kind: fc.constant("quarantine" as const), at: fc.nat(20) }),
    fc.record({ kind: fc.constant("prompt" as const), word: fc.nat(9) }),
    fc.record({ kind: fc.constant("find" as const), word: fc.nat(9) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const catalog = new SessionCatalog({ limits: { maxAlwaysTools: 12, maxAlwaysServers: 3, headStart: 3 } });
      const sources = new Map<number, { source: ReturnType<typeof testSource>; remove: () => void }>();
      const gone = new Set<string>();
      let before = catalog.offer();
      for (const one of steps) {
        switch (one.kind) {
          case "add": {
            const source = testSource(`s${one.server}`, names(one.count), { origin: origins[one.origin] ?? "client" });
            sources.set(one.server, { source, remove: catalog.add(source) });
            break;
          }
          case "change":
            sources
              .get(one.server)
              ?.source.tools.set(names(one.count).map((name) => testTool(name, { description: "New." })));
            break;
          case "remove":
            sources.get(one.server)?.remove();
            break;
          case "include":
            catalog.setInclude(`s${one.server}`, one.mode === "always" || one.mode === "manual" ? one.mode : "search");
            break;
          case "quarantine": {
            const tool = before.tools[one.at];
            if (tool) {
              catalog.quarantine(tool.id, "no provider takes it");
              gone.add(tool.id);
            }
            break;
          }
          case "prompt":
            await catalog.startPrompt(`please do tool ${one.word}`, signal);
            break;
          case "find":
            await catalog.search({ query: `tool ${one.word}` }, signal);
            break;
        }
        const offer = catalog.offer();
        const kept = before.tools.filter(({ id }) => !gone.has(id));
        const now = offer.tools.filter(({ id }) => !gone.has(id));
        expect(now.slice(0, kept.length)).toEqual(kept);
        expect(now.slice(0, kept.length).every((tool, index) => tool === kept[index])).toBe(true);
        expect(new Set(offer.tools.map(({ id }) => id)).size).toBe(offer.tools.length);
        for (const { id } of offer.tools) expect(offer.find(id)).toBeDefined();
        before = offer;
      }
    }),
    { numRuns: 150 },
  );
});

test("nothing changed means the same offer, and an offer never changes under a model call", () => {
  const catalog = new SessionCatalog();
  const source = testSource("s", ["one"]);
  catalog.add(source);
  const offer = catalog.offer();
  expect(catalog.offer()).toBe(offer);
  source.tools.set([...source.tools.value, testTool("two")]);
  expect(offer.tools).toHaveLength(1);
  expect(offer.find("mcp__s__two")).toBeUndefined();
  expect(ids(catalog)).toEqual(["mcp__s__one", "mcp__s__two"]);
});

test("looking decides nothing", () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("late", ["b"], { origin: "user" }));
  expect(catalog.peek().tools.map(({ id }) => id)).toEqual(["mcp__late__b"]);
  catalog.add(testSource("first", ["a"]));
  expect(ids(catalog)).toEqual(["mcp__first__a", "mcp__late__b"]);
});

test("a tool that is gone or changed says so, and what the model was shown stays as it was", () => {
  const catalog = new SessionCatalog();
  const source = testSource("s", ["stays", "changes", "goes"]);
  const remove = catalog.add(source);
  const shown = catalog.offer().tools;
  source.tools.set([
    source.tools.value[0] ?? testTool("stays"),
    testTool("changes", { description: "Now with more." }),
  ]);
  const offer = catalog.offer();
  expect(offer.tools).toEqual(shown);
  expect(offer.find("mcp__s__stays")).toMatchObject({ isChanged: false });
  expect(offer.find("mcp__s__changes")).toMatchObject({ isChanged: true, raw: { description: "Now with more." } });
  expect(offer.find("mcp__s__goes")?.unavailable).toContain("is gone");
  remove();
  expect(catalog.offer().find("mcp__s__stays")?.unavailable).toContain("is gone");
  expect(catalog.offer().tools).toEqual(shown);
});

test("the client's server shadows the project's and that the user's, told once, and comes back when it goes", () => {
  const { notices, onNotice } = told();
  const catalog = new SessionCatalog({ onNotice });
  catalog.add(testSource("git", ["user"], { origin: "user" }));
  catalog.add(testSource("git", ["project"], { origin: "project" }));
  const remove = catalog.add(testSource("git", ["client"]));
  catalog.add(testSource("other", ["client"], { origin: "user" }));
  expect(catalog.peek().tools.map(({ id }) => id)).toEqual(["mcp__git__client", "mcp__other__client"]);
  expect(notices.filter((text) => text.includes('"git" of the client replaces the one of the user'))).toHaveLength(1);
  expect(notices).toContain('the server "git" of the client replaces the one of the project, whose tools are not used');
  remove();
  expect(catalog.peek().tools.map(({ id }) => id)).toEqual(["mcp__git__project", "mcp__other__client"]);
});

test("what a program adds stands beside servers and is replaced and cleared by source", () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("app", ["one"], { origin: "extra" }));
  catalog.add(testSource("app", ["two"], { origin: "extra" }));
  catalog.add(testSource("files", ["read"], { origin: "extra" }));
  catalog.add(testSource("srv", ["echo"]));
  const peeked = () => catalog.peek().tools.map(({ id }) => id);
  expect(peeked()).toEqual(["mcp__app__two", "mcp__files__read", "mcp__srv__echo"]);
  catalog.remove("extra", "app");
  expect(peeked()).toEqual(["mcp__files__read", "mcp__srv__echo"]);
  catalog.remove("extra");
  expect(peeked()).toEqual(["mcp__srv__echo"]);
});

test("with 300 tools beside a small server at most 100 are offered, among them the one the prompt needs", async () => {
  const { notices, onNotice } = told();
  const catalog = new SessionCatalog({ onNotice });
  const generated = names(299, "generated").map((name) => testTool(name));
  const needed = testTool("convert_currency", { description: "Converts an amount of money into another currency." });
  catalog.add(testSource("many", [...generated, needed]));
  catalog.add(testSource("small", ["echo", "add"]));
  await catalog.startPrompt("Convert 20 dollars to another currency, euros please", signal);
  const offered = ids(catalog);
  expect(offered.length).toBeLessThanOrEqual(100);
  expect(offered.slice(0, 4)).toEqual(["tenon_search_tools", "tenon_call_tool", "mcp__small__echo", "mcp__small__add"]);
  expect(offered).toContain("mcp__many__convert_currency");
  expect(notices).toHaveLength(1);
  expect(notices[0]).toContain('"many" (300) are behind search');
  expect(catalog.offer().find("mcp__many__generated_17")).toBeDefined();
});

test("of more than ten servers the first ten are offered, clients' before projects' before users'", () => {
  const { notices, onNotice } = told();
  const catalog = new SessionCatalog({ onNotice });
  for (let index = 0; index < 6; index++) catalog.add(testSource(`user${index}`, ["t"], { origin: "user" }));
  for (let index = 0; index < 6; index++) catalog.add(testSource(`client${index}`, ["t"]));
  expect(ids(catalog).slice(2)).toEqual([
    ...names(6, "client").map((_, index) => `mcp__client${index}__t`),
    ...names(4, "user").map((_, index) => `mcp__user${index}__t`),
  ]);
  expect(notices).toEqual([expect.stringContaining('"user4" (1), "user5" (1)')]);
});

test("tools named one by one and tools the person adds are offered over any limit", () => {
  const catalog = new SessionCatalog({ limits: { maxAlwaysTools: 20, headStart: 0 } });
  catalog.add(testSource("many", names(50)), { includeByTool: { tool_49: "always" } });
  catalog.add(testSource("hidden", ["one", "two"]), { include: "manual" });
  expect(ids(catalog).slice(2)).toEqual(["mcp__many__tool_49"]);
  expect(catalog.addTool("hidden/two")).toEqual({ ok: true, what: "hidden / two" });
  expect(ids(catalog).at(-1)).toBe("mcp__hidden__two");
  expect(catalog.setInclude("many/tool_3", "always")).toMatchObject({ ok: true });
  expect(ids(catalog).at(-1)).toBe("mcp__many__tool_3");
  expect(catalog.addTool("tool_")).toMatchObject({ ok: false, candidates: expect.arrayContaining(["many/tool_0"]) });
});

test("a prompt adds the tools it mentions, and says when it cannot", async () => {
  const { notices, onNotice } = told();
  const catalog = new SessionCatalog({ onNotice });
  catalog.add(testSource("a", ["read", "both"]), { include: "manual" });
  catalog.add(testSource("b", ["both"]), { include: "manual" });
  await catalog.startPrompt("Use @tool:read, (@tool:a/both) and @tool:both; mail me@tool:x", signal);
  expect(ids(catalog)).toEqual(["mcp__a__read", "mcp__a__both"]);
  expect(notices).toEqual([
    '@tool:both adds nothing: "both" is not the name of one tool; do you mean a/both or b/both?',
  ]);
});

test("a manual tool is found by nobody", async () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["read_mail"]), { include: "manual" });
  catalog.add(testSource("b", ["read_file"]), { include: "search" });
  const answer = await catalog.search({ query: "read" }, signal);
  expect(answer.kind === "found" && answer.tools.map(({ tool }) => tool.id)).toEqual(["mcp__b__read_file"]);
});

test("the tools about tools come with the first tool behind search, and then stay", () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["one"]));
  expect(ids(catalog)).toEqual(["mcp__a__one"]);
  expect(catalog.offer().find("tenon_search_tools")).toBeUndefined();
  const remove = catalog.add(testSource("b", ["two"]), { include: "search" });
  expect(ids(catalog)).toEqual(["mcp__a__one", "tenon_search_tools", "tenon_call_tool"]);
  remove();
  expect(ids(catalog)).toHaveLength(3);
  expect(catalog.offer().find("tenon_call_tool")).toMatchObject({ isChanged: false });
});

test("a search finds tools of servers that came later, within a server if wanted, and leaves the offered list alone", async () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["list_issues"]), { include: "search" });
  await catalog.startPrompt("hello", signal);
  const before = ids(catalog);
  catalog.add(testSource("b", ["list_issues", "close_issue"]), { include: "search" });
  const answer = await catalog.search({ query: "list issues", server: "B" }, signal);
  expect(answer.kind === "found" && answer.tools.map(({ tool }) => tool.id)).toEqual([
    "mcp__b__list_issues",
    "mcp__b__close_issue",
  ]);
  expect(ids(catalog)).toEqual(before);
  expect(await catalog.search({ query: "x", server: "c" }, signal)).toEqual({ kind: "no_server", servers: ["a", "b"] });
});

test("a cancelled prompt chooses nothing, and the next one is the first", async () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["send_mail", "book_flight"]), { include: "search" });
  await catalog.startPrompt("send mail", AbortSignal.abort());
  expect(ids(catalog)).toHaveLength(2);
  await catalog.startPrompt("flight", signal);
  expect(ids(catalog).slice(2)).toEqual(["mcp__a__book_flight"]);
});

test("each later prompt adds what it clearly needs behind the list, and small talk adds nothing", async () => {
  const catalog = new SessionCatalog();
  const convert = testTool("convert_currency", { description: "Converts an amount of money into another currency." });
  catalog.add(testSource("many", [...names(299, "generated"), convert]));
  await catalog.startPrompt("hi", signal);
  const before = catalog.offer().tools;
  await catalog.startPrompt("thanks, go on with the currency", signal);
  expect(catalog.offer().tools).toEqual(before);
  await catalog.startPrompt("Convert 20 dollars to another currency", signal);
  const after = catalog.offer().tools;
  expect(after.slice(0, before.length).every((tool, at) => tool === before[at])).toBe(true);
  expect(after.slice(before.length).map(({ id }) => id)).toEqual(["mcp__many__convert_currency"]);
  expect(catalog.why("convert_currency").text).toContain(
    'the prompt "Convert 20 dollars to another currency" chose it',
  );
  expect(catalog.why("generated_7").text).toContain("Nothing in the last prompt matched it");
});

test("a later prompt adds few tools, none over the limit, and none when the configuration wants none", async () => {
  const alike = names(40, "read_mail_folder").map((name) => testTool(name, { description: "Reads a mail folder." }));
  const added = async (limits: object) => {
    const catalog = new SessionCatalog({ limits });
    catalog.add(testSource("mail", alike), { include: "search" });
    await catalog.startPrompt("hi", signal);
    const before = ids(catalog).length;
    await catalog.startPrompt("read the mail folder", signal);
    return ids(catalog).length - before;
  };
  expect(await added({})).toBe(5);
  expect(await added({ headStart: 2 })).toBe(2);
  expect(await added({ headStart: 0 })).toBe(0);
  expect(await added({ maxAlwaysTools: 5 })).toBe(3);
});

test("tools of a failed or removed server stay until the list is renewed, and answer with the cause", async () => {
  const catalog = new SessionCatalog();
  const failing = testSource("failing", ["one"]);
  const remove = catalog.add(testSource("removed", ["two"]));
  const changing = testSource("stays", ["three"]);
  for (const source of [failing, changing]) catalog.add(source);
  const before = ids(catalog);
  failing.state.set({ kind: "failed", reason: "exit code 1" });
  remove();
  changing.tools.set([testTool("three", { description: "Now with more." })]);
  expect(ids(catalog)).toEqual(before);
  expect(catalog.offer().find("mcp__removed__two")?.unavailable).toContain("was removed from this session");
  catalog.setAbsent([{ name: "removed", origin: "client", kind: "disabled", reason: "it was switched off" }]);
  expect(catalog.offer().find("mcp__removed__two")?.unavailable).toContain("(it was switched off)");
  catalog.renew();
  expect(catalog.offer().tools.map(({ id, definition }) => [id, definition.description])).toEqual([
    ["mcp__stays__three", "Now with more."],
  ]);
  expect(catalog.offer().find("mcp__failing__one")).toMatchObject({ raw: { name: "one" } });
  expect(catalog.why("failing/one")).toMatchObject({
    kind: "server_failed",
    text: expect.stringContaining("exit code 1"),
  });
  expect(catalog.offer().find("mcp__removed__two")?.unavailable).toBeDefined();
  const renewed = catalog.offer();
  catalog.renew();
  expect(catalog.offer()).toBe(renewed);
  failing.state.set({ kind: "ready" });
  expect(ids(catalog)).toEqual(["mcp__stays__three", "mcp__failing__one"]);
});

test("a server that was removed stays so with the tools it gets later; one of them can be brought back", async () => {
  const catalog = new SessionCatalog();
  const slow = testSource("slow", ["one"]);
  catalog.add(slow);
  expect(catalog.removeTool("slow")).toMatchObject({ ok: true });
  slow.tools.set([testTool("one"), testTool("delete_all")]);
  catalog.renew();
  expect(ids(catalog)).toEqual([]);
  expect(catalog.why("slow/delete_all").text).toContain("the person removed it");
  catalog.addTool("slow/delete_all");
  expect(ids(catalog)).toEqual(["mcp__slow__delete_all"]);
  catalog.setInclude("slow", "always");
  expect(ids(catalog)).toEqual(["mcp__slow__delete_all", "mcp__slow__one"]);
});

test("a server that starts is waited for by the name its tools have, and by none that stands for nothing", async () => {
  const catalog = new SessionCatalog();
  const names = ["My Server (beta)", "Café", "Файловый сервер", "日本語"];
  for (const name of names) {
    const source = testSource(name, []);
    source.state.set({ kind: "connecting", doing: "it is starting" });
    catalog.add(source);
  }
  const offer = catalog.offer();
  for (const name of ["mcp__My_Server_beta__run", "mcp__Cafe__run", "mcp__Failovyi_server__run"]) {
    expect(offer.starting?.(name), name).toBeDefined();
  }
  expect(offer.starting?.("mcp____run")).toBeUndefined();
});

test("what is remembered of a server that failed is neither offered nor found", async () => {
  const catalog = new SessionCatalog();
  const offered = testSource("offered", ["read_mail"]);
  const searched = testSource("searched", ["read_news"]);
  for (const { state } of [offered, searched]) state.set({ kind: "failed", reason: "not found" });
  catalog.add(offered);
  catalog.add(searched, { include: "search" });
  await catalog.startPrompt("read mail and read news", signal);
  expect(ids(catalog)).toEqual([]);
  expect(catalog.serverIndex).toBe("");
  expect(await catalog.search({ query: "read" }, signal)).toEqual({ kind: "found", tools: [] });
});

test("a tool without a description says whose it is", () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("notes", [testTool("add", { description: " " }), testTool("list")]));
  expect(catalog.offer().tools.map(({ definition }) => definition.description)).toEqual([
    "Tool add of notes",
    "Does list.",
  ]);
});

test("the index of servers is sorted, one line each, and fixed by the first prompt", async () => {
  const catalog = new SessionCatalog();
  const about = () => ({ instructions: "Issues\u202e and\npull requests. More words." });
  catalog.add(testSource("web", ["fetch"]));
  catalog.add(testSource("git", ["a", "b"], { about }), { include: "search" });
  expect(catalog.serverIndex).toBe("");
  await catalog.startPrompt("x", signal);
  expect(catalog.serverIndex).toBe("- git (2 tools): Issues\\u{202E} and pull requests.\n- web (1 tool): fetch");
  catalog.add(testSource("more", ["x"]));
  await catalog.startPrompt("y", signal);
  expect(catalog.serverIndex).not.toContain("more");
});

test("a tool set aside leaves the list with its reason, and may come back with another definition", () => {
  const catalog = new SessionCatalog();
  const source = testSource("s", ["bad", "good"]);
  catalog.add(source);
  const [bad] = catalog.offer().tools;
  if (bad) catalog.quarantine(bad.id, "its schema has no form for this provider");
  expect(ids(catalog)).toEqual(["mcp__s__good"]);
  expect(catalog.offer().find("mcp__s__bad")?.unavailable).toContain("no form for this provider");
  source.tools.set([testTool("bad", { description: "Better." }), testTool("good")]);
  expect(ids(catalog)).toEqual(["mcp__s__good", "mcp__s__bad"]);
});

test("a tool that is held is not offered until it is not", () => {
  let isHeld = true;
  const catalog = new SessionCatalog({
    isHeld: ({ tool: { id } }) => (isHeld && id === "mcp__s__b" ? "it changed" : undefined),
  });
  catalog.add(testSource("s", ["a", "b"]));
  expect(ids(catalog)).toEqual(["mcp__s__a"]);
  expect(catalog.offer().find("mcp__s__b")).toMatchObject({ held: "it changed" });
  isHeld = false;
  expect(ids(catalog)).toEqual(["mcp__s__a", "mcp__s__b"]);
});

test("Tenon's own tools have plain names, stand first, and share the name of their source", () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("srv", ["read"]));
  catalog.add(testSource("tenon", ["tenon_one", "tenon_two"], { origin: "builtin" }));
  catalog.add(testSource("tenon", ["tenon_two", "tenon_three"], { origin: "builtin" }));
  catalog.add(testSource("tenon", ["tenon_one"]));
  expect(ids(catalog)).toEqual(["tenon_one", "tenon_two", "tenon_three", "mcp__srv__read", "mcp__tenon__tenon_one"]);
  const bad = new SessionCatalog();
  bad.add(testSource("tenon", ["mcp__srv__read"], { origin: "builtin" }));
  expect(() => bad.offer()).toThrow("no name for a built-in tool");
});

test("too many processes are told of once", () => {
  const { notices, onNotice } = told();
  const catalog = new SessionCatalog({ onNotice });
  for (const name of names(8, "p")) catalog.add(testSource(name, [], { isProcess: true }));
  expect(notices).toEqual([]);
  catalog.offer();
  catalog.add(testSource("late", [], { isProcess: true }));
  catalog.offer();
  expect(notices).toEqual([expect.stringContaining("8 servers as processes (more than 5)")]);
});

test("what was called with success is remembered with its prompt", async () => {
  const added: [string, string][] = [];
  const usage = {
    scores: () => ({ counts: new Map(), lengths: new Map() }),
    add: (...one: [string, string]) => added.push(one),
  };
  const catalog = new SessionCatalog({ usage });
  catalog.add(testSource("s", ["a"]), { include: "search" });
  await catalog.startPrompt("zzz", signal);
  const entry = catalog.offer().find("mcp__s__a");
  if (entry) catalog.used(entry.tool.id);
  expect(added).toEqual([["zzz", "mcp__s__a"]]);
  expect(catalog.inspect().request.at(-1)).toMatchObject({ tool: { id: "mcp__s__a" }, how: "called" });
});

test("session and request context can be looked at, with scores", async () => {
  const catalog = new SessionCatalog();
  catalog.add(testSource("a", ["always"]));
  catalog.add(testSource("b", ["find_me", "find_you", "other"]), { include: "search" });
  await catalog.startPrompt("find me", signal);
  const view = catalog.inspect();
  expect(view.session.map(({ tool, how }) => [tool.id, how])).toEqual([
    ["tenon_search_tools", "always"],
    ["tenon_call_tool", "always"],
    ["mcp__a__always", "always"],
  ]);
  const [best] = view.request.slice(3);
  expect(best).toMatchObject({ tool: { id: "mcp__b__find_me" }, how: "head_start", query: "find me" });
  expect(best?.score).toBeGreaterThan(0);
  expect(view.behindSearch).toEqual([{ server: "b", cause: "search", count: 4 - view.request.slice(3).length - 1 }]);
});

test("only what changed is made anew", () => {
  let made = 0;
  const counting = {
    transform: (tool: ToolDefinition) => {
      made += 1;
      return tool;
    },
  };
  const catalog = new SessionCatalog({ transformers: [counting] });
  const big = testSource("big", names(1_000));
  catalog.add(big);
  catalog.add(testSource("small", ["x"]));
  catalog.offer();
  catalog.offer();
  expect(made).toBe(1_001);
  big.tools.set([...big.tools.value, testTool("new")]);
  catalog.offer();
  expect(made).toBe(1_002);
});
