// A home with user-level servers, and an editor whose sessions share them: which processes live, who was asked what.
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type ClientApp, type CreateElicitationRequest, methods } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import {
  type AcpClient,
  type Behaviour,
  type LivingProcess,
  listLiving,
  scriptedServer,
  type ToolScript,
} from "../../src/testing/index.js";
import { ConfigBench } from "./config-bench.js";
import { program } from "./real-server.js";

const MARKER = "TENON_TEST_MARKER";

/** Says which process answers. */
export const PID: ToolScript = { name: "which", description: "Says which process this is", reply: { kind: "pid" } };

export class SharedHome implements AsyncDisposable {
  readonly bench: ConfigBench;
  /** On every server of this home, and on nothing else. */
  readonly marker: string = randomUUID();
  readonly asked: CreateElicitationRequest[] = [];

  private constructor(bench: ConfigBench) {
    this.bench = bench;
  }

  static async open(): Promise<SharedHome> {
    return new SharedHome(await ConfigBench.open());
  }

  /** An entry of the configuration. */
  scripted(behaviour: Behaviour, more: JsonObject = {}): JsonObject {
    const { command, args, env } = scriptedServer(behaviour, { marker: this.marker });
    return { command, args, env, ...more };
  }

  real(packageName: string, ...args: readonly string[]): JsonObject {
    return { command: process.execPath, args: [program(packageName), ...args], env: { [MARKER]: this.marker } };
  }

  configure(servers: JsonObject, more: JsonObject = {}): void {
    this.bench.put("home/config.json", { mcpServers: servers, ...more });
  }

  /** Answers every question with the session it came for. */
  async editor(): Promise<AcpClient> {
    const extend = (app: ClientApp) =>
      app.onRequest(methods.client.elicitation.create, ({ params }) => {
        this.asked.push(params);
        return { action: "accept", content: { name: `person of ${sessionOf(params)}` } };
      });
    const client = await this.bench.editor({ extend });
    await client.initialize({ clientCapabilities: { session: { notices: {} }, elicitation: { form: {}, url: {} } } });
    return client;
  }

  async sessions(client: AcpClient, count: number, cwd: string = this.bench.project): Promise<readonly string[]> {
    const opened = Array.from({ length: count }, () => client.newSession({ cwd }));
    return (await Promise.all(opened)).map(({ sessionId }) => sessionId);
  }

  folder(name: string): string {
    const path = join(this.bench.root, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  get living(): readonly LivingProcess[] {
    return listLiving({ marker: this.marker });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bench[Symbol.asyncDispose]();
  }
}

export function sessionOf(params: CreateElicitationRequest): string {
  return "sessionId" in params && typeof params.sessionId === "string" ? params.sessionId : "nobody";
}

/** What a call of the tool said in this session, since nothing else is prompted meanwhile. */
export async function say(client: AcpClient, sessionId: string, words: string): Promise<string> {
  const before = client.text(sessionId).length;
  await client.prompt(sessionId, words);
  return client.text(sessionId).slice(before);
}

export async function pidOf(client: AcpClient, sessionId: string, server: string): Promise<string> {
  const said = await say(client, sessionId, `mcp__${server}__which`);
  const [, pid] = /"pid"\s*:\s*(\d+)/u.exec(said) ?? [];
  if (pid === undefined) throw new Error(`no process said who it is: ${said}`);
  return pid;
}

/** Every message the client got for this session. */
export function heardIn(client: AcpClient, sessionId: string): string {
  return client.lines
    .filter(({ direction, text }) => direction === "received" && isOf(JSON.parse(text), sessionId))
    .map(({ text }) => text)
    .join("\n");
}

function isOf(message: JsonValue, sessionId: string): boolean {
  const params = isJsonObject(message) ? message["params"] : undefined;
  return isJsonObject(params) && params["sessionId"] === sessionId;
}
