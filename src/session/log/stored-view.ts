// A session that nobody has in memory, as its journal tells of it: read only, and whoever else has it open.
import { defined } from "../../base/json/defined.js";
import { addUsage, NO_USAGE } from "../../engine/index.js";
import type { ModelUsage } from "../../models/index.js";
import type { JournalEntry } from "../journal/entry.js";
import type { ClientName } from "../ports.js";
import type { SessionStore } from "../store/session-store.js";

export interface StoredView {
  readonly id: string;
  readonly cwd: string;
  readonly title?: string;
  /** Of the last record. */
  readonly seq: number;
  readonly usage: ModelUsage;
  /** Those that nobody has answered. */
  readonly questions: readonly (Omit<QuestionRecord, "kind"> & { readonly askedMs: number })[];
  readonly queued: readonly { readonly promptId: string; readonly by?: ClientName }[];
  /** For people: the process that has it open, if any. */
  readonly owner?: string;
}

type QuestionRecord = Extract<JournalEntry, { readonly kind: "question" }>;

/** Rejects with `session.not_found`. */
export async function storedView(store: SessionStore, id: string): Promise<StoredView> {
  const questions = new Map<string, StoredView["questions"][number]>();
  const queued = new Map<string, StoredView["queued"][number]>();
  let seq = 0;
  let usage = NO_USAGE;
  const place = await store.place(id);
  await store.readAll(id, (record) => {
    ({ seq } = record);
    switch (record.kind) {
      case "usage":
        usage = record.session ?? addUsage(usage, record.usage);
        break;
      case "question": {
        const { of, turn, toolCallId, shown } = record;
        questions.set(record.id, { id: record.id, of, shown, askedMs: record.t, ...defined({ turn, toolCallId }) });
        break;
      }
      case "answered":
        questions.delete(record.id);
        break;
      case "queued":
        queued.set(record.promptId, { promptId: record.promptId, ...defined({ by: record.by }) });
        break;
      case "unqueued":
        queued.delete(record.promptId);
        break;
      case "prompt":
        if (record.promptId !== undefined) queued.delete(record.promptId);
        break;
      case "end":
      case "error":
        questions.clear(); // whoever asked is gone
        break;
      default:
        break;
    }
  });
  const owner = await store.ownerOf(id);
  const { cwd = "", title } = place ?? {};
  const open = { questions: [...questions.values()], queued: [...queued.values()] };
  return { id, cwd, seq, usage, ...open, ...defined({ title, owner }) };
}
