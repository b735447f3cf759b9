// Whatever the bytes of a journal are, it is read: what is whole before the first damage is there, and nothing throws.
import fc from "fast-check";
import { expect, test } from "vitest";
import { writtenJournal } from "../../../test/recorded-session.js";
import { transcriptProblems } from "../../engine/index.js";
import { fakeWorld } from "../../testing/index.js";
import { FileSessionStore, sessionId } from "../store/file-store.js";
import type { JournalEntry, JournalRecord } from "./entry.js";
import { History } from "./history.js";
import { Journal } from "./journal.js";
import { type JournalContent, readJournal, Unpacking } from "./read-journal.js";

const PATH = "/state/sessions/x.ndjson";
const ABOUT = { id: sessionId("x"), cwd: "/project" };

async function read(bytes: Uint8Array): Promise<JournalContent & { readonly records: readonly JournalRecord[] }> {
  const records: JournalRecord[] = [];
  const readBytes = async (_: string, { start, length }: { start: number; length: number }) =>
    bytes.subarray(start, start + length);
  const unpacking = new Unpacking();
  const content = await readJournal({ readBytes }, PATH, (record) =>
    records.push(...[unpacking.add(record) ?? []].flat()),
  );
  return { ...content, records };
}

function historyOf(entries: readonly JournalEntry[]): { history: History; repairs: readonly JournalEntry[] } {
  const history = new History();
  for (const entry of entries) history.add(entry);
  return { history, repairs: history.end() };
}

test("any beginning of a journal's bytes is read up to its last whole line, and its transcript is valid", async () => {
  const whole = Buffer.from((await writtenJournal()).text);
  const all = (await read(whole)).records;
  expect(all.length).toBeGreaterThan(30);
  // Long lines hold one long text: cutting them at each of its bytes shows nothing new.
  const cuts = [...whole.keys()].filter((at) => at < 4_000 || at % 97 === 0 || whole[at] === 0x0a);
  for (const at of cuts) {
    const bytes = whole.subarray(0, at);
    const { records, problems, seq, isClean } = await read(bytes);
    const lines = bytes.filter((byte) => byte === 0x0a).length;
    expect(records).toEqual(all.slice(0, records.length));
    const isWhole = whole[at] === 0x0a && lines > 0; // but for the end of its last line
    expect(seq).toBe(Math.max(0, lines - 1) + (isWhole ? 1 : 0));
    expect(problems).toEqual([]);
    expect(isClean).toBe(at === 0 || whole[at - 1] === 0x0a);
    const { history } = historyOf(records);
    expect(transcriptProblems(history.restored.messages)).toEqual([]);
  }
});

test("what was brought to an end once stays as it was brought to an end", async () => {
  const { records } = await read(Buffer.from((await writtenJournal()).text));
  for (const count of records.keys()) {
    const { history, repairs } = historyOf(records.slice(0, count));
    const again = historyOf([...records.slice(0, count), ...repairs]);
    expect(again.repairs).toEqual([]);
    expect(again.history.restored).toEqual(history.restored);
    expect([...again.history.events()]).toEqual([...history.events()]);
  }
});

test("cut anywhere and written on, it has what was whole before and all that came after", async () => {
  const whole = Buffer.from((await writtenJournal()).text).subarray(0, 6_000);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(whole.length), { minLength: 1, maxLength: 3 }), async (cuts) => {
      let bytes: Buffer = whole.subarray(0, cuts[0]);
      for (const [index, cut] of cuts.entries()) {
        const { records } = await read(bytes);
        const world = fakeWorld({ files: { [PATH]: bytes.toString("latin1") } });
        // Bytes that are half a character must stay what they are, which files in memory cannot do.
        world.files.readBytes = async (_, { start, length }) => bytes.subarray(start, start + length);
        const store = new FileSessionStore(world, "/state");
        const { owned } = await store.acquire(ABOUT, () => undefined);
        owned.onFailing((reason) => expect.fail(reason));
        const journal = new Journal({ world, sink: owned });
        journal.append({ kind: "title", title: `run ${index}` }, { kind: "text", text: "größer" });
        const added = Buffer.from((world.files.text(PATH) ?? "").slice(bytes.length));
        const after = await read(Buffer.concat([bytes, added]));
        expect(after.problems).toEqual([]);
        expect(after.header).toBeDefined();
        expect(after.records.slice(0, -2)).toEqual(records);
        expect(after.records.slice(-2)).toMatchObject([{ title: `run ${index}` }, { text: "größer" }]);
        bytes = Buffer.concat([bytes, added.subarray(0, cut % (added.length + 1))]);
      }
    }),
    { numRuns: 150 },
  );
});

test("damage in the middle: all before it is read, the rest is counted, and nothing throws", async () => {
  const whole = Buffer.from((await writtenJournal()).text);
  const all = (await read(whole)).records;
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.uint8Array({ minLength: 1, maxLength: 40 }), async (at, noise) => {
      const bytes = Buffer.from(whole);
      bytes.set(noise.subarray(0, whole.length - at), at);
      const { records, seq } = await read(bytes);
      const before = whole.subarray(0, at).filter((byte) => byte === 0x0a).length;
      // The line with the damage may still be one: a word of it has changed then.
      const untouched = all.filter(({ seq }) => seq < before);
      expect(records.slice(0, untouched.length)).toEqual(untouched);
      expect(seq).toBeGreaterThanOrEqual(Math.max(0, before - 1));
      expect(transcriptProblems(historyOf(records).history.restored.messages)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("damage is reported with its place, and records of kinds that nobody knows are passed over", async () => {
  const lines = [
    '{"v":1,"id":"x","cwd":"/p","t":1}',
    '{"seq":1,"t":1,"kind":"text","text":"a"}',
    '{"seq":2,"t":1,"kind":"constructor"}',
    '{"seq":3,"t":1,"kind":"text","text":"b"}',
    '{"seq":4,"t":1,"kind":"text"}',
    '{"seq":5,"t":1,"kind":"text","text":"c"}',
  ];
  const { records, problems, ...content } = await read(Buffer.from(`${lines.join("\n")}\n`));
  expect(records).toMatchObject([{ text: "a" }, { text: "b" }]);
  expect(problems).toEqual([expect.stringContaining(`2 lines after record 3 of ${PATH}`)]);
  expect(content).toMatchObject({ seq: 3, isClean: false, header: { id: "x" } });
});

test("a journal of a later version is refused and left alone", async () => {
  await expect(read(Buffer.from('{"v":2,"id":"x"}\n'))).rejects.toMatchObject({ code: "session.invalid_request" });
});

test("a damaged first line costs nothing but itself", async () => {
  const whole = (await writtenJournal()).text;
  const damaged = `x${whole}`;
  const { records, header, isClean } = await read(Buffer.from(damaged));
  expect(header).toBeUndefined();
  expect(isClean).toBe(true);
  expect(records).toEqual((await read(Buffer.from(whole))).records);
});
