// The writer: one write per batch, long parts once, and what cannot be written costs no more than it must.
import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import type { ContentBlock } from "../../base/text/content.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { SESSION_LIMITS } from "../limits.js";
import { FileSessionStore, sessionId } from "../store/file-store.js";
import type { OwnedSession } from "../store/session-store.js";
import type { JournalEntry, JournalRecord } from "./entry.js";
import { BlobWriter, Journal, titleOf, unpack } from "./journal.js";
import { isBlock, readJournal, Unpacking } from "./read-journal.js";

const PATH = "/state/sessions/x.ndjson";

function sinkIn(world: FakeWorld, lost: string[] = []): OwnedSession {
  const owned = new FileSessionStore(world, "/state").create({ id: sessionId("x"), cwd: "/p" });
  owned.onFailing((reason) => lost.push(reason));
  return owned;
}

function journalIn(world: FakeWorld, lost: string[] = []): Journal {
  return new Journal({ world, sink: sinkIn(world, lost) });
}

async function recordsIn(world: FakeWorld): Promise<readonly JournalRecord[]> {
  const records: JournalRecord[] = [];
  const unpacking = new Unpacking();
  await readJournal(world.files, PATH, (record) => records.push(...[unpacking.add(record) ?? []].flat()));
  return records;
}

const image: ContentBlock = {
  type: "image",
  mimeType: "image/png",
  data: "A".repeat(SESSION_LIMITS.journal.blobChars),
};

test("a batch is one write", () => {
  const world = fakeWorld();
  const writes: string[] = [];
  const { openAppend } = world.files;
  world.files.openAppend = (path) => {
    const file = openAppend.call(world.files, path);
    return { ...file, write: (text) => writes.push(text) };
  };
  const journal = journalIn(world);
  journal.append({ kind: "text", text: "a" }, { kind: "text", text: "b" });
  expect(writes).toHaveLength(2); // the header, then both
});

test("long parts of any block are written once and read back as they came", async () => {
  const world = fakeWorld();
  const journal = journalIn(world);
  const long = "größer ".repeat(SESSION_LIMITS.journal.blobChars);
  const content: ContentBlock[] = [
    image,
    { type: "text", text: long },
    { type: "resource", uri: "x:y", text: long },
    { type: "resource", uri: "x:z", blob: `${long}!` },
    { type: "audio", mimeType: "audio/wav", data: `${long}?` },
    { type: "unknown", kind: "tenon:recorded", raw: { block: { type: "text", text: "mine" }, blob: "b" } },
  ];
  const entries: JournalEntry[] = [
    { kind: "prompt", turn: 1, content },
    { kind: "transcript", change: { kind: "added", messages: [{ role: "user", content }] } },
    { kind: "outcome", toolCallId: "1-1", outcome: { kind: "done", content }, elapsedMs: 3 },
    {
      kind: "transcript",
      change: {
        kind: "replaced",
        messages: [0, { role: "tool", results: [{ callId: "c", name: "n", isError: false, content }] }],
      },
    },
  ];
  for (const entry of entries) journal.append(entry);
  expect(await recordsIn(world)).toMatchObject(entries);
  const text = world.files.text(PATH) ?? "";
  expect(text.split("A".repeat(SESSION_LIMITS.journal.blobChars))).toHaveLength(2);
  expect(text.length).toBeLessThan(long.length * 4);
});

test("beyond the room for them a word takes the place of long parts, and one that is lost is named", () => {
  const writer = new BlobWriter({ known: [], bytes: SESSION_LIMITS.journal.blobsBytes });
  const [packed, ...more] = writer.pack({ kind: "prompt", turn: 1, content: [image] }, 0);
  expect(more).toEqual([]);
  expect(JSON.stringify(packed)).toContain("not recorded");
  const [, reference] = new BlobWriter().pack({ kind: "prompt", turn: 1, content: [image] }, 4);
  if (!reference) throw new Error("there is no reference");
  expect(JSON.stringify(unpack(reference, new Map(), isBlock))).toContain("missing from the journal");
});

test("what cannot be written as JSON costs its own record, and the count goes on", async () => {
  const world = fakeWorld();
  const journal = journalIn(world);
  let deep: JsonObject = {};
  for (let depth = 0; depth < 100_000; depth++) deep = { deep };
  journal.append({ kind: "call", toolCallId: "1-1", subject: { name: "n" }, arguments: deep });
  journal.append({ kind: "text", text: "after" });
  expect(await recordsIn(world)).toMatchObject([{ seq: 2, text: "after" }]);
  expect(world.logLines.join()).toContain("journal.unwritable");
});

test("a disk that fails is told once, and what it did not take is written with the next record", async () => {
  const world = fakeWorld();
  const lost: string[] = [];
  const first = sinkIn(world, lost);
  await new Journal({ world, sink: first }).close();
  await first.release();
  const { openAppend } = world.files;
  let isFull = false;
  world.files.openAppend = (path) => {
    const file = openAppend.call(world.files, path);
    return {
      ...file,
      write: (text) => {
        if (!isFull) return file.write(text);
        file.write(text.slice(0, text.length - 3));
        throw new Error("ENOSPC: no space left on device");
      },
    };
  };
  const store = new FileSessionStore(world, "/state");
  const { owned } = await store.acquire({ id: sessionId("x"), cwd: "/p" }, () => undefined);
  owned.onFailing((reason) => lost.push(reason));
  const again = new Journal({ world, sink: owned });
  again.append({ kind: "text", text: "kept" });
  isFull = true;
  again.append({ kind: "text", text: "torn" }, { kind: "text", text: "torn too" });
  expect(() => again.assertWritten()).toThrow(expect.objectContaining({ code: "session.not_recorded" }));
  isFull = false;
  again.assertWritten();
  again.append({ kind: "text", text: "after" });
  again.sync();
  await again.close();
  expect(lost).toEqual(["ENOSPC: no space left on device"]);
  const texts = (await recordsIn(world)).flatMap((record) => (record.kind === "text" ? [record.text] : []));
  expect(texts).toEqual(["kept", "torn", "torn too", "after"]);
});

test.each([
  ["  Mend\n the\tdoor  ", "Mend the door"],
  ["", "(no words)"],
  ["<previous_user_message>old</previous_user_message>\n<memory>m</memory> new words", "new words"],
  ["do it\n<environment_details>\nlinux</environment_details>", "do it"],
  ["<environment_details>e</environment_details><user_query>mend it</user_query>", "mend it"],
  ["<b>bold</b> is not shown", "<b>bold</b> is not shown"],
  ["<open_tag> without an end", "<open_tag> without an end"],
  ["x".repeat(79) + "👍👍", `${"x".repeat(79)}…`],
  ["a\u202eb", "a\\u{202E}b"],
])("the title of %j is one line of a bearable length", (prompt, title) => {
  expect(titleOf([{ type: "text", text: prompt }])).toBe(title);
});
