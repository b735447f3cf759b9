// What rooms may rely on from any World: each clause is run on the real one and on the fake one.
import { strict as assert } from "node:assert";
import { once } from "node:events";
import type { Child, Files, World } from "../../src/base/ports/world.js";

export interface ContractPlace {
  readonly world: World;
  /** An empty folder of its own. */
  readonly root: string;
  /** Makes a symbolic link: no World does that. */
  link(path: string, target: string): void;
  /** Starts `sh -c line`, or the like of it. */
  shell(line: "exit 3" | "cat" | "print"): Child;
  /** Lets that much time pass, or waits for it. */
  pass(ms: number): Promise<void>;
}

/** A worker that stays. */
const LISTENER = 'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => {});';

export type Clause = (place: ContractPlace) => Promise<void>;

async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
  return "none";
}

/** Paths where nothing can be: below a file, in a circle of links, with a name that is too long, with a zero byte. */
async function impossible({ world: { files }, root, link }: ContractPlace): Promise<readonly string[]> {
  await files.writeAtomic(`${root}/file`, "text");
  link(`${root}/round`, `${root}/about`);
  link(`${root}/about`, `${root}/round`);
  return [`${root}/file/below`, `${root}/round`, `${root}/round/below`, `${root}/${"x".repeat(300)}`, `${root}/a\0b`];
}

/** A few are read, so that a clause says which of them differs. */
async function each(paths: readonly string[], look: (path: string) => unknown): Promise<void> {
  for (const path of paths) assert.equal(await look(path), undefined, path);
}

async function written(files: Files, path: string): Promise<string> {
  const found = await files.find(path);
  return `${found?.mode.toString(8)} ${await files.readText(path)}`;
}

export const CONTRACT: Readonly<Record<string, Clause>> = {
  "predicates answer for every path and never throw": async (place) => {
    const { files } = place.world;
    for (const path of [...(await impossible(place)), `${place.root}/nothing`]) {
      assert.equal(files.isFile(path), false, path);
      assert.equal(files.isFolder(path), false, path);
    }
    assert.equal(files.isFile(`${place.root}/file`), true);
    assert.equal(files.isFolder(`${place.root}/file`), false);
    assert.equal(files.isFolder(place.root), true);
  },
  "find, kindOf and linkTarget say that nothing is there": async (place) => {
    const { files } = place.world;
    const paths = await impossible(place);
    await each([...paths, `${place.root}/nothing`], (path) => files.find(path));
    const entries = paths.filter((path) => !path.endsWith("/round"));
    await each([...entries, `${place.root}/nothing`], (path) => files.kindOf(path));
    await each([...entries, `${place.root}/nothing`, `${place.root}/file`], (path) => files.linkTarget(path));
  },
  "find follows links, kindOf does not, and linkTarget reads them": async ({ world: { files }, root, link }) => {
    await files.writeAtomic(`${root}/folder/file`, "text");
    link(`${root}/way`, "folder");
    link(`${root}/nowhere`, `${root}/missing`);
    const found = await files.find(`${root}/way/file`);
    assert.equal(found?.realPath, (await files.find(`${root}/folder/file`))?.realPath);
    assert.deepEqual([found?.kind, found?.bytes], ["file", 4]);
    assert.equal(await files.kindOf(`${root}/way`), "link");
    assert.equal(await files.kindOf(`${root}/nowhere`), "link");
    assert.equal(await files.find(`${root}/nowhere`), undefined);
    assert.equal(await files.linkTarget(`${root}/way`), "folder");
    assert.equal(await files.linkTarget(`${root}/nowhere`), `${root}/missing`);
    assert.equal(files.isFolder(`${root}/way`), true);
  },
  "what cannot be read rejects with the code of the reason": async (place) => {
    const { world, root } = place;
    const { files } = world;
    await impossible(place);
    assert.equal(await codeOf(() => files.readText(`${root}/nothing`)), "ENOENT");
    assert.equal(await codeOf(() => files.readText(`${root}/file/below`)), "ENOTDIR");
    assert.equal(await codeOf(() => files.readText(`${root}/round`)), "ELOOP");
    assert.equal(await codeOf(() => files.readText(`${root}/${"x".repeat(300)}`)), "ENAMETOOLONG");
    assert.equal(await codeOf(() => files.readText(root)), "EISDIR");
    assert.equal(await codeOf(() => files.readBytes(`${root}/nothing`, { start: 0, length: 1 })), "ENOENT");
    assert.equal(await codeOf(() => files.entries(`${root}/nothing`)), "ENOENT");
    assert.equal(await codeOf(() => files.entries(`${root}/file`)), "ENOTDIR");
  },
  "list of a missing folder is empty, of a folder its files only": async ({ world: { files }, root, link }) => {
    assert.deepEqual(await files.list(`${root}/nothing`), []);
    await files.writeAtomic(`${root}/folder/one`, "12");
    await files.writeAtomic(`${root}/folder/deep/two`, "3");
    link(`${root}/folder/linked`, "one");
    link(`${root}/folder/broken`, "nowhere");
    assert.deepEqual(await files.list(`${root}/folder/one`), []);
    const listed = await files.list(`${root}/folder`);
    assert.deepEqual(listed.map(({ name, bytes }) => `${name} ${bytes}`).sort(), ["linked 2", "one 2"]);
    const entries = await files.entries(`${root}/folder`);
    const kinds = entries.map(({ name, kind }) => `${name} ${kind}`).sort();
    assert.deepEqual(kinds, ["broken link", "deep folder", "linked link", "one file"]);
  },
  "nothing is written below a file, over a folder or around a circle of links": async (place) => {
    const { world, root } = place;
    const { files } = world;
    await impossible(place);
    await files.writeAtomic(`${root}/folder/file`, "kept");
    const below = `${root}/file/below`;
    for (const write of [
      () => files.writeAtomic(below, "x"),
      () => files.saveText(below, "x"),
      () => files.createNew(below, "x"),
      () => files.writeParts(below, [Buffer.from("x")]),
      () => files.adopt(`${root}/file`, below),
      async () => files.openAppend(below),
      async () => files.openAppend(`${root}/folder`),
      async () => files.openAppend(`${root}/round`),
      () => files.writeAtomic(`${root}/folder`, "x"),
      () => files.saveText(`${root}/folder`, "x"),
      () => files.adopt(`${root}/nothing`, `${root}/copy`),
    ]) {
      assert.notEqual(await codeOf(write), "none", String(write));
    }
    assert.equal(await files.readText(`${root}/file`), "text");
    assert.equal(await files.readText(`${root}/folder/file`), "kept");
    assert.equal(await files.find(`${root}/copy`), undefined);
  },
  "files are private unless a mode is given, and saving keeps the mode": async ({ world: { files }, root }) => {
    await files.writeAtomic(`${root}/a/private`, "1");
    await files.writeAtomic(`${root}/open`, "1", 0o755);
    await files.createNew(`${root}/new`, "1");
    await files.writeParts(`${root}/parts`, [Buffer.from("1"), Buffer.from("2")]);
    files.openAppend(`${root}/b/log`).close();
    await files.saveText(`${root}/open`, "2");
    await files.saveText(`${root}/c/saved`, "3");
    await files.adopt(`${root}/new`, `${root}/adopted`);
    assert.equal(await written(files, `${root}/a/private`), "600 1");
    assert.equal(await written(files, `${root}/open`), "755 2");
    assert.equal(await written(files, `${root}/new`), "600 1");
    assert.equal(await written(files, `${root}/parts`), "600 12");
    assert.equal(await written(files, `${root}/b/log`), "600 ");
    assert.equal(await written(files, `${root}/c/saved`), "644 3");
    assert.equal(await written(files, `${root}/adopted`), "600 1");
  },
  "a link in the place of a file is replaced, not followed": async ({ world: { files }, root, link }) => {
    await files.writeAtomic(`${root}/target`, "kept");
    link(`${root}/one`, "target");
    link(`${root}/two`, "target");
    await files.writeAtomic(`${root}/one`, "new");
    await files.saveText(`${root}/two`, "new");
    assert.equal(await files.readText(`${root}/target`), "kept");
    assert.equal(await files.kindOf(`${root}/one`), "file");
    assert.equal(await files.kindOf(`${root}/two`), "file");
  },
  "of several who create a file one succeeds, and nobody where something is": async ({ world, root, link }) => {
    const { files } = world;
    const texts = Array.from({ length: 20 }, (_, index) => `maker ${index}`);
    const made = await Promise.all(texts.map((text) => files.createNew(`${root}/lock`, text)));
    assert.equal(made.filter(Boolean).length, 1);
    assert.equal(await files.readText(`${root}/lock`), texts[made.indexOf(true)]);
    link(`${root}/nowhere`, "missing");
    assert.equal(await files.createNew(`${root}/nowhere`, "x"), false);
    assert.equal(await files.createNew(root, "x"), false);
    assert.equal((await files.list(root)).length, 1, "nothing but the lock stays");
  },
  "removing takes all that is below, follows no link, and of nothing is no error": async ({ world, root, link }) => {
    const { files } = world;
    await files.writeAtomic(`${root}/kept/file`, "1");
    await files.writeAtomic(`${root}/gone/deep/file`, "1");
    link(`${root}/gone/link`, `${root}/kept`);
    await files.remove(`${root}/gone`);
    await files.remove(`${root}/gone`);
    await files.remove(`${root}/nothing/at/all`);
    assert.equal(await files.find(`${root}/gone`), undefined);
    assert.equal(await files.readText(`${root}/kept/file`), "1");
    link(`${root}/way`, `${root}/kept`);
    await files.remove(`${root}/way`);
    assert.equal(await files.readText(`${root}/kept/file`), "1");
  },
  "appending goes on where it ended, and a part of a file is its bytes": async ({ world: { files }, root }) => {
    const first = files.openAppend(`${root}/log`);
    first.write("one ");
    first.sync();
    first.close();
    const second = files.openAppend(`${root}/log`);
    second.write("größer");
    second.close();
    assert.notEqual(await codeOf(() => second.write("late")), "none");
    assert.equal(await files.readText(`${root}/log`), "one größer");
    const bytes = await files.readBytes(`${root}/log`, { start: 4, length: 100 });
    assert.equal(Buffer.from(bytes).toString(), "größer");
    assert.equal((await files.readBytes(`${root}/log`, { start: 100, length: 5 })).length, 0);
  },
  "a watch tells of a file that appears, changes and vanishes": async ({ world, root, pass }) => {
    const changes: true[] = [];
    const watch = world.watch(`${root}/watched`, () => changes.push(true));
    for (const change of [
      () => world.files.writeAtomic(`${root}/watched`, "1"),
      () => world.files.writeAtomic(`${root}/watched`, "2"),
      () => world.files.remove(`${root}/watched`),
    ]) {
      changes.length = 0;
      await change();
      for (let turn = 0; turn < 100 && changes.length === 0; turn++) await pass(10);
      assert.ok(changes.length > 0, String(change));
    }
    watch.close();
  },
  "a program that is not there is told by its exit, not by a throw": async ({ world, root }) => {
    const request = { args: [], env: {}, cwd: root };
    for (const command of [`${root}/no-such-program`, "no-such-program-anywhere"]) {
      const child = world.spawn({ ...request, command });
      assert.equal((await child.exited).kind, "not_started");
      assert.equal(child.pid, undefined);
      assert.equal(child.isGroupAlive(), false);
      child.signalGroup("SIGKILL");
      assert.equal(await child.signalStrays("SIGKILL"), 0);
      child.stdin.on("error", () => {});
      child.stdin.write("nobody reads this");
      await child.release();
    }
  },
  "a process tells its code, its output, and the signal that ended it": async ({ shell }) => {
    const failing = shell("exit 3");
    assert.deepEqual(await failing.exited, { kind: "exited", code: 3, signal: null });
    const printing = shell("print");
    const [printed] = await once(printing.stdout, "data");
    assert.equal(String(printed).trim(), "printed");
    assert.deepEqual(await printing.exited, { kind: "exited", code: 0, signal: null });
    const killed = shell("cat");
    assert.equal(killed.isGroupAlive(), true);
    killed.signalGroup("SIGKILL");
    assert.deepEqual(await killed.exited, { kind: "exited", code: null, signal: "SIGKILL" });
    const ended = shell("cat");
    ended.stdin.end();
    assert.deepEqual(await ended.exited, { kind: "exited", code: 0, signal: null });
    assert.equal(await ended.signalStrays(0), 0);
    for (const child of [failing, printing, killed, ended]) await child.release();
  },
  "timers run in their order and not once they are cleared; a deadline tells why it ended": async ({ world, pass }) => {
    const ran: string[] = [];
    world.after(30, () => ran.push("later"));
    world.after(5, () => ran.push("sooner"));
    world.after(10, () => ran.push("never")).clear();
    const deadline = world.deadline(20);
    const parent = new AbortController();
    const child = world.deadline(60_000, parent.signal);
    parent.abort(new Error("the parent"));
    assert.equal(child.signal.aborted, true);
    assert.equal(child.expired, false);
    await pass(200);
    assert.deepEqual(ran, ["sooner", "later"]);
    assert.equal(deadline.expired && deadline.signal.aborted, true);
    child.clear();
  },
  "a listener takes a free port or rejects for a taken one; nobody is behind a name that is none": async ({
    world,
  }) => {
    const answer = () => ({ status: 200, headers: {}, body: "" });
    const first = await world.listen(0, answer);
    assert.ok(first.port > 0);
    assert.equal(await codeOf(() => world.listen(first.port, answer)), "EADDRINUSE");
    await first[Symbol.asyncDispose]();
    await (await world.listen(first.port, answer))[Symbol.asyncDispose]();
    const code = await codeOf(() => world.lookup("no-such-host.invalid"));
    assert.ok(["ENOTFOUND", "EAI_AGAIN"].includes(code), code);
  },
  "a thread that throws fails once, and one that is ended says nothing": async ({ world }) => {
    const failed = await new Promise<Error>((resolve) => {
      const thread = world.thread(new URL("data:text/javascript,throw new Error('in the thread')"), undefined);
      thread.listen({ onMessage: () => {}, onFailed: resolve });
    });
    assert.match(failed.message, /in the thread/u);
    const quiet = world.thread(new URL(`data:text/javascript,${encodeURIComponent(LISTENER)}`), undefined);
    quiet.listen({ onMessage: () => assert.fail(), onFailed: () => assert.fail() });
    quiet.end();
    quiet.end();
    quiet.post("late");
  },
};
