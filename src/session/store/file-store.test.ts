// Sessions are found again as they were, go on from there, and are listed, copied and removed; each is open once.
import { describe, expect, test, vi } from "vitest";
import {
  closed,
  hostIn,
  ID,
  JOURNAL,
  load,
  newWorld,
  PICTURE,
  SERVER,
  STATE,
  writtenJournal,
} from "../../../test/recorded-session.js";
import { transcriptProblems } from "../../engine/index.js";
import type { ModelMessage } from "../../models/index.js";
import type { SessionEvent } from "../events.js";
import type { Session } from "../session.js";
import { FileSessionStore, sessionId } from "./file-store.js";

/** Each event in a few words. */
function words(history: Iterable<SessionEvent>): string[] {
  return [...history].map((event) => {
    switch (event.kind) {
      case "user":
        return `person: ${event.content.map((block) => (block.type === "text" ? block.text : block.type)).join("+")}`;
      case "turn":
        return "text" in event.event ? `${event.event.kind}: ${event.event.text}` : event.event.kind;
      case "turn_ended":
        return "error" in event ? `failed: ${event.error.message}` : event.stopReason;
      default:
        return event.kind;
    }
  });
}

async function firstNotice(session: Session): Promise<string | undefined> {
  for await (const event of session.events()) if (event.kind === "notice") return event.text;
  return undefined;
}

function linesUntil(text: string, isLast: (record: { kind?: string; text?: string }) => boolean): string {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line !== "" && isLast(JSON.parse(line)));
  return `${lines.slice(0, at + 1).join("\n")}\n`;
}

test("a session that is removed between the look for it and its lock is not there", async () => {
  const world = newWorld();
  await world.files.writeAtomic(JOURNAL, (await writtenJournal()).text);
  const createNew = world.files.createNew.bind(world.files);
  vi.spyOn(world.files, "createNew").mockImplementation(async (path, text) => {
    await world.files.remove(JOURNAL);
    return await createNew(path, text);
  });
  const store = new FileSessionStore(world, STATE);
  const acquired = store.acquire({ id: sessionId(ID), cwd: "/work" }, () => {});
  await expect(acquired).rejects.toMatchObject({ code: "session.not_found" });
});

describe("a session that is loaded", () => {
  test("shows the whole conversation: chunks joined, each call whole, pictures as they came", async () => {
    const { history, world, host } = await load((await writtenJournal()).text);
    const events = [...history];
    const calls = ["call_started", "call_ended", "call_started", "call_ended"];
    expect(words(events).filter((word) => word !== "usage")).toEqual([
      "person: echo something, please",
      "thought: hm, größer 👍",
      "text: you said: echo something, please",
      ...calls,
      "text: and that was it",
      "end_turn",
      "person: look: größer 👍+image",
      "thought: hm, größer 👍",
      "text: you said: look: größer 👍 (image)",
      "end_turn",
      "person: fail now",
      "failed: wires crossed",
      "person: /mcp",
      expect.stringContaining("text: - **s**"),
      "end_turn",
      "person: goodbye",
      "thought: hm, größer 👍",
      "text: you said: goodbye",
      "end_turn",
    ]);
    expect(events).toContainEqual({ kind: "user", content: [{ type: "text", text: "look: größer 👍" }, PICTURE] });
    expect(events).toContainEqual({
      kind: "turn",
      event: expect.objectContaining({
        kind: "call_started",
        toolCallId: "1-1",
        subject: { name: "mcp__s__echo", tool: expect.objectContaining({ label: "s / echo" }) },
        arguments: { text: "c1" },
      }),
    });
    await closed(world, host.close());
  });

  test("goes on with the model knowing all that was said, under numbers of its own", async () => {
    const before: ModelMessage[] = [];
    const { text } = await writtenJournal();
    const world = newWorld({ [JOURNAL]: text });
    const host = hostIn(world, async function* ({ messages }) {
      before.push(...messages);
      yield { kind: "text", text: "yes" };
      yield { kind: "finish", reason: "stop" };
    });
    const { session } = await host.loadSession({ id: ID, cwd: "/project" });
    expect(session.turnCount).toBe(5);
    await session.prompt("do you remember?");
    expect(transcriptProblems(before)).toEqual([]);
    expect(before.filter(({ role }) => role === "user")).toHaveLength(5); // the command is not among them
    expect(before).toContainEqual(expect.objectContaining({ providerData: { signed: "by the provider" } }));
    expect(before).toContainEqual({ role: "user", content: [{ type: "text", text: "look: größer 👍" }, PICTURE] });
    expect(before[2]).toMatchObject({ role: "tool", results: [{ callId: "c1" }, { callId: "c2" }] });
    await closed(world, host.close());
    const again = await load(world.files.text(JOURNAL) ?? "");
    expect(words(again.history).slice(-3)).toEqual(["person: do you remember?", "text: yes", "end_turn"]);
    await closed(again.world, again.host.close());
  });

  test("is left alone as long as nobody says anything", async () => {
    const { text } = await writtenJournal();
    const torn = `${text}{"seq":`;
    const { world, host } = await load(torn);
    await closed(world, host.close());
    expect(world.files.text(JOURNAL)).toBe(torn);
  });

  test("holds nothing of a server's configuration, and a picture only once", async () => {
    const { text } = await writtenJournal();
    expect(text).not.toContain("canary");
    expect(text.split(PICTURE.data)).toHaveLength(2);
  });
});

describe("after a crash in the middle of a turn", () => {
  test("calls that were sent have an unknown outcome, the others are cancelled, and the model hears of both", async () => {
    const { text } = await writtenJournal();
    const seen: ModelMessage[] = [];
    const world = newWorld({ [JOURNAL]: linesUntil(text, ({ kind }) => kind === "intent") });
    const host = hostIn(world, async function* ({ messages }) {
      seen.push(...messages);
      yield { kind: "text", text: "I see" };
      yield { kind: "finish", reason: "stop" };
    });
    const { session, history } = await host.loadSession({ id: ID, cwd: "/project" });
    const ends = [...history].flatMap((event) =>
      event.kind === "turn" && event.event.kind === "call_ended" ? [event.event.outcome.kind] : [],
    );
    expect(ends).toEqual(["unknown", "cancelled"]);
    expect(seen).toEqual([]); // the prompt is not run again
    expect(await firstNotice(session)).toContain("broken off");
    await session.prompt("what happened?");
    expect(transcriptProblems(seen)).toEqual([]);
    expect(seen.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(JSON.stringify(seen[2])).toMatch(/Outcome unknown.*cancelled/u);
    await closed(world, host.close());
    const again = await load(world.files.text(JOURNAL) ?? "");
    expect(words(again.history)).toEqual([...words(history), "person: what happened?", "text: I see", "end_turn"]);
    await closed(again.world, again.host.close());
  });

  test("a call that was only being written, and words that were cut off, are there and marked", async () => {
    const { text } = await writtenJournal();
    const { session, history, world, host } = await load(linesUntil(text, ({ kind }) => kind === "announced"));
    expect(words(history).slice(-3)).toEqual([
      "call_arguments",
      "call_dropped",
      expect.stringContaining("failed: the turn was broken off"),
    ]);
    await session.prompt("go on");
    expect(world.files.text(JOURNAL)).toContain("echo something, please\\n\\n[the turn was broken off here]");
    await closed(world, host.close());
  });
});

test("damage is told, all before it is shown, and the file goes on behind it", async () => {
  const { text } = await writtenJournal();
  const lines = text.trimEnd().split("\n");
  const at = lines.findIndex((line) => line.includes("goodbye"));
  const damaged = [...lines.slice(0, at), "####", ...lines.slice(at + 1)].join("\n");
  const { session, history, world, host } = await load(`${damaged}\n`);
  expect(words(history).at(-1)).toBe("end_turn");
  expect(await firstNotice(session)).toContain("damaged");
  await session.prompt("still here?");
  await closed(world, host.close());
  expect(world.files.text(JOURNAL)?.startsWith(damaged)).toBe(true);
  const again = await load(world.files.text(JOURNAL) ?? "");
  expect(words(again.history)).toContain("person: still here?");
  await closed(again.world, again.host.close());
});

describe("a session is open once", () => {
  test("neither this process nor another one can open it again, until it is closed or its process is dead", async () => {
    const { text } = await writtenJournal();
    const { world, host } = await load(text);
    const request = { id: ID, cwd: "/project" };
    await expect(host.loadSession(request)).rejects.toMatchObject({
      code: "session.busy",
      message: expect.stringContaining("open here"),
    });
    await closed(world, host.closeSession(ID));
    await host.loadSession(request);
    await closed(world, host.close());
    expect(world.files.paths.filter((path) => path.includes("lock"))).toEqual([]);
    const lock = `${STATE}/session-locks/${ID}.lock`;
    const other = hostIn(world);
    world.files.write(lock, "77 born-early abc\n");
    world.otherProcesses.set(77, "born-early");
    await expect(other.loadSession(request)).rejects.toThrow("process 77");
    await expect(other.deleteSession(ID)).rejects.toThrow("process 77");
    const store = new FileSessionStore(world, STATE);
    expect(await store.ownerOf(ID)).toBe("process 77");
    world.otherProcesses.set(77, "born-later");
    expect(await store.ownerOf(ID)).toBeUndefined();
    await other.loadSession(request);
    await closed(world, other.close());
  });

  test("one that is new is held as well", async () => {
    const world = newWorld();
    const host = hostIn(world);
    const session = host.createSession({ cwd: "/project" });
    await world.settle();
    await expect(hostIn(world).loadSession({ id: session.id, cwd: "/project" })).rejects.toMatchObject({
      code: "session.busy",
    });
    await session.close();
    expect(world.files.paths.filter((path) => path.includes("lock"))).toEqual([]);
    expect(() => host.get(session.id)).toThrow("no open session");
  });

  test("what is not there, or no id at all, is not found and leaves nothing behind", async () => {
    const world = newWorld();
    const host = hostIn(world);
    for (const id of ["nobody", "../../etc/passwd", "", "a/b"]) {
      await expect(host.loadSession({ id, cwd: "/" })).rejects.toMatchObject({ code: "session.not_found" });
      await expect(host.forkSession({ id, cwd: "/" })).rejects.toMatchObject({ code: "session.not_found" });
      await host.deleteSession(id);
    }
    expect(world.files.paths).toEqual([]);
  });
});

describe("the list", () => {
  async function manySessions(count: number) {
    const world = newWorld();
    const host = hostIn(world);
    for (let index = 0; index < count; index++) {
      const session = host.createSession({ cwd: index % 2 === 0 ? "/even" : "/odd" });
      await session.prompt(`prompt ${index}\nwith a second line`);
      await session.close();
    }
    return { world, host };
  }

  test("is paged, the newest first, each session once; without those in which nothing was said", async () => {
    const { host } = await manySessions(7);
    await host.createSession({ cwd: "/even" }).close();
    const titles: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await host.listSessions({ pageSize: 3, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.sessions.length).toBeLessThanOrEqual(3);
      titles.push(...page.sessions.map(({ title }) => title));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(titles).toEqual([6, 5, 4, 3, 2, 1, 0].map((index) => `prompt ${index} with a second line`));
    const odd = await host.listSessions({ cwd: "/odd/", pageSize: 3 });
    expect(odd.sessions.map(({ cwd }) => cwd)).toEqual(["/odd", "/odd", "/odd"]);
    expect(odd.nextCursor).toBeUndefined();
    await expect(host.listSessions({ cursor: "nonsense" })).rejects.toMatchObject({ code: "session.invalid_request" });
  });

  test("goes on without files that are no journals", async () => {
    const { host, world } = await manySessions(2);
    world.files.write(`${STATE}/sessions/broken.ndjson`, "no journal");
    world.files.write(`${STATE}/sessions/notes.txt`, "");
    vi.spyOn(world.files, "readBytes").mockRejectedValueOnce(new Error("EACCES"));
    expect((await host.listSessions()).sessions).toHaveLength(2);
  });
});

test("a fork has all there was, under an id of its own, and the two go separate ways", async () => {
  const { world } = await writtenJournal();
  world.files.write(`${STATE}/sessions/${ID}.results/index.ndjson`, "{}\n");
  world.files.write(`${STATE}/sessions/${ID}.results/r1.txt`, "kept");
  const host = hostIn(world);
  const { session, history } = await host.forkSession({ id: ID, cwd: "/elsewhere", servers: [SERVER] });
  expect(session.id).not.toBe(ID);
  expect(words(history)).toContain("person: goodbye");
  await world.advance(0); // its server starts
  await session.prompt("only here");
  await closed(world, host.close());
  const original = await host.listSessions({ cwd: "/project" });
  expect(original.sessions.map(({ id }) => id)).toEqual([ID]);
  expect((await host.listSessions({ cwd: "/elsewhere" })).sessions).toMatchObject([
    { id: session.id, title: "echo something, please" },
  ]);
  expect(world.files.text(JOURNAL)).not.toContain("only here");
  expect(world.files.text(`${STATE}/sessions/${session.id}.results/r1.txt`)).toBe("kept");
  expect(world.files.text(`${STATE}/sessions/${session.id}.ndjson`)).toContain(`"forkedFrom":"${ID}"`);
});

test("deleting closes what is open and removes journal and results", async () => {
  const { text } = await writtenJournal();
  const { session, world, host } = await load(text);
  world.files.write(`${STATE}/sessions/${ID}.results/r1.txt`, "kept");
  await closed(world, host.deleteSession(ID));
  expect(session.isClosed).toBe(true);
  expect(world.files.paths).toEqual([]);
  await host.deleteSession(ID);
});

test("a host that is closed opens nothing any more", async () => {
  const { text } = await writtenJournal();
  const world = newWorld({ [JOURNAL]: text });
  const host = hostIn(world);
  const loading = host.loadSession({ id: ID, cwd: "/project" });
  const closing = host.close();
  await expect(loading).rejects.toMatchObject({ code: "session.closed" });
  await closing;
  expect(world.files.paths.filter((path) => path.includes("lock"))).toEqual([]);
});
