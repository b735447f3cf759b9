// A gateway in memory for the tests of the page: one session, a connection that breaks when it is told to.

import type { SocketEvents } from "../wire/client.js";
import { type JsonObject, numberAt, objectAt, parse, tenonMeta, textAt } from "../wire/json.js";
import { App } from "./app.js";

interface Waiting {
  readonly id: number;
  readonly socket: SocketEvents;
}

export class FakeGateway {
  isKnown = true;
  promptsRun = 0;
  readonly identities: string[] = [];
  readonly replies: { readonly id: unknown; readonly code: number }[] = [];
  /** After how many messages each connection breaks; those that follow the last one do not. */
  readonly #cuts: number[];
  readonly #records: string[] = [];
  readonly #timers: (() => void)[] = [];
  #socket: SocketEvents | undefined;
  #sent = 0;
  #promptId: string | undefined;
  #waiting: Waiting[] = [];
  #identity: string | null = null;
  #isJoined = false;

  constructor(cuts: readonly number[]) {
    this.#cuts = [...cuts];
  }

  browser(): ConstructorParameters<typeof App>[0] {
    return {
      connect: (events) => {
        this.#socket = events;
        [this.#sent, this.#isJoined] = [0, false];
        queueMicrotask(() => events.onOpen());
        return {
          send: (text) => {
            if (this.#socket === events) this.#received(objectAt(parse(text)));
          },
          close: () => {
            if (this.#socket === events) this.#socket = undefined;
          },
        };
      },
      after: (_ms, run) => {
        this.#timers.push(run);
        return () => {
          const at = this.#timers.indexOf(run);
          if (at >= 0) this.#timers.splice(at, 1);
        };
      },
      random: () => 0.5,
      now: () => 1_000,
      schedule: (run) => run(),
      logOut: async () => undefined,
      identity: { get: () => this.#identity, set: (value) => (this.#identity = value) },
      isKnown: async () => this.isKnown,
    };
  }

  /** Every message and every wait is over. Limits of time that nothing reached are kept out. */
  async settled(): Promise<void> {
    for (let round = 0; round < 40; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.#socket) for (const run of this.#timers.splice(0)) run();
    }
  }

  cut(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#waiting = this.#waiting.filter((one) => one.socket !== socket);
    socket?.onEnd();
  }

  say(text: string): void {
    this.#records.push(text);
    if (this.#isJoined) this.#sendRecord(this.#records.length);
  }

  finish(): void {
    this.#promptId = "ended";
    for (const { id } of this.#waiting.splice(0)) this.#answer(id, { stopReason: "end_turn" });
  }

  sendRaw(text: string): void {
    this.#socket?.onText(text);
  }

  #send(message: object): void {
    if (!this.#socket) return;
    this.#sent += 1;
    if (this.#cuts[0] !== undefined && this.#sent > this.#cuts[0]) {
      this.#cuts.shift();
      queueMicrotask(() => this.cut());
      this.#socket.onText("");
      return;
    }
    this.sendRaw(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  #answer(id: number, result: object): void {
    this.#send({ id, result });
  }

  #sendRecord(seq: number): void {
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: this.#records[seq - 1] } };
    const params = { sessionId: "s1", update, _meta: { tenon: { seq } } };
    this.#send({ method: "session/update", params });
  }

  #received(message: JsonObject): void {
    const [id = 0, method] = [numberAt(message, "id"), textAt(message, "method")];
    const params = objectAt(message, "params");
    if (method === undefined) {
      this.replies.push({ id: message["id"], code: numberAt(objectAt(message, "error"), "code") ?? 0 });
      return;
    }
    switch (method) {
      case "initialize": {
        const given = textAt(objectAt(tenonMeta(params), "client"), "id") ?? "c1";
        this.identities.push(given);
        const tenon = { client: { id: given, key: "k" }, account: "me", scopes: ["read", "prompt", "approve"] };
        return this.#answer(id, { _meta: { tenon } });
      }
      case "session/list":
        return this.#answer(id, { sessions: [{ sessionId: "s1", cwd: "/w", _meta: { tenon: { state: "idle" } } }] });
      case "session/load":
      case "session/resume":
        return this.#join(id, numberAt(tenonMeta(params), "after") ?? 0);
      case "session/prompt":
        return this.#prompt(id, textAt(tenonMeta(params), "promptId"));
      default:
        return this.#answer(id, { sessions: [] });
    }
  }

  #join(id: number, after: number): void {
    this.#isJoined = true;
    for (let seq = after + 1; seq <= this.#records.length; seq++) this.#sendRecord(seq);
    this.#answer(id, { _meta: { tenon: { state: "idle" } } });
  }

  #prompt(id: number, promptId: string | undefined): void {
    if (this.#promptId === "ended") return this.#answer(id, { stopReason: "end_turn" });
    if (promptId !== this.#promptId) this.promptsRun += 1;
    this.#promptId = promptId;
    if (this.#socket) this.#waiting.push({ id, socket: this.#socket });
  }
}

/** A page that is logged in and has its list. */
export async function online(gateway: FakeGateway): Promise<App> {
  const app = new App(gateway.browser());
  app.logIn({ account: "me", scopes: [], name: "page" });
  await gateway.settled();
  return app;
}
