// The webhooks of `gateway.notify`: tells people elsewhere that a question waits, or that a turn is over and nobody was there.
import { backoffDelayMs, sleep } from "../base/async/deadline.js";
import { Scope } from "../base/async/scope.js";
import { checkUrl } from "../base/io/net-policy.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { messageOf } from "../base/message.js";
import type { Timer, World } from "../base/ports/world.js";
import { markHidden } from "../base/text/marking.js";
import { isUrl } from "../base/text/url.js";
import { VERSION } from "../base/version.js";
import type { NotifyTarget } from "../config/index.js";
import { GATEWAY_LIMITS } from "./limits.js";
import type { OpenQuestion } from "./protocol.js";

export interface NotifySettings {
  readonly targets: readonly NotifyTarget[];
  /** Hosts that are reached without TLS. */
  readonly allowHosts: readonly string[];
}

export interface NotifierOptions {
  readonly world: Pick<World, "now" | "monotonicMs" | "after" | "deadline" | "fetch" | "random" | "log">;
  /** As the configuration has them now; asked again after a while, so that a change needs no restart. */
  readonly settings: () => Promise<NotifySettings>;
}

export interface NotifiedSession {
  readonly sessionId: string;
  readonly cwd: string;
}

/** How a turn ended: with its stop reason, or with an error. */
export interface NotifiedEnd {
  readonly stopReason?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

type Occasion = { readonly session: NotifiedSession } & (
  | { readonly event: "question_waiting"; readonly question: OpenQuestion }
  | { readonly event: "turn_ended"; readonly stopReason: string }
  | { readonly event: "turn_failed"; readonly error: { readonly code: string; readonly message: string } }
);

interface Notice {
  readonly occasion: Occasion;
  /** It was answered meanwhile. */
  isOver: boolean;
  readonly timers: Set<Timer>;
}

/** What waits for one address: one request at a time, so that a server that hangs holds up only itself. */
interface Outbox {
  readonly waiting: Notice[];
  isSending: boolean;
  /** Told in the log once, until something arrives again. */
  hasFailed: boolean;
}

/** Why a notice did not arrive; `isFinal`: another attempt would not either. */
interface Failure {
  readonly reason: string;
  readonly isFinal: boolean;
}

const { notify: LIMITS } = GATEWAY_LIMITS;

/** Nothing here throws, and nothing of a session waits for it. */
export class Notifier implements AsyncDisposable {
  readonly #options: NotifierOptions;
  readonly #scope: Scope;
  /** Open questions by session and id. */
  readonly #questions = new Map<string, Map<string, Notice>>();
  readonly #outboxes = new Map<string, Outbox>();
  #settings: { readonly read: Promise<NotifySettings>; readonly atMs: number } | undefined;
  #questionCount = 0;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#scope = new Scope(options.world.log);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const notices of this.#questions.values()) for (const notice of notices.values()) this.#end(notice);
    this.#questions.clear();
    await this.#scope.close();
  }

  /** All questions of a session that are open now: to be called whenever they change. */
  questions(session: NotifiedSession, open: readonly OpenQuestion[]): void {
    const known = this.#questions.get(session.sessionId) ?? new Map<string, Notice>();
    const openIds = new Set(open.map(({ id }) => id));
    for (const [id, notice] of known) {
      if (openIds.has(id)) continue;
      this.#end(notice);
      known.delete(id);
      this.#questionCount -= 1;
    }
    for (const question of open) {
      if (known.has(question.id) || this.#questionCount >= LIMITS.questions) continue;
      const notice = this.#notice({ session, event: "question_waiting", question });
      known.set(question.id, notice);
      this.#questionCount += 1;
      this.#send(notice, question.askedAt);
    }
    if (known.size > 0) this.#questions.set(session.sessionId, known);
    else this.#questions.delete(session.sessionId);
  }

  /** `clients`: how many are attached to the session; whoever is there sees it. One that was cancelled is no news. */
  turnEnded(session: NotifiedSession, { error, stopReason }: NotifiedEnd, clients: number): void {
    if (clients > 0) return;
    if (error) this.#send(this.#notice({ session, event: "turn_failed", error }));
    else if (stopReason !== undefined && stopReason !== "cancelled") {
      this.#send(this.#notice({ session, event: "turn_ended", stopReason }));
    }
  }

  #notice(occasion: Occasion): Notice {
    return { occasion, isOver: false, timers: new Set() };
  }

  #end(notice: Notice): void {
    notice.isOver = true;
    for (const timer of notice.timers) timer.clear();
    notice.timers.clear();
  }

  /** To every address, at once; or, for a question, once it has waited as long as that address wants. */
  #send(notice: Notice, askedAt?: number): void {
    const { world } = this.#options;
    this.#scope.run("notify", async (signal) => {
      const { targets, allowHosts } = await this.#currentSettings();
      for (const target of targets) {
        if (notice.isOver || signal.aborted) return;
        const put = () => this.#put(target, notice, allowHosts);
        const delayMs = askedAt === undefined ? 0 : Math.max(0, askedAt + target.afterMs - world.now());
        if (delayMs === 0) {
          put();
          continue;
        }
        const timer = world.after(delayMs, () => {
          notice.timers.delete(timer);
          put();
        });
        notice.timers.add(timer);
      }
    });
  }

  async #currentSettings(): Promise<NotifySettings> {
    const { world, settings } = this.#options;
    const nowMs = world.monotonicMs();
    if (!this.#settings || nowMs - this.#settings.atMs >= LIMITS.settingsMs) {
      const read = settings().catch((error: unknown): NotifySettings => {
        world.log.warn("notify.settings", { error: messageOf(error) });
        return { targets: [], allowHosts: [] };
      });
      this.#settings = { read, atMs: nowMs };
    }
    const current = await this.#settings.read;
    const keys = new Set(current.targets.map(keyOf));
    for (const [key, { isSending }] of this.#outboxes) if (!keys.has(key) && !isSending) this.#outboxes.delete(key);
    return current;
  }

  #put(target: NotifyTarget, notice: Notice, allowHosts: readonly string[]): void {
    if (notice.isOver) return;
    const key = keyOf(target);
    const outbox = this.#outboxes.get(key) ?? { waiting: [], isSending: false, hasFailed: false };
    this.#outboxes.set(key, outbox);
    const verdict = checkUrl(target.url, { source: "typed", allowHosts });
    if (!verdict.ok)
      return this.#failed(target, outbox, `the address of gateway.notify cannot be used: ${verdict.reason}`);
    outbox.waiting.push(notice);
    if (outbox.waiting.length > LIMITS.waiting) {
      outbox.waiting.shift();
      this.#failed(target, outbox, `more than ${LIMITS.waiting} notices wait: the oldest is dropped`);
    }
    if (!outbox.isSending) this.#scope.run("post notices", (signal) => this.#empty(target, outbox, signal));
  }

  async #empty(target: NotifyTarget, outbox: Outbox, signal: AbortSignal): Promise<void> {
    outbox.isSending = true;
    try {
      for (let notice = outbox.waiting.shift(); notice && !signal.aborted; notice = outbox.waiting.shift()) {
        const failure = await this.#deliver(target, notice, signal);
        if (failure) this.#failed(target, outbox, failure.reason);
        else outbox.hasFailed = false;
      }
    } finally {
      outbox.isSending = false;
    }
  }

  /** Undefined: it arrived, or there is nothing to tell any more. */
  async #deliver(target: NotifyTarget, notice: Notice, signal: AbortSignal): Promise<Failure | undefined> {
    const { world } = this.#options;
    let failure: Failure | undefined;
    for (let attempt = 0; attempt < LIMITS.attempts; attempt++) {
      if (attempt > 0) await sleep(world, backoffDelayMs(LIMITS.backoff, attempt - 1, world.random()), signal);
      if (notice.isOver) return undefined;
      failure = await this.#post(target, notice.occasion, signal);
      if (!failure || failure.isFinal) return failure;
    }
    return failure;
  }

  async #post(target: NotifyTarget, occasion: Occasion, signal: AbortSignal): Promise<Failure | undefined> {
    const { world } = this.#options;
    using deadline = world.deadline(LIMITS.requestMs, signal);
    const { headers, body } = requestOf(target, occasion, world.now());
    const authorization = target.token === undefined ? undefined : `Bearer ${target.token}`;
    try {
      const response = await world.fetch(target.url, {
        method: "POST",
        headers: { ...headers, "user-agent": `tenon/${VERSION}`, ...defined({ authorization }) },
        body,
        redirect: "manual", // the address was checked, and what it leads to was not
        signal: deadline.signal,
      });
      const { status, ok } = response;
      await response.body?.cancel();
      if (ok) return undefined;
      const mayChange = status === 408 || status === 429 || status >= 500;
      return { reason: `the server answered with status ${status}`, isFinal: !mayChange };
    } catch (error) {
      signal.throwIfAborted();
      const late = `no answer within ${LIMITS.requestMs / 1_000} s`;
      return { reason: deadline.expired ? late : causeOf(error), isFinal: false };
    }
  }

  /** The path of the address is a secret with most services. */
  #failed({ url, form }: NotifyTarget, outbox: Outbox, reason: string): void {
    const { log } = this.#options.world;
    const host = isUrl(url) ? new URL(url).host : undefined;
    log[outbox.hasFailed ? "debug" : "warn"]("notify.failed", { form, host, reason });
    outbox.hasFailed = true;
  }
}

function keyOf({ form, url }: NotifyTarget): string {
  return `${form} ${url}`;
}

function causeOf(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
}

function requestOf(
  { form, hasContents }: NotifyTarget,
  occasion: Occasion,
  nowMs: number,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const json = { "content-type": "application/json" };
  switch (form) {
    case "json":
      return { headers: json, body: JSON.stringify(described(occasion, hasContents, nowMs)) };
    case "slack": {
      // Slack's own marks: https://api.slack.com/reference/surfaces/formatting#escaping
      const [text, ...rest] = linesOf(occasion, hasContents).map((line) =>
        line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
      );
      return { headers: json, body: JSON.stringify({ text: [`*${text ?? ""}*`, ...rest].join("\n") }) };
    }
    case "ntfy": {
      const [title = "", ...rest] = linesOf(occasion, hasContents);
      const isUrgent = occasion.event !== "turn_ended";
      const tags = { question_waiting: "question", turn_ended: "white_check_mark", turn_failed: "warning" }[
        occasion.event
      ];
      const headers = { title, tags, priority: isUrgent ? "high" : "default" };
      return { headers: { ...headers, "content-type": "text/plain; charset=utf-8" }, body: rest.join("\n") };
    }
  }
}

/** For programs. */
function described(occasion: Occasion, hasContents: boolean, nowMs: number): JsonObject {
  const { session, event } = occasion;
  const { sessionId, cwd } = session;
  const time = new Date(nowMs).toISOString();
  const contents = hasContents ? defined({ directory: cwd, text: contentOf(occasion) }) : {};
  return { event, time, sessionId, ...factsOf(occasion), ...contents };
}

function factsOf(occasion: Occasion): JsonObject {
  switch (occasion.event) {
    case "question_waiting": {
      const { id, of, askedAt } = occasion.question;
      return { question: { id, of, askedAt: new Date(askedAt).toISOString() } };
    }
    case "turn_failed":
      return { error: { code: occasion.error.code } };
    case "turn_ended":
      return { stopReason: occasion.stopReason };
  }
}

/** For people: a heading of plain ASCII (ntfy has it in a header), then what it is about and what to do. */
function linesOf(occasion: Occasion, hasContents: boolean): readonly string[] {
  const { sessionId, cwd } = occasion.session;
  const content = hasContents ? contentOf(occasion) : undefined;
  const about = hasContents ? [onOneLine(cwd), ...(content === undefined ? [] : [content])] : [];
  return [headingOf(occasion), ...about, `tenon attach ${sessionId}`];
}

function headingOf(occasion: Occasion): string {
  switch (occasion.event) {
    case "question_waiting":
      return `Tenon waits for your answer (${occasion.question.of})`;
    case "turn_failed":
      return `Tenon: a turn failed (${occasion.error.code})`;
    case "turn_ended":
      return occasion.stopReason === "end_turn"
        ? "Tenon: a turn ended"
        : `Tenon: a turn ended (${occasion.stopReason})`;
  }
}

function contentOf(occasion: Occasion): string | undefined {
  switch (occasion.event) {
    case "question_waiting":
      return questionWords(occasion.question);
    case "turn_failed":
      return onOneLine(occasion.error.message);
    case "turn_ended":
      return undefined;
  }
}

/** What is asked, on one line and not longer than a notice may be. */
export function questionWords({ of, shown }: Pick<OpenQuestion, "of" | "shown">): string {
  const fields = isJsonObject(shown) ? shown : {};
  const text = (value: JsonValue | undefined) => (typeof value === "string" ? value : "");
  switch (of) {
    case "permission": {
      const { tool, label } = fields;
      const name = isJsonObject(tool) ? text(tool["label"]) : text(label);
      return onOneLine(`Allow ${name || "a tool"}? ${JSON.stringify(fields["arguments"] ?? {})}`);
    }
    case "trust":
      return onOneLine(text(fields["title"]));
    case "sampling":
      return onOneLine(`The server ${text(fields["server"])} wants to ask the model`);
    case "elicitation": {
      const { request, server, message } = fields;
      return onOneLine(`${text(server)}: ${isJsonObject(request) ? text(request["message"]) : text(message)}`);
    }
    case "person":
      return onOneLine(text(fields["question"]));
  }
}

/** Text of models, servers and files. */
function onOneLine(text: string): string {
  const line = markHidden(text).replaceAll(/\s+/gu, " ").trim();
  return line.length > LIMITS.textChars ? `${line.slice(0, LIMITS.textChars)}…` : line;
}
