// A scripted MCP server behind a fake child's streams: the whole way over stdio, without a process and on the fake clock.
import { messageOf } from "../../base/errors.js";
import { parseJson } from "../../base/json/json.js";
import { LineSplitter } from "../../base/json/ndjson.js";
import type { SpawnRequest, Timer } from "../../base/ports/world.js";
import type { Behaviour } from "../mcp-server/behaviour.js";
import { parseBehaviour } from "../mcp-server/check-behaviour.js";
import { assertPossible, type HostLimits } from "../mcp-server/host.js";
import { ScriptedPeer } from "../mcp-server/peer.js";
import { FakeChild } from "./child.js";

const LIMITS: HostLimits = {
  place: "behind a fake child: nothing hands it to the test, and it has no file",
  steps: ["hold"],
  replies: ["held"],
  fields: ["recordFile", "maxLifetimeMs"],
};

const MAX_LINE_BYTES = 100_663_296;

export function scriptedChild(
  request: SpawnRequest,
  behaviour: Behaviour,
  after: (delayMs: number, run: () => void) => Timer,
): FakeChild {
  const checked = parseBehaviour(behaviour);
  assertPossible(checked, LIMITS);
  const child = new FakeChild(request, {
    ignoresEof: checked.ignoresEof === true,
    ignoresSigterm: checked.ignoresSigterm === true,
  });
  const write = (stream: "stdout" | "stderr", text: string) => {
    if (child[stream].writable) child[stream].write(text);
  };
  const peer = new ScriptedPeer(checked, {
    send: (message) => write("stdout", `${JSON.stringify(message)}\n`),
    garbage: (text) => write("stdout", `${text}\n`),
    stderr: (text) => write("stderr", text),
    after,
    crash: ({ exitCode, signal, stderr }) => {
      if (stderr !== undefined) write("stderr", `${stderr}\n`);
      child.exit(signal === undefined ? (exitCode ?? 1) : null, signal ?? null);
    },
    spawnChildren: async ({ count, ownSession, ignoresSigterm }) => {
      const member = { ignoresSigterm: ignoresSigterm === true };
      for (let started = 0; started < count; started++) {
        if (ownSession) child.startAsDaemon(member);
        else child.startInGroup(member);
      }
    },
    facts: () => ({ envNames: Object.keys(request.env), cwd: request.cwd, pid: child.pid ?? 0, children: [] }),
    hold: () => {},
    bug: (error) => write("stderr", `scripted MCP server: ${messageOf(error)}\n`),
  });
  const lines = new LineSplitter(MAX_LINE_BYTES);
  child.stdin.on("data", (chunk: Uint8Array) => {
    for (const line of lines.push(chunk)) {
      const parsed = line.kind === "line" ? parseJson(line.text) : undefined;
      if (parsed?.ok) peer.receive(parsed.value);
    }
  });
  child.exited.then(() => peer.close()).catch((error: unknown) => write("stderr", messageOf(error)));
  return child;
}
