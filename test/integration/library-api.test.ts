// The public API of the library, in the test's own process: runtimes, sessions, servers, tools, hooks.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { connectGateway } from "../../src/library/gateway.js";
import { createRuntime, type Model, type SessionEvent, tool } from "../../src/library/index.js";
import { connect } from "../../src/library/mcp.js";
import { type Behaviour, echoTool, scriptedServer } from "../../src/testing/index.js";
import { calling, echo, failure, memoryStore, Place, said, scripted } from "../library-parts.js";
import { scenario } from "../scenarios/scenario.js";

scenario(["V100", "V110"], "a prompt resolves with the answer, a stream yields one flat union", async () => {
  await using place = new Place();
  const model = scripted(calling("mcp__s__echo", { text: "hi" }), said("It said hi."), said("Bye."));
  const runtime = await place.runtime({ model, mcpServers: { s: echo() } });
  const session = await runtime.createSession({ cwd: place.home.path, mcpServers: [{ name: "t", ...echo() }] });
  await session.ready();
  const first: SessionEvent[] = [];
  for await (const event of session.stream("say hi")) first.push(event);
  expect(first.map(({ type }) => type)).toEqual([
    ...["text", "usage", "tool_call", "tool_result", "text", "usage", "done"],
  ]);
  expect(first.find(({ type }) => type === "tool_call")).toMatchObject({ source: "s", arguments: { text: "hi" } });
  expect(first.at(-1)).toEqual({
    type: "done",
    text: "It said hi.",
    stopReason: "end_turn",
    usage: { inputTokens: 12, outputTokens: 5 },
  });
  expect(await session.prompt([{ type: "text", text: "bye" }])).toMatchObject({ text: "Bye.", stopReason: "end_turn" });
  expect(model.offered[0]).toEqual(expect.arrayContaining(["mcp__s__echo", "mcp__t__echo"]));
});

scenario(
  ["V100"],
  "leaving the stream cancels the turn; a second prompt meanwhile is refused with a code",
  async () => {
    await using place = new Place();
    const model: Model = {
      id: "test/endless",
      async *stream(_request, signal) {
        yield { kind: "text", text: "on and on" };
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    };
    const session = await place.session({ model });
    for await (const event of session.stream("begin")) {
      expect(event).toMatchObject({ type: "text" });
      expect(await failure(session.prompt("again"))).toMatchObject({ code: "session.busy" });
      break;
    }
    const signal = AbortSignal.abort();
    expect(await session.prompt("and this", { signal })).toMatchObject({ stopReason: "cancelled" });
  },
);

scenario(["V101"], "without a model, a key or a known option it throws; no file is read or left", async () => {
  await using place = new Place();
  const { env } = place;
  const home = place.home.path;
  // @ts-expect-error a program in plain JavaScript may leave it out
  expect(await failure(createRuntime({ env }))).toMatchObject({ code: "model.unknown" });
  expect(await failure(createRuntime({ env, model: "nobody/none" }))).toMatchObject({ code: "model.unknown" });
  const keyless = await failure(createRuntime({ env, model: "anthropic/claude-sonnet-4-5" }));
  expect(keyless).toMatchObject({ code: "model.unauthorized" });
  // @ts-expect-error a slip
  const slip = await failure(createRuntime({ env, model: "offline/operator", mcpServer: {} }));
  expect(slip).toMatchObject({ code: "usage.invalid", message: expect.stringContaining('did you mean "mcpServers"?') });
  writeFileSync(join(home, "AGENTS.md"), "Say BANANA.");
  const seen: string[] = [];
  const model: Model = {
    id: "test/curious",
    async *stream({ system, tools }) {
      seen.push(system, ...tools.map(({ name }) => name));
      yield { kind: "text", text: "seen" };
      yield { kind: "finish", reason: "stop" };
    },
  };
  const runtime = await place.runtime({ model });
  const session = await runtime.createSession({ cwd: home, systemPrompt: "You are terse." });
  await session.prompt("/help is what I type into other programs");
  expect(seen.join()).not.toContain("BANANA");
  expect(seen.join()).toContain("You are terse.");
  expect(seen.slice(1)).toEqual(["tenon_read_result"]);
  expect(session.tools.list().map(({ name }) => name)).toEqual(["tenon_read_result"]);
  await runtime.close();
  expect(existsSync(join(home, ".local"))).toBe(false);
  expect(existsSync(join(home, ".cache"))).toBe(false);
  const own = await place.runtime({ builtin: ["read_file"] });
  const named = (await own.createSession({ cwd: home })).tools.list().map(({ name }) => name);
  expect(named).toEqual(["read_file", "tenon_read_result"]);
});

scenario(["V101"], "an option of the wrong kind is refused by its name at once, and so is one of a call", async () => {
  await using place = new Place();
  const { env } = place;
  const wrong: readonly Record<string, unknown>[] = [
    { builtin: ["nope"] },
    { builtin: "read_file" },
    { approve: "yes" },
    { onEvent: "yes" },
    { transformers: {} },
    { transformers: [() => null] },
    { search: "all" },
    { systemPrompt: 5 },
    { systemPrompt: { text: "x", mode: "instead" } },
    { stateDir: 5 },
    { store: {} },
    { config: "yes" },
  ];
  for (const options of wrong) {
    const { code, message } = await failure(createRuntime({ env, model: "offline/operator", ...options }));
    expect([code, message]).toEqual(["usage.invalid", expect.stringContaining(Object.keys(options).join())]);
  }
  for (const model of [5, {}, { id: "my/own" }, null]) {
    // @ts-expect-error plain JavaScript may write anything
    expect(await failure(createRuntime({ env, model }))).toMatchObject({ code: "model.unknown" });
  }
  const runtime = await place.runtime();
  const invalid = { code: "usage.invalid" };
  const cwd = place.home.path;
  // @ts-expect-error plain JavaScript may write anything
  expect(await failure(runtime.createSession({ cwd, additionalDirectories: [5] }))).toMatchObject(invalid);
  const session = await runtime.createSession({ cwd });
  // @ts-expect-error plain JavaScript may write anything
  expect(await failure(session.prompt("x", { signal: 5 }))).toMatchObject(invalid);
  // @ts-expect-error a slip, which would wait for every server
  expect(await failure(session.ready({ serverr: "x" }))).toMatchObject(invalid);
  // @ts-expect-error a slip, which would write into the user's own file
  expect(await failure(runtime.saveServer("a", { command: "x" }, { fil: "x.json" }))).toMatchObject(invalid);
  expect(existsSync(join(cwd, ".config"))).toBe(false);
  // @ts-expect-error plain JavaScript may write anything
  expect(await failure(session.addServer(5, { command: "x" }))).toMatchObject({ code: "config.invalid" });
  // @ts-expect-error plain JavaScript may write anything
  expect(await failure(runtime.saveServer(5, { command: "x" }))).toMatchObject({ code: "config.invalid" });
  // @ts-expect-error a slip, which would reach the gateway of this machine
  expect(await failure(connectGateway({ name: "x", ur: "wss://gateway.example" }))).toMatchObject(invalid);
  // @ts-expect-error plain JavaScript may write anything
  expect(await failure(connectGateway())).toMatchObject(invalid);
  const error = await failure(runtime.saveServer("a\u202e\nb", { command: "x" }));
  expect(error.message).toBe('mcpServers."a…": the name must not hold control or invisible characters');
  expect((await session.prompt("hello")).stopReason).toBe("end_turn");
});

scenario(
  ["V110"],
  "what a model of one's own throws or streams that is no event fails that turn with words",
  async () => {
    await using place = new Place();
    const stop = { kind: "finish", reason: "stop" };
    const odd: readonly unknown[] = [
      null,
      5,
      { kind: "speech", text: "x" },
      { kind: "text", text: 5 },
      { kind: "tool_call", call: { id: "1", name: "x", arguments: {} } },
      { kind: "finish", reason: "bananas" },
      { ...stop, usage: { inputTokens: "many", outputTokens: 1 } },
    ];
    const left = [...odd];
    const model = {
      id: "my/own",
      async *stream() {
        if (left.length > 0) yield left.shift();
        else throw new Error("no more");
      },
    };
    // @ts-expect-error plain JavaScript may stream anything
    const session = await place.session({ model });
    for (const _ of [...odd, "the error"]) {
      const error = await failure(session.prompt("x"));
      expect(error).toMatchObject({
        code: "model.broken_stream",
        message: expect.stringContaining('"my/own" failed: '),
      });
      expect(error.message).not.toMatch(/undefined|TypeError/u);
    }
    // @ts-expect-error plain JavaScript may return anything
    const other = await place.session({ model: { id: "my/other", stream: () => undefined } });
    expect(await failure(other.prompt("x"))).toMatchObject({ message: expect.stringContaining("async iterable") });
    const nexts: readonly (() => unknown)[] = [
      () => undefined,
      () => ({ done: false, value: { kind: "speech" } }),
      () => {
        throw new TypeError("broken by hand");
      },
    ];
    for (const next of nexts) {
      const byHand = { id: "my/hand", stream: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) };
      // @ts-expect-error plain JavaScript may write its iterator by hand
      const third = await place.session({ model: byHand });
      expect(await failure(third.prompt("x"))).toMatchObject({ code: "model.broken_stream" });
    }
  },
);

scenario(
  ["V102", "V105"],
  "an entry that throws when `connect` reads it is refused without what was thrown",
  async () => {
    const entry = Object.defineProperty({ name: "bad", command: "x" }, "env", {
      enumerable: true,
      get: () => {
        throw new TypeError("Bearer s3cr3t");
      },
    });
    const error = await failure(connect(entry));
    expect([error.code, error.cause]).toEqual(["config.invalid", undefined]);
    expect(`${error.stack}`).not.toMatch(/s3cr3t|TypeError/u);
  },
);

scenario(["V103"], "servers come and go; a broken one is connected again and both are told", async () => {
  await using place = new Place();
  const session = await place.session({
    mcpServers: { s: echo({ tools: [echoTool(), { ...echoTool("die"), steps: [{ do: "crash" }] }] }) },
  });
  await session.ready({ server: "s" });
  await session.addServer("late", echo());
  await session.ready({ server: "late" });
  expect(session.servers().map(({ name, state }) => [name, state])).toEqual([
    ["s", "ready"],
    ["late", "ready"],
  ]);
  await place.event("tools_changed", ({ source, added }) => source === "late" && added.includes("mcp__late__echo"));
  await session.removeServer("late");
  await place.event("tools_changed", ({ source, removed }) => source === "late" && removed.length === 1);
  expect(await failure(session.removeServer("late"))).toMatchObject({ code: "mcp.not_ready" });
  expect(await failure(session.ready({ server: "late" }))).toMatchObject({ code: "mcp.not_ready" });
  const wrong = await failure(session.addServer("bad", { command: "" }));
  expect(wrong).toMatchObject({ code: "config.invalid", message: expect.stringContaining("mcpServers.bad") });
  await session.addServer("none", { command: "/no/such/program" });
  expect(await failure(session.ready({ server: "none" }))).toMatchObject({ code: "mcp.not_ready" });
  expect(await session.ready()).toHaveLength(2);
  expect(await session.tools.call("die", { text: "x" })).toMatchObject({ status: "unknown" });
  await place.event("server_disconnected", ({ server, willReconnect }) => server === "s" && willReconnect);
  const connected = () => place.events.filter((one) => one.type === "server_connected").length;
  await expect.poll(connected, { timeout: 10_000 }).toBeGreaterThan(2);
  expect(await session.tools.call("echo", { text: "back" })).toMatchObject({ status: "done" });
});

scenario(["V104"], "calls by any name, beside each other, with a status and a code", async () => {
  await using place = new Place();
  const slow: Behaviour = { tools: [echoTool(), { ...echoTool("slow"), steps: [{ do: "never" }] }] };
  const session = await place.session({ mcpServers: { s: scriptedServer(slow), u: { ...echo(), include: "search" } } });
  await session.ready();
  const { tools } = session;
  expect(await tools.call("mcp__s__echo", { text: "id" })).toMatchObject({ status: "done", text: '{"text":"id"}' });
  expect(await tools.call("s/echo", { text: "path" })).toMatchObject({ status: "done" });
  expect(await tools.call("echo", { text: "two have it" })).toMatchObject({ status: "failed", code: "tool.unknown" });
  expect(await tools.call("s/echo", { text: 5 })).toMatchObject({ status: "failed", code: "tool.invalid_arguments" });
  const many = await Promise.all(Array.from({ length: 8 }, (_, at) => tools.call("s/echo", { text: String(at) })));
  expect(many.map(({ text }) => text)).toEqual(many.map((_, at) => `{"text":"${at}"}`));
  const controller = new AbortController();
  const waiting = tools.call("slow", { text: "x" }, { signal: controller.signal });
  controller.abort();
  expect(await waiting).toMatchObject({ status: "cancelled" });
  expect(tools.bySource("u").map(({ name, originalName }) => [name, originalName])).toEqual([["mcp__u__echo", "echo"]]);
  expect(tools.list().map(({ name }) => name)).not.toContain("mcp__u__echo");
  expect((await tools.search("echo arguments")).length).toBeGreaterThan(1);
});

scenario(
  ["V104"],
  "calls end with their session: none runs on, none begins after an approval that comes late",
  async () => {
    await using place = new Place();
    let approve: (answer: boolean) => void = () => {};
    const approval = new Promise<boolean>((resolve) => {
      approve = resolve;
    });
    const late = await place.session({ builtin: "all", approve: () => approval });
    const file = join(place.home.path, "late.txt");
    const asking = late.tools.call("write_file", { path: file, content: "x" });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await late.close();
    approve(true);
    expect(await asking).toMatchObject({ status: "cancelled" });
    expect(existsSync(file)).toBe(false);
    const session = await place.session();
    let heard: AbortSignal | undefined;
    session.register(
      tool({
        name: "own",
        description: "Never ends.",
        input: { type: "object" },
        run: async (_, { signal }) => {
          heard = signal;
          return await new Promise<never>(() => {});
        },
      }),
    );
    const running = session.tools.call("own", {});
    await vi.waitFor(() => expect(heard).toBeDefined(), { timeout: 20_000 });
    const justBefore = session.tools.call("own", {});
    await session.close();
    expect(heard?.aborted).toBe(true);
    expect(await Promise.all([running, justBefore])).toMatchObject([{ status: "cancelled" }, { status: "cancelled" }]);
  },
);

scenario(["V100"], "a prompt that is no content is refused before a turn begins, and the session goes on", async () => {
  await using place = new Place();
  const session = await place.session({ model: scripted(said("Still here.")) });
  const wrong = ["undefined", "5", "null", "[null]", '[{"type":"image"}]', '[{"type":"other"}]', '[{"type":"text"}]'];
  for (const text of wrong) {
    const content = text === "undefined" ? undefined : JSON.parse(text);
    const refused = await failure(session.prompt(content));
    expect(refused, text).toMatchObject({ code: "session.invalid_request" });
  }
  expect(await session.prompt("hello")).toMatchObject({ text: "Still here." });
});

scenario(["V103"], "servers that are added and removed at once are all there, or gone", async () => {
  await using place = new Place();
  const session = await place.session();
  const names = ["a", "b", "c"];
  await Promise.all(names.map((name) => session.addServer(name, echo())));
  expect(session.servers().map(({ name }) => name)).toEqual(names);
  await Promise.all([session.removeServer("a"), session.removeServer("c")]);
  expect(session.servers().map(({ name }) => name)).toEqual(["b"]);
});

scenario(
  ["V104"],
  "arguments that JSON does not have fail the call, and a name that is no text is refused",
  async () => {
    await using place = new Place();
    const session = await place.session({ mcpServers: { s: echo() } });
    await session.ready();
    const loop: Record<string, object> = {};
    loop["again"] = loop;
    const call: (...given: readonly unknown[]) => Promise<unknown> = Reflect.get(session.tools, String("call")).bind(
      session.tools,
    );
    for (const args of [{ text: 1n }, loop, () => {}]) {
      expect(await call("echo", args)).toMatchObject({ status: "failed", code: "tool.invalid_arguments" });
    }
    expect(await failure(call(undefined))).toMatchObject({ code: "usage.invalid" });
  },
);

scenario(["V105"], "a call at a connected server is held to its entry, as its discovered tools are", async () => {
  await using place = new Place();
  const entry = {
    name: "hand",
    ...scriptedServer({ tools: [echoTool("open"), echoTool("hidden")] }),
    deny: ["hid*"],
    tools: { open: { arguments: { text: "pinned" } } },
  };
  await using server = await connect(entry, { cwd: place.home.path, env: place.env });
  expect(await server.call("hidden", { text: "x" })).toMatchObject({ status: "failed", code: "tool.unknown" });
  expect(await server.call("open", { text: "mine" })).toMatchObject({ status: "done", text: '{"text":"pinned"}' });
});

scenario(["V103"], "a server entry that throws when it is read is refused by itself", async () => {
  await using place = new Place();
  const runtime = await place.runtime();
  const bad = { name: "bad", command: "x" };
  Object.defineProperty(bad, "env", {
    enumerable: true,
    get: () => {
      throw new Error("no");
    },
  });
  const session = await runtime.createSession({
    cwd: place.home.path,
    mcpServers: [bad, { name: "good", ...echo() }],
  });
  await session.ready({ server: "good" });
  expect(session.servers()).toHaveLength(2);
});

scenario(["V110"], "a stored session is loaded once at a time", async () => {
  await using place = new Place();
  const runtime = await place.runtime({ store: memoryStore() });
  const cwd = place.home.path;
  const first = await runtime.createSession({ cwd, id: "mine" });
  await first.prompt("hello");
  await first.close();
  const load = () => runtime.loadSession({ id: "mine", cwd });
  const loads = await Promise.allSettled([load(), load()]);
  expect(loads.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  await failure(runtime.loadSession({ id: "other", cwd }));
  expect(await failure(runtime.loadSession({ id: "other", cwd }))).toMatchObject({ code: "session.not_found" });
});

scenario(["V105"], "connect, discover, filter, rename, register, unregister by source", async () => {
  await using place = new Place();
  const { env } = place;
  await using server = await connect(
    {
      name: "hand",
      ...scriptedServer({ tools: [echoTool("read_a"), echoTool("write_a"), echoTool("hidden")] }),
      deny: ["hid*"],
    },
    { cwd: place.home.path, env },
  );
  const tools = await server.discover();
  expect(tools.map(({ name }) => name)).toEqual(["read_a", "write_a"]);
  const runtime = await place.runtime();
  const session = await runtime.createSession({ cwd: place.home.path });
  for (const one of tools.filter(({ name }) => name.startsWith("read"))) {
    session.register({ ...one, name: `my_${one.name}`, description: `[hand] ${one.description}` });
  }
  expect(session.tools.bySource("hand")).toMatchObject([
    { name: "my_read_a", description: "[hand] Echoes its arguments (read_a)." },
  ]);
  expect(await session.tools.call("my_read_a", { text: "own name" })).toMatchObject({
    status: "done",
    text: '{"text":"own name"}',
  });
  runtime.register(
    tool({ name: "everywhere", description: "In all sessions", input: { type: "object" }, run: () => "yes" }),
  );
  session.register(tool({ name: "here", description: "In one", input: { type: "object" }, run: () => ({ a: 1 }) }));
  const other = await runtime.createSession({ cwd: place.home.path });
  expect(await other.tools.call("everywhere", {})).toMatchObject({ status: "done", text: "yes" });
  expect(await session.tools.call("everywhere", {})).toMatchObject({ status: "done" });
  expect(await session.tools.call("here", {})).toMatchObject({ status: "done", structured: { a: 1 } });
  expect(await other.tools.call("here", {})).toMatchObject({ code: "tool.unknown" });
  expect(runtime.tools.bySource("own").map(({ name }) => name)).toEqual(["everywhere", "here"]);
  session.unregister("hand");
  expect(session.tools.bySource("hand")).toEqual([]);
  runtime.unregister("own");
  expect(session.tools.bySource("own").map(({ name }) => name)).toEqual(["here"]);
  expect(await failure(connect({ name: "x", command: "/no/such/program" }, { env }))).toMatchObject({
    code: "mcp.spawn_failed",
  });
});
