// One session that is looked at: joined and followed live, or read from its journal while nobody runs it.
import { batch, signal } from "@preact/signals";
import { WireError } from "../wire/client.js";
import { type JsonObject, messageOf, numberAt, objectAt, objectsAt, tenonMeta, textAt } from "../wire/json.js";
import { Position } from "../wire/position.js";
import type { App } from "./app.js";
import { answeredText, Conversation, type Schedule } from "./conversation.js";
import { Journal } from "./journal.js";
import { partOf } from "./parts.js";

export interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description?: string;
}

/** A setting of the session: its mode, its model and the like. */
export interface Option {
  readonly id: string;
  readonly name: string;
  readonly value: string;
  readonly choices: readonly Choice[];
}

export interface SlashCommand {
  readonly name: string;
  readonly description: string;
  readonly hint: string;
}

/** `opening`: nothing is there yet. `journal`: read only, and nothing of the session runs. `live`: followed. `failed`: neither. */
export type Standing = "opening" | "journal" | "live" | "failed";

export class OpenSession {
  readonly id: string;
  readonly conversation: Conversation;
  readonly standing = signal<Standing>("opening");
  readonly problem = signal<string | undefined>(undefined);
  /** Another process that has it open, in words: it cannot be joined, but its journal can be followed. */
  readonly owner = signal<string | undefined>(undefined);
  readonly state = signal("idle");
  readonly runsFor = signal<string | undefined>(undefined);
  readonly queued = signal(0);
  readonly clients = signal<readonly string[]>([]);
  readonly options = signal<readonly Option[]>([]);
  readonly commands = signal<readonly SlashCommand[]>([]);
  readonly #app: App;
  readonly #position = new Position();
  readonly #journal: Journal;
  /** Prompts that wait for the connection to come back. */
  #onResumed: (() => void)[] = [];
  #isOver = false;
  /** Records of the journal that are in the conversation. */
  #shown = 0;

  constructor(id: string, app: App, schedule: Schedule) {
    this.id = id;
    this.#app = app;
    this.conversation = new Conversation(schedule, () => app.introduction.value?.clientId);
    this.#journal = new Journal(id, app);
  }

  get mayPrompt(): boolean {
    return this.#app.may("prompt");
  }

  /** A session at rest is read from its journal: to look at it should start no server. */
  async open(): Promise<void> {
    const row = this.#app.rows.value.get(this.id);
    if (row?.state === "resting" || row === undefined) await this.#read();
    else await this.load();
  }

  /** The connection is there (again). */
  async online(): Promise<void> {
    if (this.standing.value !== "live") await this.open();
    else await this.#resume();
  }

  async load(): Promise<void> {
    this.#position.reset();
    this.conversation.clear();
    this.standing.value = "live"; // updates arrive before the answer
    try {
      const cwd = await this.#folder();
      this.#opened(await this.#app.request("session/load", { sessionId: this.id, cwd, mcpServers: [] }));
    } catch (error) {
      if (error instanceof WireError && error.isLost) return;
      await this.#read();
      this.problem.value = messageOf(error);
    }
  }

  async #resume(): Promise<void> {
    const _meta = { tenon: { after: this.#position.last } };
    try {
      const cwd = await this.#folder();
      this.#opened(await this.#app.request("session/resume", { sessionId: this.id, cwd, mcpServers: [], _meta }));
    } catch (error) {
      if (error instanceof WireError && error.isLost) return;
      await this.load(); // its log may have been replaced
    }
    const waiting = this.#onResumed;
    this.#onResumed = [];
    for (const resume of waiting) resume();
  }

  async #folder(): Promise<string> {
    const known = this.#app.rows.value.get(this.id)?.cwd ?? "";
    return known === "" ? (textAt(await this.#app.view(this.id), "cwd") ?? "") : known;
  }

  /** What the journal has, without joining. */
  async #read(): Promise<void> {
    this.conversation.clear();
    this.#shown = 0;
    try {
      await this.#follow();
      this.standing.value = "journal";
    } catch (error) {
      if (error instanceof WireError && error.isLost) return;
      batch(() => {
        this.standing.value = "failed";
        this.problem.value = messageOf(error);
      });
    }
  }

  /** What its process has written since; where it runs here by now, it is joined. */
  async refresh(): Promise<void> {
    if (this.standing.value !== "journal" || this.#isOver) return;
    const isHere = (this.#app.rows.value.get(this.id)?.state ?? "resting") !== "resting";
    await (isHere && this.problem.value === undefined ? this.load() : this.#follow());
  }

  async #follow(): Promise<void> {
    await this.#journal.read();
    const records = this.#journal.records.value;
    for (const record of records.slice(this.#shown)) this.conversation.applyRecord(record, this.#journal.blobs);
    this.#shown = records.length;
    this.owner.value = textAt(await this.#app.view(this.id), "owner");
  }

  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // A gateway that does not answer has forgotten this client by itself.
    if (this.standing.value === "live")
      this.#app.request("session/close", { sessionId: this.id }).catch(() => undefined);
    for (const resume of this.#onResumed) resume();
  }

  /** Resolves with the end of its turn. Sent again after a break: its id makes that harmless. */
  async prompt(blocks: readonly JsonObject[]): Promise<void> {
    if (this.standing.value !== "live") await this.load();
    if (this.standing.value !== "live") throw new Error(this.problem.value ?? "the session cannot be opened");
    this.conversation.addUser(blocks.map((block) => partOf(block)));
    const request = { sessionId: this.id, prompt: blocks, _meta: { tenon: { promptId: newId() } } };
    while (!this.#isOver) {
      try {
        await this.#app.request("session/prompt", request);
        return;
      } catch (error) {
        if (!(error instanceof WireError) || !error.isLost) throw error;
        await new Promise<void>((resolve) => this.#onResumed.push(resolve));
      }
    }
  }

  cancel(): void {
    this.#app.client.notify("session/cancel", { sessionId: this.id });
  }

  async choose(option: string, value: string): Promise<void> {
    const answer = await this.#app.request("session/set_config_option", {
      sessionId: this.id,
      configId: option,
      value,
    });
    this.options.value = optionsOf(answer);
  }

  onUpdate(params: JsonObject): void {
    const update = objectAt(params, "update");
    const place = tenonMeta(params);
    const [seq, partOfRecord, part] = ["seq", "partOf", "part"].map((name) => numberAt(place, name));
    const at =
      seq === undefined ? (partOfRecord === undefined ? {} : { partOf: partOfRecord, part: part ?? 0 }) : { seq };
    if (!this.#position.take(at)) return;
    const kind = textAt(update, "sessionUpdate");
    if (kind === "session_info_update") this.#onInfo(tenonMeta(update));
    else if (kind === "available_commands_update")
      this.commands.value = objectsAt(update, "availableCommands").map(commandOf);
    else if (kind === "config_option_update") this.options.value = optionsOf(update);
    else this.conversation.apply(update);
  }

  #onInfo(info: JsonObject): void {
    batch(() => {
      if (info["state"] !== undefined) this.#showState(info);
      const question = objectAt(info, "question");
      const by = objectAt(question, "by");
      const name = textAt(by, "name");
      if (question["isOpen"] === false && name !== undefined) {
        const isOwn = textAt(by, "client") === this.#app.introduction.value?.clientId;
        this.conversation.mark(answeredText(question["answer"], isOwn ? "you" : name));
      }
      const error = objectAt(objectAt(info, "ended"), "error");
      const words = textAt(error, "message");
      if (words !== undefined) this.conversation.apply({ sessionUpdate: "notice", severity: "error", title: words });
      if (textAt(objectAt(info, "ended"), "stopReason") === "cancelled") this.conversation.mark("cancelled");
    });
  }

  #showState(info: JsonObject): void {
    this.state.value = textAt(info, "state") ?? "idle";
    this.queued.value = numberAt(info, "queued") ?? 0;
    this.runsFor.value = textAt(objectAt(info, "by"), "name");
    if (info["clients"] !== undefined) this.clients.value = namesOf(info);
  }

  #opened(answer: JsonObject): void {
    const meta = tenonMeta(answer);
    const view = objectAt(meta, "view");
    batch(() => {
      this.standing.value = "live";
      this.problem.value = undefined;
      this.state.value = textAt(meta, "state") ?? "idle";
      this.options.value = optionsOf(answer);
      this.clients.value = namesOf(view);
    });
  }
}

function namesOf(view: JsonObject): readonly string[] {
  return objectsAt(view, "clients").map((client) => textAt(client, "name") ?? "?");
}

function optionsOf(answer: JsonObject): readonly Option[] {
  return objectsAt(answer, "configOptions").map((option) => ({
    id: textAt(option, "id") ?? "",
    name: textAt(option, "name") ?? "",
    value: textAt(option, "currentValue") ?? "",
    choices: objectsAt(option, "options").map((choice) => {
      const description = textAt(choice, "description");
      const plain = { value: textAt(choice, "value") ?? "", name: textAt(choice, "name") ?? "" };
      return description === undefined ? plain : { ...plain, description };
    }),
  }));
}

function commandOf(command: JsonObject): SlashCommand {
  return {
    name: textAt(command, "name") ?? "",
    description: textAt(command, "description") ?? "",
    hint: textAt(objectAt(command, "input"), "hint") ?? "",
  };
}

/** Also where the page is served without TLS: `randomUUID` is for secure contexts only. */
function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
