// The store contract for files, of the fake World and on the disk; and the log that clients of a session follow.
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { TenonError } from "../../src/base/errors.js";
import type { World } from "../../src/base/ports/world.js";
import type { Followed } from "../../src/session/log/session-log.js";
import type { Session } from "../../src/session/session.js";
import { FileSessionStore, resultsFolder, type StoreWorld } from "../../src/session/store/file-store.js";
import type { OwnedSession, SessionStore } from "../../src/session/store/session-store.js";
import { fakeWorld } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { runSchedules } from "../log-schedules.js";
import { closed, hostIn, ID, JOURNAL, newWorld, PICTURE, SERVER, STATE } from "../recorded-session.js";
import { scenario } from "../scenarios/scenario.js";
import { checkStore, type StorePlace } from "../store-contract.js";

/** All 100,000 are run by `npm run soak -- schedules`. */
const SCHEDULES = 2_000;

interface Disk {
  readonly world: World;
  readonly stateDir: string;
  readText(path: string): Promise<string>;
  writeText(path: string, text: string): Promise<void>;
  close(): Promise<void>;
}

function filePlace({ world, stateDir, readText, writeText, close }: Disk): StorePlace {
  const alive = new Set<number>();
  let [lastProcess, nowMs] = [100, 0];
  const pathOf = (id: string) => join(stateDir, "sessions", `${id}.ndjson`);
  return {
    process: () => {
      lastProcess += 1;
      const ownId = lastProcess;
      alive.add(ownId);
      const one: StoreWorld = {
        files: world.files,
        log: world.log,
        now: () => world.now(),
        monotonicMs: () => nowMs,
        randomBytes: (count) => randomBytes(count),
        after: (ms, run) => world.after(ms, run),
        deadline: (ms, signal) => world.deadline(ms, signal),
        processes: {
          ...world.processes,
          ownId,
          identityOf: (id) => (alive.has(id) ? `born-${id}` : undefined),
        },
      };
      return {
        store: new FileSessionStore(one, stateDir),
        name: `process ${ownId}`,
        die: () => void alive.delete(ownId),
      };
    },
    takeAway: async (id) => {
      await world.files.remove(join(stateDir, "session-locks", `${id}.lock`));
      nowMs += 100;
    },
    damage: async (id, seq) => {
      const lines = (await readText(pathOf(id))).split("\n");
      lines[seq] = `####${lines[seq]?.slice(4)}`;
      await writeText(pathOf(id), lines.join("\n"));
      return true;
    },
    keepResult: (id, text) => world.files.writeAtomic(join(resultsFolder(stateDir, id), "r1.txt"), text),
    keptResult: (id) => world.files.readText(join(resultsFolder(stateDir, id), "r1.txt")).catch(() => undefined),
    [Symbol.asyncDispose]: close,
  };
}

scenario(
  ["G100", "G101", "G102", "G103"],
  "sessions in files in memory: numbered, with one owner, copied, removed, listed and mended as the contract of stores says",
  () =>
    checkStore(async () => {
      const world = fakeWorld();
      return filePlace({
        world,
        stateDir: "/state",
        readText: async (path) => world.files.text(path) ?? "",
        writeText: async (path, text) => world.files.write(path, text),
        close: async () => undefined,
      });
    }),
);

scenario(["G100", "G101", "G102", "G103"], "sessions in files on the disk: the same", () =>
  checkStore(async () => {
    const stateDir = mkdtempSync(join(tmpdir(), "tenon-store-"));
    return filePlace({
      world: nodeWorld({ log: fakeWorld().log }),
      stateDir,
      readText: (path) => readFile(path, "utf8"),
      writeText: (path, text) => writeFile(path, text),
      close: () => rm(stateDir, { recursive: true }),
    });
  }),
);

const PROMPT = { type: "text", text: "look" } as const;

scenario(
  ["G104"],
  "a client follows a session from any record on, in step with its readers, and a number beyond the log is refused",
  async () => {
    const world = newWorld();
    const host = hostIn(world);
    const session = host.createSession({ cwd: "/project", servers: [SERVER], id: ID });
    session.attach({ ask: async () => "once" });
    await world.advance(0);
    await session.prompt("echo something, please");
    const middle = session.log.lastSeq;
    const [whole, later, last] = [0, 5, middle].map((after) => follower(session, after));
    await session.prompt([PROMPT, PICTURE]);
    for (const after of [-1, 1.5, Number.NaN, session.log.lastSeq + 1]) {
      await expect(session.log.follow(after, new AbortController().signal).next()).rejects.toMatchObject({
        code: "session.invalid_request",
        message: expect.stringContaining(`1 to ${session.log.lastSeq}`),
      });
    }
    const left = new AbortController();
    const leaving = follower(session, 0, left.signal);
    await world.settle();
    left.abort();
    expect((await leaving).at(-1)?.kind).toBe("live"); // it was told everything, and has gone
    await closed(world, host.close());
    const all = records(await whole);
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: all.length }, (_, index) => index + 1));
    expect(records(await later)).toEqual(all.slice(5));
    expect(records(await last)).toEqual(all.slice(middle));
    expect((await last)?.[0]).toEqual({ kind: "live" });
    expect(all.flatMap(({ events }) => events)).toContainEqual({ kind: "user", content: [PROMPT, PICTURE] });
    expect((await whole)?.some((one) => one.kind === "moment")).toBe(true);
  },
);

scenario(
  ["G105"],
  "a client that reads nothing holds no turn up, and finds everything in the store when it goes on, media among it",
  async () => {
    const world = newWorld();
    const host = hostIn(world, async function* () {
      for (let piece = 0; piece < 3_000; piece += 1) {
        yield { kind: "text", text: `${piece} ` };
        if (piece % 3 === 0) await new Promise<void>((resolve) => world.soon(resolve)); // a record each
      }
      yield { kind: "finish", reason: "stop" };
    });
    const session = host.createSession({ cwd: "/project", id: ID });
    const slow = session.log.follow(0, new AbortController().signal);
    expect(await slow.next()).toMatchObject({ value: { kind: "live" } });
    await session.prompt([PROMPT, PICTURE]); // which ends, although nobody reads
    expect(session.log.lastSeq).toBeGreaterThan(1_000);
    const seen: Followed[] = [];
    const reading = (async () => {
      for await (const one of slow) seen.push(one);
    })();
    await closed(world, host.close());
    await reading;
    const all = records(seen);
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: all.length }, (_, index) => index + 1));
    const events = all.flatMap((one) => one.events);
    expect(events).toContainEqual({ kind: "user", content: [PROMPT, PICTURE] });
    const words = events.flatMap((one) => (one.kind === "turn" && one.event.kind === "text" ? [one.event.text] : []));
    expect(words.join("")).toBe(Array.from({ length: 3_000 }, (_, piece) => `${piece} `).join(""));
  },
);

scenario(
  ["G101"],
  "a session whose lock is gone ends here: its turn stops before the next call, its client is told, nothing is written",
  async () => {
    const world = newWorld();
    const host = hostIn(world);
    const session = host.createSession({ cwd: "/project", servers: [SERVER], id: ID });
    const lock = `${STATE}/session-locks/${ID}.lock`;
    session.attach({
      ask: async () => {
        world.files.write(lock, "77 born-early abc\n"); // another process has it now
        return "once";
      },
    });
    await world.advance(0);
    const told: string[] = [];
    const listening = (async () => {
      for await (const event of session.events()) if (event.kind === "notice") told.push(event.text);
    })();
    const prompting = session.prompt("echo something, please");
    prompting.catch(() => undefined);
    await world.advance(10_000);
    await expect(prompting).rejects.toMatchObject({ code: "session.superseded" });
    await listening;
    expect(told.join()).toContain("ends here");
    expect(session.isClosed).toBe(true);
    expect(world.files.text(JOURNAL)).not.toContain('"outcome"');
    expect(world.files.text(lock)).toBe("77 born-early abc\n");
    await closed(world, host.close());
  },
);

scenario(
  ["G106"],
  "random schedules of appends, followers, crashes, takeovers and full disks: no gap, no repeat, no second outcome",
  async () => {
    const { schedules, refused, takeovers } = await runSchedules(SCHEDULES);
    expect(schedules).toBe(SCHEDULES);
    expect(refused).toBeGreaterThan(0);
    expect(takeovers).toBeGreaterThan(SCHEDULES / 4);
  },
  { timeoutMs: 120_000 },
);

/** Lines with an intent, and what follows them, wait until `decide`. */
function slowOnIntent(owned: OwnedSession, decide: Promise<void>): OwnedSession {
  let earlier: Promise<void> | undefined;
  return {
    ...{ id: owned.id, epoch: owned.epoch, settled: owned.settled, lost: owned.lost },
    get lastSeq() {
      return owned.lastSeq;
    },
    get isTouched() {
      return owned.isTouched;
    },
    append: (lines, options) => {
      const isIntent = lines.some(({ line }) => line.includes('"kind":"intent"'));
      if (!isIntent && !earlier) return owned.append(lines, options);
      earlier = (earlier ?? decide).then(() => owned.append(lines, options));
      return earlier;
    },
    sync: () => earlier?.then(() => owned.sync()) ?? owned.sync(),
    assertWritten: () => owned.assertWritten(),
    onFailing: (listener) => owned.onFailing(listener),
    release: () => owned.release(),
  };
}

scenario(
  ["G564"],
  "a call is sent once its intent is durable, however long that takes, and never where the store refuses it",
  async () => {
    for (const isRefused of [false, true]) {
      const world = newWorld();
      const files = new FileSessionStore(world, STATE);
      let decide = () => {};
      const decided = new Promise<void>((resolve, reject) => {
        const refusal = new TenonError("session.superseded", "another owner has it");
        decide = () => (isRefused ? reject(refusal) : resolve());
      });
      decided.catch(() => undefined);
      const store: SessionStore = {
        create: (about, options) => slowOnIntent(files.create(about, options), decided),
        acquire: (about, onRecord) => files.acquire(about, onRecord),
        readAll: (id, onRecord) => files.readAll(id, onRecord),
        read: (id, after, limit) => files.read(id, after, limit),
        readTurn: (id, upTo, limit) => files.readTurn(id, upTo, limit),
        turnStart: (id, upTo) => files.turnStart(id, upTo),
        has: (id) => files.has(id),
        place: (id) => files.place(id),
        ownerOf: (id) => files.ownerOf(id),
        list: (request) => files.list(request),
        unfinished: (sinceMs) => files.unfinished(sinceMs),
        copy: (from, about) => files.copy(from, about),
        setTitle: (id, title) => files.setTitle(id, title),
        remove: (id) => files.remove(id),
      };
      const host = hostIn(world, undefined, { store });
      const session = host.createSession({ cwd: "/project", servers: [SERVER], id: ID });
      session.attach({ ask: async () => "once" });
      await world.advance(0);
      let received = "";
      for (const { stdin } of world.children) stdin.on("data", (chunk) => (received += String(chunk)));
      const sent = () => received.split('"tools/call"').length - 1;
      const prompting = session.prompt("echo something, please");
      prompting.catch(() => undefined);
      await world.advance(5_000);
      expect(sent()).toBe(0);
      decide();
      await world.advance(5_000);
      if (isRefused) await expect(prompting).rejects.toMatchObject({ code: "session.superseded" });
      else expect(await prompting).toMatchObject({ stopReason: "end_turn" });
      expect(sent()).toBe(isRefused ? 0 : 2);
      await closed(world, host.close());
    }
  },
);

async function follower(session: Session, after: number, signal = new AbortController().signal): Promise<Followed[]> {
  const seen: Followed[] = [];
  for await (const one of session.log.follow(after, signal)) seen.push(one);
  return seen;
}

function records(followed: readonly Followed[] | undefined) {
  return (followed ?? []).flatMap((one) => (one.kind === "record" ? [{ seq: one.seq, events: one.events }] : []));
}
