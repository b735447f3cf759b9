// Order, bounds and endings of the channel, against a plain array as the model.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Channel } from "./channel.js";

/** Lets every promise that can settle do so: microtasks all run before the next macrotask. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function drain<T>(channel: Channel<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of channel) items.push(item);
  return items;
}

describe("a channel", () => {
  test("refuses a capacity below one", () => {
    for (const capacity of [0, -1, Number.NaN]) expect(() => new Channel(capacity)).toThrow(RangeError);
  });

  test("hands items over in order, undefined, null and false included", async () => {
    const channel = new Channel<unknown>(10);
    const items = [undefined, null, false, 0, "", "x"];
    for (const item of items) channel.offer(item);
    channel.close();
    expect(await drain(channel)).toEqual(items);
  });

  test("lets a sender wait while it is full, and only then", async () => {
    const channel = new Channel<number>(2);
    expect(await channel.send(1)).toBe(true);
    expect(await channel.send(2)).toBe(true);
    let isSent = false;
    const third = channel.send(3).then((isQueued) => (isSent = isQueued));
    await settled();
    expect([isSent, channel.size]).toEqual([false, 2]);
    const reader = channel[Symbol.asyncIterator]();
    expect(await reader.next()).toEqual({ done: false, value: 1 });
    await third;
    expect([isSent, channel.size]).toEqual([true, 2]);
  });

  test("keeps the order of senders that do not wait for each other", async () => {
    const channel = new Channel<number>(1);
    const sent = [channel.send(1), channel.send(2), channel.send(3)];
    const reader = channel[Symbol.asyncIterator]();
    const first = await reader.next();
    sent.push(channel.send(4)); // comes while the freed place has just been given to 2
    const rest = [await reader.next(), await reader.next(), await reader.next()];
    expect([first, ...rest].map((result) => result.value)).toEqual([1, 2, 3, 4]);
    expect(await Promise.all(sent)).toEqual([true, true, true, true]);
  });

  test("queues an offered item over the capacity, behind what was sent before it", async () => {
    const channel = new Channel<number>(1);
    const sent = [channel.send(1), channel.send(2)];
    expect(channel.offer(3)).toBe(true);
    expect(channel.size).toBe(3);
    expect(await Promise.all(sent)).toEqual([true, true]);
    channel.close();
    expect(await drain(channel)).toEqual([1, 2, 3]);
  });

  test("still gives what is queued after close, and nothing that comes later", async () => {
    const channel = new Channel<number>(1);
    channel.offer(1);
    const waiting = channel.send(2);
    channel.close();
    expect(await waiting).toBe(false);
    expect(await channel.send(3)).toBe(false);
    expect(channel.offer(4)).toBe(false);
    expect(channel.isClosed).toBe(true);
    expect(await drain(channel)).toEqual([1]);
    expect(await drain(channel)).toEqual([]);
  });

  test("wakes a waiting reader for an item and for the end", async () => {
    const channel = new Channel<number>(1);
    const all = drain(channel);
    await settled();
    channel.offer(1);
    await settled();
    channel.close();
    expect(await all).toEqual([1]);
  });

  test("frees waiting senders when its reader leaves the loop, and drops the rest", async () => {
    const channel = new Channel<number>(1);
    channel.offer(1);
    const waiting = channel.send(2);
    const later = channel.send(3);
    for await (const item of channel) {
      expect(item).toBe(1);
      break;
    }
    expect(await waiting).toBe(true); // it got the place of 1 before the reader left
    expect(await later).toBe(false);
    expect([channel.isClosed, channel.size]).toEqual([true, 0]);
  });

  test("lets its reader leave while it waits for an item", async () => {
    const channel = new Channel<number>(1);
    const reader = channel[Symbol.asyncIterator]();
    const pending = reader.next();
    expect(await reader.return()).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(channel.offer(1)).toBe(false);
  });

  test("frees its senders when the reader leaves before the first item", async () => {
    const channel = new Channel<number>(1);
    channel.offer(1);
    const waiting = channel.send(2);
    await channel[Symbol.asyncIterator]().return();
    expect(await waiting).toBe(false);
  });

  test("closes when its reader is disposed of or fails", async () => {
    const disposed = new Channel<number>(1);
    {
      await using reader = disposed[Symbol.asyncIterator]();
      expect(reader).toBe(reader[Symbol.asyncIterator]());
    }
    expect(disposed.isClosed).toBe(true);
    const failed = new Channel<number>(1);
    await expect(failed[Symbol.asyncIterator]().throw(new Error("no"))).rejects.toThrow("no");
    expect(failed.isClosed).toBe(true);
  });

  test("gives each item to one of several pending reads, in order", async () => {
    const channel = new Channel<number>(1);
    const reader = channel[Symbol.asyncIterator]();
    const reads = Promise.all([reader.next(), reader.next(), reader.next()]);
    channel.offer(1);
    channel.offer(2);
    channel.close();
    expect((await reads).map((result) => result.value)).toEqual([1, 2, undefined]);
  });

  test("takes a long backlog in linear time", async () => {
    const channel = new Channel<number>(1);
    const count = 500_000;
    for (let item = 0; item < count; item++) channel.offer(item);
    channel.close();
    let next = 0;
    for await (const item of channel) if (item !== next++) throw new Error(`got ${item} out of order`);
    expect(next).toBe(count);
  });

  test("is a queue, whatever is sent, offered and read in whatever order", async () => {
    const step = fc.constantFrom("send" as const, "offer" as const, "read" as const, "turn" as const);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), async (capacity, steps) => {
        const channel = new Channel<number>(capacity);
        const reader = channel[Symbol.asyncIterator]();
        const sends: Promise<boolean>[] = [];
        const reads: Promise<IteratorResult<number, void>>[] = [];
        let count = 0;
        let hasOffered = false;
        for (const kind of steps) {
          if (kind === "send") sends.push(channel.send(count++));
          else if (kind === "offer") hasOffered = channel.offer(count++);
          else if (kind === "read") reads.push(reader.next());
          else await settled();
          if (!hasOffered) expect(channel.size).toBeLessThanOrEqual(capacity);
        }
        while (reads.length < count) reads.push(reader.next());
        const values = (await Promise.all(reads.slice(0, count))).map((result) => result.value);
        expect(values).toEqual(Array.from({ length: count }, (_, index) => index));
        expect(await Promise.all(sends)).not.toContain(false);
        channel.close();
        for (const read of reads.slice(count)) expect((await read).done).toBe(true);
      }),
    );
  });
});
