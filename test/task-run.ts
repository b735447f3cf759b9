// A session whose tool runs as a task, on a world of its own: begun, killed, loaded again.

import { transcriptProblems } from "../src/engine/index.js";
import type { ModelEvent, ModelMessage, ModelRequest } from "../src/models/index.js";
import type { Session, SessionEvent, SessionHost } from "../src/session/index.js";
import { type Behaviour, type FakeWorld, fakeWorld, spawnsServer } from "../src/testing/index.js";
import { hostIn, ID, JOURNAL, SERVER } from "./recorded-session.js";

export const RESULT = "the-one-result";

/** Its tasks outlive its process, and are done as soon as they are asked for. */
export function taskServer(taskFile: string): Behaviour {
  return { taskFile, tools: [{ name: "work", task: { pollMs: 100 }, reply: { kind: "text", text: RESULT } }] };
}

export class TaskRun {
  readonly world: FakeWorld;
  readonly host: SessionHost;
  readonly requests: (readonly ModelMessage[])[] = [];
  /** What the last session told. */
  events: SessionEvent[] = [];

  constructor(server: Behaviour, journal?: string, nowMs?: number) {
    const files = journal === undefined ? {} : { [JOURNAL]: journal };
    this.world = fakeWorld({ spawn: spawnsServer(server), files, ...(nowMs === undefined ? {} : { nowMs }) });
    this.host = hostIn(this.world, (request) => this.#answer(request));
  }

  async open(): Promise<Session> {
    return await this.#attached(this.host.createSession({ cwd: "/project", servers: [SERVER], id: ID }));
  }

  async load(servers: NonNullable<Parameters<SessionHost["loadSession"]>[0]["servers"]> = [SERVER]): Promise<Session> {
    const { session } = await this.host.loadSession({ id: ID, cwd: "/project", servers });
    return await this.#attached(session);
  }

  /** Until the prompt is answered, however often the task has to be asked for. */
  async prompt(session: Session, words: string): Promise<void> {
    const progress = { isOver: false };
    const turn = session.prompt(words).finally(() => {
      progress.isOver = true;
    });
    while (!progress.isOver) await this.world.advance(200);
    await turn;
  }

  get journal(): string {
    return this.world.files.text(JOURNAL) ?? "";
  }

  async close(): Promise<void> {
    const closing = this.host.close();
    await this.world.advance(10_000);
    await closing;
  }

  /** How often the model was given the result with its last request; the conversation must be one that providers take. */
  get results(): number {
    const last = this.requests.at(-1) ?? [];
    const [problem] = transcriptProblems(last);
    if (problem !== undefined) throw new Error(problem);
    return JSON.stringify(last).split(RESULT).length - 1;
  }

  async #attached(session: Session): Promise<Session> {
    session.attach({ ask: async () => "once" });
    this.#listen(session).catch(() => undefined);
    await this.world.advance(1_000);
    return session;
  }

  async #listen(session: Session): Promise<void> {
    const events: SessionEvent[] = [];
    this.events = events;
    for await (const event of session.events()) events.push(event);
  }

  async *#answer({ messages }: ModelRequest): AsyncGenerator<ModelEvent, void, void> {
    this.requests.push(messages);
    const last = messages.at(-1);
    const isAsked = last?.role === "user" && JSON.stringify(last.content).includes("work now");
    const call = { callId: "c1", name: "mcp__s__work", argumentsJson: "{}" };
    if (isAsked) yield { kind: "tool_call", call };
    else yield { kind: "text", text: "so be it" };
    yield { kind: "finish", reason: isAsked ? "tool_calls" : "stop" };
  }
}

/** The journal of a session whose call became a task: all of it, and as it was the moment after. */
export async function begunTask(run: TaskRun): Promise<{ readonly whole: string; readonly atTask: string }> {
  await run.prompt(await run.open(), "work now");
  await run.close();
  const [atTask] = /^[\s\S]*?"kind":"task".*\n/u.exec(run.journal) ?? [];
  if (atTask === undefined || run.results !== 1) throw new Error("the call has not become a task");
  return { whole: run.journal, atTask };
}
