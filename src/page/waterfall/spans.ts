// What took how long in a session: model calls, tool calls, questions and server starts, grouped by turn.
import { defined } from "../../base/json/defined.js";
import { type Blobs, type Part, partOf, plainText } from "../model/parts.js";
import {
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  written,
} from "../wire/json.js";

export interface Span {
  readonly id: string;
  readonly kind: "model" | "tool" | "server" | "question" | "other";
  readonly label: string;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  /** Missing: it still runs, or nobody knows. */
  readonly endMs?: number;
  readonly status: string;
  readonly input?: JsonValue;
  readonly output?: string;
  readonly note?: string;
}

export interface SpanGroup {
  readonly title: string;
  readonly startMs: number;
  readonly endMs?: number;
  readonly note?: string;
  readonly spans: readonly Span[];
}

interface OpenGroup {
  title: string;
  startMs: number;
  endMs?: number;
  note?: string;
  readonly spans: Span[];
}

/** The records of a journal, from the first on. */
export function spansOfRecords(records: readonly JsonObject[], blobs: Blobs): readonly SpanGroup[] {
  const reader = new RecordReader(blobs);
  for (const record of records) reader.read(record);
  return reader.groups.map((group) => ({ ...group, spans: group.spans.toSorted((a, b) => a.startMs - b.startMs) }));
}

class RecordReader {
  readonly groups: OpenGroup[] = [];
  readonly #blobs: Blobs;
  /** Places in the last group: calls and questions that are not over. */
  readonly #open = new Map<string, { readonly group: OpenGroup; readonly at: number }>();
  /** Since when a model has been asked. */
  #askedMs: number | undefined;
  #count = 0;

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  read(record: JsonObject): void {
    const t = numberAt(record, "t") ?? 0;
    const id = textAt(record, "toolCallId") ?? "";
    const question = `question ${textAt(record, "id") ?? ""}`;
    switch (textAt(record, "kind")) {
      case "prompt":
        return this.#begin(record, t);
      case "answer":
        return this.#answered(record, t);
      case "call":
        return this.#called(record, id, t);
      case "intent":
        return this.#change(id, (span) => ({ ...span, startMs: t, status: "running" }));
      case "outcome":
        return this.#ended(record, id, t);
      case "question":
        return this.#put(question, {
          kind: "question",
          label: `question: ${textAt(record, "of") ?? ""}`,
          startMs: t,
          status: "waiting",
        });
      case "answered": {
        const by = textAt(objectAt(record, "by"), "name");
        return this.#change(question, (span) => ({
          ...span,
          endMs: t,
          status: "done",
          output: written(record["answer"]),
          ...defined({ note: by && `answered by ${by}` }),
        }));
      }
      case "usage":
        return this.#used(objectAt(record, "usage"));
      case "end":
        return this.#finish(t, textAt(record, "stopReason") ?? "");
      case "error":
        return this.#finish(t, `failed: ${textAt(record, "message") ?? ""}`);
      default:
        break;
    }
  }

  #begin(record: JsonObject, t: number): void {
    const parts: readonly Part[] = listAt(record, "content").map((block) => partOf(block, this.#blobs));
    this.groups.push({ title: plainText(parts), startMs: t, spans: [] });
    this.#askedMs = record["isCommand"] === true ? undefined : t;
  }

  #answered(record: JsonObject, t: number): void {
    const calls = objectsAt(record, "toolCalls").map((call) => `→ ${textAt(call, "name") ?? "a tool"}`);
    const output = [textAt(record, "text") ?? "", ...calls].filter((text) => text !== "").join("\n");
    this.#put(`model-${this.#count}`, {
      kind: "model",
      label: "model",
      startMs: this.#askedMs ?? t,
      endMs: t,
      status: "done",
      output,
    });
    this.#askedMs = undefined;
  }

  #called(record: JsonObject, id: string, t: number): void {
    const tool = objectAt(objectAt(record, "subject"), "tool");
    const label = textAt(tool, "label") ?? textAt(objectAt(record, "subject"), "name") ?? "tool";
    this.#put(id, { kind: "tool", label, startMs: t, status: "pending", ...defined({ input: record["arguments"] }) });
  }

  #ended(record: JsonObject, id: string, t: number): void {
    const outcome = objectAt(record, "outcome");
    const kind = textAt(outcome, "kind") ?? "";
    const parts = listAt(outcome, "content").map((block) => partOf(block, this.#blobs));
    const output = textAt(outcome, "reason") ?? plainText(parts);
    this.#change(id, (span) => ({ ...span, endMs: t, status: kind, output }));
    this.#open.delete(id);
    if (![...this.#open.values()].some(({ group, at }) => group.spans[at]?.kind === "tool")) this.#askedMs = t;
  }

  #used(usage: JsonObject): void {
    const group = this.groups.at(-1);
    const at = group?.spans.findLastIndex(({ kind }) => kind === "model") ?? -1;
    const span = group?.spans[at];
    const [input = 0, output = 0] = [numberAt(usage, "inputTokens"), numberAt(usage, "outputTokens")];
    if (group && span && input + output > 0) group.spans[at] = { ...span, note: `${input} tokens in, ${output} out` };
  }

  #finish(t: number, note: string): void {
    const group = this.groups.at(-1);
    if (!group || group.endMs !== undefined) return;
    group.endMs = t;
    if (note !== "end_turn") group.note = note;
    this.#askedMs = undefined;
    this.#open.clear();
  }

  #put(id: string, span: Omit<Span, "id">): void {
    const group = this.groups.at(-1) ?? { title: "", startMs: span.startMs, spans: [] };
    if (this.groups.length === 0) this.groups.push(group);
    this.#count += 1;
    group.spans.push({ id: `${this.#count}`, ...span });
    if (span.endMs === undefined) this.#open.set(id, { group, at: group.spans.length - 1 });
  }

  #change(id: string, change: (span: Span) => Span): void {
    const place = this.#open.get(id);
    const span = place?.group.spans[place.at];
    if (place && span) place.group.spans[place.at] = change(span);
  }
}

/** How long each server took until it was ready; when that was is not known. */
export function serverStarts(servers: readonly JsonObject[]): readonly SpanGroup[] {
  const spans = servers.flatMap((server): Span[] => {
    const [name = "", took] = [textAt(server, "name"), numberAt(server, "connectMs")];
    const [status, output] = [textAt(server, "state") ?? "", textAt(server, "error")];
    if (took === undefined && status !== "failed") return [];
    return [{ id: name, kind: "server", label: name, startMs: 0, endMs: took ?? 0, status, ...defined({ output }) }];
  });
  return spans.length === 0 ? [] : [{ title: "Server starts", startMs: 0, spans }];
}

/** Where a span lies in its group, in thousandths of the whole; what is too short to be seen is a sliver. */
export function placeOf(
  span: Pick<Span, "startMs" | "endMs">,
  range: { readonly startMs: number; readonly endMs: number },
): { readonly x: number; readonly width: number } {
  const whole = Math.max(1, range.endMs - range.startMs);
  const clamp = (value: number) => Math.min(1_000, Math.max(0, value));
  const x = clamp(((span.startMs - range.startMs) / whole) * 1_000);
  const end = clamp((((span.endMs ?? range.endMs) - range.startMs) / whole) * 1_000);
  const width = Math.max(4, end - x);
  return { x: Math.min(x, 1_000 - width), width };
}

/** From the first beginning to the last end; `nowMs` for what still runs. */
export function rangeOf(group: SpanGroup, nowMs: number): { readonly startMs: number; readonly endMs: number } {
  const isRunning = group.endMs === undefined && group.spans.some(({ endMs }) => endMs === undefined);
  const ends = group.spans.map(({ startMs, endMs }) => endMs ?? startMs);
  const startMs = Math.min(group.startMs, ...group.spans.map((span) => span.startMs));
  return { startMs, endMs: Math.max(startMs + 1, group.endMs ?? 0, isRunning ? nowMs : 0, ...ends) };
}

const KINDS: readonly Span["kind"][] = ["model", "tool", "server", "question", "other"];

/** Groups that were written as JSON. */
export function spanGroupsOf(value: JsonValue): readonly SpanGroup[] {
  return (Array.isArray(value) ? value : []).map((group) => ({
    title: textAt(group, "title") ?? "",
    startMs: numberAt(group, "startMs") ?? 0,
    spans: objectsAt(group, "spans").map(spanOf),
    ...defined({ endMs: numberAt(group, "endMs"), note: textAt(group, "note") }),
  }));
}

function spanOf(span: JsonObject): Span {
  const kind = textAt(span, "kind");
  return {
    id: textAt(span, "id") ?? "",
    kind: KINDS.find((known) => known === kind) ?? "other",
    label: textAt(span, "label") ?? "",
    startMs: numberAt(span, "startMs") ?? 0,
    status: textAt(span, "status") ?? "",
    ...defined({
      endMs: numberAt(span, "endMs"),
      input: span["input"],
      output: textAt(span, "output"),
      note: textAt(span, "note"),
    }),
  };
}
