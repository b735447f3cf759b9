// What must survive a lost connection: the requests under way, the sessions and what the editor has of them, open questions.
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { TRANSLATOR_LIMITS } from "./limits.js";
import { type Outcome, type RpcId, tenonMeta, withTenonMeta } from "./messages.js";

/** A request of the editor that has no answer yet. */
export interface EditorRequest {
  /** Its id at the gateway. */
  readonly key: number;
  readonly editorId: RpcId;
  readonly method: string;
  readonly params: JsonValue | undefined;
  readonly sessionId: string | undefined;
  /** On the connection that is up now. */
  isOnWire: boolean;
  /** On any connection: it may have had its effect. */
  wasSent: boolean;
  isCancelled: boolean;
  /** The editor has an answer already; that of the gateway is dropped. */
  isAnswered: boolean;
}

/** Requests that have no further effect when they are sent a second time; `session/prompt` has its `promptId`. */
export const REPEATABLE: ReadonlySet<string> = new Set([
  ...["session/prompt", "session/list", "session/close", "session/delete", "session/set_mode", "session/set_model"],
  ...["session/set_config_option", "session/set_title", "session/status", "authenticate", "logout"],
  ...[
    "_tenon/mcp/status",
    "_tenon/session/set_mcp_servers",
    "_tenon/session/set_tools",
    "_tenon/session/view",
    "_tenon/session/records",
  ],
  ...["_tenon/session/tools", "_tenon/question/answer", "_tenon/gateway/watch", "_tenon/gateway/status"],
]);

/** The last update of a record has its number, those before it say which part of it they are: `_meta.tenon` of an update. */
interface Position {
  readonly seq: number;
  /** Infinite: all of it. */
  readonly part: number;
}

/** Undefined for what is of the moment. */
function positionOf({ seq, partOf, part }: JsonObject): Position | undefined {
  if (typeof seq === "number") return { seq, part: Number.POSITIVE_INFINITY };
  return typeof partOf === "number" && typeof part === "number" ? { seq: partOf, part } : undefined;
}

/** Which numbered updates of a session the editor has. */
export class SeenUpdates {
  #last: Position | undefined;
  /** The whole conversation is about to be sent once more: an older number means that it has begun. */
  #isReplayExpected = false;

  /** `undefined`: from now on, wherever the log is. */
  constructor(seq: number | undefined) {
    if (seq !== undefined) this.startAt(seq);
  }

  /** Of the last record that the editor has all of. */
  get after(): number | undefined {
    if (!this.#last) return undefined;
    const { seq, part } = this.#last;
    return part === Number.POSITIVE_INFINITY ? seq : seq - 1;
  }

  expectReplay(): void {
    this.#isReplayExpected = true;
  }

  /** The gateway says where the session stands, and the editor asked for nothing older. */
  startAt(seq: number): void {
    this.#last ??= { seq, part: Number.POSITIVE_INFINITY };
  }

  /** `meta`: `_meta.tenon` of an update. False: the editor has it. */
  accepts(meta: JsonObject): boolean {
    const position = positionOf(meta);
    if (!position) return true;
    const last = this.#last;
    const isNew = !last || position.seq > last.seq || (position.seq === last.seq && position.part > last.part);
    if (!isNew && !this.#isReplayExpected) return false;
    if (!isNew) this.#isReplayExpected = false;
    this.#last = position;
    return true;
  }
}

/** The mode and the options of a session as the editor has them: they are of the moment, and change while it is not connected. */
export class EditorSettings {
  #mode: JsonValue | undefined;
  #options: JsonValue | undefined;

  /** `answer`: to a request that opens a session. */
  answered({ modes, configOptions }: JsonObject): void {
    this.#mode = isJsonObject(modes) ? modes["currentModeId"] : this.#mode;
    this.#options = configOptions ?? this.#options;
  }

  updated({ currentModeId, configOptions }: JsonObject): void {
    this.#mode = currentModeId ?? this.#mode;
    this.#options = configOptions ?? this.#options;
  }

  /** The updates that bring the editor to what the gateway answered. */
  updatesTo(answer: JsonObject): readonly JsonObject[] {
    const [mode, options] = [this.#mode, this.#options];
    this.answered(answer);
    const updates: JsonObject[] = [];
    if (this.#mode !== mode) {
      updates.push(defined({ sessionUpdate: "current_mode_update", currentModeId: this.#mode }));
    }
    if (JSON.stringify(this.#options) !== JSON.stringify(options)) {
      updates.push(defined({ sessionUpdate: "config_option_update", configOptions: this.#options }));
    }
    return updates;
  }
}

/** How the editor came to the session, until the gateway has answered. */
interface Opening {
  readonly method: "session/new" | "session/load" | "session/resume";
  readonly params: JsonObject;
  /** Absent: the editor was answered before there was a gateway. */
  readonly request?: EditorRequest;
  /** It may have had its effect. */
  wasSent: boolean;
}

export interface Join {
  readonly method: Opening["method"];
  readonly params: JsonObject;
}

/** One session that the editor has open. */
export class BookedSession {
  readonly id: string;
  /** `absent`: it must be joined (again) before anything is sent for it. */
  state: "absent" | "joining" | "joined" = "absent";
  /** The editor has had it: it is not taken away because it could not be opened once more. */
  wasJoined = false;
  /** Attempts to join in a row that failed and may succeed later. */
  failedJoins = 0;
  opening: Opening | undefined;
  readonly seen: SeenUpdates;
  readonly settings: EditorSettings = new EditorSettings();
  /** For every later join: the directories, and the servers the editor declared, which the gateway keeps in memory only. */
  #about: JsonObject;
  /** By key and name. */
  readonly #tools = new Map<string, Map<JsonValue | undefined, JsonObject>>();

  constructor(id: string, opening: Opening) {
    this.id = id;
    this.opening = opening;
    this.#about = aboutOf(opening.params);
    this.seen = new SeenUpdates(opening.method === "session/resume" ? afterOf(opening.params) : 0);
  }

  get directories(): readonly string[] {
    return directoriesOf(this.#about);
  }

  /** The editor asks for a session that it has open. */
  openAgain(opening: Opening): void {
    this.opening = opening;
    this.#about = aboutOf(opening.params);
    if (opening.method === "session/load") this.seen.expectReplay();
  }

  declareServers(servers: JsonValue | undefined): void {
    this.#about = { ...this.#about, ...defined({ mcpServers: servers }) };
  }

  /** Tools that the editor runs itself, `answer` with those it has now: a gateway that was started again has none of them. */
  declareTools({ key, mode = "replace", tools }: JsonObject, answer: JsonValue): void {
    if (typeof key !== "string") return;
    const there = namesOf(isJsonObject(answer) ? answer["tools"] : undefined);
    const given = mode === "replace" || mode === "add" ? entriesOf(tools) : [];
    const kept = new Map([...(this.#tools.get(key) ?? []), ...given.map((tool) => [tool["name"], tool] as const)]);
    for (const name of kept.keys()) if (!there.has(name)) kept.delete(name);
    if (kept.size === 0) this.#tools.delete(key);
    else this.#tools.set(key, kept);
  }

  /** The parameters of the requests that bring them back. */
  get toolRequests(): readonly JsonObject[] {
    const requests = [...this.#tools].map(([key, tools]) => ({ key, tools: [...tools.values()] }));
    return requests.map((request) => ({ sessionId: this.id, mode: "replace", ...request }));
  }

  nextJoin(): Join {
    const { opening } = this;
    const again = (after: number | undefined): Join => ({
      method: "session/resume",
      params: withTenonMeta({ sessionId: this.id, ...this.#about }, defined({ after })),
    });
    if (!opening) return again(this.seen.after);
    const { method, params, wasSent } = opening;
    switch (method) {
      case "session/new":
        return wasSent ? again(this.seen.after) : { method, params: withTenonMeta(params, { id: this.id }) };
      case "session/load":
        // Not resumed: that would leave out the prompts of this client.
        return { method, params: wasSent ? withTenonMeta(params, defined({ after: this.seen.after })) : params };
      case "session/resume":
        return wasSent && this.seen.after !== undefined ? again(this.seen.after) : { method, params };
    }
  }
}

/** Of a session, its own first. */
export function directoriesOf({ cwd, additionalDirectories: more }: JsonObject): readonly string[] {
  return [cwd, ...(Array.isArray(more) ? more : [])].filter((path) => typeof path === "string");
}

function entriesOf(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter((one) => isJsonObject(one)) : [];
}

function namesOf(list: JsonValue | undefined): ReadonlySet<JsonValue | undefined> {
  return new Set(entriesOf(list).map(({ name }) => name));
}

function aboutOf(params: JsonObject): JsonObject {
  const { cwd, mcpServers, additionalDirectories } = params;
  return defined({ cwd, mcpServers, additionalDirectories });
}

function afterOf(params: JsonObject): number | undefined {
  const { after } = tenonMeta(params);
  return typeof after === "number" ? after : undefined;
}

/** A request of the gateway that the editor was asked. */
export interface Asked {
  /** Its id at the editor. */
  readonly key: number;
  readonly sessionId: string | undefined;
  readonly questionId: string | undefined;
  /** Its id at the gateway, and on which connection. */
  gatewayId: RpcId;
  connection: object;
  /** Of a question only, whose answer may be wanted again. */
  answer?: Outcome;
  /** The editor left the session, and the gateway is about to take the question back: no answer counts any more. */
  isLeft?: boolean;
}

/** Requests of the gateway to the editor. Questions live longer than the connection they came over. */
export class AskedOfEditor {
  readonly #byKey = new Map<number, Asked>();
  readonly #questions = new Map<string, Asked>();
  #count = 0;

  /** The same question over another connection, or nothing. */
  again(sessionId: string | undefined, questionId: string | undefined): Asked | undefined {
    return questionId === undefined ? undefined : this.#questions.get(questionKey(sessionId, questionId));
  }

  add(about: Omit<Asked, "key">): Asked {
    this.#count += 1;
    const asked: Asked = { ...about, key: this.#count };
    this.#byKey.set(asked.key, asked);
    if (asked.questionId !== undefined) this.#questions.set(questionKey(asked.sessionId, asked.questionId), asked);
    return asked;
  }

  /** Undefined: nobody waits for it any more. */
  answered(id: RpcId, answer: Outcome): Asked | undefined {
    const asked = typeof id === "number" ? this.#byKey.get(id) : undefined;
    if (!asked || asked.isLeft) return undefined;
    this.#byKey.delete(asked.key);
    if (asked.questionId !== undefined) {
      asked.answer = answer;
      this.#keepLatest();
    }
    return asked;
  }

  /** By the gateway's id, which counts anew with every connection. */
  byGatewayId(connection: object, id: JsonValue | undefined): Asked | undefined {
    for (const asked of this.#byKey.values()) {
      if (asked.connection === connection && asked.gatewayId === id) return asked;
    }
    return undefined;
  }

  /** Questions of a session that are not open any more; gives those that the editor still shows. */
  closeAllBut(sessionId: string, open: ReadonlySet<string>): readonly Asked[] {
    const over: Asked[] = [];
    for (const [name, asked] of this.#questions) {
      if (asked.sessionId !== sessionId || asked.questionId === undefined || open.has(asked.questionId)) continue;
      this.#questions.delete(name);
      if (this.#byKey.delete(asked.key)) over.push(asked);
    }
    return over;
  }

  /** The gateway takes a question back: should it ask it again, the person is asked anew. */
  withdraw(asked: Asked): void {
    this.#byKey.delete(asked.key);
    this.#questions.delete(questionKey(asked.sessionId, asked.questionId));
  }

  /** The editor leaves a session, or loads it anew; gives the questions that it still shows. */
  leave(sessionId: string, connection: object | undefined): readonly Asked[] {
    const all = [...this.#byKey.values(), ...this.#questions.values()];
    const left = all.filter((asked) => asked.sessionId === sessionId && asked.questionId !== undefined);
    const shown = new Set(left.filter(({ key, isLeft }) => this.#byKey.has(key) && !isLeft));
    for (const asked of left) {
      this.withdraw(asked);
      if (!shown.has(asked) || asked.connection !== connection) continue;
      asked.isLeft = true; // until the gateway has taken it back, which it is answered
      this.#byKey.set(asked.key, asked);
    }
    return [...shown];
  }

  /** Nobody can take their answers: files and terminals that were asked for over a connection that is gone. */
  dropRequestsOf(connection: object): void {
    for (const [key, asked] of this.#byKey) {
      const isWanted = asked.questionId !== undefined && !asked.isLeft;
      if (asked.connection === connection && !isWanted) this.#byKey.delete(key);
    }
  }

  #keepLatest(): void {
    if (this.#questions.size <= TRANSLATOR_LIMITS.keptAnswers) return;
    for (const [name, { answer }] of this.#questions) {
      if (answer) this.#questions.delete(name);
      if (this.#questions.size <= TRANSLATOR_LIMITS.keptAnswers) return;
    }
  }
}

function questionKey(sessionId: string | undefined, questionId: string | undefined): string {
  return JSON.stringify([sessionId ?? null, questionId ?? null]);
}
