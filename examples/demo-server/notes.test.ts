// The notebook keeps notes in order and finds them by their words.
import { describe, expect, it } from "vitest";
import { formatNotes, Notebook } from "./notes.js";

describe("Notebook", () => {
  it("numbers notes in the order they were added and trims them", () => {
    const notebook = new Notebook();
    notebook.add("  buy milk ");
    notebook.add("call Ada");
    expect(formatNotes(notebook.all)).toBe("1. buy milk\n2. call Ada");
  });

  it("finds notes that contain every word of the query, whatever the order and case", () => {
    const notebook = new Notebook();
    notebook.add("Buy milk on Monday");
    notebook.add("Buy bread");
    expect(notebook.search("MONDAY buy").map((note) => note.id)).toEqual([1]);
    expect(notebook.search("buy").map((note) => note.id)).toEqual([1, 2]);
    expect(notebook.search("cheese")).toEqual([]);
  });

  it("refuses an empty note and an empty search", () => {
    const notebook = new Notebook();
    expect(() => notebook.add(" \n")).toThrow("needs some text");
    expect(() => notebook.search(" ")).toThrow("at least one word");
    expect(notebook.all).toEqual([]);
  });

  it("refuses more notes than it holds", () => {
    const notebook = new Notebook();
    for (let count = 0; count < 1_000; count += 1) notebook.add(`note ${count}`);
    expect(() => notebook.add("one more")).toThrow("full");
  });
});
