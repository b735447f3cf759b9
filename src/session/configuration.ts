// Follows the configuration of one session: its servers, trust questions and notices.

import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { hashJson } from "../base/json/json.js";
import {
  type ConfigWatch,
  type EffectiveConfig,
  problemText,
  questionLines,
  questionsByFile,
  type TrustQuestion,
  TrustStore,
  tenonPaths,
  type WatchRequest,
  watchConfig,
} from "../config/index.js";
import type { ServerSpec } from "../mcp/index.js";
import type { NoticeLevel, Notify } from "./events.js";
import type { SessionPorts, TrustAnswer, TrustRequest } from "./ports.js";

export interface ConfigurationOptions extends WatchRequest {
  /** Called with the first configuration, and then between turns. */
  onApplied(config: EffectiveConfig): void;
  readonly onNotice: Notify;
}

export class SessionConfiguration {
  readonly #options: ConfigurationOptions;
  readonly #opened: Promise<void>;
  readonly #told = new Set<string>();
  /** Asked and not answered, or denied for now: not to be asked again in this session. */
  readonly #asked = new Set<string>();
  /** Servers whose secrets were fetched again after a refusal. */
  readonly #refetched = new Set<string>();
  #watch: ConfigWatch | undefined;
  #applied: EffectiveConfig | undefined;
  #isBusy = false;
  /** The next change was requested by the client or the person: no notice is needed. */
  #isExpected = false;
  #isClosed = false;

  constructor(options: ConfigurationOptions) {
    this.#options = options;
    this.#opened = this.#open().catch((error: unknown) => this.#fail(error));
  }

  /** Resolves once the first configuration is in force, or could not be put in force. Never rejects. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  /** The client's other servers count at once: it asked for them itself. */
  async setClientServers(clientServers: readonly ServerSpec[]): Promise<void> {
    await this.#opened;
    this.#isExpected = true;
    try {
      await this.#watch?.reload({ clientServers });
      this.#apply({ isBetweenTurns: true });
    } finally {
      this.#isExpected = false;
    }
  }

  /** While a turn runs nothing changes under it; what came meanwhile is put in force when it ends. */
  turnStarts(): void {
    this.#isBusy = true;
  }

  turnEnds(): void {
    this.#isBusy = false;
    this.#apply();
  }

  /** Before a turn: files that could not be read are read again, and what they say now is put in force. */
  async retry(): Promise<void> {
    await this.#watch?.retry();
    this.#apply({ isBetweenTurns: true });
  }

  /** Puts the open trust questions to the person, one for each file and once a session; what is approved is connected at once. */
  async askForTrust(ports: SessionPorts | undefined, signal: AbortSignal): Promise<void> {
    const open = this.#watch?.config.value.questions.filter(({ hash }) => !this.#asked.has(hash)) ?? [];
    if (!ports?.confirmTrust || open.length === 0) return;
    const { world, env = world.env } = this.#options;
    const store = new TrustStore(world, tenonPaths(env).trustDir);
    for (const group of questionsByFile(open)) {
      if (signal.aborted) return;
      for (const { hash } of group) this.#asked.add(hash);
      const answer: TrustAnswer = await ports.confirmTrust(requestOf(group), signal).catch(() => "later");
      for (const question of group) {
        if (answer === "yes") await store.approve(question);
        if (answer === "no") await store.deny(question);
      }
    }
    await this.#watch?.reload();
    this.#apply({ isBetweenTurns: true });
  }

  /** A server refused what it was sent: its secrets are fetched again, once per session, since a fresh one may be refused as well. */
  async refused(server: string): Promise<void> {
    await this.#opened;
    const entry = this.#applied?.servers.find((one) => one.name === server);
    if (entry?.status !== "ready" || this.#refetched.has(server) || this.#isClosed) return;
    this.#refetched.add(server);
    await this.#watch?.refetch(entry.settings.secrets);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opened;
    await this.#watch?.close();
  }

  async #open(): Promise<void> {
    this.#watch = await watchConfig(this.#options);
    if (this.#isClosed) return;
    this.#apply();
    this.#watch.config.subscribe(() => this.#apply());
  }

  /** The session goes on without it; the person is told. */
  #fail(error: unknown): void {
    const stack = error instanceof Error ? error.stack : undefined;
    this.#options.world.log.error("session.configuration_failed", { error: messageOf(error), stack });
    this.#tell("error", `the configuration could not be put in force: ${messageOf(error)}`);
  }

  #apply({ isBetweenTurns = !this.#isBusy } = {}): void {
    const config = this.#watch?.config.value;
    if (!config || config === this.#applied || !isBetweenTurns || this.#isClosed) return;
    if (this.#applied && !this.#isExpected)
      this.#options.onNotice("info", "the configuration changed: the session's servers follow it");
    this.#applied = config;
    this.#options.onApplied(config);
    for (const { text } of config.notices) this.#tell("warning", text);
    const asServers = config.servers.flatMap((server) => (server.status === "invalid" ? server.problems : []));
    for (const problem of asServers) this.#told.add(problemText(problem)); // told as servers that failed
    for (const problem of config.problems) this.#tell(problem.severity, problemText(problem));
  }

  #tell(level: NoticeLevel, text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#options.onNotice(level, text);
  }
}

/** Everything that is covered by the answer is in it, word for word. */
function requestOf(group: readonly TrustQuestion[]): TrustRequest {
  const names = group.flatMap(({ server }) => server ?? []);
  const [first] = group;
  const lines = group.flatMap((question, index) => [...(index === 0 ? [] : [""]), ...questionLines(question)]);
  if (group.length === 1 && first) {
    const { server, hash, written, reasons } = first;
    const own = reasons
      ? `the MCP server "${server}" to run what this folder has`
      : `the project's MCP server "${server}"`;
    const title = `Trust ${server === undefined ? "the settings of this project" : own}?`;
    return { id: hash, title, lines, written, names, ...defined({ server }) };
  }
  const written = Object.fromEntries(group.map((question) => [question.server ?? "settings", question.written]));
  const file = first?.place.file ?? "the client";
  const what = first?.reasons ? `of ${file} to run what this folder has` : `of the project's ${file}`;
  const title = `Trust ${group.length} entries ${what}?`;
  return { id: hashJson(group.map(({ hash }) => hash)), title, lines, written, names };
}
