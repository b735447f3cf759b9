// Sessions of a real gateway over its unix socket: many clients, questions, prompts in line, restarts and the end.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { echoTool, scriptedServer } from "../../src/testing/index.js";
import { isOnPostgres } from "../test-store.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { type Frame, WireClient } from "./gateway/wire-client.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** `tenon gateway run` in a home of its own. */
class GatewayProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #clients: WireClient[] = [];
  readonly url: string;
  readonly exited: Promise<number | null>;

  private constructor(child: ChildProcess, socket: string) {
    this.#child = child;
    this.url = `ws+unix:${socket}:/acp`;
    this.exited = once(child, "exit").then(([code]: (number | null)[]) => code ?? null);
  }

  static async start(home: TemporaryFolder, args: readonly string[] = []): Promise<GatewayProcess> {
    const socket = join(home.path, "run", "g.sock");
    const words = [TENON, "gateway", "run", "--socket", socket, ...args];
    const stdio = ["ignore", "pipe", "inherit"] as const;
    const env = cleanEnv(home.path, { TENON_LOG: "error" });
    const child = spawn(agentNode(), words, { env, cwd: home.path, stdio: [...stdio] });
    const gateway = new GatewayProcess(child, socket);
    const said = await Promise.race([once(child.stdout ?? child, "data"), gateway.exited]);
    if (!Array.isArray(said)) throw new Error(`the gateway ended with ${said}`);
    return gateway;
  }

  async client(name: string, identity: object = {}): Promise<Client> {
    const wire = await WireClient.open(this.url);
    this.#clients.push(wire);
    const client = new Client(wire);
    client.identity = await client.introduce(name, identity);
    return client;
  }

  /** A client, and a session of it in this directory. */
  async session(cwd: string): Promise<{ readonly one: Client; readonly sessionId: string }> {
    const one = await this.client("one");
    const { sessionId } = await one.request("session/new", { cwd, mcpServers: [] });
    return { one, sessionId };
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.web.terminate();
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}

interface Update {
  readonly seq: number | undefined;
  readonly update: { readonly sessionUpdate: string; readonly content?: { readonly text?: string } };
  readonly meta: { readonly state?: string; readonly question?: { readonly id: string; readonly isOpen: boolean } };
}

class Client {
  readonly wire: WireClient;
  identity: { readonly id: string; readonly key: string } = { id: "", key: "" };

  constructor(wire: WireClient) {
    this.wire = wire;
  }

  async introduce(name: string, identity: object): Promise<{ id: string; key: string }> {
    const { result } = await this.wire.initialize({ tenon: { client: { name, ...identity } } });
    return tenon(result).client;
  }

  async request(method: string, params: object): Promise<Answer> {
    const frame = await this.wire.request(method, params);
    if (frame.error) throw Object.assign(new Error(frame.error.message), frame.error);
    return frame.result;
  }

  /** Answered with the whole frame, once it comes. */
  prompt(sessionId: string, text: string, promptId: string): Promise<Frame> {
    const prompt = [{ type: "text", text }];
    return this.wire.request("session/prompt", { sessionId, prompt, _meta: { tenon: { promptId } } });
  }

  get updates(): readonly Update[] {
    return this.wire.received.flatMap((frame): Update[] => {
      if (frame.method !== "session/update") return [];
      const { update, _meta } = JSON.parse(JSON.stringify(frame.params));
      return [{ seq: _meta?.tenon?.seq, update, meta: update._meta?.tenon ?? {} }];
    });
  }

  /** Numbered ones, without what the client said itself. */
  get numbered(): readonly string[] {
    return this.updates.flatMap(({ seq, update }) => {
      if (seq === undefined || update.sessionUpdate === "user_message_chunk") return [];
      return [`${seq} ${JSON.stringify(update)}`];
    });
  }

  get words(): string {
    const isWords = ({ update }: Update) => update.sessionUpdate === "agent_message_chunk";
    return this.updates
      .filter(isWords)
      .map(({ update }) => update.content?.text ?? "")
      .join("");
  }

  /** The nth question that was put to this client, once it is there. */
  async question(nth = 0): Promise<Frame> {
    const asked = () => this.wire.received.filter(({ method }) => method === "session/request_permission");
    await this.wire.next(() => asked().length > nth);
    const frame = asked()[nth];
    if (!frame) throw new Error("no question");
    return frame;
  }

  async answer(question: Frame, kind: "allow_once" | "reject_once" = "allow_once"): Promise<void> {
    const { options } = JSON.parse(JSON.stringify(question.params));
    const { optionId } = options.find((option: { kind: string }) => option.kind === kind);
    const result = { outcome: { outcome: "selected", optionId } };
    this.wire.web.send(JSON.stringify({ jsonrpc: "2.0", id: question.id, result }));
  }

  async until(fits: (update: Update) => boolean): Promise<void> {
    await this.wire.next(() => this.updates.some(fits));
  }
}

/** What an answer holds is the scenario's to check. */
type Answer = ReturnType<typeof JSON.parse>;

function tenon(message: Answer): Answer {
  return message?._meta?.tenon ?? {};
}

/** A server of the configuration, which writes down what it is sent. */
function withServer(home: TemporaryFolder): { readonly calls: () => number } {
  const recordFile = join(home.path, "server.ndjson");
  const { command, args, env } = scriptedServer({ tools: [echoTool()], recordFile });
  writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { s: { command, args, env } } }));
  const calls = () => {
    const lines = existsSync(recordFile) ? readFileSync(recordFile, "utf8").split("\n") : [];
    return lines.filter((line) => line.includes('"tools/call"')).length;
  };
  return { calls };
}

/** Asks for a permission before the call is made. */
const ECHO = "please echo for the record";

scenario(
  ["G350", "G351"],
  "two clients of one session see the same numbered updates; a prompt is echoed to the other only",
  async () => {
    using home = new TemporaryFolder();
    await using gateway = await GatewayProcess.start(home);
    const one = await gateway.client("one");
    const opened = await one.request("session/new", { cwd: home.path, mcpServers: [] });
    const { sessionId } = opened;
    expect(tenon(opened)).toMatchObject({ state: "idle", view: { sessionId, cwd: home.path } });
    const two = await gateway.client("two");
    await two.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
    const { result } = await one.prompt(sessionId, "hello there", "p1");
    const { seq } = tenon(result);
    expect(tenon(result)).toMatchObject({ turn: 1 });
    await two.until(({ meta }) => meta.state === "idle" && two.words === one.words);
    expect(two.numbered).toEqual(one.numbered);
    const numbers = one.updates.flatMap(({ seq: number }) => number ?? []);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    const chunks = (client: Client) =>
      client.updates.filter(({ update }) => update.sessionUpdate === "user_message_chunk");
    expect(chunks(one)).toEqual([]);
    expect(chunks(two).map(({ update }) => update.content?.text)).toEqual(["hello there"]);
    // The same prompt again, by both clients: answered from its record.
    expect(tenon((await one.prompt(sessionId, "hello there", "p1")).result).turn).toBe(1);
    expect(tenon((await two.prompt(sessionId, "hello there", "p1")).result).turn).toBe(1);
    expect((await two.prompt(sessionId, "something else", "p1")).error).toMatchObject({
      code: -32602,
      data: { code: "session.prompt_conflict" },
    });
    const { records } = await two.request("_tenon/session/records", { sessionId, after: 0 });
    expect(records.filter(({ kind }: { kind: string }) => kind === "prompt")).toHaveLength(1);
    // A client that was away gets what it missed, and nothing twice.
    one.wire.web.terminate();
    const last = numbers.at(-1) ?? 0;
    await two.prompt(sessionId, "are you still there", "p2");
    const back = await gateway.client("one", one.identity);
    expect(back.identity).toEqual(one.identity);
    await back.request("session/resume", {
      sessionId,
      cwd: home.path,
      mcpServers: [],
      _meta: { tenon: { after: last } },
    });
    await back.until(() => back.numbered.length > 0 && back.words !== "" && two.words.endsWith(back.words));
    expect([...one.numbered, ...back.numbered]).toEqual(two.numbered);
    for (const after of [-1, 1.5, seq + 100_000, "x"]) {
      const odd = { sessionId, cwd: home.path, mcpServers: [], _meta: { tenon: { after } } };
      expect(await back.wire.request("session/resume", odd)).toMatchObject({ error: { code: -32602 } });
    }
  },
);

scenario(
  ["G352"],
  "a question is put to all clients and to those that come later; the first answer counts, the others are told",
  async () => {
    using home = new TemporaryFolder();
    const server = withServer(home);
    await using gateway = await GatewayProcess.start(home);
    const { one, sessionId } = await gateway.session(home.path);
    const prompted = one.prompt(sessionId, ECHO, "p1");
    const asked = await one.question();
    const { questionId } = tenon(asked.params);
    expect(questionId).toMatch(/^[0-9a-f-]{36}$/u);
    const watcher = await gateway.client("watcher");
    const { sessions } = await watcher.request("_tenon/gateway/watch", {});
    expect(sessions).toMatchObject([
      { sessionId, state: "waiting", questions: [{ id: questionId, of: "permission" }] },
    ]);
    // A running session is loaded: the replay, then its open question, whole.
    const two = await gateway.client("two");
    const loaded = await two.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
    expect(tenon(loaded)).toMatchObject({ state: "waiting" });
    expect(two.updates.some(({ update }) => update.sessionUpdate === "user_message_chunk")).toBe(true);
    const again = await two.question();
    expect(tenon(again.params).questionId).toBe(questionId);
    expect(again.params).toMatchObject({ toolCall: { rawInput: { text: expect.any(String) } } });
    await two.answer(again);
    const withdrawn = await one.wire.next(({ method }) => method === "$/cancel_request");
    expect(withdrawn.params).toMatchObject({ requestId: asked.id });
    await one.until(({ meta }) => meta.question?.id === questionId && meta.question?.isOpen === false);
    expect((await prompted).result).toMatchObject({ stopReason: "end_turn" });
    expect(server.calls()).toBe(1);
    await watcher.wire.next(
      ({ method, params }) => method === "_tenon/gateway/changed" && params?.["state"] === "idle",
    );
    const late = { sessionId, questionId, answer: "once" };
    expect(await two.request("_tenon/question/answer", late)).toEqual({ result: "late" });
    // Answered by somebody who has not joined, while nobody else is there.
    const second = one.prompt(sessionId, ECHO, "p2");
    const next = tenon((await one.question(1)).params).questionId;
    expect(await watcher.request("_tenon/question/answer", { sessionId, questionId: next, answer: "once" })).toEqual({
      result: "taken",
    });
    expect((await second).result).toMatchObject({ stopReason: "end_turn" });
    expect(server.calls()).toBe(2);
  },
);

scenario(
  ["G353"],
  "the client leaves in the middle of a turn: it waits for an answer, and a client that comes back answers it",
  async () => {
    using home = new TemporaryFolder();
    const server = withServer(home);
    await using gateway = await GatewayProcess.start(home);
    const { one, sessionId } = await gateway.session(home.path);
    const prompted = one.prompt(sessionId, ECHO, "p1").catch(() => undefined);
    await one.question();
    await one.request("session/close", { sessionId });
    one.wire.web.terminate();
    await prompted;
    const back = await gateway.client("one", one.identity);
    const listed = await back.request("session/list", {});
    expect(listed.sessions).toMatchObject([{ sessionId, _meta: { tenon: { state: "waiting", questions: 1 } } }]);
    await back.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
    const joined = back.prompt(sessionId, ECHO, "p1");
    await back.answer(await back.question());
    expect((await joined).result).toMatchObject({ stopReason: "end_turn" });
    expect(server.calls()).toBe(1);
  },
);

scenario(["G354"], "one turn at a time: eight prompts wait in line, a ninth is refused", async () => {
  using home = new TemporaryFolder();
  withServer(home);
  await using gateway = await GatewayProcess.start(home);
  const { one, sessionId } = await gateway.session(home.path);
  const first = one.prompt(sessionId, ECHO, "p0");
  const question = await one.question();
  const waiting = Array.from({ length: 8 }, (_, at) => one.prompt(sessionId, `hello ${at + 1}`, `p${at + 1}`));
  await one.wire.next(() => one.updates.some(({ meta }) => "queued" in meta && meta["queued"] === 8));
  expect(await one.prompt(sessionId, "too many", "p9")).toMatchObject({ error: { data: { code: "session.busy" } } });
  await one.answer(question);
  const ended = await Promise.all([first, ...waiting]);
  expect(ended.map(({ result }) => tenon(result).turn)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

/** On a database the node that was killed has the session until its lease is over: a client connects again until then. */
async function resumed(gateway: GatewayProcess, identity: object, resuming: object): Promise<Client> {
  for (;;) {
    const client = await gateway.client("one", identity);
    const isBack = client.request("session/resume", resuming).then(() => true);
    if (await (isOnPostgres ? isBack.catch(() => false) : isBack)) return client;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

scenario(
  ["G355"],
  "the gateway is killed in the middle of a turn: the next one continues it, for the client that is back and for good",
  async () => {
    using home = new TemporaryFolder();
    const server = withServer(home);
    let sessionId = "";
    let identity = {};
    let last = 0;
    {
      await using gateway = await GatewayProcess.start(home);
      const { one, ...made } = await gateway.session(home.path);
      ({ sessionId } = made);
      await one.prompt(sessionId, "hello first", "p0");
      one.prompt(sessionId, ECHO, "p1").catch(() => undefined);
      await one.question();
      last = Math.max(...one.updates.map(({ seq }) => seq ?? 0));
      ({ identity } = one);
      gateway.kill("SIGKILL");
      await gateway.exited;
    }
    await using gateway = await GatewayProcess.start(home);
    const resuming = { sessionId, cwd: home.path, mcpServers: [], _meta: { tenon: { after: last } } };
    const back = await resumed(gateway, identity, resuming);
    const joined = back.prompt(sessionId, ECHO, "p1");
    await back.answer(await back.question());
    expect((await joined).result).toMatchObject({ stopReason: "end_turn" });
    expect(server.calls()).toBe(1);
    const { records } = await back.request("_tenon/session/records", { sessionId, after: 0 });
    const kinds = records.map(({ kind }: { kind: string }) => kind);
    expect(kinds.filter((kind: string) => kind === "continued")).toHaveLength(1);
    expect(kinds.filter((kind: string) => kind === "end")).toHaveLength(2);
    const numbers = back.updates.flatMap(({ seq }) => seq ?? []);
    expect(Math.min(...numbers)).toBeGreaterThan(last);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  },
  { timeoutMs: 60_000 },
);

scenario(
  ["G356"],
  "SIGTERM: no new prompts, what waits is left to the next gateway, which asks again without a client's help",
  async () => {
    using home = new TemporaryFolder();
    const server = withServer(home);
    let sessionId = "";
    {
      await using gateway = await GatewayProcess.start(home, ["--drain", "1s"]);
      const { one, ...made } = await gateway.session(home.path);
      ({ sessionId } = made);
      one.prompt(sessionId, ECHO, "p1").catch(() => undefined);
      await one.question();
      gateway.kill("SIGTERM");
      expect(await gateway.exited).toBe(0);
      expect((await one.wire.ended).code).toBe(isOnPostgres ? 1012 : 1001); // nodes hand it over first
    }
    await using gateway = await GatewayProcess.start(home);
    const watcher = await gateway.client("watcher");
    const { sessions } = await watcher.request("_tenon/gateway/watch", {});
    const isWaiting = ({ state }: { state?: string }) => state === "waiting";
    if (!sessions.some(isWaiting)) {
      await watcher.wire.next(
        ({ method, params }) => method === "_tenon/gateway/changed" && params?.["state"] === "waiting",
      );
    }
    const { records } = await watcher.request("_tenon/session/records", {
      sessionId,
      after: 0,
      kinds: ["drained", "continued"],
    });
    expect(records.map(({ kind }: { kind: string }) => kind)).toEqual(["drained", "continued"]);
    expect(server.calls()).toBe(0);
  },
);

scenario(
  ["G357", "G358"],
  "identities and roles are the gateway's; a session of a plain tenon acp is not joined",
  async () => {
    using home = new TemporaryFolder();
    await using gateway = await GatewayProcess.start(home, ["--root", home.path]);
    const one = await gateway.client("one");
    const forged = await gateway.client("two", { id: one.identity.id, key: "guess" });
    expect(forged.identity.id).not.toBe(one.identity.id);
    const id = "01a1e424-af94-758a-88b5-5e6b6b6dd0ad";
    const promised = { cwd: home.path, mcpServers: [], _meta: { tenon: { id } } };
    expect((await one.request("session/new", promised)).sessionId).toBe(id);
    expect((await one.request("session/new", promised)).sessionId).toBe(id);
    expect(await forged.wire.request("session/new", promised)).toMatchObject({ error: { code: -32602 } });
    expect(await one.wire.request("session/new", { ...promised, cwd: "/" })).toMatchObject({ error: { code: -32602 } });
    const observing = { sessionId: id, cwd: home.path, mcpServers: [], _meta: { tenon: { role: "observer" } } };
    await forged.request("session/resume", observing);
    expect(await forged.prompt(id, "hello", "x")).toMatchObject({ error: { code: -32003 } });
    expect(await one.wire.request("session/load", { ...observing, sessionId: "nothing" })).toMatchObject({
      error: { code: -32002 },
    });
    await using editor = await startTenon(home);
    await editor.initialize();
    const { sessionId } = await editor.newSession({ cwd: home.path, mcpServers: [] });
    await editor.prompt(sessionId, "hello");
    const busy = await one.wire.request("session/load", { sessionId, cwd: home.path, mcpServers: [] });
    if (isOnPostgres) return expect(busy.error).toMatchObject({ data: { code: "session.not_found" } }); // it has files
    expect(busy.error).toMatchObject({ data: { code: "session.busy", hint: expect.stringContaining("--gateway") } });
    expect(busy.error?.message).toMatch(/process \d+/u);
  },
);

scenario(
  ["G359"],
  "status and stop tell of the gateway of this user; one that is idle for long enough ends by itself",
  async () => {
    using home = new TemporaryFolder();
    const socket = ["--socket", join(home.path, "run", "g.sock")];
    const tenonCommand = (...words: string[]) =>
      runCommand(agentNode(), [TENON, "gateway", ...words, ...socket], { env: cleanEnv(home.path), cwd: home.path });
    expect(await tenonCommand("status")).toMatchObject({ code: 1, stdout: expect.stringContaining("No gateway") });
    expect(await tenonCommand("stop")).toMatchObject({ code: 0 });
    {
      await using gateway = await GatewayProcess.start(home);
      const second = await tenonCommand("run");
      expect(second).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/the gateway of process \d+ listens at/u),
      });
      const { one, sessionId } = await gateway.session(home.path);
      await one.prompt(sessionId, "hello", "p1");
      const status = await tenonCommand("status", "--json");
      expect(JSON.parse(status.stdout)).toMatchObject({ isRunning: true, sessions: { idle: 1 }, isDraining: false });
      expect((await tenonCommand("status")).stdout).toMatch(/sessions +1 idle/u);
      expect(await tenonCommand("stop", "--drain", "0")).toMatchObject({ code: 0, stdout: "The gateway has ended.\n" });
      expect(await gateway.exited).toBe(0);
    }
    {
      // A second signal does not wait for the turn.
      withServer(home);
      await using gateway = await GatewayProcess.start(home, ["--drain", "1h"]);
      const { one, sessionId } = await gateway.session(home.path);
      one.prompt(sessionId, 'run_command command="sleep 600"', "p1").catch(() => undefined);
      await one.answer(await one.question());
      await one.until(({ update }) => update.sessionUpdate === "tool_call_update");
      gateway.kill("SIGTERM");
      for (let status = { isDraining: false }; !status.isDraining; ) {
        status = await one.request("_tenon/gateway/status", {});
      }
      gateway.kill("SIGTERM");
      expect(await gateway.exited).toBe(130);
    }
    await using idle = await GatewayProcess.start(home, ["--idle-exit", "300ms"]);
    const one = await idle.client("one");
    await one.wire.close();
    expect(await idle.exited).toBe(0);
  },
);
