// The scripted MCP server as a program of its own: `node program.js --behaviour '<json>'` (or `--behaviour-file <path>`).
// It imports nothing but this folder and dependency-free base files, so that it starts as fast as Node itself.
import { appendFileSync, readFileSync } from "node:fs";
import { messageOf } from "../../../base/errors.js";
import { parseJson } from "../../../base/json/json.js";
import { LineSplitter } from "../../../base/json/ndjson.js";
import type { Behaviour } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";
import { assertPossible, type HostLimits } from "./host.js";
import { ScriptedPeer } from "./peer.js";
import { processHost } from "./process-host.js";

const USAGE = "usage: program.js --behaviour <json> | --behaviour-file <path>";
const USAGE_EXIT_CODE = 2;
const DEFAULT_LIFETIME_MS = 180_000;
const PARSE_ERROR = -32700;
const MAX_LINE_BYTES = 100_663_296;

const LIMITS: HostLimits = {
  place: "in a process of its own: the test is in another",
  steps: ["hold"],
  replies: ["held"],
  fields: [],
};

function readBehaviour(args: readonly string[]): Behaviour {
  const [option, value, ...rest] = args;
  if (value === undefined || rest.length > 0) throw new Error(USAGE);
  if (option !== "--behaviour" && option !== "--behaviour-file") throw new Error(USAGE);
  const parsed = parseJson(option === "--behaviour" ? value : readFileSync(value, "utf8"));
  if (!parsed.ok) throw new Error(`the behaviour is not JSON: ${parsed.reason}`);
  const behaviour = parseBehaviour(parsed.value);
  assertPossible(behaviour, LIMITS);
  return behaviour;
}

function serve(behaviour: Behaviour): void {
  const lifetimeMs = behaviour.maxLifetimeMs ?? DEFAULT_LIFETIME_MS;
  const record = (entry: object) => {
    if (behaviour.recordFile !== undefined) appendFileSync(behaviour.recordFile, `${JSON.stringify(entry)}\n`);
  };
  // Keeps the process alive after the end of input, and ends it whatever the script says.
  const lifetime = setTimeout(() => process.exit(0), lifetimeMs);
  process.on("SIGTERM", () => {
    record({ signal: "SIGTERM" });
    if (!behaviour.ignoresSigterm) process.exit(143);
  });
  process.stdout.on("error", () => {
    if (!behaviour.ignoresEof) process.exit(0); // nobody reads any more
  });
  process.stderr.on("error", () => {});

  const peer = new ScriptedPeer(behaviour, processHost(lifetimeMs));
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
    if (behaviour.ignoresEof) return;
    clearTimeout(lifetime);
    process.exit(0);
  });
}

try {
  serve(readBehaviour(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`scripted MCP server: ${messageOf(error)}\n`);
  process.exitCode = USAGE_EXIT_CODE;
}
