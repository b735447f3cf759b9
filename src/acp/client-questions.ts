// Questions of Tenon's own to a client whose connection carries the messages of another agent.
import { type AgentContext, type AnyMessage, agent } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import type { SessionPorts } from "../session/index.js";
import type { ClientAbilities } from "./capabilities.js";
import { elicitationPorts } from "./elicitation.js";
import { messageSink } from "./front.js";
import { permissionPorts } from "./permission.js";
import { MCP_MESSAGE, McpMessages } from "./ports.js";

const CANCEL_REQUEST = "$/cancel_request";

export interface ClientQuestionsOptions {
  /** How the ids of these requests begin: no other agent's do. */
  readonly prefix: string;
  readonly send: (message: JsonObject) => void;
  readonly world: Pick<World, "soon">;
}

export class ClientQuestions {
  readonly #prefix: string;
  readonly #messages: McpMessages;
  readonly #client: AgentContext;
  readonly #end: () => void;
  #answer: (message: AnyMessage) => void = () => {};

  constructor({ prefix, send, world }: ClientQuestionsOptions) {
    this.#prefix = prefix;
    this.#messages = new McpMessages(world);
    const readable = new ReadableStream<AnyMessage>({
      start: (controller) => {
        this.#answer = (message) => controller.enqueue(message);
      },
    });
    const writable = messageSink((message) => {
      if (isJsonObject(message)) send(this.#renamed(message));
    });
    const connection = agent({ name: "tenon" }).connect({ readable, writable });
    this.#client = connection.client;
    this.#end = () => connection.close();
  }

  /** True: the message was the answer to one of these questions, or about a server of the client that is asked here. */
  hear(message: JsonObject): boolean {
    const { id, method, params } = message;
    if (method === MCP_MESSAGE) {
      this.#messages.hear(params);
      return true;
    }
    if (method !== undefined || typeof id !== "string" || !id.startsWith(this.#prefix)) return false;
    const own = Number(id.slice(this.#prefix.length));
    const error = readError(message["error"]);
    this.#answer(
      error ? { jsonrpc: "2.0", id: own, error } : { jsonrpc: "2.0", id: own, result: message["result"] ?? null },
    );
    return true;
  }

  /** `sessionId`: as it is when a question is asked. */
  ports(sessionId: string, abilities: Pick<ClientAbilities, "forms" | "pages">): SessionPorts {
    return {
      ...permissionPorts(this.#client, sessionId),
      ...elicitationPorts(this.#client, sessionId, abilities),
      mcpChannel: this.#messages.channel(this.#client),
    };
  }

  close(): void {
    this.#end();
  }

  /** The SDK counts its requests from 0, as the SDK of the other agent does. */
  #renamed(message: JsonObject): JsonObject {
    const { id, method, params } = message;
    const named = (own: JsonValue | undefined) => `${this.#prefix}${JSON.stringify(own)}`;
    if (method === CANCEL_REQUEST && isJsonObject(params)) {
      return { ...message, params: { ...params, requestId: named(params["requestId"]) } };
    }
    return id === undefined ? message : { ...message, id: named(id) };
  }
}

function readError(error: JsonValue | undefined): { readonly code: number; readonly message: string } | undefined {
  if (!isJsonObject(error)) return undefined;
  const { code, message } = error;
  return {
    code: typeof code === "number" ? code : -32_603,
    message: typeof message === "string" ? message : "the client gave no message",
  };
}
