// The thread in which a long message is taken apart: its script, and what is said between it and the main thread.
import type * as fs from "node:fs";
import type * as threads from "node:worker_threads";
import { MessageSplitter } from "./message-splitter.js";
import { Bytes, type PartFacts, PartStore, type SlimSettings, Unescaper } from "./slim-parts.js";

export interface SlimThreadData {
  readonly settings: SlimSettings;
  /** Shared memory through which the bytes come. */
  readonly slots: Uint8Array;
  readonly slotBytes: number;
  readonly folder: string;
  readonly previewBytes: number;
  readonly spillBytes: number;
}

export type ToSlimThread =
  | { readonly kind: "chunk"; readonly slot: number; readonly length: number }
  | { readonly kind: "end" }
  /** One more piece of a list, please. */
  | { readonly kind: "next" };

export type FromSlimThread =
  | { readonly kind: "taken"; readonly slot: number; readonly length: number }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "skeleton"; readonly text: string; readonly parts: readonly PartFacts[] }
  | { readonly kind: "piece"; readonly list: number; readonly text: string; readonly hasParts: boolean }
  | { readonly kind: "over" };

interface Tools {
  readonly Bytes: typeof Bytes;
  readonly Unescaper: typeof Unescaper;
  readonly PartStore: typeof PartStore;
  readonly MessageSplitter: typeof MessageSplitter;
}

/** Runs in the thread, from its own text: everything it uses comes in as an argument. */
function runSlimThread(
  { parentPort, workerData }: Pick<typeof threads, "parentPort" | "workerData">,
  files: typeof fs,
  tools: Tools,
): void {
  const data: SlimThreadData = workerData;
  const say = (message: FromSlimThread) => parentPort?.postMessage(message);
  const pieces: FromSlimThread[] = [];
  const store = new tools.PartStore({
    fs: files,
    folder: data.folder,
    previewBytes: data.previewBytes,
    unescaper: () => new tools.Unescaper(),
    piece: (list, elements, hasParts) => {
      pieces.push({ kind: "piece", list, text: new TextDecoder().decode(elements), hasParts });
    },
  });
  const splitter = new tools.MessageSplitter({ settings: data.settings, sink: store, bytes: () => new tools.Bytes() });
  const chunk = new Uint8Array(data.slotBytes);
  let bytes = 0;
  const handle = (message: ToSlimThread): void => {
    switch (message.kind) {
      case "chunk": {
        const { slot, length } = message;
        const start = slot * data.slotBytes;
        chunk.set(data.slots.subarray(start, start + length)); // decoders take no shared memory
        say({ kind: "taken", slot, length });
        bytes += length;
        if (bytes > data.spillBytes) store.spill();
        splitter.push(chunk.subarray(0, length));
        break;
      }
      case "end":
        say({ kind: "skeleton", text: new TextDecoder().decode(splitter.end()), parts: store.facts() });
        break;
      case "next":
        say(pieces.shift() ?? { kind: "over" });
        break;
      default:
    }
  };
  parentPort?.on("message", (message: ToSlimThread) => {
    try {
      handle(message);
    } catch (thrown) {
      say({ kind: "failed", reason: thrown instanceof Error ? thrown.message : String(thrown) });
    }
  });
}

/** `__name` is what some compilers wrap functions in; outside of their own modules it does not exist. */
export function slimThreadSource(): string {
  const tools = Object.entries({ Bytes, Unescaper, PartStore, MessageSplitter }).map(
    ([name, tool]) => `${name}:${String(tool)}`,
  );
  return [
    '"use strict";const __name=(value)=>value;',
    `(${String(runSlimThread)})(require("node:worker_threads"),require("node:fs"),{${tools.join(",")}});`,
  ].join("\n");
}
