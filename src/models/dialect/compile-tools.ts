// The tools of one request in the model's dialect: those it takes, those it cannot, and the way back for its calls.
import { defined } from "../../base/json/defined.js";
import { type JsonObject, parseJson } from "../../base/json/json.js";
import type { Model, ModelTool, ModelToolCall } from "../model.js";
import { compileSchema } from "./compile.js";
import { type CompiledSchema, type DialectName, dialectOf } from "./dialect.js";
import { ANTHROPIC_STRICT, extentOf, overAnthropic } from "./strict-limits.js";

export interface RefusedTool {
  readonly name: string;
  /** A clause that completes "The tool cannot be offered: …". */
  readonly reason: string;
}

export interface CompiledTools {
  /** In the order given, so that appending tools leaves the bytes before them as they were. */
  readonly tools: readonly ModelTool[];
  readonly refused: readonly RefusedTool[];
  /** What the forms could not keep, by tool. */
  readonly notes: ReadonlyMap<string, readonly string[]>;
  /**
   * The same call with the arguments its tool wants: names it was shown under other ones, and nulls that meant "left out"
   * in strict form. For running the call; the transcript keeps what the model wrote. Invalid JSON passes through.
   */
  restore(call: ModelToolCall): ModelToolCall;
}

type Form = Extract<CompiledSchema, { ok: true }>;

/** Under which name a provider's options are given to the adapter. */
const OPTION_KEYS: Readonly<Record<DialectName, string>> = {
  anthropic: "anthropic",
  "openai-chat": "openai",
  "openai-responses": "openai",
  gemini: "google",
  "openai-compatible": "openaiCompatible",
  plain: "plain",
};

/**
 * `providerOptions.<provider>.strict` of a tool, or its own `strict`, asks for the strict form: `true` where there is one,
 * `"required"` or not at all. Never throws.
 */
export function compileTools(tools: readonly ModelTool[], model: Pick<Model, "id" | "dialect">): CompiledTools {
  const dialect = model.dialect ?? dialectOf(model.id) ?? "plain";
  const budget = new StrictBudget(dialect);
  const offered: ModelTool[] = [];
  const refused: RefusedTool[] = [];
  const notes = new Map<string, readonly string[]>();
  const restores = new Map<string, NonNullable<Form["restore"]>>();
  for (const tool of tools) {
    const form = budget.admit(compileSchema(tool.inputSchema, dialect, { strict: wantsStrict(tool, dialect) }), tool);
    if (!form.ok) {
      refused.push({ name: tool.name, reason: form.reason });
      continue;
    }
    offered.push(asOffered(tool, form, dialect));
    if (form.notes.length > 0) notes.set(tool.name, form.notes);
    if (form.restore !== undefined) restores.set(tool.name, form.restore);
  }
  return {
    tools: offered,
    refused,
    notes,
    restore: (call) => restored(call, restores.get(call.name)),
  };
}

function wantsStrict(tool: ModelTool, dialect: DialectName): boolean | "required" {
  const asked = tool.providerOptions?.[OPTION_KEYS[dialect]]?.["strict"];
  if (asked === "required" || typeof asked === "boolean") return asked;
  return tool.strict ?? false;
}

function asOffered(tool: ModelTool, form: Form, dialect: DialectName): ModelTool {
  const { strict: _strict, providerOptions, ...rest } = tool;
  const { properties, description } = form.schema;
  // Gemini leaves out the parameters of a tool without properties, and the words on them would go as well.
  const isBare = dialect === "gemini" && properties === undefined && typeof description === "string";
  return {
    ...rest,
    ...defined({
      description: isBare ? [tool.description, description].filter((text) => text !== "").join("\n") : undefined,
    }),
    inputSchema: form.schema,
    ...defined({
      strict: form.strict,
      providerOptions: providerOptions === undefined ? undefined : withoutStrict(providerOptions),
    }),
  };
}

/** `strict` has been decided by now, and is no option of the adapter's. */
function withoutStrict(options: Readonly<Record<string, JsonObject>>): Readonly<Record<string, JsonObject>> {
  const cleaned = Object.entries(options).map(([provider, { strict: _strict, ...rest }]): [string, JsonObject] => [
    provider,
    rest,
  ]);
  return Object.fromEntries(cleaned);
}

function restored(call: ModelToolCall, restore: Form["restore"]): ModelToolCall {
  if (restore === undefined) return call;
  const args = parseJson(call.argumentsJson);
  return args.ok ? { ...call, argumentsJson: JSON.stringify(restore(args.value)) } : call;
}

/** Anthropic counts over all strict tools of a request; those that come after the limit go without. */
class StrictBudget {
  readonly #dialect: DialectName;
  readonly #used = { tools: 0, optional: 0, unions: 0 };

  constructor(dialect: DialectName) {
    this.#dialect = dialect;
  }

  admit(form: CompiledSchema, tool: ModelTool): CompiledSchema {
    if (this.#dialect !== "anthropic" || !form.ok || form.strict !== true) return form;
    const { optional, unions } = extentOf(form.schema);
    const sum = { optional: this.#used.optional + optional, unions: this.#used.unions + unions };
    const isFull = this.#used.tools >= ANTHROPIC_STRICT.tools;
    const over = isFull ? `a request may have ${ANTHROPIC_STRICT.tools} strict tools` : overAnthropic(sum);
    if (over === undefined) {
      Object.assign(this.#used, sum, { tools: this.#used.tools + 1 });
      return form;
    }
    if (wantsStrict(tool, this.#dialect) === "required") return { ok: false, reason: `it has no strict form: ${over}` };
    const loose = compileSchema(tool.inputSchema, this.#dialect);
    return loose.ok ? { ...loose, notes: [`It is offered without strict decoding: ${over}.`, ...loose.notes] } : loose;
  }
}
