// Tasks over a real connection to scripted servers, in both eras: HTTP that drops, a process that is gone.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import { text } from "../../base/text/content.js";
import { type Behaviour, type ScriptedHttpServer, scriptedHttpServer, scriptedServer } from "../../testing/index.js";
import { nodeWorld, stderrLog } from "../../world/index.js";
import type { CallOptions } from "../protocol/call.js";
import type { TaskHandle } from "../protocol/task.js";
import type { ServerSpec } from "../spec.js";
import { McpConnection } from "./connection.js";
import type { ConnectionOptions } from "./options.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function connect(spec: ServerSpec, options: Partial<ConnectionOptions> = {}): McpConnection {
  const world = nodeWorld({ log: stderrLog("error") });
  const connection = new McpConnection(spec, { world, cwd: "/", client: { name: "test", version: "1" }, ...options });
  closing.push(() => connection.close());
  connection.start();
  return connection;
}

async function serve(behaviour: Behaviour): Promise<{ server: ScriptedHttpServer; spec: ServerSpec }> {
  const server = await scriptedHttpServer(behaviour);
  closing.push(() => server[Symbol.asyncDispose]());
  return { server, spec: { kind: "http", name: "s", url: server.url, headers: {} } };
}

function calling(): CallOptions & { readonly said: string[]; readonly tasks: TaskHandle[] } {
  const said: string[] = [];
  const tasks: TaskHandle[] = [];
  return {
    signal: new AbortController().signal,
    onProgress: ({ message = "" }) => said.push(message),
    onTask: (task) => tasks.push(task),
    said,
    tasks,
  };
}

const done = (words: string) => ({ kind: "answered", isError: false, content: [text(words)] });

describe.each(["legacy", "modern"] as const)("over HTTP, %s", (era) => {
  const working = (task: NonNullable<NonNullable<Behaviour["tools"]>[number]["task"]>): Behaviour => ({
    era,
    tools: [{ name: "work", task: { pollMs: 100, ...task }, reply: { kind: "text", text: "worked" } }],
  });

  test("a call goes on as a task, says how far it is, and ends with its result", async () => {
    const says = [{ atMs: 0, message: "half of it" }];
    const { spec } = await serve(working({ takesMs: 350, says }));
    const options = calling();
    expect(await connect(spec).call("work", {}, options)).toEqual(done("worked"));
    expect(options.said).toContain("half of it");
    expect(options.tasks).toEqual([{ id: expect.any(String), startedMs: expect.any(Number) }]);
  });

  test("every connection and session is lost on the way: it is asked for over the next one", async () => {
    const { server, spec } = await serve(working({ takesMs: 1_200, crashMs: 300 }));
    const running = connect(spec).call("work", {}, calling());
    server.misbehave({ method: "tasks/get" }, { kind: "reset" }, 2);
    expect(await running).toEqual(done("worked"));
    const calls = server.requests.filter(({ message }) => message?.["method"] === "tools/call");
    expect(calls).toHaveLength(1);
  });

  test("the server has forgotten it: unknown, and nothing is called again", async () => {
    const { server, spec } = await serve(working({ takesMs: 60_000 }));
    const running = connect(spec).call("work", {}, calling());
    await server.awaitMessage("tasks/get");
    server.forgetTasks();
    expect(await running).toMatchObject({ kind: "unknown", error: { code: "mcp.task_lost" } });
    expect(server.requests.filter(({ message }) => message?.["method"] === "tools/call")).toHaveLength(1);
  });

  test("another connection picks it up by its id", async () => {
    const { spec } = await serve(working({ takesMs: 800 }));
    const first = connect(spec);
    const leaving = new AbortController();
    let running: Promise<unknown> | undefined;
    const handle = await new Promise<TaskHandle>((resolve) => {
      running = first.call("work", {}, { ...calling(), signal: leaving.signal, onTask: resolve });
    });
    leaving.abort(new TenonError("session.closed", "as when the session closes"));
    await running;
    await first.close();
    expect(await connect(spec).resume("work", handle, calling())).toEqual(done("worked"));
  });

  test("a cancelled call cancels its task, also when the connection is closed right after", async () => {
    const { server, spec } = await serve(working({ takesMs: 60_000 }));
    const connection = connect(spec);
    const controller = new AbortController();
    const running = connection.call("work", {}, { ...calling(), signal: controller.signal });
    await server.awaitMessage("tasks/get");
    controller.abort();
    await connection.close();
    expect(await running).toEqual({ kind: "cancelled" });
    expect(server.requests.filter(({ message }) => message?.["method"] === "tasks/cancel")).toHaveLength(1);
  });

  test("what it wants to know is put to the peer, once", async () => {
    const params = { mode: "form", message: "who?", requestedSchema: { type: "object", properties: {} } };
    const { spec } = await serve(working({ asks: { atMs: 150, method: "elicitation/create", params } }));
    const asked: string[] = [];
    const elicit: NonNullable<NonNullable<ConnectionOptions["peer"]>["elicit"]> = async ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { name: "Ada" } };
    };
    const outcome = await connect(spec, { peer: { elicit } }).call("work", {}, calling());
    expect(outcome).toEqual(done('{"action":"accept","content":{"name":"Ada"}}'));
    expect(asked).toEqual(["who?"]);
  });

  test("one that is announced need not be asked for: its end is told within a moment, whatever its pace", async () => {
    const behaviour = working({ takesMs: 500, pollMs: 60_000, announces: true });
    const server = await scriptedHttpServer(behaviour, { hasListenStream: true });
    closing.push(() => server[Symbol.asyncDispose]());
    const connection = connect({ kind: "http", name: "s", url: server.url, headers: {} });
    expect(await connection.call("work", {}, calling())).toEqual(done("worked"));
    if (era === "legacy") return;
    const listens = server.requests.filter(({ message }) => JSON.stringify(message).includes("taskIds"));
    expect(listens).toHaveLength(1);
  });
});

test("a legacy tool that leaves the choice to us is a task over HTTP, and a plain call over pipes", async () => {
  const behaviour: Behaviour = {
    tools: [{ name: "work", task: { support: "optional", pollMs: 100 }, reply: { kind: "text", text: "worked" } }],
  };
  const { server, spec } = await serve(behaviour);
  expect(await connect(spec).call("work", {}, calling())).toEqual(done("worked"));
  const [call] = server.requests.filter(({ message }) => message?.["method"] === "tools/call");
  expect(call?.message?.["params"]).toMatchObject({ task: { ttl: expect.any(Number) } });
  const options = calling();
  const local = connect({ kind: "stdio", name: "s", ...scriptedServer(behaviour) });
  expect(await local.call("work", {}, options)).toEqual(done("worked"));
  expect(options.tasks).toEqual([]);
});

describe("over pipes", () => {
  test.each(["legacy", "modern"] as const)("a %s server that restarts with its memory is asked again", async (era) => {
    const folder = mkdtempSync(join(tmpdir(), "tenon-tasks-"));
    closing.push(async () => rmSync(folder, { recursive: true }));
    const task = { pollMs: 100, takesMs: 2_500, crashMs: 400 };
    const behaviour: Behaviour = {
      era,
      taskFile: join(folder, "tasks.json"),
      tools: [{ name: "work", task, reply: { kind: "text", text: "worked" } }],
    };
    const connection = connect({ kind: "stdio", name: "s", ...scriptedServer(behaviour) });
    expect(await connection.call("work", {}, calling())).toEqual(done("worked"));
  });

  test.each(["legacy", "modern"] as const)(
    "a %s server announces its end: nobody waits for the next look",
    async (era) => {
      const task = { pollMs: 60_000, takesMs: 500, announces: true };
      const behaviour: Behaviour = { era, tools: [{ name: "work", task, reply: { kind: "text", text: "worked" } }] };
      const connection = connect({ kind: "stdio", name: "s", ...scriptedServer(behaviour) });
      expect(await connection.call("work", {}, calling())).toEqual(done("worked"));
    },
  );

  test("one that restarts and has forgotten it: unknown, clearly said", async () => {
    const tools = [
      { name: "work", task: { pollMs: 100, takesMs: 60_000, crashMs: 300 }, reply: { kind: "echo" as const } },
    ];
    const connection = connect({ kind: "stdio", name: "s", ...scriptedServer({ tools }) });
    expect(await connection.call("work", {}, calling())).toMatchObject({
      kind: "unknown",
      error: { message: expect.stringContaining("connected to anew and has forgotten it") },
    });
  });
});
