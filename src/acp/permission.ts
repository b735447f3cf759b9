// A permission question over the wire: readable title, real arguments, and answers mapped back.
import type * as acp from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import { plainText } from "../base/text/content.js";
import { markForeign } from "../base/text/marking.js";
import {
  type AskedAs,
  argumentLines,
  cutWords,
  type PermissionAnswer,
  type PermissionChoice,
  type PermissionQuestion,
  questionNotes,
  type SamplingAnswer,
  type SamplingRequest,
  type SessionPorts,
  type TrustRequest,
} from "../session/index.js";
import { asQuestion, type SentMeta, sentMeta, tenonMeta } from "./meta.js";
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
    return (await answerTo(shown, signal, asked)).chosen;
  };
  const answerTo = async (shown: Asked, signal: AbortSignal, asked?: AskedAs) => {
    const request = { sessionId, ...asQuestion(shown, asked) };
    const options = { cancellationSignal: signal };
    const response = await client.request(methods.client.session.requestPermission, request, options);
    const { outcome } = response;
    const chosen = signal.aborted || outcome.outcome === "cancelled" ? undefined : outcome.optionId;
    return { chosen, meta: tenonMeta(response) };
  };
  return {
    ask: async (question, signal, asked) => {
      const options = question.choices.map(({ answer, label }): acp.PermissionOption => {
        return { optionId: answer, name: label, kind: KINDS[answer] };
      });
      const { chosen, meta } = await answerTo({ toolCall: describe(question), options }, signal, asked);
      if (chosen === undefined) return "cancelled";
      const answer = ANSWERS.find((one) => one === chosen);
      if (answer !== undefined) return answer;
      // Of our own chat: a no that says what to do instead, or that nobody was there to be asked.
      const { words, unattended } = meta;
      if (typeof words === "string") return { answer: "no", words };
      return unattended === true ? { answer: "no" } : "no";
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
const ANSWERS: readonly Extract<PermissionAnswer, string>[] = ["once", "always", "never"];
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
  const notes = questionNotes(question);
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

const SAMPLING_OPTIONS: acp.PermissionOption[] = [
  { optionId: "once", name: "Allow once", kind: "allow_once" },
  {
    optionId: "session",
    name: "Allow this server to use the model for the rest of this session",
    kind: "allow_always",
  },
  { optionId: "no", name: "No", kind: "reject_once" },
  { optionId: "never", name: "No, for the rest of this session", kind: "reject_always" },
];

/** Everything is in the words: not every editor shows `rawInput`, and nobody should approve what they have not seen. */
export function describeSampling(request: SamplingRequest): acp.ToolCallUpdate {
  const { id, server, model, system, messages, maxTokens, callsLeft } = request;
  const lines = [
    `The server "${markForeign(server)}" asks ${model} for an answer of at most ${maxTokens} tokens, at your expense.`,
    `After this it may ask ${callsLeft} more times in this session.`,
    ...(system === "" ? [] : [`system: ${cutWords(system)}`]),
    ...messages.map(({ role, content }) => `${role}: ${cutWords(plainText(content))}`),
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
