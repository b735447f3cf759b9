// A result that came late is put before the model once, whatever happens to the prompt it goes with.
import fc from "fast-check";
import { expect, test } from "vitest";
import { text } from "../../base/text/content.js";
import { markContent } from "../../base/text/marking.js";
import { LateNotes } from "./entry.js";

const note = (toolCallId: string, words = toolCallId) => ({ toolCallId, content: markContent([text(words)]) });

test("a note waits until it is told, and is told once", () => {
  const notes = new LateNotes([note("1-1")]);
  notes.add(note("1-2"));
  expect(notes.waiting).toEqual([note("1-1"), note("1-2")]);
  notes.send(["1-1", "1-2"]);
  expect(notes.waiting).toEqual([]);
});

test("the same note again takes the place of the first", () => {
  const notes = new LateNotes();
  notes.add(note("1-1", "first"));
  notes.add(note("1-1", "again"));
  expect(notes.waiting).toEqual([note("1-1", "again")]);
});

test("notes of a prompt that was dropped go with the next one; those of earlier prompts do not", () => {
  const notes = new LateNotes([note("1-1")]);
  notes.send(["1-1"]);
  notes.send([]);
  notes.takeBack();
  expect(notes.waiting).toEqual([]);
  notes.add(note("2-1"));
  notes.send(["2-1"]);
  notes.takeBack();
  expect(notes.waiting).toEqual([note("2-1")]);
});

test("whatever the order, no note is lost and none is told twice by prompts that were kept", () => {
  const deeds = fc.array(fc.constantFrom("add", "prompt", "dropped prompt"), { maxLength: 40 });
  fc.assert(
    fc.property(deeds, (steps) => {
      const notes = new LateNotes();
      const told: string[] = [];
      let added = 0;
      for (const step of steps) {
        if (step === "add") notes.add(note(String(++added)));
        else {
          const ids = notes.waiting.map(({ toolCallId }) => toolCallId);
          notes.send(ids);
          if (step === "prompt") told.push(...ids);
          else notes.takeBack();
        }
      }
      const all = [...told, ...notes.waiting.map(({ toolCallId }) => toolCallId)];
      expect(all.sort((one, other) => Number(one) - Number(other))).toEqual(
        Array.from({ length: added }, (_, index) => String(index + 1)),
      );
    }),
  );
});
