// `tenon acp --gateway`: the editor's sessions live in a gateway; where there is none to be had, in this process.
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  abilitiesOf,
  EARLY_SETTINGS,
  type FrontStream,
  noticeUpdates,
  type PromisedSession,
  settingsAnswer,
} from "../../../acp/index.js";
import { handled } from "../../../base/async/scope.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import { messageOf } from "../../../base/message.js";
import type { World } from "../../../base/ports/world.js";
import { VERSION } from "../../../base/version.js";
import { possiblePaths } from "../../../config/index.js";
import {
  gatewayEnvironment,
  localGateway,
  ownServers,
  remoteLink,
  sessionEnvironment,
  shownHosts,
  Translator,
  type TranslatorOptions,
} from "../../../translator/index.js";
import { nodeWorld, openWebSocket } from "../../../world/index.js";
import type { GatewayChoice } from "../../context.js";
import { CLI_LIMITS } from "../../limits.js";
import { chooseLog } from "../../log.js";
import type { Served } from "./acp.js";

export interface GatewayServing {
  readonly stream: FrontStream;
  readonly takePromised: () => readonly PromisedSession[];
  readonly choice: GatewayChoice;
  /** Calls back for the sessions promised so far, and for each that follows. */
  readonly eachPromised: (listen: (session: PromisedSession) => void) => void;
  /** Runs the agent in this process. */
  readonly serveHere: (stream: FrontStream) => Promise<Served>;
  /** Aborts when this process is to end. */
  readonly stopping: AbortSignal;
}

/** How long a gateway that this process started may be idle before it ends. */
const IDLE_EXIT = "30m";

export async function serveThroughGateway(serving: GatewayServing): Promise<Served> {
  const { stream, choice, stopping } = serving;
  stopping.throwIfAborted();
  const world = nodeWorld({ log: chooseLog("warn") });
  const way = wayToGateway(world, choice);
  if (typeof way === "string") return await serveWithout(serving, way);
  const translator = new Translator({ ...commonOptions(serving, world), ...way });
  // A gateway elsewhere is tried for as long as it takes: the agent of this machine could not stand in for it.
  if (!way.isLocal) return translate(serving, translator);
  const stop = () => handled(translator.close(), world.log, "stop connecting");
  stopping.addEventListener("abort", stop, { once: true });
  try {
    await translator.connect();
  } catch (error) {
    await translator.close();
    stopping.throwIfAborted();
    return await serveWithout(serving, messageOf(error));
  } finally {
    stopping.removeEventListener("abort", stop);
  }
  return translate({ ...serving, stream }, translator);
}

/** Where the gateway is, and how it is reached; words for why there can be none. */
export function wayToGateway(
  world: World,
  { urls, tokenFile }: GatewayChoice,
): Pick<TranslatorOptions, "open" | "judge" | "environment" | "gatewayName" | "isLocal" | "ownServers"> | string {
  if (urls !== undefined) {
    const open = remoteLink({ urls, ...defined({ tokenFile }) }, { world, openWebSocket });
    return { open, gatewayName: shownHosts(urls), isLocal: false, ownServers: ownServers(world) };
  }
  const { stateDir } = possiblePaths(world.env);
  if (stateDir === undefined) return "no home directory is known";
  if (world.platform === "win32") return "Windows has no local gateway yet";
  const start = (signal: AbortSignal) => startGateway(world.env, stateDir, signal);
  const local = localGateway({ world, stateDir, openWebSocket, version: VERSION, start });
  const environment = (directories: readonly string[]) => sessionEnvironment(world, directories);
  return { ...local, environment, gatewayName: "of this machine", isLocal: true };
}

type Common = Pick<TranslatorOptions, "world" | "initialize" | "send" | "notice" | "onConnected">;

function commonOptions({ stream, takePromised }: GatewayServing, world: TranslatorOptions["world"]): Common {
  return {
    world,
    initialize: stream.initialize ?? { protocolVersion: 1 },
    send: stream.send,
    notice,
    onConnected: () => takePromised(),
  };
}

export const notice: TranslatorOptions["notice"] = (level, text, capabilities) =>
  noticeUpdates(level, text, abilities(capabilities));

/** The capabilities as they came: what is not as it should be counts as absent. */
function abilities(capabilities: JsonValue | undefined) {
  const { session } = isJsonObject(capabilities) ? capabilities : {};
  const notices = isJsonObject(session) && isJsonObject(session["notices"]) ? { notices: {} } : {};
  return abilitiesOf({ session: notices });
}

function translate({ stream, eachPromised }: GatewayServing, translator: Translator): Served {
  const answer: JsonObject = JSON.parse(JSON.stringify(settingsAnswer(EARLY_SETTINGS)));
  eachPromised(({ id, params }) => translator.promise([{ id, params, answer }]));
  translator.run();
  read(stream, translator).catch(() => {}); // it ends with the editor, which the front tells
  return {
    close: (isEditorGone) => (isEditorGone ? translator.leave() : translator.close()),
    tellSessions: (error) => translator.tell("error", `Tenon met an internal error and goes on: ${error.message}.`),
  };
}

async function read({ readable, initialize, writable }: FrontStream, translator: Translator): Promise<void> {
  let isReplayDue = initialize !== undefined;
  for await (const message of readable) {
    if (isReplayDue && "method" in message && "id" in message) {
      // The editor has its answer, and the translator says it to the gateway itself.
      isReplayDue = false;
      await writable.getWriter().write({ jsonrpc: "2.0", id: message.id, result: {} });
    } else if (isJsonObject(message)) translator.hear(message);
  }
}

async function serveWithout({ stream, serveHere }: GatewayServing, reason: string): Promise<Served> {
  const words = `The local gateway could not be used (${reason}). This session runs in the editor's own process and ends with it. tenon gateway status says more.`;
  process.stderr.write(`tenon acp: ${words}\n`);
  const told = new Set<string>();
  const capabilities = abilities(stream.initialize?.["clientCapabilities"]);
  // With the first update of each session: by then the editor knows it.
  const send: FrontStream["send"] = (message) => {
    const params = "params" in message ? message.params : undefined;
    const sessionId = isJsonObject(params) ? params["sessionId"] : undefined;
    if (typeof sessionId === "string" && !told.has(sessionId)) {
      told.add(sessionId);
      for (const update of noticeUpdates("warning", words, capabilities))
        stream.send({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update } })?.catch(() => {});
    }
    return stream.send(message);
  };
  return await serveHere({ ...stream, send });
}

/** In a session of its own, so that no signal of the editor's terminal reaches it. */
async function startGateway(own: World["env"], stateDir: string, signal: AbortSignal): Promise<string> {
  const folder = join(stateDir, "gateway");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "gateway.log");
  if (existsSync(path) && statSync(path).size > CLI_LIMITS.gatewayLogBytes)
    renameSync(path, join(folder, "gateway.1.log"));
  const log = openSync(path, "a", 0o600);
  const { size } = statSync(path);
  const args = [process.argv[1] ?? "", "gateway", "run", "--local", "--idle-exit", IDLE_EXIT];
  // Other editors and terminals use it as well: none of their sessions may have this one's keys.
  const env = gatewayEnvironment(own);
  const child = spawn(process.execPath, args, { detached: true, cwd: "/", env, stdio: ["ignore", log, log] });
  closeSync(log);
  const ended = await new Promise<string>((resolve) => {
    child.on("error", ({ message }) => resolve(message));
    child.once("exit", (code, by) => resolve(`it ended with ${by ?? `code ${code ?? "?"}`}`));
    signal.addEventListener("abort", () => resolve(""), { once: true });
  });
  child.unref();
  const said = ended === "" ? "" : readFileSync(path).subarray(size).subarray(-CLI_LIMITS.gatewayLogChars).toString();
  return said.trim() === "" ? ended : `${ended}: ${said.trim()}`;
}
