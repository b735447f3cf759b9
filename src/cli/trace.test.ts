// `--trace FILE` on the command line: parsed, tapped between chat and agent, and told of secrets that are fetched.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, client, methods } from "@agentclientprotocol/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Terminal } from "../../test/terminal.js";
import type { JsonObject } from "../base/json/json.js";
import { FileTrace } from "../world/index.js";
import { acpTap, hidingSecrets, tappedAgent } from "./trace.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tenon-trace-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => new FileTrace({ path: join(folder, "t"), env: {}, now: () => 0 });
const lines = (): JsonObject[] =>
  readFileSync(join(folder, "t"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test("acp takes --trace with a file, and says so when it is missing", async () => {
  const served: unknown[] = [];
  const terminal = new Terminal();
  terminal.extra = { serve: async (options) => void served.push(options) };
  await terminal.run("acp", "--trace", "t.ndjson");
  expect(served).toEqual([{ trace: "t.ndjson" }]);
  for (const verb of ["acp", "chat"]) {
    expect(await terminal.run(verb, "--trace")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--trace FILE"),
    });
  }
});

test("what chat and agent say to each other is recorded with its session, and reaches them unchanged", async () => {
  await using trace = open();
  const app = agent({ name: "a" })
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1 }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "s-1" }))
    .onRequest(methods.agent.session.prompt, () => ({ stopReason: "end_turn" }));
  const connection = client({ name: "c" }).connect(tappedAgent(app, acpTap(trace)));
  await connection.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  await connection.agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
  const prompt = { sessionId: "s-1", prompt: [{ type: "text" as const, text: "hi" }] };
  expect(await connection.agent.request(methods.agent.session.prompt, prompt)).toMatchObject({
    stopReason: "end_turn",
  });
  connection.close();
  await connection.closed;
  await trace.flush();
  expect(
    lines()
      .slice(1)
      .map(({ dir, session }) => [dir, session]),
  ).toEqual([
    ["in", undefined],
    ["out", undefined],
    ["in", undefined],
    ["out", "s-1"],
    ["in", "s-1"],
    ["out", undefined],
  ]);
});

test("a secret that is fetched for the configuration is known before it is used", async () => {
  await using trace = open();
  const fetchSecret = hidingSecrets(async () => "value-from-the-keyring", trace);
  await fetchSecret({ kind: "keyring", name: "x" }, new AbortController().signal);
  trace.record({ channel: "mcp", dir: "in", message: { text: "<value-from-the-keyring>" } });
  await trace.flush();
  expect(lines()[1]?.["message"]).toEqual({ text: "<[redacted]>" });
});
