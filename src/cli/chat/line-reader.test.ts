// Questions in plain mode: lines and numbers, and not one escape sequence.
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { ManualClock, Written } from "../../../test/chat.js";
import { LineReader } from "./line-reader.js";

class Keyboard {
  readonly output: Written = new Written(true);
  readonly input: PassThrough & { isTTY: boolean };
  readonly clock: ManualClock = new ManualClock();
  readonly reader: LineReader;

  constructor(isTTY = false) {
    this.input = Object.assign(new PassThrough(), { isTTY });
    this.reader = new LineReader({ input: this.input, output: this.output.stream, clock: this.clock });
  }

  ask(isFresh = false, signal: AbortSignal = new AbortController().signal): Promise<string | undefined> {
    return this.reader.question("› ", { signal, isFresh });
  }
}

describe("LineReader", () => {
  it("reads a line, and writes nothing but the question", async () => {
    const keyboard = new Keyboard();
    const answer = keyboard.ask();
    keyboard.input.write("hello\n");
    expect(await answer).toBe("hello");
    expect(keyboard.output.text).toBe("› ");
  });

  it("takes none of several pasted lines for a command of the shell", async () => {
    const keyboard = new Keyboard();
    const answer = keyboard.ask();
    keyboard.input.write("![badge](x)\n!rm -rf .\nend\n");
    expect([await answer, await keyboard.ask(), await keyboard.ask()]).toEqual([" ![badge](x)", " !rm -rf .", "end"]);
    const alone = keyboard.ask();
    keyboard.input.write("!ls\n");
    expect(await alone).toBe("!ls");
  });

  it("puts the question back below what is written in between", async () => {
    const keyboard = new Keyboard();
    const answer = keyboard.ask();
    await keyboard.output.until("› ");
    keyboard.reader.interject(() => keyboard.output.stream.write("a notice\n"));
    await keyboard.output.until("› ", 2);
    expect(keyboard.output.text).toBe("› \na notice\n› ");
    keyboard.input.write("whole\n");
    expect(await answer).toBe("whole");
  });

  it("gives no answer at the end of the input or when it is aborted, and ends the line", async () => {
    const keyboard = new Keyboard();
    const cancel = new AbortController();
    const aborted = keyboard.ask(true, cancel.signal);
    cancel.abort();
    expect(await aborted).toBeUndefined();
    expect(await keyboard.ask(false, cancel.signal)).toBeUndefined();
    const ended = keyboard.ask();
    keyboard.input.end();
    expect(await ended).toBeUndefined();
    expect(keyboard.output.text.endsWith("\n")).toBe(true);
  });

  it("offers numbered answers, and asks again for what is none of them", async () => {
    const keyboard = new Keyboard();
    const choices = [
      { label: "Allow once", key: "y" },
      { label: "No", key: "n" },
    ];
    const signal = new AbortController().signal;
    const answer = keyboard.reader.choose({ title: "Your answer:", choices }, { signal });
    await keyboard.output.until("Answer 1 to 2 › ");
    keyboard.input.write("3\n");
    await keyboard.output.until("Please answer with a number from 1 to 2.");
    keyboard.input.write("2\n");
    expect(await answer).toBe(1);
    expect(keyboard.output.lines.slice(0, 3)).toEqual(["Your answer:", "  1. Allow once", "  2. No"]);
    const byKey = keyboard.reader.choose({ title: "Again:", choices }, { signal });
    keyboard.input.write("y\n");
    expect(await byKey).toBe(0);
  });

  it("takes no line for an answer that was typed before the question or just after it, at a terminal", async () => {
    const keyboard = new Keyboard(true);
    const choices = [{ label: "Allow once" }, { label: "No" }];
    const { signal } = new AbortController();
    keyboard.input.write("1\n");
    const answer = keyboard.reader.choose({ title: "Your answer:", choices }, { signal });
    await keyboard.output.until("not taken as its answer");
    keyboard.input.write("1\n");
    await keyboard.output.until("not taken as its answer", 2);
    keyboard.clock.expire();
    await new Promise((resolve) => setImmediate(resolve));
    keyboard.input.write("2\n");
    expect(await answer).toBe(1);
    expect(await keyboard.ask()).toBe("1");
    expect(await keyboard.ask()).toBe("1");
  });
});
