// A permission question over the wire: readable title, real arguments, and answers mapped back.
import type * as acp from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import type { JsonObject, JsonValue } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import { plainText } from "../base/text/content.js";
import { markForeign } from "../base/text/marking.js";
import type {
  AskedAs,
  PermissionAnswer,
  PermissionChoice,
  PermissionQuestion,
  SamplingAnswer,
  SamplingRequest,
  SessionPorts,
  TrustRequest,
} from "../session/index.js";
import { ACP_LIMITS } from "./limits.js";
import { asQuestion, type SentMeta, sentMeta } from "./meta.js";
import { looksOf, questionTitle, toolName } from "./tool-call.js";

const KINDS: Readonly<Record<PermissionChoice["answer"], acp.PermissionOptionKind>> = {
  once: "allow_once",
  always: "allow_always",
  no: "reject_once",
  never: "reject_always",
};

interface Asked extends Pick<acp.RequestPermissionRequest, "toolCall" | "options"> {
  readonly _meta?: { readonly tenon: SentMeta };
}

export function permissionPorts(client: acp.AgentContext, sessionId: string): SessionPorts {
  /** The chosen option; undefined when the question or the turn was cancelled. */
  const ask = async (shown: Asked, signal: AbortSignal, asked?: AskedAs): Promise<string | undefined> => {
    const request = { sessionId, ...asQuestion(shown, asked) };
    const options = { cancellationSignal: signal };
    const { outcome } = await client.request(methods.client.session.requestPermission, request, options);
    return signal.aborted || outcome.outcome === "cancelled" ? undefined : outcome.optionId;
  };
  return {
    ask: async (question, signal, asked) => {
      const options = question.choices.map(({ answer, label }): acp.PermissionOption => {
        return { optionId: answer, name: label, kind: KINDS[answer] };
      });
      const chosen = await ask({ toolCall: describe(question), options }, signal, asked);
      return chosen === undefined ? "cancelled" : (ANSWERS.find((answer) => answer === chosen) ?? "no");
    },
    confirmTrust: async (request, signal, asked) => {
      const { server, names } = request;
      const _meta = sentMeta({ trust: true, servers: names, ...defined({ server }) });
      const chosen = await ask({ toolCall: describeTrust(request), options: TRUST_OPTIONS, _meta }, signal, asked);
      return chosen === "trust" ? "yes" : chosen === "never" ? "no" : "later";
    },
    approveSampling: async (request, signal, asked) => {
      const chosen = await ask({ toolCall: describeSampling(request), options: SAMPLING_OPTIONS }, signal, asked);
      return SAMPLING_ANSWERS.find((answer) => answer === chosen) ?? "no";
    },
  };
}

/** An option we never offered is no consent. */
const ANSWERS: readonly PermissionAnswer[] = ["once", "always", "never"];
const SAMPLING_ANSWERS: readonly SamplingAnswer[] = ["once", "session", "never"];

/** No "once": what is approved is these exact words of the project's file, and asking again comes with their next change. */
const TRUST_OPTIONS: acp.PermissionOption[] = [
  { optionId: "trust", name: "Trust exactly this", kind: "allow_always" },
  { optionId: "later", name: "Not now", kind: "reject_once" },
  { optionId: "never", name: "Never", kind: "reject_always" },
];

function describeTrust({ id, title, lines, written }: TrustRequest): acp.ToolCallUpdate {
  const toolCallId = `trust-${id.slice(0, 12)}`;
  return { toolCallId, title, kind: "other", status: "pending", rawInput: written, content: textContent(lines) };
}

function textContent(lines: readonly string[]): acp.ToolCallContent[] {
  return lines.length === 0 ? [] : [{ type: "content", content: { type: "text", text: lines.join("\n") } }];
}

/** The arguments are in the content as well: not every editor shows `rawInput`, and nobody should approve a blind `{}`. */
function describe(question: PermissionQuestion): acp.ToolCallUpdate {
  const { toolCallId, tool, arguments: args, trustsHints, isReview, presentation, lock, protects } = question;
  const subject = { name: tool.id, tool, ...defined({ trustsHints }) };
  const { title, kind, locations, content: shownWith } = looksOf(subject, presentation);
  const notes = noteLines(question);
  // A diff shows all that the arguments of an edit say, and where.
  const given = isReview || presentation?.diff ? [] : argumentLines(args);
  const content = [...textContent(notes), ...textContent(given), ...shownWith];
  const about: SentMeta = defined({ lock: lock === undefined ? undefined : (true as const), protects });
  return {
    toolCallId,
    title: isReview ? `${toolName(tool)}: ${lock ?? "its definition changed"}` : titleOf(question, title),
    kind,
    status: "pending",
    ...defined({
      locations: locations.length > 0 ? locations : undefined,
      rawInput: isReview ? undefined : args,
      content: content.length > 0 ? content : undefined,
      // For our own chat, which shows the arguments from `rawInput` and needs the rest by itself.
      _meta: notes.length > 0 ? sentMeta({ notes, ...about }) : undefined,
    }),
  };
}

/** A call of Tenon's own is described by what it does: which tool does it belongs to the question. */
function titleOf({ tool, arguments: args, presentation }: PermissionQuestion, title: string): string {
  const isOwn = presentation && tool.origin === "builtin";
  return isOwn ? `${title} (Tenon's ${tool.definition.name})` : questionTitle(tool, args);
}

/** What is to be read before answering, beside the arguments. */
function noteLines(question: PermissionQuestion): readonly string[] {
  const { reason, change, lock, isFormer, presentation, warnings = [] } = question;
  return [
    ...warnings.map((warning) => `Warning: ${warning}`),
    ...(presentation?.isRenewed
      ? ["The file changed while you were asked. This is the change as it would be now."]
      : []),
    ...(isFormer ? ['You allowed this tool in every project before; "always" now confirms it for this one.'] : []),
    ...(reason === undefined ? [] : [`Asked because ${reason}.`]),
    ...(change ? [lock === undefined ? "The tool changed since it was approved:" : `It ${lock}:`, ...change] : []),
  ];
}

/** Every argument by its name; further lines of a value are indented, so that none reads as another argument or a note. */
function argumentLines(args: JsonObject): readonly string[] {
  const lines: string[] = [];
  const names = Object.keys(args);
  let room: number = LIMITS.shownArguments.maxChars;
  for (const [index, name] of names.entries()) {
    if (room <= 0) return [...lines, `… ${names.length - index} more arguments`];
    const line = `${shown(name).replaceAll("\n", " ")}: ${shown(args[name]).replaceAll("\n", "\n    ")}`;
    room -= line.length;
    lines.push(line);
  }
  return lines;
}

function shown(value: JsonValue | undefined): string {
  return markForeign(cutText(typeof value === "string" ? value : (JSON.stringify(value) ?? "")));
}

const SAMPLING_OPTIONS: acp.PermissionOption[] = [
  { optionId: "once", name: "Allow once", kind: "allow_once" },
  { optionId: "session", name: "Allow this server in this session", kind: "allow_always" },
  { optionId: "no", name: "No", kind: "reject_once" },
  { optionId: "never", name: "Not in this session", kind: "reject_always" },
];

/** Everything is in the words: not every editor shows `rawInput`, and nobody should approve what they have not seen. */
export function describeSampling(request: SamplingRequest): acp.ToolCallUpdate {
  const { id, server, model, system, messages, maxTokens, callsLeft } = request;
  const lines = [
    `The server "${markForeign(server)}" asks ${model} for an answer of at most ${maxTokens} tokens, at your expense.`,
    `After this it may ask ${callsLeft} more times in this session.`,
    ...(system === "" ? [] : [`system: ${cutText(system)}`]),
    ...messages.map(({ role, content }) => `${role}: ${cutText(plainText(content))}`),
  ];
  return {
    toolCallId: `sampling-${id}`,
    title: `${markForeign(server)} / wants to use the model`,
    kind: "think",
    status: "pending",
    rawInput: { server, model, maxTokens },
    content: textContent(lines),
    _meta: sentMeta({ sampling: true, server, notes: lines.flatMap((line) => line.split("\n")) }),
  };
}

function cutText(words: string): string {
  const hidden = words.length - ACP_LIMITS.permissionMaxArgumentChars;
  return hidden > 0 ? `${words.slice(0, ACP_LIMITS.permissionMaxArgumentChars)}… (${hidden} more characters)` : words;
}
