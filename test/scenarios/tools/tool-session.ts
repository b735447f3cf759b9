// A session of the library with servers, tools and a model of the test's own, in a home and a project that go with it.
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StdioSpec } from "../../../src/mcp/index.js";
import type { Model } from "../../../src/models/index.js";
import {
  createHost,
  type NewSession,
  type PermissionAnswer,
  type PermissionQuestion,
  type Session,
  type SessionEvent,
  type SessionHost,
} from "../../../src/session/index.js";
import { type Behaviour, scriptedServer } from "../../../src/testing/index.js";
import type { ToolOutcome, ToolTransformer } from "../../../src/tools/index.js";
import { nodeWorld } from "../../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "../agent.js";

interface OpenOptions extends Omit<NewSession, "cwd"> {
  readonly model: Model | string;
  /** The project unless given. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly transformers?: readonly ToolTransformer[];
  /** How the person answers; `once` unless given. `nobody`: there is no person. */
  readonly answer?: PermissionAnswer | "nobody" | ((question: PermissionQuestion) => PermissionAnswer);
}

export class ToolBench implements AsyncDisposable {
  readonly #folder = new TemporaryFolder();
  readonly #open: { readonly runtime: SessionHost; readonly reading: Promise<void> }[] = [];
  readonly #waiting: { test(event: SessionEvent): boolean; resolve(event: SessionEvent): void }[] = [];
  readonly root: string = realpathSync(this.#folder.path);
  readonly home: string = join(this.root, "home");
  readonly project: string = join(this.root, "project");
  /** Of all sessions, in their order. */
  readonly events: SessionEvent[] = [];
  readonly asked: PermissionQuestion[] = [];

  constructor() {
    for (const folder of [this.home, this.project]) mkdirSync(folder);
  }

  /** The user's own configuration. */
  configure(config: object): void {
    writeFileSync(join(this.home, "config.json"), JSON.stringify(config));
  }

  open(options: OpenOptions): Session {
    const { runtime, request } = this.#runtime(options);
    return this.#follow(runtime, runtime.createSession({ cwd: this.project, ...request }), options);
  }

  /** Takes a session up again that was closed. */
  async load(options: OpenOptions & { readonly id: string }): Promise<Session> {
    const { runtime, request } = this.#runtime(options);
    const { session } = await runtime.loadSession({ cwd: this.project, ...request, id: options.id });
    return this.#follow(runtime, session, options);
  }

  #runtime(options: OpenOptions) {
    const { model, env = {}, transformers, answer: _answer, ...request } = options;
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const world = nodeWorld({ env: cleanEnv(this.home, { HOME: this.home, ...env }), log });
    const runtime = createHost({ world, model, config: {}, ...(transformers ? { transformers } : {}) });
    return { runtime, request };
  }

  #follow(runtime: SessionHost, session: Session, { answer = "once" }: OpenOptions): Session {
    if (answer !== "nobody") {
      session.attach({
        ask: async (question) => {
          this.asked.push(question);
          return typeof answer === "function" ? answer(question) : answer;
        },
      });
    }
    this.#open.push({ runtime, reading: this.#read(session) });
    return session;
  }

  /** Resolves with the first event that passes, recorded or to come. */
  async until(test: (event: SessionEvent) => boolean): Promise<SessionEvent> {
    return this.events.find(test) ?? (await new Promise((resolve) => this.#waiting.push({ test, resolve })));
  }

  get notices(): readonly string[] {
    return this.events.flatMap((event) => (event.kind === "notice" ? [event.text] : []));
  }

  /** How calls ended, in the order in which they did. */
  get outcomes(): readonly ToolOutcome[] {
    return this.events.flatMap((event) =>
      event.kind === "turn" && event.event.kind === "call_ended" ? [event.event.outcome] : [],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { runtime, reading } of this.#open) {
      await runtime.close();
      await reading;
    }
    this.#folder[Symbol.dispose]();
  }

  async #read(session: Session): Promise<void> {
    for await (const event of session.events()) {
      this.events.push(event);
      for (const { test, resolve } of this.#waiting) if (test(event)) resolve(event);
    }
  }
}

export function stdio(name: string, behaviour: Behaviour): StdioSpec {
  return { kind: "stdio", name, ...scriptedServer(behaviour) };
}

/** As a configuration file has it. */
export function entry(behaviour: Behaviour, extra: object = {}): object {
  const { command, args } = scriptedServer(behaviour);
  return { command, args, ...extra };
}

/** A server whose definitions can change while it stays the same server: what it does is read from a file. */
export function changeable(
  name: string,
  folder: string,
): { readonly spec: StdioSpec; become(behaviour: Behaviour): void } {
  const path = join(folder, `${name}.json`);
  const { command, args, env } = scriptedServer({});
  const spec: StdioSpec = { kind: "stdio", name, command, args: [args[0] ?? "", "--behaviour-file", path], env };
  return { spec, become: (behaviour) => writeFileSync(path, JSON.stringify(behaviour)) };
}
