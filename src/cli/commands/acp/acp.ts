// `tenon acp`: the ACP agent over stdio. Light until the first answers are out; everything else is loaded after.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  Front,
  type FrontOptions,
  type FrontStream,
  HostAccess,
  loadAgent,
  type PromisedSession,
  type SetupCommand,
} from "../../../acp/index.js";
import { isSessionId, uuidV7 } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { LIMITS } from "../../../base/limits.js";
import type { WireTrace } from "../../../base/ports/trace.js";
import { possiblePaths } from "../../../config/index.js";
import { journalStart } from "../../../session/index.js";
import { machineEnv } from "../../../world/index.js";
import type { ComposeOptions } from "../../compose.js";
import type { AcpOptions } from "../../context.js";
import { exitAfter, onStopSignals, onUncaught } from "../../exit.js";
import type { GatewayServing } from "./gateway.js";

/** Runs until the client is gone or a signal comes; then leaves nothing behind. */
export async function runAcp({ trace: path, config, gateway, ...options }: AcpOptions): Promise<void> {
  const setup = setupCommand(config);
  const tracing = path === undefined ? undefined : await openTracing(path);
  let closeAgent: Served["close"] = async () => {};
  const stopping = new AbortController();
  const stop = (code: number, isEditorGone = false) => {
    if (!isEditorGone) stopping.abort();
    exitAfter(() => closeAgent(isEditorGone), code);
  };
  onStopSignals(stop);
  // A client may close our stderr and go on: what is logged is lost then, and nothing else.
  process.stderr.on("error", () => {});
  let tellSessions: (error: Error) => void = logUncaught;
  onUncaught((error) => tellSessions(error));
  const promises = new Promises();
  if (!gateway) promises.listen(beginJournal);
  const front = new Front({
    input: process.stdin,
    output: process.stdout,
    ...defined({ onTraffic: tracing?.onTraffic }),
    world: { after, soon },
    setup,
    newSessionId: () => uuidV7(Date.now(), (count) => crypto.getRandomValues(new Uint8Array(count))),
    onPromised: (session) => promises.add(session),
    start: (stream, takePromised) => {
      const serveHere = (given: FrontStream) => {
        if (gateway) promises.listen(beginJournal);
        return serve(given, takePromised, { ...options, setup, ...defined({ trace: tracing?.trace }) });
      };
      const eachPromised = (listen: (session: PromisedSession) => void) => promises.listen(listen);
      const given = { stream, takePromised, eachPromised, serveHere, stopping: stopping.signal };
      const serving = gateway ? throughGateway({ ...given, choice: gateway }) : serveHere(stream);
      closeAgent = async (isEditorGone) => (await serving).close(isEditorGone);
      serving
        .then((served) => {
          tellSessions = (error) => served.tellSessions(error);
        })
        .catch((error: unknown) => {
          if (stopping.signal.aborted) return; // it was told to end while it connected
          process.stderr.write(`tenon acp: ${error instanceof Error ? error.message : String(error)}\n`);
          stop(1);
        });
    },
  });
  process.on("exit", () => front.flush());
  front.closed.then(() => stop(0, true)).catch(() => stop(1));
}

async function throughGateway(serving: GatewayServing): Promise<Served> {
  const { serveThroughGateway } = await import("./gateway.js");
  return await serveThroughGateway(serving);
}

/** The sessions that the front promised, for whoever is to open them. */
class Promises {
  readonly #made: PromisedSession[] = [];
  #listener: ((session: PromisedSession) => void) | undefined;

  add(session: PromisedSession): void {
    this.#made.push(session);
    this.#listener?.(session);
  }

  listen(listener: (session: PromisedSession) => void): void {
    this.#listener = listener;
    for (const session of this.#made) listener(session);
  }
}

/** How this very program is started in a terminal to keep a key. */
function setupCommand(config: string | undefined): SetupCommand {
  const directory = config === undefined ? [] : ["--config", config];
  return { command: process.execPath, args: [process.argv[1] ?? "", "acp", ...directory, "--setup"] };
}

/** A session whose id was given out can be loaded, whatever becomes of this process. A journal that cannot be begun is told later. */
function beginJournal({ id, request }: PromisedSession): void {
  const { stateDir } = possiblePaths(machineEnv());
  if (stateDir === undefined || !isSessionId(id)) return; // said by what is loaded next
  const { path, line } = journalStart(stateDir, { ...request, id }, Date.now());
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, line, { flag: "wx", mode: 0o600 });
  } catch {
    // The session itself tries again, and tells.
  }
}

/** Before anything is read, so that the trace has the first message too. */
async function openTracing(
  path: string,
): Promise<{ trace: WireTrace; onTraffic: NonNullable<FrontOptions["onTraffic"]> }> {
  const { acpTap, openTraceFile } = await import("../../trace.js");
  const trace = openTraceFile(path);
  return { trace, onTraffic: acpTap(trace) };
}

/** Before there is a log. */
function logUncaught({ stack, message }: Error): void {
  process.stderr.write(`tenon acp: uncaught: ${stack ?? message}\n`);
}

export interface Served {
  /** `isEditorGone`: what it sent before is still to be done; otherwise the process ends now. */
  close(isEditorGone: boolean): Promise<void>;
  /** Of an exception that nobody caught: which session it belongs to is not known, so all of them hear of it. */
  tellSessions(error: Error): void;
}

/** Each import gets a turn of the event loop of its own, so that messages are read in between. */
async function serve(
  stream: FrontStream,
  takePromised: () => readonly PromisedSession[],
  { setup, ...options }: Pick<ComposeOptions, "model" | "mcpConfig" | "trace"> & { readonly setup: SetupCommand },
): Promise<Served> {
  const { compose } = await import("../../compose.js");
  await new Promise(setImmediate);
  const { createAgent } = await loadAgent();
  await new Promise(setImmediate);
  const { host } = await compose(options);
  createAgent({ access: new HostAccess(host), setup, promised: takePromised(), send: stream.send }).connect(stream);
  const tellSessions = ({ message, stack }: Error) => {
    host.world.log.error("process.uncaught", { error: message, stack });
    const text = `Tenon met an internal error and goes on: ${message}. Report it with the log of this run.`;
    for (const session of host.sessions) session.notice("error", text);
  };
  return { close: () => host.close(LIMITS.exitGrace), tellSessions };
}

function after(delayMs: number, run: () => void) {
  const timer = setTimeout(run, delayMs);
  return { clear: () => clearTimeout(timer) };
}

function soon(run: () => void): void {
  setImmediate(run);
}
