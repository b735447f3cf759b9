// From the name and the text a model wrote to the tool and the arguments that are sent, or to the words that say what is wrong.
import type { Eventual } from "../../base/async/eventual.js";
import type { ErrorCode } from "../../base/errors.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { checkAgainstSchema, type SchemaFit, withoutMisfitNulls } from "../../base/schema/schema-check.js";
import { withoutFinal } from "../../base/text/ends.js";
import { CALL_TOOL, SEARCH_TOOLS } from "../catalog/meta-tools.js";
import { type CatalogEntry, callArguments, type Offer, type StartingSource } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ResultStore } from "../result/store.js";
import { type Substituted, substituteResults } from "../result/substitute.js";
import { type CatalogTool, failed, type SourceCall, type ToolCall, type ToolOutcome } from "../tool.js";
import { jsonFault } from "./json-fault.js";

/** Names a model is given when it calls a tool that is not there. */
const MAX_SUGGESTIONS = 3;

/** The inside of a prepared call, for this module only. */
export interface Preparation {
  readonly call: WantedCall;
  /** Of the tool that is meant: where the call came through `tenon_call_tool`, the one named inside. */
  readonly name: string;
  readonly entry?: CatalogEntry | undefined;
  /** As the model gave them; empty when they could not be read. */
  readonly given: JsonObject;
  /** Either the call can be made, now or later, or its outcome is already known. */
  readonly plan:
    | { readonly kind: "call"; readonly entry: CatalogEntry }
    /** The name may be a tool's of a server that still starts. */
    | { readonly kind: "starting"; readonly source: StartingSource }
    /** It was sent already, and goes on at its source. */
    | { readonly kind: "lasting"; readonly lasting: SentBefore }
    | { readonly kind: "ended"; readonly outcome: ToolOutcome };
}

/** A call ready to be run. Outside this module it can be shown and handed back, nothing else. */
export class PreparedCall {
  readonly #preparation: Preparation;

  constructor(preparation: Preparation) {
    this.#preparation = preparation;
  }

  static open(prepared: PreparedCall): Preparation {
    return prepared.#preparation;
  }

  get toolCallId(): string {
    return this.#preparation.call.toolCallId;
  }

  /** For people, and all there is when no tool has that name. */
  get name(): string {
    return this.#preparation.name;
  }

  get tool(): CatalogTool | undefined {
    return this.#preparation.entry?.tool;
  }

  /** What could be read of the arguments, for people. */
  get arguments(): JsonObject {
    return this.#preparation.given;
  }
}

/** A call as a model wrote it, or one of a program, whose arguments need not be read. */
export type WantedCall = Omit<ToolCall, "argumentsJson"> &
  (Pick<ToolCall, "argumentsJson"> | { readonly arguments: JsonObject }) & {
    /** As the offer has it, where it was looked up already. */
    readonly entry?: CatalogEntry | undefined;
  };

/** Arguments are those the tool itself wants: the changes of a provider's schema form have been undone. */
export function prepareCall(call: WantedCall, offer: Offer): PreparedCall {
  return new PreparedCall(preparationOf(call, offer));
}

/** A call that lasts, as it is asked for again. */
export interface SentBefore {
  /** `server / tool`. */
  readonly label: string;
  /** Nothing is called again. */
  resume(call: Pick<SourceCall, "toolCallId" | "signal" | "onProgress">): Promise<ToolOutcome>;
}

const NOBODY_KNOWS = "the process that sent it ended before the answer came";

/**
 * A call that another process sent and whose outcome nobody has: what lasts is asked for, what the user calls idempotent is
 * sent again, and of all others the outcome stays unknown.
 */
export function prepareSent(call: ToolCall, offer: Offer, lasting?: SentBefore): PreparedCall {
  const preparation = preparationOf(call, offer);
  if (lasting) return new PreparedCall({ ...preparation, plan: { kind: "lasting", lasting } });
  const { plan } = preparation;
  if (plan.kind === "call" && plan.entry.source.mayRepeat?.(plan.entry.raw.name)) return new PreparedCall(preparation);
  const outcome = { kind: "unknown", reason: NOBODY_KNOWS } as const;
  return new PreparedCall({ ...preparation, plan: { kind: "ended", outcome } });
}

function preparationOf(call: WantedCall, offer: Offer): Preparation {
  const { name } = call;
  const entry = call.entry ?? offer.find(name);
  if (!entry) return unknown({ call, name }, offer);
  const read: ReadArguments =
    "arguments" in call ? { ok: true, arguments: call.arguments } : readArguments(call.argumentsJson);
  if (!isWrapper(entry)) return ready({ call, name }, entry, read);
  if (!read.ok) return ended({ call, name, entry }, notMade(name, read.reason));
  return unwrapped(call, entry, read.arguments, offer);
}

/** The wrapper vanishes here, so that approval, events, journal and result are those of the tool that is really called. */
function unwrapped(call: WantedCall, wrapper: CatalogEntry, given: JsonObject, offer: Offer): Preparation {
  const { name } = given;
  const outside = { call, name: call.name, entry: wrapper, given };
  if (typeof name !== "string") {
    return ended(outside, notMade(call.name, 'it needs "name", the exact name of a tool, and "arguments", an object'));
  }
  const entry = offer.find(name);
  if (!entry) return unknown({ call, name, given }, offer);
  if (isWrapper(entry)) return ended(outside, notMade(call.name, "it cannot call itself"));
  // Models write the arguments beside the name now and then, instead of inside `arguments`.
  const { name: _name, arguments: inside, ...beside } = given;
  return ready({ call, name }, entry, asArguments(inside ?? beside));
}

type Begun = Pick<Preparation, "call" | "name"> & Partial<Pick<Preparation, "entry" | "given">>;

function ready(begun: Begun, entry: CatalogEntry, read: ReadArguments): Preparation {
  if (!read.ok) return ended({ ...begun, entry }, notMade(begun.name, read.reason), "tool.invalid_arguments");
  const given = read.arguments;
  if (entry.unavailable !== undefined) return ended({ ...begun, entry, given }, notMade(begun.name, entry.unavailable));
  const { call, name } = begun;
  return { call, name, entry, given, plan: { kind: "call", entry } };
}

function unknown(begun: Begun, offer: Offer): Preparation {
  const source = offer.starting?.(begun.name);
  return source
    ? { given: {}, ...begun, plan: { kind: "starting", source } }
    : ended(begun, unknownTool(begun.name, offer), "tool.unknown");
}

/** The same call once the server it may be for has started, or with the words that say why it cannot be made. */
export async function preparedWhenStarted(
  { call, name, given }: Preparation,
  source: StartingSource,
  signal: AbortSignal,
): Promise<Preparation> {
  const { offer, problem } = await source.started(signal);
  const again = preparationOf(call, offer);
  if (again.plan.kind !== "starting" && (again.entry || problem === undefined)) return again;
  const words = `its server "${source.server}" cannot be used: ${problem ?? "it does not start"}`;
  return ended({ call, name, given }, notMade(name, words), "mcp.not_ready");
}

function ended(begun: Begun, words: string, code?: ErrorCode): Preparation {
  return { given: {}, ...begun, plan: { kind: "ended", outcome: failed(words, code) } };
}

function isWrapper({ tool, raw }: CatalogEntry): boolean {
  return tool.origin === "builtin" && raw.name === CALL_TOOL;
}

/** For the model. */
export function notMade(name: string, reason: string): string {
  return `The call of ${name} was not made: ${withoutFinal(reason, ". \n\t")}.`;
}

/** Models drop or invent prefixes: the tools whose own name is meant are named to it. */
function unknownTool(name: string, offer: Offer): string {
  const own = (name.split("__").at(-1) ?? name).toLowerCase();
  const isMeant = ({ id, definition }: CatalogTool) =>
    definition.name.toLowerCase() === own || id.toLowerCase() === name.toLowerCase();
  const close = offer.tools.filter(isMeant).slice(0, MAX_SUGGESTIONS);
  const other = offer.find(SEARCH_TOOLS)
    ? `Use one of the tools you were given by its exact name, or look for more with ${SEARCH_TOOLS}.`
    : "Use one of the tools you were given, by its exact name.";
  const advice = close.length > 0 ? `Did you mean ${close.map(({ id }) => id).join(" or ")}?` : other;
  return `There is no tool named ${JSON.stringify(name.slice(0, 200))}. ${advice}`;
}

// Reads the arguments a model wrote. Whatever is wrong with them becomes words for the model, never a lost turn.
export type ReadArguments =
  | { readonly ok: true; readonly arguments: JsonObject }
  | { readonly ok: false; readonly reason: string };

/** What is shown of the text on either side of a fault. */
const EXCERPT_CHARS = 40;

/** Nothing and `null` stand for no arguments: that is how some providers write them. */
export function readArguments(json: string): ReadArguments {
  if (json.trim() === "") return { ok: true, arguments: {} };
  const parsed = parseJson(json);
  return parsed.ok ? asArguments(parsed.value) : { ok: false, reason: faultIn(json, parsed.reason) };
}

/** An object, or one written as a text, as some models and gateways do. */
export function asArguments(value: unknown): ReadArguments {
  if (value === undefined || value === null) return { ok: true, arguments: {} };
  if (isJsonObject(value)) return { ok: true, arguments: value };
  const inner = typeof value === "string" ? parseJson(value) : undefined;
  if (inner?.ok && isJsonObject(inner.value)) return { ok: true, arguments: inner.value };
  if (inner?.ok === false && inner.isDeep) return inner;
  const found = Array.isArray(value) ? "a list" : `a ${typeof value}`;
  return { ok: false, reason: `the arguments must be a JSON object, and are ${found}` };
}

function faultIn(json: string, reason: string): string {
  const fault = jsonFault(json);
  if (!fault) return `the arguments cannot be used: ${reason}`;
  const before = json.slice(Math.max(0, fault.at - EXCERPT_CHARS), fault.at);
  if (fault.isCutOff) {
    return `the arguments are not valid JSON: they break off after ${fault.at} characters, where ${fault.expected} is missing; they end with ${JSON.stringify(before)}. Send the whole call again, in smaller parts if it was too long`;
  }
  const after = json.slice(fault.at, fault.at + EXCERPT_CHARS);
  return `the arguments are not valid JSON: at character ${fault.at + 1} there should be ${fault.expected}; there is ${JSON.stringify(after)} after ${JSON.stringify(before)}`;
}

/**
 * The arguments that are sent: the model's own, with kept results, pinned values and defaults put in. They are checked by the
 * source's own schema: the model's view of it may be shaped or compiled for its provider.
 */
export function finishArguments(
  entry: CatalogEntry,
  given: JsonObject,
  { world, results }: { readonly world: World; readonly results: ResultStore },
): Eventual<Substituted> {
  const filling = substituteResults(entry.tool.toOwn?.(given) ?? given, results);
  return filling instanceof Promise
    ? checkedOnceFilled(entry, filling, world)
    : checkedArguments(entry, filling, world);
}

async function checkedOnceFilled(
  entry: CatalogEntry,
  filling: Promise<Substituted>,
  world: World,
): Promise<Substituted> {
  return await checkedArguments(entry, await filling, world);
}

function checkedArguments(entry: CatalogEntry, filled: Substituted, world: World): Eventual<Substituted> {
  if (!filled.ok) return filled;
  const complete = callArguments(entry, filled.arguments);
  const checking = checkAgainstSchema(entry.raw.inputSchema, complete, world);
  const finished = { ok: true, arguments: complete, inserted: filled.inserted } as const;
  if (checking instanceof Promise) return checkedLater(entry, { filled, finished, checking }, world);
  return checking.kind === "misfit" ? withoutNulls(entry, filled, world) : finished;
}

type Filled = Extract<Substituted, { readonly ok: true }>;

async function checkedLater(
  entry: CatalogEntry,
  {
    filled,
    finished,
    checking,
  }: { readonly filled: Filled; readonly finished: Filled; readonly checking: Promise<SchemaFit> },
  world: World,
): Promise<Substituted> {
  return (await checking).kind === "misfit" ? await withoutNulls(entry, filled, world) : finished;
}

/** Nulls that models write for "left out" are no reason to refuse a call. */
async function withoutNulls(entry: CatalogEntry, filled: Filled, world: World): Promise<Substituted> {
  const { inputSchema } = entry.raw;
  const complete = callArguments(entry, await withoutMisfitNulls(inputSchema, filled.arguments, world));
  const fit = await checkAgainstSchema(inputSchema, complete, world);
  if (fit.kind !== "misfit") return { ok: true, arguments: complete, inserted: filled.inserted };
  const problems = `the arguments do not fit its schema: ${fit.problems.join("; ")}`;
  if (!entry.isChanged) return { ok: false, reason: problems };
  // The list a model is shown stays as it was, so the error carries the new schema.
  const json = JSON.stringify(entry.tool.definition.inputSchema);
  const schema = json.length <= TOOL_LIMITS.changedSchemaMaxChars ? `is now ${json}` : "has to be looked up anew";
  return { ok: false, reason: `${problems}. The tool has changed since you were given it, and its schema ${schema}` };
}
