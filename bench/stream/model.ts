// The model of the stream and gateway benches: it streams what the prompt asks for.
import type { Model, ModelMessage } from "../../src/models/index.js";
import { type Order, orderIn } from "./order.js";

/**
 * Chunks in bursts, as the pieces of one packet come: a turn of the microtask queue each, and `gapMs` between two bursts.
 * A chunk says its number, or when it was made.
 */
export async function* chunksOf({ count, gapMs, says, isApart = false }: Order): AsyncGenerator<string, void, void> {
  for (let index = 0; index < count; index++) {
    if (gapMs > 0) await new Promise((resolve) => setTimeout(resolve, gapMs));
    else await (isApart ? new Promise((resolve) => setImmediate(resolve)) : Promise.resolve());
    yield says === "time" ? `${process.hrtime.bigint()}` : `chunk ${index} of a text `;
  }
}

export const streamingModel: Model = {
  id: "bench/stream",
  stream: async function* ({ messages }) {
    for await (const text of chunksOf(orderIn(lastWords(messages)))) yield { kind: "text", text };
    yield { kind: "finish", reason: "stop" };
  },
};

function lastWords(messages: readonly ModelMessage[]): string {
  const last = messages.at(-1);
  return last?.role === "user" ? textIn(last.content) : "";
}

export function textIn(blocks: readonly { readonly type: string; readonly text?: unknown }[]): string {
  return blocks.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}
