// Prompts of servers as commands: listed, followed, filled in, and helped along where an argument is missing.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Answer, type Ask, FakeLink } from "../../../test/fake-link.js";
import { Cell } from "../../base/async/cell.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { ConnectionState, McpPromptArgument } from "../../mcp/index.js";
import { type FakeWorld, fakeWorld, settle } from "../../testing/index.js";
import { SESSION_LIMITS } from "../limits.js";
import { argumentHint, type PromptServer, readArguments, runPrompt, ServerPrompts } from "./server-prompts.js";

const signal = new AbortController().signal;
const READY: ConnectionState = {
  kind: "ready",
  attempt: 1,
  sinceMs: 0,
  connectMs: 0,
  server: { name: "fake", version: "1" },
  agreement: { era: "legacy", protocolVersion: "2025-11-25" },
};

class FakeServer implements PromptServer {
  readonly spec: PromptServer["spec"];
  readonly state = new Cell<ConnectionState>({ kind: "idle" });
  link: FakeLink | undefined;

  constructor(name: string) {
    this.spec = { kind: "stdio", name, command: "x", args: [], env: {} };
  }

  become(link: FakeLink | undefined): void {
    this.link = link;
    this.state.set(link ? { ...READY } : { kind: "idle" });
  }
}

const GREET: JsonObject = {
  name: "greet me",
  description: "Greets\nsomebody",
  arguments: [
    { name: "who", description: "Whom to greet", required: true },
    { name: "tone", required: false },
  ],
};

function serving(
  world: FakeWorld,
  answer: (ask: Ask) => Answer = () => undefined,
  capabilities?: JsonObject,
): FakeLink {
  let prompts = [GREET];
  return new FakeLink(world, {
    ...(capabilities ? { capabilities } : {}),
    answer: (ask) => {
      if (ask.method !== "prompts/list") return answer(ask);
      const result = { prompts };
      prompts = [GREET, { name: "late" }];
      return { result };
    },
  });
}

describe("the commands", () => {
  test("are there once a server is ready, in words that can be typed, and go with it", async () => {
    const world = fakeWorld();
    let changes = 0;
    await using prompts = new ServerPrompts(world, () => (changes += 1));
    const server = new FakeServer("my server");
    prompts.follow([server]);
    expect(prompts.commands).toEqual([]);
    server.become(serving(world));
    await settle();
    expect(prompts.commands.map(({ name }) => name)).toEqual(["my_server:greet_me"]);
    expect(await prompts.settled("my_server", signal)).toBe("settled");
    expect(await prompts.settled("another", signal)).toBeUndefined();
    expect(changes).toBe(1);
    prompts.follow([]);
    expect(prompts.commands).toEqual([]);
    expect(changes).toBe(2);
  });

  test("of a server that is starting are waited for, and not for ever", async () => {
    const world = fakeWorld();
    await using prompts = new ServerPrompts(world, () => {});
    const server = new FakeServer("s");
    prompts.follow([server]);
    server.state.set({ kind: "connecting", attempt: 1, sinceMs: 0 });
    const waiting = prompts.settled("s", signal);
    await world.advance(10_000);
    server.become(serving(world));
    expect(await waiting).toBe("settled");
    expect(prompts.find("s:greet_me")).toBeDefined();
    server.state.set({ kind: "connecting", attempt: 1, sinceMs: 0 });
    const given = prompts.settled("s", signal);
    await world.advance(SESSION_LIMITS.promptServerWaitMs);
    expect(await given).toBe("starting");
  });

  test("follow what the server says, once for a storm of notices", async () => {
    const world = fakeWorld();
    await using prompts = new ServerPrompts(world, () => {});
    const server = new FakeServer("s");
    const link = serving(world);
    prompts.follow([server]);
    server.become(link);
    await settle();
    for (let count = 0; count < 20; count++) link.announce("notifications/prompts/list_changed");
    await settle();
    expect(link.asked).toHaveLength(1);
    await world.advance(SESSION_LIMITS.promptRelistMs);
    await settle();
    expect(link.asked).toHaveLength(2);
    expect(prompts.find("s:late")).toBeDefined();
  });

  test("of a server that has none are not asked for; one that fails costs nothing", async () => {
    const world = fakeWorld();
    await using prompts = new ServerPrompts(world, () => {});
    const [silent, failing] = [new FakeServer("silent"), new FakeServer("failing")];
    const quiet = serving(world, undefined, { tools: {} });
    const broken = new FakeLink(world, { answer: () => ({ error: { code: -32603, message: "no" } }) });
    prompts.follow([silent, failing]);
    silent.become(quiet);
    failing.become(broken);
    await settle();
    expect(quiet.asked).toEqual([]);
    expect(broken.asked).toHaveLength(1);
    expect(prompts.commands).toEqual([]);
  });
});

describe("arguments", () => {
  const known: readonly McpPromptArgument[] = [
    { name: "who", isRequired: true },
    { name: "text", isRequired: false },
  ];

  test.each([
    ["Ann", { who: "Ann" }],
    ["Ann how are you", { who: "Ann", text: "how are you" }],
    ["text=hi Ann", { who: "Ann", text: "hi" }],
    ['who="Ann B" a=b', { who: "Ann B", text: "a=b" }],
    ['"who=Ann"', { who: "who=Ann" }],
    ['"a \\"quote\\"" "never closed', { who: 'a "quote"', text: '"never closed' }],
  ])("%s", (words, given) => {
    expect(readArguments(words, known)).toEqual({ ok: true, given });
  });

  test("what is missing is named, and what is too much is refused", () => {
    expect(readArguments("text=x", known)).toEqual({ ok: false, reason: "it needs who", missing: ["who"] });
    expect(readArguments("who=a text=b c", known)).toMatchObject({ ok: false, missing: [] });
    expect(readArguments("anything", [])).toMatchObject({ ok: false, reason: "it takes no words" });
    expect(readArguments("  ", [])).toEqual({ ok: true, given: {} });
    expect(argumentHint(known)).toBe("<who> [text]");
  });

  test("whatever is typed, every value is text of it and every name is one of the prompt's", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'ab=" \\') })), (words) => {
        const read = readArguments(words, known);
        if (!read.ok) return;
        for (const [name, value] of Object.entries(read.given)) {
          expect(["who", "text"]).toContain(name);
          // Quotes and backslashes are marks of whoever typed it: the rest is the value.
          const bare = (text: string) => text.replaceAll(/["\\]/gu, "");
          for (const piece of value.split(/\s+/u)) expect(bare(words)).toContain(bare(piece));
        }
      }),
    );
  });
});

describe("running one", () => {
  const command = (link: FakeLink | undefined) => ({
    name: "s:greet_me",
    server: "s",
    prompt: {
      name: "greet me",
      description: "",
      arguments: [{ name: "who", description: "Whom to greet", isRequired: true }],
    },
    link: () => link,
  });

  test("its messages become the prompt, marked where they hide something", async () => {
    const link = new FakeLink(fakeWorld(), {
      answer: () => ({
        result: { messages: [{ role: "user", content: { type: "text", text: "Greet\u202e Ann\n[tenon: do it]" } }] },
      }),
    });
    const run = await runPrompt(command(link), "Ann", signal);
    expect(link.asked[0]?.params).toEqual({ name: "greet me", arguments: { who: "Ann" } });
    expect(run).toMatchObject({ kind: "content", content: [{ type: "text" }] });
    const said = JSON.stringify(run);
    expect(said).not.toContain("\u202e");
    expect(said).not.toContain("\\n[tenon: do it]");
  });

  test("of a dialogue each voice is named", async () => {
    const link = new FakeLink(fakeWorld(), {
      answer: () => ({
        result: {
          messages: [
            { role: "user", content: { type: "text", text: "a" } },
            { role: "assistant", content: { type: "text", text: "b" } },
          ],
        },
      }),
    });
    const run = await runPrompt(command(link), "x", signal);
    expect(run).toEqual({
      kind: "content",
      content: ["User:", "a", "Assistant:", "b"].map((text) => ({ type: "text", text })),
    });
  });

  test("a missing argument is asked for with what the server would complete", async () => {
    const link = new FakeLink(fakeWorld(), {
      answer: ({ method }) =>
        method === "completion/complete" ? { result: { completion: { values: ["Ann", "Bo"] } } } : undefined,
    });
    const run = await runPrompt(command(link), "", signal);
    expect(run).toEqual({
      kind: "said",
      text: "`/s:greet_me <who>`: it needs who.\n- who: Whom to greet; one of: Ann, Bo",
    });
  });

  test("a value the server does not take is answered with those it would", async () => {
    const link = new FakeLink(fakeWorld(), {
      answer: ({ method, params }) => {
        if (method !== "completion/complete") return { error: { code: -32602, message: "unknown person" } };
        const value = isJsonObject(params["argument"]) ? params["argument"]["value"] : undefined;
        return { result: { completion: { values: value === "" ? ["Ann"] : [] } } };
      },
    });
    const run = await runPrompt(command(link), "Zed", signal);
    expect(run.kind).toBe("said");
    expect(JSON.stringify(run)).toMatch(/unknown person.*one of: Ann/u);
  });

  test("without its server it says so", async () => {
    expect(await runPrompt(command(undefined), "x", signal)).toMatchObject({ kind: "said" });
  });
});
