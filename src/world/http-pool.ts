// Connections for HTTP requests: kept for the next one, dropped before the server does it, known to have been made or not.
import {
  type ClientRequest,
  type ClientRequestArgs,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { type LookupFunction, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpHead, HttpPool, HttpPoolOptions, ResolvedAddress } from "../base/ports/world.js";

type Created = (error: Error | null, stream: Duplex) => void;

/** Connections that stood, if only for a moment: what was written to them may have arrived. */
const made = new WeakSet<Duplex>();

/** The newest idle connection first: the others then get old enough to be dropped. */
const KEPT = { keepAlive: true, scheduling: "lifo" } as const;

export function httpPool({ isTls, addresses, maxIdleMs }: HttpPoolOptions): HttpPool {
  const options = { ...KEPT, lookup: fixedLookup(addresses), rejectUnauthorized: true };
  const agent: HttpAgent = isTls ? new HttpsAgent(options) : new HttpAgent(options);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (request: ClientRequestArgs, callback?: Created) => {
    const socket = connect(request, callback);
    socket?.once(isTls ? "secureConnect" : "connect", () => made.add(socket));
    return socket;
  };
  let idleMs = maxIdleMs;
  let heard: string | undefined;
  agent.keepSocketAlive = (socket: Duplex) => {
    if (idleMs <= 0 || !(socket instanceof Socket)) return false;
    socket.unref();
    // Armed once and left so: the agent ends only idle connections.
    if (socket.timeout !== idleMs) socket.setTimeout(idleMs);
    return true;
  };
  // A server that says it drops idle connections even earlier (`Keep-Alive: timeout=2`) is believed.
  const hear = ({ headers }: IncomingMessage) => {
    const keepAlive = headers["keep-alive"];
    if (typeof keepAlive !== "string" || keepAlive === heard) return;
    heard = keepAlive;
    const seconds = /^timeout=(\d{1,9})/u.exec(keepAlive)?.[1];
    idleMs = seconds === undefined ? maxIdleMs : Math.min(maxIdleMs, Number(seconds) * 1_000 - 1_000);
  };
  return {
    request: (head) => {
      const request = send(isTls, agent, head);
      request.on("response", hear);
      return request;
    },
    wasConnected: ({ socket }) => socket !== null && made.has(socket),
    close: () => agent.destroy(),
  };
}

function ignore(): void {}

function send(isTls: boolean, agent: HttpAgent, head: HttpHead): ClientRequest {
  const { hostname, port, path, servername, method, headers } = head;
  const options = { agent, hostname, port, path, servername, method, headers };
  const request = isTls ? httpsRequest(options) : httpRequest(options);
  request.on("error", ignore); // told to whoever sent it; unheard it would end the process
  return request;
}

/** Only what was resolved and checked before is ever dialled. */
function fixedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (hostname, options, callback) => {
    const wanted = addresses.filter(({ family }) => !options.family || family === options.family);
    const [first] = wanted;
    if (!first) callback(new Error(`no address of ${hostname} was checked`), "", 0);
    else if (options.all) callback(null, [...wanted]);
    else callback(null, first.address, first.family);
  };
}
