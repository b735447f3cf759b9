// A request as the steps it asks for: one call each, or the words that explain why there is none.

import { defined } from "../../base/json/defined.js";
import { type JsonObject, parseObject } from "../../base/json/json.js";
import type { ModelMessage, ModelTool, ModelToolCall, ModelToolResult } from "../model.js";
import { type FilledArguments, fillArguments } from "./arguments.js";
import { type Candidate, rank } from "./choose.js";
import { describeMissing, describeTools, isAboutTools } from "./explain.js";
import { blank, scan } from "./spans.js";

export type Step =
  | { readonly kind: "call"; readonly tool: ModelTool; readonly arguments: JsonObject }
  /** No offered tool fits well: others have to be looked for before anything is planned. */
  | { readonly kind: "search"; readonly query: string }
  /** `isAsked`: the person wanted to know, and no tool would do better. */
  | { readonly kind: "explain"; readonly text: string; readonly isAsked?: true };

/** Below these nothing fits. A tool whose arguments are all in the request needs less to be believed. */
const THRESHOLDS = { complete: 1.1, empty: 1.3, incomplete: 1.2 };
/** More parts than this are a text with line breaks, not a list of steps. */
const MAX_STEPS = 10;
/** Matching is not linear in the text; real requests stay far below, and longer ones are for a model that reads. */
const REQUEST_MAX_CHARS = 50_000;
/** How much one missing argument counts against a tool, up to three. */
const MISSING = { each: 0.4, atMost: 3 };
/** From here on a tool is close enough to be listed before the others. */
const CLOSE = 0.5;
/** How many of the best tools are tried on the request's values. */
const TRIED = 5;

/** "Add 2 and 3, then echo hi" is two steps when each part is a call by itself, and one request otherwise. */
export function plan(request: string, tools: readonly ModelTool[], searching: Searching = NO_SEARCH): Step[] {
  if (request.length > REQUEST_MAX_CHARS) {
    const text = `That is ${request.length} characters long; the offline model reads at most ${REQUEST_MAX_CHARS}.`;
    return [{ kind: "explain", text }];
  }
  const all = [...tools, ...searching.found];
  const parts = clauses(request);
  const isList = parts.length > 1 && parts.length <= MAX_STEPS;
  const steps = isList ? parts.map((part) => planOne(part, all, searching)) : [];
  const isRun = isList && steps.every(({ step }) => step.kind === "call");
  const planned = isRun ? steps : [planOne(request, all, searching)];
  const isText = request.includes("\n"); // lines are steps only where each of them is one
  const wanted = searching.isOffered ? toSearch(planned, isText ? [] : steps) : [];
  const query = wanted.find((one) => !searching.searched.has(one));
  return query === undefined ? planned.map(({ step }) => step) : [{ kind: "search", query }];
}

/** What to look for: the request, or those of its parts that need it where others do not. */
function toSearch(planned: readonly Planned[], steps: readonly Planned[]): string[] {
  const unsure = (steps.some(({ isSure }) => isSure) ? steps : planned).filter(({ isSure }) => !isSure);
  return unsure.map(({ request }) => queryOf(request));
}

interface Planned {
  readonly request: string;
  readonly step: Step;
  /** A tool fits well, or the request wants none. */
  readonly isSure: boolean;
}

function planOne(request: string, tools: readonly ModelTool[], { isOffered: canSearch }: Searching): Planned {
  const ranked = rank(request, tools);
  const best = choose(request, ranked);
  if (isAboutTools(request) && best?.candidate.isNamed !== true) {
    return {
      request,
      step: { kind: "explain", isAsked: true, text: describeTools(tools, { isAsked: true, canSearch }) },
      isSure: true,
    };
  }
  if (best === undefined) {
    const close = ranked.filter(({ score }) => score >= CLOSE).map(({ tool }) => tool);
    const text = describeTools([...new Set([...close, ...tools])], { isAsked: false, canSearch });
    return { request, step: { kind: "explain", text }, isSure: false };
  }
  const { candidate, filled } = best;
  const { isClear, isNamed } = candidate;
  if (filled.missing.length > 0) {
    // What it needs was not said: unless it was named, another tool may be meant.
    return { request, step: { kind: "explain", text: describeMissing(candidate, filled) }, isSure: isNamed };
  }
  return { request, step: { kind: "call", tool: candidate.tool, arguments: filled.arguments }, isSure: isClear };
}

interface Choice {
  readonly candidate: Candidate;
  readonly filled: FilledArguments;
  readonly score: number;
}

/** The tool that is meant, if any fits: among the best, one whose arguments are all there goes before its equals. */
function choose(request: string, ranked: readonly Candidate[]): Choice | undefined {
  const [best] = ranked
    .filter(({ isMeant, isNamed }) => isMeant || isNamed)
    .slice(0, TRIED)
    .map((candidate): Choice => {
      const filled = fillArguments(request, candidate);
      return {
        candidate,
        filled,
        score: candidate.score - Math.min(filled.missing.length, MISSING.atMost) * MISSING.each,
      };
    })
    .toSorted((one, other) => other.score - one.score);
  if (best === undefined) return undefined;
  return best.score >= thresholdFor(best.filled) ? best : undefined;
}

function thresholdFor(filled: FilledArguments): number {
  if (filled.missing.length > 0) return THRESHOLDS.incomplete;
  return Object.keys(filled.arguments).length > 0 ? THRESHOLDS.complete : THRESHOLDS.empty;
}

/** Splits at "then", semicolons and lines, but never inside a quoted text or JSON. */
function clauses(request: string): string[] {
  const opaque = scan(request).filter(({ kind }) => kind === "quoted" || kind === "json");
  const visible = blank(request, opaque);
  const parts: string[] = [];
  let at = 0;
  for (const found of visible.matchAll(/[,.;]?\s+(?:and\s+)?then\s+|\s*;\s+|\s*\n+\s*/gi)) {
    parts.push(request.slice(at, found.index));
    at = found.index + found[0].length;
  }
  parts.push(request.slice(at));
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

// Tools that are not offered but can be searched for: how the offline model asks for them, and reads what was found.

/** The host's tools about tools. They are no choice for a request: one looks for tools, the other calls what was found. */
const SEARCH_TOOLS = "tenon_search_tools";
const CALL_TOOL = "tenon_call_tool";

/** What a request wants is said at its beginning. */
const QUERY_MAX_CHARS = 500;

export interface Searching {
  readonly isOffered: boolean;
  /** Found in this conversation and not offered: called through `tenon_call_tool`. */
  readonly found: readonly ModelTool[];
  /** What was searched for since the last prompt. */
  readonly searched: ReadonlySet<string>;
}

const NO_SEARCH: Searching = { isOffered: false, found: [], searched: new Set() };

interface Toolbox {
  /** Offered, without the two tools about tools. */
  readonly own: readonly ModelTool[];
  readonly searching: Searching;
}

export function toolbox(messages: readonly ModelMessage[], tools: readonly ModelTool[], lastUser: number): Toolbox {
  const own = tools.filter(({ name }) => name !== SEARCH_TOOLS && name !== CALL_TOOL && name !== WAIT_FOR_SERVER);
  const isOffered = tools.some(({ name }) => name === SEARCH_TOOLS);
  const offered = new Set(tools.map(({ name }) => name));
  const found = new Map<string, ModelTool>();
  for (const result of messages.flatMap((message) => (message.role === "tool" ? message.results : []))) {
    for (const tool of isSearch(result) ? foundIn(result) : []) if (!offered.has(tool.name)) found.set(tool.name, tool);
  }
  const calls = messages
    .slice(lastUser + 1)
    .flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const searched = new Set(calls.filter(isSearch).flatMap((call) => argumentOf(call, "query") ?? []));
  return { own, searching: { isOffered, found: [...found.values()], searched } };
}

const WAIT_FOR_SERVER = "wait_for_server";

export function isWait({ name }: { readonly name: string }): boolean {
  return name === WAIT_FOR_SERVER;
}

/** Tenon's own line before a prompt; it names the servers that still start. */
const STARTING_NOTE = /^\[tenon: (?:this|these) MCP servers? (?:is|are) still starting: [^\n]*\]$/u;

export function isStartingNote(text: string): boolean {
  return STARTING_NOTE.test(text);
}

/** A wait for the next server that still starts, the one the request names first; undefined when all were waited for. */
export function waitCall(
  note: string,
  request: string,
  messages: readonly ModelMessage[],
  callId: string,
): ModelToolCall | undefined {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const waited = new Set(calls.filter(isWait).flatMap((call) => argumentOf(call, "server") ?? []));
  const names = [...note.matchAll(/"((?:[^"\\]|\\.)*)" \(/gu)].map(([, name = ""]) => name);
  const left = names.filter((name) => !waited.has(name));
  const server = left.find((name) => request.toLowerCase().includes(name.toLowerCase())) ?? left[0];
  return server === undefined
    ? undefined
    : { callId, name: WAIT_FOR_SERVER, argumentsJson: JSON.stringify({ server }) };
}

export function isSearch({ name }: { readonly name: string }): boolean {
  return name === SEARCH_TOOLS;
}

function queryOf(request: string): string {
  return request.slice(0, QUERY_MAX_CHARS).trim();
}

/** A call of a tool that is offered, or of one that was found. */
export function callOf(tool: ModelTool, given: JsonObject, callId: string, { found }: Searching): ModelToolCall {
  const isFound = found.some(({ name }) => name === tool.name);
  const call = isFound ? { name: tool.name, arguments: given } : given;
  return { callId, name: isFound ? CALL_TOOL : tool.name, argumentsJson: JSON.stringify(call) };
}

export function searchCall(query: string, callId: string): ModelToolCall {
  return { callId, name: SEARCH_TOOLS, argumentsJson: JSON.stringify({ query }) };
}

/** The result under the name of the tool that gave it, whichever way it was called. */
export function underOwnName(result: ModelToolResult, messages: readonly ModelMessage[]): ModelToolResult {
  if (result.name !== CALL_TOOL) return result;
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const call = calls.find(({ callId }) => callId === result.callId);
  const name = call && argumentOf(call, "name");
  return name === undefined ? result : { ...result, name };
}

function argumentOf({ argumentsJson }: ModelToolCall, name: string): string | undefined {
  const value = parseObject(argumentsJson)?.[name];
  return typeof value === "string" ? value : undefined;
}

/** One paragraph a tool, its facts on lines of their own. What cannot be read is passed over. */
export function foundIn({ content, isError }: ModelToolResult): ModelTool[] {
  if (isError) return [];
  const paragraphs = content.flatMap((block) => (block.type === "text" ? block.text.split(/\n{2,}/u) : []));
  return paragraphs.flatMap((paragraph) => {
    const fact = (key: string) => new RegExp(`^${key}: (.+)$`, "mu").exec(paragraph)?.[1];
    const [name] = fact("name")?.split(" ") ?? [];
    if (name === undefined || name === "") return [];
    const title = fact("title");
    const inputSchema = parseObject(fact("arguments") ?? "") ?? { type: "object" };
    const description = fact("description") ?? "";
    return [{ name, description, inputSchema, ...defined({ title }) }];
  });
}
