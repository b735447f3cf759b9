// The legacy sessions of a scripted HTTP server: their requests, their standing streams, their ends.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonObject } from "../../base/json/json.js";
import type { Host, RequestId } from "./host.js";
import { eventText, HttpAnswer } from "./http-answer.js";
import { isRequestId, type ScriptedPeer } from "./peer.js";

export interface HttpSessionOptions {
  /** Answers as event streams even where plain JSON would do. */
  readonly streamsAnswers?: boolean;
  /** Offers a stream for GET; what belongs to no request goes there. Otherwise GET gets 405. */
  readonly hasListenStream?: boolean;
  /** Asks the client on the standing stream only, and drops what it would ask while there is none, as SDK servers do. */
  readonly asksOnListenStream?: boolean;
}

export type OpenPeer = (send: Host["send"], cut: () => void, garbage?: Host["garbage"]) => ScriptedPeer;

interface HttpSession {
  readonly peer: ScriptedPeer;
  readonly answers: Map<RequestId, HttpAnswer>;
  stream: ServerResponse | undefined;
}

export class HttpSessions {
  readonly #sessions = new Map<string, HttpSession>();
  readonly #options: HttpSessionOptions;
  readonly #openPeer: OpenPeer;
  readonly #bug: (error: unknown) => void;

  constructor(options: HttpSessionOptions, openPeer: OpenPeer, bug: (error: unknown) => void) {
    this.#options = options;
    this.#openPeer = openPeer;
    this.#bug = bug;
  }

  get count(): number {
    return this.#sessions.size;
  }

  get peers(): readonly ScriptedPeer[] {
    return [...this.#sessions.values()].map(({ peer }) => peer);
  }

  get streams(): readonly ServerResponse[] {
    return [...this.#sessions.values()].flatMap(({ stream }) => (stream ? [stream] : []));
  }

  async receive(request: IncomingMessage, response: ServerResponse, message: JsonObject | undefined): Promise<void> {
    if (request.method === "GET" && this.#options.hasListenStream) return this.#openStream(request, response);
    if (request.method === "DELETE") return await this.#delete(request, response);
    if (request.method !== "POST") return refuse(response, 405, "only POST and DELETE");
    if (!message) return refuse(response, 400, "the body is no JSON-RPC message");
    this.#post(request, response, message);
  }

  async forget(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  #post(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const { id, method } = message;
    const sessionId = method === "initialize" ? this.#open() : sessionIdOf(request);
    if (sessionId === undefined) return refuse(response, 400, "Mcp-Session-Id is missing");
    const session = this.#sessions.get(sessionId);
    if (!session) return refuse(response, 404, "session not found");
    if (method === "initialize") response.setHeader("mcp-session-id", sessionId);
    if (typeof method === "string" && isRequestId(id)) {
      session.answers.set(id, new HttpAnswer(response, id, this.#options.streamsAnswers));
      response.on("close", () => session.answers.delete(id));
    } else response.writeHead(202).end();
    session.peer.receive(message);
  }

  #openStream(request: IncomingMessage, response: ServerResponse): void {
    const session = this.#sessions.get(sessionIdOf(request) ?? "");
    if (!session) return refuse(response, 404, "session not found");
    if (session.stream) return refuse(response, 409, "only one stream a session");
    session.stream = response;
    response.on("close", () => {
      if (session.stream === response) session.stream = undefined;
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": open\n\n");
  }

  async #delete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sessionId = sessionIdOf(request);
    if (sessionId === undefined || !this.#sessions.has(sessionId)) return refuse(response, 404, "session not found");
    await this.#end(sessionId);
    response.writeHead(200).end();
  }

  #open(): string {
    const sessionId = randomUUID();
    const answers = new Map<RequestId, HttpAnswer>();
    const send: Host["send"] = (message, replyTo) => {
      const isAsking = message["method"] !== undefined && message["id"] !== undefined;
      const isForStream = replyTo === undefined || (isAsking && this.#options.asksOnListenStream === true);
      if (isForStream) session.stream?.write(eventText(message));
      else answers.get(replyTo)?.send(message);
    };
    const garbage: Host["garbage"] = (text, replyTo) =>
      replyTo === undefined ? undefined : answers.get(replyTo)?.garbage(text);
    const cut = () => {
      for (const answer of answers.values()) answer.cut();
      session.stream?.destroy();
      this.#end(sessionId).catch(this.#bug);
    };
    const session: HttpSession = { peer: this.#openPeer(send, cut, garbage), answers, stream: undefined };
    this.#sessions.set(sessionId, session);
    return sessionId;
  }

  async #end(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    session?.stream?.end();
    await session?.peer.close();
  }
}

function sessionIdOf(request: IncomingMessage): string | undefined {
  const header = request.headers["mcp-session-id"];
  return typeof header === "string" ? header : undefined;
}

export function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
