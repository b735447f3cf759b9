// The editor never notices that connections break: it sees the log, in order, once; what it asked is answered once.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Fault, Message, ScriptedGatewayOptions } from "../../test/scripted-gateway.js";
import { INITIALIZE, shown, stage } from "../../test/translator-stage.js";
import type { JsonObject } from "../base/json/json.js";
import { WebSocketRefusal } from "../base/ports/web-socket.js";
import { fakeWorld } from "../testing/index.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import { OwnServers } from "./own-servers.js";
import { Translator, type TranslatorOptions } from "./translator.js";

test("a prompt goes through, with an id of its own, and its updates come before its answer", async () => {
  const { translator, gateway, newSession, prompt, answerTo, texts, sent } = stage();
  translator.run();
  const session = await newSession();
  const id = prompt(session);
  expect((await answerTo(id)).result).toMatchObject({ stopReason: "end_turn" });
  expect(texts()).toEqual(shown(gateway, session));
  expect(sent.at(-1)).toMatchObject({ id });
  expect(gateway.ran).toHaveLength(1);
  await translator.close();
});

test("whatever breaks when: the editor sees the log once and in order, and every prompt runs and is answered once", async () => {
  const faults = fc.array(fc.tuple(fc.nat(25), fc.constantFrom<Fault>("lose", "cut", "twice")), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(faults, fc.boolean(), async (plan, isQuestioned) => {
      const left = [...plan];
      let count = 0;
      const fault = ({ method }: Message): Fault => {
        const [next] = left;
        // A file that is asked for twice is two requests: the protocol cannot tell.
        if (!next || count++ < next[0] || method === "fs/read_text_file") return "deliver";
        left.shift();
        count = 0;
        return next[1];
      };
      const steps = [
        "text",
        "tool",
        ...(isQuestioned ? (["question"] as const) : []),
        "file",
        "moment",
        "text",
      ] as const;
      const run = stage({ fault, steps });
      const { translator, gateway, newSession, prompt, answerTo, answers, texts, sent, world } = run;
      run.onRequest(({ id, method }) => {
        const result = method === "session/request_permission" ? { outcome: "allowed" } : { content: "" };
        world.after(30, () => translator.hear({ jsonrpc: "2.0", id: id ?? null, result }));
      });
      translator.run();
      const session = await newSession();
      const ids = [];
      for (const text of ["one", "two"]) {
        const id = prompt(session, text);
        ids.push(id);
        expect((await answerTo(id)).result).toMatchObject({ stopReason: "end_turn" });
        // The answer comes after everything of its turn.
        expect(texts().filter((words) => !words.startsWith("moment"))).toEqual(shown(gateway, session));
      }
      await world.advance(10_000);
      for (const id of ids) expect(answers(id)).toHaveLength(1);
      expect(gateway.ran).toHaveLength(2);
      expect(new Set(gateway.ran).size).toBe(2);
      const asked = sent.filter(({ method }) => method === "session/request_permission");
      expect(asked).toHaveLength(isQuestioned ? 2 : 0);
      expect(texts().filter((words) => !words.startsWith("moment"))).toEqual(shown(gateway, session));
      await translator.close();
      expect(world.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test("a load that breaks goes on where it was, with the person's own words", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(12), { maxLength: 4 }), async (cuts) => {
      const left = [...cuts];
      let count = 0;
      let isLoading = false;
      const fault = (): Fault => {
        const [next] = left;
        if (!isLoading || next === undefined || count++ < next) return "deliver";
        left.shift();
        count = 0;
        return "cut";
      };
      const { translator, gateway, newSession, prompt, answerTo, ask, sent, texts } = stage({ fault });
      translator.run();
      const session = await newSession();
      await answerTo(prompt(session, "one"));
      sent.length = 0;
      isLoading = true;
      const load = ask("session/load", { sessionId: session, cwd: "/p", mcpServers: [] });
      await answerTo(load);
      expect(texts()).toEqual(shown(gateway, session, true));
      expect(sent.at(-1)).toMatchObject({ id: load });
      await translator.close();
    }),
    { numRuns: 100 },
  );
});

test("what was declared is declared again when the session is resumed, with the same identity", async () => {
  const { translator, gateway, newSession, world, ask, answerTo } = stage();
  translator.run();
  const session = await newSession();
  await answerTo(ask("_tenon/session/set_mcp_servers", { sessionId: session, mcpServers: [{ name: "other" }] }));
  gateway.received.length = 0;
  // A node that serves nobody now says nothing about who asks.
  gateway.failures.set("initialize", [{ code: -32603, message: "no", data: { code: "store.unavailable" } }]);
  gateway.cutAll();
  await world.advance(500);
  const [refused, initialize, resume] = gateway.received;
  const identity = { name: "Zed", id: "client-1", key: "key-1" };
  for (const said of [refused, initialize]) expect(said?.params._meta.tenon.client).toEqual(identity);
  expect(resume).toMatchObject({
    method: "session/resume",
    params: { sessionId: session, cwd: "/p", mcpServers: [{ name: "other" }], _meta: { tenon: { after: 0 } } },
  });
  await translator.close();
});

test("tools that the editor runs are set again when the session is resumed: those that the gateway took, as they are by then", async () => {
  let answer = {};
  const run = stage({ answers: { "_tenon/session/set_tools": () => answer } });
  const { translator, gateway, newSession, world, ask, answerTo } = run;
  translator.run();
  const session = await newSession();
  const set = async (mode: string, names: readonly string[], now: readonly string[]) => {
    answer = { tools: now.map((name) => ({ name })), rejected: [] };
    const tools = names.map((name) => ({ name, inputSchema: {} }));
    await answerTo(ask("_tenon/session/set_tools", { sessionId: session, key: "k", mode, tools }));
  };
  await set("replace", ["one", "two", "odd"], ["one", "two"]);
  await set("add", ["three"], ["one", "two", "three"]);
  await set("remove", ["one"], ["two", "three"]);
  const again = async () => {
    gateway.received.length = 0;
    gateway.cutAll();
    await world.advance(200);
    return gateway.received.filter(({ method }) => method === "_tenon/session/set_tools").map(({ params }) => params);
  };
  expect(await again()).toEqual([
    {
      sessionId: session,
      mode: "replace",
      key: "k",
      tools: [
        { name: "two", inputSchema: {} },
        { name: "three", inputSchema: {} },
      ],
    },
  ]);
  await set("clear", [], []);
  expect(await again()).toEqual([]);
  await translator.close();
});

test("the editor's answer to a question is given to the gateway that asks again", async () => {
  const run = stage({ steps: ["question"] });
  const { translator, gateway, newSession, prompt, answerTo, world, sent } = run;
  translator.run();
  const session = await newSession();
  const id = prompt(session);
  await world.advance(100);
  const asked = sent.filter(({ method }) => method === "session/request_permission");
  expect(asked).toHaveLength(1);
  gateway.isDown = true;
  gateway.cutAll();
  await world.advance(1_000);
  translator.hear({ jsonrpc: "2.0", id: asked[0]?.id ?? null, result: { outcome: "allowed" } });
  gateway.isDown = false;
  await answerTo(id);
  expect(sent.filter(({ method }) => method === "session/request_permission")).toHaveLength(1);
  expect(run.texts().at(-1)).toContain('answered {"outcome":"allowed"}');
  await translator.close();
});

test("a question that was answered elsewhere meanwhile is taken off the screen", async () => {
  const { translator, gateway, newSession, prompt, world, sent } = stage({ steps: ["question"] });
  translator.run();
  const session = await newSession();
  prompt(session);
  await world.advance(100);
  const [asked] = sent.filter(({ method }) => method === "session/request_permission");
  gateway.isDown = true;
  gateway.cutAll();
  for (const question of gateway.session(session).questions) question.answer = "by somebody else";
  await world.advance(1_000);
  gateway.isDown = false;
  await world.advance(6_000);
  expect(sent).toContainEqual(
    expect.objectContaining({ method: "$/cancel_request", params: { requestId: asked?.id } }),
  );
  translator.hear({ jsonrpc: "2.0", id: asked?.id ?? null, result: { outcome: "late" } });
  await world.advance(100);
  expect(JSON.stringify(gateway.session(session).log)).not.toContain("late");
  await translator.close();
});

test("a question that was taken back when the editor left is asked anew: what the editor said after that decides nothing", async () => {
  const { translator, gateway, newSession, prompt, ask, answerTo, world, sent } = stage({ steps: ["question"] });
  translator.run();
  const session = await newSession();
  prompt(session);
  await world.advance(100);
  const asked = () => sent.filter(({ method }) => method === "session/request_permission");
  const answer = (id: Message["id"], outcome: string) =>
    translator.hear({ jsonrpc: "2.0", id: id ?? null, result: { outcome } });
  const reload = () => answerTo(ask("session/load", { sessionId: session, cwd: "/p", mcpServers: [] }));
  // The answer comes before the gateway has taken the question back, or after it.
  const closed = ask("session/close", { sessionId: session });
  answer(asked()[0]?.id, "cancelled");
  await answerTo(closed);
  await reload();
  await world.advance(100);
  expect(asked()).toHaveLength(2);
  await answerTo(ask("session/close", { sessionId: session }));
  answer(asked()[1]?.id, "cancelled");
  await reload();
  await world.advance(100);
  expect(asked()).toHaveLength(3);
  await reload(); // once more, while it is open
  await world.advance(100);
  expect(asked()).toHaveLength(4);
  for (const { id } of asked().slice(0, 3)) {
    expect(sent).toContainEqual(expect.objectContaining({ method: "$/cancel_request", params: { requestId: id } }));
    answer(id, "cancelled");
  }
  await world.advance(100);
  expect(gateway.session(session).questions).toMatchObject([{ id: expect.any(String) }]);
  expect(gateway.session(session).questions[0]).not.toHaveProperty("answer");
  answer(asked()[3]?.id, "allowed");
  await world.advance(100);
  expect(JSON.stringify(gateway.session(session).log)).toContain("allowed");
  expect(JSON.stringify(gateway.session(session).log)).not.toContain("cancelled");
  await translator.close();
});

test("an answer about files that comes after the connection broke has no effect", async () => {
  const { translator, gateway, newSession, prompt, world, sent } = stage({ steps: ["file", "text"] });
  translator.run();
  const session = await newSession();
  prompt(session);
  await world.advance(30);
  const [asked] = sent.filter(({ method }) => method === "fs/read_text_file");
  gateway.cutAll();
  await world.advance(300);
  const before = gateway.received.length;
  translator.hear({ jsonrpc: "2.0", id: asked?.id ?? null, result: { content: "x" } });
  await world.advance(100);
  expect(gateway.received.length).toBe(before);
  await translator.close();
});

test("the person is told after three seconds, and when the connection is back; requests wait meanwhile", async () => {
  const { translator, gateway, newSession, prompt, answerTo, world, notices } = stage();
  translator.run();
  const session = await newSession();
  gateway.isDown = true;
  gateway.cutAll();
  const id = prompt(session);
  await world.advance(TRANSLATOR_LIMITS.noticeMs - 10);
  expect(notices()).toEqual([]);
  await world.advance(20);
  expect(notices()).toEqual([expect.stringContaining("no connection to the gateway of the test (nobody listens)")]);
  gateway.isDown = false;
  await answerTo(id);
  expect(notices()).toHaveLength(2);
  expect(gateway.ran).toHaveLength(1);
  await translator.close();
});

test("a prompt that is cancelled without a connection is over for the editor, and cancelled at the gateway later", async () => {
  const { translator, gateway, newSession, prompt, answers, world } = stage({ steps: Array(500).fill("text") });
  translator.run();
  const session = await newSession();
  const id = prompt(session);
  await world.advance(50);
  gateway.isDown = true;
  gateway.cutAll();
  translator.hear({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: session } });
  expect(answers(id)).toMatchObject([{ result: { stopReason: "cancelled" } }]);
  gateway.isDown = false;
  await world.advance(5_000);
  expect(gateway.session(session).isCancelled).toBe(true);
  expect(answers(id)).toHaveLength(1);
  const never = prompt(session);
  gateway.cutAll();
  await translator.close();
  expect(answers(never)).toEqual([]);
});

test("a cancel without a connection stops no turn that another client began meanwhile", async () => {
  const { translator, gateway, newSession, prompt, world } = stage({ steps: Array(400).fill("text") });
  translator.run();
  const session = await newSession();
  prompt(session);
  await world.advance(50);
  gateway.isDown = true;
  gateway.cutAll();
  translator.hear({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: session } });
  await world.advance(9_000); // its turn is over, and the next attempt to connect comes during the other one
  const other = { id: "other", stopReason: "", ended: Promise.resolve() };
  const ran = gateway.runTurn(session, other, "client-9", { type: "text", text: "mine" });
  gateway.isDown = false;
  for (let passed = 0; passed < 9_000; passed += 100) await world.advance(100);
  await ran;
  expect(gateway.received.map(({ method }) => method)).toContain("$/cancel_request");
  expect(other.stopReason).toBe("end_turn");
  await translator.close();
});

test("what is not idempotent is not sent again, and the editor hears that it may have had its effect", async () => {
  const fault = ({ method }: Message): Fault => (method === "session/fork" ? "cut" : "deliver");
  const { translator, newSession, ask, answerTo, gateway } = stage({ fault });
  translator.run();
  const session = await newSession();
  const { error } = await answerTo(ask("session/fork", { sessionId: session, cwd: "/p" }));
  expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("may have had its effect") });
  expect(gateway.received.filter(({ method }) => method === "session/fork")).toHaveLength(1);
  await translator.close();
});

test("a delete whose answer was lost is no failure; a close without a connection needs no gateway", async () => {
  let cuts = 1;
  const fault = ({ result }: Message): Fault =>
    result?.method === "session/delete" && cuts-- > 0 ? "lose" : "deliver";
  const { translator, newSession, ask, answerTo, answers, gateway, world } = stage({ fault });
  translator.run();
  const [one, other] = [await newSession(), await newSession()];
  const id = ask("session/delete", { sessionId: one });
  await world.advance(1);
  gateway.failures.set("session/delete", [{ code: -32002, message: "gone" }]);
  expect(await answerTo(id)).toMatchObject({ result: {} });
  gateway.isDown = true;
  gateway.cutAll();
  await world.advance(10);
  expect(answers(ask("session/close", { sessionId: other }))).toMatchObject([{ result: {} }]);
  await translator.close();
});

test("joining is tried again while that may help; a session that is gone ends what waits for it", async () => {
  const { translator, gateway, newSession, prompt, answerTo, world, notices } = stage({
    steps: Array(50).fill("text"),
  });
  translator.run();
  const session = await newSession();
  const id = prompt(session);
  await world.advance(50);
  const busy = { code: -32600, message: "another process has it" };
  const moving = { code: -32002, message: "the gateway stops", data: { code: "session.closed" } };
  gateway.failures.set("session/resume", [busy, moving, { code: -32002, message: "no such session" }]);
  gateway.cutAll();
  expect((await answerTo(id)).error).toEqual({ code: -32002, message: "no such session" });
  expect(gateway.received.filter(({ method }) => method === "session/resume")).toHaveLength(3);
  expect(notices()).toEqual([expect.stringContaining("cannot be continued: no such session")]);
  await translator.close();
});

test("a promised session is opened under its id, also when the first attempt never arrived", async () => {
  let cuts = 2;
  const fault = ({ method }: Message, direction: "in" | "out"): Fault =>
    method === "session/new" && direction === "in" && cuts-- > 0 ? "lose" : "deliver";
  const { translator, gateway, prompt, answerTo } = stage({ fault });
  translator.promise([{ id: "promised-1", params: { cwd: "/p", mcpServers: [] }, answer: {} }]);
  translator.run();
  await answerTo(prompt("promised-1"));
  expect([...gateway.sessions.keys()]).toEqual(["promised-1"]);
  await translator.close();
});

test("a gateway that refuses the token: everything is answered with that, until it takes it", async () => {
  let isRefusing = true;
  const gate = stage();
  const open: TranslatorOptions["open"] = async (listener) => {
    if (isRefusing) throw new WebSocketRefusal(401, "");
    return await gate.gateway.open(listener);
  };
  const { translator, ask, answerTo, answers, world } = stage({}, { open, isLocal: false });
  const waiting = ask("session/list", {});
  translator.run();
  expect((await answerTo(waiting)).error).toMatchObject({ code: -32003, message: expect.stringContaining("HTTP 401") });
  const later = ask("session/list", {});
  expect(answers(later)).toMatchObject([{ error: { code: -32003 } }]);
  isRefusing = false;
  await world.advance(6_000);
  expect(await answerTo(ask("session/list", {}))).toMatchObject({ result: { method: "session/list" } });
  // The editor's files and terminals are on another machine than the session.
  expect(gate.gateway.received[0]?.params.clientCapabilities).toEqual({});
  await translator.close();
});

test("requests that wait are bounded, and one that never left can be taken back", async () => {
  const { translator, gateway, ask, answers } = stage();
  gateway.isDown = true;
  translator.run();
  const first = ask("session/list", {});
  for (let count = 1; count < TRANSLATOR_LIMITS.waitingRequests.count; count++) ask("session/list", {});
  expect(answers(ask("session/list", {}))).toMatchObject([{ error: { code: -32603 } }]);
  translator.hear({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: first } });
  expect(answers(first)).toMatchObject([{ error: { code: -32800 } }]);
  await translator.close();
});

test.each([
  [{}, { code: -32600 }],
  [{ jsonrpc: "2.0", id: {}, method: "x" }, { code: -32600 }],
  [{ jsonrpc: "1.0", id: 1, method: "x" }, { code: -32600 }],
])("what is no message is refused: %j", async (message, error) => {
  const { translator, sent } = stage();
  translator.run();
  translator.hear(message);
  expect(sent).toMatchObject([{ id: null, error }]);
  await translator.close();
});

test("the environment of a session's directory is sent before the session, and initialize of the editor tells no keys", async () => {
  const environment = async (directories: readonly string[]) => ({ PATH: "/bin", DIRECTORIES: directories.join(":") });
  const { translator, gateway, newSession, ask, answerTo } = stage({}, { environment });
  translator.run();
  await newSession();
  const [first, again, opened] = gateway.received;
  expect(first?.params._meta.tenon.env).toEqual({ PATH: "/bin", DIRECTORIES: "" });
  expect(again?.params._meta.tenon.env).toEqual({ PATH: "/bin", DIRECTORIES: "/p" });
  expect(opened?.method).toBe("session/new");
  const { result } = await answerTo(ask("initialize", { protocolVersion: 1 }));
  expect(JSON.stringify(result)).not.toContain("key-");
  await translator.close();
});

test("an editor that leaves at once has sent what it sent", async () => {
  const { translator, gateway, ask, prompt, world } = stage();
  translator.promise([{ id: "promised-1", params: { cwd: "/p" }, answer: {} }]);
  prompt("promised-1");
  ask("session/list", {});
  translator.run();
  const leaving = translator.leave();
  await world.advance(100);
  await leaving;
  expect(gateway.ran).toHaveLength(1);
  expect(gateway.received.map(({ method }) => method)).toContain("session/list");
  expect(gateway.connections.size).toBe(0);
});

test("settings that changed while there was no connection are told; those the editor has are not", async () => {
  const { translator, gateway, world, updates } = stage();
  gateway.mode = "plan";
  const answer = { modes: { currentModeId: "ask", availableModes: [] }, configOptions: [] };
  translator.promise([{ id: "promised-1", params: { cwd: "/p" }, answer }]);
  translator.run();
  await world.advance(100);
  expect(updates()).toMatchObject([{ update: { sessionUpdate: "current_mode_update", currentModeId: "plan" } }]);
  gateway.cutAll();
  await world.advance(1_000);
  expect(updates()).toHaveLength(1);
  gateway.mode = "ask";
  gateway.cutAll();
  await world.advance(1_000);
  expect(updates()).toHaveLength(2);
  await translator.close();
});

test("whatever the editor sends: nothing throws, and every request is answered once", async () => {
  const methods = ["session/new", "session/load", "session/resume", "session/prompt", "session/close", "session/fork"];
  const method = fc.constantFrom(
    ...methods,
    "initialize",
    "session/cancel",
    "$/cancel_request",
    "session/delete",
    "other",
  );
  const id = fc.oneof(fc.nat(3), fc.string({ maxLength: 3 }), fc.constant(null), fc.constant({}), fc.constant(true));
  const fields = {
    sessionId: fc.oneof(fc.constantFrom("a", "b"), fc.jsonValue()),
    requestId: fc.nat(3),
    _meta: fc.jsonValue(),
  };
  const params = fc.oneof(fc.jsonValue(), fc.record(fields, { requiredKeys: [] }));
  const shape = { jsonrpc: fc.constantFrom("2.0", "2.0", "1"), id, method: fc.oneof(method, fc.jsonValue()), params };
  const message = fc.record({ ...shape, result: fc.jsonValue() }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 12 }), fc.nat(20), async (messages, cutAfter) => {
      const world = fakeWorld();
      let count = 0;
      let cut = () => {};
      // Answers everything, and loses the connection once.
      const open: TranslatorOptions["open"] = async ({ onText, onClosed }) => {
        cut = () => onClosed("cut");
        const send = (text: string) => {
          const asked: Message = JSON.parse(text);
          if (asked.method === undefined || asked.id === undefined) return;
          queueMicrotask(() =>
            ++count === cutAfter ? cut() : onText(`{"jsonrpc":"2.0","id":${asked.id},"result":{}}`),
          );
        };
        return { send, pendingBytes: 0, pause: () => {}, resume: () => {}, close: async () => cut() };
      };
      const sent: object[] = [];
      const send = (one: object) => {
        sent.push(one);
        return undefined;
      };
      const common = { world, open, gatewayName: "odd", isLocal: true, initialize: INITIALIZE, notice: () => [] };
      const translator = new Translator({ ...common, send });
      translator.run();
      for (const one of messages) {
        const read: JsonObject = JSON.parse(JSON.stringify(one));
        translator.hear(read);
        await world.advance(1);
      }
      await world.advance(30_000);
      const isId = (value: unknown) => value === null || typeof value === "string" || typeof value === "number";
      const isRequest = (one: Partial<Record<string, unknown>>) =>
        one["jsonrpc"] === "2.0" && typeof one["method"] === "string" && "id" in one && isId(one["id"]);
      const isAnswered = (one: object) => isRequest(one) || !isQuiet(one);
      expect(sent.filter((one) => "id" in one)).toHaveLength(messages.filter(isAnswered).length);
      await translator.close();
      expect(world.logEntries.filter(({ level }) => level === "error")).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

/** With a gateway on another machine: what the editor hands over runs here. */
function remoteStage(options: Omit<ScriptedGatewayOptions, "world"> = {}, load?: TranslatorOptions["ownServers"]) {
  const own: NonNullable<TranslatorOptions["ownServers"]> = async (tell) => new OwnServers({ world: run.world, tell });
  const run = stage(options, { isLocal: false, ownServers: load ?? own });
  return run;
}

test("servers that the editor hands over have one id at the gateway, whatever breaks when, and nothing else is sent of them", async () => {
  const faults = fc.array(fc.tuple(fc.nat(8), fc.constantFrom<Fault>("lose", "cut", "twice")), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(faults, async (plan) => {
      const left = [...plan];
      let count = 0;
      const fault = (): Fault => {
        const [next] = left;
        if (!next || count++ < next[0]) return "deliver";
        left.shift();
        count = 0;
        return next[1];
      };
      const { translator, gateway, newSession, prompt, answerTo, world } = remoteStage({ fault });
      translator.run();
      const session = await newSession();
      expect((await answerTo(prompt(session))).result).toMatchObject({ stopReason: "end_turn" });
      const sent = gateway.received.flatMap(({ params }) => ("mcpServers" in params ? [params.mcpServers] : []));
      const ids = sent.map((servers) => JSON.stringify(servers));
      expect(new Set(ids).size).toBe(1);
      expect(sent[0]).toEqual([{ type: "acp", name: "s", serverId: expect.stringMatching(/^tenon-/u) }]);
      const [connection] = gateway.connections;
      const [{ serverId }]: [{ serverId: string }] = JSON.parse(ids[0] ?? "");
      const answers: unknown[] = [];
      const isCalm = left.length === 0;
      const message = { serverId, requestId: "1", method: "ping" };
      connection?.request("mcp/message", message, (answer) => answers.push(answer));
      // One of the editor's own goes to the editor.
      connection?.request("mcp/message", { ...message, serverId: "its-own" }, () => {});
      await world.advance(10);
      if (isCalm && connection) expect(answers).toEqual([{ result: { resultType: "complete" } }]);
      await translator.close();
      expect(world.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 100 },
  );
});

test("where they cannot be run at all the session opens without them, and the person is told", async () => {
  const fail = () => Promise.reject(new Error("the file is not there"));
  const { translator, gateway, newSession, notices, ask, answerTo } = remoteStage({}, fail);
  translator.run();
  const sessionId = await newSession();
  expect(gateway.received.at(-1)?.params).toMatchObject({ mcpServers: [] });
  expect(notices()).toEqual(["The servers of the editor cannot be started on this machine: the file is not there"]);
  const mcpServers = [{ name: "s", command: "secret-program" }];
  await answerTo(ask("_tenon/session/set_mcp_servers", { sessionId, mcpServers }));
  expect(JSON.stringify(gateway.received)).not.toContain("secret-program");
  await translator.close();
});

/** Notifications and answers; anything else is refused. */
function isQuiet(message: Partial<Record<string, unknown>>): boolean {
  const { jsonrpc, method, id } = message;
  if ("method" in message) return jsonrpc === "2.0" && typeof method === "string" && !("id" in message);
  return "id" in message && (id === null || typeof id === "string" || typeof id === "number");
}
