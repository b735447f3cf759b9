// The older HTTP+SSE transport of the scripted server: one event stream a client, POSTs to the endpoint it names.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonObject } from "../../base/json/json.js";
import { eventText } from "./http-answer.js";
import type { ScriptedPeer } from "./peer.js";

interface SseSession {
  readonly peer: ScriptedPeer;
  readonly stream: ServerResponse;
}

/** What sends on a session's stream. */
export type SseSend = (message: JsonObject) => void;

export class SseSessions {
  readonly #sessions = new Map<string, SseSession>();
  readonly #openPeer: (send: SseSend, cut: () => void) => ScriptedPeer;

  constructor(openPeer: (send: SseSend, cut: () => void) => ScriptedPeer) {
    this.#openPeer = openPeer;
  }

  get count(): number {
    return this.#sessions.size;
  }

  open(response: ServerResponse): void {
    const sessionId = randomUUID();
    const send = (message: JsonObject) => response.write(eventText(message));
    const peer = this.#openPeer(send, () => response.destroy());
    this.#sessions.set(sessionId, { peer, stream: response });
    response.on("close", () => this.#sessions.delete(sessionId));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`event: endpoint\ndata: /message?sessionId=${sessionId}\n\n`);
  }

  receive(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const sessionId = new URL(request.url ?? "/", "http://localhost").searchParams.get("sessionId") ?? "";
    const session = this.#sessions.get(sessionId);
    if (!session) {
      response.writeHead(404, { "content-type": "text/plain" }).end("Session not found");
      return;
    }
    response.writeHead(202).end("Accepted");
    session.peer.receive(message);
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { stream } of sessions) stream.end();
    await Promise.all(sessions.map(({ peer }) => peer.close()));
  }
}
