// Servers that hang, fail or lie cost nobody else anything, and are never silent.
import { expect } from "vitest";
import { BAD_TOOLS, echoTool, scriptedAcpServer } from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";

const hung = () => scriptedAcpServer("hung", { steps: { initialize: [{ do: "never" }] } });
const good = (name = "good") => scriptedAcpServer(name, { tools: [echoTool()] });
const failing = () =>
  scriptedAcpServer("failing", {
    steps: { start: [{ do: "crash", exitCode: 3, stderr: "no database at port 5432" }] },
  });
const missing = { name: "missing", command: "/nowhere/no-such-server", args: [], env: [] };

scenario(
  ["S3", "A2", "A6"],
  "with a hung, a failing and a good server the good tool works in the first turn",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const before = performance.now();
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [hung(), failing(), missing, good()] });
    expect(performance.now() - before).toBeLessThan(2_000); // the figure is bench/start's; this only shows that nobody is waited for
    const { stopReason } = await client.prompt(sessionId, "please echo still here");
    expect(stopReason).toBe("end_turn");
    expect(client.text(sessionId)).toContain("still here");

    const notices = client.updates(sessionId).filter((update) => update.sessionUpdate === "notice");
    const errors = notices.filter((notice) => notice.severity === "error").map((notice) => notice.title);
    expect(errors).toHaveLength(2);
    expect(errors.join("\n")).toContain("no database at port 5432");
    expect(errors.join("\n")).toContain("/nowhere/no-such-server");
    expect(client.stderr()).toContain("no database at port 5432");
  },
);

scenario(["A6"], "a client that shows no notices gets a failed call with the cause instead", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize({ clientCapabilities: {} });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [failing()] });
  const told = await client.waitForUpdate(sessionId, (update) => update.sessionUpdate === "tool_call");
  expect(told).toMatchObject({ status: "failed", title: "failing: not connected" });
  expect(JSON.stringify(told)).toContain("no database at port 5432");
});

scenario(["A6"], "an entry that cannot be read is told and costs the session nothing", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  client.sendLine(
    JSON.stringify({
      jsonrpc: "2.0",
      id: "raw",
      method: "session/new",
      params: { cwd: home.path, mcpServers: [{ name: "half" }, { name: "sky", type: "pigeon" }, good()] },
    }),
  );
  const answer: { result: { sessionId: string } } = JSON.parse(await client.nextLine((line) => line.includes('"raw"')));
  const { sessionId } = answer.result;
  await client.waitForUpdate(
    sessionId,
    (update) => update.sessionUpdate === "notice" && update.title.includes("pigeon"),
  );
  await client.prompt(sessionId, "please echo whole");
  expect(client.text(sessionId)).toContain("whole");
});

scenario(["A6"], "a server that writes garbage and lists a broken tool keeps its good ones", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const server = scriptedAcpServer("messy", {
    tools: [echoTool()],
    rawTools: Object.values(BAD_TOOLS),
    garbageBetween: "debug: not a message",
  });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  await client.prompt(sessionId, "please echo through the noise");
  expect(client.text(sessionId)).toContain("through the noise");
  expect(client.stderr()).toContain("is left out");
});

scenario(["D10"], "a server that dies during a call ends that call as unknown, and the turn goes on", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const server = scriptedAcpServer("fragile", {
    tools: [
      { name: "explode", description: "Explodes", steps: [{ do: "crash", exitCode: 9 }], reply: { kind: "echo" } },
    ],
  });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  const { stopReason } = await client.prompt(sessionId, "explode");
  expect(stopReason).toBe("end_turn");
  expect(JSON.stringify(client.updates(sessionId))).toContain("Outcome unknown");
  expect((await client.prompt(sessionId, "explode")).stopReason).toBe("end_turn");
  // It was started again for the second call, which it does not survive either.
  expect(client.text(sessionId).split("Outcome unknown").length).toBeGreaterThan(2);
});
