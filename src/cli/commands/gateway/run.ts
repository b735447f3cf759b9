// `tenon gateway run`: sessions that live by themselves, for any number of clients, until it is stopped.
import { hostname, networkInterfaces } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defined } from "../../../base/json/defined.js";
import type { Timer, World } from "../../../base/ports/world.js";
import { loadConfig, notifyTargets, problemText, tenonPaths } from "../../../config/index.js";
import {
  GATEWAY_LIMITS,
  gatewaySocketPath,
  type ListedToken,
  type ListenAt,
  loadGateway,
  type NotifySettings,
  type RunningGateway,
  type RuntimePlace,
  type Tokens,
  tokensInFile,
} from "../../../gateway/index.js";
import { type FileTrace, machineEnv, nodeWorld } from "../../../world/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { compose } from "../../compose.js";
import { type CommandContext, optionPath, print, printJson, useAgentDirectory } from "../../context.js";
import { EXIT, exitAfter, onUncaught } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { listenPlaces } from "../../listen-options.js";
import { bounded, chooseLog } from "../../log.js";
import { secretResolver, unaskedSecrets } from "../../secrets.js";
import { visible } from "../../terminal/text.js";
import { gatewayTap, openTraceFile } from "../../trace.js";
import { durationOf } from "./control.js";
import { nodeName, openNodeStore, storeAddress } from "./store.js";

type RunValues = Values<
  "local" | "insecure-http" | "json",
  | "config"
  | "mcp-config"
  | "model"
  | "trace"
  | "socket"
  | "tls-cert"
  | "tls-key"
  | "idle-exit"
  | "drain"
  | "store"
  | "node",
  "listen" | "root" | "host"
>;

export const runGatewayRun: Run<RunValues> = async ({ values }, context) => {
  const { cwd } = context;
  if (values.config !== undefined) {
    useAgentDirectory(optionPath("--config", values.config, { world: context.world, from: cwd }));
  }
  const { stateDir } = tenonPaths(machineEnv());
  const logs = join(stateDir, "gateway");
  const logFile = { path: join(logs, "gateway.log"), older: join(logs, "gateway.1.log") };
  const log = chooseLog("info", bounded(logFile));
  const tracePath = values.trace && optionPath("--trace", values.trace, { world: context.world, from: cwd });
  const trace = tracePath ? openTraceFile(tracePath) : undefined;
  const world = nodeWorld({ log, ...defined({ trace }) });
  const drainMs = durationOf("--drain", values.drain) ?? GATEWAY_LIMITS.sessions.drainMs;
  const idleExitMs = durationOf("--idle-exit", values["idle-exit"]);
  const roots = (values.root ?? []).map((path) => optionPath("--root", path, { world, from: cwd }));
  for (const root of roots) {
    if ((await world.files.find(root).catch(() => undefined))?.kind !== "folder") {
      throw misused(`--root ${visible(root)} is no directory of this machine`);
    }
  }
  const mcpConfig = values["mcp-config"] && optionPath("--mcp-config", values["mcp-config"], { world, from: cwd });
  onUncaught(({ message, stack }) => log.error("process.uncaught", { error: message, stack }));
  process.stderr.on("error", () => {}); // what is logged is lost then, and nothing else
  const stop = (graceMs: number, code: number) => {
    const close = async () => {
      await gateway.drain(graceMs);
      await gateway[Symbol.asyncDispose]();
    };
    exitAfter(close, code, graceMs + CLI_LIMITS.gatewayStopMs);
  };
  const { RunningGateway: Runner } = await loadGateway();
  const listen = placesOf(values, context, gatewaySocketPath(world, stateDir));
  const isLocal = values.local === true || idleExitMs !== undefined;
  const url = storeAddress({ store: values.store, isLocal }, context);
  const node = nodeName(values.node);
  const store = url === undefined ? undefined : await openNodeStore(world, url, { name: node, roots });
  const gateway: RunningGateway = await Runner.start({
    ...{ world, stateDir, roots, listen, node, host: hostname(), ...defined({ store }) },
    ...defined({ hosts: values.host }),
    pageFolder: fileURLToPath(PAGE_FOLDER),
    ownAddresses,
    ...defined({ onTraffic: trace && gatewayTap(trace) }),
    openRuntime: runtimeOpener(world, defined({ model: values.model, mcpConfig, trace })),
    notify: () => notifySettings(world, stateDir),
    onStop: (graceMs) => stop(graceMs ?? drainMs, EXIT.done),
  });
  let isAsked = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (isAsked) process.exit(EXIT.interrupted); // whoever asks again does not want to wait
      isAsked = true;
      stop(drainMs, signal === "SIGTERM" ? EXIT.done : EXIT.interrupted);
    });
  }
  if (idleExitMs !== undefined) exitWhenIdle(gateway, world, { idleExitMs, stop: () => stop(0, EXIT.done) });
  tellStart(values, gateway.addresses, context);
  const tokens = store?.tokens ?? tokensInFile(world, stateDir);
  if (values.listen !== undefined) await tellOfTokens(tokens, context);
  await new Promise(() => {}); // until a signal, a client or idleness stops it
};

/** Beside the chunk that this module becomes a part of. */
const PAGE_FOLDER = new URL("../page/", import.meta.url);

/** Of the networks of this machine: those of version 4 first, since they are short enough to type. */
function ownAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const reached = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  return ["IPv4", "IPv6"].flatMap((family) => reached.filter((one) => one.family === family).map((one) => one.address));
}

/** As the user's configuration has them now; what cannot be had is logged. */
async function notifySettings(world: World, stateDir: string): Promise<NotifySettings> {
  const config = await loadConfig({ world, cwd: stateDir, resolveSecret: unaskedSecrets });
  const { targets, problems } = await notifyTargets(config, { world, resolveSecret: secretResolver(world) });
  for (const problem of problems) world.log.warn("notify.not_configured", { problem: problemText(problem) });
  return { targets, allowHosts: config.allowHosts };
}

/** A runtime for the sessions of one directory, as their client's environment has it. */
function runtimeOpener(
  world: World,
  options: { readonly model?: string; readonly mcpConfig?: string; readonly trace?: FileTrace },
) {
  return async ({ cwd, stateDir, kept, env }: RuntimePlace) => {
    if (env) options.trace?.hideEnvironment(env);
    const stored = { stateDir, store: kept.sessions, ...defined({ decisions: kept.decisions }) };
    const runtime = { ...stored, unattended: "wait", maxQueuedPrompts: 8, openTurns: "continue" } as const;
    const { host } = await compose({ ...options, cwd, log: world.log, runtime, ...defined({ env }) });
    return host;
  };
}

function exitWhenIdle(
  { isIdle }: RunningGateway,
  world: World,
  { idleExitMs, stop }: { readonly idleExitMs: number; readonly stop: () => void },
): void {
  let timer: Timer | undefined;
  const check = (idle: boolean) => {
    timer?.clear();
    timer = idle ? world.after(idleExitMs, stop) : undefined;
  };
  check(isIdle.value);
  isIdle.subscribe(check);
}

function placesOf(
  values: Parameters<typeof runGatewayRun>[0]["values"],
  { cwd }: CommandContext,
  own: string,
): ListenAt[] {
  const { listen = [], local: isLocal = false } = values;
  if (isLocal && listen.length > 0) throw misused("--local has the unix socket only: leave --listen out");
  const socket: ListenAt = { kind: "socket", path: values.socket === undefined ? own : resolve(cwd, values.socket) };
  return [socket, ...listenPlaces(listen, values, cwd)];
}

/** Nobody gets in at an address without one. */
async function tellOfTokens(tokens: Tokens, context: CommandContext): Promise<void> {
  const isGood = ({ revokedAt, expiresAt = Infinity }: ListedToken) =>
    revokedAt === undefined && expiresAt > context.world.now();
  if (!(await tokens.list()).some(isGood))
    context.errorOutput.write("There is no token yet: tenon gateway token create NAME --scopes …\n");
}

function tellStart(
  values: Parameters<typeof runGatewayRun>[0]["values"],
  addresses: readonly string[],
  context: CommandContext,
): void {
  if (values.json === true) printJson(context, { addresses });
  else print(context, [`tenon gateway: listens at ${addresses.map(visible).join(", ")}`]);
  const isPlain = values["insecure-http"] === true && values["tls-cert"] === undefined;
  if (isPlain) print(context, ["! --insecure-http: tokens and conversations cross the network in plain text."]);
}
