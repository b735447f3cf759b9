// The clients of the chaos run: two translators for each session, of which one prompts; each keeps every numbered update.
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import { remoteLink, Translator } from "../../src/translator/index.js";
import { nodeWorld, openWebSocket } from "../../src/world/index.js";
import { numberedLines, type ShownUpdate, shownIn } from "../../test/scenarios/gateway/fleet.js";

const AFTER_ERROR_MS = 1_000;
const silent = () => {};
const WORLD = nodeWorld({ log: { debug: silent, info: silent, warn: silent, error: silent } });

export interface Addresses {
  readonly urls: readonly string[];
  readonly token: string;
}

/** An editor with its translator, in this process. */
export class Follower {
  readonly #translator: Translator;
  readonly #answers = new Map<number, (message: JsonObject) => void>();
  readonly #shown: ShownUpdate[] = [];
  #sessionId = "";
  #ids = 0;
  /** Words of the translator for people: that a node is away. */
  notices = 0;

  /** `first`: the address it tries first. */
  constructor({ urls, token }: Addresses, first: number) {
    const from = first % urls.length;
    const inTurn = [...urls.slice(from), ...urls.slice(0, from)];
    this.#translator = new Translator({
      world: WORLD,
      gatewayName: "of the chaos run",
      isLocal: false,
      initialize: { protocolVersion: 1, clientCapabilities: {} },
      open: remoteLink({ urls: inTurn, token }, { world: WORLD, openWebSocket }),
      send: (message) => this.#hear(message),
      notice: () => {
        this.notices += 1;
        return [];
      },
    });
    this.#translator.run();
  }

  async begin(cwd: string): Promise<string> {
    const { sessionId } = await this.#request("session/new", { cwd, mcpServers: [] });
    if (typeof sessionId !== "string") throw new Error("a session has no id");
    this.#sessionId = sessionId;
    return sessionId;
  }

  async load(sessionId: string, cwd: string): Promise<void> {
    this.#sessionId = sessionId;
    await this.#request("session/load", { sessionId, cwd, mcpServers: [] });
  }

  /** How the turn ended, in a word. */
  async prompt(text: string): Promise<string> {
    const prompt = [{ type: "text", text }];
    const { stopReason } = await this.#request("session/prompt", { sessionId: this.#sessionId, prompt });
    return typeof stopReason === "string" ? stopReason : "no stop reason";
  }

  /** Each numbered update with its number, in the order of arrival. */
  lines(): readonly string[] {
    return numberedLines(this.#shown);
  }

  async close(): Promise<void> {
    await this.#translator.close();
  }

  async #request(method: string, params: JsonObject): Promise<JsonObject> {
    this.#ids += 1;
    const id = this.#ids;
    const answered = new Promise<JsonObject>((resolve) => this.#answers.set(id, resolve));
    this.#translator.hear({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return isJsonObject(result) ? result : {};
  }

  #hear(given: object): undefined {
    const message: JsonObject = { ...given };
    const { id, method } = message;
    if (method === undefined && typeof id === "number") {
      this.#answers.get(id)?.(message);
      this.#answers.delete(id);
    } else if (id !== undefined) {
      // Nothing is asked for in this run: whatever is gets a no.
      this.#translator.hear({ jsonrpc: "2.0", id, error: { code: -32_601, message: "not in this run" } });
    } else this.#shown.push(...shownIn(message, this.#sessionId, performance.now()));
    return undefined;
  }
}

/** A session that is prompted again and again, and its two followers. */
export class ChaosSession {
  readonly number: number;
  readonly id: string;
  readonly followers: readonly [Follower, Follower];
  /** Prompts without an answer. */
  open = 0;
  turns = 0;
  /** Answers that are not `end_turn`. */
  readonly failures: string[] = [];

  private constructor(number: number, id: string, followers: readonly [Follower, Follower]) {
    this.number = number;
    this.id = id;
    this.followers = followers;
  }

  static async open(number: number, cwd: string, addresses: Addresses): Promise<ChaosSession> {
    const prompter = new Follower(addresses, number);
    const watcher = new Follower(addresses, number + 1);
    const id = await prompter.begin(cwd);
    await watcher.load(id, cwd);
    return new ChaosSession(number, id, [prompter, watcher]);
  }

  /** Turn after turn, until there are to be no new ones. */
  async run(mayBegin: () => boolean): Promise<void> {
    while (mayBegin()) {
      this.turns += 1;
      this.open += 1;
      try {
        // The model reads both numbers from it.
        const text = `chaos session ${this.number} turn ${this.turns}: write down, step by step`;
        const end = await this.followers[0].prompt(text);
        if (end !== "end_turn") this.failures.push(`turn ${this.turns} ended with ${end}`);
      } catch (error) {
        this.failures.push(`turn ${this.turns}: ${error instanceof Error ? error.message : String(error)}`);
        await sleep(AFTER_ERROR_MS); // nobody prompts again at once
      }
      this.open -= 1;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.followers.map((follower) => follower.close()));
  }
}
