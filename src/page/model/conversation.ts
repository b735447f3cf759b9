// A conversation as a list of items, built from live ACP updates or from the records of a journal.
import { signal } from "@preact/signals";
import { defined } from "../../base/json/defined.js";
import {
  entryOf,
  isObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  tenonMeta,
  textAt,
} from "../wire/json.js";
import { type Blobs, callParts, diffPart, type Part, partOf } from "./parts.js";

export interface ToolCard {
  readonly id: string;
  readonly title: string;
  readonly toolKind: string;
  readonly status: string;
  readonly input?: JsonValue;
  readonly parts: readonly Part[];
  readonly output?: JsonValue;
}

export type Item = { readonly key: number } & (
  | { readonly kind: "user"; readonly parts: readonly Part[]; readonly by?: string }
  | { readonly kind: "agent" | "thought"; readonly text: string }
  | { readonly kind: "tool"; readonly card: ToolCard }
  | { readonly kind: "notice"; readonly severity: string; readonly title: string; readonly description?: string }
  | { readonly kind: "mark"; readonly text: string }
);
type NewItem = Item extends infer Each ? (Each extends Item ? Omit<Each, "key"> : never) : never;

export interface PlanEntry {
  readonly content: string;
  readonly status: string;
}

export interface Usage {
  readonly used: number;
  readonly size: number;
  readonly cost?: number;
}

/** Runs its work before the next picture, so that a burst of updates is one change of the page. */
export type Schedule = (run: () => void) => void;

export class Conversation {
  readonly items = signal<readonly Item[]>([]);
  readonly plan = signal<readonly PlanEntry[]>([]);
  readonly usage = signal<Usage | undefined>(undefined);
  readonly #schedule: Schedule;
  /** What the page itself said needs no name. */
  readonly #ownId: () => string | undefined;
  readonly #places = new Map<string, number>();
  #next: Item[] = [];
  #count = 0;
  #isScheduled = false;

  constructor(schedule: Schedule = (run) => run(), ownId: () => string | undefined = () => undefined) {
    this.#schedule = schedule;
    this.#ownId = ownId;
  }

  clear(): void {
    this.#next = [];
    this.#places.clear();
    this.plan.value = [];
    this.#changed();
  }

  /** One `session/update`. */
  apply(update: JsonObject): void {
    const kind = textAt(update, "sessionUpdate");
    switch (kind) {
      case "user_message_chunk": {
        const by = objectAt(tenonMeta(update), "by");
        const name = textAt(by, "client") === this.#ownId() ? undefined : textAt(by, "name");
        return this.addUser([partOf(update["content"])], name);
      }
      case "agent_message_chunk":
        return this.#words("agent", partOf(update["content"]));
      case "agent_thought_chunk":
        return this.#words("thought", partOf(update["content"]));
      case "tool_call":
      case "tool_call_update":
        return this.#card(update);
      case "plan":
        return this.#plan(objectsAt(update, "entries"));
      case "notice":
        // That a server is ready is shown with the servers.
        if (textAt(update, "severity") === "info" && tenonMeta(update)["mcp"] !== undefined) return;
        return this.#notice(
          textAt(update, "severity") ?? "info",
          textAt(update, "title") ?? "",
          textAt(update, "description"),
        );
      case "compaction_update":
        return this.#compaction(textAt(update, "status") ?? "", textAt(update, "error"));
      case "usage_update":
        return this.#usage(update);
      default:
        break;
    }
  }

  addUser(parts: readonly Part[], by?: string): void {
    const last = this.#next.at(-1);
    if (last?.kind === "user" && last.by === by)
      this.#next[this.#next.length - 1] = { ...last, parts: [...last.parts, ...parts] };
    else this.#push({ kind: "user", parts, ...defined({ by }) });
    this.#changed();
  }

  mark(text: string): void {
    this.#push({ kind: "mark", text });
    this.#changed();
  }

  #words(kind: "agent" | "thought", part: Part): void {
    const text = part.kind === "text" ? part.text : "";
    const last = this.#next.at(-1);
    if (last?.kind === kind) this.#next[this.#next.length - 1] = { ...last, text: last.text + text };
    else this.#push({ kind, text });
    this.#changed();
  }

  #card(update: JsonObject): void {
    const id = textAt(update, "toolCallId") ?? "";
    const at = this.#places.get(id);
    const before = at === undefined ? undefined : this.#next[at];
    const old = before?.kind === "tool" ? before.card : undefined;
    const input = update["rawInput"] ?? old?.input;
    const output = update["rawOutput"] ?? old?.output;
    this.putCard({
      id,
      title: textAt(update, "title") ?? old?.title ?? "",
      toolKind: textAt(update, "kind") ?? old?.toolKind ?? "other",
      status: textAt(update, "status") ?? old?.status ?? "pending",
      parts: update["content"] == null ? (old?.parts ?? []) : callParts(update["content"]),
      ...defined({ input, output }),
    });
  }

  card(id: string): ToolCard | undefined {
    const at = this.#places.get(id);
    const item = at === undefined ? undefined : this.#next[at];
    return item?.kind === "tool" ? item.card : undefined;
  }

  putCard(card: ToolCard): void {
    const at = this.#places.get(card.id);
    const before = at === undefined ? undefined : this.#next[at];
    if (at !== undefined && before) this.#next[at] = { key: before.key, kind: "tool", card };
    else {
      this.#places.set(card.id, this.#next.length);
      this.#push({ kind: "tool", card });
    }
    this.#changed();
  }

  #plan(entries: readonly JsonObject[]): void {
    this.plan.value = entries.map((entry) => {
      return { content: textAt(entry, "content") ?? "", status: textAt(entry, "status") ?? "pending" };
    });
  }

  #notice(severity: string, title: string, description: string | undefined): void {
    this.#push({ kind: "notice", severity, title, ...defined({ description }) });
    this.#changed();
  }

  #compaction(status: string, error: string | undefined): void {
    if (status === "completed") this.mark("the conversation was summarised");
    else if (status === "failed") this.#notice("warning", "The conversation was not summarised", error);
  }

  #usage(update: JsonObject): void {
    const [used = 0, size = 0, cost] = [
      numberAt(update, "used"),
      numberAt(update, "size"),
      numberAt(update["cost"], "amount"),
    ];
    this.usage.value = { used, size, ...defined({ cost }) };
  }

  /** One record of a journal. `blobs`: those of the records before it. */
  applyRecord(record: JsonObject, blobs: Blobs): void {
    switch (textAt(record, "kind")) {
      case "prompt":
        return this.addUser(
          listAt(record, "content").map((block) => partOf(block, blobs)),
          textAt(objectAt(record, "by"), "name"),
        );
      case "text":
        return this.#words("agent", { kind: "text", text: textAt(record, "text") ?? "" });
      case "thought":
        return this.#words("thought", { kind: "text", text: textAt(record, "text") ?? "" });
      case "announced":
      case "call":
      case "look":
        return this.#recordedCall(record);
      case "dropped":
        return this.#recordedEnd(textAt(record, "toolCallId") ?? "", "failed", [
          { kind: "text", text: textAt(record, "reason") ?? "" },
        ]);
      case "outcome":
        return this.#recordedOutcome(textAt(record, "toolCallId") ?? "", objectAt(record, "outcome"), blobs);
      case "plan":
        return this.#plan(objectsAt(record, "entries"));
      case "answered": {
        const name = textAt(objectAt(record, "by"), "name");
        return name === undefined ? undefined : this.mark(answeredText(record["answer"], name));
      }
      case "stopped":
        return this.#notice("warning", textAt(record, "reason") ?? "stopped", undefined);
      case "error":
        return this.#notice("error", textAt(record, "message") ?? "the turn failed", textAt(record, "code"));
      case "end":
        return textAt(record, "stopReason") === "cancelled" ? this.mark("cancelled") : undefined;
      default:
        break;
    }
  }

  #recordedCall(record: JsonObject): void {
    const id = textAt(record, "toolCallId") ?? "";
    const [look, subject] = [objectAt(record, "look"), objectAt(record, "subject")];
    const old = this.card(id);
    const label = textAt(objectAt(subject, "tool"), "label") ?? old?.title ?? textAt(subject, "name");
    const input = record["arguments"] ?? old?.input;
    this.putCard({
      id,
      title: textAt(look, "title") ?? label ?? "",
      toolKind: textAt(look, "kind") ?? old?.toolKind ?? "other",
      status: old?.status ?? "pending",
      parts: isObject(look["diff"]) ? [diffPart(look["diff"])] : (old?.parts ?? []),
      ...defined({ input }),
    });
  }

  #recordedOutcome(id: string, outcome: JsonObject, blobs: Blobs): void {
    const kind = textAt(outcome, "kind") ?? "";
    if (kind === "done" || kind === "failed") {
      const parts = listAt(outcome, "content").map((block) => partOf(block, blobs));
      return this.#recordedEnd(id, kind === "done" ? "completed" : "failed", parts);
    }
    const reason = textAt(outcome, "reason");
    this.#recordedEnd(id, "failed", [{ kind: "text", text: reason === undefined ? kind : `${kind}: ${reason}` }]);
  }

  #recordedEnd(id: string, status: string, parts: readonly Part[]): void {
    const old = this.card(id);
    if (old) this.putCard({ ...old, status, parts: [...old.parts.filter(({ kind }) => kind === "diff"), ...parts] });
  }

  #push(item: NewItem): void {
    this.#count += 1;
    this.#next.push({ ...item, key: this.#count });
  }

  #changed(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.items.value = [...this.#next];
    });
  }
}

/** Who answered a question, and what: "allowed once by phone". */
export function answeredText(answer: JsonValue | undefined, name: string): string {
  const words: Readonly<Record<string, string>> = {
    once: "allowed once",
    always: "allowed always",
    session: "allowed for the session",
    no: "denied",
    never: "denied for good",
    yes: "trusted",
    later: "not decided",
    accept: "filled in",
    decline: "declined",
  };
  const said = typeof answer === "string" ? (entryOf(words, answer) ?? answer) : "answered";
  return `${said} by ${name}`;
}
