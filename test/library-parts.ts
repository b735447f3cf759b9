// For tests of the library: a place with runtimes and their events, a model that is scripted, a store in memory.
import { vi } from "vitest";
import {
  createRuntime,
  type Model,
  type ModelEvent,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type SessionStore,
  type TenonError,
} from "../src/library/index.js";
import { type Behaviour, echoTool, type ScriptedServerSpec, scriptedServer } from "../src/testing/index.js";
import { cleanEnv, TemporaryFolder } from "./scenarios/agent.js";

export const echo = (behaviour: Behaviour = {}): ScriptedServerSpec =>
  scriptedServer({ tools: [echoTool()], ...behaviour });

/** A runtime and one session in a home of their own; the home is empty unless something writes to it. */
export class Place implements AsyncDisposable {
  readonly home: TemporaryFolder = new TemporaryFolder();
  readonly events: SessionEvent[] = [];
  readonly #closes: (() => Promise<void>)[] = [];

  get env(): Record<string, string> {
    return cleanEnv(this.home.path);
  }

  async runtime(options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    const onEvent = (event: SessionEvent) => this.events.push(event);
    const runtime = await createRuntime({ model: "offline/operator", env: this.env, onEvent, ...options });
    this.#closes.push(() => runtime.close());
    return runtime;
  }

  async session(options: Partial<RuntimeOptions> = {}): Promise<Session> {
    const runtime = await this.runtime(options);
    return await runtime.createSession({ cwd: this.home.path });
  }

  async event<Type extends SessionEvent["type"]>(
    type: Type,
    fits: (event: Extract<SessionEvent, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<SessionEvent, { type: Type }>> {
    const isIt = (event: SessionEvent): event is Extract<SessionEvent, { type: Type }> => event.type === type;
    return await vi.waitFor(
      () => {
        const found = this.events.filter(isIt).find(fits);
        if (!found) throw new Error(`there is no such event ${type}`);
        return found;
      },
      { timeout: 10_000 },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closes.reverse()) await close();
    this.home[Symbol.dispose]();
  }
}

export function memoryStore(lines: Map<string, string[]> = new Map()): SessionStore {
  return {
    list: async () => [...lines.keys()].map((key) => ({ key, updatedMs: 1 })),
    read: async (key) => lines.get(key),
    append: async (key, more) => {
      lines.set(key, [...(lines.get(key) ?? []), ...more]);
    },
    remove: async (key) => {
      lines.delete(key);
    },
  };
}

export async function failure(work: Promise<unknown>): Promise<TenonError> {
  return await work.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: TenonError) => error,
  );
}

/** A model of the test's own: each request gets the next answer. */
export function scripted(...answers: readonly (readonly ModelEvent[])[]): Model & { readonly offered: string[][] } {
  const left = [...answers];
  const offered: string[][] = [];
  return {
    id: "test/scripted",
    offered,
    async *stream({ tools }) {
      offered.push(tools.map(({ name }) => name));
      yield* left.shift() ?? [
        { kind: "text", text: "nothing more" },
        { kind: "finish", reason: "stop" },
      ];
    },
  };
}

export const said = (text: string): readonly ModelEvent[] => [
  { kind: "text", text },
  { kind: "finish", reason: "stop", usage: { inputTokens: 7, outputTokens: 3 } },
];
export const calling = (name: string, args: object): readonly ModelEvent[] => [
  { kind: "text", text: "Let me look. " },
  { kind: "tool_call", call: { callId: "1", name, argumentsJson: JSON.stringify(args) } },
  { kind: "finish", reason: "tool_calls", usage: { inputTokens: 5, outputTokens: 2 } },
];
