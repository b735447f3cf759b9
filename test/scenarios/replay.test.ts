// A recorded session run again by the built product, against its recorded client, model, servers and machine.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { acpSchemaValidator, scriptedAcpServer, startAgent } from "../../src/testing/index.js";
import { answerText, answerToolCall, type FakeProvider, fakeProvider } from "../../src/testing/lab/index.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, peerFile, TENON } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const KEY = "provider-key-0123456789";

interface Place {
  readonly home: TemporaryFolder;
  readonly provider: FakeProvider;
}

const everything = () => ({
  name: "everything",
  command: process.execPath,
  args: [peerFile("@modelcontextprotocol/server-everything", "dist/index.js")],
  env: [],
});

/** A session with a real server, a scripted one, tools of Tenon's own, and a person who says no once. */
async function record({ home, provider }: Place): Promise<string> {
  const path = join(home.path, "run.ndjson");
  const env = cleanEnv(home.path, {
    TENON_MODEL: "openai-compatible/x",
    TENON_BASE_URL: provider.url,
    TENON_API_KEY: KEY,
  });
  provider.reply(
    answerToolCall("mcp__everything__echo", { message: "hi" }),
    answerToolCall("write_file", { path: "made.txt", content: "made by the run" }),
    answerText("wrote it"),
    answerToolCall("mcp__s__secret", {}),
    answerToolCall("run_command", { command: "echo not-again >> ran.txt" }),
    answerText("done"),
  );
  const server = scriptedAcpServer("s", {
    tools: [{ name: "secret", reply: { kind: "text", text: "my-own-secret-42" } }],
  });
  const given = { ...server, env: [...server.env, { name: "S_TOKEN", value: "my-own-secret-42" }] };
  const command = { command: agentNode(), args: [TENON, "acp", "--trace", path], env, cwd: home.path };
  const client = startAgent(command, { validate: await acpSchemaValidator(), permissions: "allow" });
  await using _closed = client;
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [everything(), given] });
  await client.prompt(sessionId, "write a file");
  await client.prompt(sessionId, "and run something");
  return path;
}

async function replay(home: TemporaryFolder, words: readonly string[]): Promise<CommandResult> {
  const env = cleanEnv(home.path, {});
  return await runCommand(agentNode(), [TENON, "replay", ...words], { env, cwd: home.path });
}

/** The recording with one of its lines changed. */
function changed(path: string, change: (text: string) => string): string {
  const text = readFileSync(path, "utf8");
  const other = change(text);
  expect(other).not.toBe(text);
  const to = `${path}.changed`;
  writeFileSync(to, other);
  return to;
}

scenario(["Y1"], "a recording of a real session is run again without a difference and without any effect", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider({ apiKey: KEY });
  const path = await record({ home, provider });
  const asked = provider.requests.length;
  expect(readFileSync(join(home.path, "ran.txt"), "utf8").trim()).toBe("not-again");
  for (const file of ["made.txt", "ran.txt"]) rmSync(join(home.path, file));
  const { code, stdout, stderr } = await replay(home, [path]);
  expect(stdout + stderr).toContain("No difference.");
  expect(stdout).toContain("Prompts: 2. Requests to the model: 6.");
  expect(code).toBe(0);
  expect(provider.requests.length).toBe(asked);
  expect(existsSync(join(home.path, "made.txt")) || existsSync(join(home.path, "ran.txt"))).toBe(false);
});

scenario(["Y2"], "what is different is named: the line, the place, both sides", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider({ apiKey: KEY });
  const path = await record({ home, provider });
  // As if another version had offered the model a tool in other words.
  const other = changed(path, (text) => text.replace('"content":"write a file"', '"content":"write a poem"'));
  const told = await replay(home, [other]);
  expect(told.code).toBe(1);
  expect(told.stdout).toMatch(/The first difference: the request to the model \(line \d+ of the recording\)/);
  expect(told.stdout).toContain("write a poem");
  expect(told.stdout).toContain("write a file");
  const asJson = await replay(home, [other, "--json"]);
  const { kind, difference }: JsonObject = JSON.parse(asJson.stdout);
  expect(kind).toBe("different");
  expect(difference).toMatchObject({ path: expect.stringMatching(/^\/body\/messages\/\d+\/content/) });
  // As if the server had said something else: what the agent makes of it is the difference.
  const answered = changed(path, (text) =>
    text.replaceAll('"text":"Echo: hi"', '"text":"Echo: ho"').replace("Echo: ho", "Echo: hi"),
  );
  expect((await replay(home, [answered])).code).toBe(1);
});

scenario(["Y3"], "what is no recording, or only half of one, is refused in words", async () => {
  using home = new TemporaryFolder();
  const path = join(home.path, "x.ndjson");
  writeFileSync(path, "hello\nworld\nand more\n");
  const none = await replay(home, [path]);
  expect(none.code).toBe(2);
  expect(none.stderr).toContain("line 1 is no line of a trace");
  expect(none.stderr).toContain("--trace");
  const absent = await replay(home, [join(home.path, "absent")]);
  expect(absent.code).toBe(2);
  expect(absent.stderr).toContain("cannot be read");
  const start = { t: 1, seq: 1, channel: "trace", message: { kind: "start", format: 1, tenon: "0.1.0" } };
  const gap = { t: 2, seq: 2, channel: "trace", message: { kind: "gap", lost: 3 } };
  writeFileSync(path, `${JSON.stringify(start)}\n${JSON.stringify(gap)}\n`);
  expect((await replay(home, [path])).stderr).toContain("lines of it are missing");
  writeFileSync(path, `${JSON.stringify(start)}\n`);
  expect((await replay(home, [path])).stderr).toContain("does not say how the run began");
  expect((await replay(home, [path, "--run", "7"])).stderr).toContain("there is no run 7");
});
