// `tenon gateway status`, `stop` and `logs`: about the gateway of this user on this machine.
import { join } from "node:path";
import { sleep } from "../../../base/async/deadline.js";
import { messageOf, TenonError } from "../../../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import { tenonPaths } from "../../../config/index.js";
import { GATEWAY_LIMITS, gatewaySocketPath, socketFolderProblem } from "../../../gateway/index.js";
import { openWebSocket } from "../../../world/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { type CommandContext, print, printJson, report } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { visible } from "../../terminal/text.js";

const NONE = "No gateway of yours runs on this machine.";

export const runGatewayStatus: Run<Values<"json", "socket">> = async ({ values }, context) => {
  const status = await askGateway(socketOf(context, values.socket), "_tenon/gateway/status", {});
  if (!status) {
    const hint =
      "An editor with tenon acp --gateway starts one (tenon setup EDITOR --gateway); so does tenon gateway run.";
    report(context, values.json, { isRunning: false }, [NONE, context.palette.dim(hint)]);
    return EXIT.failed;
  }
  report(context, values.json, { isRunning: true, ...status }, statusLines(status));
  return EXIT.done;
};

export const runGatewayStop: Run<Values<"json", "socket" | "drain">> = async ({ values }, context) => {
  const { world } = context;
  const drainMs = durationOf("--drain", values.drain);
  const socketPath = socketOf(context, values.socket);
  const status = await askGateway(socketPath, "_tenon/gateway/status", {});
  if (!status) {
    report(context, values.json, { wasRunning: false }, [NONE]);
    return EXIT.done;
  }
  const params = drainMs === undefined ? {} : { drainMs };
  await askGateway(socketPath, "_tenon/gateway/stop", params).catch(() => undefined); // it may go before its answer does
  const pid = status["pid"];
  const waitMs = (drainMs ?? GATEWAY_LIMITS.sessions.drainMs) + CLI_LIMITS.gatewayStopMs;
  if (typeof pid === "number") await untilGone(world, pid, waitMs);
  report(context, values.json, { wasRunning: true, pid: pid ?? null }, ["The gateway has ended."]);
  return EXIT.done;
};

export const runGatewayLogs: Run<Values<"json", "lines">> = async ({ values }, context) => {
  const count = values.lines === undefined ? CLI_LIMITS.logLines : Number(values.lines);
  if (!Number.isInteger(count) || count < 1) throw misused("--lines takes a whole number above 0");
  const { files, env } = context.world;
  const path = join(tenonPaths(env).stateDir, "gateway", "gateway.log");
  const bytes = (await files.find(path))?.bytes ?? 0;
  const length = Math.min(bytes, CLI_LIMITS.logFileBytes);
  const text =
    bytes === 0 ? "" : Buffer.from(await files.readBytes(path, { start: bytes - length, length })).toString();
  const lines = text
    .split("\n")
    .slice(bytes > length ? 1 : 0) // the first one is cut
    .filter((line) => line !== "")
    .slice(-count);
  if (values.json === true) printJson(context, { file: path, lines });
  else print(context, lines.map(visible));
  if (lines.length === 0 && values.json !== true) {
    context.errorOutput.write(
      "Nothing is kept yet: no editor has started a gateway. One started by hand logs to its terminal.\n",
    );
  }
};

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

export function durationOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit = "s"] = /^(\d{1,9})(ms|s|m|h)?$/u.exec(text) ?? [];
  if (number === undefined) throw misused(`${option} takes a time: 30s, 10m, 2h`);
  return Number(number) * (UNITS[unit] ?? 1_000);
}

export function socketOf(
  { world }: CommandContext,
  given: string | undefined,
): { readonly world: World; readonly path: string } {
  return { world, path: given ?? gatewaySocketPath(world, tenonPaths(world.env).stateDir) };
}

function statusLines(status: JsonObject): string[] {
  const { sessions, isDraining, startedAt, listen } = status;
  const shown = (name: string) => JSON.stringify(status[name] ?? null).replaceAll('"', "");
  const counts = isJsonObject(sessions) ? Object.entries(sessions).filter(([, count]) => count !== 0) : [];
  const states = counts.map(([state, count]) => `${JSON.stringify(count)} ${state}`).join(", ");
  return [
    `Tenon ${shown("version")}, process ${shown("pid")}${isDraining === true ? ", stopping" : ""}`,
    ...(typeof startedAt === "number" ? [`since     ${new Date(startedAt).toISOString()}`] : []),
    `listens   ${Array.isArray(listen) ? listen.join(", ") : ""}`,
    `sessions  ${states === "" ? "none open" : states}`,
    `clients   ${shown("clients")}`,
    `questions ${shown("questions")}`,
    ...nodeLines(status["nodes"]),
  ].map(visible);
}

/** Those whose lease is over are left out: their sessions are others', or wait. */
function nodeLines(nodes: JsonValue | undefined): string[] {
  const all = Array.isArray(nodes) ? nodes.filter((node) => isJsonObject(node)) : [];
  const living = all.filter(({ leaseLeftMs }) => typeof leaseLeftMs === "number" && leaseLeftMs > 0);
  const text = (value: JsonValue | undefined) => (typeof value === "string" ? value : JSON.stringify(value ?? null));
  return living.map(({ name, version, sessions, leaseLeftMs, isDraining, isSelf }) => {
    const lease = `lease ${(Number(leaseLeftMs) / 1_000).toFixed(1)} s`;
    const about = [`node      ${text(name)}`, `Tenon ${text(version)}`, `${text(sessions)} sessions`, lease];
    return [...about, ...(isSelf === true ? ["this one"] : []), ...(isDraining === true ? ["draining"] : [])].join(
      ", ",
    );
  });
}

/** Undefined: nobody listens there. */
export async function askGateway(
  { world, path }: { readonly world: World; readonly path: string },
  method: string,
  params: JsonObject,
): Promise<JsonObject | undefined> {
  if ((await world.files.kindOf(path)) === undefined) return undefined;
  const problem = await socketFolderProblem(world, path);
  if (problem !== undefined) throw new TenonError("gateway.unreachable", problem);
  using deadline = world.deadline(CLI_LIMITS.gatewayAnswerMs);
  const target = {
    url: "ws://localhost/acp",
    socketPath: path,
    maxMessageBytes: GATEWAY_LIMITS.messageMaxBytes,
    connectMs: CLI_LIMITS.gatewayAnswerMs,
    pingMs: CLI_LIMITS.gatewayAnswerMs,
  };
  return await new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new TenonError("gateway.unreachable", `the gateway at ${path}: ${why}`));
    deadline.signal.addEventListener("abort", () => fail("it does not answer"), { once: true });
    const connecting = openWebSocket(target, { onText: (text) => hear(text), onClosed: fail }, deadline.signal);
    const hear = (text: string) => {
      const message = parseObject(text);
      if (message?.["id"] === 1) send({ id: 2, method, params });
      if (message?.["id"] !== 2) return;
      const { result, error } = message;
      if (isJsonObject(result)) resolve(result);
      else fail(isJsonObject(error) && typeof error["message"] === "string" ? error["message"] : "it gave no answer");
      connecting.then((link) => link.close()).catch(() => undefined);
    };
    const send = (message: JsonObject) => {
      connecting.then((link) => link.send(JSON.stringify({ jsonrpc: "2.0", ...message }))).catch(() => undefined);
    };
    connecting.catch((error: unknown) => {
      const isAbsent = /ENOENT|ECONNREFUSED/u.test(messageOf(error));
      if (isAbsent) resolve(undefined);
      else fail(messageOf(error));
    });
    send({ id: 1, method: "initialize", params: { protocolVersion: 1 } });
  });
}

async function untilGone(world: World, pid: number, waitMs: number): Promise<void> {
  const identity = world.processes.identityOf(pid);
  if (identity === undefined) return;
  using deadline = world.deadline(waitMs);
  while (world.processes.identityOf(pid) === identity) {
    await sleep(world, CLI_LIMITS.followMs / 10, deadline.signal).catch(() => {
      throw new TenonError("gateway.unreachable", `process ${pid} was asked to end and has not yet`);
    });
  }
}
