// From the name and the text a model wrote to the tool and the arguments it meant, or to the words that say what is wrong.
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { CALL_TOOL, SEARCH_TOOLS } from "../catalog/meta-tools.js";
import type { CatalogEntry, Offer } from "../catalog/offer.js";
import { type CatalogTool, failed, type ToolCall, type ToolOutcome, type ToolSource } from "../tool.js";
import { jsonFault } from "./json-fault.js";

/** Names a model is given when it calls a tool that is not there. */
const MAX_SUGGESTIONS = 3;

/** A call ready to be run: arguments are those the tool itself wants, the changes of a provider's schema form undone. */
export interface PreparedCall {
  readonly toolCallId: string;
  /** Of the tool that is meant: where the call came through `tenon_call_tool`, the one named inside. All there is when no tool has it. */
  readonly name: string;
  readonly tool?: CatalogTool | undefined;
  /** As the model gave them; empty when they could not be read. */
  readonly arguments: JsonObject;
  readonly source?: ToolSource | undefined;
  /** Either the call can be made, or its outcome is already known. */
  readonly plan:
    | { readonly kind: "call"; readonly entry: CatalogEntry }
    | { readonly kind: "ended"; readonly outcome: ToolOutcome };
}

export function prepareCall({ toolCallId, name, argumentsJson }: ToolCall, offer: Offer): PreparedCall {
  const begun = { toolCallId, name };
  const entry = offer.find(name);
  if (!entry) return ended(begun, unknownTool(name, offer));
  const read = readArguments(argumentsJson);
  if (!isWrapper(entry)) return ready(begun, entry, read);
  if (!read.ok) return ended({ ...begun, entry }, notMade(name, read.reason));
  return unwrapped({ ...begun, entry, given: read.arguments }, offer);
}

/** The wrapper vanishes here, so that approval, events, journal and result are those of the tool that is really called. */
function unwrapped(outside: Required<Begun>, offer: Offer): PreparedCall {
  const { given, toolCallId } = outside;
  const { name } = given;
  if (typeof name !== "string") {
    return ended(
      outside,
      notMade(outside.name, 'it needs "name", the exact name of a tool, and "arguments", an object'),
    );
  }
  const entry = offer.find(name);
  if (!entry) return ended({ toolCallId, name }, unknownTool(name, offer));
  if (isWrapper(entry)) return ended(outside, notMade(outside.name, "it cannot call itself"));
  // Models write the arguments beside the name now and then, instead of inside `arguments`.
  const { name: _name, arguments: inside, ...beside } = given;
  return ready({ toolCallId, name }, entry, asArguments(inside ?? beside));
}

interface Begun extends Pick<PreparedCall, "toolCallId" | "name"> {
  readonly entry?: CatalogEntry;
  readonly given?: JsonObject;
}

function ready(begun: Begun, entry: CatalogEntry, read: ReadArguments): PreparedCall {
  if (!read.ok) return ended({ ...begun, entry }, notMade(begun.name, read.reason));
  const { toolCallId, name } = begun;
  const { tool, source, unavailable } = entry;
  if (unavailable !== undefined) return ended({ ...begun, entry, given: read.arguments }, notMade(name, unavailable));
  return { toolCallId, name, tool, source, arguments: read.arguments, plan: { kind: "call", entry } };
}

function ended({ toolCallId, name, entry, given = {} }: Begun, words: string): PreparedCall {
  const outcome = failed(words);
  return {
    toolCallId,
    name,
    tool: entry?.tool,
    source: entry?.source,
    arguments: given,
    plan: { kind: "ended", outcome },
  };
}

function isWrapper({ tool, raw }: CatalogEntry): boolean {
  return tool.origin === "builtin" && raw.name === CALL_TOOL;
}

/** For the model. */
export function notMade(name: string, reason: string): string {
  return `The call of ${name} was not made: ${reason.replace(/[.\s]+$/u, "")}.`;
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
function asArguments(value: JsonValue | undefined): ReadArguments {
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
