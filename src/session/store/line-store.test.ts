// A store of the program's own that never answers holds nobody up, and what it has not taken is told.
import { expect, test } from "vitest";
import { fakeWorld, settle } from "../../testing/index.js";
import { SESSION_LIMITS } from "../limits.js";
import { sessionId } from "./file-store.js";
import { LineSessionStore, type LineStore } from "./line-store.js";

const about = { id: sessionId("mine"), cwd: "/home" };
const lineOf = (seq: number) => ({ seq, line: `line ${seq}`, entry: { kind: "title", title: "x" } as const });

/** Appends wait until the test lets them through. */
function slowStore() {
  const kept: string[] = [];
  const gates: (() => void)[] = [];
  const store: LineStore = {
    list: async () => [],
    read: async () => undefined,
    append: async (_, lines) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      kept.push(...lines);
    },
    remove: async () => {},
  };
  return { store, kept, gates };
}

test("[V110] an append that never returns counts as failed in time; releasing ends, and says what is unwritten", async () => {
  const world = fakeWorld();
  const { store } = slowStore();
  const sessions = new LineSessionStore(store, world);
  const owned = sessions.create(about);
  const written = owned.append([lineOf(1)]);
  await settle();
  await world.advance(SESSION_LIMITS.storeMs);
  await written;
  expect(() => owned.assertWritten()).toThrow(expect.objectContaining({ code: "session.not_recorded" }));
  const released = owned.release();
  await world.advance(SESSION_LIMITS.storeMs);
  await released;
  expect(await sessions.ownerOf("mine")).toBeUndefined();
  expect(world.logLines.some((line) => line.includes("session.unwritten"))).toBe(true);
});

test("[V110] lines of an append that was only slow are not written twice", async () => {
  const world = fakeWorld();
  const { store, kept, gates } = slowStore();
  const owned = new LineSessionStore(store, world).create(about);
  const late = owned.append([lineOf(1)]);
  await settle();
  await world.advance(SESSION_LIMITS.storeMs);
  await late;
  const next = owned.append([lineOf(2)]);
  gates[0]?.();
  await settle();
  gates[1]?.();
  await next;
  expect(gates).toHaveLength(2);
  expect(kept.slice(1)).toEqual(["line 1", "line 2"]);
  expect(owned.lastSeq).toBe(2);
});
