// One session of the library against one fake provider, with everything it told, and the end that every case shares.
import { expect } from "vitest";
import type { ErrorCode, TenonError } from "../../../src/base/errors.js";
import { toTenonError } from "../../../src/base/errors.js";
import type { World } from "../../../src/base/ports/world.js";
import type { ContentBlock } from "../../../src/base/text/content.js";
import type { ServerSpec } from "../../../src/mcp/index.js";
import { lazyModel, loadModel } from "../../../src/models/index.js";
import {
  createHost,
  type PermissionAnswer,
  type PromptResult,
  type Session,
  type SessionEvent,
  type SessionHost,
} from "../../../src/session/index.js";
import { type Behaviour, echoTool, scriptedServer } from "../../../src/testing/index.js";
import { Feed } from "../../../src/testing/kit/feed.js";
import { type FakeProvider, type FakeProviderOptions, fakeProvider } from "../../../src/testing/lab/index.js";
import { nodeWorld } from "../../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "../agent.js";
import type { Target } from "./target.js";

export interface StageOptions {
  readonly provider?: FakeProviderOptions;
  /** By name; one called `s` with every tool of the table when left out. */
  readonly servers?: Readonly<Record<string, Behaviour>>;
  /** More of them, as they are. */
  readonly specs?: readonly ServerSpec[];
  readonly env?: Readonly<Record<string, string>>;
  /** How the model is loaded, beside its id and the environment. */
  readonly load?: Partial<Parameters<typeof loadModel>[1]>;
  /** Long waits are short ones: what is asked of the clock is in `waits` all the same. */
  readonly hurries?: boolean;
  /** The case is about requests that the provider refuses; in any other a refusal is a failure. */
  readonly mayRefuse?: boolean;
}

/** Waits from this on are hurried, by this factor. */
const LONG_MS = 400;
const HURRY = 50;

type TurnEvent = Extract<SessionEvent, { kind: "turn" }>["event"];

/** What one prompt came to. */
export interface Told {
  readonly result?: PromptResult;
  readonly error?: TenonError;
  readonly events: readonly SessionEvent[];
  readonly turn: readonly TurnEvent[];
  readonly text: string;
  readonly thoughts: string;
}

/** The tools of the table, on one server. */
export const TABLE_SERVER: Behaviour = {
  tools: [
    echoTool(),
    { name: "picture", description: "Returns a picture of one pixel.", reply: { kind: "image" } },
    { name: "stuck", description: "Never answers.", steps: [{ do: "never" }], reply: { kind: "text", text: "" } },
    { name: "broken", description: "Always fails.", reply: { kind: "error", text: "it broke" } },
  ],
};

interface Props {
  readonly provider: FakeProvider;
  readonly home: TemporaryFolder;
}

export class Stage implements AsyncDisposable {
  readonly target: Target;
  readonly provider: FakeProvider;
  readonly mayRefuse: boolean;
  readonly session: Session;
  readonly home: TemporaryFolder;
  readonly events: Feed<SessionEvent> = new Feed<SessionEvent>("event of the session");
  readonly log: string[] = [];
  /** What the clock was asked to wait for, in milliseconds. */
  readonly waits: number[] = [];
  readonly #runtime: SessionHost;
  readonly #reading: Promise<void>;

  private constructor(target: Target, { provider, home }: Props, options: StageOptions) {
    this.target = target;
    this.provider = provider;
    this.home = home;
    this.mayRefuse = options.mayRefuse ?? false;
    const write = (event: string, fields?: object) => this.log.push(`${event} ${JSON.stringify(fields ?? {})}`);
    const env = cleanEnv(this.home.path, { ...target.env(provider), ...options.env });
    const real = nodeWorld({ env, log: { debug: write, info: write, warn: write, error: write } });
    const world = options.hurries === true ? this.#hurried(real) : real;
    const { load } = options;
    const loaded = () => loadModel(target.model, { env: world.env, fetch: world.fetch, ...load });
    this.#runtime = createHost({ world, model: load ? lazyModel(target.model, loaded) : target.model });
    const servers = Object.entries(options.servers ?? { s: TABLE_SERVER });
    this.session = this.#runtime.createSession({
      cwd: this.home.path,
      servers: [
        ...servers.map(([name, behaviour]): ServerSpec => ({ kind: "stdio", name, ...scriptedServer(behaviour) })),
        ...(options.specs ?? []),
      ],
    });
    this.permit("always");
    this.#reading = this.#read();
  }

  static async open(target: Target, options: StageOptions = {}): Promise<Stage> {
    const provider = await fakeProvider({ schemaFaults: target.schemaFaults, ...options.provider });
    const home = new TemporaryFolder();
    try {
      return new Stage(target, { provider, home }, options);
    } catch (thrown) {
      home[Symbol.dispose]();
      await provider[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  permit(answer: PermissionAnswer): void {
    this.session.attach({ ask: async () => answer });
  }

  /** Never rejects: how it ended is part of what is told. */
  async prompt(content: string | readonly ContentBlock[], signal?: AbortSignal): Promise<Told> {
    const from = this.events.items.length;
    const ended = await this.session.prompt(content, signal).then(
      (result) => ({ result }),
      (thrown: unknown) => ({ error: toTenonError(thrown) }),
    );
    await this.events.find(({ kind }) => kind === "turn_ended", { from });
    const events = this.events.items.slice(from);
    const turn = events.flatMap((event) => (event.kind === "turn" ? [event.event] : []));
    return {
      ...ended,
      events,
      turn,
      text: turn.flatMap((event) => (event.kind === "text" ? [event.text] : [])).join(""),
      thoughts: turn.flatMap((event) => (event.kind === "thought" ? [event.text] : [])).join(""),
    };
  }

  /** The next event of a turn of this kind, also one that has come already since `from`. */
  async turnEvent(kind: TurnEvent["kind"], from = 0): Promise<void> {
    await this.events.find((event) => event.kind === "turn" && event.event.kind === kind, { from });
  }

  /** The bytes of every request so far, for what must never change. */
  get requestTexts(): readonly string[] {
    return this.provider.requests.map(({ body }) => JSON.stringify(body));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session.close();
    await this.#reading;
    this.events.end(new Error("the stage is closed")); // whoever still waits would hold a timer of the feed
    await this.#runtime[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
    this.home[Symbol.dispose]();
  }

  #hurried(world: World): World {
    return {
      ...world,
      after: (delayMs, run) => {
        this.waits.push(delayMs);
        return world.after(delayMs >= LONG_MS ? delayMs / HURRY : delayMs, run);
      },
    };
  }

  async #read(): Promise<void> {
    for await (const event of this.session.events()) this.events.push(event);
  }
}

/** What holds in every case: nothing was asked that the provider refuses. */
export function verifyRequests({ mayRefuse, provider }: Stage): void {
  const refused = mayRefuse ? [] : provider.refusals.map(({ fault }) => fault);
  expect(refused, "the provider refused a request of Tenon's").toEqual([]);
}

/** Runs a case on a stage of its own, with the checks that hold for every case. */
export async function onStage(
  target: Target,
  run: (stage: Stage) => Promise<void>,
  options: StageOptions = {},
): Promise<void> {
  await using stage = await Stage.open(target, options);
  try {
    await run(stage);
  } catch (thrown) {
    verifyRequests(stage); // if that is what went wrong, it says more than what followed from it
    throw thrown;
  }
  verifyRequests(stage);
  expect(stage.provider.unusedReplies, "replies nobody asked for").toBe(0);
}

/** A turn that failed as it should: with this code, words for people, and never as a normal end. */
export function expectFailure(told: Told, code: ErrorCode): void {
  expect({ code: told.error?.code, result: told.result }).toEqual({ code, result: undefined });
  expect(told.error?.message.length, "a readable message").toBeGreaterThan(20);
  expect(told.error?.hint.length, "what to do about it").toBeGreaterThan(5);
  const ended = told.events.filter(({ kind }) => kind === "turn_ended");
  expect(ended).toMatchObject([{ error: { code } }]);
}

/** The conversation goes on: a further prompt is answered, and the provider takes the whole of it. */
export async function expectGoesOn(stage: Stage, words = "and on it goes"): Promise<Told> {
  stage.provider.reply({ kind: "answer", parts: [{ kind: "text", text: words }] });
  const told = await stage.prompt("go on");
  expect(told.error).toBeUndefined();
  expect(told.result?.stopReason).toBe("end_turn");
  expect(told.text).toBe(words);
  return told;
}
