// For the tests of this folder: an agent that plays a script, and a chat with streams and a clock in the test's hands.
import { PassThrough } from "node:stream";
import {
  type AgentApp,
  type AgentContext,
  agent,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  type PermissionOption,
  PROTOCOL_VERSION,
  type RequestPermissionResponse,
  type SessionUpdate,
  type StopReason,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { type ChatOptions, runChat } from "../src/cli/chat/chat.js";
import { STATUS_METHOD } from "../src/cli/chat/session.js";
import type { Clock } from "../src/cli/terminal/stream.js";

const SESSION = "session-1";

/** One prompt as the script of an agent sees it. */
export interface Turn {
  readonly text: string;
  /** Aborts at `session/cancel`. */
  readonly cancelled: AbortSignal;
  update(update: SessionUpdate): Promise<void>;
  say(text: string): Promise<void>;
  /** `withdrawn`: takes the question back. */
  ask(
    toolCall: ToolCallUpdate,
    options?: PermissionOption[],
    withdrawn?: AbortSignal,
  ): Promise<RequestPermissionResponse["outcome"]>;
  /** The same with all of the answer. */
  askWhole(toolCall: ToolCallUpdate): Promise<RequestPermissionResponse>;
  /** Of a gateway. */
  info(tenon: object): Promise<void>;
  elicit(request: ElicitationForm): Promise<CreateElicitationResponse>;
  /** As Tenon's agent asks about what a project's files bring. */
  askTrust(toolCall: ToolCallUpdate): Promise<RequestPermissionResponse["outcome"]>;
}

/** A form, or a page, without the session. */
export type ElicitationForm =
  | Omit<Extract<CreateElicitationRequest, { mode: "form" }>, "sessionId">
  | Omit<Extract<CreateElicitationRequest, { mode: "url" }>, "sessionId">;

export interface FakeAgent {
  readonly turn?: (turn: Turn) => Promise<StopReason>;
  readonly status?: () => unknown;
  readonly onNew?: (client: AgentContext) => Promise<void>;
  readonly onClose?: () => Promise<void>;
  /** Of a gateway: the sessions there are, and what a client is sent before the answer that joins one. */
  readonly sessions?: readonly { sessionId: string; cwd: string; title: string }[];
  readonly onJoin?: (turn: Turn) => Promise<object>;
  /** Every request and notification, in order. */
  readonly heard?: { method: string; params: unknown }[];
}

function fakeAgent(fake: FakeAgent): AgentApp {
  const running = new Set<AbortController>();
  const idle = new AbortController().signal;
  const hear = (method: string, params: unknown) => fake.heard?.push({ method, params });
  return agent({ name: "fake" })
    .onRequest(methods.agent.initialize, ({ params, method }) => {
      hear(method, params);
      const tenon = { client: { id: "c-me" } };
      return { protocolVersion: PROTOCOL_VERSION, agentCapabilities: {}, authMethods: [], _meta: { tenon } };
    })
    .onRequest(methods.agent.session.new, async ({ params, method, client }) => {
      hear(method, params);
      await fake.onNew?.(client);
      return { sessionId: SESSION };
    })
    .onRequest(methods.agent.session.list, () => ({ sessions: [...(fake.sessions ?? [])] }))
    .onRequest(methods.agent.session.load, async ({ params, method, client }) => {
      hear(method, params);
      const tenon = (await fake.onJoin?.(createTurn(client, "", idle))) ?? {};
      return { _meta: { tenon } };
    })
    .onRequest(methods.agent.session.resume, async ({ params, method, client }) => {
      hear(method, params);
      const tenon = (await fake.onJoin?.(createTurn(client, "", idle))) ?? {};
      return { _meta: { tenon } };
    })
    .onRequest(methods.agent.session.prompt, async ({ params, method, client }) => {
      hear(method, params);
      const cancel = new AbortController();
      running.add(cancel);
      const [block] = params.prompt;
      const text = block?.type === "text" ? block.text : "";
      return { stopReason: (await fake.turn?.(createTurn(client, text, cancel.signal))) ?? "end_turn" };
    })
    .onNotification(methods.agent.session.cancel, ({ params, method }) => {
      hear(method, params);
      for (const cancel of running) cancel.abort();
    })
    .onRequest(methods.agent.session.close, async ({ params, method }) => {
      hear(method, params);
      await fake.onClose?.();
    })
    .onRequest(
      STATUS_METHOD,
      (params) => params,
      ({ params, method }) => {
        hear(method, params);
        return fake.status?.() ?? { servers: [] };
      },
    );
}

const PLAIN_OPTIONS: PermissionOption[] = [
  { optionId: "yes-once", name: "Allow", kind: "allow_once" },
  { optionId: "yes-always", name: "Always", kind: "allow_always" },
  { optionId: "no-once", name: "No", kind: "reject_once" },
];

function createTurn(client: AgentContext, text: string, cancelled: AbortSignal): Turn {
  const update = (value: SessionUpdate) =>
    client.notify(methods.client.session.update, { sessionId: SESSION, update: value });
  return {
    text,
    cancelled,
    update,
    say: (words) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: words } }),
    ask: async (toolCall, options = PLAIN_OPTIONS, cancellationSignal = new AbortController().signal) => {
      const response = await client.request(
        methods.client.session.requestPermission,
        { sessionId: SESSION, toolCall, options },
        { cancellationSignal },
      );
      return response.outcome;
    },
    askWhole: (toolCall) =>
      client.request(methods.client.session.requestPermission, {
        sessionId: SESSION,
        toolCall,
        options: PLAIN_OPTIONS,
      }),
    info: (tenon) => update({ sessionUpdate: "session_info_update", _meta: { tenon } }),
    elicit: (request) => client.request(methods.client.elicitation.create, { ...request, sessionId: SESSION }),
    askTrust: async (toolCall) => {
      const options: PermissionOption[] = [
        { optionId: "trust", name: "Trust exactly this", kind: "allow_always" },
        { optionId: "later", name: "Not now", kind: "reject_once" },
        { optionId: "never", name: "Never", kind: "reject_always" },
      ];
      const response = await client.request(methods.client.session.requestPermission, {
        sessionId: SESSION,
        toolCall,
        options,
        _meta: { tenon: { trust: true, server: "build" } },
      });
      return response.outcome;
    },
  };
}

export class ManualClock implements Clock {
  readonly #pending = new Set<() => void>();
  readonly #ticks = new Set<() => void>();
  nowMs = 0;

  get ticking(): number {
    return this.#ticks.size;
  }

  tick(): void {
    for (const run of [...this.#ticks]) run();
  }

  now(): number {
    return this.nowMs;
  }

  every(_intervalMs: number, run: () => void): () => void {
    this.#ticks.add(run);
    return () => this.#ticks.delete(run);
  }

  after(_delayMs: number, run: () => void): () => void {
    this.#pending.add(run);
    return () => this.#pending.delete(run);
  }

  /** Lets everything that waits for a time have it. */
  expire(): void {
    for (const run of [...this.#pending]) run();
  }
}

/** An output of which a test can wait for a text. */
export class Written {
  readonly stream: PassThrough & { isTTY: boolean; columns: number };
  #text = "";
  readonly #waiting = new Set<() => void>();

  constructor(isTTY: boolean) {
    this.stream = Object.assign(new PassThrough(), { isTTY, columns: 100 });
    this.stream.setEncoding("utf8").on("data", (chunk: string) => {
      this.#text += chunk;
      for (const look of [...this.#waiting]) look();
    });
  }

  get text(): string {
    return this.#text;
  }

  get lines(): string[] {
    return this.#text.split("\n").slice(0, -1);
  }

  /** Resolves once `wanted` has been written `times` times. */
  async until(wanted: string, times = 1): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = () => {
        if (this.#text.split(wanted).length <= times) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}

export class TestChat {
  readonly input: PassThrough = new PassThrough();
  readonly output: Written;
  readonly errorOutput: Written;
  readonly clock: ManualClock = new ManualClock();
  readonly #listeners = new Set<() => void>();

  constructor({ isTTY = false }: { isTTY?: boolean } = {}) {
    this.output = new Written(isTTY);
    this.errorOutput = new Written(isTTY);
  }

  run(fake: FakeAgent, options: Partial<ChatOptions> = {}): Promise<number> {
    return runChat({
      agent: fakeAgent(fake),
      cwd: "/somewhere",
      json: false,
      yes: false,
      interactive: false,
      input: this.input,
      output: this.output.stream,
      errorOutput: this.errorOutput.stream,
      color: false,
      clock: this.clock,
      onInterrupt: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      ...options,
    });
  }

  get listening(): number {
    return this.#listeners.size;
  }

  interrupt(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  type(line: string): void {
    this.input.write(`${line}\n`);
  }
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
