// Tools for programs that call a provider's own API: Anthropic Messages, OpenAI Chat and Responses, Gemini.

import { defined } from "../../base/json/defined.js";
import type { JsonSchema } from "../../base/json/json.js";
import type { CallOptions, ToolSet } from "../tool-set.js";
import {
  AdaptedSet,
  type AdaptedTools,
  type AdapterOptions,
  COMMON_NAMES,
  dataUrl,
  errorText,
  type OfferedTool,
  type ProviderRules,
  partsOf,
} from "./adapted-set.js";

interface TextPart {
  type: "text";
  text: string;
}

type ObjectSchema = { type: "object" } & { [key: string]: unknown };

interface AnthropicTool {
  name: string;
  description: string;
  input_schema: ObjectSchema;
  strict?: boolean;
}

interface AnthropicToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

interface AnthropicImage {
  type: "image";
  source: { type: "base64"; media_type: "image/png" | "image/jpeg" | "image/gif" | "image/webp"; data: string };
}

interface AnthropicToolResult {
  type: "tool_result";
  tool_use_id: string;
  content: (TextPart | AnthropicImage)[];
  is_error: boolean;
}

const ANTHROPIC: ProviderRules = {
  dialect: "anthropic",
  names: /^[a-zA-Z0-9_-]{1,128}$/,
  options: {
    key: "anthropic",
    known: ["cache_control", "defer_loading", "eager_input_streaming", "allowed_callers", "input_examples"],
  },
};

/**
 * Tools for `messages.create` of Anthropic: `execute` takes a `tool_use` block and gives a `tool_result` block.
 *
 * @example
 * const { tools, execute } = toAnthropicTools(session.tools);
 * const answer = await anthropic.messages.create({ model, max_tokens: 1024, messages, tools });
 * const calls = answer.content.filter((block) => block.type === "tool_use");
 * messages.push({ role: "user", content: await Promise.all(calls.map((call) => execute(call))) });
 */
export function toAnthropicTools(
  set: ToolSet,
  options: AdapterOptions = {},
): AdaptedTools<AnthropicTool[], AnthropicToolUse, AnthropicToolResult> {
  const adapted = new AdaptedSet(set, ANTHROPIC, options);
  return {
    get tools() {
      return adapted.tools.map(({ name, description, schema, strict, options: own }) => {
        return { ...own, name, description, input_schema: objectSchema(schema), ...defined({ strict }) };
      });
    },
    get problems() {
      return adapted.problems;
    },
    async execute({ id, name, input }, callOptions) {
      const parts = partsOf(await adapted.call(name, input, callOptions), options.images ?? true);
      // The API refuses blocks of no text.
      const texts: TextPart[] = parts.text.trim() === "" ? [] : [{ type: "text", text: parts.text }];
      const images = parts.images.map(({ mimeType, data }): AnthropicImage => {
        return { type: "image", source: { type: "base64", media_type: mimeType, data } };
      });
      return { type: "tool_result", tool_use_id: id, content: [...texts, ...images], is_error: parts.isError };
    },
  };
}

/** A root without a type is legal JSON Schema, and refused by every provider. */
function objectSchema(schema: JsonSchema): ObjectSchema {
  return { ...schema, type: "object" };
}

interface OpenAiChatTool {
  type: "function";
  function: { name: string; description: string; parameters: { [key: string]: unknown }; strict?: boolean };
}

interface OpenAiChatCall {
  readonly id: string;
  readonly type: string;
  readonly function?: { readonly name: string; readonly arguments: string };
}

interface OpenAiChatResult {
  role: "tool";
  tool_call_id: string;
  content: string;
}

interface OpenAiResponsesTool {
  type: "function";
  name: string;
  description: string;
  parameters: { [key: string]: unknown };
  strict: boolean;
}

interface OpenAiResponsesCall {
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

interface OpenAiResponsesResult {
  type: "function_call_output";
  call_id: string;
  output:
    | string
    | ({ type: "input_text"; text: string } | { type: "input_image"; detail: "auto"; image_url: string })[];
}

const OPENAI_CHAT: ProviderRules = {
  dialect: "openai-chat",
  names: COMMON_NAMES,
  options: { key: "openai", known: [] },
};

const OPENAI_RESPONSES: ProviderRules = {
  dialect: "openai-responses",
  names: COMMON_NAMES,
  options: { key: "openai", known: ["defer_loading", "allowed_callers", "output_schema"] },
};

/**
 * Tools for OpenAI. For `responses.create` (default): `execute` takes a `function_call` item and gives a
 * `function_call_output` item. With `api: "chat"`, for `chat.completions.create`: it takes a tool call and gives a `tool`
 * message; that API takes no images from tools, so that a label stands for each.
 *
 * @example
 * const { tools, execute } = toOpenAiTools(session.tools);
 * const { output } = await openai.responses.create({ model, input, tools });
 * const calls = output.filter((item) => item.type === "function_call");
 * input.push(...output, ...(await Promise.all(calls.map((call) => execute(call)))));
 */
export function toOpenAiTools(
  set: ToolSet,
  options: AdapterOptions & { readonly api: "chat" },
): AdaptedTools<OpenAiChatTool[], OpenAiChatCall, OpenAiChatResult>;
export function toOpenAiTools(
  set: ToolSet,
  options?: AdapterOptions & { readonly api?: "responses" },
): AdaptedTools<OpenAiResponsesTool[], OpenAiResponsesCall, OpenAiResponsesResult>;
export function toOpenAiTools(
  set: ToolSet,
  options: AdapterOptions & { readonly api?: "chat" | "responses" } = {},
):
  | AdaptedTools<OpenAiChatTool[], OpenAiChatCall, OpenAiChatResult>
  | AdaptedTools<OpenAiResponsesTool[], OpenAiResponsesCall, OpenAiResponsesResult> {
  return options.api === "chat" ? forChat(set, options) : forResponses(set, options);
}

function forChat(
  set: ToolSet,
  options: AdapterOptions,
): AdaptedTools<OpenAiChatTool[], OpenAiChatCall, OpenAiChatResult> {
  const adapted = new AdaptedSet(set, OPENAI_CHAT, options);
  return {
    get tools() {
      return adapted.tools.map(({ name, description, schema: parameters, strict }): OpenAiChatTool => {
        return { type: "function", function: { name, description, parameters, ...defined({ strict }) } };
      });
    },
    get problems() {
      return adapted.problems;
    },
    async execute({ id, type, function: called }, callOptions) {
      const result = await adapted.call(called?.name ?? type, called?.arguments ?? "", callOptions);
      return { role: "tool", tool_call_id: id, content: errorText(partsOf(result, false)) };
    },
  };
}

function forResponses(
  set: ToolSet,
  options: AdapterOptions,
): AdaptedTools<OpenAiResponsesTool[], OpenAiResponsesCall, OpenAiResponsesResult> {
  const adapted = new AdaptedSet(set, OPENAI_RESPONSES, options);
  return {
    get tools() {
      return adapted.tools.map(({ name, description, schema: parameters, strict = false, options: own }) => {
        return { ...own, type: "function" as const, name, description, parameters, strict };
      });
    },
    get problems() {
      return adapted.problems;
    },
    async execute({ call_id, name, arguments: json }, callOptions) {
      const parts = partsOf(await adapted.call(name, json, callOptions), options.images ?? true);
      const text = errorText(parts);
      if (parts.images.length === 0) return { type: "function_call_output", call_id, output: text };
      const images = parts.images.map((image) => {
        return { type: "input_image" as const, detail: "auto" as const, image_url: dataUrl(image) };
      });
      const texts = text === "" ? [] : [{ type: "input_text" as const, text }];
      return { type: "function_call_output", call_id, output: [...texts, ...images] };
    },
  };
}

interface GeminiDeclaration {
  name: string;
  description: string;
  parametersJsonSchema?: unknown;
}

interface GeminiCall {
  readonly id?: string;
  readonly name?: string;
  readonly args?: Record<string, unknown>;
}

interface GeminiResult {
  functionResponse: {
    id?: string;
    name: string;
    response: { [key: string]: unknown };
    parts?: { inlineData: { mimeType: string; data: string } }[];
  };
}

interface GeminiTool {
  functionDeclarations: GeminiDeclaration[];
}

interface GeminiTools extends AdaptedTools<GeminiTool[], GeminiCall, GeminiResult> {
  tool(): Promise<GeminiTool>;
  callTool(calls: readonly GeminiCall[]): Promise<GeminiResult[]>;
}

const GEMINI: ProviderRules = {
  dialect: "gemini",
  names: /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/,
  options: { key: "google", known: ["behavior", "responseJsonSchema"] },
};

/**
 * Tools for `generateContent` of Gemini: `execute` takes a function call and gives a part with its response. The whole is a
 * `CallableTool` too, which the SDK runs by itself. Images go along with `images: true` only: models before Gemini 3 refuse them.
 *
 * @example
 * const gemini = toGeminiTools(session.tools);
 * const { text } = await ai.models.generateContent({ model, contents, config: { tools: [gemini] } });
 */
export function toGeminiTools(set: ToolSet, options: AdapterOptions = {}): GeminiTools {
  const adapted = new AdaptedSet(set, GEMINI, options);
  const tool = (): GeminiTool => ({ functionDeclarations: adapted.tools.map(declaration) });
  const execute = async (call: GeminiCall, callOptions?: CallOptions): Promise<GeminiResult> => {
    const { id, name = "", args } = call;
    const { isError, text, images } = partsOf(await adapted.call(name, args, callOptions), options.images ?? false);
    const parts = images.map(({ mimeType, data }) => ({ inlineData: { mimeType, data } }));
    const response = isError ? { error: text } : { output: text };
    return {
      functionResponse: { name, response, ...defined({ id, parts: parts.length === 0 ? undefined : parts }) },
    };
  };
  return {
    get tools() {
      const own = tool();
      return own.functionDeclarations.length === 0 ? [] : [own];
    },
    get problems() {
      return adapted.problems;
    },
    execute,
    tool: async () => tool(),
    callTool: async (calls) => Promise.all(calls.map((call) => execute(call))),
  };
}

/** Parameters without properties are refused: a function without any has none. */
function declaration({ name, description, schema, options }: OfferedTool): GeminiDeclaration {
  const hasParameters = schema["properties"] !== undefined;
  return { ...options, name, description, ...defined({ parametersJsonSchema: hasParameters ? schema : undefined }) };
}
