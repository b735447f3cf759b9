// The same scenarios through `tenon acp`: an ACP client that hands over the server, opens pages and answers forms, and a scripted model.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { methods } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/base/json/json.js";
import { startAgent } from "../../src/testing/index.js";
import {
  answerText,
  fakeProvider,
  logIn,
  type ProviderReply,
  type ProviderRequest,
} from "../../src/testing/lab/index.js";
import { run } from "../lib/run.js";
import { argumentsFor, prescribedCalls, type ScenarioCall } from "./calls.js";
import { scenarioSettings } from "./login.js";

/** The suite kills only the shell around a client that hangs. */
const WATCHDOG_MS = 28_000;
/** A log-in that a call turns out to need is asked for in the next turn, and the call is made again in that one. */
const MAX_TURNS = 3;
const PREFIX = "mcp__conformance__";
const [PROGRAM = "", URL_GIVEN = ""] = process.argv.slice(-2);
const TENON = resolve(PROGRAM);

/** Calls the tools in one answer, and in the next turn those again that failed. */
class ScriptedModel {
  readonly #first: JsonObject | undefined;
  #pending: readonly ScenarioCall[] | undefined;
  #sent: readonly ScenarioCall[] = [];
  #turn = 0;

  constructor(first: JsonObject | undefined) {
    this.#first = first;
  }

  get isDone(): boolean {
    return this.#pending?.length === 0;
  }

  answer({ body }: ProviderRequest): ProviderReply {
    const results = objects(body["messages"]).filter(({ role }) => role === "tool");
    if (objects(body["messages"]).at(-1)?.["role"] === "tool") {
      const answered = results.slice(-this.#sent.length).map(({ content }) => JSON.stringify(content));
      this.#pending = this.#sent.filter((_, index) => answered[index]?.includes("[tenon: error]") !== false);
      for (const [index, words] of answered.entries())
        console.error(`${this.#sent[index]?.name}: ${words.slice(0, 300)}`);
      return answerText("done");
    }
    const tools = objects(body["tools"]).flatMap(({ function: tool }) => (isJsonObject(tool) ? [tool] : []));
    const offered = tools.filter((tool) => nameOf(tool).startsWith(PREFIX));
    this.#pending ??=
      offered.length === 0 ? undefined : (prescribedCalls() ?? offered.map((tool) => this.#callOf(tool)));
    this.#sent = this.#pending ?? [];
    this.#turn += 1;
    if (this.#sent.length === 0) return answerText("nothing to call");
    return {
      kind: "answer",
      parts: this.#sent.map(({ name, args }, index) => {
        return { kind: "tool_call", id: `call_${this.#turn}_${index}`, name: `${PREFIX}${name}`, arguments: args };
      }),
    };
  }

  #callOf(tool: JsonObject): ScenarioCall {
    const { parameters } = tool;
    const schema = isJsonObject(parameters) ? parameters : {};
    return { name: nameOf(tool).slice(PREFIX.length), args: argumentsFor(schema, this.#first) };
  }
}

function nameOf({ name }: JsonObject): string {
  return typeof name === "string" ? name : "";
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}

/** As Tenon has it, for the scenario that wants a schema back word for word: a provider is given its own form of it. */
async function firstSchema(env: NodeJS.ProcessEnv): Promise<JsonObject | undefined> {
  const { output } = await run(process.execPath, [TENON, "mcp", "tools", "conformance", "--json"], { env });
  const parsed = parseJson(output.slice(output.search(/[[{]/u)));
  const [tool] = parsed.ok ? objects(isJsonObject(parsed.value) ? parsed.value["tools"] : parsed.value) : [];
  return isJsonObject(tool?.["inputSchema"]) ? tool["inputSchema"] : undefined;
}

async function main(home: string): Promise<void> {
  const oauth = scenarioSettings();
  // ACP has no field for credentials: a server that needs some is in the user's file.
  const isConfigured = Object.keys(oauth).length > 0;
  const entry = { type: "http", url: URL_GIVEN, oauth };
  const configure = (mcpServers: object) =>
    writeFileSync(join(home, "config.json"), JSON.stringify({ allowHosts: ["localhost", "127.0.0.1"], mcpServers }));
  const nowhere = { DBUS_SESSION_BUS_ADDRESS: "unix:path=/nonexistent", XDG_RUNTIME_DIR: "/nonexistent" };
  await using provider = await fakeProvider();
  const model = { TENON_MODEL: "openai-compatible/scripted", TENON_BASE_URL: provider.url, TENON_API_KEY: "none" };
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, TENON_HOME: home, ...nowhere, ...model };
  configure({ conformance: entry });
  const wantsSchema = process.env["MCP_CONFORMANCE_SCENARIO"]?.startsWith("json-schema-2020-12") === true;
  const script = new ScriptedModel(wantsSchema ? await firstSchema(env) : undefined);
  if (!isConfigured) configure({});
  provider.replyWith((request) => script.answer(request));
  await using client = startAgent(
    { command: process.execPath, args: [TENON, "acp"], env, cwd: home },
    {
      extend: (app) =>
        app.onRequest(methods.client.elicitation.create, async ({ params }) => {
          if (params.mode === "url") await logIn(String(params.url));
          return { action: "accept", content: {} };
        }),
    },
  );
  await client.initialize({ clientCapabilities: { session: { notices: {} }, elicitation: { url: {}, form: {} } } });
  const handedOver = { type: "http" as const, name: "conformance", url: URL_GIVEN, headers: [] };
  const { sessionId } = await client.newSession({ cwd: home, mcpServers: isConfigured ? [] : [handedOver] });
  for (let turn = 0; turn < MAX_TURNS && !script.isDone; turn++) await client.prompt(sessionId, "Call every tool.");
  console.error(client.stderr().slice(-4_000));
  const isNotice = (update: { sessionUpdate: string }) => update.sessionUpdate === "notice";
  console.error(JSON.stringify(client.updates(sessionId).filter(isNotice)).slice(0, 4_000));
}

const watchdog = setTimeout(() => {
  console.error(`not done after ${WATCHDOG_MS / 1000} s`);
  process.exit(1);
}, WATCHDOG_MS);
const home = mkdtempSync(join(tmpdir(), "tenon-conformance-"));
try {
  await main(home);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
clearTimeout(watchdog);
rmSync(home, { recursive: true, force: true });
// The suite holds stdin open for ever.
process.exit();
