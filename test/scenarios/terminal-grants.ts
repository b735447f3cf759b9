// The chat in a real terminal, with a scripted model: asks for a call, reads the answers of the question, chooses one by its label.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../../src/base/json/json.js";
import { type Behaviour, scriptedServer } from "../../src/testing/index.js";
import { answerText, answerToolCall, type FakeProvider, fakeProvider } from "../../src/testing/lab/index.js";
import { TemporaryFolder } from "./agent.js";
import { agentNode } from "./peers.js";
import { TmuxTerminal } from "./tmux.js";

/** `texts`: answers of the model that a server asks for while the call runs. */
export interface Action {
  readonly tool: string;
  readonly given: JsonObject;
  readonly texts?: readonly string[];
}

export function act(tool: string, given: JsonObject = {}, texts: readonly string[] = []): Action {
  return { tool, given, texts };
}

/** Serves resources, which scripted servers have not. */
export const NOTES = `
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const resources = ["one", "two"].map((name) => ({ uri: "note://" + name, name }));
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { resources: {} }, serverInfo: { name: "notes", version: "1" } }),
  "resources/list": () => ({ resources }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, text: "a note" }] }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  send(answer ? { id, result: answer(params) } : { id, error: { code: -32601, message: "no such method" } });
});
`;

export class GrantStage implements AsyncDisposable {
  readonly home: TemporaryFolder = new TemporaryFolder();
  readonly provider: FakeProvider;
  readonly project: string;
  readonly other: string;
  #servers: readonly string[] = [];

  private constructor(provider: FakeProvider) {
    this.provider = provider;
    this.project = this.#folder("project");
    this.other = this.#folder("other");
    writeFileSync(join(this.home.path, "notes.mjs"), NOTES);
  }

  static async open(): Promise<GrantStage> {
    return new GrantStage(await fakeProvider());
  }

  #folder(name: string): string {
    const path = join(this.home.path, name);
    mkdirSync(join(path, "sub"), { recursive: true });
    writeFileSync(join(path, "a.txt"), "a\n");
    return path;
  }

  /** Servers by their names; `notes` and `more` have resources. `others` need not become ready. */
  configure(servers: Readonly<Record<string, Behaviour>>, more: JsonObject = {}, others: JsonObject = {}): void {
    const scripted = Object.entries(servers).map(([name, behaviour]) => [name, this.entry(behaviour)]);
    const notes = { command: agentNode(), args: [join(this.home.path, "notes.mjs")] };
    const ready = { ...Object.fromEntries(scripted), notes, more: { ...notes, env: { WHICH: "more" } } };
    this.#servers = Object.keys(ready);
    writeFileSync(
      join(this.home.path, "config.json"),
      JSON.stringify({ mcpServers: { ...ready, ...others }, ...more }),
    );
  }

  entry(behaviour: Behaviour): JsonObject {
    const { command, args, env } = scriptedServer(behaviour);
    return { command, args: [...args], env: { ...env } };
  }

  /** In the project unless told otherwise, once all servers of `configure` are ready. */
  async chat(cwd: string = this.project): Promise<GrantChat> {
    const env = { TENON_MODEL: "openai-compatible/m", TENON_BASE_URL: this.provider.url };
    const terminal = await TmuxTerminal.start(this.home, { cwd, rows: 60, columns: 200, env });
    await terminal.until((screen) => this.#servers.every((name) => screen.includes(`MCP server "${name}" is ready`)));
    return new GrantChat(terminal, this.provider);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider[Symbol.asyncDispose]();
    this.home[Symbol.dispose]();
  }
}

export class GrantChat implements AsyncDisposable {
  readonly terminal: TmuxTerminal;
  readonly #provider: FakeProvider;
  #turns = 0;

  constructor(terminal: TmuxTerminal, provider: FakeProvider) {
    this.terminal = terminal;
    this.#provider = provider;
  }

  get #end(): string {
    return `End ${this.#turns}.`;
  }

  /** The answers of the question about it, in their order. Fails when nothing is asked. */
  async asked(action: Action): Promise<readonly string[]> {
    await this.begin(action);
    return await this.menu();
  }

  /** What it leads to is for the test to see. */
  async begin({ tool, given }: Action): Promise<void> {
    this.#provider.reply(answerToolCall(tool, given));
    this.#turns += 1;
    await this.terminal.send(`turn ${this.#turns}`);
  }

  /** Of the question that a prompt alone leads to. */
  async prompted(): Promise<readonly string[]> {
    this.#turns += 1;
    await this.terminal.send(`turn ${this.#turns}`);
    return await this.menu();
  }

  async menu(): Promise<readonly string[]> {
    return labelsOf(await this.terminal.asked());
  }

  /** Types an answer where there is no menu, and waits for the end of the turn. */
  async typed(text: string): Promise<void> {
    this.#provider.reply(answerText(this.#end));
    await this.terminal.send(text);
    await this.terminal.until(this.#end);
  }

  /** Chooses by the label; other questions may follow. */
  async press(label: string): Promise<void> {
    const labels = await this.menu();
    if (!labels.includes(label)) throw new Error(`"${label}" is not among the answers: ${labels.join(" | ")}`);
    await this.terminal.press(String(labels.indexOf(label) + 1));
  }

  /** Chooses by the label and waits for the end of the turn. `texts`: what the model says to a server that may ask it now. */
  async answer(
    label: string,
    { words, texts = [] }: { words?: string; texts?: readonly string[] } = {},
  ): Promise<void> {
    this.#provider.reply(...texts.map((text) => answerText(text)), answerText(this.#end));
    await this.press(label);
    if (words !== undefined) {
      await this.terminal.until("What should it do instead?");
      await this.terminal.send(words);
    }
    await this.terminal.until(this.#end);
  }

  /** The call runs, or is refused, without a question: what the model was told of it. */
  async unasked({ tool, given, texts = [] }: Action): Promise<string> {
    this.#provider.reply(answerToolCall(tool, given), ...texts.map((text) => answerText(text)));
    await this.plainly();
    const messages = this.#provider.requests.at(-1)?.body["messages"];
    const told = Array.isArray(messages)
      ? messages.filter(isJsonObject).findLast(({ role }) => role === "tool")
      : undefined;
    return JSON.stringify(told?.["content"]);
  }

  /** A prompt without any question. */
  async plainly(): Promise<void> {
    this.#turns += 1;
    this.#provider.reply(answerText(this.#end));
    await this.terminal.send(`turn ${this.#turns}`);
    const screen = await this.terminal.until((shown) => shown.includes(this.#end) || shown.includes("❯ 1."));
    if (labelsOf(screen).length > 0) throw new Error(`a question where none should be:\n${screen}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminal[Symbol.asyncDispose]();
  }
}

function labelsOf(screen: string): readonly string[] {
  return [...screen.matchAll(/^\s*❯?\s*\d\. (.+)$/gmu)].map(([, words = ""]) => words.trim());
}
