// From a spec to a live link: opens the transport, agrees on the era, and leaves nothing behind when that fails.
import { orAborted, sleep } from "../../base/async/deadline.js";
import { messageOf, TenonError, toTenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import type { SpawnRequest, World } from "../../base/ports/world.js";
import type { KnownSecrets } from "../../base/text/secrets.js";
import { Access } from "../auth/access.js";
import { MCP_LIMITS } from "../limits.js";
import type { Link } from "../protocol/link.js";
import { negotiate, type Terms } from "../protocol/negotiate.js";
import { OpenLink, watchedLink } from "../protocol/open-link.js";
import { launchFingerprint, type ServerSpec } from "../spec.js";
import { AcpTransport } from "../transport/acp.js";
import { httpTransport } from "../transport/http/http-transport.js";
import type { SpillDirectory } from "../transport/large/spilled.js";
import { guardedLaunch } from "../transport/launchers/guarded-launch.js";
import { launchOf, withLastWords } from "../transport/stdio/launch.js";
import { StdioTransport } from "../transport/stdio/stdio-transport.js";
import { replayedTransport, tracedTransport } from "../transport/trace.js";
import { type Agreement, redactedTransport, type Transport } from "../transport/transport.js";
import { entrySecrets } from "./entry-secrets.js";
import { type ConnectionOptions, serverLimits } from "./options.js";

export interface Life {
  /** Aborts when the attempt is given up: too late, or the connection is being closed. */
  readonly signal: AbortSignal;
  /** How much time processes get to end, asked when they must. */
  readonly grace: () => EndGrace;
  /** Where long results are kept: they outlive the wire they came over, but not the connection. */
  readonly spill: SpillDirectory;
  /** Told of every process that is started for it. */
  readonly onSpawned?: (id: number | undefined) => void;
}

/** Rejects with a TenonError that names the real cause; what it opened is closed by then. */
export async function connect(spec: ServerSpec, options: ConnectionOptions, life: Life): Promise<Link> {
  const secrets = entrySecrets(spec, options);
  const turn = launchTurn(options.world);
  try {
    const launch = await preparedLaunch(spec, options, life.signal).catch((thrown: unknown) => {
      throw secrets.cleanError(toTenonError(thrown, "mcp.spawn_failed"));
    });
    await turn.comes(life.signal);
    const open = () => {
      const transport = openTransport(spec, options, { ...life, secrets, ...defined({ launch }) });
      turn.end();
      return transport;
    };
    return await connectOver(open, { spec, options, life });
  } finally {
    turn.end();
  }
}

/** Per World, when the last launch that was asked for is done. */
const lastLaunches = new WeakMap<World, Promise<void>>();

/** Preparing a launch takes the disk's time, and differs: servers are launched in the order in which they were asked for. */
function launchTurn(world: World): { comes(signal: AbortSignal): Promise<void>; end(): void } {
  const before = lastLaunches.get(world);
  let end = () => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  lastLaunches.set(world, done);
  const comes = async (signal: AbortSignal) => {
    if (!before) return;
    using deadline = world.deadline(MCP_LIMITS.launchOrderMs, signal);
    await orAborted(before, deadline.signal).catch(() => undefined);
  };
  return {
    comes,
    end: () => {
      if (lastLaunches.get(world) === done) lastLaunches.delete(world);
      end();
    },
  };
}

/** Undefined for what is not started here. A server that the folder could replace, or without its sandbox, is not started. */
async function preparedLaunch(
  spec: ServerSpec,
  { world, cwd }: ConnectionOptions,
  signal: AbortSignal,
): Promise<SpawnRequest | undefined> {
  if (spec.kind !== "stdio" || (world.replay && !spec.sandbox)) return undefined;
  const request = world.replay ? launchOf(spec, cwd, world) : await guardedLaunch(spec, cwd, world);
  if (!spec.sandbox) return request;
  const { sandboxedLaunch } = await import("../transport/sandbox/sandboxed-launch.js"); // few servers have one
  return await sandboxedLaunch({ spec, sandbox: spec.sandbox, request, sessionCwd: cwd, world, signal });
}

export interface Connecting {
  readonly spec: ServerSpec;
  readonly options: ConnectionOptions;
  readonly life: Life;
}

/** The same over any wire. `open` is called a second time when a server does not survive the probe. */
export async function connectOver(open: () => Transport, connecting: Connecting): Promise<Link> {
  const { spec, options, life } = connecting;
  const remembered = recallEra(spec, options); // the process starts up while the disk is asked what it is
  try {
    const first = await attempt(open, connecting, { remembered, isSecond: false });
    if (!(first instanceof TenonError)) return first;
    options.world.log.info("mcp.probe_failed", { server: spec.name, error: first.message });
    // Most that end at the probe would have ended anyway: the other servers of the session start up undisturbed first.
    await sleep(options.world, MCP_LIMITS.probeRestartMs, life.signal).catch(() => {});
    const second = await attempt(open, connecting, { remembered, isSecond: true });
    if (second instanceof TenonError) throw second;
    return second;
  } catch (thrown) {
    // Begun as legacy, a process that has become modern may end or be silent: the next attempt asks it anew.
    const era = await Promise.race([remembered, Promise.resolve(undefined)]);
    if (era === "legacy" && spec.kind === "stdio") await options.cache?.writeEra(launchFingerprint(spec), undefined);
    throw thrown;
  }
}

type RememberedEra = Promise<Agreement["era"] | undefined>;

interface Course {
  readonly remembered: RememberedEra;
  /** Without the probe, since the first transport did not survive it. */
  readonly isSecond: boolean;
}

/** One transport. Returns why when it is worth another one, as legacy; rejects when it is not. It is closed in both cases. */
async function attempt(open: () => Transport, connecting: Connecting, course: Course): Promise<Link | TenonError> {
  const { spec, options, life } = connecting;
  if (life.signal.aborted) throw givenUp(life.signal.reason, "");
  const line = new OpenLink(open(), options);
  const startedMs = options.world.monotonicMs();
  let failure: TenonError;
  try {
    const terms = await orAborted(termsOf(spec, options, course), life.signal);
    const agreed = await negotiate(line, options, { ...terms, signal: life.signal });
    if (agreed.kind === "agreed") {
      const { handshake, isCertain } = agreed;
      const tookMs = options.world.monotonicMs() - startedMs;
      // A slow one may have been silent at the probe only because it starts slowly: not worth remembering.
      const isBelieved = !course.isSecond || tookMs <= serverLimits(options.limits).probeTimeoutMs;
      const { era } = handshake.agreement;
      if (!isCertain || isBelieved) rememberEra(line, connecting, { era, isCertain, remembered: course.remembered });
      return watchedLink(line.link(handshake), spec, options.world.telemetry);
    }
    failure = agreed.cause;
  } catch (thrown) {
    await line.close(life.grace());
    throw connectError(thrown, line, life.signal);
  }
  await line.close(life.grace());
  return connectError(failure, line, life.signal);
}

async function termsOf(
  { kind, name }: ServerSpec,
  { limits }: ConnectionOptions,
  { remembered, isSecond }: Course,
): Promise<Omit<Terms, "signal">> {
  const { probeTimeoutMs, connectTimeoutMs } = serverLimits(limits);
  const known = await remembered;
  const modernProbeMs = Math.max(probeTimeoutMs, connectTimeoutMs / 2);
  return {
    begin: isSecond || known === "legacy" || kind === "sse" ? "legacy" : "probe",
    isRemote: kind !== "stdio",
    serverName: name,
    // One known to be modern may be slow; should that be wrong by now, there must be time for `initialize`.
    restartAfterMs: known === "modern" ? connectTimeoutMs / 4 : connectTimeoutMs / 2,
    // Over ACP only the modern era is spoken: one that is slow to answer the probe has nothing else to be asked.
    probeTimeoutMs: kind === "acp" ? connectTimeoutMs : known === "modern" ? modernProbeMs : probeTimeoutMs,
  };
}

/** What one wire is opened with: the secrets no error leaves it with, and what is started, where that had to be prepared. */
type Opening = Life & { readonly secrets: KnownSecrets; readonly launch?: SpawnRequest };

function openTransport(spec: ServerSpec, options: ConnectionOptions, life: Opening): Transport {
  const { session } = options;
  const { trace, replay } = options.world;
  if (replay) return replayedTransport(replay, spec.name);
  const wire = plainTransport(spec, options, life);
  const traced = trace ? tracedTransport(wire, { trace, spec, ...defined({ session }) }) : wire;
  return redactedTransport(traced, life.secrets);
}

function plainTransport(
  spec: ServerSpec,
  options: ConnectionOptions,
  { spill, onSpawned, launch, secrets }: Opening,
): Transport {
  const { world, cwd, allowHosts = [], channel, oauth } = options;
  switch (spec.kind) {
    case "stdio":
      return new StdioTransport(launch ?? launchOf(spec, cwd, world), world, {
        spill,
        ...defined({ onSpawned, onStderr: options.onStderr }),
      });
    case "http":
    case "sse": {
      const urlSource = spec.mustBePublic === true ? "project" : (options.urlSource ?? "typed");
      const remote = { world, allowHosts, urlSource, secrets, spill };
      const access = oauth && new Access(spec, { ...remote, oauth });
      return httpTransport(spec, { ...remote, ...defined({ access }) });
    }
    case "acp":
      return new AcpTransport(spec, channel);
    default:
      return unreachable(spec);
  }
}

/** A cache that fails is no cache. */
async function recallEra(spec: ServerSpec, options: ConnectionOptions): Promise<Agreement["era"] | undefined> {
  try {
    return await options.cache?.readEra(launchFingerprint(spec));
  } catch (thrown) {
    options.world.log.debug("mcp.era_unread", { server: spec.name, error: messageOf(thrown) });
    return undefined;
  }
}

interface EraVerdict {
  readonly era: Agreement["era"];
  readonly isCertain: boolean;
  readonly remembered: RememberedEra;
}

/**
 * In the background of the link. A process that was silent at the probe and answered `initialize` has read both, unless the
 * answer to the probe is only late: if none has come after as long again, the next start need not wait for it.
 */
function rememberEra(line: OpenLink, { spec, options }: Connecting, { era, isCertain, remembered }: EraVerdict): void {
  if (!isCertain && spec.kind !== "stdio") return; // elsewhere the probe was called off, and nothing can come
  const { probeTimeoutMs } = serverLimits(options.limits);
  line.run("remember the era", async (signal) => {
    if (!isCertain) await sleep(options.world, probeTimeoutMs, signal);
    if (!isCertain && line.rpc.counters.strayAnswers > 0) return;
    if ((await remembered) !== era) await options.cache?.writeEra(launchFingerprint(spec), era);
  });
}

/** What people read: the cause, as a failure to connect, with the server's own last words if it has any. */
function connectError(thrown: unknown, line: OpenLink, signal: AbortSignal): TenonError {
  if (signal.aborted) return givenUp(thrown, line.wire.stderrTail);
  const error = withLastWords(toTenonError(thrown, "mcp.connect_failed"), line.wire.stderrTail);
  if (error.code !== "mcp.connection_lost") return error;
  const { message, retryAfterMs } = error;
  return new TenonError("mcp.connect_failed", message, { cause: error, ...defined({ retryAfterMs }) });
}

function givenUp(cause: unknown, stderrTail: string): TenonError {
  return withLastWords(new TenonError("mcp.connect_failed", "connecting was given up", { cause }), stderrTail);
}
