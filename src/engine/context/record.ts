// A conversation as a record in plain text: for the model that writes a summary of it, and for the summary without a model.
import { plainText } from "../../base/text/content.js";
import type { ModelMessage, ModelToolCall, ModelToolResult } from "../../models/index.js";

/** Characters of each kind of entry. */
export interface RecordBounds {
  readonly firstPrompt: number;
  readonly prompt: number;
  readonly answer: number;
  readonly arguments: number;
  /** 0: only whether it went well. */
  readonly result: number;
  /** Of all entries together: when they are more, those in the middle are left out. */
  readonly total: number;
}

export function recordOf(messages: readonly ModelMessage[], bounds: RecordBounds): string {
  const entries = messages.flatMap((message, index) => entriesOf(message, index === 0, bounds));
  return withoutMiddle(entries, bounds.total).join("\n");
}

function entriesOf(message: ModelMessage, isFirst: boolean, bounds: RecordBounds): readonly string[] {
  switch (message.role) {
    case "user":
      return [`PERSON: ${clipped(plainText(message.content), isFirst ? bounds.firstPrompt : bounds.prompt)}`];
    case "assistant": {
      const said = message.text.trim() === "" ? [] : [`AGENT: ${clipped(message.text.trim(), bounds.answer)}`];
      return [...said, ...message.toolCalls.map((call) => callEntry(call, bounds))];
    }
    case "tool":
      return message.results.map((result) => resultEntry(result, bounds));
  }
}

function callEntry({ name, argumentsJson }: ModelToolCall, bounds: RecordBounds): string {
  return `CALL: ${name} ${clipped(argumentsJson, bounds.arguments)}`;
}

function resultEntry({ name, isError, content }: ModelToolResult, bounds: RecordBounds): string {
  const kind = isError ? "FAILED" : "RESULT";
  return bounds.result === 0 ? `${kind}: ${name}` : `${kind}: ${name}: ${clipped(plainText(content), bounds.result)}`;
}

function clipped(words: string, maxChars: number): string {
  if (words.length <= maxChars) return words;
  const start = words.slice(0, maxChars).replace(/[\ud800-\udbff]$/u, "");
  return `${start}… (${words.length - start.length} more characters)`;
}

/** The beginning says what it is about, the end where it stands: a quarter for the one, the rest for the other. */
function withoutMiddle(entries: readonly string[], maxChars: number): readonly string[] {
  const total = entries.reduce((sum, entry) => sum + entry.length + 1, 0);
  if (total <= maxChars) return entries;
  const head = countWithin(entries, maxChars / 4);
  const rest = entries.slice(head);
  const tail = countWithin(rest.toReversed(), (maxChars * 3) / 4);
  const omitted = rest.length - tail;
  return [...entries.slice(0, head), `(${omitted} entries are left out here)`, ...rest.slice(omitted)];
}

function countWithin(entries: readonly string[], maxChars: number): number {
  let chars = 0;
  const over = entries.findIndex((entry) => {
    chars += entry.length + 1;
    return chars > maxChars;
  });
  return over === -1 ? entries.length : over;
}
