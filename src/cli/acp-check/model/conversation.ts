// A model request in one form, whichever provider's protocol it came in, and what the scripted model does next.
import type { JsonObject } from "../../../base/json/json.js";
import { objectIn } from "../fields.js";

export interface OfferedTool {
  readonly name: string;
  readonly schema: JsonObject;
}

export interface Message {
  readonly role: "user" | "assistant" | "other";
  /** What a person wrote, or what a tool answered. */
  readonly text: string;
  /** Names of the tools it calls. */
  readonly calls: readonly string[];
}

export interface Conversation {
  readonly messages: readonly Message[];
  readonly tools: readonly OfferedTool[];
}

export type Move =
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly arguments: JsonObject };

/** What a prompt of the checker wants done: it stands in the prompt's own words, so any agent hands it on. */
export interface Instruction {
  readonly turn: string;
  /** A part of the name of each tool to call. */
  readonly words: readonly string[];
}

const INSTRUCTION = /acpcheck\((\w+);([\w,]*)\)/gu;
const SEARCH_TOOL = /search_?tools?|tool_?search|find_?tools?/iu;

export function instructionText({ turn, words }: Instruction): string {
  return `This is a test of your tools; do as the line says. acpcheck(${turn};${words.join(",")})`;
}

/** The latest instruction of a person, with what has happened since. */
export function latestInstruction(
  messages: readonly Message[],
): { instruction: Instruction; since: readonly Message[] } | undefined {
  for (const [index, { role, text }] of [...messages.entries()].reverse()) {
    const found = role === "user" ? [...text.matchAll(INSTRUCTION)].at(-1) : undefined;
    if (!found) continue;
    const words = (found[2] ?? "").split(",").filter((word) => word !== "");
    return { instruction: { turn: found[1] ?? "", words }, since: messages.slice(index + 1) };
  }
  return undefined;
}

/** Calls every tool that is wished for once, looking for it first where the agent hides tools behind a search. */
export function nextMove({ messages, tools }: Conversation): Move {
  const latest = latestInstruction(messages);
  if (!latest) return { kind: "say", text: "acp-check: nothing was asked." };
  const { instruction, since } = latest;
  const called = since.flatMap(({ calls }) => calls);
  for (const word of instruction.words) {
    const names = candidates(word, tools, since);
    const next = names.find((name) => !called.includes(name));
    if (next !== undefined) return { kind: "call", name: next, arguments: { text: instruction.turn } };
    if (names.length > 0) continue;
    const search = tools.find(({ name }) => SEARCH_TOOL.test(name));
    if (search && !called.includes(search.name)) return searchMove(search, word);
  }
  return { kind: "say", text: `acp-check: done with turn ${instruction.turn}.` };
}

/** Offered by that name, or named in the answer of a search. */
function candidates(word: string, tools: readonly OfferedTool[], since: readonly Message[]): readonly string[] {
  const offered = tools.flatMap(({ name }) => (name.includes(word) ? [name] : []));
  if (offered.length > 0) return offered;
  const found = since
    .filter(({ role }) => role !== "assistant")
    .flatMap(({ text }) => text.match(/[A-Za-z0-9_-]+/gu) ?? []);
  return [...new Set(found.filter((name) => name.includes(word) && name !== word))];
}

function searchMove({ name, schema }: OfferedTool, word: string): Move {
  const properties = Object.keys(objectIn(schema["properties"]));
  const field = properties.find((one) => /query|search|text|keyword/iu.test(one)) ?? "query";
  return { kind: "call", name, arguments: { [field]: word } };
}
