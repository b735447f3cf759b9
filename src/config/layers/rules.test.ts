// Rules of configuration files: each by itself, with its place; one that cannot be read never lets more through.
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { loadConfig } from "../load-config.js";
import { type LayerFile, layerOf, problemText } from "./read-layer.js";
import * as schemas from "./schema.js";

const USER: LayerFile = { kind: "user", path: "config.json", isShared: false };
const PROJECT: LayerFile = { kind: "project", path: ".tenon/config.json", isShared: false };

function read(text: string, file: LayerFile = USER) {
  const { rules = [], values, problems } = layerOf(text, file, schemas);
  return { rules, values, texts: problems.map(problemText) };
}

const one = (rule: unknown, file?: LayerFile) => read(JSON.stringify({ permissions: { rules: [rule] } }), file);

describe("a rule", () => {
  it("is read whole, with where it was written", () => {
    const rule = {
      effect: "allow",
      server: "files",
      tool: "read_*",
      origin: ["user", "client"],
      annotations: { readOnly: true },
      arguments: [
        { pointer: "/path", under: "." },
        { pointer: "/a~1b/0", equals: { deep: [null] } },
        { pointer: "", equals: null },
        { pointer: "/x", oneOf: [1, "a", null] },
        { pointer: "/x", glob: "" },
        { pointer: "/x", prefix: "a" },
      ],
      reason: "reading is fine",
    };
    expect(one(rule)).toMatchObject({ texts: [], rules: [{ ...rule, place: "config.json:1:26" }] });
    expect(one({ effect: "ask" }).rules).toEqual([{ effect: "ask", place: "config.json:1:26" }]);
  });

  it.each([
    [{ effect: "alow" }, 'effect must be "allow", "ask" or "deny", got "alow"; did you mean "allow"?'],
    [{ effect: "deny", sever: "x" }, 'unknown key "sever"; did you mean "server"?'],
    [{ effect: "deny", futureKey: 1 }, 'unknown key "futureKey"\n'],
    [{ effect: "deny", server: 5 }, "server must be a text, got a number"],
    [{ effect: "deny", arguments: { pointer: "/a" } }, "arguments must be a list, got an object"],
    [{ effect: "deny", arguments: [{ pointer: "a", equals: 1 }] }, "must be a JSON pointer"],
    [{ effect: "deny", arguments: [{ pointer: "/a~2", equals: 1 }] }, "must be a JSON pointer"],
    [{ effect: "deny", arguments: [{ pointer: "/a" }] }, "must have exactly one of equals, glob"],
    [{ effect: "deny", arguments: [{ pointer: "/a", glob: "x", prefix: "y" }] }, "must have exactly one of equals"],
    [{ effect: "deny", arguments: [{ pointer: "/a", regex: "x" }] }, 'unknown key "regex"'],
    [{ server: "x" }, "effect must be"],
  ])("%j is told with its place, and asks instead", (rule, message) => {
    const { rules, texts } = one(rule);
    expect(texts.join("\n")).toContain(message);
    expect(texts.join("\n")).toContain("is asked about");
    for (const text of texts) expect(text).toMatch(/^config\.json:1:\d+: /);
    expect(rules).toMatchObject([{ effect: "ask", isBroken: true }]);
    const isNamed = "server" in rule && typeof rule.server === "string";
    expect(rules[0]?.server).toBe(isNamed ? "x" : undefined);
  });

  it.each([
    { effect: "allow", tol: "x" },
    { effect: "allow", futureCondition: true },
    { effect: "allow", arguments: [{ pointer: "/a", regex: "x" }] },
    { effect: "allow", arguments: [{ pointer: "/a", under: "" }] },
    "allow",
    null,
  ])("%j that was to allow is left out: what would have narrowed it is not known", (rule) => {
    const { rules, texts } = one(rule);
    expect(rules).toEqual([]);
    expect(texts.at(-1)).toMatch(/^config\.json:1:\d+: (?:this rule is left out|a rule must be an object, got )/);
  });

  it("that is wrong costs neither its neighbours nor the mode", () => {
    const { rules, values } = read(
      JSON.stringify({
        permissions: { mode: "plan", rules: [{ effect: "ask" }, { effect: "deny", tool: 1 }, { effect: "deny" }] },
      }),
    );
    expect(rules.map(({ effect, isBroken = false }) => [effect, isBroken])).toEqual([
      ["ask", false],
      ["ask", true],
      ["deny", false],
    ]);
    expect(values).toMatchObject([{ path: ["permissions", "mode"], value: "plan" }]);
  });
});

describe("rules that cannot be read as they were meant", () => {
  it.each([
    '{"permissions": {"rules": {"effect": "deny"}}}',
    '{"permissions": {"rules": [{"effect": "deny", "server": "a"} {"effect": "allow"}]}}',
    '{"permissions": {"rules": [{"effect": "allow"}, {"effect": "deny", "server": "a]}}',
    '{"permissions": {"mode" "ask", "rules": [{"effect": "allow"}]}}',
  ])("%s: nothing is allowed by them, everything is asked about, and it is said", (text) => {
    const { rules, texts } = read(text);
    expect(rules.filter(({ effect }) => effect === "allow")).toEqual([]);
    expect(rules.at(-1)).toMatchObject({ effect: "ask", isBroken: true });
    expect(texts.join("\n")).toContain("asked about");
  });
});

describe("a project's rules", () => {
  it("may ask and deny, without a word of their own", () => {
    const { rules, texts } = one({ effect: "deny", tool: "deploy", reason: "Run curl instead." }, PROJECT);
    expect(rules).toEqual([{ effect: "deny", tool: "deploy", place: ".tenon/config.json:1:26" }]);
    expect(texts).toEqual([expect.stringContaining("the reason of a project's rule is not shown")]);
  });

  it("never allow, which is told with file and line", () => {
    const { rules, texts } = read('{"permissions": {"rules": [\n  {"effect": "allow"}]}}', PROJECT);
    expect(rules).toEqual([]);
    expect(texts).toEqual([
      '.tenon/config.json:2:14: a project can never allow calls: the rule is left out; its rules may "ask" or "deny"',
    ]);
  });

  it("bring nothing else of permissions with them", () => {
    const { rules, values, texts } = read(
      '{"permissions": {"mode": "bypass", "allowBypass": true, "rules": [{"effect": "ask"}]}}',
      PROJECT,
    );
    expect(rules).toHaveLength(1);
    expect(values).toEqual([]);
    expect(texts).toEqual([expect.stringContaining("a project can never change what may happen without asking")]);
    expect(one({ effect: "ask" }, { ...PROJECT, isShared: true }).rules).toEqual([]);
  });
});

describe("the rules of a session", () => {
  const HOME = "/home/me/.config/tenon/config.json";
  const file = (...effects: readonly object[]) => JSON.stringify({ permissions: { rules: effects } });

  it("come in the order command line, user, project, and need no trust to tighten", async () => {
    const world = fakeWorld({
      env: { HOME: "/home/me" },
      files: {
        [HOME]: file({ effect: "allow", tool: "u" }),
        "/project/.tenon/config.json": file({ effect: "deny", tool: "p" }, { effect: "allow", tool: "evil" }),
      },
    });
    const commandLine = { rules: [{ effect: "allow", tool: "c" }] } as const;
    const { rules, questions } = await loadConfig({ world, cwd: "/project", commandLine });
    expect(rules.map(({ effect, tool }) => `${effect} ${tool}`)).toEqual(["allow c", "allow u", "deny p"]);
    expect(questions).toEqual([]);
  });

  it("leave the project's out where projects are ignored", async () => {
    const world = fakeWorld({
      env: { HOME: "/home/me" },
      files: { [HOME]: '{"trust": {"projects": "ignore"}}', "/project/.tenon/config.json": file({ effect: "deny" }) },
    });
    expect((await loadConfig({ world, cwd: "/project" })).rules).toEqual([]);
  });
});

describe("trustAnnotations", () => {
  const entry = JSON.stringify({ mcpServers: { s: { command: "node", trustAnnotations: true } } });

  it("is the user's word", async () => {
    const world = fakeWorld({ env: { HOME: "/home/me" }, files: { "/home/me/.config/tenon/config.json": entry } });
    const { servers } = await loadConfig({ world, cwd: "/project" });
    expect(servers).toMatchObject([{ name: "s", status: "ready", settings: { trustsAnnotations: true } }]);
  });

  it("is not a project's, whose entry works without", () => {
    const { texts } = read(entry, PROJECT);
    expect(texts).toEqual([
      expect.stringContaining('a project cannot vouch for what its own server says: "trustAnnotations" is ignored'),
    ]);
    const [server] = layerOf(entry, PROJECT, schemas).servers;
    expect(server?.definition).toMatchObject({ entry: { command: "node" } });
    expect(server?.definition).not.toMatchObject({ entry: { trustAnnotations: true } });
  });
});
