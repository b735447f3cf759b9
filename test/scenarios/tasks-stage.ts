// What scenarios about long-running calls share: a server over HTTP whose tasks outlive everybody, and a model that calls its tool.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import {
  type AcpClient,
  type AcpClientOptions,
  type Behaviour,
  type HttpServerOptions,
  type ScriptedHttpServer,
  scriptedHttpServer,
} from "../../src/testing/index.js";
import { type FakeProvider, fakeProvider, type ProviderRequest } from "../../src/testing/lab/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { conversationIn, TARGETS, type Target } from "./providers/target.js";

type Tool = NonNullable<Behaviour["tools"]>[number];
export type Era = "legacy" | "modern";

export interface StageOptions {
  readonly era?: Era;
  readonly task?: NonNullable<Tool["task"]>;
  readonly reply?: Tool["reply"];
  readonly http?: HttpServerOptions;
}

/** In every prompt that shall lead to a call. */
export const WORK = "WORK-NOW";
export const RESULT = "the-result-of-the-work";

export class TaskStage implements AsyncDisposable {
  readonly home: TemporaryFolder = new TemporaryFolder();
  readonly provider: FakeProvider;
  readonly server: ScriptedHttpServer;
  sessionId = "";

  private constructor(provider: FakeProvider, server: ScriptedHttpServer) {
    this.provider = provider;
    this.server = server;
    // Calls the tool when the last thing the person said asks for it, and only then.
    provider.replyWith((request) => {
      const said = JSON.stringify(conversationIn(request));
      const isAsked = said.lastIndexOf(WORK) > said.lastIndexOf("mcp__s__work");
      const parts = isAsked
        ? [{ kind: "tool_call" as const, name: "mcp__s__work", arguments: {} }]
        : [{ kind: "text" as const, text: "so be it" }];
      return { kind: "answer", parts };
    });
  }

  static async open({ era = "legacy", task = {}, reply, http = {} }: StageOptions = {}): Promise<TaskStage> {
    const tool = {
      name: "work",
      task: { pollMs: 100, ...task },
      reply: reply ?? { kind: "text", text: RESULT },
    } as const;
    const server = await scriptedHttpServer({ era, tools: [tool] }, http);
    return new TaskStage(await fakeProvider(), server);
  }

  get mcpServers(): { type: "http"; name: string; url: string; headers: [] }[] {
    return [{ type: "http", name: "s", url: this.server.url, headers: [] }];
  }

  async start(options: AcpClientOptions & { readonly target?: Target } = {}): Promise<AcpClient> {
    const { target = TARGETS[0] } = options;
    if (!target) throw new Error("there are no targets");
    const env = { ...target.env(this.provider), TENON_MODEL: target.model };
    const client = await startTenon(this.home, { env, permissions: "always", ...options });
    await client.initialize({
      clientCapabilities: { session: { notices: {} }, elicitation: options.extend ? { form: {} } : null },
    });
    return client;
  }

  async newSession(client: AcpClient): Promise<void> {
    ({ sessionId: this.sessionId } = await client.newSession({ cwd: this.home.path, mcpServers: this.mcpServers }));
  }

  async load(client: AcpClient, mcpServers: readonly object[] = this.mcpServers): Promise<void> {
    await client.request("session/load", { sessionId: this.sessionId, cwd: this.home.path, mcpServers });
  }

  /** Begins a turn and returns when its call runs as a task, with the prompt that is still under way. */
  async working(client: AcpClient): Promise<{ readonly turn: Promise<unknown> }> {
    const from = this.calls("tasks/get").length;
    const turn = client.prompt(this.sessionId, WORK);
    await this.server.awaitRequest(() => this.calls("tasks/get").length > from, { timeoutMs: 30_000 });
    return { turn };
  }

  /** Requests of a method so far. */
  calls(method: string): readonly ScriptedHttpServer["requests"][number][] {
    return this.server.requests.filter(({ message }) => message?.["method"] === method);
  }

  /** The states the card of the call went through, in order, each once in a row. */
  states(client: AcpClient): readonly string[] {
    const all = this.cards(client).flatMap(({ status }) => status ?? []);
    return all.filter((status, index) => status !== all[index - 1]);
  }

  cards(client: AcpClient): Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>[] {
    return client
      .updates(this.sessionId)
      .flatMap((update) =>
        update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update" ? [update] : [],
      );
  }

  async untilCard(client: AcpClient, status: string): Promise<string> {
    const isIt = (update: SessionUpdate) =>
      update.sessionUpdate.startsWith("tool_call") && "status" in update && update.status === status;
    return JSON.stringify(await client.waitForUpdate(this.sessionId, isIt, { timeoutMs: 30_000 }));
  }

  /** How often a text stands in what the model was given last. */
  inLastRequest(words: string): number {
    const last: ProviderRequest | undefined = this.provider.requests.at(-1);
    return last ? JSON.stringify(conversationIn(last)).split(words).length - 1 : 0;
  }

  /** Records of a kind in the session's journal. */
  records(kind: string): readonly string[] {
    const journal = readFileSync(join(this.home.path, "state/sessions", `${this.sessionId}.ndjson`), "utf8");
    return journal.split("\n").filter((line) => line.includes(`"kind":"${kind}"`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
    this.home[Symbol.dispose]();
  }
}
