// The bad server over Streamable HTTP, with sessions, a standing stream and events that can be resumed.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type JsonObject, parseObject } from "../../../../src/base/json/json.js";
import { listenOnLoopback, readBody } from "../../../../src/testing/kit/loopback.js";
import type { MischiefName } from "../cells.js";
import { type Id, type Lab, pause, progressOf, response, type Strike, textResult } from "./lab.js";
import { ACTS } from "./mischief.js";
import { bodyOut, eventOut, type Out } from "./out.js";
import { idOf, initializeResult, paramsOf, tokenOf } from "./requests.js";

interface Fault {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** For so long everything is refused, from the strike on. */
const FAULT_MS = 700;
/** For so long nobody listens at the port after a crash. */
const DOWN_MS = 300;

const FAULTS: { readonly [name in MischiefName]?: Fault } = {
  unauthorized_401: {
    status: 401,
    headers: { "www-authenticate": 'Bearer realm="bad", error="invalid_token"' },
    body: '{"error":"invalid_token"}',
  },
  forbidden_403: {
    status: 403,
    headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="files:write"' },
    body: "forbidden",
  },
  server_error_500: { status: 500, headers: { "content-type": "text/html" }, body: "<h1>Oops</h1>" },
  unavailable_503: { status: 503, headers: { "retry-after": "1" }, body: "" },
  too_many_429: { status: 429, headers: { "retry-after": "1" }, body: "slow down" },
  redirect_loop: { status: 307, headers: { location: "/mcp?again" }, body: "" },
  wrong_type: { status: 200, headers: { "content-type": "text/html" }, body: "<html>Log in to the café</html>" },
};

/** Whose answer is one JSON body: the others need a stream for what comes before it. */
const AS_BODY: ReadonlySet<MischiefName> = new Set([
  "drip",
  "half_frame",
  "torn_body",
  "bad_utf8",
  "long_line",
  "long_garbage",
  "big_result",
  "fat_result",
  "late_reply",
  "out_of_order",
]);

export async function serveHttp(lab: Lab): Promise<void> {
  const { mischief } = lab.settings;
  const sessions = new Map<string, ServerResponse | undefined>();
  const sockets = new Set<Socket>();
  let fault: Fault | undefined;
  let hasForgotten = false;

  const server = createServer((request, answer) => {
    handle(request, answer).catch((error: unknown) => {
      process.stderr.write(`bad server: ${String(error)}\n`);
      answer.destroy();
    });
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  async function handle(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const message = parseObject(await readBody(request)) ?? {};
    const { name } = paramsOf(message);
    const isStrike = message["method"] === "tools/call" && (name === "strike" || name === "stream");
    if (isStrike && name === "strike" && FAULTS[mischief]) faultsBegin();
    if (isStrike && name === "strike" && mischief === "session_404" && !hasForgotten) forget();
    // Sent on to where the server says, or sent again to one that refused to look at it: that is no replay.
    const isLookedAt = fault === undefined || mischief !== "redirect_loop";
    if (isStrike && isLookedAt && (mischief !== "session_404" || sessions.size > 0)) lab.record("asked");
    if (fault) {
      if (request.method === "GET") lab.record("get");
      answer.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const sessionId = request.headers["mcp-session-id"];
    if (message["method"] === "initialize") return initialize(message, answer);
    if (typeof sessionId !== "string" || !sessions.has(sessionId)) {
      answer.writeHead(404, { "content-type": "application/json" });
      answer.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}');
      return;
    }
    if (request.method === "GET") return openStream(request, sessionId, answer);
    if (request.method === "DELETE") {
      sessions.delete(sessionId);
      answer.writeHead(200).end();
      return;
    }
    await post(message, sessionId, answer);
  }

  function initialize(message: JsonObject, answer: ServerResponse): void {
    const id = idOf(message);
    const sessionId = randomUUID();
    sessions.set(sessionId, undefined);
    answer.writeHead(200, { "content-type": "application/json", "mcp-session-id": sessionId });
    answer.end(JSON.stringify(response(id ?? null, initializeResult(paramsOf(message)))));
  }

  function openStream(request: IncomingMessage, sessionId: string, answer: ServerResponse): void {
    lab.record("get");
    // Resuming is offered by the ids and then not kept: what was on the stream is gone.
    if (request.headers["last-event-id"] === undefined) sessions.set(sessionId, answer);
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.write(": here\n\n");
  }

  async function post(message: JsonObject, sessionId: string, answer: ServerResponse): Promise<void> {
    const id = idOf(message);
    const params = paramsOf(message);
    if (id === undefined || typeof message["method"] !== "string") {
      answer.writeHead(202).end();
      if (message["method"] === "notifications/cancelled") cancel(params["requestId"]);
      return;
    }
    const out = bodyOut(answer);
    switch (message["method"]) {
      case "tools/list":
        return await out.message(response(id, lab.page(params["cursor"])));
      case "tools/call":
        return await call(id, params, sessionId, answer);
      case "ping":
        return await out.message(response(id, {}));
      default:
        return await out.message({ jsonrpc: "2.0", id, error: { code: -32_601, message: "no such method" } });
    }
  }

  const running = new Map<Id, AbortController>();
  function cancel(id: unknown): void {
    if (typeof id === "string" || typeof id === "number") running.get(id)?.abort();
  }

  async function call(id: Id, params: JsonObject, sessionId: string, answer: ServerResponse): Promise<void> {
    const { name } = params;
    const out = bodyOut(answer);
    const token = tokenOf(params);
    switch (name) {
      case "slow":
        await pause(200);
        return await out.message(response(id, textResult("slow")));
      case "arm": {
        await out.message(response(id, textResult("armed")));
        await pause(30);
        const stream = sessions.get(sessionId);
        if (!stream) throw new Error("there is no standing stream to misbehave on");
        return await strike({ phase: "idle", out: eventOut(stream), id: undefined, token: undefined }, stream);
      }
      case "strike": {
        const one = AS_BODY.has(mischief) ? out : events(answer);
        return await strike({ phase: "call", out: one, id, token }, answer);
      }
      case "stream": {
        const stream = events(answer);
        for (const progress of [1, 2, 3]) {
          await stream.message(progressOf(token, progress));
          await pause(10);
        }
        return await strike({ phase: "stream", out: stream, id, token }, answer);
      }
      default:
        return await out.message(response(id, textResult("pong")));
    }
  }

  function events(answer: ServerResponse): Out {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    return eventOut(answer, randomUUID());
  }

  async function strike(facts: Omit<Strike, "gone">, answer: ServerResponse): Promise<void> {
    const controller = new AbortController();
    if (facts.id !== undefined) running.set(facts.id, controller);
    answer.on("close", () => controller.abort());
    const act = ACTS[mischief];
    if (mischief === "crash") await crash();
    else if (mischief === "reset") for (const socket of sockets) socket.resetAndDestroy();
    else if (mischief === "session_404") {
      if (hasForgotten) return await facts.out.message(response(facts.id ?? null, textResult("struck")));
      forget();
      answer.destroy();
    } else if (FAULTS[mischief]) {
      faultsBegin();
      answer.destroy();
    } else await act?.({ ...facts, gone: controller.signal }, lab);
    if (!answer.writableEnded && facts.phase !== "idle" && act) answer.end();
    lab.record("struck");
  }

  function forget(): void {
    hasForgotten = true;
    for (const stream of sessions.values()) stream?.destroy();
    sessions.clear();
  }

  function faultsBegin(): void {
    if (fault) return;
    fault = FAULTS[mischief];
    for (const stream of sessions.values()) stream?.destroy();
    setTimeout(() => {
      fault = undefined;
    }, FAULT_MS);
  }

  /** As a process that dies and is started again: sessions are forgotten, and for a while nobody listens. */
  async function crash(): Promise<void> {
    sessions.clear();
    server.close();
    for (const socket of sockets) socket.destroy();
    await pause(DOWN_MS);
    server.listen(Number(port), "127.0.0.1");
  }

  const origin = await listenOnLoopback(server);
  const { port } = new URL(origin);
  process.stdin.resume().on("end", () => process.exit(0));
  process.stdout.write(`${origin}/mcp\n`);
}
