// Malformed and mistaken input gets the right error, and the process lives on.
import { expect } from "vitest";
import { scriptedAcpServer } from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";

interface ErrorAnswer {
  readonly id: unknown;
  readonly error: { readonly code: number; readonly message: string };
}

function parse(line: string): ErrorAnswer {
  return JSON.parse(line);
}

scenario(["S7", "S18"], "each mistake gets its error and the next request is served", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  const ask = async (message: object | string): Promise<ErrorAnswer> => {
    client.sendLine(typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...message }));
    return parse(await client.nextLine());
  };
  expect((await ask("{not json")).error.code).toBe(-32700);
  expect(await ask({ id: 1, method: "session/new", params: { cwd: home.path, mcpServers: [] } })).toMatchObject({
    id: 1,
    error: { code: -32600 },
  });
  await client.initialize();
  expect((await ask("[]")).error.code).toBe(-32600);
  expect(await ask({ id: 2, method: "no/such_method", params: {} })).toMatchObject({ id: 2, error: { code: -32601 } });
  const unknown = { sessionId: "nobody", prompt: [{ type: "text", text: "hi" }] };
  expect(await ask({ id: 3, method: "session/prompt", params: unknown })).toMatchObject({
    id: 3,
    error: { code: -32002 },
  });
  const relative = await ask({ id: 4, method: "session/new", params: { cwd: "src", mcpServers: [] } });
  expect(relative).toMatchObject({ id: 4, error: { code: -32602 } });
  expect(relative.error.message).toContain("absolute");
  expect(await ask({ id: 5, method: "session/prompt", params: { sessionId: 7 } })).toMatchObject({
    id: 5,
    error: { code: -32602 },
  });
  const { sessionId } = await client.newSession({ cwd: home.path });
  expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
});

scenario(["S7"], "a second prompt while one runs is refused and the first goes on", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home, { permissions: "wait" });
  await client.initialize();
  const server = scriptedAcpServer("s", {
    tools: [{ name: "task", description: "A task", reply: { kind: "text", text: "task done" } }],
  });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  const first = client.prompt(sessionId, "task");
  await client.waitForPermissionRequest();
  await expect(client.prompt(sessionId, "task")).rejects.toMatchObject({ code: -32600 });
  await client.cancel(sessionId);
  expect((await first).stopReason).toBe("cancelled");
});

scenario(["S7"], "a request sent in one burst with initialize waits instead of failing", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  const lines = [
    { id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } },
    { id: 2, method: "session/new", params: { cwd: home.path, mcpServers: [] } },
    { id: 3, method: "session/new", params: { cwd: home.path, mcpServers: [] } },
    { id: 4, method: "session/prompt", params: { sessionId: "none", prompt: [] } },
  ];
  for (const line of lines) client.sendLine(JSON.stringify({ jsonrpc: "2.0", ...line }));
  const answers = [await client.nextLine(), await client.nextLine(), await client.nextLine(), await client.nextLine()];
  expect(answers.map((line) => parse(line).id)).toEqual([1, 2, 3, 4]);
  expect(answers[2]).toContain("sessionId");
  expect(answers[3]).toContain("-32002");
});

scenario(["S7"], "a version we do not speak is answered with the one we do", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  expect((await client.initialize({ protocolVersion: 99 })).protocolVersion).toBe(1);
});
