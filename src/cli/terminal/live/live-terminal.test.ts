// The live terminal with streams and a clock in the test's hands: what it leaves behind, and when a key is an answer.
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { type Clock, createPalette } from "../stream.js";
import { InputHistory } from "./history.js";
import { InputLine } from "./input-line.js";
import { LiveTerminal, type Overlay } from "./live-terminal.js";
import { Menu } from "./menu.js";

class Keyboard extends PassThrough {
  isRaw = false;

  setRawMode(isRaw: boolean): void {
    this.isRaw = isRaw;
  }
}

/** Stands still until the test moves it. */
class HandClock implements Clock {
  #now = 0;
  #timers: { at: number; readonly run: () => void; readonly every?: number }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    return this.#add({ at: this.#now + ms, run });
  }

  every(ms: number, run: () => void): () => void {
    return this.#add({ at: this.#now + ms, run, every: ms });
  }

  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      if (next.every === undefined) this.#timers = this.#timers.filter((timer) => timer !== next);
      else next.at += next.every;
      next.run();
    }
    this.#now = end;
  }

  #add(timer: { at: number; readonly run: () => void; readonly every?: number }): () => void {
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((other) => other !== timer));
  }
}

class Fixture {
  readonly clock: HandClock = new HandClock();
  readonly input: Keyboard = new Keyboard();
  readonly live: LiveTerminal;
  readonly signal: AbortSignal = new AbortController().signal;
  written = "";

  constructor() {
    const output = new PassThrough();
    output.setEncoding("utf8").on("data", (text: string) => (this.written += text));
    this.live = new LiveTerminal({
      input: this.input,
      output,
      palette: createPalette(false),
      clock: this.clock,
      history: new InputHistory(undefined),
      hasInputLine: true,
    });
    this.live.start();
  }

  type(text: string): void {
    this.input.emit("data", text);
  }

  choose(): { answer: number | undefined } {
    const got: { answer: number | undefined } = { answer: undefined };
    const menu = { title: "Allow?", choices: [{ label: "Yes", key: "y" }, { label: "No" }] };
    this.live.choose(menu, this.signal).then(
      (answer) => (got.answer = answer),
      () => {},
    );
    return got;
  }
}

const settled = async () => await new Promise((resolve) => setImmediate(resolve));

describe("LiveTerminal", () => {
  it("gives the terminal back, and draws on, whatever a part throws", () => {
    const { live, clock, input } = new Fixture();
    const hide = live.show("answer", {
      render: () => {
        throw new RangeError("too deep");
      },
    });
    expect(() => clock.pass(100)).toThrow("too deep");
    hide();
    let drawn = 0;
    live.show("answer", { render: () => [`drawn ${(drawn += 1)}`] });
    clock.pass(100);
    expect(drawn).toBeGreaterThan(0);
    live.show("answer", {
      render: () => {
        throw new RangeError("too deep");
      },
    });
    live.stop();
    expect(input.isRaw).toBe(false);
  });

  it("keeps lines that came behind a full window when it is stopped", () => {
    const fixture = new Fixture();
    const { live } = fixture;
    live.open({ render: () => ["all of it"], press: () => true });
    live.commit(["the end of the answer"]);
    fixture.written = "";
    live.stop();
    const [before, behind = ""] = fixture.written.split("\u001b[?1049l");
    expect(before).toBe("");
    expect(behind).toContain("the end of the answer");
  });

  it("draws what is asked for again and again while the spinner turns with its turns only", () => {
    const { live, clock } = new Fixture();
    let drawn = 0;
    live.show("answer", { render: () => [`drawn ${(drawn += 1)}`] });
    live.spin();
    clock.pass(80);
    drawn = 0;
    for (let ms = 0; ms < 800; ms += 4) {
      live.draw();
      clock.pass(4);
    }
    expect(drawn).toBe(10);
  });

  it("takes no key for an answer while something hides the question, nor just after that", async () => {
    const fixture = new Fixture();
    const { live, clock } = fixture;
    const overlay: Overlay = { render: () => [], press: (key) => key.kind !== "key" };
    live.open(overlay);
    const got = fixture.choose();
    clock.pass(2_000);
    fixture.type("\r"); // leaves the overlay
    fixture.type("y");
    clock.pass(300);
    fixture.type("y");
    await settled();
    expect(got.answer).toBeUndefined();
    clock.pass(500);
    live.open(overlay);
    fixture.type("\r");
    fixture.type("y");
    await settled();
    expect(got.answer).toBeUndefined();
    clock.pass(500);
    await live.outside(async () => clock.pass(2_000));
    fixture.type("y");
    await settled();
    expect(got.answer).toBeUndefined();
    clock.pass(1_000);
    fixture.type("y");
    await settled();
    expect(got.answer).toBe(0);
  });

  it("takes keys at once only for the next field of the same form", async () => {
    const fixture = new Fixture();
    const { live, clock, signal } = fixture;
    const got = fixture.choose();
    clock.pass(500);
    fixture.type("y");
    await settled();
    expect(got.answer).toBe(0);
    const next = live.question("name › ", { signal, isNext: true });
    fixture.type("a\r");
    expect(await next).toBe("a");
    let other: string | undefined;
    live.question("of another › ", { signal }).then(
      (text) => (other = text),
      () => {},
    );
    fixture.type("b\r");
    await settled();
    expect(other).toBeUndefined();
    expect(fixture.written).not.toContain("of another ›"); // a prompt is there once keys count
    clock.pass(500);
    expect(fixture.written).toContain("of another ›");
    fixture.type("c\r");
    await settled();
    expect(other).toBe("c");
  });

  it("ends a paste of which nothing more comes", () => {
    const fixture = new Fixture();
    fixture.type("\u001b[200~pasted");
    fixture.clock.pass(900);
    expect(fixture.live.line.editor.whole).toBe("");
    fixture.clock.pass(200);
    expect(fixture.live.line.editor.whole).toBe("pasted");
  });
});

describe("Menu", () => {
  const choices = ["Allow once", "Always allow exactly this command in this project", "No", "Never allow it"];
  const menu = new Menu({ title: "Your answer:", choices: choices.map((label) => ({ label })) }, createPalette(false));
  const press = (name: string) => menu.press({ kind: "key", name, ctrl: false, alt: false, shift: false });

  it("shows the answer that Enter chooses, however small the window", () => {
    menu.isArmed = true;
    for (const rows of [1, 3, 4, 6, 20]) {
      for (const [index, label] of choices.entries()) {
        const lines = menu.render(20, { rows, canStop: true });
        const shown = lines.join(" ").replaceAll(/\s+/gu, " ");
        expect(shown, `${rows} rows`).toContain(`❯ ${index + 1}. ${label}`);
        if (rows >= 7) expect(lines.length).toBeLessThanOrEqual(rows);
        press("down");
      }
    }
  });

  it("leaves nothing of an answer out, a word longer than the window neither", () => {
    const label = `Always allow exactly "touch ${"a/long/path/".repeat(8)}end" in this project`;
    const one = new Menu({ title: "", choices: [{ label }] }, createPalette(false));
    const lines = one.render(30, { rows: 20, canStop: false });
    for (const line of lines.slice(1, -1)) expect(line.length).toBeLessThanOrEqual(30);
    expect(lines.join("").replaceAll(/\s+/gu, "")).toContain(label.replaceAll(" ", ""));
  });

  it("says which of how many it is where not all fit", () => {
    expect(menu.render(20, { rows: 6, canStop: false }).at(-1)).toBe("  1 of 4 · ↑ ↓ and Enter, or a number");
    expect(menu.render(80, { rows: 20, canStop: true }).at(-1)).toBe(
      "  ↑ ↓ and Enter, or a number; Esc stops the turn",
    );
  });
});

it("a backspace in the search of the history takes a whole character", () => {
  const history = new InputHistory(undefined);
  history.add("greet the family 👨‍👩‍👧");
  const line = new InputLine({
    palette: createPalette(false),
    history,
    sources: { commands: () => [], files: () => [] },
  });
  const press = (name: string, ctrl: boolean = false) =>
    line.press({ kind: "key", name, ctrl, alt: false, shift: false });
  press("r", true);
  line.press({ kind: "text", text: "family 👨‍👩‍👧👨‍👩‍👧" });
  expect(line.render(80, 20).lines.join()).not.toContain("greet");
  press("backspace");
  expect(line.render(80, 20).lines.join()).toContain("greet the family");
});
