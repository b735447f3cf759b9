// The kinds of questions a session asks: how a client is asked each, which answers count, and what is recorded and shown of it.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { AskAnswer, AskOption } from "../../builtin/index.js";
import type { ElicitAnswer } from "../../mcp/index.js";
import type {
  AskedAs,
  ElicitQuestion,
  PermissionAnswer,
  PermissionQuestion,
  QuestionKind,
  SamplingAnswer,
  SamplingRequest,
  SessionPorts,
  TrustAnswer,
  TrustRequest,
} from "../ports.js";

export interface Kind<Question, Answer> {
  readonly of: QuestionKind;
  /** Undefined for a client that cannot show it. */
  put(
    ports: SessionPorts,
    question: Question,
    asked: AskedAs | undefined,
    signal: AbortSignal,
  ): Promise<Answer> | undefined;
  /** What an answer counts as: one that was never offered is a no. */
  read(question: Question, answer: unknown): Answer;
  /** The person closed the question without deciding; some clients do so by themselves. */
  isDismissal(answer: Answer): boolean;
  /** What the journal keeps of an answer. */
  recorded(answer: Answer): JsonValue;
  /** What the journal keeps of the question: nothing of a server's configuration, and nothing other records have. */
  summary(question: Question): JsonObject;
  /** All of it, for clients that show it by other ways than their port. */
  whole(question: Question): JsonObject;
  toolCallId?(question: Question): string | undefined;
}

export const PERMISSION: Kind<PermissionQuestion, PermissionAnswer> = {
  of: "permission",
  put: (ports, question, asked, signal) => ports.ask(question, signal, asked),
  read: ({ choices }, given) => {
    if (given === "cancelled") return given;
    if (isJsonObject(given) && given["answer"] === "no") {
      const { words } = given;
      return { answer: "no", ...defined({ words: typeof words === "string" ? words : undefined }) };
    }
    return choices.find(({ answer }) => answer === given)?.answer ?? "no";
  },
  isDismissal: (answer) => answer === "cancelled",
  recorded: (answer) => (typeof answer === "string" ? answer : answer.answer),
  summary: (question) => {
    const { tool, arguments: _, presentation: __, trustsHints: ___, toolCallId: ____, ...asked } = question;
    return plain({ tool: tool.id, label: tool.label, definitionHash: tool.definitionHash, ...asked });
  },
  whole: ({ tool, ...asked }) => {
    const { id, label, origin, source, definition, definitionHash } = tool;
    const { name, title, description, annotations } = definition;
    const shown = { id, label, origin, source, definitionHash, name, description, ...defined({ title, annotations }) };
    return plain({ ...asked, tool: shown });
  },
  toolCallId: ({ toolCallId }) => toolCallId,
};

const TRUST_ANSWERS: readonly TrustAnswer[] = ["yes", "no", "later"];

export const TRUST: Kind<TrustRequest, TrustAnswer> = {
  of: "trust",
  put: (ports, question, asked, signal) => ports.confirmTrust?.(question, signal, asked),
  // Not "no", which would be remembered.
  read: (_, given) => TRUST_ANSWERS.find((answer) => answer === given) ?? "later",
  isDismissal: (answer) => answer === "later",
  recorded: (answer) => answer,
  summary: ({ id, title, names }) => ({ id, title, names }),
  whole: plain,
};

const SAMPLING_ANSWERS: readonly SamplingAnswer[] = ["once", "session", "no", "never"];

export const SAMPLING: Kind<SamplingRequest, SamplingAnswer> = {
  of: "sampling",
  put: (ports, question, asked, signal) => ports.approveSampling?.(question, signal, asked),
  read: (_, given) => SAMPLING_ANSWERS.find((answer) => answer === given) ?? "no",
  isDismissal: () => false,
  recorded: (answer) => answer,
  summary: ({ server, model, maxTokens, callsLeft }) => ({ server, model, maxTokens, callsLeft }),
  whole: plain,
};

export const ELICITATION: Kind<ElicitQuestion, ElicitAnswer> = {
  of: "elicitation",
  put: (ports, question, asked, signal) => {
    const { elicitModes = ["form", "url"] } = ports;
    return elicitModes.includes(question.request.mode) ? ports.elicit?.(question, signal, asked) : undefined;
  },
  read: ({ request }, given) => {
    const { action, content = {} } = isJsonObject(given) ? given : {};
    if (action !== "accept") return { action: action === "cancel" ? action : "decline" };
    if (request.mode === "url") return { action };
    return isForm(content) ? { action, content } : { action: "decline" };
  },
  isDismissal: ({ action }) => action === "cancel",
  recorded: ({ action }) => action,
  summary: ({ server, request: { mode, message, url } }) => {
    const words = message.slice(0, LIMITS.shownArguments.maxChars);
    // The query of a log-in page is good for taking the log-in over.
    const page = url === undefined ? undefined : new URL(url);
    return { server, mode, message: words, ...defined({ page: page && `${page.origin}${page.pathname}` }) };
  },
  whole: plain,
  toolCallId: ({ toolCallId }) => toolCallId,
};

/** The model asks the person. */
export interface PersonQuestion {
  readonly question: string;
  /** None: the person types the answer. */
  readonly options: readonly AskOption[];
  readonly toolCallId?: string;
}

export const PERSON: Kind<PersonQuestion, AskAnswer> = {
  of: "person",
  put: (ports, { question, options, toolCallId }, asked, signal) =>
    ports.askPerson?.(question, options, signal, toolCallId, asked),
  read: ({ options }, given) => {
    const { kind, label, text, reason } = isJsonObject(given) ? given : {};
    if (kind === "typed" && typeof text === "string") return { kind, text };
    if (kind === "unavailable" && typeof reason === "string") return { kind, reason };
    const chosen = kind === "chosen" ? options.find((option) => option.label === label) : undefined;
    return chosen ? { kind: "chosen", label: chosen.label } : { kind: "declined" };
  },
  isDismissal: ({ kind }) => kind === "declined" || kind === "unavailable",
  recorded: (answer) => answer,
  summary: ({ question, options }) => ({ question, options: options.map(({ label }) => label) }),
  whole: plain,
  toolCallId: ({ toolCallId }) => toolCallId,
};

/** As the protocol has forms: flat, of texts, numbers, flags, and lists of texts. */
function isForm(content: JsonValue): content is JsonObject {
  if (!isJsonObject(content)) return false;
  return Object.values(content).every((value) => {
    return Array.isArray(value) ? value.every((one) => typeof one === "string") : typeof value !== "object";
  });
}

/** Without functions and what is undefined. */
function plain(value: object): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return isJsonObject(copy) ? copy : {};
}
