// The wire format of the Gemini API's generateContent and streamGenerateContent (reference "Generating content").
import { z } from "zod";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import {
  type Asked,
  COMMENT,
  crlfEvent,
  type Fault,
  type FaultResponse,
  headerOf,
  Issued,
  invalid,
  newId,
  type OfferedTool,
  type ProviderFormat,
  placeOf,
  readBody,
  type StreamWriter,
  unmarkedBlocks,
} from "./format.js";
import { type AnswerUsage, argumentsText, type ContentPart, type Incident, inPieces } from "./reply.js";

const FINISH_REASONS = { stop: "STOP", tool_calls: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" } as const;

export function geminiGenerate(): ProviderFormat {
  const issued = new Issued();
  return {
    name: "gemini",
    isFor: (path) => /\/models\/[^/]+:(stream)?[gG]enerateContent$/.test(path),
    key: (headers) => headerOf(headers, "x-goog-api-key"),
    needsKey: true,
    read: (asked) => {
      const result = readBody(asked.body, request, misfit, (read) => faultsOf(read, issued));
      if ("kind" in result) return result;
      const { read } = result;
      const declared = read.tools.flatMap(({ functionDeclarations }) => functionDeclarations);
      const tools = declared.map(({ name, parameters, parametersJsonSchema }) => {
        return { name, schema: parameters ?? parametersJsonSchema, strict: false };
      });
      const { systemInstruction: system } = asked.body;
      return {
        tools,
        cacheBlocks: () => unmarkedBlocks(...read.tools, ...(system === undefined ? [] : [system]), ...read.contents),
        stream: (usage) => contentStream(asked, read, tools, usage, issued),
      };
    },
    fault: geminiFault,
    error: (message, code) => ({ error: { code: 500, message, status: code } }),
  };
}

/** The documented way to replay calls of another model; their signatures are then not looked at. */
const SKIP_SIGNATURE = "skip_thought_signature_validator";

const bytes = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, "(TYPE_BYTES)");

const part = z
  .looseObject({
    text: z.string().min(1, "required oneof field 'data' must have one initialized field").optional(),
    inlineData: z.looseObject({ data: bytes }).optional(),
    functionCall: z.looseObject({ id: z.string().optional(), name: z.string() }).optional(),
    functionResponse: z
      .looseObject({
        id: z.string().optional(),
        name: z.string(),
        response: z.looseObject({}, "(type.googleapis.com/google.protobuf.Struct)"),
      })
      .optional(),
    thoughtSignature: z.union([z.literal(SKIP_SIGNATURE), bytes], "(TYPE_BYTES)").optional(),
  })
  .refine(
    (one) =>
      ["text", "inlineData", "fileData", "functionCall", "functionResponse"].filter((kind) => kind in one).length === 1,
    "required oneof field 'data' must have one initialized field",
  );

const content = z.looseObject({
  role: z.enum(["user", "model"], "Please use a valid role: user, model."),
  parts: z.array(part).min(1, "contents.parts must not be empty."),
});
type Content = z.infer<typeof content>;

const declared = z.looseObject({
  name: z
    .string()
    .regex(
      /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
      "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
    ),
  parameters: z.custom<JsonObject>(isJsonObject).optional(),
  parametersJsonSchema: z.custom<JsonObject>(isJsonObject).optional(),
});

const declaration = declared.refine(
  ({ parameters, parametersJsonSchema }) => parameters === undefined || parametersJsonSchema === undefined,
  "only one of parameters and parameters_json_schema may be set.",
);

const request = z.looseObject({
  generationConfig: z
    .looseObject({ thinkingConfig: z.looseObject({ includeThoughts: z.boolean().optional() }).optional() })
    .optional(),
  tools: z.array(z.looseObject({ functionDeclarations: z.array(declaration).default([]) })).default([]),
  contents: z.array(content).min(1, "contents is not specified"),
});
type Request = z.infer<typeof request>;

function misfit(path: readonly PropertyKey[], message: string): Fault {
  return invalid(`* GenerateContentRequest.${placeOf(path)}: ${message}\n`);
}

function contentStream(
  { path }: Asked,
  { generationConfig }: Request,
  tools: readonly OfferedTool[],
  usage: AnswerUsage,
  issued: Issued,
): StreamWriter {
  const responseId = newId("gen");
  let isMalformed = false;
  // The first call of an answer carries the signature of the thoughts before it; without calls the last text does.
  let thought: string | undefined;
  let hasSigned = false;
  const signed = (otherwise?: string) => {
    const text = thought ?? otherwise;
    thought = undefined;
    return text === undefined ? undefined : issued.sign(text, "");
  };
  /** Undefined where the arguments are no object, which Gemini reports instead of sending. */
  const callPart = ({ id = newId("fn"), name, arguments: given }: Extract<ContentPart, { kind: "tool_call" }>) => {
    const args = parseJson(argumentsText(given));
    if (!args.ok || !isJsonObject(args.value)) return undefined;
    const thoughtSignature = hasSigned ? undefined : signed(name);
    hasSigned = true;
    if (thoughtSignature !== undefined) issued.bind(id, thoughtSignature);
    return { functionCall: { id, name, args: args.value }, ...defined({ thoughtSignature }) };
  };
  const chunk = (parts: readonly JsonObject[], finish: JsonObject = {}, outputTokens = 1): string =>
    crlfEvent({
      candidates: [{ content: { parts, role: "model" }, ...finish, index: 0 }],
      usageMetadata: usageOf(usage, outputTokens),
      modelVersion: /\/models\/([^/:]+):/.exec(path)?.[1] ?? "fake",
      responseId,
    });
  function* events(part: ContentPart): Iterable<string | Incident> {
    switch (part.kind) {
      case "text":
        yield* inPieces(part.text, part, (text) => chunk([{ text }]));
        break;
      case "thought":
        thought = part.text;
        // Summaries of thoughts come only when asked for.
        if (generationConfig?.thinkingConfig?.includeThoughts && part.hidden !== true)
          yield* inPieces(part.text, part, (text) => chunk([{ text, thought: true }]));
        else if (part.after) yield part.after.happens;
        break;
      case "tool_call": {
        // Arguments come whole: Gemini never splits them. An incident among them happens before the call.
        const call = callPart(part);
        if (call === undefined) isMalformed = true;
        if (part.after) yield part.after.happens;
        if (call) yield chunk([call]);
        break;
      }
      case "file":
        yield chunk([{ inlineData: { mimeType: part.mimeType, data: part.data } }]);
        break;
      default:
        unreachable(part);
    }
  }
  return {
    start: () => [],
    part: events,
    ping: COMMENT,
    fault: (fault) => {
      const { body: failed } = geminiFault(fault, tools);
      return isJsonObject(failed) ? [crlfEvent(failed)] : [...failed];
    },
    end: (finish) => {
      const ending = isMalformed
        ? { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: call:default_api" }
        : { finishReason: FINISH_REASONS[finish] };
      return [chunk([{ text: "", ...defined({ thoughtSignature: signed() }) }], ending, usage.outputTokens)];
    },
  };
}

function usageOf(usage: AnswerUsage, outputTokens: number): JsonObject {
  const { inputTokens, cachedInputTokens, thoughtTokens } = usage;
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - (thoughtTokens ?? 0),
    totalTokenCount: inputTokens + outputTokens,
    ...defined({ cachedContentTokenCount: cachedInputTokens, thoughtsTokenCount: thoughtTokens }),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputTokens }],
  };
}

function* faultsOf({ tools, contents }: Request, issued: Issued) {
  const names = new Set<string>();
  for (const { name } of tools.flatMap(({ functionDeclarations }) => functionDeclarations)) {
    if (names.has(name)) yield `Duplicate function declaration found: ${name}`;
    names.add(name);
  }
  const turn = contents.findLastIndex((one) => one.role === "user" && responsesIn(one).length === 0);
  for (const [index, one] of contents.entries()) {
    yield* orderFaults(one, contents[index - 1], contents[index + 1]);
    if (index > turn) yield* signatureFaults(one, index, issued);
  }
  if (contents.at(-1)?.role === "model")
    yield "Please ensure that single turn requests end with a user role or the role field is empty.";
}

function callsIn(one: Content | undefined) {
  return (one?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
}

function responsesIn(one: Content | undefined) {
  return (one?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);
}

/** Calls come after the user's words or results, and are answered by the very next content, one for one. */
function* orderFaults(one: Content, previous: Content | undefined, next: Content | undefined) {
  const calls = callsIn(one);
  if (previous?.role === "model" && one.role === "model")
    yield "Please ensure that multiturn requests alternate between user and model.";
  if (calls.length > 0 && (one.role !== "model" || previous?.role !== "user"))
    yield "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
  if (responsesIn(one).length > 0 && callsIn(previous).length === 0)
    yield "Please ensure that function response turn comes immediately after a function call turn.";
  const answers = responsesIn(next);
  if (calls.length > 0 && answers.length !== calls.length)
    yield "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
  for (const [index, { id, name }] of calls.entries()) {
    const answer = answers[index];
    if (answer?.name !== name || (answer.id !== undefined && answer.id !== id))
      yield "Please ensure that function responses match the function calls by id and name.";
  }
}

/** Within a turn the first call of each answer goes back with the signature it came with. */
function* signatureFaults({ parts }: Content, index: number, issued: Issued) {
  const first = parts.find(({ functionCall }) => functionCall);
  if (!first) return;
  const { thoughtSignature: signature, functionCall } = first;
  if (signature === undefined)
    yield `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${functionCall?.name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`;
  else if (signature !== SKIP_SIGNATURE && issued.shownWith(signature) === undefined)
    yield "Corrupted thought signature.";
}

const RPC = "type.googleapis.com/google.rpc";

/** google.rpc.Status, the cause for machines in its details; messages as people quote them. */
const FIXED_FAULTS: Readonly<
  Record<"overloaded" | "server_error" | "unknown_model", readonly [number, string, string]>
> = {
  overloaded: [503, "UNAVAILABLE", "The model is overloaded. Please try again later."],
  server_error: [500, "INTERNAL", "An internal error has occurred. Please retry or report in troubleshooting."],
  unknown_model: [
    404,
    "NOT_FOUND",
    "models/none is not found for API version v1beta, or is not supported for generateContent.",
  ],
};

function failure(code: number, status: string, message: string, details?: readonly JsonObject[]): FaultResponse {
  return { status: code, body: { error: { code, message, status, ...defined({ details }) } } };
}

function refused(message: string, details?: readonly JsonObject[]): FaultResponse {
  return failure(400, "INVALID_ARGUMENT", message, details);
}

function geminiFault(fault: Fault, tools: readonly OfferedTool[]): FaultResponse {
  switch (fault.kind) {
    case "unauthorized":
      return refused("API key not valid. Please pass a valid API key.", [
        { "@type": `${RPC}.ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com" },
      ]);
    case "quota":
      return exhausted("GenerateRequestsPerDayPerProjectPerModel-FreeTier", undefined);
    case "rate_limited":
      return exhausted("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", fault.retryAfterS);
    case "context_overflow":
      return refused(
        `The input token count (${fault.tokens}) exceeds the maximum number of tokens allowed (${fault.limit}).`,
      );
    case "content_filter": {
      const usageMetadata = { promptTokenCount: 10, totalTokenCount: 10 };
      const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata, modelVersion: "fake" };
      return { status: 200, body: [crlfEvent(blocked)] };
    }
    case "tool_schema":
      return refused(schemaMessage(fault, tools));
    case "invalid":
      return refused(fault.message);
    default:
      return failure(...FIXED_FAULTS[fault.kind]);
  }
}

/** Rate and quota share one status: what ran out and when to come back is in the details only. */
function exhausted(quotaId: string, retryAfterS: number | undefined): FaultResponse {
  const retry = retryAfterS === undefined ? "" : `\nPlease retry in ${retryAfterS}s.`;
  const metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests";
  const message = `You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: ${metric}, limit: 10${retry}`;
  return failure(429, "RESOURCE_EXHAUSTED", message, [
    { "@type": `${RPC}.QuotaFailure`, violations: [{ quotaMetric: metric, quotaId, quotaValue: "10" }] },
    ...(retryAfterS === undefined ? [] : [{ "@type": `${RPC}.RetryInfo`, retryDelay: `${retryAfterS}s` }]),
  ]);
}

/** It names a tool by its place in the request only. */
function schemaMessage(fault: Extract<Fault, { kind: "tool_schema" }>, tools: readonly OfferedTool[]): string {
  const detail = fault.detail ?? "parameters.properties: should be non-empty for OBJECT type";
  const index = tools.findIndex(({ name }) => name === fault.tool);
  return index < 0
    ? "Request contains an invalid argument."
    : `* GenerateContentRequest.tools[0].function_declarations[${index}].${detail}\n`;
}
