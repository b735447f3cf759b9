// The wire format of the Gemini API's generateContent and streamGenerateContent (reference "Generating content").
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import {
  type Asked,
  type CacheBlock,
  COMMENT,
  crlfEvent,
  type Fault,
  type FaultResponse,
  headerOf,
  Issued,
  invalid,
  newId,
  type OfferedTool,
  objectField,
  objectsIn,
  type ProviderFormat,
  type StreamWriter,
  textField,
} from "./format.js";
import { type AnswerUsage, argumentsText, type ContentPart, type Incident, inPieces } from "./reply.js";

const FINISH_REASONS = { stop: "STOP", tool_calls: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" } as const;

export function geminiGenerate(): ProviderFormat {
  const issued = new Issued();
  return {
    name: "gemini",
    isFor: (path) => /\/models\/[^/]+:(stream)?[gG]enerateContent$/.test(path),
    key: ({ headers }) => headerOf(headers, "x-goog-api-key"),
    needsKey: true,
    check: ({ body }) => checkContents(body, issued),
    tools: offeredTools,
    cacheBlocks,
    stream: (asked, usage) => contentStream(asked, usage, issued),
    fault: (fault, { body }) => geminiFault(fault, offeredTools(body)),
    error: (message, code) => ({ error: { code: 500, message, status: code } }),
  };
}

function offeredTools(body: JsonObject): readonly OfferedTool[] {
  return objectsIn(body, "tools")
    .flatMap((tool) => objectsIn(tool, "functionDeclarations"))
    .map((declaration) => ({
      name: textField(declaration, "name") ?? "",
      schema: objectField(declaration, "parameters"),
      strict: false,
    }));
}

function cacheBlocks(body: JsonObject): readonly CacheBlock[] {
  const system = objectField(body, "systemInstruction");
  return [...objectsIn(body, "tools"), ...(system ? [system] : []), ...objectsIn(body, "contents")].map((block) => ({
    text: JSON.stringify(block),
    isMarked: false,
  }));
}

/** Summaries of thoughts come only when asked for. */
function showsThoughts(body: JsonObject): boolean {
  const config = objectField(objectField(body, "generationConfig") ?? {}, "thinkingConfig");
  return config?.["includeThoughts"] === true;
}

function contentStream({ path, body }: Asked, usage: AnswerUsage, issued: Issued): StreamWriter {
  const signer = new Signer(issued);
  const responseId = newId("gen");
  let isMalformed = false;
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
        signer.think(part.text);
        if (showsThoughts(body) && part.hidden !== true)
          yield* inPieces(part.text, part, (text) => chunk([{ text, thought: true }]));
        else if (part.after) yield part.after.happens;
        break;
      case "tool_call": {
        // Arguments come whole: Gemini never splits them. An incident among them happens before the call.
        const call = signer.call(part);
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
      const { body: failed } = geminiFault(fault, offeredTools(body));
      return isJsonObject(failed) ? [crlfEvent(failed)] : [...failed];
    },
    end: (finish) => {
      const ending = isMalformed
        ? { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: call:default_api" }
        : { finishReason: FINISH_REASONS[finish] };
      return [chunk([{ text: "", ...defined({ thoughtSignature: signer.take() }) }], ending, usage.outputTokens)];
    },
  };
}

/** The first call of an answer carries the signature of the thoughts before it; without calls the last text does. */
class Signer {
  readonly #issued: Issued;
  #open: string | undefined;
  #hasSigned = false;

  constructor(issued: Issued) {
    this.#issued = issued;
  }

  think(thought: string): void {
    this.#open = thought;
  }

  take(): string | undefined {
    const thought = this.#open;
    this.#open = undefined;
    return thought === undefined ? undefined : this.#issued.sign(thought, "");
  }

  /** Undefined where the arguments are no object, which Gemini reports instead of sending. */
  call(part: Extract<ContentPart, { kind: "tool_call" }>): JsonObject | undefined {
    const args = parseJson(argumentsText(part.arguments));
    if (!args.ok || !isJsonObject(args.value)) return undefined;
    const id = part.id ?? newId("fn");
    const functionCall = { id, name: part.name, args: args.value };
    if (this.#hasSigned) return { functionCall };
    this.#hasSigned = true;
    const thoughtSignature = this.take() ?? this.#issued.sign(part.name, "");
    this.#issued.bind(id, thoughtSignature);
    return { functionCall, thoughtSignature };
  }
}

function usageOf(usage: AnswerUsage, outputTokens: number): JsonObject {
  const { inputTokens, cachedInputTokens, thoughtTokens } = usage;
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - (thoughtTokens ?? 0),
    totalTokenCount: inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { cachedContentTokenCount: cachedInputTokens }),
    ...(thoughtTokens !== undefined && { thoughtsTokenCount: thoughtTokens }),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: inputTokens }],
  };
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The documented way to replay calls of another model; their signatures are then not looked at. */
const SKIP_SIGNATURE = "skip_thought_signature_validator";

function checkContents(body: JsonObject, issued: Issued): Fault | undefined {
  return toolsFault(body) ?? contentsFault(objectsIn(body, "contents"), issued);
}

function toolsFault(body: JsonObject): Fault | undefined {
  const names = new Set<string>();
  for (const tool of objectsIn(body, "tools")) {
    for (const [index, declaration] of objectsIn(tool, "functionDeclarations").entries()) {
      const name = textField(declaration, "name") ?? "";
      const place = `GenerateContentRequest.tools[0].function_declarations[${index}].name`;
      if (!NAME.test(name))
        return invalid(
          `* ${place}: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n`,
        );
      if (names.has(name)) return invalid(`Duplicate function declaration found: ${name}`);
      names.add(name);
    }
  }
  return undefined;
}

function contentsFault(contents: readonly JsonObject[], issued: Issued): Fault | undefined {
  if (contents.length === 0) return invalid("* GenerateContentRequest.contents: contents is not specified\n");
  const turn = contents.findLastIndex(
    (content) => content["role"] === "user" && parts(content, "functionResponse").length === 0,
  );
  for (const [index, content] of contents.entries()) {
    const said =
      partsFault(content, index) ??
      orderFault(content, contents[index - 1], contents[index + 1]) ??
      (index > turn ? signatureFault(content, index, issued) : undefined);
    if (said) return said;
  }
  return contents.at(-1)?.["role"] === "model"
    ? invalid("Please ensure that single turn requests end with a user role or the role field is empty.")
    : undefined;
}

function parts(content: JsonObject | undefined, kind: "functionCall" | "functionResponse"): readonly JsonObject[] {
  return (content ? objectsIn(content, "parts") : []).flatMap((part) => {
    const found = objectField(part, kind);
    return found ? [found] : [];
  });
}

function partsFault(content: JsonObject, index: number): Fault | undefined {
  if (content["role"] !== "user" && content["role"] !== "model")
    return invalid("Please use a valid role: user, model.");
  const found = objectsIn(content, "parts");
  const place = `GenerateContentRequest.contents[${index}].parts`;
  if (found.length === 0) return invalid(`* ${place}: contents.parts must not be empty.\n`);
  for (const [at, part] of found.entries()) {
    const data = ["text", "inlineData", "fileData", "functionCall", "functionResponse"].filter((kind) => kind in part);
    const isEmpty = data.length !== 1 || textField(part, "text") === "";
    if (isEmpty)
      return invalid(`* ${place}[${at}].data: required oneof field 'data' must have one initialized field\n`);
    const inline = objectField(part, "inlineData");
    const signature = textField(part, "thoughtSignature");
    if (inline && !BASE64.test(textField(inline, "data") ?? "?"))
      return invalid(`Invalid value at 'contents[${index}].parts[${at}].inline_data.data' (TYPE_BYTES)`);
    if (signature !== undefined && signature !== SKIP_SIGNATURE && !BASE64.test(signature))
      return invalid(`Invalid value at 'contents[${index}].parts[${at}].thought_signature' (TYPE_BYTES)`);
  }
  return undefined;
}

/** Calls come after the user's words or results, and are answered by the very next content, one for one. */
function orderFault(
  content: JsonObject,
  previous: JsonObject | undefined,
  next: JsonObject | undefined,
): Fault | undefined {
  const calls = parts(content, "functionCall");
  const responses = parts(content, "functionResponse");
  if (previous?.["role"] === content["role"] && content["role"] === "model")
    return invalid("Please ensure that multiturn requests alternate between user and model.");
  if (calls.length > 0 && (content["role"] !== "model" || previous?.["role"] !== "user"))
    return invalid(
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    );
  if (responses.length > 0 && parts(previous, "functionCall").length === 0)
    return invalid("Please ensure that function response turn comes immediately after a function call turn.");
  const answers = parts(next, "functionResponse");
  if (calls.length > 0 && answers.length !== calls.length)
    return invalid(
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
  const unpaired = calls.find((call, index) => !isAnswerTo(answers[index], call));
  if (unpaired) return invalid("Please ensure that function responses match the function calls by id and name.");
  const wrong = responses.find((response) => !isJsonObject(response["response"]));
  return wrong
    ? invalid(
        "Invalid value at 'contents.parts.function_response.response' (type.googleapis.com/google.protobuf.Struct)",
      )
    : undefined;
}

function isAnswerTo(answer: JsonObject | undefined, call: JsonObject): boolean {
  return answer?.["name"] === call["name"] && (answer?.["id"] === undefined || answer["id"] === call["id"]);
}

/** Within a turn the first call of each answer goes back with the signature it came with. */
function signatureFault(content: JsonObject, index: number, issued: Issued): Fault | undefined {
  const first = objectsIn(content, "parts").find((part) => objectField(part, "functionCall") !== undefined);
  if (!first) return undefined;
  const signature = textField(first, "thoughtSignature");
  const name = textField(objectField(first, "functionCall") ?? {}, "name") ?? "";
  if (signature === undefined)
    return invalid(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
    );
  if (signature === SKIP_SIGNATURE || issued.shownWith(signature) !== undefined) return undefined;
  return invalid("Corrupted thought signature.");
}

const RPC = "type.googleapis.com/google.rpc";

/** google.rpc.Status, the cause for machines in its details; messages as people quote them. */
type FixedFault = "overloaded" | "server_error" | "unknown_model";

const FIXED_FAULTS: Readonly<Record<FixedFault, readonly [number, string, string]>> = {
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
