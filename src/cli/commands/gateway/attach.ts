// `tenon attach`: the terminal chat in a session of a gateway, through a translator in this process.
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../../base/json/json.js";
import { messageOf } from "../../../base/message.js";
import { WebSocketRefusal } from "../../../base/ports/web-socket.js";
import type { World } from "../../../base/ports/world.js";
import { checkGatewayUrls, Translator, type TranslatorOptions } from "../../../translator/index.js";
import { nodeWorld } from "../../../world/index.js";
import { runChat } from "../../chat/chat.js";
import type { ListedSession } from "../../chat/session.js";
import { misused, type Run, type Values } from "../../command.js";
import { type GatewayChoice, optionPath, readConfig } from "../../context.js";
import { EXIT, exitAfter } from "../../exit.js";
import { chooseLog } from "../../log.js";
import { notice, wayToGateway } from "../acp/gateway.js";
import { openLive, plainContext } from "../chat/chat.js";
import { chatOptions, type Start } from "../chat/start.js";
import { sessionNamed } from "../sessions/sessions.js";

type AttachValues = Values<"last" | "watch" | "json" | "yes" | "plain" | "insecure", "gateway" | "token-file">;

export const runAttach: Run<AttachValues> = async ({ values, words: [name] }, given) => {
  const context = plainContext(given, values, process.env);
  const { last = false, watch: isWatching = false, json = false, yes = false } = values;
  if (last === (name !== undefined)) {
    throw misused("say which session: its id, the beginning of its id or title, or --last");
  }
  if (isWatching && yes) throw misused("--watch is asked nothing: leave --yes out");
  const choice = choiceOf(values, context.world);
  const isTty = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const live = isTty && !json && !context.isPlain ? openLive(!isWatching) : undefined;
  try {
    return await attachTo({ context, isWatching, json, yes, choice, ...defined({ name, live }) });
  } finally {
    live?.stop();
  }
};

interface Attaching extends Pick<Start, "context" | "live" | "first"> {
  /** The one used last unless given. */
  readonly name?: string;
  readonly isWatching: boolean;
  readonly json: boolean;
  readonly yes: boolean;
  readonly choice: GatewayChoice;
}

export async function attachTo({ name, isWatching, choice, ...given }: Attaching): Promise<number> {
  const { cwd } = given.context;
  const world = nodeWorld({ log: chooseLog("error") });
  const way = wayToGateway(world, choice);
  if (typeof way === "string") throw unreachable(way);
  const link = new TranslatedStream((initialize, send) => {
    return new Translator({ ...way, world, initialize, send, notice });
  });
  const stop = async () => await link.close();
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => exitAfter(stop, EXIT.interrupted));
  const choose = (sessions: readonly ListedSession[]) => {
    return name === undefined ? lastUsed(sessions, cwd) : sessionNamed(name, sessions);
  };
  const isTty = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const { exportSession: _, ...options } = chatOptions({ ...given, interactive: !isWatching && isTty });
  const { chatNotices } = await readConfig(given.context);
  const code = await runChat({
    ...options,
    agent: link.stream,
    join: { choose, isWatching },
    notices: () => chatNotices,
  });
  exitAfter(stop, code);
  return code;
}

function choiceOf({ gateway, insecure = false, "token-file": tokenFile }: AttachValues, world: World): GatewayChoice {
  if (gateway === undefined) {
    if (tokenFile !== undefined || insecure) throw misused("--token-file and --insecure are for --gateway URL");
    return {};
  }
  const path = tokenFile === undefined ? undefined : optionPath("--token-file", tokenFile, { world });
  return { urls: checkGatewayUrls(gateway, { isInsecure: insecure }), ...defined({ tokenFile: path }) };
}

/** Of this directory, else of all. */
export function lastUsed<T extends { readonly cwd: string }>(sessions: readonly T[], cwd: string): T {
  const session = sessions.find((one) => one.cwd === cwd) ?? sessions[0];
  if (session) return session;
  throw new TenonError("session.not_found", "there are no sessions", { hint: "An editor or tenon chat begins one." });
}

function unreachable(error: unknown): TenonError {
  if (error instanceof WebSocketRefusal) {
    return new TenonError("access.denied", `the gateway refuses this client (${error.message})`, {
      hint: "Give a token that is valid, by --token-file or TENON_GATEWAY_TOKEN: tenon gateway token create makes one there.",
    });
  }
  return new TenonError("gateway.unreachable", `there is no gateway to attach to: ${messageOf(error)}`, {
    hint: "On its machine, tenon gateway status and tenon gateway logs say more.",
  });
}

/** The chat on one side, a translator on the other: it is made by the first message, which introduces the chat. */
class TranslatedStream {
  readonly stream: Stream;
  readonly #make: (initialize: JsonObject, send: TranslatorOptions["send"]) => Translator;
  #toChat: ReadableStreamDefaultController<AnyMessage> | undefined;
  #translator: Translator | undefined;

  constructor(make: (initialize: JsonObject, send: TranslatorOptions["send"]) => Translator) {
    this.#make = make;
    this.stream = {
      readable: new ReadableStream<AnyMessage>({
        start: (controller) => {
          this.#toChat = controller;
        },
      }),
      writable: new WritableStream<AnyMessage>({ write: (message) => this.#hear(message) }),
    };
  }

  async close(): Promise<void> {
    this.#toChat = undefined;
    await this.#translator?.close();
  }

  async #hear(message: AnyMessage): Promise<void> {
    if (!isJsonObject(message)) return;
    if (!this.#translator && !(await this.#connect(message))) return;
    this.#translator?.hear(message);
  }

  /** From the first connection on, a lost one is resumed for as long as it takes; without it the chat ends with the reason. */
  async #connect({ id, params }: JsonObject): Promise<boolean> {
    const translator = this.#make(isJsonObject(params) ? params : {}, (message) => this.#send(message));
    try {
      await translator.connect();
    } catch (error) {
      await translator.close();
      const { code, message, hint } = unreachable(error);
      this.#send({ jsonrpc: "2.0", id: id ?? null, error: { code: UNREACHABLE, message, data: { code, hint } } });
      return false;
    }
    this.#translator = translator;
    translator.run();
    return true;
  }

  #send(message: object): undefined {
    if (isMessage(message)) this.#toChat?.enqueue(message);
  }
}

/** JSON-RPC's code for errors of no other kind. */
const UNREACHABLE = -32603;

/** Whatever the translator sends is one. */
function isMessage(message: object): message is AnyMessage {
  return "jsonrpc" in message;
}
