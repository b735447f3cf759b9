// What calls look like in the chat.
import { expect, it } from "vitest";
import { watchEventLoop } from "../../testing/lab/index.js";
import { contentLines } from "./describe.js";

it("leaves out empty lines around a result, and takes one of nothing but blanks as fast", async () => {
  const lines = (text: string) => contentLines([{ type: "content", content: { type: "text", text } }]);
  expect(lines("\n\n  one\n\ntwo \n\n")).toEqual(["  one", "", "two"]);
  expect(lines(" \n ")).toEqual([]);
  const blanks = `a${" ".repeat(60_000)}b`;
  const { value, longestMs } = await watchEventLoop(async () => lines(blanks));
  expect(value).toEqual([blanks]);
  expect(longestMs).toBeLessThan(50);
});
