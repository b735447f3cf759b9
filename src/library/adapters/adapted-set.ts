// What all adapters share: a set's tools in one provider's form under names it takes, and calls that find their way back.
import { createHash } from "node:crypto";
import type { Eventual } from "../../base/async/eventual.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "../../base/json/json.js";
import type { ContentBlock, ImageBlock } from "../../base/text/content.js";
import { type CompiledTools, compileTools, type DialectName, type ModelTool } from "../../models/index.js";
import { asArguments, notMade, readArguments } from "../../tools/index.js";
import type { CallOptions, ToolInfo, ToolResult, ToolSet } from "../tool-set.js";

/**
 * Options of every adapter.
 *
 * @example
 * const { tools, execute } = toAnthropicTools(session.tools, { strict: true });
 */
export interface AdapterOptions {
  /** Let the provider decode arguments strictly by the schema, where both have a form for that. Off unless given. */
  readonly strict?: boolean;
  /** Whether the model takes images in tool results; a label stands for each where it does not. */
  readonly images?: boolean;
}

/**
 * Tools of a set, in the form of one provider.
 *
 * @example
 * const adapted = toOpenAiTools(session.tools, { api: "chat" });
 * const message = await adapted.execute(call);
 */
export interface AdaptedTools<Tools, Call, Result> {
  /** The tools that the set has now: read it for each request. */
  readonly tools: Tools;
  /** Tools that cannot be offered to this provider, and options that it does not know: each with the reason. */
  readonly problems: readonly AdapterProblem[];
  /** Runs one call and gives what to send back. Never rejects: a call that fails is a result too. */
  execute(call: Call, options?: CallOptions): Promise<Result>;
}

export interface AdapterProblem {
  readonly tool: string;
  readonly text: string;
}

/** What one provider wants of a definition. */
export interface ProviderRules {
  readonly dialect: DialectName;
  /** Of a tool's name. */
  readonly names: RegExp;
  /** The key of its options in `ToolInfo.providerOptions`, and which of them its definitions have. */
  readonly options?: { readonly key: string; readonly known: readonly string[] };
}

/** A tool as the provider is offered it: name, description and schema are in its form. */
export interface OfferedTool {
  readonly info: ToolInfo;
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly strict?: boolean;
  /** For the definition as they are. */
  readonly options: JsonObject;
}

interface Offer {
  readonly listed: readonly ToolInfo[];
  readonly tools: readonly OfferedTool[];
  readonly problems: readonly AdapterProblem[];
  /** By the provider's name of a tool, the set's. */
  readonly owns: ReadonlyMap<string, string>;
  readonly compiled: CompiledTools;
}

/** `[A-Za-z0-9_-]`, at most 64: what OpenAI takes, and all others with it but for the first character. */
export const COMMON_NAMES: RegExp = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_NAME_CHARS = 64;

export class AdaptedSet {
  readonly #set: ToolSet;
  readonly #rules: ProviderRules;
  readonly #strict: boolean;
  /** As it was last given to a request. */
  #offer: Offer | undefined;
  /** The one before: its calls may still come. */
  #before: Offer | undefined;

  constructor(set: ToolSet, rules: ProviderRules, options: AdapterOptions) {
    this.#set = set;
    this.#rules = rules;
    this.#strict = options.strict ?? false;
  }

  get tools(): readonly OfferedTool[] {
    return this.#current().tools;
  }

  get problems(): readonly AdapterProblem[] {
    return this.#current().problems;
  }

  /** `args`: an object, or the JSON text that a model wrote. Never rejects. */
  call(name: string, args: unknown, options: CallOptions | undefined): Promise<ToolResult> {
    return this.callAnd(name, args, options, asItIs);
  }

  /** The same with what is made of the result; rejects only with what `read` throws. */
  callAnd<T>(
    name: string,
    args: unknown,
    options: CallOptions | undefined,
    read: (result: ToolResult) => T,
  ): Promise<T> {
    let calling: Eventual<ToolResult>;
    try {
      calling = this.#called(name, args, options);
    } catch (thrown) {
      calling = failureOf(name, thrown);
    }
    // Not `async`, which would cost every call a promise and a frame more.
    return Promise.resolve(calling).then(read, (thrown: unknown) => read(failureOf(name, thrown)));
  }

  #called(name: string, args: unknown, options: CallOptions | undefined): Eventual<ToolResult> {
    const { owns, compiled } = this.#offering(name);
    const own = owns.get(name) ?? name;
    const read = typeof args === "string" ? readArguments(args) : asArguments(args);
    if (!read.ok) return failure(notMade(name, read.reason), "tool.invalid_arguments");
    return this.#set.call(own, compiled.restoreArguments(own, read.arguments), options);
  }

  #offering(name: string): Offer {
    if (this.#offer?.owns.has(name)) return this.#offer;
    return this.#before?.owns.has(name) ? this.#before : this.#current();
  }

  #current(): Offer {
    const listed = this.#set.list();
    if (this.#offer && isSameList(this.#offer.listed, listed)) return this.#offer;
    this.#before = this.#offer;
    this.#offer = offerOf(listed, this.#rules, this.#strict);
    return this.#offer;
  }
}

function asItIs(result: ToolResult): ToolResult {
  return result;
}

function isSameList(before: readonly ToolInfo[], now: readonly ToolInfo[]): boolean {
  if (before === now) return true;
  const isSame = (tool: ToolInfo, other: ToolInfo | undefined) =>
    tool.name === other?.name &&
    tool.description === other.description &&
    tool.inputSchema === other.inputSchema &&
    tool.providerOptions === other.providerOptions;
  return before.length === now.length && before.every((tool, index) => isSame(tool, now[index]));
}

function offerOf(listed: readonly ToolInfo[], rules: ProviderRules, strict: boolean): Offer {
  const asked = listed.map((info): ModelTool => ({ strict, ...info }));
  const compiled = compileTools(asked, { id: "", dialect: rules.dialect });
  const infos = new Map(listed.map((info) => [info.name, info]));
  const owns = new Map<string, string>();
  const problems = compiled.refused.map(({ name, reason }) => ({
    tool: name,
    text: `The tool cannot be offered: ${reason}.`,
  }));
  const tools = compiled.tools.flatMap((tool): OfferedTool[] => {
    const info = infos.get(tool.name);
    if (info === undefined) return [];
    const name = validName(tool.name, rules.names, owns);
    owns.set(name, tool.name);
    const { options, unknown } = optionsOf(info, rules.options);
    for (const key of unknown) {
      problems.push({ tool: tool.name, text: `The option ${rules.options?.key}.${key} is unknown and was left out.` });
    }
    const { description, inputSchema: schema } = tool;
    return [{ info, name, description, schema, options, ...defined({ strict: tool.strict }) }];
  });
  return { listed, tools, problems, owns, compiled };
}

/** The set's own name where the provider takes it; else the nearest one that is free. */
function validName(own: string, names: RegExp, taken: ReadonlyMap<string, string>): string {
  if (names.test(own) && !taken.has(own)) return own;
  const hash = createHash("sha256").update(own).digest("hex").slice(0, 8);
  const readable = own.replaceAll(/[^a-zA-Z0-9_-]+/g, "_").replace(/^[^a-zA-Z_]+/, "");
  return `${readable.slice(0, MAX_NAME_CHARS - hash.length - 1) || "tool"}_${hash}`;
}

interface SortedOptions {
  readonly options: JsonObject;
  readonly unknown: readonly string[];
}

/** `cacheControl`, as the AI SDK has it, is `cache_control` of the provider. */
function optionsOf({ providerOptions }: ToolInfo, rules: ProviderRules["options"]): SortedOptions {
  const given = rules && providerOptions?.[rules.key];
  if (given === undefined) return { options: {}, unknown: [] };
  // OpenAI's Chat API has them inside `function`.
  const inside = isJsonObject(given["function"]) ? given["function"] : {};
  const flat = Object.entries({ ...given, ...inside }).filter(([key]) => key !== "function" && key !== "strict");
  const options: Record<string, JsonValue | undefined> = {};
  const unknown: string[] = [];
  for (const [key, value] of flat) {
    const known = rules?.known.find((name) => isSameOption(name, key));
    if (known === undefined) unknown.push(key);
    else options[known] = value;
  }
  return { options, unknown };
}

function isSameOption(known: string, given: string): boolean {
  return known.replaceAll("_", "").toLowerCase() === given.replaceAll("_", "").toLowerCase();
}

function failureOf(name: string, thrown: unknown): ToolResult {
  return failure(notMade(name, messageOf(thrown)), thrown instanceof TenonError ? thrown.code : undefined);
}

function failure(text: string, code: ToolResult["code"]): ToolResult {
  return { status: "failed", text, content: [{ type: "text", text }], ...defined({ code }) };
}

/** A result as every provider can be given it: one text, then the images that it takes. */
export interface ResultParts {
  readonly isError: boolean;
  readonly text: string;
  readonly images: readonly TakenImage[];
}

/** What every provider with image input takes. */
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

type TakenImage = ImageBlock & { readonly mimeType: (typeof IMAGE_TYPES)[number] };

export function partsOf(result: ToolResult, takesImages: boolean): ResultParts {
  const isTaken = (block: ContentBlock): block is TakenImage =>
    takesImages && block.type === "image" && IMAGE_TYPES.some((type) => type === block.mimeType);
  const images = result.content.filter(isTaken);
  // The text is what Tenon made of the content: bounded, marked, with labels for what is not text.
  const isAllTaken = images.length > 0 && images.length === result.content.length;
  return { isError: result.status !== "done", text: isAllTaken ? "" : result.text, images };
}

/** For frameworks in which a failed call is an exception. */
export function errorOf({ text, code }: ToolResult): Error {
  return code === undefined ? new Error(text) : new TenonError(code, text);
}

export function dataUrl({ mimeType, data }: ImageBlock): string {
  return `data:${mimeType};base64,${data}`;
}

/** Where a provider has no word for a failed call, the text says it. */
export function errorText({ isError, text }: ResultParts): string {
  return isError ? `Error: ${text}` : text;
}
