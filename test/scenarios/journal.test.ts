// The journal is there from the first day, in the decided form, without secrets.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { echoTool, scriptedAcpServer } from "../../src/testing/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";

scenario(["S12"], "every step of a turn is on disk before the client reads it, and no secret is", async () => {
  using home = new TemporaryFolder();
  await using client = await startTenon(home);
  await client.initialize();
  const server = scriptedAcpServer("s", { tools: [echoTool()] }, { env: { API_TOKEN: "hunter2-canary" } });
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [server] });
  await client.prompt(sessionId, "please echo for the record");
  const file = join(home.path, "state", "sessions", `${sessionId}.ndjson`);
  const text = readFileSync(file, "utf8");
  const records: Record<string, unknown>[] = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(records[0]).toMatchObject({ v: 1, id: sessionId, cwd: home.path });
  expect(records.slice(1).map((record) => record["seq"])).toEqual(records.slice(1).map((_, index) => index + 1));
  const kinds = records.slice(1).map((record) => record["kind"]);
  for (const kind of ["prompt", "text", "call", "intent", "outcome", "end"]) expect(kinds).toContain(kind);
  expect(kinds.indexOf("intent")).toBeLessThan(kinds.indexOf("outcome"));
  expect(text).toContain("for the record");
  expect(text).not.toContain("hunter2");
  expect(statSync(file).mode & 0o077).toBe(0);
  expect(readdirSync(join(home.path, "state", "sessions"))).toEqual([`${sessionId}.ndjson`]);
  expect(client.stderr()).not.toContain("hunter2");
});

scenario(
  ["S12", "A6"],
  "an error that quotes a secret of its own entry reaches model, editor and journal without it",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const said = "refused: key hunter2-canary is wrong (mode disabled, 1 of 1)";
    const env = { API_TOKEN: "hunter2-canary", AUTH_MODE: "disabled", KEYS: "1" };
    const leaky = scriptedAcpServer(
      "leaky",
      {
        tools: [{ name: "say", description: "Says", reply: { kind: "protocol_error", code: -32_000, message: said } }],
      },
      { env },
    );
    const failing = scriptedAcpServer(
      "failing",
      { steps: { start: [{ do: "crash", exitCode: 3, stderr: said }] } },
      { env },
    );
    const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [leaky, failing] });
    await client.prompt(sessionId, "say");
    const seen = JSON.stringify(client.updates(sessionId));
    const kept = readFileSync(join(home.path, "state", "sessions", `${sessionId}.ndjson`), "utf8");
    for (const text of [seen, kept, client.text(sessionId)]) {
      expect(text).toContain("refused: key [redacted] is wrong (mode disabled, 1 of 1)");
    }
    expect(seen).toContain("its stderr ends: refused: key [redacted]");
    for (const text of [seen, kept, client.stderr()]) expect(text).not.toContain("hunter2");
  },
);
