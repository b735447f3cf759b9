// One start and end of the built agent with one kind of server: everything it started must be gone, in time.
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { endTree } from "../../src/base/io/process.js";
import {
  type AcpClient,
  type AcpServerEntry,
  echoTool,
  listLiving,
  scriptedAcpServer,
} from "../../src/testing/index.js";
import { nodeWorld, stderrLog } from "../../src/world/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";

export const SERVER_KINDS = ["well-behaved", "stubborn", "daemonising", "scrubbing", "sh -c", "npx"] as const;
export const HOST_ENDS = ["close", "EOF", "SIGTERM", "SIGKILL"] as const;
export type ServerKind = (typeof SERVER_KINDS)[number];
export type HostEnd = (typeof HOST_ENDS)[number];

/** From the end of the host, or of the closing of its session, until nothing is left. */
const WITHIN_MS: Readonly<Record<HostEnd, number>> = { close: 250, EOF: 250, SIGTERM: 250, SIGKILL: 500 };
const GIVE_UP_MS = 10_000;
const POLL_MS = 5;
const CHILDREN = { do: "spawn_children", count: 2 } as const;

export interface Cycle {
  /** How many processes there were: the servers with all they started, and the guardian. */
  readonly processes: number;
  /** From the end until none of them was left. */
  readonly leftMs: number;
  readonly allowedMs: number;
  /** What was still there in the end, one line each. */
  readonly left: readonly string[];
}

/** With a configuration of the user's, if one is given. */
export async function runCycle(kind: ServerKind, end: HostEnd, config: object = {}): Promise<Cycle> {
  using home = new TemporaryFolder();
  using project = new TemporaryFolder();
  using programs = new TemporaryFolder();
  writeFileSync(join(home.path, "config.json"), JSON.stringify(config));
  const marker = `cycle-${process.pid}-${performance.now()}`;
  const client = await startTenon(home);
  try {
    const before = new Set(listLiving({ under: client.pid ?? 0 }).map(({ pid }) => pid));
    await client.initialize();
    const server = kind === "scrubbing" ? scrubbing(programs.path, marker) : serverOf(kind, project.path, marker);
    const { sessionId } = await client.newSession({ cwd: project.path, mcpServers: [server] });
    await client.waitForUpdate(
      sessionId,
      (update) => update.sessionUpdate === "notice" && update.title.includes("is ready"),
    );
    const under = [
      ...listLiving({ under: client.pid ?? 0, marker }).filter(({ pid }) => !before.has(pid)),
      ...(kind === "scrubbing" ? scrubbed() : []),
    ];
    await endHost(client, sessionId, end);
    const { leftMs, left } = await untilGone(under, marker);
    return { processes: under.length, leftMs, left, allowedMs: WITHIN_MS[end] };
  } finally {
    if (end === "close") await client[Symbol.asyncDispose]();
    else client.kill("SIGKILL");
  }
}

/** The daemon of a scrubbing server: neither its parents nor its environment lead to it, but its command line. */
function scrubbed(): Living {
  const found = listLiving({ under: 1 }).filter(({ command }) => command === DAEMON.join(" "));
  if (found.length !== 1) throw new Error(`${found.length} daemons instead of one`);
  return found;
}

const DAEMON = ["sleep", `600.${process.pid}`] as const;

/** A program that leaves a daemon behind: forked twice, in a session of its own, without a variable. Then it is the server. */
function scrubbing(folder: string, marker: string): AcpServerEntry {
  const server = scriptedAcpServer("server", { tools: [echoTool()], steps: { start: [CHILDREN] } }, { marker });
  const script = join(folder, "server.sh");
  const words = [server.command, ...server.args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const daemon = `(setsid env -i PATH="$PATH" ${DAEMON.join(" ")} </dev/null >/dev/null 2>&1 &)`;
  writeFileSync(script, `#!/bin/sh\n${daemon}\nexec ${words.join(" ")}\n`);
  chmodSync(script, 0o755);
  return { ...server, command: script, args: [] };
}

/** Whether this user may make control groups: only they hold a daemon that clears its environment and leaves its parents. */
export async function hasControlGroups(): Promise<boolean> {
  const world = nodeWorld({ log: stderrLog("error") });
  const child = world.spawn({ command: "sleep", args: ["60"], env: { PATH: process.env["PATH"] ?? "" }, cwd: "/" });
  const group = await readFile(`/proc/${child.pid}/cgroup`, "utf8").catch(() => "");
  await endTree(child, world, { stdinMs: 1, terminateMs: 1_000 });
  return group.includes("/tenon-");
}

type Living = ReturnType<typeof listLiving>;

async function untilGone(processes: Living, marker: string): Promise<{ leftMs: number; left: string[] }> {
  const start = performance.now();
  const known = new Set(processes.map(({ identity }) => identity));
  for (;;) {
    const left = listLiving({ marker, identities: known });
    const leftMs = Math.round(performance.now() - start);
    if (left.length === 0) return { leftMs, left: [] };
    if (leftMs > GIVE_UP_MS) return { leftMs, left: left.map(({ pid, command }) => `${pid}: ${command}`) };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function endHost(client: AcpClient, sessionId: string, end: HostEnd): Promise<void> {
  switch (end) {
    case "close":
      await client.closeSession(sessionId);
      break;
    case "EOF":
      await client.end();
      break;
    case "SIGTERM":
    case "SIGKILL":
      client.kill(end);
      await client.exit;
      break;
  }
}

function serverOf(kind: Exclude<ServerKind, "scrubbing">, folder: string, marker: string): AcpServerEntry {
  const tools = [echoTool()];
  const plain = (): AcpServerEntry => scriptedAcpServer("server", { tools, steps: { start: [CHILDREN] } }, { marker });
  switch (kind) {
    case "well-behaved":
      return plain();
    case "stubborn": {
      const start = [{ ...CHILDREN, ignoresSigterm: true }];
      return scriptedAcpServer(
        "server",
        { tools, ignoresEof: true, ignoresSigterm: true, steps: { start } },
        { marker },
      );
    }
    case "daemonising": {
      const start = [{ ...CHILDREN, ownSession: true, ignoresSigterm: true }];
      return scriptedAcpServer("server", { tools, steps: { start } }, { marker });
    }
    case "sh -c": {
      const server = plain();
      return { ...server, command: "/bin/sh", args: ["-c", '"$0" "$@"; true', server.command, ...server.args] };
    }
    case "npx":
      return viaNpx(plain(), folder);
  }
}

/** A package that is installed in a folder the entry names: npx finds it there, and asks no registry. */
function viaNpx(server: AcpServerEntry, session: string): AcpServerEntry {
  const folder = join(session, "installed");
  const script = join(folder, "node_modules/local-server/server.sh");
  const bin = join(folder, "node_modules/.bin/local-server");
  for (const file of [script, bin]) mkdirSync(dirname(file), { recursive: true });
  const words = [server.command, ...server.args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  writeFileSync(script, `#!/bin/sh\n${words.join(" ")}\n`); // without exec: one process more between npx and the server
  chmodSync(script, 0o755);
  symlinkSync("../local-server/server.sh", bin);
  const manifest = { name: "local-server", version: "1.0.0", bin: "server.sh" };
  writeFileSync(join(dirname(script), "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", private: true }));
  return { ...server, command: "npx", args: ["--prefix", folder, "--offline", "--no", "local-server"] };
}
