// Approvals are bound to exactly what was asked: every change asks again, nothing else does, and what cannot be read is no approval.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { readyServers } from "../effective.js";
import { type EffectiveConfig, loadConfig } from "../load-config.js";
import { questionLines, type TrustQuestion } from "./project.js";
import { TrustStore } from "./store.js";

const TRUST = "/state/tenon/trust";
const ENV = { HOME: "/home/me", XDG_STATE_HOME: "/state", PATH: "/opt/bin:/usr/bin", TOKEN: "secret" };

const STDIO: JsonObject = {
  type: "stdio",
  command: "npx",
  args: ["-y", "server", "${TOKEN}"],
  env: { A: "literal", B: "${TOKEN}" },
  cwd: "sub",
  include: "search",
  tools: { read: { include: "always", timeoutMs: 5, enabled: true } },
  allow: ["a*"],
  deny: ["b*"],
  timeouts: { connectMs: 1, callMs: 2, maxCallMs: 3 },
  limits: { callsPerMinute: 4, callsAtOnce: 5 },
  required: true,
  sandbox: "workspace",
  lazy: true,
};

const REMOTE: JsonObject = {
  type: "http",
  url: "https://mcp.example/a",
  headers: { A: "literal", B: "${TOKEN}" },
  auth: { type: "bearer", token: "${TOKEN}" },
  include: "manual",
};

function project(entry: JsonValue, files: Record<string, string> = {}): FakeWorld {
  return fakeWorld({
    env: ENV,
    files: {
      "/project/.mcp.json": JSON.stringify({ mcpServers: { it: entry } }),
      "/usr/bin/npx": "",
      "/usr/bin/node": "",
      ...files,
    },
  });
}

async function load(world: FakeWorld, cwd = "/project"): Promise<EffectiveConfig> {
  return await loadConfig({ world, cwd });
}

async function onlyQuestion(world: FakeWorld, cwd?: string): Promise<TrustQuestion> {
  const { questions } = await load(world, cwd);
  const [question] = questions;
  if (!question || questions.length !== 1) throw new Error(`expected one question, got ${questions.length}`);
  return question;
}

async function approve(world: FakeWorld, cwd?: string): Promise<TrustQuestion> {
  const question = await onlyQuestion(world, cwd);
  await new TrustStore(world, TRUST).approve(question);
  return question;
}

async function isReady(world: FakeWorld, cwd?: string): Promise<boolean> {
  return readyServers(await load(world, cwd)).some(({ name }) => name === "it");
}

describe("an entry of a project", () => {
  it("is shown in full: literals as they are, references as references, and the file it would start", async () => {
    const question = await onlyQuestion(project(STDIO));
    expect(question).toMatchObject({
      server: "it",
      project: "/project",
      written: STDIO,
      resolvedCommand: "/usr/bin/npx",
      references: ["${TOKEN}"],
      isChanged: false,
    });
    const text = questionLines(question).join("\n");
    for (const part of ["npx", '"-y","server","${TOKEN}"', 'A: "literal"', "${TOKEN}", "sub", "starts: /usr/bin/npx"]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain("secret");
    const remote = questionLines(await onlyQuestion(project(REMOTE))).join("\n");
    for (const part of ["https://mcp.example/a", 'headers.A: "literal"', 'auth.token: "${TOKEN}"', '"manual"']) {
      expect(remote).toContain(part);
    }
  });

  it("hides nothing behind characters that cannot be seen", async () => {
    const entry = { command: "npx", args: ["\u202egpj.exe", "a\nb", "\u001b[2K", "\u{e0041}"] };
    const lines = questionLines(await onlyQuestion(project(entry)));
    expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(lines.join("")).toContain("\\u202egpj.exe");
  });

  it("is ready after approval, across loads, and starts the file that was approved", async () => {
    const world = project(STDIO);
    expect(await isReady(world)).toBe(false);
    await approve(world);
    expect(readyServers(await load(world))).toMatchObject([
      { name: "it", spec: { command: "/usr/bin/npx", env: { A: "literal", B: "secret" } } },
    ]);
  });

  it("stays away after a denial, without being asked about again until it changes", async () => {
    const world = project(STDIO);
    const store = new TrustStore(world, TRUST);
    await store.deny(await onlyQuestion(world));
    expect(await load(world)).toMatchObject({
      questions: [],
      notices: [],
      servers: [{ status: "untrusted", isDenied: true }],
    });
    world.files.write("/project/.mcp.json", JSON.stringify({ mcpServers: { it: { ...STDIO, args: [] } } }));
    expect(await onlyQuestion(world)).toMatchObject({ isChanged: true });
  });

  it("asks again after its approval was revoked", async () => {
    const world = project(STDIO);
    await approve(world);
    const store = new TrustStore(world, TRUST);
    expect((await store.list()).records).toMatchObject([{ decision: "approved", server: "it", project: "/project" }]);
    expect(await store.revoke("/elsewhere")).toEqual([]);
    expect(await store.revoke("/project", { server: "other" })).toEqual([]);
    expect(await store.revoke("/project", { server: undefined })).toEqual([]);
    expect(await store.revoke("/project", { server: "it" })).toHaveLength(1);
    expect(await isReady(world)).toBe(false);
  });
});

/** Every path to a leaf or list of a value. */
function leaves(value: JsonValue | undefined, path: readonly (string | number)[] = []): (string | number)[][] {
  if (Array.isArray(value)) return [[...path], ...value.flatMap((item, index) => leaves(item, [...path, index]))];
  if (typeof value !== "object" || value === null) return [[...path]];
  return Object.entries(value).flatMap(([key, field]) => leaves(field, [...path, key]));
}

function changed(value: JsonValue | undefined, path: readonly (string | number)[]): JsonValue {
  const [step, ...rest] = path;
  if (step !== undefined) {
    if (Array.isArray(value)) return value.map((item, index) => (index === step ? changed(item, rest) : item));
    if (!isJsonObject(value)) throw new Error("no such path");
    return { ...value, [step]: changed(value[String(step)], rest) };
  }
  if (Array.isArray(value)) return [...value, "more"];
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  return WORDS[String(value)] ?? `${String(value)}x`;
}

/** Other values where not every text will do. */
const WORDS: Readonly<Record<string, string>> = {
  npx: "node",
  stdio: "stdio ",
  http: "sse",
  search: "always",
  always: "manual",
  manual: "search",
  workspace: "off",
  bearer: "Bearer",
};

describe("every change of any field of an approved entry", () => {
  it.each([
    ...leaves(STDIO).map((path) => [path.join("."), STDIO, path] as const),
    ...leaves(REMOTE).map((path) => [path.join("."), REMOTE, path] as const),
  ])("asks again: %s", async (_label, entry, path) => {
    const world = project(entry);
    await approve(world);
    expect(await isReady(world)).toBe(true);
    const mutated = changed(entry, path);
    expect(mutated).not.toEqual(entry);
    world.files.write("/project/.mcp.json", JSON.stringify({ mcpServers: { it: mutated } }));
    expect(await isReady(world)).toBe(false);
    // Back as it was, it is what was approved.
    world.files.write("/project/.mcp.json", JSON.stringify({ mcpServers: { it: entry } }));
    expect(await isReady(world)).toBe(true);
  });

  it.each(Object.keys(STDIO).filter((key) => key !== "command"))("asks again: %s taken away", async (key) => {
    const world = project(STDIO);
    await approve(world);
    const { [key]: _gone, ...rest } = STDIO;
    world.files.write("/project/.mcp.json", JSON.stringify({ mcpServers: { it: rest } }));
    expect(await isReady(world)).toBe(false);
  });

  it.each(["disabled", "icon", "zzz"])("asks again: %s added", async (key) => {
    const world = project(STDIO);
    await approve(world);
    world.files.write("/project/.mcp.json", JSON.stringify({ mcpServers: { it: { ...STDIO, [key]: false } } }));
    expect(await isReady(world)).toBe(false);
  });

  it("asks again for any two entries that differ, and never for equal ones", async () => {
    const text = fc.string({ maxLength: 4 }).filter((value) => !/[${!]|keyring:/u.test(value));
    const entry = fc.record({
      command: fc.constantFrom("npx", "node"),
      args: fc.array(text, { maxLength: 3 }),
      env: fc.dictionary(fc.constantFrom("A", "B"), text),
    });
    await fc.assert(
      fc.asyncProperty(entry, entry, async (one, other) => {
        const world = project(one);
        await approve(world);
        world.files.write("/project/.mcp.json", JSON.stringify({ mcpServers: { it: other } }));
        expect(await isReady(world)).toBe(JSON.stringify(sorted(one)) === JSON.stringify(sorted(other)));
      }),
    );
  });

  function sorted(entry: { readonly command: string; readonly args: string[]; readonly env: Record<string, string> }) {
    return [
      entry.command,
      entry.args,
      Object.entries(entry.env)
        .map(([name, value]) => `${name}=${value}`)
        .sort(),
    ];
  }

  it("asks again under another name", async () => {
    const world = project(STDIO);
    await approve(world);
    world.files.write("/project/.mcp.json", JSON.stringify({ mcpServers: { other: STDIO } }));
    expect(await onlyQuestion(world)).toMatchObject({ server: "other", isChanged: false });
  });

  it("asks again when the same command means another file", async () => {
    const world = project(STDIO);
    await approve(world);
    world.files.write("/opt/bin/npx", "another");
    expect(await onlyQuestion(world)).toMatchObject({ isChanged: true, resolvedCommand: "/opt/bin/npx" });
  });

  it("asks again when a link in the project leads its command elsewhere", async () => {
    const world = project({ command: "./run" }, { "/project/good": "", "/project/evil": "" });
    world.files.link("/project/run", "good");
    expect(await approve(world)).toMatchObject({ resolvedCommand: "/project/good" });
    expect(await isReady(world)).toBe(true);
    world.files.link("/project/run", "evil");
    expect(await isReady(world)).toBe(false);
  });

  it("asks again in a project that was moved or copied", async () => {
    const world = project(STDIO);
    await approve(world);
    world.files.write("/copy/.mcp.json", world.files.text("/project/.mcp.json") ?? "");
    expect(await isReady(world, "/copy")).toBe(false);
    expect(await isReady(world)).toBe(true);
    const { hash } = await onlyQuestion(world, "/copy");
    expect(world.files.paths.join()).not.toContain(hash);
  });

  it("asks again when files it names are meant from another folder", async () => {
    const entry = { command: "npx", env: { A: "{file:token}" } };
    const world = project(entry, { "/project/token": "1", "/project/.tenon/token": "2" });
    await approve(world);
    expect(await isReady(world)).toBe(true);
    await world.files.remove("/project/.mcp.json");
    world.files.write("/project/.tenon/config.json", JSON.stringify({ mcpServers: { it: entry } }));
    expect(await isReady(world)).toBe(false);
  });
});

describe("nothing else", () => {
  it.each([
    ["comments, blanks and trailing commas", (text: string) => `// new\n${text.replaceAll(",", " ,\n /* x */ ")}`],
    [
      "the order of keys",
      () => JSON.stringify({ mcpServers: { it: Object.fromEntries(Object.entries(STDIO).reverse()) } }),
    ],
    [
      "other servers and keys of the file",
      () => JSON.stringify({ a: 1, mcpServers: { new: { command: "x" }, it: STDIO, bad: 7 } }),
    ],
    ["a byte order mark", (text: string) => `\ufeff${text}`],
  ])("asks again: not %s", async (_label, edit) => {
    const world = project(STDIO);
    await approve(world);
    world.files.write("/project/.mcp.json", edit(world.files.text("/project/.mcp.json") ?? ""));
    expect(await isReady(world)).toBe(true);
  });

  it("asks again: not the file it stands in, the user's own configuration, the time or the values of variables", async () => {
    const world = project(STDIO);
    await approve(world);
    await world.files.remove("/project/.mcp.json");
    world.files.write("/project/.tenon/config.json", JSON.stringify({ mcpServers: { it: STDIO } }));
    world.files.write("/home/me/.config/tenon/config.json", '{"model": "a/b"}');
    await world.advance(1e9);
    const config = await loadConfig({ world, cwd: "/project", env: { ...ENV, TOKEN: "another" } });
    expect(readyServers(config)).toHaveLength(1);
  });

  it("asks again: not another way to the same project", async () => {
    const world = project(STDIO);
    world.files.link("/link", "/project");
    await approve(world, "/link");
    expect(await isReady(world, "/project")).toBe(true);
    expect(await isReady(world, "/link")).toBe(true);
  });
});

describe("the store", () => {
  async function approvedFile(world: FakeWorld): Promise<string> {
    await approve(world);
    const path = world.files.paths.find((file) => file.startsWith(TRUST));
    if (path === undefined) throw new Error("nothing was written");
    return path;
  }

  it.each([
    ["", "no decision Tenon wrote"],
    ["{", "no decision Tenon wrote"],
    ["null", "no decision Tenon wrote"],
    ['{"version": 2, "decision": "approved"}', "no decision Tenon wrote"],
    ['{"version": 1, "decision": "yes"}', "no decision Tenon wrote"],
  ])("takes the text %j for no approval, and says so", async (text, message) => {
    const world = project(STDIO);
    world.files.write(await approvedFile(world), text);
    expect(await isReady(world)).toBe(false);
    expect((await load(world)).problems).toMatchObject([{ message: expect.stringContaining(message) }]);
  });

  it("takes an approval of something else under this name for none", async () => {
    const world = project(STDIO);
    const path = await approvedFile(world);
    const record: unknown = JSON.parse(world.files.text(path) ?? "");
    for (const change of [{ hash: "0".repeat(64) }, { project: "/other" }, { server: "other" }]) {
      world.files.write(path, JSON.stringify({ ...Object(record), ...change }));
      expect(await isReady(world)).toBe(false);
      expect((await load(world)).problems).toMatchObject([{ message: expect.stringContaining("something else") }]);
    }
  });

  it("trusts nothing where it cannot be read", async () => {
    const world = project(STDIO);
    const path = await approvedFile(world);
    await world.files.remove(path);
    world.files.write(`${path}/a-folder`, "");
    expect(await isReady(world)).toBe(false);
    expect((await load(world)).problems).toHaveLength(1);
  });

  it("never trusts by any bytes in its folder", async () => {
    const world = project(STDIO);
    const path = await approvedFile(world);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
        world.files.write(path, text);
        expect(await isReady(world)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it("keeps decisions of several writers apart", async () => {
    const world = project(STDIO);
    const one = new TrustStore(world, TRUST);
    const other = new TrustStore(world, TRUST);
    const question = await onlyQuestion(world);
    const questions = Array.from({ length: 20 }, (_, index) => ({ ...question, server: `s${index}` }));
    await Promise.all(questions.map((asked, index) => (index % 2 === 0 ? one : other).approve(asked)));
    expect((await one.list()).records).toHaveLength(20);
  });

  it("has no place without a home, and says so", async () => {
    const world = project(STDIO);
    const question = await onlyQuestion(world);
    const config = await loadConfig({ world, cwd: "/project", env: { PATH: "/usr/bin" } });
    expect(readyServers(config)).toEqual([]);
    await expect(new TrustStore(world, undefined).approve(question)).rejects.toMatchObject({
      code: "config.unreadable",
    });
  });
});

describe("settings of a project", () => {
  it("count once they are approved, and ask again when they change", async () => {
    const world = fakeWorld({ env: ENV, files: { "/project/.tenon/config.json": '{"model": "a/b"}' } });
    expect((await load(world)).model).toBeUndefined();
    const question = await approve(world);
    expect(question).toMatchObject({ written: { model: "a/b" } });
    expect(question.server).toBeUndefined();
    expect((await load(world)).model).toMatchObject({ value: "a/b", place: { layer: "project", line: 1 } });
    world.files.write("/project/.tenon/config.json", '{"model": "a/c"}');
    expect((await load(world)).model).toBeUndefined();
    expect(await onlyQuestion(world)).toMatchObject({ isChanged: true });
  });
});
