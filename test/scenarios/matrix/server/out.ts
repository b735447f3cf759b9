// Where a bad server writes: a stream of lines, a stream of events, or the body of one HTTP answer.
import type { ServerResponse } from "node:http";
import type { JsonObject } from "../../../../src/base/json/json.js";

export interface Out {
  /** A whole message, in the way of the transport. */
  message(message: JsonObject): Promise<void>;
  /** The beginning of a message that is then written raw, and its end. */
  open(): Promise<void>;
  shut(): Promise<void>;
  /** Bytes as they are; resolves when there is room for more. */
  raw(bytes: Uint8Array | string): Promise<void>;
  /** Writes half-way and is gone. */
  cut(): void;
}

interface Sink {
  write(bytes: Uint8Array | string): boolean;
  once(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
  readonly destroyed: boolean;
}

async function writeTo(sink: Sink, bytes: Uint8Array | string): Promise<void> {
  if (sink.destroyed || sink.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      sink.off("drain", done);
      sink.off("close", done);
      resolve();
    };
    sink.once("drain", done);
    sink.once("close", done);
  });
}

/** One message after the other, as from any server: what is said while one is being written waits for its end. */
export function lineOut(): Out {
  let turn: Promise<void> = Promise.resolve();
  let shutOne: () => void = () => {};
  const raw = (bytes: Uint8Array | string) => writeTo(process.stdout, bytes);
  const open = async () => {
    const before = turn;
    let done = () => {};
    turn = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    shutOne = done;
  };
  const shut = async () => {
    await raw("\n");
    shutOne();
  };
  const message = async (message: JsonObject) => {
    await open();
    await raw(JSON.stringify(message));
    await shut();
  };
  return { message, open, shut, raw, cut: () => process.exit(9) };
}

/** `response` has its head already. `ids` numbers the events, so that a client may ask to resume. */
export function eventOut(response: ServerResponse, ids?: string): Out {
  let count = 0;
  const raw = (bytes: Uint8Array | string) => writeTo(response, bytes);
  const head = () => (ids === undefined ? "data: " : `id: ${ids}-${++count}\ndata: `);
  return {
    message: (message) => raw(`${head()}${JSON.stringify(message)}\n\n`),
    open: () => raw(head()),
    shut: () => raw("\n\n"),
    raw,
    cut: () => response.destroy(),
  };
}

/** The answer as plain JSON: one message, whatever is written first. */
export function bodyOut(response: ServerResponse): Out {
  const head = () => {
    if (!response.headersSent) response.writeHead(200, { "content-type": "application/json" });
  };
  const raw = async (bytes: Uint8Array | string) => {
    head();
    await writeTo(response, bytes);
  };
  return {
    message: async (message) => {
      head();
      if (!response.writableEnded) response.end(JSON.stringify(message));
    },
    open: async () => head(),
    shut: async () => {
      response.end();
    },
    raw,
    cut: () => response.destroy(),
  };
}
