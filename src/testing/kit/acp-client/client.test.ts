// The ACP test client, against an SDK agent in this process and against small agents of its own making in others.
import { type AgentApp, agent, methods, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LeakCheck, leakCheck } from "../leaks.js";
import type { AcpClient, AcpClientOptions } from "./client.js";
import { connectAgent, startAgent } from "./client.js";
import { acpSchemaValidator } from "./schema.js";

let leaks: LeakCheck;
const open: AcpClient[] = [];

beforeEach(async () => {
  leaks = await leakCheck();
});

afterEach(async () => {
  for (const client of open.splice(0)) await client[Symbol.asyncDispose]();
  await leaks.verify();
});

/** Asks for permission, then says what came of it. */
function askingAgent(): AgentApp {
  const cancelled = new Map<string, AbortController>();
  return agent({ name: "asking" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {},
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, ({ params }) => ({
      sessionId: `s:${params.cwd}:${params.mcpServers.length}`,
    }))
    .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
      if (prompt[0]?.type === "text" && prompt[0].text === "fail") throw RequestError.invalidParams({}, "as you wish");
      cancelled.set(sessionId, new AbortController());
      const { outcome } = await client.request(methods.client.session.requestPermission, {
        sessionId,
        toolCall: { toolCallId: "1", title: "read" },
        options: [
          { optionId: "y", name: "Allow", kind: "allow_once" },
          { optionId: "a", name: "Always", kind: "allow_always" },
          { optionId: "n", name: "Deny", kind: "reject_once" },
        ],
      });
      const text = outcome.outcome === "selected" ? outcome.optionId : outcome.outcome;
      for (const piece of ["got ", text]) {
        await client.notify(methods.client.session.update, {
          sessionId,
          update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: piece } },
        });
      }
      return { stopReason: cancelled.get(sessionId)?.signal.aborted ? "cancelled" : "end_turn" };
    })
    .onRequest(methods.agent.session.close, () => ({}))
    .onNotification(methods.agent.session.cancel, ({ params }) => cancelled.get(params.sessionId)?.abort());
}

function connected(app: AgentApp, options?: AcpClientOptions): AcpClient {
  const client = connectAgent(app, options);
  open.push(client);
  return client;
}

/** Answers each request with what `script` makes of it; a few lines instead of an SDK, so that it can misbehave. */
const SMALL_AGENT = `
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    let message;
    try { message = JSON.parse(line); } catch { return send({ id: null, error: { code: -32700, message: "Parse error" } }); }
    const { id, method, params } = message;
    SCRIPT
  });
`;

function started(script: string, options?: AcpClientOptions & { endWithinMs?: number }): AcpClient {
  const args = ["-e", SMALL_AGENT.replace("SCRIPT", script)];
  const { endWithinMs = 10_000, ...rest } = options ?? {};
  return startAgent({ command: process.execPath, args, endWithinMs }, rest);
}

const INITIALIZED = `if (method === "initialize") return send({ id, result: { protocolVersion: 1, authMethods: [] } });`;

test("a whole session: initialise, open, prompt, close, with everything on record", async () => {
  const client = connected(askingAgent(), { validate: await acpSchemaValidator() });
  expect(await client.initialize()).toMatchObject({ protocolVersion: 1 });
  const { sessionId } = await client.newSession({
    cwd: "/a",
    mcpServers: [{ name: "m", command: "c", args: [], env: [] }],
  });
  expect(sessionId).toBe("s:/a:1");
  expect(await client.prompt(sessionId, "hello")).toEqual({ stopReason: "end_turn" });
  await client.closeSession(sessionId);
  expect(client.text(sessionId)).toBe("got y");
  expect(client.updates(sessionId)).toHaveLength(2);
  expect(client.updates("another")).toEqual([]);
  expect(client.permissionRequests).toMatchObject([{ sessionId, toolCall: { title: "read" } }]);
  expect(client.lines.map(({ direction }) => direction)).toContain("received");
  expect(client.lines[0]).toMatchObject({ direction: "sent", text: expect.stringContaining('"method":"initialize"') });
  expect(client.violations).toEqual([]);
});

test.each([
  ["always", "got a"],
  ["deny", "got n"],
  ["cancel", "got cancelled"],
] as const)("it answers permission questions with %s", async (policy, text) => {
  const client = connected(askingAgent(), { permissions: policy });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: "/a" });
  await client.prompt(sessionId, "hello");
  expect(client.text(sessionId)).toBe(text);
});

test("it decides by the question, and the decision can change", async () => {
  const client = connected(askingAgent());
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: "/a" });
  client.answerPermissions(({ toolCall }) => (toolCall.title === "read" ? "deny" : "allow"));
  await client.prompt(sessionId, "one");
  client.answerPermissions("allow");
  await client.prompt(sessionId, "two");
  expect(client.text(sessionId)).toBe("got ngot y");
});

test("a question that waits is answered as cancelled when the turn is cancelled", async () => {
  const client = connected(askingAgent(), { permissions: "wait" });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: "/a" });
  const turn = client.prompt(sessionId, "hello");
  await client.waitForPermissionRequest();
  await client.cancel(sessionId);
  expect(await turn).toEqual({ stopReason: "cancelled" });
  const update = await client.waitForUpdate(sessionId, (one) => one.sessionUpdate === "agent_message_chunk");
  expect(update).toMatchObject({ content: { text: "got " } });
});

test("an answer that the agent does not offer is a fault of the agent", async () => {
  const client = connectAgent(askingAgent(), { permissions: "deny_always" });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: "/a" });
  await expect(client.prompt(sessionId, "hello")).rejects.toThrow("Internal error");
  await expect(client[Symbol.asyncDispose]()).rejects.toThrow(
    "offers no option of kind reject_always, only allow_once, allow_always",
  );
});

test("an error of the agent arrives with its code", async () => {
  const client = connected(askingAgent());
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: "/a" });
  await expect(client.prompt(sessionId, "fail")).rejects.toMatchObject({ code: -32602 });
  await expect(client.request("no/such")).rejects.toMatchObject({ code: -32601 });
});

test("raw lines reach the agent as they are, and their answers do not confuse the SDK", async () => {
  const client = connected(askingAgent());
  await client.initialize();
  client.sendLine("{ this is no JSON");
  expect(JSON.parse(await client.nextLine())).toMatchObject({ id: null, error: { code: -32700 } });
  client.sendLine('{"jsonrpc":"2.0","id":"raw","method":"session/new","params":{"cwd":"/raw","mcpServers":[]}}');
  expect(JSON.parse(await client.nextLine((line) => line.includes('"raw"')))).toMatchObject({
    result: { sessionId: "s:/raw:0" },
  });
  expect(await client.newSession({ cwd: "/sdk" })).toEqual({ sessionId: "s:/sdk:0" });
  expect(client.violations).toEqual([]);
});

test("a process is started, spoken to, and gone when it is disposed of", async () => {
  const client = started(`${INITIALIZED} process.stderr.write("said " + method);`, {
    validate: await acpSchemaValidator(),
  });
  open.push(client);
  await client.initialize();
  client.sendLine('{"jsonrpc":"2.0","method":"_custom"}');
  await expect.poll(() => client.stderr()).toBe("said _custom");
  expect(client.pid).toEqual(expect.any(Number));
  expect(await client.end()).toEqual({ code: 0, signal: null, wasForced: false });
});

test("what the agent breaks is listed when the client is disposed of", async () => {
  const script = `
    if (method === "initialize") {
      process.stdout.write("listening on port 80\\n");
      send({ method: "session/update", params: { sessionId: "s", update: { sessionUpdate: "tool_call", title: 7 } } });
      send({ method: "session/updated", params: {} });
      send({ method: "_own/thing", params: {} });
      send({ id: 999, result: {} });
      send({ id, result: { protocolVersion: "one" } });
    }`;
  const client = started(script, { validate: await acpSchemaValidator() });
  await client.initialize().catch(() => {});
  const violations = [...client.violations];
  await expect(client[Symbol.asyncDispose]()).rejects.toThrow("the agent broke its contract");
  expect(violations).toEqual([
    "no ACP message on the agent's output: listening on port 80",
    expect.stringContaining('SessionNotification: /update lacks the required property "toolCallId"'),
    expect.stringContaining('the protocol has no notification "session/updated"'),
    expect.stringContaining("a response to a request that nobody sent"),
    expect.stringContaining("InitializeResponse: /protocolVersion must be of type integer"),
  ]);
});

test("a request fails with the agent's exit and its last words", async () => {
  const client = started(`${INITIALIZED} process.stderr.write("no licence\\n"); process.exit(9);`);
  open.push(client);
  await client.initialize();
  await expect(client.newSession({ cwd: "/a" })).rejects.toThrow("the agent exited with code 9; stderr: no licence");
  await expect(client.nextLine()).resolves.toContain("protocolVersion");
  await expect(client.nextLine()).rejects.toThrow("the agent exited with code 9");
});

test("an agent that does not end with its input is killed, and that is an error", async () => {
  const client = started(`${INITIALIZED} setInterval(() => {}, 1000);`, { endWithinMs: 100 });
  await client.initialize();
  client.sendLine('{"jsonrpc":"2.0","method":"_stay"}');
  client.sendLine('{"jsonrpc":"2.0","id":"x","method":"initialize"}');
  await client.nextLine((line) => line.includes('"x"'));
  await expect(client[Symbol.asyncDispose]()).rejects.toThrow("did not end when its input ended, and was killed");
  expect(await client.exit).toMatchObject({ signal: "SIGKILL", wasForced: true });
});

test("a signal of the test ends it, and an unknown command is told as such", async () => {
  const client = started(INITIALIZED);
  open.push(client);
  await client.initialize();
  client.kill("SIGTERM");
  expect(await client.exit).toMatchObject({ code: null, signal: "SIGTERM" });
  const missing = startAgent({ command: "/no/such/agent" });
  await expect(missing.initialize()).rejects.toThrow("ENOENT");
  await missing[Symbol.asyncDispose]();
});
