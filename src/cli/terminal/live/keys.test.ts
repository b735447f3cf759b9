// Keys as terminals really send them, in whatever pieces they arrive.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Key, KeyDecoder } from "./keys.js";

function decode(...chunks: readonly string[]): Key[] {
  const decoder = new KeyDecoder();
  return [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.flush()];
}

function names(...chunks: readonly string[]): string[] {
  return decode(...chunks).map((key) => {
    if (key.kind !== "key") return key.kind === "focus" ? `focus ${key.isFocused}` : `${key.kind} ${key.text}`;
    return `${key.ctrl ? "ctrl-" : ""}${key.alt ? "alt-" : ""}${key.shift ? "shift-" : ""}${key.name}`;
  });
}

describe("KeyDecoder", () => {
  it.each([
    ["\r", "enter"],
    ["\n", "ctrl-j"],
    ["\u001b\r", "alt-enter"],
    ["\u001b[13;2u", "shift-enter"],
    ["\u001b[27;2;13~", "shift-enter"],
    ["\u001b[27;5;13~", "ctrl-enter"],
    ["\u0003", "ctrl-c"],
    ["\u001b[99;5u", "ctrl-c"],
    ["\u001b[27u", "escape"],
    ["\u001b", "escape"],
    ["\u001b[Z", "backtab"],
    ["\u001b[9;2u", "backtab"],
    ["\u001b[A", "up"],
    ["\u001bOA", "up"],
    ["\u001b[1;5D", "ctrl-left"],
    ["\u001b[3~", "delete"],
    ["\u007f", "backspace"],
    ["\u001b\u007f", "alt-backspace"],
    ["\u001bb", "alt-b"],
    ["ä🙂", "text ä🙂"],
    ["\u001b[I", "focus true"],
    ["\u001b[97;1u", "text a"],
  ])("reads %j as %s", (bytes, name) => {
    expect(names(bytes)).toEqual([name]);
  });

  it("gives pasted text in one piece, whatever is in it, and however it is cut", () => {
    const text = "one\r\ntwo\u001b[A\u0003\nthree";
    const sent = `a\u001b[200~${text}\u001b[201~b`;
    for (let at = 1; at < sent.length; at += 1) {
      expect(names(sent.slice(0, at), sent.slice(at))).toEqual([
        "text a",
        "paste one\ntwo\u001b[A\u0003\nthree",
        "text b",
      ]);
    }
  });

  it("ends a paste without an end at Ctrl-C alone, when it is flushed, and when it is reset", () => {
    expect(names("\u001b[200~one\r", "two", "\u0003", "x")).toEqual(["paste one\ntwo", "ctrl-c", "text x"]);
    expect(names("\u001b[200~one\rtwo")).toEqual(["paste one\ntwo"]);
    const decoder = new KeyDecoder();
    decoder.push("\u001b[200~one");
    decoder.reset();
    expect(decoder.push("x")).toEqual([{ kind: "text", text: "x" }]);
  });

  it("swallows answers of the terminal, and unknown sequences", () => {
    expect(names("\u001b]11;rgb:0000/0000/0000\u0007x")).toEqual(["text x"]);
    expect(names("\u001b[?62;4cx")).toEqual(["text x"]);
    expect(names("\u001b[57999ux")).toEqual(["text x"]);
  });

  it("never throws, never loops, and keeps nothing for ever, whatever comes", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string({ unit: "binary" }),
            fc.constantFrom("\u001b", "\u001b[", "\u001b[1;", "\u001bO", "\u001b]", "[200~"),
          ),
        ),
        (chunks) => {
          const decoder = new KeyDecoder();
          for (const chunk of chunks) decoder.push(chunk);
          decoder.push("\u001b[201~");
          decoder.push("x".repeat(200));
          decoder.flush();
          decoder.push("\u001b[201~");
          expect(decoder.push("y").length + decoder.flush().length).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});
