// The conversation as the model saw it, put together again from its journal; a turn that was broken off is brought to an end.

import { defined } from "../../base/json/defined.js";
import { type ContentBlock, plainText, text } from "../../base/text/content.js";
import { markContent } from "../../base/text/marking.js";
import { resolved, Transcript, transcriptProblems } from "../../engine/index.js";
import type { ModelMessage, ModelToolCall, ModelToolResult } from "../../models/index.js";
import type { ToolOutcome } from "../../tools/index.js";
import type { JournalEntry, RecordedChange } from "./entry.js";
import type { Replacement } from "./shown.js";

/** In the model's place, where its answer is missing or not whole. */
const BROKE_OFF = "[the turn was broken off here]";

interface OpenCall {
  readonly call: ModelToolCall;
  readonly origin: string | undefined;
  outcome?: ToolOutcome;
  /** It goes on at its server. */
  isLasting?: boolean;
}

/** What a turn under way has said and done that is not in the transcript yet. */
interface OpenTurn {
  readonly content: readonly ContentBlock[];
  isInTranscript: boolean;
  text: string;
  calls: Map<string, OpenCall>;
}

export class TranscriptSoFar {
  #messages: readonly ModelMessage[] = [];
  #open: OpenTurn | undefined;
  #replacement: Replacement = { before: [], after: [] };

  /** Always one that providers take: what does not fit, after damage to the file, is left out with all that follows. */
  get messages(): readonly ModelMessage[] {
    let valid = this.#messages;
    while (transcriptProblems(valid).length > 0) {
      valid = valid.slice(
        0,
        valid.findLastIndex(({ role }) => role === "user"),
      );
    }
    return valid;
  }

  get lastReplacement(): Replacement {
    return this.#replacement;
  }

  add(entry: JournalEntry): void {
    switch (entry.kind) {
      case "prompt":
        this.#open = entry.isCommand
          ? undefined
          : { content: entry.content, isInTranscript: false, text: "", calls: new Map() };
        break;
      case "text":
        if (this.#open) this.#open.text += entry.text;
        break;
      case "call": {
        const { toolCallId: callId, subject } = entry;
        const call = { callId, name: subject.name, argumentsJson: JSON.stringify(entry.arguments) };
        this.#open?.calls.set(callId, { call, origin: subject.tool?.label });
        break;
      }
      case "task": {
        const open = this.#open?.calls.get(entry.toolCallId);
        if (open) open.isLasting = true;
        break;
      }
      case "outcome": {
        const open = this.#open?.calls.get(entry.toolCallId);
        if (open) open.outcome = entry.outcome;
        break;
      }
      case "transcript":
        this.#change(entry.change);
        break;
      case "end":
      case "error":
        this.#open = undefined;
        break;
      default:
        break;
    }
  }

  /** What has to be added for a turn that never ended. Every call of it has its outcome by now, unless it lasts. */
  ending(): readonly ModelMessage[] {
    if (!this.#open) return [];
    const before = this.messages;
    const transcript = Transcript.from(before);
    const { content, isInTranscript, text: words, calls } = this.#open;
    if (!isInTranscript) transcript.addUser(markContent(content));
    if (calls.size > 0) {
      const all = [...calls.values()];
      transcript.addCalls({ text: words, toolCalls: all.map(({ call }) => call) }, all.map(resultOf));
    } else if (words.trim() !== "") transcript.addAnswer(`${words}\n\n${BROKE_OFF}`);
    transcript.endTurn(BROKE_OFF);
    return transcript.messages.slice(before.length);
  }

  #change(change: RecordedChange): void {
    const before = this.#messages;
    switch (change.kind) {
      case "added":
        this.#messages = [...before, ...change.messages];
        break;
      case "cut":
        this.#messages = before.slice(0, change.length);
        break;
      case "replaced": {
        const after = change.messages.flatMap((one) => (typeof one === "number" ? (before[one] ?? []) : one));
        this.#messages = after;
        this.#replacement = { before, after };
        return;
      }
      case "resolved":
        this.#messages = resolved(before, change.result) ?? before;
        return;
    }
    if (!this.#open) return;
    this.#open.isInTranscript = true;
    this.#open.text = "";
    this.#open.calls = new Map();
  }
}

/** In the place of a result that is still to come. */
const STILL_RUNS =
  "The call goes on at its server as a long-running task. Its result will be given to you as soon as it is there: do not call it again.";

function resultOf({ call: { callId, name }, origin, outcome, isLasting = false }: OpenCall): ModelToolResult {
  const said = (words: string): ModelToolResult => ({ callId, name, isError: true, content: [text(words)] });
  switch (outcome?.kind) {
    case "done":
    case "failed": {
      // The words only: they were marked and clipped before anybody saw them.
      const words = plainText(outcome.content);
      const content = [text(words.trim() === "" ? "(The tool returned nothing.)" : words)];
      const isError = outcome.kind === "failed";
      return { callId, name, isError, content, ...defined({ origin }) };
    }
    case "refused":
      return said(`The call was refused: ${outcome.reason}`);
    case "cancelled":
      return said("The call was cancelled.");
    case "unknown":
      return said(`Outcome unknown: ${outcome.reason}. Do not assume it failed.`);
    case undefined:
      if (isLasting) return { callId, name, isError: false, content: [text(STILL_RUNS)] };
      return said("Outcome unknown. Do not assume it failed.");
  }
}
