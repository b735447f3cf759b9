// The scripted MCP server as this very process: lines on stdin and stdout, real children, real crashes.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync } from "node:fs";
import { parseJson } from "../../../base/json/json.js";
import { LineSplitter } from "../../../base/json/ndjson.js";
import type { Behaviour, SpawnChildrenStep } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";
import { assertPossible, type Host, type HostLimits, MAX_LINE_BYTES, realAfter } from "./host.js";
import { ScriptedPeer } from "./peer.js";

const DEFAULT_LIFETIME_MS = 180_000;
const PARSE_ERROR = -32700;

const LIMITS: HostLimits = {
  place: "in a process of its own: the test is in another",
  steps: ["hold"],
  replies: ["held"],
  fields: [],
};

/** Idles until its lifetime ends; says on fd 3 that it runs, since a signal before that would meet no handler. */
const IDLE_PROGRAM = `
  const [lifetimeMs, ignoresSigterm] = JSON.parse(process.argv[1]);
  setTimeout(() => process.exit(0), lifetimeMs);
  if (ignoresSigterm) process.on("SIGTERM", () => {});
  const fs = require("node:fs");
  fs.writeSync(3, "r");
  fs.closeSync(3);
`;

/** Serves the behaviour in this file. Throws when it is no behaviour, or one that a process cannot have. */
export function serveBehaviourFile(path: string): void {
  serveBehaviour(readFileSync(path, "utf8"));
}

export function serveBehaviour(json: string): void {
  const parsed = parseJson(json);
  if (!parsed.ok) throw new Error(`the behaviour is not JSON: ${parsed.reason}`);
  const behaviour = parseBehaviour(parsed.value);
  assertPossible(behaviour, LIMITS);
  serve(behaviour);
}

function serve(behaviour: Behaviour): void {
  const { recordFile, recordEnv, ignoresEof, ignoresSigterm, maxLifetimeMs = DEFAULT_LIFETIME_MS } = behaviour;
  const record = (entry: object) => {
    if (recordFile !== undefined) appendFileSync(recordFile, `${JSON.stringify(entry)}\n`);
  };
  if (recordEnv) record({ started: { pid: process.pid, ...environment(recordEnv) } });
  // Keeps the process alive after the end of input, and ends it whatever the script says.
  const lifetime = setTimeout(() => process.exit(0), maxLifetimeMs);
  process.on("SIGTERM", () => {
    record({ signal: "SIGTERM" });
    if (!ignoresSigterm) process.exit(143);
  });
  if (ignoresSigterm) for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  process.stdout.on("error", () => {
    if (!ignoresEof) process.exit(0); // nobody reads any more
  });
  process.stderr.on("error", () => {});

  const peer = new ScriptedPeer(behaviour, processHost(maxLifetimeMs, recordFile ?? "", record));
  const lines = new LineSplitter(MAX_LINE_BYTES);
  process.stdin.on("data", (chunk: Uint8Array) => {
    for (const line of lines.push(chunk)) {
      const parsed = line.kind === "line" ? parseJson(line.text) : { ok: false as const };
      record(parsed.ok ? { received: parsed.value } : { unreadable: line.kind === "line" ? line.text : line.bytes });
      if (parsed.ok) peer.receive(parsed.value);
      else peer.send({ jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message: "Parse error" } });
    }
  });
  process.stdin.on("end", () => {
    record({ end: "stdin" });
    if (ignoresEof) return;
    clearTimeout(lifetime);
    process.exit(0);
  });
}

function environment(recorded: readonly string[]): object {
  const values = Object.entries(process.env).filter(([name]) => recorded.includes(name));
  return { names: Object.keys(process.env).sort(), values: Object.fromEntries(values), cwd: process.cwd() };
}

/** `mark`: an argument of all children, by which they can be recognized. */
function processHost(lifetimeMs: number, mark: string, record: (entry: object) => void): Host {
  const children: number[] = [];
  return {
    send: (message) => process.stdout.write(`${JSON.stringify(message)}\n`),
    garbage: (text) => process.stdout.write(`${text}\n`),
    stderr: (text) => process.stderr.write(text),
    after: realAfter,
    crash: ({ exitCode, signal, stderr }) => {
      if (stderr !== undefined) process.stderr.write(`${stderr}\n`);
      if (signal === undefined) process.exit(exitCode ?? 1);
      process.kill(process.pid, signal);
    },
    spawnChildren: async (step) => {
      for (let started = 0; started < step.count; started++) {
        const { pid } = await startIdle(step, [JSON.stringify([lifetimeMs, step.ignoresSigterm === true]), mark]);
        if (pid === undefined) continue;
        children.push(pid);
        record({ child: pid });
      }
    },
    facts: () => ({ envNames: Object.keys(process.env), cwd: process.cwd(), pid: process.pid, children }),
    hold: (call) => {
      throw new Error(`tool "${call.name}" is held, and nobody is here to answer it`);
    },
    bug: (error) => process.stderr.write(`scripted MCP server: ${String(error)}\n`),
  };
}

/** The environment is inherited, and with it the marker by which leaks are found. */
async function startIdle(step: SpawnChildrenStep, args: readonly string[]): Promise<ChildProcess> {
  const output = step.holdsStdout ? "inherit" : "ignore";
  const child = spawn(process.execPath, ["-e", IDLE_PROGRAM, ...args], {
    detached: step.ownSession === true,
    stdio: ["ignore", output, output, "pipe"],
  });
  child.on("error", () => {}); // it has no number then
  const [, , , ready] = child.stdio;
  if (ready) await once(ready, "data");
  ready?.destroy();
  child.unref();
  return child;
}
