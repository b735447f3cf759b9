// Servers are added, removed and switched by the smallest change of a file: comments and formatting survive.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../base/json/json.js";
import { VERSION } from "../base/version.js";
import { type FakeWorld, fakeWorld } from "../testing/index.js";
import {
  addServer,
  type ConfigFile,
  removeServer,
  removeValue,
  setServerEnabled,
  setValue,
  withConfigLock,
} from "./edit.js";
import { parseDocument } from "./layers/document.js";
import { CONFIG_LIMITS } from "./limits.js";

const PATH = "/home/me/.config/tenon/config.json";
const ENTRY = { command: "npx", args: ["-y", "x"] };

function file(text?: string): ConfigFile & { readonly world: FakeWorld } {
  const world = fakeWorld(text === undefined ? {} : { files: { [PATH]: text } });
  return { world, path: PATH, layer: "user" };
}

function textOf({ world }: { readonly world: FakeWorld }): string | undefined {
  return world.files.text(PATH);
}

/** Lets time pass until something has settled. */
async function passing<T>(world: FakeWorld, work: Promise<T>): Promise<T> {
  const state = { isDone: false };
  const done = work.finally(() => {
    state.isDone = true;
  });
  while (!state.isDone) await world.advance(CONFIG_LIMITS.configLock.everyMs);
  return await done;
}

describe("addServer", () => {
  it("makes a private file where there is none", async () => {
    const given = file();
    expect(await addServer(given, "fs", ENTRY)).toEqual({
      change: "added",
      file: PATH,
      isNewFile: true,
      after: ENTRY,
      warnings: [],
    });
    expect(textOf(given)).toBe(`{
  "$schema": "https://unpkg.com/tenon@${VERSION}/schema/config.schema.json",
  "mcpServers": {
    "fs": {
      "command": "npx",
      "args": [
        "-y",
        "x"
      ]
    }
  }
}
`);
    expect((await given.world.files.find(PATH))?.mode).toBe(0o600);
  });

  it("keeps comments, order and formatting, and adds nothing but the entry", async () => {
    const given = file(`// mine
{
    "model": "a/b", // the model
    "mcpServers": {
        // first
        "a": {"command":"x"}, // one line
        /* last */ "b": { "command": "y" } // no comma here
        // the end
    }
}
`);
    await addServer(given, "c", { command: "z" });
    expect(textOf(given)).toBe(`// mine
{
    "model": "a/b", // the model
    "mcpServers": {
        // first
        "a": {"command":"x"}, // one line
        /* last */ "b": { "command": "y" }, // no comma here
        "c": {
            "command": "z"
        }
        // the end
    }
}
`);
  });

  it.each([
    ["", '{\n  "mcpServers": {\n    "n": 1\n  }\n}\n'],
    ["// hi\n", '// hi\n{\n  "mcpServers": {\n    "n": 1\n  }\n}\n'],
    ["{}", '{\n  "mcpServers": {\n    "n": 1\n  }\n}'.replace('{\n    "n": 1\n  }', '{\n    "n": 1\n  }')],
    ["{ /* c */ }\n", '{ /* c */\n  "mcpServers": {\n    "n": 1\n  }\n}\n'],
    ['{"mcpServers":{}}', '{"mcpServers":{\n  "n": 1\n}}'],
    ['{"mcpServers":{"a":1}}', '{"mcpServers":{"a":1, "n": 1}}'],
    ['{"mcpServers":{"a":1,},}', '{"mcpServers":{"a":1, "n": 1},}'],
    ['{\n\t"mcpServers": {\n\t\t"a": 1,\n\t},\n}', '{\n\t"mcpServers": {\n\t\t"a": 1,\n\t\t"n": 1,\n\t},\n}'],
    [
      '{\r\n  "mcpServers": {\r\n    "a": 1\r\n  }\r\n}',
      '{\r\n  "mcpServers": {\r\n    "a": 1,\r\n    "n": 1\r\n  }\r\n}',
    ],
  ])("writes %j as %j", (before, after) => {
    expect(setValue(before, ["mcpServers", "n"], 1)).toBe(after);
  });

  it("refuses a name that is taken, and replaces the entry when told to", async () => {
    const given = file('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}');
    await expect(addServer(given, "a", ENTRY)).rejects.toMatchObject({
      code: "config.invalid",
      message: `there is a server "a" in ${PATH} already`,
    });
    expect(await addServer(given, "a", ENTRY, { mayReplace: true })).toMatchObject({
      change: "replaced",
      before: { command: "x" },
      after: ENTRY,
    });
    expect(parseDocument(textOf(given) ?? "").value).toEqual({ mcpServers: { a: ENTRY, b: { command: "y" } } });
    const text = textOf(given);
    expect(await addServer(given, "a", ENTRY, { mayReplace: true })).toMatchObject({ change: "unchanged" });
    expect(textOf(given)).toBe(text);
  });

  it.each([
    ["", ENTRY, "the name must not be empty"],
    ["a\u202eb", ENTRY, "control or invisible characters"],
    ["__proto__", ENTRY, "is not used"],
    ["a", {}, "expected a command, or a url"],
    ["a", { comand: "x" }, 'did you mean "command"?'],
    ["a", { url: "nonsense" }, "url must be a full"],
  ])("refuses the name %j with the entry %j", async (name, entry, message) => {
    const given = file("{}");
    await expect(addServer(given, name, entry)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining(message),
    });
    expect(textOf(given)).toBe("{}");
  });

  it("warns of what is odd", async () => {
    expect(await addServer(file(), "a", { command: "x", icon: "star" })).toMatchObject({
      warnings: ['server "a": unknown key "icon" is ignored'],
    });
  });

  it.each([
    ['{"mcpServers": {"a": }}', ":1:22: expected a value"],
    ['{"a": 1, "a": 2}', ':1:10: the key "a" is there twice'],
    ["[]", "must hold one object"],
    ['{"mcpServers": []}', "mcpServers in"],
  ])("does not touch the faulty file %j", async (text, message) => {
    const given = file(text);
    await expect(addServer(given, "n", ENTRY)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining(message),
    });
    expect(textOf(given)).toBe(text);
  });

  it("writes through a link, and keeps the permissions of the file", async () => {
    const given = file();
    given.world.files.write("/dotfiles/tenon.json", "{}", 0o644);
    given.world.files.link(PATH, "/dotfiles/tenon.json");
    expect(await addServer(given, "a", ENTRY)).toMatchObject({ file: "/dotfiles/tenon.json", isNewFile: false });
    expect(await given.world.files.find(PATH)).toMatchObject({ realPath: "/dotfiles/tenon.json", mode: 0o644 });
  });

  it("does not write through a project's link that leads out of it, and keeps a project's rules", async () => {
    const world = fakeWorld({ files: { "/elsewhere/x.json": "{}" } });
    world.files.link("/project/.mcp.json", "/elsewhere/x.json");
    const given: ConfigFile = { world, path: "/project/.mcp.json", layer: "project", within: "/project" };
    await expect(addServer(given, "a", ENTRY)).rejects.toThrow("leads out of the project");
    await expect(addServer(given, "a", { command: "x", env: { LD_PRELOAD: "y" } })).rejects.toThrow(
      "cannot set LD_PRELOAD",
    );
    expect(world.files.text("/elsewhere/x.json")).toBe("{}");
  });

  it("does not lose what somebody else writes meanwhile", async () => {
    const given = file("{}");
    const adding = Promise.all(["a", "b", "c"].map((name) => addServer(given, name, ENTRY)));
    await passing(given.world, adding);
    const { value } = parseDocument(textOf(given) ?? "");
    expect(Object.keys(Object(Object(value).mcpServers)).sort()).toEqual(["a", "b", "c"]);
  });
});

describe("the lock of a file", () => {
  it("is left by nobody", async () => {
    const given = file("{}");
    await addServer(given, "a", ENTRY);
    await expect(addServer(given, "a", ENTRY)).rejects.toThrow("already");
    expect(given.world.files.paths).toEqual([PATH]);
    expect(given.world.clock.pendingTimers).toBe(0);
  });

  it("is waited for, and then the file it belongs to is named", async () => {
    const given = file("{}");
    given.world.otherProcesses.set(77, "identity-77");
    given.world.files.write(`${PATH}.lock`, "77 identity-77 abcd\n");
    const adding = addServer(given, "a", ENTRY).catch((error: unknown) => error);
    expect(await passing(given.world, adding)).toMatchObject({
      code: "config.unreadable",
      message: expect.stringContaining("config.json.lock"),
    });
    expect(textOf(given)).toBe("{}");
  });

  it("is not removed by one who lost it", async () => {
    const { world } = file();
    await withConfigLock(world, PATH, async () => world.files.write(`${PATH}.lock`, `other ${world.now()}\n`));
    expect(world.files.text(`${PATH}.lock`)).toContain("other");
  });

  it("is taken over from a process that died", async () => {
    const given = file("{}");
    given.world.files.write(`${PATH}.lock`, "77 identity-77 abcd\n");
    expect(await addServer(given, "a", ENTRY)).toMatchObject({ change: "added" });
    expect(given.world.files.paths).toEqual([PATH]);
  });
});

describe("removeServer", () => {
  it("takes the entry away and leaves the comments", async () => {
    const given = file(`{
  "mcpServers": {
    // about a
    "a": { "command": "x" },
    // about b
    "b": {
      "command": "y"
    } // after b
  }
}
`);
    expect(await removeServer(given, "b")).toMatchObject({ change: "removed", before: { command: "y" } });
    expect(textOf(given)).toBe(`{
  "mcpServers": {
    // about a
    "a": { "command": "x" }
    // about b
     // after b
  }
}
`);
    await removeServer(given, "a");
    expect(parseDocument(textOf(given) ?? "")).toMatchObject({ value: { mcpServers: {} }, problems: [] });
    await expect(removeServer(given, "a")).rejects.toMatchObject({ message: expect.stringContaining('no server "a"') });
  });

  it("removes an entry that is malformed, too", async () => {
    const given = file('{"mcpServers": {"a": 7, "b": 8}}');
    await removeServer(given, "a");
    expect(textOf(given)).toBe('{"mcpServers": {"b": 8}}');
  });
});

describe("a place where nothing can be written", () => {
  it("is told as that, and not as a fault of Tenon", async () => {
    const given = file();
    given.world.files.createNew = () => Promise.reject(new Error("EPERM: mkdir"));
    await expect(addServer(given, "a", ENTRY)).rejects.toMatchObject({
      code: "config.unreadable",
      message: expect.stringContaining("EPERM"),
    });
  });
});

describe("setServerEnabled", () => {
  it("switches an entry off, and on again to exactly what it was", async () => {
    const text = '{\n  "mcpServers": {\n    "a": {\n      "command": "x" // it\n    }\n  }\n}\n';
    const given = file(text);
    expect(await setServerEnabled(given, "a", true)).toMatchObject({ change: "unchanged" });
    expect(await setServerEnabled(given, "a", false)).toMatchObject({ change: "disabled", after: { disabled: true } });
    expect(await setServerEnabled(given, "a", false)).toMatchObject({ change: "unchanged" });
    expect(textOf(given)).toContain('"command": "x", // it\n      "disabled": true\n');
    expect(await setServerEnabled(given, "a", true)).toMatchObject({ change: "enabled", after: { command: "x" } });
    expect(textOf(given)).toBe(text);
  });
});

describe("any file", () => {
  const trivia = fc.constantFrom("", " ", "\n", "\n  ", "\t", " // c\n", "/* c */", "\n/* a\n b */\n");
  const names = fc.uniqueArray(fc.constantFrom<string>("a", "b", "c", "d e", 'q"'), { maxLength: 4 });

  /** `{ "mcpServers": { … } }` with trivia everywhere it may stand. */
  const texts = fc
    .tuple(names, fc.array(trivia, { minLength: 40, maxLength: 40 }), fc.boolean())
    .map(([keys, blanks, hasTrailing]) => {
      let at = 0;
      const t = () => blanks[at++ % blanks.length] ?? "";
      const entries = keys.map(
        (key, index) => `${t()}${JSON.stringify(key)}${t()}:${t()}{${t()}"command":"${index}"${t()}}${t()}`,
      );
      const inside = `${entries.join(",")}${hasTrailing && keys.length > 0 ? `,${t()}` : t()}`;
      return { keys, text: `${t()}{${t()}"mcpServers"${t()}:${t()}{${inside}}${t()}}${t()}` };
    });

  function commentsIn(text: string): number {
    return (text.match(/\/\/ c|\/\* c \*\/|\/\* a\n b \*\//gu) ?? []).length;
  }

  it("keeps its other entries and its comments when one is set or removed", () => {
    fc.assert(
      fc.property(texts, fc.constantFrom("a", "b", "new"), ({ keys, text }, name) => {
        const before = Object(Object(parseDocument(text).value).mcpServers);
        const added = setValue(text, ["mcpServers", name], { command: "new", args: ["x"] });
        const document = parseDocument(added);
        expect(document.problems).toEqual([]);
        const expected: Record<string, JsonValue> = { ...before, [name]: { command: "new", args: ["x"] } };
        expect(document.value).toEqual({ mcpServers: expected });
        if (!keys.includes(name)) expect(commentsIn(added)).toBe(commentsIn(text));

        const removed = removeValue(added, ["mcpServers", name]);
        expect(parseDocument(removed).problems).toEqual([]);
        const { [name]: _gone, ...rest } = expected;
        expect(parseDocument(removed).value).toEqual({ mcpServers: rest });
        // A byte order mark stays in front and moves nothing.
        expect(setValue(`\ufeff${text}`, ["mcpServers", name], { command: "new", args: ["x"] })).toBe(`\ufeff${added}`);
        expect(removeValue(`\ufeff${added}`, ["mcpServers", name])).toBe(`\ufeff${removed}`);
        // Removing what was added leaves strict JSON strict: no comma too many.
        const hadTrailing = /,[^"{}]*\}/u.test(text);
        if (!hadTrailing && commentsIn(text) === 0) expect(() => JSON.parse(removed)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});
