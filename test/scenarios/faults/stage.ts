// One run of a program against the runtime in a World where one operation fails, and what must hold afterwards.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../../src/base/errors.js";
import type { JsonObject } from "../../../src/base/json/json.js";
import type { World } from "../../../src/base/ports/world.js";
import { DiskGrantStore } from "../../../src/config/index.js";
import type { ServerSpec, StdioSpec } from "../../../src/mcp/index.js";
import type { Model, ModelEvent, ModelRequest } from "../../../src/models/index.js";
import {
  createHost,
  type HostOptions,
  type Session,
  type SessionEvent,
  type SessionHost,
  type SessionPorts,
} from "../../../src/session/index.js";
import { type Behaviour, echoTool, type FakeChild, FakeWorld, settle } from "../../../src/testing/index.js";
import { FakeChild as Child, scriptedChild } from "../../../src/testing/kit/world/child.js";
import { FaultyWorld, type PlannedFault } from "../../../src/testing/lab/faulty-world.js";
import { nodeWorld } from "../../../src/world/index.js";

const HOME = "/home/person";
const PROJECT = "/home/person/project";
/** More than this on the fake clock is a hang: no limit of Tenon's waits so long. */
const MAX_FAKE_MS = 3_600_000;
/** The same on the real one, for what no fake clock rules. */
const MAX_REAL_MS = 20_000;
const IDLE_TURNS = 400;
const LONG_JUMP_MS = 500;

export const ECHO: StdioSpec = { kind: "stdio", name: "s", command: "echo-server", args: [], env: {} };

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "echo-server": { tools: [echoTool(), { name: "slow", reply: { kind: "echo" }, steps: [{ do: "never" }] }] },
  "other-server": { tools: [echoTool("other")] },
  "big-server": {
    tools: [
      { name: "long", reply: { kind: "bytes", bytes: 300_000 } },
      { name: "huge", reply: { kind: "bytes", bytes: 8_500_000 } },
    ],
  },
};

interface Acknowledged {
  readonly id: string;
  readonly prompt: string;
  readonly answer: string;
}

export interface StageOptions {
  readonly plan?: PlannedFault;
  /** The files are those of this machine, in a folder of their own. */
  readonly hasRealFiles?: boolean;
  readonly runtime?: Partial<HostOptions>;
  readonly env?: Readonly<Record<string, string>>;
  /** The person's own file. */
  readonly config?: JsonObject;
}

export class FaultStage {
  readonly base: FakeWorld;
  readonly faulty: FaultyWorld;
  readonly host: SessionHost;
  /** Everything the person was told of trouble. */
  readonly reasons: string[] = [];
  readonly #acknowledged: Acknowledged[] = [];
  readonly #texts = new Map<string, string>();
  readonly #readers: Promise<void>[] = [];
  readonly #healthy: World;
  readonly #real: string | undefined;
  readonly home: string;
  readonly project: string;
  #other: Session | undefined;

  constructor({ plan, hasRealFiles = false, runtime = {}, env = {}, config }: StageOptions = {}) {
    this.#real = hasRealFiles ? mkdtempSync(join(tmpdir(), "tenon-faults-")) : undefined;
    this.home = this.#real === undefined ? HOME : join(this.#real, "home");
    this.project = join(this.home, "project");
    if (this.#real !== undefined) mkdirSync(this.project, { recursive: true });
    this.base = new FakeWorld({
      env: { HOME: this.home, PATH: "/usr/bin", ...env },
      files: {
        [`${PROJECT}/README.md`]: "# A project\n",
        [`${PROJECT}/notes.txt`]: "one\ntwo\n",
        "/bin/bash": "",
        ...(config ? { [`${HOME}/.config/tenon/config.json`]: JSON.stringify(config) } : {}),
        ...Object.fromEntries(Object.keys(BEHAVIOURS).map((name) => [`/usr/bin/${name}`, ""])),
      },
      fetch: (input, init) => fetch(input, init),
      spawn: (request) => this.#start(request),
    });
    const files = this.#real === undefined ? this.base.files : nodeWorld({ env: {} }).files;
    const healthy = new FaultyWorld(this.base, { files });
    healthy.heal();
    this.#healthy = healthy.world;
    this.faulty = new FaultyWorld(this.base, { files, ...(plan ? { plan } : {}) });
    this.faulty.pause();
    const { world } = this.faulty;
    const grants = new DiskGrantStore({
      world,
      dir: join(this.home, ".local/state/tenon/grants"),
      keyring: "there is none here",
    });
    this.host = createHost({ world, model: MODEL, grants, config: {}, ...runtime });
  }

  #start(request: ConstructorParameters<typeof FakeChild>[0]): FakeChild | undefined {
    const name = request.command.split("/").at(-1) ?? "";
    const behaviour = BEHAVIOURS[name];
    if (behaviour) return scriptedChild(request, behaviour, (delayMs, run) => this.base.after(delayMs, run));
    if (name !== "bash" && name !== "sh") return undefined;
    const child = new Child(request, { ignoresEof: true });
    this.base.soon(() => {
      child.stdout.write(`ran: ${request.args.at(-1) ?? ""}\n`);
      child.exit(0);
    });
    return child;
  }

  get children(): readonly FakeChild[] {
    return this.base.children;
  }

  /** Another session with a server of its own, which nothing is done to. */
  async openOther(): Promise<void> {
    const other = { ...ECHO, name: "o", command: "other-server" };
    this.#other = await this.open({ servers: [other] });
    await this.prompt(this.#other, 'other {"text":"before"}');
  }

  async open(
    more: { readonly servers?: readonly ServerSpec[]; readonly ports?: Partial<SessionPorts> } = {},
  ): Promise<Session> {
    const session = this.host.createSession({ cwd: this.project, servers: more.servers ?? [ECHO] });
    this.follow(session, more.ports);
    return session;
  }

  follow(session: Session, ports: Partial<SessionPorts> = {}): void {
    session.attach({ ask: async () => "once", confirmTrust: async () => "yes", ...ports });
    this.#readers.push(this.#read(session));
  }

  /** What the model and the tools said in a session. */
  text(session: Session): string {
    return this.#texts.get(session.id) ?? "";
  }

  async #read(session: Session): Promise<void> {
    for await (const event of session.events()) {
      const said = wordsOf(event);
      if (said !== "") this.#texts.set(session.id, `${this.text(session)}${said}`);
      const reason = reasonOf(event);
      if (reason !== undefined) this.reasons.push(reason);
    }
  }

  /** Resolves in every case: what went wrong is a reason. */
  async prompt(session: Session, words: string, signal?: AbortSignal): Promise<string | undefined> {
    const before = this.text(session).length;
    const result = await this.attempt(() => session.prompt(words, signal));
    await settle();
    if (result?.stopReason === "end_turn") {
      const answer = this.text(session).slice(before);
      this.#acknowledged.push({ id: session.id, prompt: words, answer });
    }
    return result?.stopReason;
  }

  async attempt<T>(work: () => Promise<T> | T): Promise<T | undefined> {
    try {
      return await this.drive((async () => await work())());
    } catch (error) {
      if (error instanceof Hang) throw error;
      this.reasons.push(messageOf(error));
      return undefined;
    }
  }

  /** Lets time pass as long as something waits for it, and nothing is under way that it does not rule. */
  async drive<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const watched = (async () => {
      await work.catch(() => undefined);
      isDone = true;
    })();
    const { clock } = this.base;
    const limits = { fakeMs: clock.elapsedMs + MAX_FAKE_MS, realMs: performance.now() + MAX_REAL_MS };
    for (let idle = 0; ; ) {
      await settle();
      if (isDone) {
        await watched;
        return await work;
      }
      if (performance.now() > limits.realMs) throw new Hang(`nothing for ${MAX_REAL_MS} ms`);
      if (clock.elapsedMs > limits.fakeMs) throw new Hang(`not done after ${MAX_FAKE_MS} ms on the fake clock`);
      const nextMs = clock.nextDelayMs;
      const isQuiet = !this.faulty.isBusyOutside && idle > (nextMs === undefined ? IDLE_TURNS : 12);
      const isShort = nextMs !== undefined && nextMs < LONG_JUMP_MS && !this.faulty.isBusyOutside;
      if (nextMs !== undefined && (isShort || isQuiet)) {
        await clock.advance(nextMs);
        idle = 0;
        continue;
      }
      if (isQuiet) throw new Hang("nothing is under way, and nobody will wake it");
      if (!this.faulty.isBusyOutside) idle += 1;
      await new Promise<void>((resolve) => setTimeout(resolve, idle > 20 ? 1 : 0));
    }
  }

  /** Everything that must hold once the machine works again: what does not, each in a sentence. */
  async verify(): Promise<readonly string[]> {
    const problems: string[] = [];
    this.faulty.heal();
    const other = this.#other;
    if (other) {
      const before = this.text(other).length;
      const stop = await this.prompt(other, 'other {"text":"after"}');
      if (stop !== "end_turn" || !this.text(other).slice(before).includes("after"))
        problems.push(`the other session does not work: ${stop} ${this.reasons.at(-1)}`);
    }
    await this.drive(this.host.close()).catch((error) =>
      problems.push(`the runtime does not close: ${messageOf(error)}`),
    );
    await this.drive(Promise.all(this.#readers)).catch((error) => problems.push(`readers: ${messageOf(error)}`));
    problems.push(...this.#leaks());
    problems.push(...(await this.#journals()));
    return problems;
  }

  #leaks(): readonly string[] {
    const { clock, files, listeners, children } = this.base;
    const alive = children.filter((child) => child.isGroupAlive()).map(({ request }) => `a process ${request.command}`);
    return [
      ...alive,
      ...(clock.pendingTimers > 0 ? [`${clock.pendingTimers} timers`] : []),
      ...files.openPaths.map((path) => `an open file ${path}`),
      ...(files.watchCount > 0 ? [`${files.watchCount} watches`] : []),
      ...listeners.ports.map((port) => `a listener at ${port}`),
    ].map((left) => `left behind: ${left}`);
  }

  /** Every session that ever told somebody that a turn is over loads, with that turn in it. */
  async #journals(): Promise<readonly string[]> {
    const problems: string[] = [];
    const host = createHost({ world: this.#healthy, model: MODEL, builtin: [] });
    const stored = await this.#healthy.files.list(join(this.home, ".local/state/tenon/sessions"));
    const journals = stored.flatMap(({ name }) => (name.endsWith(".ndjson") ? [name.slice(0, -7)] : []));
    for (const id of new Set([...journals, ...this.#acknowledged.map((turn) => turn.id)])) {
      try {
        const { session, history } = await this.drive(host.loadSession({ id, cwd: this.project }));
        const said = [...history].map((event) => (event.kind === "user" ? userText(event) : wordsOf(event))).join("");
        for (const { prompt, answer } of this.#acknowledged.filter((turn) => turn.id === id)) {
          if (!said.includes(prompt)) problems.push(`lost: the prompt ${prompt} of an acknowledged turn`);
          if (!said.includes(answer.slice(-40))) problems.push(`lost: the answer ${answer.slice(-40)}`);
        }
        await this.drive(session.close());
      } catch (error) {
        problems.push(`the session ${id} does not load: ${messageOf(error)}`);
      }
    }
    await this.drive(host.close()).catch((error) => problems.push(messageOf(error)));
    return problems;
  }

  async dispose(): Promise<void> {
    if (this.#real !== undefined) rmSync(this.#real, { recursive: true, force: true });
  }
}

class Hang extends Error {}

const finish: ModelEvent = { kind: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };

/** A prompt `tool {arguments}` is a call of that tool; its result is then said again. */
async function* answer({ messages, tools }: ModelRequest): AsyncGenerator<ModelEvent, void, void> {
  const last = messages.at(-1);
  if (last?.role === "tool") {
    const words = last.results.flatMap(({ content }) => content.map((block) => ("text" in block ? block.text : "")));
    yield { kind: "text", text: `the tool said: ${words.join(" ").slice(0, 200)}` };
    yield finish;
    return;
  }
  const prompt = last?.role === "user" ? last.content.map((block) => ("text" in block ? block.text : "")).join("") : "";
  const [, name = "", argumentsJson = ""] = /^(\w+) (\{.*\})$/su.exec(prompt) ?? [];
  const tool = tools.find((one) => one.name === name || one.name.endsWith(`__${name}`));
  if (!tool) {
    yield { kind: "text", text: `no tool for: ${prompt}` };
    yield finish;
    return;
  }
  yield { kind: "tool_call", call: { callId: "c1", name: tool.name, argumentsJson } };
  yield { kind: "finish", reason: "tool_calls" };
}

const MODEL: Model = { id: "test/model", stream: answer };

function userText(event: Extract<SessionEvent, { kind: "user" }>): string {
  return event.content.map((block) => ("text" in block ? block.text : "")).join("");
}

function wordsOf(event: SessionEvent): string {
  return event.kind === "turn" && event.event.kind === "text" ? event.event.text : "";
}

function reasonOf(event: SessionEvent): string | undefined {
  if (event.kind === "notice" && event.level !== "info") return event.text;
  if (event.kind === "server") return event.status.error;
  if (event.kind === "turn_ended" && "error" in event) return event.error.message;
  if (event.kind !== "turn") return undefined;
  const inner = event.event;
  if (inner.kind === "call_ended" && inner.outcome.kind !== "done") return JSON.stringify(inner.outcome);
  return undefined;
}
