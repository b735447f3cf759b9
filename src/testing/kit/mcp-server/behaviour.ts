// The script of an MCP server as plain JSON, so that it fits on a command line.
import type { JsonObject, JsonSchema, JsonValue } from "../../../base/json/json.js";

/** Where steps can be put in: before the first message is read, and before each kind of answer. */
export const STAGES = [
  "start",
  "initialize",
  "initialized",
  "server/discover",
  "subscriptions/listen",
  "tools/list",
  "tools/call",
] as const;
export type Stage = (typeof STAGES)[number];

/** One thing the server does before it answers. Steps of a stage run in order. */
export type Step =
  | { readonly do: "delay"; readonly ms: number }
  /** The answer never comes; a cancellation is still honoured. */
  | { readonly do: "never" }
  /** Waits for the cancellation of this very request, and then goes on: what follows is a late reply. */
  | { readonly do: "await_cancel" }
  | { readonly do: "await_notification"; readonly method: string }
  /** Waits until the test calls `release(name)`. In-process servers only. */
  | { readonly do: "hold"; readonly name: string }
  /** Sent only when the request carried a progress token, as the protocol wants it. */
  | { readonly do: "progress"; readonly progress: number; readonly total?: number; readonly message?: string }
  | { readonly do: "notify"; readonly method: string; readonly params?: JsonObject }
  /** `count` notifications in a row: a storm. */
  | { readonly do: "list_changed"; readonly count?: number }
  /** Replaces the tools without a word; put `list_changed` after it to tell the client. */
  | { readonly do: "set_tools"; readonly tools: readonly ToolScript[] }
  /** A line that is no JSON-RPC message. Over HTTP: the whole body of the answer. */
  | { readonly do: "garbage"; readonly text: string }
  /** A line of that many bytes that is no JSON. */
  | { readonly do: "huge_line"; readonly bytes: number }
  /** A reply to a request that the client did not send. */
  | { readonly do: "stray_reply"; readonly id: string | number }
  | { readonly do: "stderr"; readonly text: string }
  | { readonly do: "stderr_flood"; readonly bytes: number }
  | SpawnChildrenStep
  | CrashStep;

export interface SpawnChildrenStep {
  readonly do: "spawn_children";
  readonly count: number;
  /** Its own session and group, as a daemon has: signals to the server's group do not reach it. */
  readonly ownSession?: boolean;
  readonly ignoresSigterm?: boolean;
  /** Inherits the server's stdout: the pipe stays open when the server is gone. */
  readonly holdsStdout?: boolean;
}

export interface CrashStep {
  readonly do: "crash";
  readonly exitCode?: number;
  /** Dies of this signal instead of exiting. */
  readonly signal?: "SIGKILL" | "SIGSEGV" | "SIGABRT";
  readonly stderr?: string;
  /** Crashes only while this file does not exist, and creates it: the next start behaves. */
  readonly onceFile?: string;
}

/**
 * How a call ends, after its steps.
 *
 * @example
 * const reply: ScriptedReply = { kind: "echo" };
 */
export type ToolReply =
  /** The arguments as JSON text. */
  | { readonly kind: "echo" }
  | { readonly kind: "text"; readonly text: string }
  /** Blocks as they are, also ones no client knows. */
  | {
      readonly kind: "content";
      readonly content: readonly JsonValue[];
      readonly structured?: JsonValue;
      readonly isError?: boolean;
    }
  /** `structuredContent`, with the same as JSON text beside it. */
  | { readonly kind: "structured"; readonly value: JsonValue }
  /** A PNG of one pixel. */
  | { readonly kind: "image" }
  /** Text of that many bytes. */
  | { readonly kind: "bytes"; readonly bytes: number }
  /** A result with `isError`. */
  | { readonly kind: "error"; readonly text: string }
  | { readonly kind: "protocol_error"; readonly code: number; readonly message: string }
  /** The `result` member verbatim, however wrong. */
  | { readonly kind: "raw"; readonly result: JsonValue }
  /** The names of the server's environment variables, as structured `{names}`. */
  | { readonly kind: "env" }
  | { readonly kind: "cwd" }
  /** Structured `{pid, children}`. */
  | { readonly kind: "pid" }
  /** Sends this request to the client and replies with what it answered, as JSON text. */
  | { readonly kind: "ask_client"; readonly method: string; readonly params?: JsonObject }
  /** Modern: asks for input that many rounds (once), then tells as JSON text what it was given last. */
  | {
      readonly kind: "ask_input";
      readonly inputRequests?: JsonObject;
      /** Comes back with the number of the round behind a `#`. Without it there can be only one round. */
      readonly requestState?: string;
      readonly rounds?: number;
    }
  /** The test answers, through `awaitCall()`. In-process servers only. */
  | { readonly kind: "held" };

/** A call that goes on as a task: the client asks for it again until its reply is there. */
export interface TaskScript {
  /** As a legacy listing says it; `required` when left out. A modern server answers with a task whenever it may. */
  readonly support?: "optional" | "required";
  /** From its creation to its end; at once when left out. */
  readonly takesMs?: number;
  readonly says?: readonly { readonly atMs: number; readonly message: string }[];
  readonly pollMs?: number;
  /** After this it is forgotten, whatever its state. */
  readonly ttlMs?: number;
  /** Sends notifications when it says something new and when it ends. */
  readonly announces?: boolean;
  /** Wants to know this from then on, and tells as its result what it was given. */
  readonly asks?: { readonly atMs?: number; readonly method: string; readonly params?: JsonObject };
  /** It ends as cancelled, by the server's own will. */
  readonly isGivenUp?: boolean;
  /** So long after its creation the server crashes; over HTTP, every connection is cut and every session forgotten. */
  readonly crashMs?: number;
}

export interface ToolScript {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** An object without properties when left out; for a missing or wrong one see `rawTools`. */
  readonly inputSchema?: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: JsonObject;
  readonly steps?: readonly Step[];
  readonly reply: ToolReply;
  /** Goes on as a task, without steps; it ends with its reply, unless that needs the client or the test. */
  readonly task?: TaskScript;
  /** Replies that many times instead of once. */
  readonly replies?: number;
  /** Goes on and replies although the call was cancelled. */
  readonly ignoresCancel?: boolean;
}

/**
 * What a scripted server does.
 *
 * @example
 * const behaviour: Behaviour = { tools: [echoTool()], steps: { initialize: [{ do: "delay", ms: 100 }] } };
 */
export interface Behaviour {
  readonly serverName?: string;
  readonly serverVersion?: string;
  readonly instructions?: string;
  /** `modern` is 2026-07-28 only, `dual` takes what the client begins with. Legacy when left out. */
  readonly era?: "legacy" | "modern" | "dual";
  /** The modern versions it names; 2026-07-28 when left out. */
  readonly modernVersions?: readonly string[];
  /** What it does with `subscriptions/listen`: `empty` acknowledges nothing, `end` ends it politely at once. */
  readonly listen?: "honour" | "refuse" | "empty" | "end";
  /** Told instead of its own: tools with `listChanged`, and logging. */
  readonly capabilities?: JsonObject;
  /** The version it claims; otherwise the client's own, if it is a known legacy one. */
  readonly protocolVersion?: string;
  readonly tools?: readonly ToolScript[];
  /** That many more tools, `filler_0` and on, which echo. */
  readonly fillerTools?: number;
  /** Put into the list verbatim, after the others: tools without a schema, with a wrong one, no tools at all. */
  readonly rawTools?: readonly JsonValue[];
  readonly pageSize?: number;
  /** After the last page come empty ones, each with a new cursor, without end. */
  readonly endlessPages?: boolean;
  readonly steps?: { readonly [stage in Stage]?: readonly Step[] };
  /** A line of garbage before every message. */
  readonly garbageBetween?: string;
  readonly ignoresEof?: boolean;
  /** As a process: goes on after SIGTERM, SIGINT and SIGHUP. */
  readonly ignoresSigterm?: boolean;
  /** A file that gets one JSON line per message received, child started, end of input and signal. Child processes only. */
  readonly recordFile?: string;
  /** The first line of that file holds the names of all environment variables, and the values of these. */
  readonly recordEnv?: readonly string[];
  /** The server and its children end by themselves after this, so that a failing test litters nothing. */
  readonly maxLifetimeMs?: number;
  /** A file in which its tasks are kept: they outlive the process. */
  readonly taskFile?: string;
}

/**
 * A tool that echoes, with one required string: what most tests start from.
 *
 * @example
 * const server = scriptedServer({ tools: [echoTool("say")] });
 */
export function echoTool(name = "echo"): ToolScript {
  return {
    name,
    description: `Echoes its arguments (${name}).`,
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    reply: { kind: "echo" },
  };
}

/** Tools that real servers have been seen to send and that strict clients lose the whole list over. */
export const BAD_TOOLS: Readonly<
  Record<"missingSchema" | "wrongSchemaType" | "schemaWithoutType" | "missingName", JsonObject>
> = {
  missingSchema: { name: "bad_missing_schema", description: "No inputSchema at all." },
  wrongSchemaType: { name: "bad_schema_type", description: "Its schema is a string.", inputSchema: { type: "string" } },
  schemaWithoutType: { name: "bad_no_type", description: "Its schema has no type.", inputSchema: { properties: {} } },
  missingName: { description: "No name.", inputSchema: { type: "object" } },
};
