// Clients nobody here wrote, over the life of a session: acpx opens, takes up again, cancels and switches; an old SDK works.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import { scriptedAcpServer } from "../../src/testing/index.js";
import { Acpx } from "./acpx-command.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, peerFile, TENON } from "./peers.js";
import { EVERYTHING, FILESYSTEM, program } from "./real-server.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const FIXTURES = join(import.meta.dirname, "../fixtures");
const OFFLINE = "This is Tenon's offline model";
const SLOW = { timeoutMs: 120_000 };

const everything = { name: "everything", command: process.execPath, args: [program(EVERYTHING)] };

/** The messages among what acpx printed; it prints both directions. */
function wire(stdout: string): readonly JsonObject[] {
  return stdout.split("\n").flatMap((line) => {
    const message: unknown = line.startsWith("{") ? JSON.parse(line) : undefined;
    return isJsonObject(message) ? [message] : [];
  });
}

function sent(stdout: string, method: string): JsonObject | undefined {
  const params = wire(stdout).find((message) => message["method"] === method)?.["params"];
  return isJsonObject(params) ? params : undefined;
}

/** Two turns, each with an agent process of its own; answers what acpx printed for each. */
async function twoTurns(acpx: Acpx): Promise<readonly [first: string, second: string]> {
  expect(await acpx.run("sessions", "new")).toMatchObject({ code: 0 });
  await acpx.allGone();
  const first = await acpx.run("prompt", "please echo the first");
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining("Echo: the first") });
  expect(first.stdout).toContain(OFFLINE);
  await acpx.allGone();
  const second = await acpx.run("prompt", "please echo the second");
  expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining("Echo: the second") });
  await acpx.allGone();
  return [first.stdout, second.stdout];
}

/** The session knows that it had a turn: calls are counted on, and what is said once is not said again. */
function expectGoneOn(first: string, second: string): void {
  const sessionId = sent(first, "session/prompt")?.["sessionId"];
  expect(sessionId).toEqual(expect.any(String));
  expect(sent(second, "session/prompt")).toMatchObject({ sessionId });
  expect(sent(second, "session/new")).toBeUndefined();
  expect(first).toContain('"toolCallId":"1-1"');
  expect(second).toContain('"toolCallId":"2-1"');
  expect(second).not.toContain(OFFLINE);
}

scenario(
  ["P9", "P2"],
  "acpx takes its session up again in another process, and the conversation goes on",
  async () => {
    using home = new TemporaryFolder();
    const acpx = await Acpx.in({ home, servers: [everything], keepSeconds: 1 });
    const [first, second] = await twoTurns(acpx);
    expectGoneOn(first, second);
    expect(sent(second, "session/resume")).toMatchObject({ mcpServers: [{ name: "everything" }] });

    const listed = await acpx.run("sessions", "list");
    expect(listed.stdout).toContain('"title":"please echo the first"');
    expect(await acpx.run("sessions", "close")).toMatchObject({ code: 0 });
    await acpx.allGone();
  },
  SLOW,
);

scenario(
  ["P9", "P1"],
  "acpx loads its session where it knows of no resuming: the first turn is told again before the second",
  async () => {
    using home = new TemporaryFolder();
    const said = join(home.path, "said.ndjson");
    const through = [process.execPath, join(FIXTURES, "without-resume.mjs"), said];
    const acpx = await Acpx.in({ home, servers: [everything], keepSeconds: 1, through });
    const [first, second] = await twoTurns(acpx);
    expectGoneOn(first, second);
    expect(sent(second, "session/load")).toMatchObject({ mcpServers: [{ name: "everything" }] });
    // acpx keeps what is replayed to itself, so that it is looked for in what the agent said.
    const told = readFileSync(said, "utf8");
    const replay = told.indexOf('"user_message_chunk","content":{"type":"text","text":"please echo the first"');
    expect(replay).toBeGreaterThan(-1);
    expect(replay).toBeLessThan(told.indexOf("Echo: the second"));
  },
  SLOW,
);

scenario(
  ["P9"],
  "acpx cancel ends a turn in the middle of a call as cancelled, and the session takes the next prompt",
  async () => {
    using home = new TemporaryFolder();
    const { env: _, ...waiting } = scriptedAcpServer("waiting", {
      tools: [
        { name: "wait", description: "Waits for ever", steps: [{ do: "never" }], reply: { kind: "echo" } },
        { name: "greet", description: "Greets", reply: { kind: "text", text: "hello again" } },
      ],
    });
    const acpx = await Acpx.in({ home, servers: [waiting], keepSeconds: 60 });
    expect(await acpx.run("sessions", "new")).toMatchObject({ code: 0 });
    const turn = acpx.start("prompt", "mcp__waiting__wait");
    await turn.until('"status":"in_progress"');
    // Were they not seen now, that none is left at the end would mean nothing.
    expect(acpx.processes.join("\n")).toContain(`${TENON} acp`);

    const cancelled = await acpx.run("cancel");
    expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('"cancelled":true') });
    const { stdout } = await turn.ended();
    expect(stdout).toContain('"stopReason":"cancelled"');

    const next = await acpx.run("prompt", "mcp__waiting__greet");
    expect(next).toMatchObject({ code: 0, stdout: expect.stringContaining("hello again") });
    expect(await acpx.run("sessions", "close")).toMatchObject({ code: 0 });
    await acpx.allGone();
  },
  SLOW,
);

scenario(
  ["P9", "P20"],
  "acpx set-mode plan refuses a tool that writes, acpx set mode ask lets it, and no mode is invented",
  async () => {
    using home = new TemporaryFolder();
    const file = join(home.path, "written.txt");
    const files = { name: "files", command: process.execPath, args: [program(FILESYSTEM), home.path] };
    const acpx = await Acpx.in({ home, servers: [files], keepSeconds: 60 });
    const write = ["prompt", `mcp__files__write_file ${JSON.stringify({ path: file, content: "by acpx" })}`];
    expect(await acpx.run("sessions", "new")).toMatchObject({ code: 0 });
    expect(await acpx.run("set-mode", "plan")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"modeId":"plan"'),
    });
    const refused = await acpx.run(...write);
    expect(refused.stdout).toContain("the mode plan runs read-only tools");
    expect(existsSync(file)).toBe(false);

    const unknown = await acpx.run("set-mode", "reckless");
    expect(unknown.code).not.toBe(0);
    expect(unknown.stdout + unknown.stderr).toContain("is no mode of this session; there are: ask, plan, auto-edit");

    expect(await acpx.run("set", "mode", "ask")).toMatchObject({ code: 0 });
    expect(await acpx.run(...write)).toMatchObject({ code: 0 });
    expect(readFileSync(file, "utf8")).toBe("by acpx");
    expect(await acpx.run("sessions", "close")).toMatchObject({ code: 0 });
    await acpx.allGone();
  },
  SLOW,
);

/** A program of somebody who has not moved on from ACP's SDK 0.14. */
async function oldClient(home: TemporaryFolder, prompts: readonly string[], existingSessionId?: string) {
  const modules = {
    provider: pathToFileURL(peerFile("@mcpc-tech/acp-ai-provider", "index.mjs")),
    ai: pathToFileURL(peerFile("ai", "dist/index.mjs")),
  };
  const session = { cwd: home.path, mcpServers: [{ ...everything, env: [] }] };
  const settings = { command: agentNode(), args: [TENON, "acp"], session, existingSessionId };
  const args = [join(FIXTURES, "old-client.mjs"), JSON.stringify({ modules, settings, prompts })];
  const { code, stdout, stderr } = await runCommand(process.execPath, args, {
    env: cleanEnv(home.path),
    cwd: home.path,
  });
  expect(code, stderr).toBe(0);
  // The provider itself prints a warning before.
  const told: unknown = JSON.parse(stdout.slice(stdout.lastIndexOf("\n") + 1));
  return isJsonObject(told) ? told : {};
}

scenario(
  ["P10", "A1"],
  "a client with the old SDK 0.14 gives a server, sees its tool called, and takes the session up again",
  async () => {
    using home = new TemporaryFolder();
    const heard = (id: string, text: string) => ({
      text: expect.stringContaining(`Echo: ${text}`),
      calls: [{ toolCallId: id, toolName: "everything / Echo Tool", args: { message: text } }],
      results: [[{ type: "content", content: { type: "text", text: `Echo: ${text}` } }]],
      errors: [],
    });
    const { sessionId, turns } = await oldClient(home, ["please echo old one", "please echo old two"]);
    expect(turns).toEqual([heard("1-1", "old one"), heard("2-1", "old two")]);
    const later = await oldClient(home, ["please echo old three"], String(sessionId));
    expect(later).toMatchObject({ sessionId, turns: [heard("3-1", "old three")] });
  },
  SLOW,
);
