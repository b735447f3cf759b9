// What a session asks of its client, over one connection: permission and trust, files, terminals, questions, its servers.
import { type AgentContext, methods, type PermissionOption } from "@agentclientprotocol/sdk";
import { messageOf } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import { markForeign } from "../base/text/marking.js";
import type { SessionPorts } from "../session/index.js";
import type { ClientAbilities } from "./capabilities.js";
import { clientTerminal } from "./client-terminal.js";
import { elicitationPorts } from "./elicitation.js";
import type { McpMessages } from "./mcp-channel.js";
import { permissionPorts } from "./permission.js";

export interface PortsOf {
  readonly sessionId: string;
  readonly abilities: ClientAbilities;
  readonly messages: McpMessages;
  readonly world: Pick<World, "after">;
}

export function sessionPorts(client: AgentContext, { sessionId, abilities, messages, world }: PortsOf): SessionPorts {
  return {
    ...permissionPorts(client, sessionId),
    ...elicitationPorts(client, sessionId, abilities),
    mcpChannel: messages.channel(client),
    askPerson: askPerson(client, sessionId, abilities),
    fs: clientFiles(client, sessionId, abilities),
    ...defined({ terminal: abilities.terminal ? clientTerminal(client, sessionId, world) : undefined }),
  };
}

type AskPerson = NonNullable<SessionPorts["askPerson"]>;
type Answer = Awaited<ReturnType<AskPerson>>;
type Options = Parameters<AskPerson>[1];

export interface AskAbilities {
  /** The client shows elicitation forms. */
  readonly forms: boolean;
}

export function askPerson(client: AgentContext, sessionId: string, { forms }: AskAbilities): AskPerson {
  let count = 0;
  return async (question, options, signal, toolCallId) => {
    count += 1;
    const asked = { sessionId, question, options, signal, toolCallId: toolCallId ?? `question-${count}` };
    try {
      if (forms) return await byForm(client, asked, toolCallId);
      if (options.length === 0) {
        return { kind: "unavailable", reason: "the client cannot ask for a text; ask in your answer instead" };
      }
      return await byChoice(client, asked);
    } catch (error) {
      if (signal.aborted) throw error;
      return { kind: "unavailable", reason: messageOf(error) };
    }
  };
}

interface Asked {
  readonly sessionId: string;
  readonly question: string;
  readonly options: Options;
  readonly signal: AbortSignal;
  /** Of the call that asks, so that the question stands on its card. */
  readonly toolCallId: string;
}

async function byForm(
  client: AgentContext,
  { sessionId, question, options, signal }: Asked,
  toolCallId: string | undefined,
): Promise<Answer> {
  const labels = options.map(({ label }) => label);
  const oneOf = options.map((option) => ({ const: option.label, title: nameOf(option) }));
  const answer = { type: "string" as const, title: "Answer", ...(oneOf.length > 0 ? { oneOf } : { minLength: 1 }) };
  const response = await client.request(
    methods.client.elicitation.create,
    {
      mode: "form",
      sessionId,
      ...defined({ toolCallId }),
      message: markForeign(question),
      requestedSchema: { type: "object", properties: { answer }, required: ["answer"] },
    },
    { cancellationSignal: signal },
  );
  if (response.action !== "accept") return { kind: "declined" };
  const given = contentOf(response)["answer"];
  if (typeof given !== "string") return { kind: "declined" };
  return labels.includes(given) ? { kind: "chosen", label: given } : { kind: "typed", text: given };
}

function nameOf({ label, description }: Options[number]): string {
  return markForeign(description === undefined ? label : `${label}: ${description}`);
}

function contentOf(response: object): Record<string, unknown> {
  const content: unknown = "content" in response ? response.content : undefined;
  return typeof content === "object" && content !== null ? { ...content } : {};
}

/** ACP's permission question is the one every client can show. The last option is a way out. */
async function byChoice(
  client: AgentContext,
  { sessionId, question, options, signal, toolCallId }: Asked,
): Promise<Answer> {
  const choices = options.map(
    (option, index): PermissionOption => ({ optionId: String(index), name: nameOf(option), kind: "allow_once" }),
  );
  const response = await client.request(
    methods.client.session.requestPermission,
    {
      sessionId,
      toolCall: { toolCallId, title: markForeign(question), kind: "other", status: "pending" },
      options: [...choices, { optionId: "none", name: "None of these", kind: "reject_once" }],
    },
    { cancellationSignal: signal },
  );
  if (response.outcome.outcome === "cancelled") return { kind: "declined" };
  const chosen = options[Number(response.outcome.optionId)];
  return chosen ? { kind: "chosen", label: chosen.label } : { kind: "declined" };
}

type ClientFiles = NonNullable<SessionPorts["fs"]>;

export interface FileAbilities {
  readonly readTextFile: boolean;
  readonly writeTextFile: boolean;
}

export function clientFiles(client: AgentContext, sessionId: string, can: FileAbilities): ClientFiles {
  return {
    ...(can.readTextFile
      ? {
          readText: async (path, { line, limit }, signal) => {
            const range = defined({ line, limit });
            const request = { sessionId, path, ...range };
            const options = { cancellationSignal: signal };
            return (await client.request(methods.client.fs.readTextFile, request, options)).content;
          },
        }
      : {}),
    ...(can.writeTextFile
      ? {
          writeText: async (path, content, signal) => {
            const options = { cancellationSignal: signal };
            await client.request(methods.client.fs.writeTextFile, { sessionId, path, content }, options);
          },
        }
      : {}),
  };
}
