// The one error class. Codes are a closed table: callers branch on `code`, people read `message` and `hint`.

import { messageOf } from "./message.js";

export { messageOf };

/**
 * Every code with its cause and the way to recover from it; the reference page is made from this table.
 *
 * @example
 * console.log(ERROR_CODES["tool.refused"].recovery);
 */
export const ERROR_CODES = {
  internal: { cause: "A bug in Tenon.", recovery: "Report it with the log of the run." },
  cancelled: { cause: "The person or the client cancelled.", recovery: "Nothing to do." },
  "usage.invalid": { cause: "A command was called with words it does not take.", recovery: "See `tenon --help`." },
  "config.unreadable": {
    cause: "A configuration file cannot be read.",
    recovery: "Check the path and its permissions.",
  },
  "config.invalid": { cause: "A configuration entry is malformed.", recovery: "Correct the entry the message names." },
  "mcp.invalid_spec": {
    cause: "A server entry lacks what is needed to start it.",
    recovery: "Give a command or a URL.",
  },
  "mcp.url_refused": { cause: "The URL breaks the address rules.", recovery: "Use https, or a loopback address." },
  "mcp.spawn_failed": { cause: "The server's command could not be started.", recovery: "Check command, PATH and cwd." },
  "mcp.sandbox_unavailable": {
    cause: "The sandbox that a server must run in is not available, so the server is not started.",
    recovery: "Install bubblewrap, or set its sandbox to off.",
  },
  "mcp.launch_refused": {
    cause: "A file in the session's folder would decide what the server's command runs, and it is not approved.",
    recovery: "Approve it for the folder, or give full paths in the server's entry.",
  },
  "mcp.connect_failed": { cause: "The server ended or refused before it was ready.", recovery: "Read its stderr." },
  "mcp.connect_timeout": {
    cause: "The server did not answer `initialize` in time.",
    recovery: "Start it by hand and read its output.",
  },
  "mcp.not_ready": { cause: "The server is not connected.", recovery: "Look at its status." },
  "mcp.connection_lost": { cause: "The connection ended while a call ran.", recovery: "Call again if that is safe." },
  "mcp.session_lost": {
    cause: "The server no longer knows the session.",
    recovery: "Nothing to do: a new session is opened. Call again if that is safe.",
  },
  "mcp.unauthorized": {
    cause: "The server wants credentials, or refused those it got.",
    recovery: "Give it a token or log in.",
  },
  "mcp.unsupported_version": {
    cause: "No protocol version is spoken by both sides.",
    recovery: "Update the server or Tenon.",
  },
  "mcp.protocol": { cause: "The server broke the protocol.", recovery: "Report it to the server's author." },
  "mcp.unavailable": {
    cause: "The server could not be reached or is overloaded.",
    recovery: "Check the URL and your network connection.",
  },
  "mcp.client_gone": {
    cause: "The client that has the server left, and did not return in time.",
    recovery: "Open the session in that client again.",
  },
  "mcp.rate_limited": {
    cause: "Too many calls to this server at once or per minute.",
    recovery: "Wait, or raise its limits.",
  },
  "mcp.over_budget": {
    cause: "A server waits for a place: one more would break the limit on server processes or their memory.",
    recovery: "Close sessions, switch servers off, or raise serverLimits.maxProcesses or serverLimits.maxMemoryMb.",
  },
  "mcp.too_large": { cause: "A message of the server is over the size limit.", recovery: "Ask for less at a time." },
  "mcp.call_failed": { cause: "The server answered the call with a protocol error.", recovery: "Read the message." },
  "mcp.call_timeout": {
    cause: "The call got no answer before its deadline.",
    recovery: "Raise the limit or split the work.",
  },
  "mcp.task_lost": {
    cause: "The server has forgotten a long-running call, or cannot be asked about it any more.",
    recovery: "Look at what it did; call again only if that is safe.",
  },
  "tool.unknown": { cause: "No tool of that name is in this turn's catalog.", recovery: "List the tools." },
  "tool.invalid_arguments": {
    cause: "The arguments do not fit the tool's schema.",
    recovery: "Correct them and call again.",
  },
  "tool.refused": {
    cause: "A call needs an approval that nobody could give, or was denied.",
    recovery: "Give an approve callback, or a rule that allows the tool.",
  },
  "model.unknown": { cause: "No such provider or model.", recovery: "Use provider/name; tenon models lists them." },
  "model.unauthorized": { cause: "The provider has no key, or refused it.", recovery: "Set the provider's API key." },
  "model.quota": {
    cause: "The provider's account has no credit left, or has reached a limit that waiting does not soon lift.",
    recovery: "Look at plan and billing at the provider, or choose another model.",
  },
  "model.rate_limited": { cause: "The provider limits requests.", recovery: "Wait, then send the prompt again." },
  "model.overloaded": {
    cause: "The provider has more requests than it can serve.",
    recovery: "Wait, or choose another model.",
  },
  "model.unavailable": {
    cause: "The provider could not be reached, or failed.",
    recovery: "Check your network connection and try again.",
  },
  "model.context_overflow": {
    cause: "The conversation does not fit the model's context window.",
    recovery: "Compact the conversation, or choose a model with a larger window.",
  },
  "model.content_filter": {
    cause: "The provider's content filter blocked the prompt or the answer.",
    recovery: "Word the prompt differently.",
  },
  "model.invalid_request": { cause: "The provider refused the request.", recovery: "Read the message." },
  "model.tool_refused": {
    cause: "The provider refused the definition of a tool.",
    recovery: "Nothing to do: the tool is left out. Report it to the server's author.",
  },
  "model.broken_stream": { cause: "The answer broke off or was malformed.", recovery: "Send the prompt again." },
  "session.not_found": { cause: "No session of that id is open.", recovery: "Open a session first." },
  "session.busy": { cause: "A turn is already running in the session.", recovery: "Wait for it or cancel it." },
  "session.closed": { cause: "The session has been closed.", recovery: "Open a new session." },
  "session.not_recorded": {
    cause: "The session's journal cannot be written, so the turn does not count as done.",
    recovery: "Free space on the disk or make the state folder writable, then send the prompt again.",
  },
  "session.invalid_request": {
    cause: "A session was asked for with malformed parameters.",
    recovery: "Correct what it names.",
  },
  "session.superseded": {
    cause: "Another process owns the session now, so this one may write nothing more into it.",
    recovery: "Nothing to do: clients are connected to its new owner.",
  },
  "session.gave_up": {
    cause: "A turn was continued three times in a row without getting any further.",
    recovery: "Look at what its last calls did, then send the prompt again.",
  },
  "session.prompt_conflict": {
    cause: "The id of a prompt was used before, for another prompt.",
    recovery: "Give every prompt an id of its own.",
  },
  "access.denied": {
    cause: "The token of the client does not have the scope that the request needs.",
    recovery: "Use a token with that scope: `tenon gateway token create --scopes …`.",
  },
  "access.limited": {
    cause: "The client has more connections, or sends more requests, than the gateway allows.",
    recovery: "Wait as long as the message says, then send it again.",
  },
  "store.unavailable": {
    cause: "The store of the sessions cannot be reached.",
    recovery: "Check the store; what waits goes on when it is back.",
  },
  "gateway.not_started": {
    cause: "The gateway cannot listen where it should.",
    recovery: "End what listens there, or choose another address.",
  },
  "gateway.unreachable": {
    cause: "No gateway answers, or the connection to it was lost.",
    recovery: "Start one with `tenon gateway run`, or check the address and your network connection.",
  },
} as const;

/**
 * A code of a TenonError.
 *
 * @example
 * const code: ErrorCode = "session.busy";
 */
export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

export interface TenonErrorOptions {
  readonly cause?: unknown;
  /** What to do about it, when more can be said than the code's own `recovery`. */
  readonly hint?: string;
  /** The server said when to come back (`Retry-After`). */
  readonly retryAfterMs?: number;
  /** With `model.tool_refused`: the tools that were named, by the names the model was given. */
  readonly refusedTools?: readonly string[];
}

/**
 * The one error of Tenon: programs look at `code`, people read `message` and `hint`.
 *
 * @example
 * if (error instanceof TenonError && error.code === "model.unauthorized") console.error(error.hint);
 */
export class TenonError extends Error {
  static {
    Object.defineProperty(this, "name", { value: "TenonError" }); // what was bundled has another, which Node would print
  }
  readonly code: ErrorCode;
  readonly hint: string;
  /** The hint is that of the code, not one for this case. */
  readonly isDefaultHint: boolean;
  readonly retryAfterMs: number | undefined;
  /** Empty when the provider refused a tool without saying which. */
  readonly refusedTools: readonly string[];

  constructor(code: ErrorCode, message: string, options: TenonErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TenonError";
    this.code = code;
    this.hint = options.hint ?? ERROR_CODES[code].recovery;
    this.isDefaultHint = options.hint === undefined;
    this.retryAfterMs = options.retryAfterMs;
    this.refusedTools = options.refusedTools ?? [];
  }
}

/** What the work gives; what it throws becomes the cause of an error of this code, whose message begins with `what`. */
export async function orFail<T>(code: ErrorCode, what: string, work: Promise<T>): Promise<T> {
  return await work.catch((thrown: unknown) => {
    throw new TenonError(code, `${what}: ${messageOf(thrown)}`, { cause: thrown });
  });
}

/** Whatever was thrown, as a TenonError; unknown values become `code` with the original as cause. */
export function toTenonError(thrown: unknown, code: ErrorCode = "internal"): TenonError {
  if (thrown instanceof TenonError) return thrown;
  return new TenonError(code, messageOf(thrown), { cause: thrown });
}
