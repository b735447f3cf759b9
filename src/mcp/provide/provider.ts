// The provider side of a server: answers the requests of a gateway that come over a channel, from a connection of any era.
import { messageOf, TenonError } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { ServerConnection } from "../connection/connection.js";
import type { ConnectionOptions } from "../connection/options.js";
import { PROVIDE_LIMITS } from "../limits.js";
import { type CallOutcome, type CallProgress, readContent, readContents } from "../protocol/call.js";
import { FOREVER_MS, type Link } from "../protocol/link.js";
import { type Peer, PeerAnswers, type Root } from "../protocol/peer.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { META, MODERN_VERSION, RELEASE } from "../versions.js";
import { type HeldCalls, INVALID_PARAMS, type ProvidedAnswer, ProvidedCall, refusal } from "./held-calls.js";
import { Subscriptions } from "./subscriptions.js";
import { isErrorBody, toElicitAnswer, toResource, toWire } from "./wire-content.js";

export interface ProviderOptions {
  readonly world: World;
  /** Tells its calls from those of other servers. */
  readonly serverId: string;
  /** The directories of the session, on this machine. */
  readonly roots: () => readonly Root[];
  readonly held: HeldCalls;
  /** Makes the connection; it is started with the first request, which says what the gateway can be asked. */
  readonly open: (given: Pick<ConnectionOptions, "peer" | "limits">) => ServerConnection;
  /** It could not be started. The gateway hears only that: the reason may name what is on this machine. */
  readonly onProblem: (error: TenonError) => void;
}

/** A request as it came over the channel. */
export interface ProvidedRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** Tells the gateway something about this request while it runs. */
  readonly notify: (method: string, params: JsonObject) => void;
}

const CANCELLED = -32_800;
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;
const TOO_MANY = -33_000;
const NO_ANSWER = -33_002;

/** What is passed on to the server as it is. */
const PASSED: ReadonlySet<string> = new Set([
  ...["tools/list", "resources/list", "resources/templates/list", "prompts/list", "completion/complete"],
]);
/** During these a server may ask something; what each of them names. */
const ASKING: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};
const OFFERED = ["tools", "prompts", "resources", "completions", "logging"];

export class ServerProvider {
  readonly #options: ProviderOptions;
  readonly #connection: ServerConnection;
  readonly #subscriptions: Subscriptions;
  /** The earliest first. */
  readonly #calls = new Set<ProvidedCall>();
  /** The requests under way now, and how the gateway is told of them. */
  readonly #carriers = new Map<object, ProvidedRequest["notify"]>();
  /** Who hears of progress, while there is a round under way. */
  readonly #progress = new WeakMap<ProvidedCall, (progress: CallProgress) => void>();
  /** Of the gateway, as its requests have them. */
  #capabilities: JsonObject = {};

  constructor(options: ProviderOptions) {
    this.#options = options;
    // The gateway says when a call has taken too long, and does not count what a person takes to answer.
    const limits = { callTimeoutMs: FOREVER_MS, callMaxMs: FOREVER_MS };
    this.#connection = options.open({ peer: this.#peer(), limits });
    this.#subscriptions = new Subscriptions(this.#connection);
  }

  /** Never rejects. */
  async request(request: ProvidedRequest): Promise<ProvidedAnswer> {
    if (this.#carriers.size >= PROVIDE_LIMITS.requestsAtOnce) {
      const words = `${PROVIDE_LIMITS.requestsAtOnce} requests to this server are under way`;
      return { kind: "failed", code: TOO_MANY, message: words };
    }
    const carrier = {};
    this.#carriers.set(carrier, request.notify);
    try {
      return await this.#serve(request);
    } catch (thrown) {
      this.#options.world.log.error("provide.failed", { method: request.method, error: messageOf(thrown) });
      return { kind: "failed", code: NO_ANSWER, message: messageOf(thrown) };
    } finally {
      this.#carriers.delete(carrier);
    }
  }

  async close(grace?: EndGrace): Promise<void> {
    const { held, serverId } = this.#options;
    held.releaseAll("the server was closed", (about) => about.startsWith(`${serverId}\0`));
    for (const call of this.#calls) call.cancel("the server was closed");
    await this.#connection.close(grace);
  }

  async #serve(request: ProvidedRequest): Promise<ProvidedAnswer> {
    const { method, params, signal, notify } = request;
    this.#learn(params);
    if (ASKING[method] !== undefined) return await this.#round(request);
    switch (method) {
      case "server/discover":
        return await this.#discover(signal);
      case "subscriptions/listen":
        return {
          kind: "result",
          result: await this.#subscriptions.follow(params["notifications"], { signal, notify }),
        };
      case "ping":
        return complete({});
      case RELEASE:
        this.#options.held.release(params["requestState"]);
        return complete({});
    }
    if (!PASSED.has(method)) return refusal(METHOD_NOT_FOUND, `Method not found: ${method}`);
    const link = await this.#link(signal);
    if (link instanceof TenonError) return unsent(link);
    return answerOf(await link.request(method, withoutEnvelope(params), { signal, timeoutMs: FOREVER_MS }));
  }

  #learn(params: JsonObject): void {
    const { [META.clientCapabilities]: given } = metaOf(params);
    if (isJsonObject(given)) this.#capabilities = given;
  }

  /** From the handshake. Waits while the server starts; one that failed is tried again. */
  async #discover(signal: AbortSignal): Promise<ProvidedAnswer> {
    const connection = this.#connection;
    connection.start();
    if (connection.state.value.kind === "failed") {
      connection.restart();
      await connection.state.until(({ kind }) => kind !== "failed", signal).catch(() => undefined);
    }
    const link = await this.#link(signal);
    if (signal.aborted) return { kind: "failed", code: CANCELLED, message: "cancelled" };
    if (link instanceof TenonError) {
      const { state, lastError = link } = connection;
      this.#options.onProblem(lastError);
      const words = `it is ${state.value.kind} on the client's machine (${lastError.code}), where the reason was told`;
      return { kind: "failed", code: NO_ANSWER, message: words };
    }
    const { server, capabilities, instructions } = link;
    const offered = OFFERED.flatMap((name): [string, JsonValue][] => {
      const capability = capabilities[name];
      if (!isJsonObject(capability)) return [];
      // Also when it is started again with other tools than before.
      return [[name, name === "tools" ? { ...capability, listChanged: true } : capability]];
    });
    return complete({
      supportedVersions: [MODERN_VERSION],
      capabilities: Object.fromEntries(offered),
      ...defined({ instructions }),
      _meta: { [META.serverInfo]: { ...server } },
    });
  }

  async #link(signal: AbortSignal): Promise<Link | TenonError> {
    const { link } = this.#connection;
    if (link) return link;
    const problem = await this.#connection.ready(signal);
    return this.#connection.link ?? problem ?? new TenonError("mcp.not_ready", "the server is not connected");
  }

  /** One round of a request during which the server may ask: to its end, or to what it asks first. */
  async #round({ method, params, signal, notify }: ProvidedRequest): Promise<ProvidedAnswer> {
    const { held, serverId } = this.#options;
    const named = params[ASKING[method] ?? ""];
    if (typeof named !== "string") return refusal(INVALID_PARAMS, `${method} needs a ${ASKING[method]}`);
    const about = `${serverId}\0${method}\0${named}`;
    const call = params["requestState"] === undefined ? this.#begin(about, method, params) : held.take(about, params);
    if (!(call instanceof ProvidedCall)) return call;
    const token = metaOf(params)["progressToken"];
    const onProgress = (progress: CallProgress) => {
      if (token !== undefined) notify("notifications/progress", { progressToken: token, ...progress });
    };
    this.#progress.set(call, onProgress);
    const next = await call.next(signal);
    this.#progress.delete(call);
    if (next === "asks") return held.hold(call);
    if (next !== undefined) return next;
    call.cancel("cancelled by the gateway");
    return { kind: "failed", code: CANCELLED, message: "cancelled" };
  }

  #begin(about: string, method: string, params: JsonObject): ProvidedCall {
    return new ProvidedCall(about, async (call, signal) => {
      this.#calls.add(call);
      try {
        return method === "tools/call"
          ? await this.#call(call, params, signal)
          : await this.#read(call, method, params, signal);
      } finally {
        this.#calls.delete(call);
      }
    });
  }

  async #call(call: ProvidedCall, params: JsonObject, signal: AbortSignal): Promise<ProvidedAnswer> {
    const { name, arguments: given = {} } = params;
    if (typeof name !== "string" || !isJsonObject(given)) {
      return refusal(INVALID_PARAMS, "tools/call needs a name, and arguments that are an object");
    }
    const answer = this.#answering(call);
    // What a modern server asks for this very call is answered as this call's; a legacy server does not say which one it means.
    const view = (link: Link): Link => ({
      ...link,
      request: (method, about, options) => link.request(method, about, { ...options, answer }),
    });
    const outcome = await this.#connection.call(name, given, {
      signal,
      onProgress: (progress) => this.#progress.get(call)?.(progress),
      sharingSession: { id: call, view },
    });
    return callAnswer(outcome);
  }

  async #read(call: ProvidedCall, method: string, params: JsonObject, signal: AbortSignal): Promise<ProvidedAnswer> {
    const link = await this.#link(signal);
    if (link instanceof TenonError) return unsent(link);
    const answer = this.#answering(call);
    const asked = withoutEnvelope(params);
    const outcome = await link.request(method, asked, { signal, timeoutMs: FOREVER_MS, answer });
    if (outcome.kind !== "result") return answerOf(outcome);
    const { result } = outcome;
    if (method === "resources/read") {
      const contents = readContents(result["contents"]).map((block) => toResource(block));
      return complete({ ...result, contents });
    }
    const messages: readonly JsonValue[] = Array.isArray(result["messages"]) ? result["messages"] : [];
    const read = messages.map((message) => {
      if (!isJsonObject(message)) return message;
      const [content] = readContent(message["content"]);
      return content ? { ...message, content: toWire(content) } : message;
    });
    return complete({ ...result, messages: read });
  }

  #answering(call: ProvidedCall): (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject> {
    const answers = new PeerAnswers(this.#peer(call), this.#options.world.log);
    return (method, params, signal) => answers.answer(method, params, signal);
  }

  /** Roots are answered here; what only the gateway can answer is asked over the call, or over the latest one. */
  #peer(of?: ProvidedCall): Peer {
    const modes = () => {
      const { elicitation } = this.#capabilities;
      return isJsonObject(elicitation) ? (["form", "url"] as const).filter((mode) => mode in elicitation) : [];
    };
    const ask = async (method: string, params: JsonObject, signal: AbortSignal) => {
      const call = of ?? [...this.#calls].at(-1);
      if (!call) throw new RpcRefusal(INTERNAL_ERROR, "nothing is asked of the person unless a call runs");
      return await call.ask(method, params, signal);
    };
    const elicit: NonNullable<Peer["elicit"]> = async (request, signal) =>
      toElicitAnswer(await ask("elicitation/create", { ...request }, signal));
    const sample: NonNullable<Peer["sample"]> = (params, signal) => ask("sampling/createMessage", params, signal);
    const canSample = () => this.#capabilities["sampling"] !== undefined;
    const tell = (method: string, params: JsonObject) => this.#tell(method, params);
    const { roots } = this.#options;
    return {
      roots,
      get elicitModes() {
        return modes();
      },
      get elicit() {
        return modes().length > 0 ? elicit : undefined;
      },
      get sample() {
        return canSample() ? sample : undefined;
      },
      log: ({ level, logger, text }) => tell("notifications/message", { level, data: text, ...defined({ logger }) }),
      elicitationCompleted: (elicitationId) => tell("notifications/elicitation/complete", { elicitationId }),
    };
  }

  /** The protocol does not say which request it is about: one that is under way carries it. */
  #tell(method: string, params: JsonObject): void {
    [...this.#carriers.values()].at(-1)?.(method, params);
  }
}

function complete(result: JsonObject): ProvidedAnswer {
  return { kind: "result", result: { ...result, resultType: "complete" } };
}

/** The server has not seen it. */
function unsent({ message }: TenonError): ProvidedAnswer {
  return refusal(INTERNAL_ERROR, message);
}

function metaOf(params: JsonObject): JsonObject {
  return isJsonObject(params["_meta"]) ? params["_meta"] : {};
}

const ENVELOPE: readonly string[] = [...Object.values(META), "progressToken"];

/** What is for the connection to the gateway is not for the server. */
function withoutEnvelope(params: JsonObject): JsonObject {
  const { _meta: _, ...rest } = params;
  const meta = Object.entries(metaOf(params)).filter(([name]) => !ENVELOPE.includes(name));
  return meta.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(meta) };
}

function answerOf(outcome: RpcOutcome): ProvidedAnswer {
  switch (outcome.kind) {
    case "result":
      return complete(outcome.result);
    case "error":
      return { kind: "error", error: outcome.error };
    case "cancelled":
      return { kind: "failed", code: CANCELLED, message: "cancelled" };
    case "timed_out":
      return { kind: "failed", code: NO_ANSWER, message: "the server did not answer" };
    case "lost": {
      const { error, wasSent } = outcome.loss;
      return wasSent ? { kind: "failed", code: NO_ANSWER, message: error.message } : unsent(error);
    }
    default:
      return unreachable(outcome);
  }
}

function callAnswer(outcome: CallOutcome): ProvidedAnswer {
  switch (outcome.kind) {
    case "answered": {
      const { content, isError, structured: structuredContent } = outcome;
      return complete({ content: content.map((block) => toWire(block)), isError, ...defined({ structuredContent }) });
    }
    case "cancelled":
      return { kind: "failed", code: CANCELLED, message: "cancelled" };
    case "failed": {
      const { cause } = outcome.error;
      return {
        kind: "error",
        error: isErrorBody(cause) ? cause : { code: INTERNAL_ERROR, message: outcome.error.message },
      };
    }
    case "unknown":
      return { kind: "failed", code: NO_ANSWER, message: outcome.error.message };
    default:
      return unreachable(outcome);
  }
}
