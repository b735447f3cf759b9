// What the journal keeps of an event of a turn, and of a change of the transcript.

import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import type { BuiltinPresentation } from "../builtin/index.js";
import type { CallSubject, TranscriptChange, TurnEvent } from "../engine/index.js";
import type { CatalogTool } from "../tools/index.js";
import type { JournalEntry, RecordedChange } from "./journal-entry.js";

/** Undefined for what is of the moment only. `look`: how the call the event is about looks now. */
export function recordOf(event: TurnEvent, look?: BuiltinPresentation): JournalEntry | undefined {
  switch (event.kind) {
    case "text":
    case "thought":
      return { kind: event.kind, text: event.text };
    case "call_arguments": {
      const { toolCallId, offset } = event;
      return offset === 0 ? { kind: "announced", toolCallId, subject: subjectOf(event.subject) } : undefined;
    }
    case "call_dropped":
      return { kind: "dropped", toolCallId: event.toolCallId, reason: event.reason };
    case "call_started": {
      const { toolCallId, subject } = event;
      const call = { toolCallId, subject: subjectOf(subject), arguments: event.arguments };
      return { kind: "call", ...call, ...defined({ look }) };
    }
    case "call_ended":
      return {
        kind: "outcome",
        toolCallId: event.toolCallId,
        outcome: event.outcome,
        elapsedMs: Math.round(event.elapsedMs),
      };
    case "compaction": {
      if (event.phase !== "done") return { kind: "compaction", event };
      const { before: _, after: __, ...rest } = event;
      return { kind: "compaction", event: rest };
    }
    case "stopped":
    case "usage":
      return event;
    case "tool_quarantined":
    case "call_awaiting_approval":
    case "call_running":
    case "call_progress":
    case "waiting":
      return undefined;
    default:
      return unreachable(event);
  }
}

export function changeOf(change: TranscriptChange): RecordedChange {
  if (change.kind !== "replaced") return change;
  const places = new Map(change.before.map((message, index) => [message, index]));
  return { kind: "replaced", messages: change.after.map((message) => places.get(message) ?? message) };
}

/** Of a tool what people are shown, without its description and its schemas. */
function subjectOf({ name, tool }: CallSubject): CallSubject {
  return tool ? { name, tool: shortened(tool) } : { name };
}

function shortened({ id, origin, source, label, definition, definitionHash }: CatalogTool): CatalogTool {
  const { name, title, annotations } = definition;
  const facts = defined({ title, annotations });
  return {
    id,
    origin,
    source,
    label,
    definition: { name, description: "", inputSchema: {}, ...facts },
    definitionHash,
  };
}
