// What an editor would see: Tenon started as one would start it, asked who it is, and a session opened.

import { orAborted } from "../../base/async/deadline.js";
import { messageOf } from "../../base/errors.js";
import { endTree } from "../../base/io/process.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import { LineSplitter } from "../../base/json/ndjson.js";
import { LIMITS } from "../../base/limits.js";
import type { Child } from "../../base/ports/world.js";
import type { CommandContext } from "../configuration/context.js";
import { CLI_LIMITS } from "../limits.js";
import { formatElapsed } from "../terminal/clock.js";
import { type Finding, ok, wrong } from "./finding.js";

/** The session is opened in a folder of its own, so that nothing of it is left and no server is started for it. */
export async function checkEditor(context: CommandContext): Promise<Finding> {
  const { world } = context;
  const [, script = ""] = process.argv;
  const home = world.files.scratchFolder();
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) if (value !== undefined) env[name] = value;
  const child = world.spawn({
    command: process.execPath,
    args: [script, "acp"],
    env: { ...env, TENON_HOME: home, TENON_LOG: "error" },
    cwd: home,
  });
  child.stderr.resume();
  child.stdin.on("error", () => {});
  using deadline = world.deadline(CLI_LIMITS.editorMs);
  const beganMs = world.monotonicMs();
  try {
    const answers = answersOf(child);
    child.stdin.write(line(0, "initialize", { protocolVersion: 1, clientCapabilities: {} }));
    const about = await orAborted(answers(0), deadline.signal);
    const readyMs = world.monotonicMs() - beganMs;
    child.stdin.write(line(1, "session/new", { cwd: home, mcpServers: [] }));
    const opened = await orAborted(answers(1), deadline.signal);
    if (typeof opened["sessionId"] !== "string") throw new Error("no session was opened");
    const { name, version } = isJsonObject(about["agentInfo"]) ? about["agentInfo"] : {};
    const who = [name, version].filter((word) => typeof word === "string").join(" ");
    return ok("editor", "as an editor", `${who} answers after ${formatElapsed(readyMs)} and opens sessions`);
  } catch (error) {
    const text = deadline.expired ? "tenon acp did not answer" : `tenon acp failed: ${messageOf(error)}`;
    return wrong("editor", "as an editor", text, ["tenon acp --trace trace.ndjson", "report it with the trace"]);
  } finally {
    await endTree(child, world, LIMITS.exitGrace);
    await world.files.remove(home);
  }
}

function line(id: number, method: string, params: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}

interface Waiter {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

/** The result of the request with an id; rejects with its error. */
function answersOf(child: Child): (id: number) => Promise<JsonObject> {
  const waiting = new Map<number, Waiter>();
  const lines = new LineSplitter(LIMITS.acpMaxLineBytes);
  child.stdout.on("data", (chunk: Buffer) => {
    for (const read of lines.push(chunk)) {
      const parsed = read.kind === "line" ? parseJson(read.text) : undefined;
      if (!parsed?.ok || !isJsonObject(parsed.value)) continue;
      const { id, result, error } = parsed.value;
      const waiter = typeof id === "number" ? waiting.get(id) : undefined;
      if (isJsonObject(result)) waiter?.resolve(result);
      else if (isJsonObject(error)) waiter?.reject(new Error(messageOf(error)));
    }
  });
  const ended = child.exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error("it ended"));
  });
  ended.catch(() => {}); // it never rejects
  return (id) => new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}
