// The public API of the library: transformers, provider options, tools of a program, approvals, stores, ACP.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect } from "vitest";
import { z } from "zod";
import { serveAcp } from "../../src/library/acp.js";
import { tool } from "../../src/library/index.js";
import { openTools } from "../../src/library/tools.js";
import { echoTool, scriptedServer } from "../../src/testing/index.js";
import { answerText, fakeProvider } from "../../src/testing/lab/index.js";
import { calling, echo, failure, memoryStore, Place, said, scripted } from "../library-parts.js";
import { scenario } from "../scenarios/scenario.js";

scenario(["V106"], "transformers change tools of servers; one that throws is reported by name", async () => {
  await using place = new Place();
  const session = await place.session({
    mcpServers: { s: scriptedServer({ tools: [echoTool("a"), echoTool("b"), echoTool("c")] }) },
    transformers: [
      { name: "prefixer", transform: (one) => ({ ...one, name: `x_${one.name}` }) },
      {
        name: "picky",
        transform: (one, { ownName }) => {
          if (ownName === "b") throw new Error("not b");
          return ownName === "c" ? null : one;
        },
      },
      { name: "marker", applyTo: "all", transform: (one) => ({ ...one, description: `! ${one.description}` }) },
    ],
  });
  session.register(tool({ name: "own", description: "Mine", input: { type: "object" }, run: () => "ok" }));
  await session.ready();
  expect(session.tools.bySource("s").map(({ name, originalName }) => [name, originalName])).toEqual([
    ["mcp__s__x_a", "a"],
  ]);
  expect(session.tools.bySource("own")).toMatchObject([{ name: "own", description: "! Mine" }]);
  expect(await session.tools.call("x_a", { text: "t" })).toMatchObject({ status: "done" });
  const { text } = await place.event("notice", (event) => event.text.includes("picky"));
  expect(text).toBe('tool "b" of "s" is left out: the transformer "picky" failed on it: not b');
});

scenario(["V106"], "many calls that wait for the same thing make Node warn of nothing", async () => {
  await using place = new Place();
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on("warning", onWarning);
  await using tools = await openTools({ mcpServers: { s: echo() }, cwd: place.home.path, env: place.env });
  await tools.ready();
  const calls = Array.from({ length: 30 }, () => tools.call("echo", { text: "t" })); // what was decided is not read yet
  const results = await Promise.all(calls);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", onWarning);
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => "done"));
  expect(warnings).toEqual([]);
});

scenario(["V106"], "a transformer that returns what no catalog can take costs that tool alone", async () => {
  await using place = new Place();
  const looped: Record<string, unknown> = { type: "object" };
  looped["properties"] = { a: looped };
  const wrong: readonly Record<string, unknown>[] = [
    { title: 5 },
    { annotations: "x" },
    { providerOptions: { openai: 5 } },
    { outputSchema: [] },
    { inputSchema: looped },
    { inputSchema: { type: "object", default: 10n } },
  ];
  const session = await place.session({
    mcpServers: { s: scriptedServer({ tools: [...wrong.map((_, at) => echoTool(`t${at}`)), echoTool("good")] }) },
    transformers: [
      {
        name: "odd",
        transform: (one, { ownName }) => ({ ...one, ...wrong[Number(ownName.slice(1))] }),
      },
    ],
  });
  await session.ready();
  expect(session.tools.bySource("s").map(({ name }) => name)).toEqual(["mcp__s__good"]);
  for (const at of wrong.keys()) {
    const { text } = await place.event("notice", (event) => event.text.includes(`"t${at}"`));
    expect(text).toContain('the transformer "odd" made it unusable: its ');
  }
});

scenario(["V107"], "provider options reach the provider in its own shape, unknown ones are reported", async () => {
  await using place = new Place();
  await using provider = await fakeProvider();
  provider.reply(answerText("ok"));
  const session = await place.session({
    model: "openai/test",
    env: { ...place.env, OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "dummy" },
    mcpServers: { s: echo() },
    transformers: [
      {
        transform: (one) => ({
          ...one,
          providerOptions: { openai: { function: { strict: true } }, google: { grounding: false } },
        }),
      },
    ],
  });
  await session.ready();
  expect((await session.prompt("hello")).text).toBe("ok");
  const sent = JSON.stringify(provider.requests[0]);
  expect(sent).toContain('"strict":true');
  const { text } = await place.event("notice", (event) => event.text.includes("providerOptions"));
  expect(text).toContain("google.grounding");
  expect(text).not.toContain("openai");
});

scenario(["V108"], "tool() with zod, with JSON Schema, and with a schema that gives none", async () => {
  await using place = new Place();
  const session = await place.session();
  const add = tool({
    name: "add",
    description: "Adds",
    input: z.object({ a: z.number(), b: z.number().default(1) }),
    run: ({ a, b }) => (a + b).toFixed(1), // numbers by their type
  });
  session.register(add);
  expect(add.inputSchema).toMatchObject({ type: "object", required: ["a"] });
  expect(await session.tools.call("add", { a: 2 })).toMatchObject({ status: "done", text: "3.0" });
  expect(await session.tools.call("add", { a: "two" })).toMatchObject({
    status: "failed",
    code: "tool.invalid_arguments",
  });
  const strange = { "~standard": { version: 1, vendor: "x", validate: (value: unknown) => ({ value }) } } as const;
  const make = () => tool({ name: "strange", description: "", input: strange, run: () => "" });
  expect(make).toThrow(
    expect.objectContaining({ code: "usage.invalid", message: expect.stringContaining("inputSchema") }),
  );
  const refusing = {
    "~standard": { version: 1, vendor: "x", validate: () => ({ issues: [{ message: "odd" }] }) },
  } as const;
  session.register(
    tool({ name: "refusing", description: "", input: refusing, inputSchema: { type: "object" }, run: () => "ran" }),
  );
  expect(await session.tools.call("refusing", {})).toMatchObject({
    status: "failed",
    text: expect.stringContaining("odd"),
  });
  session.register(
    tool({
      name: "throws",
      description: "",
      input: { type: "object" },
      run: () => {
        throw new Error("broken inside");
      },
    }),
  );
  expect(await session.tools.call("throws", {})).toMatchObject({
    status: "failed",
    text: expect.stringContaining("broken inside"),
  });
});

scenario(
  ["V109"],
  "without approve what was handed over runs and the rest is refused; with it its answer counts",
  async () => {
    await using place = new Place();
    const file = join(place.home.path, "made.txt");
    const write = { path: file, content: "made" };
    const session = await place.session({ builtin: "all", mcpServers: { s: echo() } });
    await session.ready();
    expect(await session.tools.call("s/echo", { text: "runs" })).toMatchObject({ status: "done" });
    expect(await session.tools.call("write_file", write)).toMatchObject({ status: "refused", code: "tool.refused" });
    expect(existsSync(file)).toBe(false);
    const asked: string[] = [];
    const runtime = await place.runtime({
      builtin: "all",
      mcpServers: { s: echo() },
      approve: ({ tool: { name, source }, arguments: args }) => {
        asked.push(`${source} ${name} ${Object.keys(args).join()}`);
        if (args["text"] === "throw") throw new Error("no answer");
        return name === "write_file" ? "once" : args["text"] === "yes";
      },
    });
    const careful = await runtime.createSession({ cwd: place.home.path });
    await careful.ready();
    expect(await careful.tools.call("s/echo", { text: "yes" })).toMatchObject({ status: "done" });
    expect(await careful.tools.call("s/echo", { text: "no" })).toMatchObject({ status: "refused" });
    expect(await careful.tools.call("s/echo", { text: "throw" })).toMatchObject({ status: "refused" });
    expect(await careful.tools.call("write_file", write)).toMatchObject({ status: "done" });
    expect(readFileSync(file, "utf8")).toBe("made");
    expect(asked).toEqual([
      "s mcp__s__echo text",
      "s mcp__s__echo text",
      "s mcp__s__echo text",
      "builtin write_file path,content",
    ]);
  },
);

scenario(
  ["V109"],
  "an approve callback may call tools that are asked about; calls beside each other are asked about in turn",
  async () => {
    await using place = new Place();
    const asked: string[] = [];
    let open = 0;
    let most = 0;
    const session = await place.session({
      builtin: [],
      mcpServers: { s: echo() },
      approve: async ({ arguments: { text } }) => {
        asked.push(String(text));
        if (text === "inner") return true;
        open += 1;
        most = Math.max(most, open);
        const inner = await session.tools.call("s/echo", { text: "inner" });
        open -= 1;
        return inner.status === "done";
      },
    });
    await session.ready();
    const outer = ["one", "two"].map((text) => session.tools.call("s/echo", { text }));
    expect(await Promise.all(outer)).toMatchObject([{ status: "done" }, { status: "done" }]);
    expect(asked).toEqual(["one", "inner", "two", "inner"]);
    expect(most).toBe(1);
    const turn = await place.session({
      mcpServers: { s: echo() },
      model: scripted(calling("mcp__s__echo", { text: "outer" }), said("Done.")),
      approve: async ({ arguments: { text } }) =>
        text === "inner" || (await turn.tools.call("s/echo", { text: "inner" })).status === "done",
    });
    await turn.ready();
    expect(await turn.prompt("call it")).toMatchObject({ text: "Done.", stopReason: "end_turn" });
  },
);

scenario(["V108", "V110"], "what is no tool is refused by its name and leaves the session as it was", async () => {
  await using place = new Place();
  const session = await place.session();
  const input = { type: "object" };
  const run = () => "ok";
  const looped: Record<string, unknown> = { type: "object" };
  looped["properties"] = { a: looped };
  const wrong: readonly unknown[] = [
    undefined,
    "x",
    { name: "a", description: 5, inputSchema: input, run },
    { name: "a", description: "", title: 5, inputSchema: input, run },
    { name: "a", description: "", inputSchema: looped, run },
    { name: "a", description: "", inputSchema: input },
    { name: "a", call: run },
    { name: "a", list: () => 5, call: run },
    { name: "a", list: () => [null], call: run },
    { name: "a", list: () => [{ name: "b", inputSchema: input }], call: run },
  ];
  for (const one of wrong) {
    // @ts-expect-error plain JavaScript may register anything
    expect(() => session.register(one)).toThrow(expect.objectContaining({ code: "usage.invalid" }));
  }
  // @ts-expect-error plain JavaScript may call it without anything
  expect(() => tool()).toThrow(expect.objectContaining({ code: "usage.invalid" }));
  session.register(tool({ name: "good", description: "", input, run }));
  expect(await session.tools.call("good", {})).toMatchObject({ status: "done", text: "ok" });
  let listed: unknown = [{ name: "c", description: "", inputSchema: input }];
  let changed = () => {};
  session.register({
    name: "source",
    // @ts-expect-error plain JavaScript may list anything
    list: () => listed,
    call: run,
    onChange: (listener) => {
      changed = listener;
      return () => {};
    },
  });
  listed = [{ name: "d", description: 5, inputSchema: input }];
  changed();
  expect(session.tools.bySource("source")).toMatchObject([{ name: "c" }]);
});

scenario(["V108"], "content that a tool cannot return fails its call, and says which block is wrong", async () => {
  await using place = new Place();
  const session = await place.session();
  const replies = [{ type: "image" }, { type: "text", text: 5 }, { type: "wat" }, { type: "resource", resource: {} }];
  for (const block of replies) {
    const run = () => ({ content: [{ type: "text", text: "first" }, block] });
    session.register(tool({ name: "odd", description: "", input: { type: "object" }, run }));
    const { status, text } = await session.tools.call("odd", {});
    expect([status, text]).toEqual(["failed", expect.stringContaining("cannot be used: block 1 must have")]);
  }
  const looped: Record<string, unknown> = {};
  looped["again"] = looped;
  for (const structured of [looped, { a: 10n }, () => "x"]) {
    session.register(
      tool({ name: "odd", description: "", input: { type: "object" }, run: () => ({ content: [], structured }) }),
    );
    expect(await session.tools.call("odd", {})).toMatchObject({ status: "failed" });
  }
});

scenario(["V109"], "what `approve` does to the arguments it is shown does not reach the call", async () => {
  await using place = new Place();
  const session = await place.session({
    builtin: ["write_file"],
    approve: ({ arguments: args }) => Reflect.set(args, "path", "other.txt"),
  });
  const { status } = await session.tools.call("write_file", { path: "asked.txt", content: "x" });
  expect(status).toBe("done");
  expect([existsSync(join(place.home.path, "asked.txt")), existsSync(join(place.home.path, "other.txt"))]).toEqual([
    true,
    false,
  ]);
});

scenario(["V110"], "a store that throws, or answers with what is none, is an error with a code", async () => {
  await using place = new Place();
  const broken = async () => {
    throw new Error("disk on fire");
  };
  const failing = { ...memoryStore(), list: broken, read: broken, remove: broken };
  const runtime = await place.runtime({ model: scripted(), store: failing });
  const unavailable = { code: "store.unavailable", message: "the store of sessions failed: disk on fire" };
  expect(await failure(runtime.listSessions())).toMatchObject(unavailable);
  expect(await failure(runtime.loadSession({ id: "a", cwd: place.home.path }))).toMatchObject(unavailable);
  expect(await failure(runtime.deleteSession("a"))).toMatchObject(unavailable);
  const session = await runtime.createSession({ cwd: place.home.path, id: "b" });
  expect(await failure(session.prompt("x"))).toMatchObject(unavailable);
  const odd = { ...memoryStore(), list: async () => 5, read: async () => [null, 5] };
  // @ts-expect-error plain JavaScript may answer anything
  const other = await place.runtime({ model: scripted(), store: odd });
  const malformed = { code: "store.unavailable", message: expect.stringContaining("malformed") };
  expect(await failure(other.listSessions())).toMatchObject(malformed);
  expect(await failure(other.loadSession({ id: "a", cwd: place.home.path }))).toMatchObject(malformed);
});

scenario(["V109"], "an always where only this call may be allowed allows this call", async () => {
  await using place = new Place();
  const session = await place.session({ builtin: "all", approve: () => "always" });
  const command = 'for word in a b; do echo "$word$(echo c)"; done > /dev/null && echo made';
  const called = await session.tools.call("run_command", { command });
  expect(called).toMatchObject({ status: "done", text: expect.stringContaining("made") });
});

scenario(["V110"], "a store, a search and a source of one's own", async () => {
  await using place = new Place();
  const lines = new Map<string, string[]>();
  const store = memoryStore(lines);
  const queries: string[] = [];
  const runtime = await place.runtime({
    model: scripted(said("First."), said("Second.")),
    store,
    search: ({ query, tools }) => {
      queries.push(query);
      return tools.map(({ name }) => name).filter((name) => name.includes("triple"));
    },
  });
  const session = await runtime.createSession({ cwd: place.home.path, id: "kept" });
  session.register({
    name: "math",
    list: () => [
      { name: "double", description: "Doubles n", inputSchema: { type: "object" } },
      { name: "triple", description: "Triples n", inputSchema: { type: "object" } },
    ],
    call: (name, { n }) => String((name === "double" ? 2 : 3) * Number(n)),
  });
  expect(await session.tools.call("double", { n: 4 })).toMatchObject({ status: "done", text: "8" });
  expect((await session.tools.search("whatever")).map(({ name }) => name)).toEqual(["triple"]);
  expect(queries).toEqual(["whatever"]);
  expect((await session.prompt("one")).text).toBe("First.");
  await session.close();
  expect(await runtime.listSessions()).toMatchObject([{ id: "kept", title: "one" }]);
  const again = await runtime.loadSession({ id: "kept", cwd: place.home.path });
  expect((await again.prompt("two")).text).toBe("Second.");
  await again.close();
  expect(
    await failure(runtime.createSession({ cwd: place.home.path, id: "kept" }).then((one) => one.prompt("x"))),
  ).toMatchObject({
    code: "session.invalid_request",
  });
  await runtime.deleteSession("kept");
  expect([...lines.keys()]).toEqual([]);
});

scenario(["V111"], "saveServer and deleteServer keep the comments of the file", async () => {
  await using place = new Place();
  const file = join(place.home.path, "config.json");
  writeFileSync(file, '{\n  // mine\n  "mcpServers": {\n    "a": { "command": "a" } // keep\n  }\n}\n');
  const runtime = await place.runtime();
  await runtime.saveServer("b", { command: "b", env: { TOKEN: "${TOKEN}" } }, { file });
  await runtime.saveServer("b", { command: "c" }, { file });
  const saved = readFileSync(file, "utf8");
  expect(saved).toContain("// mine");
  expect(saved).toContain("// keep");
  expect(saved).toContain('"command": "c"');
  await runtime.deleteServer("b", { file });
  expect(readFileSync(file, "utf8")).not.toContain('"b"');
  expect(await failure(runtime.deleteServer("b", { file }))).toMatchObject({ code: "config.invalid" });
  const wrong = { command: 5, env: { KEY: "s3cret" } };
  // @ts-expect-error plain JavaScript may write anything
  const error = await failure(runtime.saveServer("bad", wrong, { file }));
  expect(error).toMatchObject({ code: "config.invalid" });
  expect(error.message).not.toContain("s3cret");
});

scenario(["V112"], "openTools has no model and lists, calls and closes", async () => {
  await using place = new Place();
  await using tools = await openTools({ mcpServers: { s: echo() }, cwd: place.home.path, env: place.env });
  let changes = 0;
  tools.onChange(() => changes++);
  await tools.ready();
  await expect.poll(() => changes, { timeout: 10_000 }).toBeGreaterThan(0);
  expect(tools.list().map(({ name }) => name)).toContain("mcp__s__echo");
  expect(await tools.call("echo", { text: "x" })).toMatchObject({ status: "done" });
});

scenario(["V112"], "serveAcp without streams is refused: it would serve nobody and say nothing", async () => {
  await using place = new Place();
  const runtime = await place.runtime();
  const ofNode = { input: new PassThrough(), output: new PassThrough() };
  for (const streams of [{}, ofNode, undefined]) {
    // @ts-expect-error plain JavaScript may give anything
    expect(await failure(serveAcp(runtime, streams))).toMatchObject({ code: "usage.invalid" });
  }
});

scenario(["V112"], "serveAcp serves a client with the runtime's servers and tools, and asks that client", async () => {
  await using place = new Place();
  const model = scripted(calling("mcp__s__echo", { text: "for the editor" }), said("Done."));
  const runtime = await place.runtime({ model, mcpServers: { s: echo() } });
  runtime.register(tool({ name: "extra", description: "Extra", input: { type: "object" }, run: () => "x" }));
  const toAgent = new TransformStream<Uint8Array, Uint8Array>();
  const fromAgent = new TransformStream<Uint8Array, Uint8Array>();
  const serving = serveAcp(runtime, { input: toAgent.readable, output: fromAgent.writable });
  const asked: string[] = [];
  const client = new AcpLines(toAgent.writable, fromAgent.readable, (method, params) => {
    asked.push(method);
    return method === "session/request_permission"
      ? { outcome: { outcome: "selected", optionId: optionOf(params) } }
      : {};
  });
  await client.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await client.request("session/new", { cwd: place.home.path, mcpServers: [] });
  const prompt = [{ type: "text", text: "go" }];
  expect(await client.request("session/prompt", { sessionId, prompt })).toMatchObject({ stopReason: "end_turn" });
  expect(asked).toEqual(["session/request_permission"]);
  expect(model.offered[0]).toEqual(expect.arrayContaining(["mcp__s__echo", "extra"]));
  await client.close();
  await serving;
});

/** The first answer that allows it once. */
function optionOf(params: unknown): string {
  const found = /"optionId":"([^"]+)"[^}]*"kind":"allow_once"|"kind":"allow_once"[^}]*"optionId":"([^"]+)"/u.exec(
    JSON.stringify(params),
  );
  return found?.[1] ?? found?.[2] ?? "";
}

type Params = Record<string, unknown>;

/** A client of ACP as lines of JSON: requests both ways, nothing else. */
class AcpLines {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #answers = new Map<number, (result: Params) => void>();
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #reading: Promise<void>;
  #last = 0;

  constructor(
    output: WritableStream<Uint8Array>,
    input: ReadableStream<Uint8Array>,
    answer: (method: string, params: unknown) => object,
  ) {
    this.#writer = output.getWriter();
    this.#reader = input.getReader();
    this.#reading = this.#read(answer);
  }

  async request(method: string, params: Params): Promise<Params> {
    this.#last += 1;
    const id = this.#last;
    const answered = new Promise<Params>((resolve) => this.#answers.set(id, resolve));
    await this.#send({ id, method, params });
    return await answered;
  }

  async close(): Promise<void> {
    await this.#writer.close();
    await this.#reader.cancel();
    await this.#reading;
  }

  async #send(message: object): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
  }

  async #read(answer: (method: string, params: unknown) => object): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const { id, method, params, result, error } = JSON.parse(line);
        if (method === undefined) this.#answers.get(id)?.(result ?? { error });
        else if (id !== undefined) await this.#send({ id, result: answer(method, params) });
      }
    }
  }
}
