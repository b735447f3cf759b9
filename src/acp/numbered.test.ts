// What each client of a shared session is sent: numbers, parts, its own words, and bytes made once.
import { expect, test } from "vitest";
import { Cell } from "../base/async/cell.js";
import { Channel } from "../base/async/channel.js";
import { text } from "../base/text/content.js";
import type { Followed, SessionEvent } from "../session/index.js";
import type { SessionHandle } from "./access.js";
import { abilitiesOf } from "./capabilities.js";
import { NumberedRelay, type SharedUpdate } from "./numbered.js";
import { EARLY_SETTINGS, EmittedSettings } from "./options.js";

const LIVE: Followed = { kind: "live" };

function record(seq: number, ...events: SessionEvent[]): Followed {
  return { kind: "record", seq, events };
}

function said(words: string): SessionEvent {
  return { kind: "turn", event: { kind: "text", text: words } };
}

function user(client: string, ...words: string[]): SessionEvent {
  return { kind: "user", content: words.map(text), by: { client, name: client } };
}

/** What one client is sent of a log. */
async function sentTo(
  client: string,
  log: readonly Followed[],
  { showsOwn = false, current = [] }: { readonly showsOwn?: boolean; readonly current?: readonly SessionEvent[] } = {},
): Promise<SharedUpdate[]> {
  const sent: SharedUpdate[] = [];
  const channel = new Channel<Followed>(100);
  for (const followed of log) channel.offer(followed);
  channel.close();
  const session = { id: "s", log: { lastSeq: 0, follow: () => channel } };
  const relay = new NumberedRelay({
    session: session as unknown as SessionHandle,
    ...{ client, after: 0, showsOwn, abilities: abilitiesOf(), joins: new Cell(0) },
    own: { told: new EmittedSettings(EARLY_SETTINGS), settings: () => EARLY_SETTINGS },
    send: (update) => void sent.push(update),
    onLost: (_, error) => {
      throw error;
    },
  });
  await relay.run(new AbortController().signal, () => relay.sendCurrent(current));
  expect(relay.relayed.value).toBe(Number.POSITIVE_INFINITY);
  return sent;
}

const metaOf = ({ message }: SharedUpdate) => message.params._meta?.["tenon"];

test("the number is on the last update of a record, and those before it are its parts", async () => {
  const sent = await sentTo("b", [
    LIVE,
    record(7, user("a", "one", "two", "three")),
    record(8),
    record(9, said("hello")),
  ]);
  expect(sent.map(metaOf)).toEqual([{ partOf: 7, part: 0 }, { partOf: 7, part: 1 }, { seq: 7 }, { seq: 9 }]);
});

test("a notice that a client was told when it came is not told again", async () => {
  const moment = (event: SessionEvent): Followed => ({ kind: "moment", event });
  const [known, fresh]: SessionEvent[] = ["known", "fresh"].map((words) => {
    return { kind: "notice", level: "error", text: words };
  });
  if (!known || !fresh) throw new Error("there are two");
  const sent = await sentTo("b", [LIVE, moment(known), moment(fresh)], { current: [known] });
  const words = sent.map(({ message }) => JSON.stringify(message.params.update));
  expect(words).toEqual([expect.stringContaining("known"), expect.stringContaining("fresh")]);
});

test("all clients of the same abilities are sent the same bytes", async () => {
  const log = [LIVE, record(1, said("hello"))];
  const [[one], [two]] = [await sentTo("a", log), await sentTo("b", log)];
  expect(one?.bytes).toBe(two?.bytes);
});

test("a client is not sent its own words, unless it is shown the conversation again", async () => {
  const log = [record(1, user("a", "before")), LIVE, record(2, user("a", "after")), record(3, user("b", "other"))];
  const words = (sent: SharedUpdate[]) => sent.map(({ message }) => JSON.stringify(message.params.update));
  expect(words(await sentTo("a", log))).toEqual([expect.stringContaining("other")]);
  const shown = ["before", "other"].map((word) => expect.stringContaining(word));
  expect(words(await sentTo("a", log, { showsOwn: true }))).toEqual(shown);
  expect(await sentTo("b", log)).toHaveLength(2);
});

test("a client that joins once more is shown nothing until that is answered, and nothing of a record after it left", async () => {
  const sent: unknown[] = [];
  const channel = new Channel<Followed>(100);
  const joins = new Cell(0);
  const stop = new AbortController();
  let onSent = () => {};
  const relay = new NumberedRelay({
    session: { id: "s", log: { lastSeq: 0, follow: () => channel } } as unknown as SessionHandle,
    ...{ client: "a", after: 0, showsOwn: false, abilities: abilitiesOf(), joins },
    send: (update) => {
      sent.push(metaOf(update));
      onSent();
      return undefined;
    },
    onLost: (_, error) => {
      throw error;
    },
  });
  const run = relay.run(stop.signal, async () => {});
  const relayed = (seq: number) => relay.relayed.until((last) => last >= seq, new AbortController().signal);
  channel.offer(record(1, said("one")));
  await relayed(1);
  joins.set(1);
  channel.offer(record(2, said("two")));
  for (let turn = 0; turn < 3; turn += 1) await new Promise((go) => setImmediate(go));
  expect(sent).toEqual([{ seq: 1 }]);
  joins.set(0); // it could not join
  await relayed(2);
  expect(sent).toEqual([{ seq: 1 }, { seq: 2 }]);
  onSent = () => stop.abort();
  channel.offer(record(3, said("three"), said("four")));
  channel.close();
  await run;
  expect(sent).toEqual([{ seq: 1 }, { seq: 2 }, { partOf: 3, part: 0 }]);
});
