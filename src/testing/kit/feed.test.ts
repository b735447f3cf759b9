// The record that tests wait on.
import { expect, test } from "vitest";
import { Feed } from "./feed.js";

test("find returns an item recorded before the wait began", async () => {
  const feed = new Feed<number>("number");
  feed.push(1);
  feed.push(2);
  expect(await feed.find((item) => item > 1)).toBe(2);
});

test("find waits for an item that comes later", async () => {
  const feed = new Feed<string>("word");
  const found = feed.find((word) => word.startsWith("b"));
  feed.push("a");
  feed.push("b1");
  feed.push("b2");
  expect(await found).toBe("b1");
});

test("items before `from` do not count, recorded or not", async () => {
  const feed = new Feed<string>("word");
  feed.push("same");
  const second = feed.find((word) => word === "same", { from: 1 });
  const third = feed.find((word) => word === "same", { from: 2 });
  feed.push("same");
  expect(await second).toBe("same");
  feed.push("other");
  feed.push("same");
  expect(await third).toBe("same");
  expect(feed.items).toEqual(["same", "same", "other", "same"]);
});

test("a wait in vain ends with what was seen instead", async () => {
  const feed = new Feed<{ id: number }>("call");
  feed.push({ id: 7 });
  await expect(feed.find(({ id }) => id === 8, { timeoutMs: 1 })).rejects.toThrow(
    'no such call within 1 ms; 1 came, the last: {"id":7}',
  );
  await expect(new Feed<number>("number").find(() => true, { timeoutMs: 1 })).rejects.toThrow("none came");
});

test("whoever waits when the feed ends is told why, and so is whoever asks later", async () => {
  const feed = new Feed<number>("number");
  const waiting = feed.find(() => true);
  feed.end(new Error("the server is gone"));
  await expect(waiting).rejects.toThrow("the server is gone");
  await expect(feed.find(() => true)).rejects.toThrow("the server is gone");
});
