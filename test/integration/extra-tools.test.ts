// Tools that clients run themselves, in a real session on a fake clock: what they answer, when they leave, and whose they are.
import { expect, vi } from "vitest";
import { LIMITS } from "../../src/base/limits.js";
import type { Model } from "../../src/models/index.js";
import type {
  Attachment,
  ExtraAnswer,
  ExtraCall,
  PermissionAnswer,
  PermissionQuestion,
  Session,
  SetToolsAnswer,
  SetToolsMode,
} from "../../src/session/index.js";
import { SessionHost } from "../../src/session/index.js";
import { SESSION_LIMITS } from "../../src/session/limits.js";
import { echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../../src/testing/index.js";
import { scenario } from "../scenarios/scenario.js";
import { testSource } from "../tool-source.js";

const { extraTools: MAX } = SESSION_LIMITS;
const SCHEMA = { type: "object", properties: { text: { type: "string" } } };

/** Calls the tool that the prompt names (`call NAME {…}`), then says what it answered, and what it was offered. */
function modelOf(answers: string[], offered: Set<string>): Model {
  return {
    id: "test/caller",
    stream: async function* ({ messages, tools }) {
      for (const { name } of tools) offered.add(name);
      const last = messages.at(-1);
      const said = last?.role === "user" ? last.content.map((one) => ("text" in one ? one.text : "")).join("") : "";
      const [, name, given = "{}"] = /call (\S+) ?(\{.*\})?/u.exec(said) ?? [];
      if (last?.role === "user" && name !== undefined) {
        yield { kind: "tool_call", call: { callId: "c", name, argumentsJson: given } };
        yield { kind: "finish", reason: "tool_calls" };
        return;
      }
      if (last?.role === "tool") answers.push(JSON.stringify(last.results.map(({ content }) => content)));
      yield { kind: "text", text: "done" };
      yield { kind: "finish", reason: "stop" };
    },
  };
}

/** A program that is a client: it keeps its calls until a test answers them. */
class Program {
  readonly calls: { call: ExtraCall; signal: AbortSignal; answer: (answer: ExtraAnswer) => void }[] = [];
  readonly client: string;
  readonly #session: Session;
  #attachment: Attachment | undefined;

  constructor(session: Session, client: string) {
    this.client = client;
    this.#session = session;
    this.attach();
  }

  attach(): void {
    this.#attachment = this.#session.join({
      client: { client: this.client, name: `program ${this.client}` },
      role: "observer",
      mayApprove: false,
      isUnattended: false,
      ports: {
        ask: async () => "no",
        callTool: (call, signal) => new Promise((resolve) => this.calls.push({ call, signal, answer: resolve })),
      },
    });
  }

  leave(): void {
    this.#attachment?.leave();
  }

  set(tools: readonly unknown[], mode: SetToolsMode = "replace", key = "bot"): SetToolsAnswer {
    const by = { client: this.client, name: `program ${this.client}` };
    return this.#session.setTools({ key, mode, tools: JSON.parse(JSON.stringify(tools)) }, by);
  }

  get last() {
    const last = this.calls.at(-1);
    if (!last) throw new Error("nothing was called");
    return last;
  }
}

class House implements AsyncDisposable {
  readonly world: FakeWorld;
  readonly host: SessionHost;
  readonly session: Session;
  readonly asked: PermissionQuestion[] = [];
  readonly answers: string[] = [];
  readonly offered = new Set<string>();
  /** Questions that wait for their answer. */
  readonly held: ((answer: PermissionAnswer) => void)[] = [];
  answer: PermissionAnswer | "wait" = "always";

  constructor(servers: readonly string[] = [], rules?: readonly object[]) {
    const files = rules && { "/home/config.json": JSON.stringify({ permissions: { rules } }) };
    this.world = fakeWorld({
      spawn: spawnsServer({ tools: [echoTool()] }),
      env: { HOME: "/home", TENON_HOME: "/home" },
      ...(files && { files }),
    });
    const model = modelOf(this.answers, this.offered);
    const client = { name: "t", version: "1" };
    this.host = new SessionHost({
      world: this.world,
      model,
      stateDir: "/state",
      client,
      builtin: [],
      maxQueuedPrompts: 8,
      ...(rules && { config: {} }),
    });
    this.session = this.host.createSession({
      cwd: "/project",
      id: "one",
      servers: servers.map((name) => ({ kind: "stdio", name, command: "server", args: [], env: {} })),
    });
    this.session.join({
      client: { client: "editor", name: "editor" },
      role: "controller",
      mayApprove: true,
      isUnattended: false,
      ports: {
        ask: async (question) => {
          this.asked.push(question);
          return this.answer === "wait" ? await new Promise((resolve) => this.held.push(resolve)) : this.answer;
        },
      },
    });
  }

  /** A call by the model, answered by the program in this way. */
  async called(program: Program, answer: ExtraAnswer | undefined, name = "mcp__bot__echo"): Promise<string> {
    await this.session.configured;
    const turn = this.session.prompt(`call ${name} {"text":"hi"}`);
    for (let round = 0; round < 20; round++) await this.world.advance(0);
    if (answer) program.last.answer(answer);
    await turn;
    return this.answers.at(-1) ?? "";
  }

  why(name: string): string {
    return this.session.tools.why(name).text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = this.host.close();
    await this.world.advance(10_000);
    await closing;
  }
}

const ECHO = { name: "echo", description: "Says it again", inputSchema: SCHEMA };

function answered(result: unknown): ExtraAnswer {
  return { kind: "answered", result };
}

const HELLO = answered({ content: [{ type: "text", text: "hello from the program" }] });

scenario(
  ["G630"],
  "a client adds tools, the model calls them, and the answer comes back; the person is asked once, with who runs it",
  async () => {
    await using house = new House();
    const bot = new Program(house.session, "a");
    expect(bot.set([ECHO, { ...ECHO, name: "other" }])).toEqual({
      tools: [
        { name: "echo", offeredAs: "mcp__bot__echo" },
        { name: "other", offeredAs: "mcp__bot__other" },
      ],
      rejected: [],
    });
    const turn = house.session.prompt('call mcp__bot__echo {"text":"hi"}');
    await house.world.settle();
    const { call, answer } = bot.last;
    expect(call).toMatchObject({ toolCallId: "1-1", key: "bot", name: "echo", arguments: { text: "hi" } });
    call.onProgress({ progress: 1, total: 2, message: "half" });
    answer(HELLO);
    await turn;
    expect(house.answers.at(-1)).toContain("hello from the program");
    const [question] = house.asked;
    expect(question?.warnings).toEqual([
      'The program "program a", a client of this session, brought this tool and runs it.',
    ]);
    expect(question?.tool).toMatchObject({ origin: "extra", source: "bot" });
    await house.called(bot, HELLO);
    expect(house.asked).toHaveLength(1);
    expect([...house.offered]).toEqual(expect.arrayContaining(["mcp__bot__echo", "mcp__bot__other"]));
    expect(house.why("mcp__bot__echo")).toContain("is offered to the model");
    expect(bot.set([{ name: "echo" }, { name: "nobody" }], "remove")).toEqual({
      tools: [{ name: "other", offeredAs: "mcp__bot__other" }],
      rejected: [{ name: "nobody", reason: "there is no such tool" }],
    });
    expect(bot.set([ECHO], "add").tools.map(({ name }) => name)).toEqual(["other", "echo"]);
    expect(bot.set([], "clear")).toEqual({ tools: [], rejected: [] });
    expect(house.why("mcp__bot__echo")).toContain(
      'are gone: the program "program a" took them out'.replace("are", "is"),
    );
    expect(house.why("other")).toContain('The tools of "bot" are gone: the program "program a" took them out.');
  },
);

scenario(["G635"], "hints of a program do not count, and what it answers is content from outside", async () => {
  await using house = new House();
  const bot = new Program(house.session, "a");
  house.answer = "once";
  bot.set([{ ...ECHO, annotations: { readOnlyHint: true, title: "Read only" } }]);
  await house.called(bot, HELLO);
  expect(house.asked[0]?.tool.definition).toMatchObject({ title: "Read only" });
  expect(house.asked[0]?.tool.definition.annotations).toBeUndefined();
  await house.called(bot, HELLO);
  expect(house.asked).toHaveLength(2);
  expect(house.world.files.text("/state/sessions/one.ndjson")).toContain('"origin":"extra"');
});

scenario(
  ["G632"],
  "nonsense, too much, an error and silence are failures with their cause, and the session goes on",
  async () => {
    await using house = new House();
    const bot = new Program(house.session, "a");
    bot.set([ECHO]);
    expect(await house.called(bot, answered("hello"))).toContain("answered with no result of a tool: it is no object");
    expect(await house.called(bot, answered({ nonsense: 1 }))).toContain('neither \\"content\\" nor');
    expect(await house.called(bot, answered({ content: 7 }))).toContain("is no list of blocks");
    expect(await house.called(bot, answered(undefined))).toContain("it is no object");
    const odd = answered({ content: [{ type: "hologram" }, 5, { type: "text", text: "still here" }] });
    expect(await house.called(bot, odd)).toContain("still here");
    const much = answered({ content: [{ type: "text", text: "x".repeat(MAX.answer.maxBytes + 1) }] });
    expect(await house.called(bot, much)).toContain("the answer of its program is");
    expect(await house.called(bot, { kind: "refused", message: "no such customer (-1)" })).toContain(
      "no such customer",
    );
    const silent = house.session.prompt('call mcp__bot__echo {"text":"hi"}');
    await house.world.settle();
    const { call, signal, answer } = bot.last;
    await house.world.advance(LIMITS.callTimeoutMs - 1_000);
    call.onProgress({ progress: 1 });
    await house.world.advance(LIMITS.callTimeoutMs - 1_000);
    expect(signal.aborted).toBe(false);
    await house.world.advance(2_000);
    await silent;
    expect(signal.aborted).toBe(true); // it is told to stop
    expect(house.answers.at(-1)).toContain(
      "no answer within 239 s, and no more progress; whether it took effect is unknown",
    );
    answer(HELLO); // nobody hears it
    call.onProgress({ progress: 2 });
    expect(await house.called(bot, HELLO)).toContain("hello from the program");
  },
);

scenario(["G630"], "a turn that is cancelled takes the call back at the program", async () => {
  await using house = new House();
  const bot = new Program(house.session, "a");
  bot.set([ECHO]);
  const turn = house.session.prompt('call mcp__bot__echo {"text":"hi"}');
  await house.world.settle();
  house.session.cancel();
  await house.world.advance(100);
  expect((await turn).stopReason).toBe("cancelled");
  expect(bot.last.signal.aborted).toBe(true);
});

scenario(
  ["G633"],
  "a program that is lost has a minute: calls under way are unknown, later ones wait, and then its tools are gone",
  async () => {
    await using house = new House();
    const bot = new Program(house.session, "a");
    bot.set([ECHO]);
    const under = house.session.prompt('call mcp__bot__echo {"text":"hi"}');
    await house.world.settle();
    bot.leave();
    await under;
    expect(house.answers.at(-1)).toContain("the connection of its program ended; whether it took effect is unknown");
    expect(house.why("mcp__bot__echo")).toContain(
      '; its program "program a" is not connected, and has 60 s to come back, and a call waits for it',
    );
    // It comes back in time, and a call that waited is sent.
    const waiting = house.session.prompt('call mcp__bot__echo {"text":"hi"}');
    await house.world.advance(MAX.graceMs - 1_000);
    expect(bot.calls).toHaveLength(1);
    bot.attach();
    await house.world.settle();
    expect(bot.calls).toHaveLength(2);
    bot.last.answer(HELLO);
    await waiting;
    expect(house.answers.at(-1)).toContain("hello from the program");
    await house.world.advance(MAX.graceMs * 2); // the grace is over, since it came back
    expect(house.why("mcp__bot__echo")).toContain("is offered");
    // It does not come back.
    bot.leave();
    const late = house.session.prompt('call mcp__bot__echo {"text":"hi"}');
    await house.world.advance(MAX.graceMs + 1);
    await late;
    expect(house.answers.at(-1)).toContain("was not called: the program");
    const gone = 'the program "program a" left, and did not come back within 60 s';
    expect(house.why("mcp__bot__echo")).toBe(`bot / echo is gone: ${gone}.`);
    expect(house.why("bot")).toBe(`The tools of "bot" are gone: ${gone}.`);
    expect(await house.called(bot, undefined)).toContain(gone.replaceAll('"', '\\"'));
    expect(bot.calls).toHaveLength(2);
    // Back later, it has to add them again, and has its approval still.
    bot.attach();
    expect(house.why("bot")).toContain("are gone");
    bot.set([ECHO]);
    const { length } = house.asked;
    expect(await house.called(bot, HELLO)).toContain("hello from the program");
    expect(house.asked).toHaveLength(length);
  },
);

scenario(
  ["G635"],
  "by its own word it is gone at once; another program with its name does not inherit what was allowed",
  async () => {
    await using house = new House();
    const first = new Program(house.session, "a");
    first.set([ECHO]);
    await house.called(first, HELLO);
    expect(house.asked).toHaveLength(1);
    house.session.dropTools({ client: "a", name: "" });
    first.leave();
    expect(house.why("mcp__bot__echo")).toContain('the program "program a" left this session');
    const second = new Program(house.session, "b");
    second.set([ECHO]);
    await house.called(second, HELLO);
    expect(house.asked).toHaveLength(2);
    expect(second.calls).toHaveLength(1);
  },
);

scenario(
  ["G721"],
  "a question about a program's tool ends with the program: its answer is none about the tool of another one",
  async () => {
    await using house = new House();
    await house.session.configured;
    const first = new Program(house.session, "a");
    first.set([ECHO]);
    house.answer = "wait";
    const asking = house.called(first, undefined);
    await vi.waitFor(() => expect(house.held).toHaveLength(1), { timeout: 20_000 });
    first.set([], "clear");
    expect(await asking).toContain("the client that brought it left");
    const second = new Program(house.session, "b");
    second.set([ECHO]);
    house.held[0]?.("always");
    house.answer = "no";
    expect(await house.called(second, undefined)).toContain("the person said no");
    expect(house.asked).toHaveLength(2);
    expect([...first.calls, ...second.calls]).toEqual([]);
  },
);

scenario(
  ["G634"],
  "two clients with the same key have sets of their own, and none takes the name of a server",
  async () => {
    await using house = new House(["files"]);
    await house.world.advance(0);
    const [one, two] = [new Program(house.session, "a"), new Program(house.session, "b")];
    one.set([ECHO]);
    expect(two.set([ECHO]).tools).toEqual([{ name: "echo", offeredAs: "mcp__bot-2__echo" }]);
    await house.called(two, HELLO, "mcp__bot-2__echo");
    expect([one.calls.length, two.calls.length]).toEqual([0, 1]);
    two.set([], "clear");
    expect(house.why("mcp__bot__echo")).toContain("is offered");
    expect(one.set([ECHO], "replace", "files").tools).toEqual([{ name: "echo", offeredAs: "mcp__files-2__echo" }]);
    // A server of that name that comes later counts before the program's.
    one.set([ECHO], "replace", "late");
    await house.session.setServers({
      servers: [{ kind: "stdio", name: "late", command: "server", args: [], env: {} }],
    });
    await house.world.advance(1_000);
    expect(house.session.tools.list().filter(({ source }) => source === "late")).toMatchObject([{ origin: "client" }]);
  },
);

scenario(
  ["G631"],
  "odd names, duplicates, huge and malformed definitions are each named, and the rest works",
  async () => {
    await using house = new House();
    const bot = new Program(house.session, "a");
    const deep = JSON.parse(`${'{"properties":'.repeat(150)}{}${"}".repeat(150)}`);
    const { tools, rejected } = bot.set([
      { ...ECHO, name: "__proto__" },
      { ...ECHO, name: "constructor" },
      { ...ECHO, name: "дом / 家 \u202e" },
      ECHO,
      { ...ECHO, description: "again" },
      { ...ECHO, name: "deep", inputSchema: { type: "object", ...deep } },
      { ...ECHO, name: "wide", description: "x".repeat(5_000_000) },
      { name: "no-schema" },
      { ...ECHO, name: "" },
      7,
      null,
    ]);
    expect(tools.map(({ name }) => name)).toEqual(["__proto__", "constructor", "дом / 家 \u202e", "echo"]);
    for (const { offeredAs } of tools) expect(offeredAs).toMatch(/^mcp__[A-Za-z0-9_-]{1,59}$/u);
    expect(new Set(tools.map(({ offeredAs }) => offeredAs)).size).toBe(4);
    expect(rejected.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([
      "echo: it is defined twice: the last one counts",
      "deep: its definition is nested more than 100 deep",
      expect.stringMatching(/^wide: its definition is /u),
      "no-schema: its inputSchema is not an object",
      "?: it has no name",
      "?: the entry is not an object",
      "?: the entry is not an object",
    ]);
    expect(house.why("deep")).toContain("is left out");
    expect(await house.called(bot, HELLO, tools[0]?.offeredAs)).toContain("hello from the program");
    expect(bot.last.call.name).toBe("__proto__");
    const many = Array.from({ length: 1_000 }, (_, index) => ({ ...ECHO, name: `t${index}` }));
    const crowd = bot.set(many);
    expect(crowd.tools).toHaveLength(MAX.tools);
    expect(crowd.rejected.at(0)).toEqual({ name: `t${MAX.tools}`, reason: "a key may have 128 tools" });
    expect(crowd.rejected.length).toBeLessThan(MAX.tools * 2);
    const heavy = Array.from({ length: 4 }, (_, index) => ({
      ...ECHO,
      name: `h${index}`,
      description: "x".repeat(1_500_000),
    }));
    expect(bot.set(heavy).rejected).toEqual([
      { name: "h2", reason: "the definitions of a key may take 4194304 bytes" },
      { name: "h3", reason: "the definitions of a key may take 4194304 bytes" },
    ]);
    for (let count = 1; count < MAX.keysPerClient; count++) bot.set([ECHO], "add", `key ${count}`);
    expect(() => bot.set([ECHO], "add", "one more")).toThrow(expect.objectContaining({ code: "access.limited" }));
  },
);

scenario(["G636"], "a call that has an intent and no outcome is not sent again by the next process", async () => {
  const house = new House();
  const bot = new Program(house.session, "a");
  bot.set([ECHO]);
  handledTurn(house.session.prompt('call mcp__bot__echo {"text":"hi"}', undefined, { by: { client: "a", name: "a" } }));
  await house.world.settle();
  expect(bot.calls).toHaveLength(1);
  const journal = house.world.files.text("/state/sessions/one.ndjson") ?? "";
  expect(journal).toContain('"intent"');
  const next = fakeWorld();
  await next.files.writeAtomic("/state/sessions/two.ndjson", journal.replaceAll('"one"', '"two"'));
  const answers: string[] = [];
  await using host = new SessionHost({
    world: next,
    model: modelOf(answers, new Set()),
    stateDir: "/state",
    client: { name: "t", version: "1" },
    builtin: [],
    openTurns: "continue",
  });
  const { session } = await host.loadSession({ cwd: "/project", id: "two" });
  const again = new Program(session, "a");
  again.set([ECHO]);
  await session.continueOpenTurn();
  expect(again.calls).toHaveLength(0);
  expect(answers.at(-1)).toContain("unknown");
  bot.last.answer(HELLO);
  await house[Symbol.asyncDispose]();
});

function handledTurn(turn: Promise<unknown>): void {
  turn.catch(() => undefined);
}

scenario(["G635"], "a rule that allows a server's tools is not for a program that takes its name", async () => {
  await using house = new House([], [{ effect: "allow", server: "github" }]);
  const bot = new Program(house.session, "a");
  bot.set([ECHO], "replace", "github");
  await house.called(bot, HELLO, "mcp__github__echo");
  expect(house.asked).toHaveLength(1);
  house.answer = "no";
  await using named = new House([], [{ effect: "allow", server: "github", origin: ["extra"] }]);
  const meant = new Program(named.session, "a");
  meant.set([ECHO], "replace", "github");
  await named.called(meant, HELLO, "mcp__github__echo");
  expect(named.asked).toHaveLength(0);
});

scenario(["G634"], "what the embedder takes out is its own: tools of clients stay, under their names too", async () => {
  await using house = new House();
  const bot = new Program(house.session, "a");
  bot.set([ECHO]);
  const source = testSource("bot", ["mine"]);
  house.session.tools.add(source);
  expect(house.why("mcp__bot__echo")).toContain("replaces the one of a client");
  house.session.tools.clear();
  expect(house.why("mcp__bot__echo")).toContain("is offered");
  house.session.tools.clear("bot");
  expect(house.why("mcp__bot__echo")).toContain("is offered");
});
