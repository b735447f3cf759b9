// Tools for programs on a framework that runs the loop: the AI SDK, LangChain, the OpenAI Agents SDK.
import { defined } from "../../base/json/defined.js";
import type { JsonSchema } from "../../base/json/json.js";
import { isJsonObject } from "../../base/json/json.js";
import type { DialectName } from "../../models/index.js";
import type { CallOptions, ToolResult, ToolSet } from "../tool-set.js";
import {
  AdaptedSet,
  type AdaptedTools,
  type AdapterOptions,
  COMMON_NAMES,
  dataUrl,
  errorOf,
  errorText,
  type OfferedTool,
  partsOf,
  type ResultParts,
} from "./adapted-set.js";

/** Options of adapters to frameworks that speak to any provider. */
interface FrameworkOptions extends AdapterOptions {
  /** Whose form schemas are given; one that all providers take unless given. */
  readonly provider?: "anthropic" | "openai" | "google";
}

const DIALECTS: Readonly<Record<NonNullable<FrameworkOptions["provider"]>, DialectName>> = {
  anthropic: "anthropic",
  openai: "openai-responses",
  google: "gemini",
};

function adaptedFor(set: ToolSet, options: FrameworkOptions): AdaptedSet {
  const dialect = options.provider === undefined ? "openai-compatible" : DIALECTS[options.provider];
  return new AdaptedSet(set, { dialect, names: /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/ }, options);
}

// The AI SDK.

type OptionValue = null | string | number | boolean | OptionValue[] | { [key: string]: OptionValue | undefined };

/** A schema for the AI SDK: its own kind at run time, a Standard Schema with JSON Schema by type. */
interface AiSdkSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: unknown };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
  };
}

interface AiSdkTool {
  type: "dynamic";
  title?: string;
  description: string;
  inputSchema: AiSdkSchema;
  strict?: boolean;
  providerOptions?: Record<string, { [key: string]: OptionValue | undefined }>;
  execute(
    input: unknown,
    options?: { readonly abortSignal?: AbortSignal; readonly toolCallId?: string },
  ): Promise<ToolResult>;
  toModelOutput(call: { readonly output: ToolResult }): AiSdkOutput;
}

type AiSdkOutput =
  | { type: "text" | "error-text"; value: string }
  | {
      type: "content";
      value: ({ type: "text"; text: string } | { type: "image-data"; data: string; mediaType: string })[];
    };

interface AiSdkCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

interface AiSdkResult {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: AiSdkOutput;
}

/**
 * Tools for `generateText`, `streamText` and agents of the AI SDK, which calls them itself: a call that fails is a
 * `tool-error` there. For a loop of your own, `execute` takes a tool call and gives a `tool-result` part. Images go along where
 * `provider` or `images: true` is given.
 *
 * @example
 * const { tools } = toAiSdkTools(session.tools);
 * const { text } = await generateText({ model, prompt: "What do my notes say?", tools, stopWhen: stepCountIs(10) });
 */
export function toAiSdkTools(
  set: ToolSet,
  options: FrameworkOptions = {},
): AdaptedTools<Record<string, AiSdkTool>, AiSdkCall, AiSdkResult> {
  const adapted = adaptedFor(set, options);
  // A provider's package that has no form for images would send them as text.
  const takesImages = options.images ?? options.provider !== undefined;
  const output = (result: ToolResult) => aiSdkOutput(partsOf(result, takesImages));
  const asTool = ({ info, name, description, schema, strict }: OfferedTool): AiSdkTool => ({
    type: "dynamic",
    description,
    inputSchema: aiSdkSchema(schema),
    ...defined({ title: info.title, strict, providerOptions: aiSdkOptions(info.providerOptions) }),
    execute: (input, given) =>
      adapted.callAnd(name, input, given?.abortSignal && { signal: given.abortSignal }, doneOrThrown),
    toModelOutput: (call) => output(call.output),
  });
  return {
    get tools() {
      return Object.fromEntries(adapted.tools.map((tool) => [tool.name, asTool(tool)]));
    },
    get problems() {
      return adapted.problems;
    },
    async execute({ toolCallId, toolName, input }, callOptions) {
      const result = await adapted.call(toolName, input, callOptions);
      return { type: "tool-result", toolCallId, toolName, output: output(result) };
    },
  };
}

function doneOrThrown(result: ToolResult): ToolResult {
  if (result.status !== "done") throw errorOf(result);
  return result;
}

function aiSdkOutput({ isError, text, images }: ResultParts): AiSdkOutput {
  if (isError) return { type: "error-text", value: text };
  if (images.length === 0) return { type: "text", value: text };
  const files = images.map(({ data, mimeType }) => ({ type: "image-data" as const, data, mediaType: mimeType }));
  return { type: "content", value: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...files] };
}

/** The symbol by which every copy of the AI SDK knows its own schemas, which it passes on as they are. */
const AI_SDK_SCHEMA = Symbol.for("vercel.ai.schema");

/** Arguments are checked by Tenon against the tool's own schema, not here. */
function aiSdkSchema(schema: JsonSchema): AiSdkSchema {
  const jsonSchema = () => ({ ...schema });
  return Object.assign(
    {
      "~standard": {
        version: 1 as const,
        vendor: "tenon",
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: jsonSchema, output: jsonSchema },
      },
    },
    { [AI_SDK_SCHEMA]: true, jsonSchema: schema, validate: undefined },
  );
}

/** They are JSON; `strict` has been decided, and is no option of a provider there. */
function aiSdkOptions(given: unknown): AiSdkTool["providerOptions"] {
  return isOptions(given) ? given : undefined;
}

function isOptions(given: unknown): given is NonNullable<AiSdkTool["providerOptions"]> {
  return isJsonObject(given) && Object.keys(given).length > 0;
}

// LangChain.

interface LangChainCall {
  readonly id?: string | undefined;
  readonly name: string;
  readonly args: unknown;
}

type LangChainContent = ({ type: "text"; text: string } | { type: "image_url"; image_url: { url: string } })[];

interface LangChainMessageFields {
  tool_call_id: string;
  name: string;
  content: string | LangChainContent;
  status: "success" | "error";
  artifact: ToolResult;
}

interface LangChainRun {
  readonly signal?: AbortSignal | undefined;
  readonly toolCall?: { readonly id?: string | undefined } | undefined;
}

/** The two classes of `@langchain/core` that tools and results are made with: it knows its own by their class. */
interface LangChain<Tool, Message> {
  /** Of `@langchain/core/tools`. */
  readonly DynamicStructuredTool: new (fields: {
    name: string;
    description: string;
    schema: { type: "object" } & { [key: string]: unknown };
    func: (input: unknown, manager: unknown, config?: LangChainRun) => Promise<Message | string | LangChainContent>;
  }) => Tool;
  /** Of `@langchain/core/messages`. */
  readonly ToolMessage: new (
    fields: LangChainMessageFields,
  ) => Message;
}

/**
 * Tools for LangChain, made with its own classes. A call that fails is a message with `status: "error"`, which the model
 * reads. `execute` takes a tool call of a model's message and gives the message to append. Images go along with
 * `images: true` only: many models take none from tools.
 *
 * @example
 * import { ToolMessage } from "@langchain/core/messages";
 * import { DynamicStructuredTool } from "@langchain/core/tools";
 * const { tools, execute } = toLangChainTools(session.tools, { DynamicStructuredTool, ToolMessage });
 * const answer = await model.bindTools(tools).invoke(messages);
 * messages.push(answer, ...(await Promise.all(answer.tool_calls.map((call) => execute(call)))));
 */
export function toLangChainTools<Tool, Message>(
  set: ToolSet,
  langchain: LangChain<Tool, Message>,
  options: FrameworkOptions = {},
): AdaptedTools<Tool[], LangChainCall, Message> {
  const adapted = adaptedFor(set, options);
  const run = (call: LangChainCall, callOptions?: CallOptions) =>
    adapted.callAnd(call.name, call.args, callOptions, (result) => {
      return { result, fields: langChainFields(call, result, options.images ?? false) };
    });
  const asTool = ({ name, description, schema }: OfferedTool): Tool =>
    new langchain.DynamicStructuredTool({
      name,
      description,
      schema: { ...schema, type: "object" },
      async func(args, _manager, { signal, toolCall } = {}) {
        const { result, fields } = await run({ id: toolCall?.id, name, args }, defined({ signal }));
        if (toolCall?.id !== undefined) return new langchain.ToolMessage(fields);
        if (result.status !== "done") throw errorOf(result);
        return fields.content;
      },
    });
  return {
    get tools() {
      return adapted.tools.map(asTool);
    },
    get problems() {
      return adapted.problems;
    },
    execute: async (call, callOptions) => new langchain.ToolMessage((await run(call, callOptions)).fields),
  };
}

function langChainFields({ id = "", name }: LangChainCall, result: ToolResult, takesImages: boolean) {
  const { isError, text, images } = partsOf(result, takesImages);
  const blocks = images.map((image) => ({ type: "image_url" as const, image_url: { url: dataUrl(image) } }));
  const content = blocks.length === 0 ? text : [...(text === "" ? [] : [{ type: "text" as const, text }]), ...blocks];
  const status = isError ? ("error" as const) : ("success" as const);
  return { tool_call_id: id, name, content, status, artifact: result };
}

// The OpenAI Agents SDK.

type AgentsOutput =
  | { type: "text"; text: string }
  | { type: "image"; image: { data: string; mediaType: string }; detail: "auto" };

interface AgentsParameters<Additional extends boolean> {
  type: "object";
  properties: Record<string, Record<string, unknown>>;
  required: string[];
  additionalProperties: Additional;
  description?: string;
}

interface AgentsTool {
  type: "function";
  name: string;
  description: string;
  parameters: AgentsParameters<true> | AgentsParameters<false>;
  strict: boolean;
  invoke(
    context: unknown,
    input: string,
    details?: { readonly signal?: AbortSignal | undefined },
  ): Promise<string | AgentsOutput[]>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

interface AgentsCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

interface AgentsResult {
  type: "function_call_result";
  callId: string;
  name: string;
  status: "completed" | "incomplete";
  output: AgentsOutput[];
}

/**
 * Tools for an `Agent` of the OpenAI Agents SDK, which calls them itself. For a loop of your own, `execute` takes a
 * `function_call` item and gives a `function_call_result` item.
 *
 * @example
 * const agent = new Agent({ name: "Notes", tools: toOpenAiAgentsTools(session.tools).tools });
 * const { finalOutput } = await run(agent, "What do my notes say?");
 */
export function toOpenAiAgentsTools(
  set: ToolSet,
  options: AdapterOptions = {},
): AdaptedTools<AgentsTool[], AgentsCall, AgentsResult> {
  const adapted = new AdaptedSet(set, { dialect: "openai-responses", names: COMMON_NAMES }, options);
  const run = async (name: string, input: string, callOptions?: CallOptions): Promise<ResultParts> =>
    partsOf(await adapted.call(name, input, callOptions), options.images ?? true);
  const asTool = ({ name, description, schema, strict = false }: OfferedTool): AgentsTool => ({
    type: "function",
    name,
    description,
    parameters: agentsParameters(schema),
    strict,
    async invoke(_context, input, details) {
      const parts = await run(name, input, defined({ signal: details?.signal }));
      return parts.images.length === 0 ? errorText(parts) : agentsOutput(parts);
    },
    needsApproval: async () => false,
    isEnabled: async () => true,
  });
  return {
    get tools() {
      return adapted.tools.map(asTool);
    },
    get problems() {
      return adapted.problems;
    },
    async execute({ callId, name, arguments: json }, callOptions) {
      const parts = await run(name, json, callOptions);
      const status = parts.isError ? "incomplete" : "completed";
      return { type: "function_call_result", callId, name, status, output: agentsOutput(parts) };
    },
  };
}

function agentsOutput(parts: ResultParts): AgentsOutput[] {
  const text = errorText(parts);
  const images = parts.images.map(({ data, mimeType }): AgentsOutput => {
    return { type: "image", image: { data, mediaType: mimeType }, detail: "auto" };
  });
  return text === "" && images.length > 0 ? images : [{ type: "text", text }, ...images];
}

/** All four fields are demanded, and `additionalProperties` is no schema there. */
function agentsParameters(schema: JsonSchema): AgentsTool["parameters"] {
  const { properties, required, additionalProperties, ...rest } = schema;
  const shared = {
    ...rest,
    type: "object" as const,
    properties: isJsonObject(properties) ? propertiesOf(properties) : {},
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
  };
  return additionalProperties === false
    ? { ...shared, additionalProperties: false }
    : { ...shared, additionalProperties: true };
}

function propertiesOf(properties: JsonSchema): Record<string, Record<string, unknown>> {
  const entries = Object.entries(properties).map(([name, property]): [string, Record<string, unknown>] => [
    name,
    isJsonObject(property) ? { ...property } : {},
  ]);
  return Object.fromEntries(entries);
}
