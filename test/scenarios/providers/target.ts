// The providers the one table runs over: how each is configured, what it takes as a schema, and how to read its requests.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/base/json/json.js";
import type { FakeProvider, FormatName, OfferedTool, ProviderRequest } from "../../../src/testing/lab/index.js";
import { anthropicFaults } from "../../dialect-checkers/anthropic.js";
import { geminiFaults } from "../../dialect-checkers/gemini.js";
import { openaiFaults } from "../../dialect-checkers/openai.js";
import { openaiCompatibleFaults } from "../../dialect-checkers/openai-compatible.js";

export interface Target {
  readonly name: string;
  readonly format: FormatName;
  readonly model: string;
  /** OpenAI's own chat protocol has no thoughts in it. */
  readonly showsThoughts: boolean;
  env(provider: Pick<FakeProvider, "origin" | "url">): Record<string, string>;
  /** The provider's own rules for schemas, from its documentation and its answers. */
  schemaFaults(tool: OfferedTool): readonly string[];
}

/** A text no file of Tenon's may ever hold. */
export const KEY = "sk-fake-0123456789abcdef";

/** A search that the provider knows by its type has no name and no schema of a function. */
function byName(check: (tool: OfferedTool) => readonly string[]): Target["schemaFaults"] {
  return (tool) => (tool.name === "" ? [] : check(tool));
}

export const TARGETS: readonly Target[] = [
  {
    name: "Anthropic Messages",
    format: "anthropic",
    model: "anthropic/claude-sonnet-5-5",
    showsThoughts: true,
    env: ({ origin }) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: origin }),
    schemaFaults: byName(({ schema, strict }) => anthropicFaults(schema, { strict })),
  },
  {
    name: "OpenAI Responses",
    format: "openai-responses",
    model: "openai/gpt-6.1-sol",
    showsThoughts: true,
    env: ({ url }) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url }),
    schemaFaults: byName(({ schema, strict }) => openaiFaults(schema, { strict })),
  },
  {
    name: "OpenAI Chat",
    format: "openai-chat",
    model: "openai-chat/gpt-6.1-sol",
    showsThoughts: false,
    env: ({ url }) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url }),
    schemaFaults: byName(({ schema, strict }) => openaiFaults(schema, { strict })),
  },
  {
    name: "a compatible server",
    format: "openai-chat",
    model: "openai-compatible/qwen3-vl",
    showsThoughts: true,
    env: ({ url }) => ({ TENON_API_KEY: KEY, TENON_BASE_URL: url }),
    schemaFaults: byName(({ schema, strict }) => openaiCompatibleFaults(schema, { strict })),
  },
  {
    name: "Gemini",
    format: "gemini",
    model: "google/gemini-3.1-pro-preview",
    showsThoughts: true,
    env: ({ origin }) => ({ GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: origin }),
    schemaFaults: byName(({ schema }) => geminiFaults(schema)),
  },
];

/** The tools of a request, in its order, as they are written there. */
export function toolsIn({ body }: ProviderRequest): readonly JsonObject[] {
  const tools = objects(body["tools"]);
  return tools.flatMap((tool) => ("functionDeclarations" in tool ? objects(tool["functionDeclarations"]) : [tool]));
}

export function toolNamesIn(request: ProviderRequest): readonly string[] {
  return toolsIn(request).map((tool) => {
    const name = tool["name"] ?? (isJsonObject(tool["function"]) ? tool["function"]["name"] : undefined);
    return typeof name === "string" ? name : "";
  });
}

/** The conversation of a request without its tools and settings. */
export function conversationIn({ body }: ProviderRequest): readonly JsonObject[] {
  return objects(body["messages"] ?? body["input"] ?? body["contents"]);
}

export interface SentResult {
  readonly callId: string;
  /** As it stands in the request, pictures included. */
  readonly content: string;
}

/** The results in a request, in its order, whatever the provider calls them. */
export function resultsIn(request: ProviderRequest): readonly SentResult[] {
  return conversationIn(request).flatMap((message): readonly SentResult[] => {
    if (message["role"] === "tool") return [sent(message["tool_call_id"], message["content"])];
    if (message["type"] === "function_call_output") return [sent(message["call_id"], message["output"])];
    const blocks = objects(message["content"]).filter(({ type }) => type === "tool_result");
    const parts = objects(message["parts"]).flatMap(({ functionResponse }) => objects([functionResponse ?? null]));
    return [
      ...blocks.map((block) => sent(block["tool_use_id"], block["content"])),
      ...parts.map((part) => sent(part["id"], { ...part })),
    ];
  });
}

function sent(callId: JsonValue | undefined, content: JsonValue | undefined): SentResult {
  return { callId: typeof callId === "string" ? callId : "", content: JSON.stringify(content) };
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item: JsonValue) => isJsonObject(item)) : [];
}

/** Where a marker stands is the client's to move; what it marks is not. */
export function unmarked(value: readonly object[]): readonly object[] {
  const copy: object[] = JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => (key === "cache_control" ? undefined : inner)),
  );
  return copy;
}
