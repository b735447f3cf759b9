// A tool that runs in the program itself: made from a schema and a function, and registered in sessions.
import { Cell } from "../base/async/cell.js";
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "../base/json/json.js";
import { text } from "../base/text/content.js";
import {
  definitionProblem,
  failed,
  type ToolSource as InnerSource,
  type SourceCall,
  type ToolAnswer,
  type ToolDefinition,
  type ToolOutcome,
} from "../tools/index.js";
import { contentProblem } from "./content.js";
import type { ToolResult } from "./tool-set.js";

/**
 * What a tool is told about its call.
 *
 * @example
 * const wait = tool({
 *   name: "wait", description: "Waits", input: { type: "object" },
 *   run: async (_args, { signal, onProgress }) => { onProgress({ progress: 1, total: 2 }); signal.throwIfAborted(); },
 * });
 */
export interface ToolContext {
  /** Aborts when the call is cancelled. */
  readonly signal: AbortSignal;
  /** Shown while the call runs. */
  readonly onProgress: (progress: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
}

/**
 * What `run` may return: a text, any value that JSON can say, the result of another call, or `{ content, structured?, isError? }`
 * with blocks of content. Nothing stands for an empty answer.
 *
 * @example
 * const reply: ToolReply = { content: [{ type: "text", text: "no such file" }], isError: true };
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement is meant
export type ToolReply = string | number | boolean | null | void | object;

/**
 * A tool that can be registered in a session or a runtime: one of your own, or one of a server that was discovered by hand.
 *
 * @example
 * const own: Tool = tool({ name: "now", description: "The time", input: { type: "object" }, run: () => new Date().toISOString() });
 * session.register(own);
 */
export interface Tool extends ToolDefinition {
  /** By which it is listed and unregistered: the server's name for tools of servers, `own` unless given. */
  readonly source?: string;
  /** May throw: that fails the call, with the message. */
  readonly run: (args: JsonObject, context: ToolContext) => ToolReply | Promise<ToolReply>;
}

/** Validation by a schema library, as https://standardschema.dev describes it: only what Tenon uses. */
interface StandardSchema {
  readonly "~standard": {
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly output: unknown } | undefined;
  };
}

/** The type of the arguments that `run` gets. */
type ArgumentsOf<Input> = Input extends { readonly "~standard": { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : JsonObject
  : JsonObject;

/**
 * What `tool()` is given.
 *
 * @example
 * const definition: OwnTool<{ type: "object" }> = { name: "ping", description: "Answers", input: { type: "object" }, run: () => "pong" };
 */
export interface OwnTool<Input> extends Omit<ToolDefinition, "inputSchema"> {
  /** A Standard Schema that also gives JSON Schema (zod 4, ArkType), or a JSON Schema. */
  readonly input: Input;
  /** For schema libraries that give no JSON Schema of their own. */
  readonly inputSchema?: JsonSchema;
  readonly source?: string;
  readonly run: (args: ArgumentsOf<Input>, context: ToolContext) => ToolReply | Promise<ToolReply>;
}

/**
 * Makes a tool of a function. Arguments are checked before it runs, and have the types of the schema.
 *
 * @example
 * const add = tool({
 *   name: "add",
 *   description: "Adds two numbers",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => String(a + b),
 * });
 * session.register(add);
 */
export function tool<const Input extends StandardSchema | JsonSchema>(definition: OwnTool<Input>): Tool {
  const given: unknown = definition;
  if (typeof given !== "object" || given === null) throw misused("a tool needs a name, input and a function run");
  const { input, inputSchema, run, ...rest } = definition;
  if (typeof rest.name !== "string" || rest.name.trim() === "") throw misused("a tool needs a name");
  if (typeof run !== "function") throw misused(`the tool ${JSON.stringify(rest.name)} needs a function run`);
  const schema = inputSchema ?? jsonSchemaOf(input);
  if (!schema) {
    throw misused(
      `the schema of the tool ${JSON.stringify(rest.name)} gives no JSON Schema: give inputSchema beside input`,
    );
  }
  const described = { ...rest, description: rest.description ?? "", inputSchema: schema };
  return {
    ...described,
    run: async (args, context) => {
      const checked = isStandard(input) ? await validated(input, args) : { value: args };
      if ("problem" in checked) return { isError: true, content: [text(checked.problem)] };
      const { value } = checked;
      return isFitting<ArgumentsOf<Input>>(value) ? await run(value, context) : undefined;
    },
  };
}

/** The schema has passed it, and says what type it is then. */
function isFitting<T>(_value: unknown): _value is T {
  return true;
}

export function misused(message: string): TenonError {
  return new TenonError("usage.invalid", message, { hint: "See docs/how-to/library.md." });
}

function isStandard(input: unknown): input is StandardSchema {
  return (typeof input === "object" || typeof input === "function") && input !== null && "~standard" in input;
}

const TARGET = { target: "draft-2020-12" };

/** By the ways that schema libraries have for it; undefined where there is none. */
function jsonSchemaOf(input: unknown): JsonSchema | undefined {
  if (!isStandard(input)) return isJsonObject(input) ? input : undefined;
  const standard: unknown = input["~standard"];
  const own = isJsonObject(standard) ? standard["jsonSchema"] : undefined;
  const ways: readonly [unknown, string, unknown][] = [
    [own, "input", TARGET],
    [input, "toJSONSchema", { io: "input", ...TARGET }],
    [input, "toJsonSchema", undefined],
  ];
  for (const [owner, method, argument] of ways) {
    const made = calledFor(owner, method, argument);
    if (isJsonObject(made)) return made;
  }
  return undefined;
}

function calledFor(owner: unknown, method: string, argument: unknown): unknown {
  if ((typeof owner !== "object" && typeof owner !== "function") || owner === null) return undefined;
  const found: unknown = Reflect.get(owner, method);
  try {
    return typeof found === "function" ? Reflect.apply(found, owner, [argument]) : undefined;
  } catch {
    return undefined; // a schema with parts that JSON Schema cannot say
  }
}

async function validated(
  input: StandardSchema,
  args: JsonObject,
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  const result: unknown = await input["~standard"].validate(args);
  if (typeof result !== "object" || result === null) return { problem: "the schema of the tool gave no answer" };
  const issues: unknown = "issues" in result ? result.issues : undefined;
  if (!Array.isArray(issues)) return { value: "value" in result ? result.value : args };
  const words = issues.slice(0, 5).map((issue: unknown) => messageOf(issue));
  return { problem: `The arguments do not fit: ${words.join("; ")}` };
}

/** The outcome of what a function returned, whatever plain JavaScript that is. */
export function outcomeOf(reply: unknown): ToolOutcome {
  if (isResult(reply)) return fromResult(reply);
  if (isAnswer(reply)) {
    const { content, structured, isError = false } = reply;
    const problem = contentProblem(content);
    if (problem !== undefined) return failed(`The tool returned content that cannot be used: ${problem}.`);
    const kind = isError ? "failed" : "done";
    return structured === undefined
      ? { kind, content }
      : withData(structured, (data) => ({ kind, content, structured: data }));
  }
  if (reply === undefined || reply === null) return { kind: "done", content: [] };
  if (typeof reply === "string") return { kind: "done", content: [text(reply)] };
  return withData(reply, (structured, json) => ({ kind: "done", content: [text(json)], structured }));
}

/** Throws for what refers to itself: what reads a result later would not end. */
function withData(value: unknown, outcome: (data: JsonValue, json: string) => ToolOutcome): ToolOutcome {
  const json = JSON.stringify(value);
  if (json === undefined) return failed(`The tool returned a ${typeof value}, which is no JSON value.`);
  const data: JsonValue = JSON.parse(json);
  return outcome(data, json);
}

function fromResult({ status, text: words, content, structured, code }: ToolResult): ToolOutcome {
  switch (status) {
    case "done":
    case "failed":
      return { kind: status, content, ...defined({ structured }) };
    case "refused":
      return { kind: "refused", reason: words };
    case "cancelled":
      return { kind: "cancelled" };
    case "unknown":
      return { kind: "unknown", reason: words, ...defined({ code }) };
  }
}

const STATUSES: ReadonlySet<unknown> = new Set(["done", "failed", "refused", "cancelled", "unknown"]);

function isResult(reply: unknown): reply is ToolResult {
  return isAnswer(reply) && "status" in reply && STATUSES.has(reply.status);
}

function isAnswer(reply: unknown): reply is ToolAnswer & { readonly isError?: boolean } {
  if (typeof reply !== "object" || reply === null || !("content" in reply) || !Array.isArray(reply.content))
    return false;
  return reply.content.every((block: unknown) => isJsonObject(block) && typeof block["type"] === "string");
}

/** The name of tools that belong to no server. */
export const OWN_SOURCE = "own";

/** The tools of one name that were registered, as a source of the catalog. */
export class RegisteredTools implements InnerSource {
  readonly name: string;
  readonly origin = "extra";
  readonly hasPlainNames = true;
  readonly #tools = new Map<string, Tool>();
  readonly #definitions = new Cell<readonly ToolDefinition[]>([]);

  constructor(name: string) {
    this.name = name;
  }

  get tools(): Cell<readonly ToolDefinition[]> {
    return this.#definitions;
  }

  get size(): number {
    return this.#tools.size;
  }

  /** One of the same name takes the place of the earlier one. Returns the way back. */
  add(tool: Tool): () => void {
    this.#tools.set(tool.name, tool);
    this.#changed();
    return () => {
      if (this.#tools.get(tool.name) !== tool) return;
      this.#tools.delete(tool.name);
      this.#changed();
    };
  }

  async call({ tool: name, arguments: args, signal, onProgress }: SourceCall): Promise<ToolOutcome> {
    const tool = this.#tools.get(name);
    if (!tool) return failed(`The tool ${name} is not registered any more.`, "tool.unknown");
    try {
      return outcomeOf(await tool.run(args, { signal, onProgress }));
    } catch (error) {
      return signal.aborted ? { kind: "cancelled" } : failed(`${name} failed: ${messageOf(error)}`);
    }
  }

  #changed(): void {
    this.#definitions.set([...this.#tools.values()].map(definitionOf));
  }
}

function definitionOf(tool: Tool): ToolDefinition {
  const { name, title, description, inputSchema, outputSchema, annotations, providerOptions } = tool;
  return { name, description, inputSchema, ...defined({ title, outputSchema, annotations, providerOptions }) };
}

/** Throws for what is no tool: plain JavaScript may register anything. */
export function checkTool(tool: Tool): void {
  checkDefinition(tool, "the tool");
  if (typeof tool.run !== "function") throw misused(`the tool ${JSON.stringify(tool.name)} needs a function run`);
}

/** A definition that the catalog cannot take would cost the session all of its tools. */
export function checkDefinition(definition: unknown, what: string): void {
  if (!isJsonObject(definition))
    throw misused(`${what} must be an object with a name, a description and an inputSchema`);
  const problem = definitionProblem(definition);
  const { name } = definition;
  const named = typeof name === "string" && name.trim() !== "" ? `${what} ${JSON.stringify(name)}` : what;
  if (problem !== undefined) throw misused(`${named} cannot be used: ${problem}`);
}
