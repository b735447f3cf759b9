// A leak check that finds nothing proves nothing: each kind of leak is planted here and must be named.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { commandOf, descendantsOf, LeakCheck, leakCheck, listProcesses } from "./leaks.js";
import { closeListener, listenOnLoopback } from "./loopback.js";
import { MARKER_VARIABLE } from "./mcp-server/scripted-server.js";

const BRIEFLY = { withinMs: 60 };
const IDLE = "process.stdout.write('r'); setTimeout(() => {}, 60000)";
const started: ChildProcess[] = [];

afterEach(async () => {
  for (const child of started.splice(0)) await kill(child);
});

async function idle(options: { env?: Record<string, string>; detached?: boolean } = {}): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", IDLE], {
    stdio: ["ignore", "pipe", "ignore"],
    detached: options.detached === true,
    env: { ...process.env, ...options.env },
  });
  started.push(child);
  await once(child.stdout, "data");
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}

test("nothing left is nothing to tell", async () => {
  const check = await leakCheck(BRIEFLY);
  expect(await check.verify()).toEqual(
    process.platform === "linux" ? [] : [expect.stringContaining("were not looked at")],
  );
});

describe.runIf(process.platform === "linux")("processes", () => {
  test("a child that lives on is named with its command", async () => {
    const check = await leakCheck(BRIEFLY);
    const child = await idle();
    await expect(check.verify()).rejects.toThrow(
      new RegExp(
        `left behind after 60 ms:\\n {2}process ${child.pid} \\(group \\d+, parent ${process.pid}\\): .*setTimeout`,
      ),
    );
    await kill(child);
    await check.verify();
  });

  test("a child that was there before is none of ours", async () => {
    await idle();
    const check = await leakCheck(BRIEFLY);
    expect(check.find().processes).toEqual([]);
  });

  test("an orphan is found by its marker, whoever its parent is", async () => {
    const marker = `leaks-test-${process.pid}`;
    const check = await leakCheck({ ...BRIEFLY, marker });
    // The middle process ends at once, so that the idle one is no descendant of ours any more.
    const script = `const c = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(IDLE)}], { detached: true, stdio: "ignore" });
      console.log(c.pid); c.unref();`;
    const middle = spawn(process.execPath, ["-e", script], {
      env: { [MARKER_VARIABLE]: marker },
      stdio: ["ignore", "pipe", "ignore"],
    });
    started.push(middle);
    const [output] = await once(middle.stdout, "data");
    await once(middle, "close");
    const orphan = Number(String(output));
    expect(descendantsOf(process.pid, listProcesses()).map(({ pid }) => pid)).not.toContain(orphan);
    await expect(check.verify()).rejects.toThrow(`process ${orphan} (group ${orphan}`);
    const byGroup = await leakCheck(BRIEFLY);
    expect(byGroup.find().processes).toEqual([]);
    byGroup.watchGroup(orphan);
    expect(byGroup.find().processes).toEqual([expect.stringContaining(`process ${orphan} `)]);
    process.kill(orphan, "SIGKILL");
    await check.verify();
    await byGroup.verify();
  });

  test("a marker can be told later, and is matched whole", async () => {
    const check = await leakCheck(BRIEFLY);
    const child = await idle({ env: { [MARKER_VARIABLE]: "leaks-longer" } });
    const other = new LeakCheck({ ...BRIEFLY, marker: "leaks" });
    expect(other.find().processes).toEqual([]);
    other.watchMarker("leaks-longer");
    expect(other.find().processes).toEqual([expect.stringContaining(`process ${child.pid} `)]);
    await kill(child);
    await check.verify();
  });

  test("what ends while it is being looked at is no leak", async () => {
    const check = await leakCheck({ withinMs: 5_000 });
    const child = await idle();
    const verified = check.verify();
    child.kill("SIGKILL");
    await verified;
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("names with blanks and parentheses do not confuse the reading of /proc", async () => {
    const child = spawn(process.execPath, ["-e", `process.title = "a) b (c"; ${IDLE}`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    started.push(child);
    await once(child.stdout, "data");
    expect(listProcesses().find(({ pid }) => pid === child.pid)).toMatchObject({
      parentPid: process.pid,
    });
    expect(commandOf(child.pid ?? 0)).toContain("a) b (c");
    await kill(child);
  });
});

test("a listening server and an open socket are named with their addresses", async () => {
  const check = await leakCheck(BRIEFLY);
  const server = createServer();
  const origin = await listenOnLoopback(server);
  const port = Number(new URL(origin).port);
  await expect(check.verify()).rejects.toThrow(
    /TCPServerWrap: \d+ active, \d+ before[\s\S]*tcp 127\.0\.0\.1:\d+ -> \(none\)/,
  );
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  await expect(check.verify()).rejects.toThrow(new RegExp(`TCPSocketWrap[\\s\\S]*-> 127\\.0\\.0\\.1:${port}`));
  socket.destroy();
  await closeListener(server);
  await check.verify();
});

test("a timer that still runs is named, and none once it is cleared", async () => {
  const check = await leakCheck(BRIEFLY);
  // Several, since a timer of the test runner that ends meanwhile would hide a single one.
  const timers = Array.from({ length: 5 }, () => setInterval(() => {}, 60_000));
  await expect(check.verify()).rejects.toThrow(/Timeout: \d+ active, \d+ before/);
  for (const timer of timers) clearInterval(timer);
  await check.verify();
});

test("what was there before the check is not counted", async () => {
  const timer = setInterval(() => {}, 60_000);
  const check = await leakCheck(BRIEFLY);
  await check.verify();
  clearInterval(timer);
  expect(check.find().resources).toEqual([]);
});
