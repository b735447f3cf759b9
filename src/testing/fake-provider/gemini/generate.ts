// The wire format of the Gemini API's generateContent and streamGenerateContent (reference "Generating content").

import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import type { Fault } from "../fault.js";
import type { OfferedTool, ProviderFormat, StreamWriter, WholeAnswer } from "../format.js";
import { Issued, newId } from "../issued.js";
import type { CacheBlock } from "../prefix-cache.js";
import { headerOf, objectField, objectsIn, textField } from "../read-json.js";
import { type AnswerUsage, argumentsText, type ContentPart, type Finish, type Incident, inPieces } from "../reply.js";
import { COMMENT, crlfEvent } from "../sse.js";
import { checkContents } from "./check.js";
import { geminiErrorBody, geminiFault } from "./fault.js";

const FINISH_REASONS = { stop: "STOP", tool_calls: "STOP", length: "MAX_TOKENS", refusal: "SAFETY" } as const;

export function geminiGenerate(): ProviderFormat {
  const issued = new Issued();
  return {
    name: "gemini",
    isFor: (path) => /\/models\/[^/]+:(stream)?[gG]enerateContent$/.test(path),
    wantsStream: ({ path }) => path.endsWith(":streamGenerateContent"),
    key: ({ headers }) => headerOf(headers, "x-goog-api-key"),
    needsKey: true,
    check: ({ body }) => checkContents(body, issued),
    tools: offeredTools,
    cacheBlocks,
    stream: ({ path, body }, usage) => new ContentStream({ model: modelIn(path), body, usage, issued }),
    whole: ({ path, body }, answer) => wholeContent(modelIn(path), body, answer, issued),
    fault: (fault, { body }) => geminiFault(fault, offeredTools(body)),
    error: (message, code) => geminiErrorBody(500, code, message),
  };
}

function modelIn(path: string): string {
  return /\/models\/([^/:]+):/.exec(path)?.[1] ?? "fake";
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

interface ContentStreamOptions {
  readonly model: string;
  readonly body: JsonObject;
  readonly usage: AnswerUsage;
  readonly issued: Issued;
}

class ContentStream implements StreamWriter {
  readonly #options: ContentStreamOptions;
  readonly #signer: Signer;
  readonly #responseId = newId("gen");
  #isMalformed = false;

  constructor(options: ContentStreamOptions) {
    this.#options = options;
    this.#signer = new Signer(options.issued);
  }

  start(): string[] {
    return [];
  }

  *part(part: ContentPart): Iterable<string | Incident> {
    switch (part.kind) {
      case "text":
        yield* inPieces(part.text, part, (text) => this.#chunk([{ text }]));
        break;
      case "thought":
        this.#signer.think(part.text);
        if (showsThoughts(this.#options.body) && part.hidden !== true)
          yield* inPieces(part.text, part, (text) => this.#chunk([{ text, thought: true }]));
        else if (part.after) yield part.after.happens;
        break;
      case "tool_call":
        yield* this.#call(part);
        break;
      case "file":
        yield this.#chunk([{ inlineData: { mimeType: part.mimeType, data: part.data } }]);
        break;
      default:
        unreachable(part);
    }
  }

  ping(): string {
    return COMMENT;
  }

  fault(fault: Fault): string[] {
    const { body } = geminiFault(fault, offeredTools(this.#options.body));
    return isJsonObject(body) ? [crlfEvent(body)] : [...body];
  }

  end(finish: Finish): string[] {
    const candidate = this.#isMalformed
      ? { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: call:default_api" }
      : { finishReason: FINISH_REASONS[finish] };
    const left = this.#signer.take();
    const parts = [{ text: "", ...defined({ thoughtSignature: left }) }];
    const { usage } = this.#options;
    return [this.#chunk(parts, { candidate, usage: usageOf(usage, usage.outputTokens) })];
  }

  /** Arguments come whole: Gemini never splits them. What is to happen among them happens before or after. */
  *#call(part: Extract<ContentPart, { kind: "tool_call" }>): Iterable<string | Incident> {
    const call = this.#signer.call(part);
    if (call === undefined) this.#isMalformed = true;
    if (part.after) yield part.after.happens;
    if (call) yield this.#chunk([call]);
  }

  #chunk(parts: readonly JsonObject[], last: { candidate?: JsonObject; usage?: JsonObject } = {}): string {
    const { model, usage } = this.#options;
    return crlfEvent({
      candidates: [{ content: { parts, role: "model" }, ...last.candidate, index: 0 }],
      usageMetadata: last.usage ?? usageOf(usage, 1),
      modelVersion: model,
      responseId: this.#responseId,
    });
  }
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

function wholeContent(model: string, body: JsonObject, answer: WholeAnswer, issued: Issued): JsonObject {
  const signer = new Signer(issued);
  const parts = answer.parts.flatMap((part): JsonObject[] => {
    switch (part.kind) {
      case "text":
        return [{ text: part.text }];
      case "thought":
        signer.think(part.text);
        return showsThoughts(body) ? [{ text: part.text, thought: true }] : [];
      case "tool_call": {
        const call = signer.call(part);
        return call ? [call] : [];
      }
      case "file":
        return [{ inlineData: { mimeType: part.mimeType, data: part.data } }];
      default:
        return unreachable(part);
    }
  });
  const candidate = { content: { parts, role: "model" }, finishReason: FINISH_REASONS[answer.finish], index: 0 };
  const usageMetadata = usageOf(answer.usage, answer.usage.outputTokens);
  return { candidates: [candidate], usageMetadata, modelVersion: model, responseId: newId("gen") };
}
