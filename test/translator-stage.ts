// An editor before a translator and a scripted gateway, on a fake clock.
import type { JsonObject } from "../src/base/json/json.js";
import { type FakeWorld, fakeWorld } from "../src/testing/index.js";
import { Translator, type TranslatorOptions } from "../src/translator/translator.js";
import { type Message, ScriptedGateway, type ScriptedGatewayOptions } from "./scripted-gateway.js";

export interface TranslatorStage {
  readonly world: FakeWorld;
  readonly gateway: ScriptedGateway;
  readonly translator: Translator;
  /** Everything the editor got. */
  readonly sent: Message[];
  ask(method: string, params: JsonObject): string;
  answers(id: string): readonly Message[];
  /** Lets time pass until the request has its answer. */
  answerTo(id: string, withinMs?: number): Promise<Message>;
  updates(): readonly Message["params"][];
  texts(): readonly string[];
  notices(): readonly string[];
  newSession(): Promise<string>;
  prompt(sessionId: string, text?: string): string;
  /** What the editor does with a request. */
  onRequest(listen: (message: Message) => void): void;
}

export const INITIALIZE = {
  protocolVersion: 1,
  clientInfo: { name: "zed", title: "Zed" },
  clientCapabilities: { terminal: true },
};

export function stage(
  options: Omit<ScriptedGatewayOptions, "world"> = {},
  more: Partial<TranslatorOptions> = {},
): TranslatorStage {
  const world = fakeWorld();
  const gateway = new ScriptedGateway({ world, ...options });
  const sent: Message[] = [];
  /** What the editor does with a request. */
  let onRequest: (message: Message) => void = () => {};
  const translator = new Translator({
    world,
    open: gateway.open,
    gatewayName: "of the test",
    isLocal: true,
    initialize: INITIALIZE,
    send: (raw) => {
      const message: Message = JSON.parse(JSON.stringify(raw));
      sent.push(message);
      if (message.method !== undefined && message.id !== undefined) onRequest(message);
      return undefined;
    },
    notice: (_level, text) => [{ sessionUpdate: "notice", title: text }],
    ...more,
  });
  let ids = 0;
  const ask = (method: string, params: JsonObject) => {
    const id = `editor-${++ids}`;
    translator.hear({ jsonrpc: "2.0", id, method, params });
    return id;
  };
  const answers = (id: string) => sent.filter((message) => message.id === id && message.method === undefined);
  /** Lets time pass until the request has its answer. */
  const answerTo = async (id: string, withinMs = 60_000): Promise<Message> => {
    for (let passed = 0; passed < withinMs && answers(id).length === 0; passed += 10) await world.advance(10);
    const [answer] = answers(id);
    if (!answer) throw new Error(`no answer to ${id}`);
    return answer;
  };
  const updates = () => sent.flatMap(({ method, params }) => (method === "session/update" ? [params] : []));
  const texts = () => updates().flatMap(({ update }) => update.content?.text ?? []);
  const notices = () => updates().flatMap(({ update }) => (update.sessionUpdate === "notice" ? [update.title] : []));
  const newSession = async () => {
    const answer = await answerTo(ask("session/new", { cwd: "/p", mcpServers: [{ name: "s", command: "x" }] }));
    return answer.result?.sessionId ?? "";
  };
  const prompt = (sessionId: string, text = "hello") =>
    ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  return {
    ...{ world, gateway, translator, sent, ask, answers, answerTo, updates, texts, notices, newSession, prompt },
    onRequest: (listen: (message: Message) => void) => {
      onRequest = listen;
    },
  };
}

/** All that the log has for its own client, in order. */
export function shown(gateway: ScriptedGateway, sessionId: string, isLoaded = false): string[] {
  return gateway
    .session(sessionId)
    .log.filter(({ by }) => isLoaded || by === undefined)
    .flatMap(({ updates }) => updates.map((update) => textOf(update)));
}

function textOf(update: object): string {
  const { content }: { content?: { text?: string } } = update;
  return content?.text ?? "";
}
