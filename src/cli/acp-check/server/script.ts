// What one of the checker's own MCP servers does, as plain data: a process of its own reads it from a file.
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";

/** How a tool answers. `hold` never does, until it is cancelled; `crash` ends the server. */
export type ToolReply = "echo" | "image" | "error" | "hold" | "crash";

export interface ScriptedTool {
  readonly name: string;
  readonly reply: ToolReply;
}

export interface ServerScript {
  readonly name: string;
  readonly tools: readonly ScriptedTool[];
  /** Waits so long before it answers `initialize`; -1 is for ever. */
  readonly initializeMs?: number;
  /** Ends at once, with these words on stderr. */
  readonly failure?: string;
  /** Does not end when its input does, nor on SIGTERM: many servers are like that because something keeps them busy. */
  readonly isDeaf?: boolean;
  /** Starts a process of its own, as `npx` and shell wrappers do. */
  readonly hasChild?: boolean;
  /** Prints lines that are no messages, on both of its outputs. */
  readonly isNoisy?: boolean;
  /** Variables whose values are recorded. Of all others only the names are: they belong to whoever runs the check. */
  readonly watched?: readonly string[];
}

const REPLIES: readonly ToolReply[] = ["echo", "image", "error", "hold", "crash"];

/** A 2×2 picture; its data is what is looked for in what the model and the client get. */
export const IMAGE_DATA =
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGPQ6Ik6wc3EUOEWdYKXEQAc0APSGsBuFQAAAABJRU5ErkJggg==";

export const TOOL_SCHEMA: JsonObject = {
  type: "object",
  properties: { text: { type: "string", description: "Any text." } },
  required: ["text"],
};

export function readScript(value: JsonValue): ServerScript {
  if (!isJsonObject(value) || typeof value["name"] !== "string" || !Array.isArray(value["tools"])) {
    throw new Error("a script needs a name and tools");
  }
  const { name, initializeMs, failure, isDeaf, hasChild, isNoisy, watched } = value;
  return {
    name,
    tools: value["tools"].map(readTool),
    ...defined({
      initializeMs: typeof initializeMs === "number" ? initializeMs : undefined,
      failure: typeof failure === "string" ? failure : undefined,
    }),
    isDeaf: isDeaf === true,
    hasChild: hasChild === true,
    isNoisy: isNoisy === true,
    watched: Array.isArray(watched) ? watched.filter((one) => typeof one === "string") : [],
  };
}

function readTool(value: JsonValue): ScriptedTool {
  const reply = isJsonObject(value) ? REPLIES.find((one) => one === value["reply"]) : undefined;
  if (!isJsonObject(value) || typeof value["name"] !== "string" || !reply)
    throw new Error("a tool needs name and reply");
  return { name: value["name"], reply };
}
