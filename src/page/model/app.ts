// The state of the page: who is logged in, the connection, all sessions and their open questions.
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { defined } from "../../base/json/defined.js";
import { GatewayClient, type Introduction, type Surroundings, WireError } from "../wire/client.js";
import { type JsonObject, type JsonValue, numberAt, objectAt, objectsAt, tenonMeta, textAt } from "../wire/json.js";
import type { LinkState } from "../wire/link.js";
import type { Schedule } from "./conversation.js";
import { OpenSession } from "./session.js";

export interface OpenQuestion {
  readonly sessionId: string;
  readonly id: string;
  readonly of: string;
  readonly askedAt: number;
  readonly toolCallId?: string;
  readonly shown: JsonObject;
}

export interface SessionRow {
  readonly id: string;
  readonly title: string;
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly updatedAt: number;
  readonly state: string;
  readonly questions: readonly OpenQuestion[];
  /** Names of those that are connected. */
  readonly clients: readonly string[];
  readonly costUsd?: number;
}

export interface Person {
  readonly account: string;
  readonly scopes: readonly string[];
  readonly name: string;
}

export interface Browser extends Omit<Surroundings, "name"> {
  readonly schedule: Schedule;
  /** Ends the log-in at the gateway, and what this browser kept of it. */
  logOut(): Promise<void>;
  now(): number;
}

const LISTED_PAGES = 10;
/** Of a request that met a limit of the gateway: long journals take many. */
const ATTEMPTS = 8;
const LONGEST_WAIT_MS = 15_000;

export class App {
  readonly link = signal<LinkState>({ kind: "out" });
  readonly introduction = signal<Introduction | undefined>(undefined);
  readonly person = signal<Person | undefined>(undefined);
  readonly rows = signal<ReadonlyMap<string, SessionRow>>(new Map());
  /** The first list has arrived. */
  readonly isListed = signal(false);
  /** What is shown is as the gateway has it now: after a break its questions may be others. */
  readonly isCurrent = signal(false);
  readonly problem = signal<string | undefined>(undefined);
  readonly current = signal<OpenSession | undefined>(undefined);
  /** Of every session, the oldest first. */
  readonly questions: ReadonlySignal<readonly OpenQuestion[]> = computed(() =>
    [...this.rows.value.values()].flatMap(({ questions }) => questions).sort((a, b) => a.askedAt - b.askedAt),
  );
  readonly client: GatewayClient;
  readonly #browser: Browser;
  #early: JsonObject[] | undefined;

  constructor(browser: Browser) {
    this.#browser = browser;
    this.client = new GatewayClient(
      { ...browser, name: () => this.person.value?.name ?? "page" },
      {
        onState: (state, introduction) => this.#onState(state, introduction),
        onNotification: (method, params) => this.#onNotification(method, params),
      },
    );
  }

  get now(): number {
    return this.#browser.now();
  }

  may(scope: string): boolean {
    return this.introduction.value?.scopes.includes(scope) === true;
  }

  logIn(person: Person): void {
    this.person.value = person;
    this.client.start();
  }

  async logOut(): Promise<void> {
    await this.#browser.logOut();
    this.person.value = undefined;
    this.client.stop();
    batch(() => {
      this.rows.value = new Map();
      this.isListed.value = false;
      this.introduction.value = undefined;
      this.current.value = undefined;
    });
  }

  /** Rejects with a `WireError`, whose words are for people. */
  async request(method: string, params: object = {}): Promise<JsonObject> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.client.request(method, params);
      } catch (error) {
        const waitMs = error instanceof WireError ? error.retryAfterMs : undefined;
        if (waitMs === undefined || waitMs > LONGEST_WAIT_MS || attempt === ATTEMPTS) throw error;
        await new Promise<void>((resolve) => this.#browser.after(waitMs, resolve));
      }
    }
  }

  /** Shows why something did not work, until it is closed. Lost connections are shown by the connection itself. */
  fail(error: unknown): void {
    if (error instanceof WireError && error.isLost) return;
    const hint = error instanceof WireError && error.hint !== undefined ? ` ${error.hint}` : "";
    this.problem.value = `${error instanceof Error ? error.message : String(error)}${hint}`;
  }

  /** Work of an event handler. */
  run(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.fail(error));
  }

  async answer(question: OpenQuestion, answer: JsonValue): Promise<void> {
    const { sessionId, id: questionId } = question;
    const { result } = await this.request("_tenon/question/answer", { sessionId, questionId, answer });
    if (result === "taken") return;
    this.#update(sessionId, (row) => ({ ...row, questions: row.questions.filter(({ id }) => id !== questionId) }));
    throw new Error("This question is over: it was answered elsewhere, or withdrawn.");
  }

  /** The session that is looked at: joined while it is, left afterwards. */
  show(sessionId: string | undefined): void {
    if (this.current.value?.id === sessionId) return;
    this.current.value?.leave();
    if (sessionId === undefined) {
      this.current.value = undefined;
      return;
    }
    const session = new OpenSession(sessionId, this, this.#browser.schedule);
    this.current.value = session;
    if (this.link.value.kind === "online" && this.isListed.value) this.run(session.open());
  }

  async newSession(cwd: string): Promise<string> {
    const { sessionId } = await this.request("session/new", { cwd, mcpServers: [] });
    if (typeof sessionId !== "string") throw new Error("the gateway gave the session no id");
    const base = { title: "", updatedAt: this.now, state: "idle", questions: [], clients: [] };
    this.rows.value = new Map(this.rows.value).set(sessionId, { id: sessionId, cwd, ...base });
    // It is joined again when it is shown: by `session/load`, like any other.
    return sessionId;
  }

  #onState(state: LinkState, introduction: Introduction | undefined): void {
    batch(() => {
      this.link.value = state;
      this.isCurrent.value = false;
      if (introduction) this.introduction.value = introduction;
    });
    if (state.kind === "online") this.run(this.#online());
  }

  async #online(): Promise<void> {
    this.#early = []; // changes that overtake the list belong on top of it
    const [watched, rows] = await Promise.all([this.request("_tenon/gateway/watch"), this.#list()]);
    batch(() => {
      this.rows.value = rows;
      for (const change of objectsAt(watched, "sessions")) this.#onChange(change);
      for (const change of this.#early ?? []) this.#onChange(change, this.now);
      this.#early = undefined;
      this.isListed.value = true;
      this.isCurrent.value = true;
    });
    const session = this.current.value;
    if (session) await session.online();
  }

  /** All stored sessions, the newest first, as far as a person would scroll. */
  async #list(): Promise<ReadonlyMap<string, SessionRow>> {
    const rows = new Map<string, SessionRow>();
    let cursor: string | undefined;
    for (let page = 0; page < LISTED_PAGES; page++) {
      const answer = await this.request("session/list", defined({ cursor }));
      for (const listed of objectsAt(answer, "sessions")) {
        const row = rowOf(listed);
        rows.set(row.id, row);
      }
      cursor = textAt(answer, "nextCursor");
      if (cursor === undefined) break;
    }
    return rows;
  }

  #onNotification(method: string, params: JsonObject): void {
    if (method === "_tenon/gateway/changed") {
      if (this.#early) this.#early.push(params);
      else this.#onChange(params, this.now);
    } else if (method === "session/update" && params["sessionId"] === this.current.value?.id)
      this.current.value?.onUpdate(params);
  }

  /** `at`: when; missing for what the gateway tells of sessions as they are. */
  #onChange(change: JsonObject, at?: number): void {
    const id = textAt(change, "sessionId") ?? "";
    const [state, title, cwd] = ["state", "title", "cwd"].map((name) => textAt(change, name));
    if (state === undefined && title === undefined) {
      const rows = new Map(this.rows.value);
      rows.delete(id);
      this.rows.value = rows;
      return;
    }
    const isNamed = change["clients"] !== undefined || state === "resting";
    const told = defined({
      ...{ state, title, cwd, updatedAt: at },
      costUsd: numberAt(objectAt(change, "usage"), "costUsd"),
      clients: isNamed ? objectsAt(change, "clients").map((client) => textAt(client, "name") ?? "?") : undefined,
      questions:
        change["questions"] === undefined
          ? undefined
          : objectsAt(change, "questions").map((one) => questionOf(id, one)),
    });
    this.#update(id, (row) => ({ ...row, ...told }));
  }

  #update(id: string, change: (row: SessionRow) => SessionRow): void {
    const row = this.rows.value.get(id) ?? {
      id,
      title: "",
      cwd: "",
      updatedAt: 0,
      state: "idle",
      questions: [],
      clients: [],
    };
    this.rows.value = new Map(this.rows.value).set(id, change(row));
  }

  /** The state of one session, also of one that is in no list: nothing was said in it, or it is beyond what is listed. */
  async view(sessionId: string): Promise<JsonObject> {
    const view = await this.request("_tenon/session/view", { sessionId });
    this.#onChange(view);
    return view;
  }
}

function rowOf(listed: JsonObject): SessionRow {
  const meta = tenonMeta(listed);
  const updatedAt = Date.parse(textAt(listed, "updatedAt") ?? "");
  return {
    id: textAt(listed, "sessionId") ?? "",
    title: textAt(listed, "title") ?? "",
    cwd: textAt(listed, "cwd") ?? "",
    updatedAt: Number.isNaN(updatedAt) ? 0 : updatedAt,
    state: textAt(meta, "state") ?? "resting",
    questions: [],
    clients: [],
  };
}

function questionOf(sessionId: string, given: JsonObject): OpenQuestion {
  return {
    sessionId,
    id: textAt(given, "id") ?? "",
    of: textAt(given, "of") ?? "",
    askedAt: numberAt(given, "askedAt") ?? 0,
    shown: objectAt(given, "shown"),
    ...defined({ toolCallId: textAt(given, "toolCallId") }),
  };
}
