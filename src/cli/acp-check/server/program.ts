// A scripted MCP server as a process of its own, over stdio: `tenon acp-check --server SCRIPT` (not for people).
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { type JsonObject, parseJson } from "../../../base/json/json.js";
import { LineSplitter } from "../../../base/json/ndjson.js";
import { LIMITS } from "../../../base/limits.js";
import { CLI_LIMITS } from "../../limits.js";
import type { Record } from "./log.js";
import { ServerProtocol } from "./protocol.js";
import { readScript, type ServerScript } from "./script.js";

const CRASH_CODE = 3;

/** Beside the script, so that whoever wrote it knows where to look. */
export function logPathOf(scriptPath: string): string {
  return `${scriptPath}.log`;
}

export function runServer(scriptPath: string): void {
  const parsed = parseJson(readFileSync(scriptPath, "utf8"));
  if (!parsed.ok) throw new Error(`${scriptPath} is no script: ${parsed.reason}`);
  const script = readScript(parsed.value);
  const logPath = logPathOf(scriptPath);
  const record: Record = (kind, detail = {}) =>
    appendFileSync(logPath, `${JSON.stringify({ kind, pid: process.pid, detail })}\n`);
  record("started", environment(script));
  if (script.failure !== undefined) {
    process.stderr.write(`${script.failure}\n`);
    process.exit(CRASH_CODE);
  }
  // Whatever the agent does to it, nothing of this stays on the machine for long.
  setTimeout(() => process.exit(0), CLI_LIMITS.acpCheckActs.serverLifeMs).unref();
  if (script.hasChild) startChild(scriptPath, record);
  if (script.isDeaf) {
    setInterval(() => {}, CLI_LIMITS.acpCheckActs.serverLifeMs);
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
    setTimeout(() => process.exit(0), CLI_LIMITS.acpCheckActs.serverLifeMs);
  }
  if (script.isNoisy) {
    process.stdout.write("starting up, this line is no message\n");
    process.stderr.write("a warning on stderr\n");
  }
  serve(script, record);
}

function environment({ watched = [] }: ServerScript): JsonObject {
  const values = watched.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { names: Object.keys(process.env).sort(), watched: Object.fromEntries(values), cwd: process.cwd() };
}

/** The script's path is among its words, by which it is known to be ours. */
function startChild(scriptPath: string, record: Record): void {
  const source = `setTimeout(() => {}, ${CLI_LIMITS.acpCheckActs.serverLifeMs})`;
  const child = spawn(process.execPath, ["-e", source, scriptPath], { stdio: "ignore" });
  child.on("error", (error) => record("child", { failed: error.message }));
  child.unref();
  record("child", { child: child.pid ?? 0 });
}

function serve(script: ServerScript, record: Record): void {
  const protocol = new ServerProtocol(script, { record, crash: () => process.exit(CRASH_CODE) });
  const lines = new LineSplitter(LIMITS.acpMaxLineBytes);
  process.stdout.on("error", () => {}); // the agent is gone; the end of input says so too
  process.stdin.on("data", (chunk: Buffer) => {
    for (const line of lines.push(chunk)) if (line.kind === "line") answer(protocol, line.text);
  });
  process.stdin.on("end", () => {
    record("ended", { by: "end of input" });
    if (!script.isDeaf) process.exit(0);
  });
}

function answer(protocol: ServerProtocol, text: string): void {
  const parsed = parseJson(text);
  if (!parsed.ok) return;
  protocol
    .receive(parsed.value)
    .then((message) => {
      if (message) process.stdout.write(`${JSON.stringify(message)}\n`);
    })
    .catch((error: unknown) => process.stderr.write(`acp-check server: ${String(error)}\n`));
}
