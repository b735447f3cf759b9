// The questions a session asks its clients. A session without a client declines at once, unless its host lets it wait.

import type { JsonObject } from "../base/json/json.js";
import type { ContentBlock } from "../base/text/content.js";
import type { AskAnswer, AskOption, BuiltinPresentation, ClientFiles, Terminal } from "../builtin/index.js";
import type { ElicitAnswer, ElicitRequest, McpChannel } from "../mcp/index.js";
import type { ApprovalAnswer, CatalogTool } from "../tools/index.js";

/** The client of a gateway that did something, as the gateway knows it: never as the client calls itself. */
export interface ClientName {
  readonly client: string;
  /** For people. */
  readonly name: string;
}

/** What the sender of a prompt may do besides: what is not said of it, it may. */
export interface SenderRights {
  /** Answer questions, and so widen what runs without asking. */
  readonly approve: boolean;
  /** Change the servers of the session. */
  readonly tools: boolean;
  /** It is the user of this machine: programs, variables and addresses of this machine are its own. */
  readonly isLocal: boolean;
  /** Told what was refused, by its name alone. */
  readonly onDenied?: (what: string) => void;
}

/** What kind of question it is: each has answers of its own. */
export type QuestionKind = "permission" | "trust" | "sampling" | "elicitation" | "person";

/** `resting`: nobody has it open. `waiting`: its turn waits for an answer of a person. */
export type SessionState = "resting" | "idle" | "running" | "waiting";

export interface PermissionQuestion {
  readonly toolCallId: string;
  readonly tool: CatalogTool;
  readonly arguments: JsonObject;
  /** The user's word that what the tool's server says about it is true. */
  readonly trustsHints?: true;
  /** What may be answered, at most one of each kind. An answer that is not among them is a no. */
  readonly choices: readonly PermissionChoice[];
  /** Why it is asked, where a rule, content from outside or a decision that cannot be read is the cause. */
  readonly reason?: string;
  /** What about the tool could mislead: that it looks like another one. A sentence each. */
  readonly warnings?: readonly string[];
  /** It writes a protected file: one of Tenon's own, or one that git, a shell, an editor or a build server obeys. */
  readonly protects?: "own" | "obeyed";
  /** The person allowed this tool in every project, before grants were for one: to be confirmed for this one. */
  readonly isFormer?: boolean;
  /** What changed since the tool was approved, a line each: to be shown before anything is answered. */
  readonly change?: readonly string[];
  /** The tool is not as the project's lock of definitions says: why, after "it". `change` is then against the lock. */
  readonly lock?: string;
  /** How the call looks, where Tenon's own tools know more than title and arguments: a diff, a command, places. */
  readonly presentation?: BuiltinPresentation;
  /** There is no call: the question is whether the changed tool may be used at all. */
  readonly isReview?: boolean;
}

/** One answer that a question offers, with the words that say exactly what it means. */
export interface PermissionChoice {
  readonly answer: ApprovalAnswer;
  readonly label: string;
}

/**
 * `always` is the one grant that the question offers, as its label says. `never` is for this tool from now on, whatever it
 * becomes. `cancelled` means the person ended the turn instead of answering.
 */
export type PermissionAnswer = ApprovalAnswer | "cancelled" | Refusal;

/** A no with words for the model: the person's own, or, without them, that nobody could be asked. */
export interface Refusal {
  readonly answer: "no";
  readonly words?: string;
}

/** Entries of one file that want to take effect, to be shown in full: what is not shown cannot have been approved. */
export interface TrustRequest {
  /** The same words give the same id; any change of them another. */
  readonly id: string;
  readonly title: string;
  /** The server it is about; absent when it is about the project's settings, or about several. */
  readonly server?: string;
  /** Every server it is about. */
  readonly names: readonly string[];
  readonly lines: readonly string[];
  /** As it stands in the file; of several entries, by name. */
  readonly written: JsonObject;
}

/** `yes` and `no` are remembered for exactly these words; `later` asks again in the next session. */
export type TrustAnswer = "yes" | "no" | "later";

export interface SamplingMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly ContentBlock[];
}

/** A server wants words of the session's model, at the person's expense. */
export interface SamplingRequest {
  /** Counts within the session. */
  readonly id: string;
  readonly server: string;
  /** `provider/name`. */
  readonly model: string;
  /** Empty when the server gives none. */
  readonly system: string;
  /** Word for word what the model would read. */
  readonly messages: readonly SamplingMessage[];
  /** The most it may answer. */
  readonly maxTokens: number;
  /** Requests the session has left after this one. */
  readonly callsLeft: number;
}

/** `session` and `never` are for this server and this session. */
export type SamplingAnswer = "once" | "session" | "no" | "never";

/** Something a server wants to know of the person, or a page it wants them to open. */
export interface ElicitQuestion {
  /** Unique; `elicitationCompleted` names it again. */
  readonly id: string;
  readonly server: string;
  /** The call during which it is asked, where that is certain. */
  readonly toolCallId?: string;
  readonly request: ElicitRequest;
}

/** What a question is known by: the same for every client that is asked it. */
export interface AskedAs {
  readonly questionId: string;
  readonly askedMs: number;
}

/** A call of a tool that a client runs. */
export interface ExtraCall {
  readonly toolCallId: string;
  readonly key: string;
  /** As the client named it. */
  readonly name: string;
  readonly arguments: JsonObject;
  onProgress(progress: { readonly progress: number; readonly total?: number; readonly message?: string }): void;
}

/** `refused`: the client answered with an error. `lost`: there is no answer, and none will come. */
export type ExtraAnswer =
  | { readonly kind: "answered"; readonly result: unknown }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "lost"; readonly message: string };

/** The way to a client that is attached. */
export interface ToolCaller {
  /** Aborting the signal takes the call back at the client. Rejects only for a bug. */
  readonly call: (call: ExtraCall, signal: AbortSignal) => Promise<ExtraAnswer>;
  /** Aborts when the client leaves. */
  readonly gone: AbortSignal;
}

/** `asked` is for clients that are asked together with others, or again after they came back. */
export interface SessionPorts {
  /** Asks the person. May reject when the client is gone or answers nonsense: the session then takes it as a no. */
  ask(question: PermissionQuestion, signal: AbortSignal, asked?: AskedAs): Promise<PermissionAnswer>;
  /**
   * Asks whether something a project's files want may be used, shown in full. Without it, or when it rejects, nothing is
   * decided and nothing of the project runs.
   */
  confirmTrust?(request: TrustRequest, signal: AbortSignal, asked?: AskedAs): Promise<TrustAnswer>;
  /** Asks whether a server may use the model. Without it, or when it rejects, it may not. */
  approveSampling?(request: SamplingRequest, signal: AbortSignal, asked?: AskedAs): Promise<SamplingAnswer>;
  /**
   * The client has a model of its own for servers: their `sampling/createMessage` goes there as it is, and the session's model is
   * not asked. Rejects for what is refused.
   */
  readonly forwardSampling?: (params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Puts a server's question to the person. Without it servers are not told that they may ask, and declined if they do. */
  elicit?(question: ElicitQuestion, signal: AbortSignal, asked?: AskedAs): Promise<ElicitAnswer>;
  /** Which kinds of questions `elicit` can show; both unless given. */
  readonly elicitModes?: readonly ElicitRequest["mode"][];
  /** What a page was opened for is done. */
  elicitationCompleted?(id: string): void;
  /** Leads to the MCP servers of the client's own (`kind: "acp"`). */
  readonly mcpChannel?: McpChannel;
  /** Runs a tool that the client added to the session. Rejects only for a bug. */
  callTool?(call: ExtraCall, signal: AbortSignal): Promise<ExtraAnswer>;
  /** The client's own files, with what its editor has not saved yet; without them the disk is used. */
  readonly fs?: ClientFiles;
  /** A terminal the client shows; without it commands run here. */
  readonly terminal?: Terminal;
  /** Puts a question of the model to the person; without it nobody can be asked. */
  askPerson?(
    question: string,
    options: readonly AskOption[],
    signal: AbortSignal,
    toolCallId?: string,
    asked?: AskedAs,
  ): Promise<AskAnswer>;
}
