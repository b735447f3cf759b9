// What servers ask of a session: declared only where somebody answers, put to whoever is attached, over with the call.
import { expect, test } from "vitest";
import { LIMITS } from "../../base/limits.js";
import type { WireTrace } from "../../base/ports/trace.js";
import type { ElicitAnswer } from "../../mcp/index.js";
import { type Behaviour, type FakeWorld, fakeWorld, spawnsServer, type ToolScript } from "../../testing/index.js";
import type { ToolOutcome, ToolProgress } from "../../tools/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { ElicitQuestion, SessionPorts } from "../ports.js";
import { SessionServers } from "./servers.js";

const never = new AbortController().signal;

const asking = (name: string, method: string, params = {}): ToolScript => ({
  name,
  reply: { kind: "ask_client", method, params },
});

const FORM = { message: "who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };

const BEHAVIOUR: Behaviour = {
  tools: [
    asking("form", "elicitation/create", FORM),
    asking("page", "elicitation/create", {
      mode: "url",
      message: "log in",
      url: "https://x.test/",
      elicitationId: "e",
    }),
    asking("file", "elicitation/create", { mode: "url", message: "look", url: "file:///etc/passwd" }),
    asking("roots", "roots/list"),
    asking("sampling", "sampling/createMessage", { maxTokens: 10, messages: [] }),
  ],
};

interface Bench extends AsyncDisposable {
  readonly world: FakeWorld;
  readonly notices: string[];
  readonly asked: ElicitQuestion[];
  call(tool: string, options?: Partial<CallWith>): Promise<ToolOutcome | undefined>;
  /** What the server was told that this client can do. */
  declared(): unknown;
}

interface CallWith {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ToolProgress) => void;
}

type Given = Partial<SessionPorts> & { readonly answer?: ElicitAnswer; readonly behaviour?: Behaviour };

async function bench({ answer, behaviour = BEHAVIOUR, ...given }: Given = {}): Promise<Bench> {
  const sent: object[] = [];
  const world = fakeWorld({ spawn: spawnsServer(behaviour), trace: traceInto(sent) });
  const notices: string[] = [];
  const asked: ElicitQuestion[] = [];
  const elicit = async (question: ElicitQuestion): Promise<ElicitAnswer> => {
    asked.push(question);
    return answer ?? { action: "decline" };
  };
  const ports: SessionPorts = { ask: async () => "no", ...(answer ? { elicit } : {}), ...given };
  const servers = new SessionServers({
    world,
    cwd: "/project",
    additionalDirectories: ["/lib/shared code"],
    client: { name: "t", version: "1" },
    ports: () => ports,
    sampling: (server) => ({ sample: async () => ({ said: `for ${server}` }) }),
    onStatus: () => {},
    onNotice: (_level, text) => notices.push(text),
  });
  await servers.give({ servers: [{ kind: "stdio", name: "s", command: "/bin/s", args: [], env: {} }] });
  await world.advance(100);
  const call: Bench["call"] = async (tool, { signal = never, onProgress = () => {} } = {}) => {
    const outcome = servers.open[0]?.source.call({ toolCallId: "1-1", tool, arguments: {}, signal, onProgress });
    await world.advance(100);
    return await outcome;
  };
  const declared = () => sent.flatMap((message) => ("params" in message ? capabilitiesIn(message.params) : []))[0];
  const close = async () => {
    const closing = servers.close(LIMITS.exitGrace);
    await world.advance(10_000);
    await closing;
  };
  return { world, notices, asked, call, declared, [Symbol.asyncDispose]: close };
}

function traceInto(sent: object[]): WireTrace {
  return {
    record: ({ message }) => {
      sent.push(message);
    },
    hide: () => {},
    nextConnection: () => 1,
    nextQuestion: () => 1,
    modelFetch: (fetch) => fetch,
    within: (_session, run) => run(),
  };
}

function capabilitiesIn(params: unknown): readonly unknown[] {
  return typeof params === "object" && params !== null && "capabilities" in params ? [params.capabilities] : [];
}

test("roots are the session's directory and its further ones", async () => {
  await using one = await bench();
  const outcome = JSON.stringify(await one.call("roots"));
  expect(outcome).toContain("file:///project");
  expect(outcome).toContain("file:///lib/shared%20code");
});

test("where nobody can be shown a question it is not declared, and declined with one notice however often it is asked", async () => {
  await using one = await bench();
  expect(one.declared()).toEqual({ roots: {} });
  expect(JSON.stringify(await one.call("form"))).toContain("decline");
  await one.call("form");
  await one.call("sampling");
  expect(one.notices).toEqual([
    'the server "s" asks for input, which was declined: nobody here can be shown it',
    'the server "s" wants to use the model, which was declined: nobody here can approve it',
  ]);
});

test("a form goes to the person with its server and its call, and the answer back to the server", async () => {
  await using one = await bench({ answer: { action: "accept", content: { name: "Ada" } } });
  expect(one.declared()).toEqual({ roots: {}, elicitation: { form: {}, url: {} } });
  expect(JSON.stringify(await one.call("form"))).toContain("Ada");
  expect(one.asked).toMatchObject([{ server: "s", toolCallId: "1-1", request: { mode: "form", ...FORM } }]);
  expect(one.notices).toEqual([]);
});

test("only the modes the client shows are declared", async () => {
  await using one = await bench({ answer: { action: "accept" }, elicitModes: ["form"] });
  expect(one.declared()).toEqual({ roots: {}, elicitation: { form: {} } });
});

test("a page that is no web page is shown to nobody, with a notice", async () => {
  await using one = await bench({ answer: { action: "accept" } });
  expect(JSON.stringify(await one.call("file"))).toContain("decline");
  expect(one.asked).toEqual([]);
  expect(one.notices).toEqual([expect.stringContaining("no web page")]);
});

test("that a page is done is told under the id the client knows", async () => {
  const done: string[] = [];
  const notify = {
    do: "notify",
    method: "notifications/elicitation/complete",
    params: { elicitationId: "e" },
  } as const;
  const behaviour: Behaviour = {
    tools: [...(BEHAVIOUR.tools ?? []), { name: "finish", steps: [notify, notify], reply: { kind: "echo" } }],
  };
  const elicitationCompleted = (id: string) => done.push(id);
  await using one = await bench({ answer: { action: "accept" }, behaviour, elicitationCompleted });
  await one.call("page");
  await one.call("finish");
  expect(one.asked).toHaveLength(1);
  expect(done).toEqual([one.asked[0]?.id]);
});

test("a question is over when the call it was asked for is cancelled", async () => {
  const signals: AbortSignal[] = [];
  const elicit: SessionPorts["elicit"] = (_question, signal) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  await using one = await bench({ elicit });
  const controller = new AbortController();
  const outcome = one.call("form", { signal: controller.signal });
  await one.world.advance(10);
  expect(signals).toHaveLength(1);
  controller.abort();
  expect(await outcome).toEqual({ kind: "cancelled" });
  expect(signals[0]?.aborted).toBe(true);
});

test("sampling is declared and put to the model where somebody can approve it", async () => {
  await using one = await bench({ approveSampling: async () => "once" });
  expect(one.declared()).toEqual({ roots: {}, sampling: {} });
  expect(JSON.stringify(await one.call("sampling"))).toContain("for s");
});

test("log lines are shown on the running call, the last ones, at a bounded pace, and debug lines not at all", async () => {
  const say = (level: string, data: string) =>
    ({ do: "notify", method: "notifications/message", params: { level, logger: "build", data } }) as const;
  const many = Array.from({ length: 200 }, (_, index) => say("info", `line ${index}`));
  const behaviour: Behaviour = {
    tools: [
      {
        name: "build",
        steps: [
          say("debug", "hidden"),
          { do: "progress", progress: 1, total: 2 },
          ...many,
          { do: "delay", ms: 150 },
          say("warning", "x".repeat(10_000)),
          { do: "delay", ms: 150 },
        ],
        reply: { kind: "echo" },
      },
    ],
  };
  await using one = await bench({ behaviour });
  const told: ToolProgress[] = [];
  const outcome = one.call("build", { onProgress: (progress) => told.push(progress) });
  await one.world.advance(1_000);
  expect(await outcome).toMatchObject({ kind: "done" });
  expect(told.length).toBeLessThan(10);
  expect(told[0]).toEqual({ progress: 1, total: 2 });
  const last = told.at(-1)?.log ?? [];
  expect(last).toHaveLength(SESSION_LIMITS.callLog.lines);
  expect(last.at(-2)).toBe("[info] build: line 199");
  expect(last.at(-1)?.length).toBeLessThan(SESSION_LIMITS.callLog.lineChars + 10);
  expect(JSON.stringify(told)).not.toContain("hidden");
});
