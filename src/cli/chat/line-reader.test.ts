// Questions at a real terminal's keyboard: keys, history, interruptions, and the mode the terminal is left in.
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Written } from "../../../test/chat.js";
import { LineReader } from "./line-reader.js";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const UP = "\u001b[A";

class Keyboard {
  readonly output: Written = new Written(true);
  readonly modes: boolean[] = [];
  readonly input: PassThrough & { isTTY: boolean; setRawMode: (isRaw: boolean) => void };
  readonly reader: LineReader;
  interrupts = 0;

  constructor() {
    this.input = Object.assign(new PassThrough(), {
      isTTY: true,
      setRawMode: (isRaw: boolean) => this.modes.push(isRaw),
    });
    this.reader = new LineReader({
      input: this.input,
      output: this.output.stream,
      onInterrupt: () => {
        this.interrupts += 1;
      },
    });
  }

  ask(isFresh = false, signal: AbortSignal = new AbortController().signal): Promise<string | undefined> {
    return this.reader.question("› ", { signal, isFresh });
  }
}

describe("LineReader at a terminal", () => {
  it("reads a line and gives the terminal back in its normal mode", async () => {
    const keyboard = new Keyboard();
    const answer = keyboard.ask();
    keyboard.input.write("hello\r");
    expect(await answer).toBe("hello");
    expect(keyboard.modes).toEqual([true, false]);
  });

  it("remembers prompts across questions, and consent never", async () => {
    const keyboard = new Keyboard();
    const prompt = keyboard.ask();
    keyboard.input.write("first prompt\r");
    await prompt;
    const consent = keyboard.ask(true);
    keyboard.input.write("y\r");
    await consent;
    const again = keyboard.ask();
    keyboard.input.write(`${UP}\r`);
    expect(await again).toBe("first prompt");
  });

  it("reports Ctrl-C as an interrupt, keeps the question open, and can throw away what was typed", async () => {
    const keyboard = new Keyboard();
    const answer = keyboard.ask();
    keyboard.input.write(`half typed${CTRL_C}`);
    await keyboard.output.until("half typed");
    await new Promise(setImmediate);
    expect(keyboard.interrupts).toBe(1);
    keyboard.reader.clear();
    keyboard.input.write("whole\r");
    expect(await answer).toBe("whole");
  });

  it("puts the question back below what is written in between, with what was typed so far", async () => {
    const keyboard = new Keyboard();
    const answer = keyboard.ask();
    keyboard.input.write("half");
    await keyboard.output.until("half");
    keyboard.reader.interject(() => keyboard.output.stream.write("a notice\n"));
    await keyboard.output.until("half", 2);
    expect(keyboard.output.text.split("a notice\n")[1]).toContain("› half");
    keyboard.input.write("\r");
    expect(await answer).toBe("half");
  });

  it("gives no answer at Ctrl-D or when it is aborted, and ends the line", async () => {
    const keyboard = new Keyboard();
    const ended = keyboard.ask();
    keyboard.input.write(CTRL_D);
    expect(await ended).toBeUndefined();
    const cancel = new AbortController();
    const aborted = keyboard.ask(true, cancel.signal);
    cancel.abort();
    expect(await aborted).toBeUndefined();
    expect(await keyboard.ask(false, cancel.signal)).toBeUndefined();
    expect(keyboard.output.text.endsWith("\n")).toBe(true);
    expect(keyboard.modes.at(-1)).toBe(false);
  });
});
