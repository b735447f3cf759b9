// The thread in which a long message is split: the messages between it and the main thread, and its side of them.
import { messageOf } from "../../../base/errors.js";
import { MessageSplitter } from "./message-splitter.js";
import { type PartFacts, PartStore, type SlimSettings, type SplitterFiles } from "./slim-parts.js";

export interface SplitterData {
  readonly settings: SlimSettings;
  /** Shared memory through which the bytes come. */
  readonly slots: Uint8Array;
  readonly slotBytes: number;
  readonly folder: string;
  readonly previewBytes: number;
  readonly spillBytes: number;
}

/** The worker's end of the channel between the threads. */
export interface SplitterPort {
  postMessage(message: FromSplitter): void;
  on(event: "message", listener: (message: ToSplitter) => void): unknown;
}

export type ToSplitter =
  | { readonly kind: "chunk"; readonly slot: number; readonly length: number }
  | { readonly kind: "end" }
  /** One more piece of a list, please. */
  | { readonly kind: "next" };

export type FromSplitter =
  | { readonly kind: "taken"; readonly slot: number; readonly length: number }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "skeleton"; readonly text: string; readonly parts: readonly PartFacts[] }
  | { readonly kind: "piece"; readonly list: number; readonly text: string; readonly hasParts: boolean }
  | { readonly kind: "over" };

/** Runs in the thread: answers what the main thread sends over `port`. */
export function runSplitter(port: SplitterPort, data: SplitterData, files: SplitterFiles): void {
  const send = (message: FromSplitter) => port.postMessage(message);
  const pieces: FromSplitter[] = [];
  const store = new PartStore({
    fs: files,
    folder: data.folder,
    previewBytes: data.previewBytes,
    piece: (list, elements, hasParts) => {
      pieces.push({ kind: "piece", list, text: new TextDecoder().decode(elements), hasParts });
    },
  });
  const splitter = new MessageSplitter(data.settings, store);
  const chunk = new Uint8Array(data.slotBytes);
  let bytes = 0;
  const handle = (message: ToSplitter): void => {
    switch (message.kind) {
      case "chunk": {
        const { slot, length } = message;
        const start = slot * data.slotBytes;
        chunk.set(data.slots.subarray(start, start + length)); // decoders take no shared memory
        send({ kind: "taken", slot, length });
        bytes += length;
        if (bytes > data.spillBytes) store.spill();
        splitter.push(chunk.subarray(0, length));
        break;
      }
      case "end":
        send({ kind: "skeleton", text: new TextDecoder().decode(splitter.end()), parts: store.facts() });
        break;
      case "next":
        send(pieces.shift() ?? { kind: "over" });
        break;
    }
  };
  port.on("message", (message: ToSplitter) => {
    try {
      handle(message);
    } catch (thrown) {
      send({ kind: "failed", reason: messageOf(thrown) });
    }
  });
}
