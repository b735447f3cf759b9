// What must hold before a gateway listens: certificates that fit, a socket folder of our own, no other gateway at the socket.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { dirname } from "node:path";
import { messageOf, orFail, TenonError } from "../../base/errors.js";
import { type FileLock, tryFileLock } from "../../base/io/file-lock.js";
import { isLoopbackHost } from "../../base/io/net-policy.js";
import { defined } from "../../base/json/defined.js";
import type { ServedPlace, ServeHandlers, ServeOptions, World } from "../../base/ports/world.js";
import type { Entrance } from "../access/guard.js";
import { GATEWAY_LIMITS } from "../limits.js";
import { socketFolderProblem } from "../socket-path.js";

export type ListenAt =
  | { readonly kind: "socket"; readonly path: string }
  | {
      readonly kind: "tcp";
      readonly host: string;
      /** 0: any that is free. */
      readonly port: number;
      /** Paths of PEM files. */
      readonly tls?: { readonly certificate: string; readonly key: string };
      /** Other addresses than loopback without TLS. */
      readonly isInsecure?: boolean;
    };

/** How a place is reached belongs to it. */
export interface ListeningPlace extends ServedPlace {
  readonly entrance: Entrance;
}

/** A place that was checked, and where nothing listens yet. */
export interface PreparedPlace {
  listen(handlers: (entrance: Entrance) => ServeHandlers): Promise<ListeningPlace>;
  /** Where it will not be listened at after all. */
  release(): Promise<void>;
}

/** Throws `config.*` for TLS files, `usage.invalid` for an open address without TLS, `gateway.not_started` for a socket that is taken. */
export async function preparePlace(world: World, at: ListenAt): Promise<PreparedPlace> {
  return at.kind === "socket" ? await prepareSocket(world, at.path) : await prepareAddress(world, at);
}

const BOUNDS: Omit<ServeOptions, "place"> = {
  maxHeadBytes: GATEWAY_LIMITS.head.maxBytes,
  headMs: GATEWAY_LIMITS.head.maxMs,
  requestMs: GATEWAY_LIMITS.body.maxMs,
  maxConnections: GATEWAY_LIMITS.connections.inAll,
};

async function prepareAddress(world: World, at: ListenAt & { readonly kind: "tcp" }): Promise<PreparedPlace> {
  const { host, port, isInsecure = false } = at;
  if (!at.tls && !isInsecure && !isLoopbackHost(host)) {
    const what = `without TLS, clients of ${host} would send tokens and conversations in plain text`;
    throw new TenonError("usage.invalid", what, {
      hint: "Give --tls-cert and --tls-key, or --insecure-http where the network itself is private.",
    });
  }
  const tls = at.tls && (await readTls(world, at.tls));
  return {
    release: async () => {},
    listen: async (handlers) => {
      const options = { ...BOUNDS, place: { host, port }, ...defined({ tls }) };
      // The port is known only once it listens; no request can come before.
      let entrance: Entrance = { kind: "tcp", host, port, isTls: tls !== undefined };
      const late: ServeHandlers = {
        onRequest: (request, response) => handlers(entrance).onRequest(request, response),
        onUpgrade: (request, socket, head) => handlers(entrance).onUpgrade(request, socket, head),
        onRefused: (reason, remote) => handlers(entrance).onRefused(reason, remote),
      };
      const place = await orFail("gateway.not_started", `cannot listen at ${host}:${port}`, world.serve(options, late));
      entrance = { ...entrance, port: place.port };
      const { address } = place;
      return { address, port: place.port, entrance, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
    },
  };
}

async function readTls(
  world: World,
  files: { readonly certificate: string; readonly key: string },
): Promise<{ readonly certificate: string; readonly key: string }> {
  const read = (path: string) => orFail("config.unreadable", `cannot read ${path}`, world.files.readText(path));
  const [certificate, key] = await Promise.all([read(files.certificate), read(files.key)]);
  const invalid = (path: string, why: string) =>
    new TenonError("config.invalid", `${path} ${why}`, {
      hint: "Give the files of a certificate and its key, as PEM.",
    });
  const parsed = parse(
    () => new X509Certificate(certificate),
    (why) => invalid(files.certificate, `holds no certificate: ${why}`),
  );
  const privateKey = parse(
    () => createPrivateKey(key),
    (why) => invalid(files.key, `holds no private key: ${why}`),
  );
  const nowMs = world.now();
  if (Date.parse(parsed.validTo) <= nowMs) throw invalid(files.certificate, `expired on ${parsed.validTo}`);
  if (Date.parse(parsed.validFrom) > nowMs) throw invalid(files.certificate, `is not valid before ${parsed.validFrom}`);
  if (!parsed.checkPrivateKey(privateKey)) throw invalid(files.key, `is not the key of ${files.certificate}`);
  return { certificate, key };
}

function parse<T>(work: () => T, fail: (why: string) => TenonError): T {
  try {
    return work();
  } catch (error) {
    throw fail(messageOf(error));
  }
}

/** The lock says whether a gateway lives at the socket; without one the socket is what a dead one left. */
async function prepareSocket(world: World, path: string): Promise<PreparedPlace> {
  const hint = `Give the folder to yourself alone (mode 700), or remove it: ${dirname(path)}`;
  const check = async (mayBeMissing: boolean) => {
    const isMissing = mayBeMissing && (await world.files.kindOf(dirname(path))) === undefined;
    const problem = isMissing ? undefined : await socketFolderProblem(world, path);
    if (problem !== undefined) throw new TenonError("gateway.not_started", problem, { hint });
  };
  const taken = (heldBy: number) =>
    new TenonError("gateway.not_started", `the gateway of process ${heldBy} listens at ${path}`, {
      hint: "tenon gateway status shows it, and tenon gateway stop ends it.",
    });
  await check(true);
  const attempt = await tryFileLock(world, `${path}.lock`);
  if (!attempt.lock) throw taken(attempt.heldBy);
  const { lock } = attempt;
  try {
    await check(false);
    const kind = await world.files.kindOf(path);
    if (kind !== undefined && kind !== "other") {
      throw new TenonError("gateway.not_started", `${path} is a ${kind}, not a socket`, { hint: "Remove it." });
    }
    await world.files.remove(path);
  } catch (error) {
    await lock.release();
    throw error;
  }
  return { release: () => lock.release(), listen: (handlers) => listenAtSocket(world, path, { lock, handlers }) };
}

async function listenAtSocket(
  world: World,
  path: string,
  { lock, handlers }: { lock: FileLock; handlers: (entrance: Entrance) => ServeHandlers },
): Promise<ListeningPlace> {
  const options = { ...BOUNDS, place: { path } };
  const entrance: Entrance = { kind: "socket" };
  const serving = world.serve(options, handlers(entrance));
  const place = await orFail("gateway.not_started", `cannot listen at ${path}`, serving).catch(
    async (error: unknown) => {
      await lock.release();
      throw error;
    },
  );
  return {
    address: place.address,
    port: 0,
    entrance,
    [Symbol.asyncDispose]: async () => {
      await place[Symbol.asyncDispose]();
      await lock.release();
    },
  };
}
