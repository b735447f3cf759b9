// run_command, command_output and stop_command with real processes.
import { join } from "node:path";
import { expect, test } from "vitest";
import { QUIET_LOG, type TestSession, testSessions } from "../../test/builtin-session.js";
import { LIMITS } from "../base/limits.js";
import { nodeWorld } from "../world/index.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { CommandExit, CommandRequest, Terminal, TerminalProbe } from "./ports.js";

const open = testSessions();
const run = (session: TestSession, command: string, more: Record<string, string | number | boolean> = {}) =>
  session.say("run_command", { command, ...more });

test("output of both streams, in order, with the exit code", async () => {
  const session = open();
  expect(await run(session, "echo one; echo two >&2; exit 0")).toMatch(/^done: (one\ntwo|two\none)\n\[exit code 0\]$/);
  expect(await run(session, "echo no; exit 3")).toBe("failed: no\n[exit code 3]");
  expect(await run(session, "true")).toBe("done: (It printed nothing.)\n[exit code 0]");
  expect(await run(session, "kill -9 $$")).toBe("failed: (It printed nothing.)\n[ended by SIGKILL]");
});

test("it runs where it is told to, inside the session's directories only", async () => {
  const session = open();
  session.write("src/x", "");
  expect(await run(session, "pwd", { path: "src" })).toBe(`done: ${join(session.project, "src")}\n[exit code 0]`);
  expect(await run(session, "pwd", { path: "../outside" })).toMatch(/^failed: .*outside of the session/);
  expect(await run(session, "pwd", { path: "src/x" })).toBe("failed: There is no folder src/x.");
});

test("there is no input to wait for, and what looks like a secret is not passed on", async () => {
  const env = {
    PATH: "/usr/bin:/bin",
    ANTHROPIC_API_KEY: "k1",
    GITHUB_TOKEN: "k2",
    DATABASE_URL: "postgres://me:k3@host/db",
    PLAIN: "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    SSH_AUTH_SOCK: "/s",
    JAVA_HOME: "/j",
  };
  const session = open({ world: nodeWorld({ env, log: QUIET_LOG }) });
  const answer = await run(session, "cat; env");
  expect(answer).toContain("JAVA_HOME=/j");
  expect(answer).toContain("SSH_AUTH_SOCK=/s");
  expect(answer).toContain("GIT_TERMINAL_PROMPT=0");
  for (const word of ["k1", "k2", "k3", "ghp_"]) expect(answer).not.toContain(word);
});

test("long output keeps its start and its end", async () => {
  const session = open();
  const answer = await run(session, "echo start; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end");
  expect(answer).toMatch(/^done: start\n/);
  expect(answer).toMatch(/\[… \d+ characters left out …\]/);
  expect(answer).toMatch(/\nend\n\[exit code 0\]$/);
  expect(answer.length).toBeLessThan(LIMITS.resultMaxBytes);
});

test("colours and overwritten lines do not reach the model", async () => {
  expect(await run(open(), "printf '\\033[31mred\\033[0m\\n10%%\\r50%%\\r100%%\\r\\n'")).toBe(
    "done: red\n100%\n[exit code 0]",
  );
});

test("output is shown while it runs", async () => {
  const session = open();
  const call = run(session, "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second");
  await expect.poll(() => session.progress.at(-1)?.message).toBe("first");
  session.write("go", "");
  expect(await call).toBe("done: first\nsecond\n[exit code 0]");
});

test("a command over its time is ended with everything it started, and what it printed is kept", async () => {
  const session = open();
  const answer = await run(session, "echo begun; sleep 300 & sleep 300", { timeout_seconds: 1 });
  expect(answer).toMatch(/^failed: Ended after 1 s without having finished\..*\nbegun$/);
});

test("what a finished command leaves behind is ended with it", async () => {
  const session = open();
  const before = performance.now();
  expect(await run(session, "sleep 300 & echo done")).toBe("done: done\n[exit code 0]");
  expect(performance.now() - before).toBeLessThan(5_000);
});

test("a cancelled command answers at once, even one that ignores TERM, and is gone in the end", async () => {
  const session = open();
  const controller = new AbortController();
  const call = session.call(
    "run_command",
    { command: "trap '' TERM; echo up; sleep 300; sleep 300" },
    controller.signal,
  );
  await expect.poll(() => session.progress.at(-1)?.message).toBe("up");
  const before = performance.now();
  controller.abort();
  expect(await call).toEqual({ kind: "cancelled" });
  expect(performance.now() - before).toBeLessThan(BUILTIN_LIMITS.commandGrace.terminateMs / 2);
});

test("a command that cannot be started says why", async () => {
  const session = open();
  expect(await run(session, "/no/such/thing")).toMatch(/^failed: .*No such file[\s\S]*\[exit code 127\]$/);
});

test("a command in the background is read bit by bit, and stopped", async () => {
  const session = open();
  expect(
    await run(session, "echo up; while [ ! -e go ]; do sleep 0.02; done; echo more; sleep 300", { background: true }),
  ).toBe("done: Running in the background as c1. See its output with command_output, end it with stop_command.");
  const output = (more: Record<string, number> = {}) => session.say("command_output", { id: "c1", ...more });
  await expect.poll(() => output()).toBe("done: up\n[still running]");
  expect(await output()).toBe("done: (Nothing new.)\n[still running]");
  session.write("go", "");
  await expect.poll(() => output()).toBe("done: more\n[still running]");
  expect(await session.say("stop_command", { id: "c1" })).toBe("done: c1 has been ended: ended by SIGTERM.");
  expect(await output({ wait_seconds: 5 })).toBe("done: (Nothing new.)\n[ended by SIGTERM]");
  expect(await session.say("stop_command", { id: "c1" })).toBe("done: c1 had ended already: ended by SIGTERM.");
  expect(await session.say("command_output", { id: "c9" })).toBe(
    "failed: There is no command c9 in the background; there are c1.",
  );
});

test("one can wait for a command in the background, and closing the session ends those that are left", async () => {
  const session = open();
  await run(session, "sleep 0.2; echo ready", { background: true });
  await run(session, "sleep 300", { background: true });
  expect(await session.say("command_output", { id: "c1", wait_seconds: 60 })).toBe("done: ready\n[exit code 0]");
});

test("there are only so many in the background", async () => {
  const session = open();
  for (let count = 0; count < BUILTIN_LIMITS.commandsAtOnce; count++)
    await run(session, "sleep 300", { background: true });
  expect(await run(session, "true", { background: true })).toMatch(/^failed: There are 16 commands in the background/);
  expect(session.source.describe("stop_command", { id: "c2" })?.title).toBe("Stop c2: sleep 300");
});

interface FakeTerminal extends Terminal {
  readonly requests: CommandRequest[];
  readonly log: string[];
}

function fakeTerminal(exit: CommandExit | undefined): FakeTerminal {
  const requests: CommandRequest[] = [];
  const log: string[] = [];
  return {
    requests,
    log,
    run: async (request) => {
      requests.push(request);
      let end: (exit: CommandExit) => void = () => {};
      const exited = new Promise<CommandExit>((resolve) => {
        end = resolve;
        if (exit) resolve(exit);
      });
      return {
        terminalId: "t1",
        exited,
        output: async (since) => ({ text: "from the client\n".slice(since), nextChar: 16 }),
        end: async () => {
          log.push("end");
          end({ kind: "exited", code: null, signal: "SIGTERM" });
        },
        release: async () => void log.push("release"),
      };
    },
  };
}

test("a client's terminal is used where there is one, shown before it is released", async () => {
  const terminal = fakeTerminal({ kind: "exited", code: 0, signal: null });
  const session = open({ ports: { terminal } });
  expect(await run(session, "make")).toBe("done: from the client\n[exit code 0]");
  expect(terminal.requests).toMatchObject([{ args: ["-c", "make"], cwd: session.project, env: { TERM: "dumb" } }]);
  expect(session.presentations).toEqual([
    { kind: "execute", title: "make", locations: [{ path: session.project }], terminalId: "t1" },
  ]);
  expect(terminal.log).toEqual(["release"]);
});

test("in a client's terminal, whose environment is the client's own, secrets are set to nothing", async () => {
  const terminal = fakeTerminal({ kind: "exited", code: 0, signal: null });
  const env = { PATH: "/usr/bin:/bin", PGPASSWORD: "x", MYSQL_PWD: "y", JAVA_HOME: "/j" };
  const world = nodeWorld({ env, log: QUIET_LOG });
  await run(open({ world, ports: { terminal }, commandVariables: () => ["MYSQL_PWD"] }), "make");
  expect(terminal.requests[0]?.env).toMatchObject({ PGPASSWORD: "", TERM: "dumb" });
  expect(Object.keys(terminal.requests[0]?.env ?? {})).not.toContain("MYSQL_PWD");
});

test("a cancelled command in a client's terminal is ended and released", async () => {
  const terminal = fakeTerminal(undefined);
  const session = open({ ports: { terminal } });
  const controller = new AbortController();
  const call = session.call("run_command", { command: "make" }, controller.signal);
  await expect.poll(() => session.presentations).toHaveLength(1);
  controller.abort();
  expect(await call).toEqual({ kind: "cancelled" });
  await expect.poll(() => terminal.log).toEqual(["end", "release"]);
});

test("a client's terminal that does not run what it is sent is not used: the command runs here", async () => {
  const probes: TerminalProbe[] = [];
  const terminal = fakeTerminal({ kind: "exited", code: 0, signal: null });
  const keepsWords = async (probe: TerminalProbe) => probes.push(probe) > 1;
  const session = open({ ports: { terminal: { ...terminal, keepsWords } } });
  expect(await run(session, "echo here")).toBe("done: here\n[exit code 0]");
  expect(await run(session, "make")).toBe("done: from the client\n[exit code 0]");
  expect(terminal.requests).toHaveLength(1);
  const [probe] = probes;
  expect(probe?.request).toMatchObject({ args: ["-c", `printf '%s' 'a  b' '"$0"'`], cwd: session.project });
  expect(probe?.isRight('a  b"$0"\r\n')).toBe(true);
  for (const wrong of ["", 'a b"$0"', 'a  b"sh"', "a  b", "%s"]) expect(probe?.isRight(wrong)).toBe(false);
});

test("on Windows the probe is a line of its shell, sent as commands are", async () => {
  const probes: TerminalProbe[] = [];
  const terminal = fakeTerminal({ kind: "exited", code: 0, signal: null });
  const keepsWords = async (probe: TerminalProbe) => probes.push(probe) > 0;
  const world = { ...nodeWorld({ env: {}, log: QUIET_LOG }), platform: "win32" as const };
  await run(open({ world, ports: { terminal: { ...terminal, keepsWords } } }), "dir");
  const args = ["/d", "/s", "/c", `"echo "a  b&echo c""`];
  expect(probes[0]?.request).toMatchObject({ command: "cmd.exe", args, isVerbatim: true });
  expect(terminal.requests).toMatchObject([{ command: "cmd.exe", args: ["/d", "/s", "/c", `"dir"`] }]);
  expect(probes[0]?.isRight('"a  b&echo c"\r\n')).toBe(true);
  expect(probes[0]?.isRight('"a  b\r\nc"\r\n')).toBe(false);
});

test("a client that cannot open a terminal is the reason the call fails", async () => {
  const session = open({ ports: { terminal: { run: () => Promise.reject(new Error("no more terminals")) } } });
  expect(await run(session, "make")).toBe("failed: no more terminals");
});
