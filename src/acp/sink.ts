// The writing end of a `Stream` for the SDK, as far as it uses one: a function, without the queue that the wire has itself.
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";

type Sink = Stream["writable"];

/**
 * The SDK takes a writer for each message and waits for the write. A `WritableStream` makes and rejects two promises for
 * every writer that is let go, which was a third of what an update cost.
 */
export function messageSink(write: (message: AnyMessage) => void): Sink {
  const done = Promise.resolve();
  const never = new Promise<undefined>(() => {});
  const end = () => done;
  const writer: ReturnType<Sink["getWriter"]> = {
    closed: never,
    ready: Promise.resolve(undefined),
    desiredSize: 1,
    write: (message) => {
      if (message !== undefined) write(message);
      return done;
    },
    close: end,
    abort: end,
    releaseLock: () => {},
  };
  return { locked: false, getWriter: () => writer, close: end, abort: end };
}
