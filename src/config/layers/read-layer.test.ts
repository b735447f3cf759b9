// One file gives its good entries, and names what is wrong with the others, with the place and what was meant.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { CONFIG_LIMITS } from "../limits.js";
import { REFUSED_VARIABLES, USER_ONLY_KEYS } from "./read-entry.js";
import { type LayerFile, layerOf, problemText, readLayer } from "./read-layer.js";
import * as schemas from "./schema.js";

const USER: LayerFile = { kind: "user", path: "config.json", isShared: false };
const PROJECT: LayerFile = { kind: "project", path: ".tenon/config.json", isShared: false };
const SHARED: LayerFile = { kind: "project", path: ".mcp.json", isShared: true };

function read(text: string, file: LayerFile = USER) {
  const layer = layerOf(text, file, schemas);
  return { ...layer, names: layer.servers.map(({ name }) => name), texts: layer.problems.map(problemText) };
}

function readServers(entries: unknown, file: LayerFile = USER) {
  return read(JSON.stringify({ mcpServers: entries }), file);
}

describe("a file of servers", () => {
  it("gives entries of every kind, with all of Tenon's own keys, as they are written", () => {
    const entries = {
      files: {
        command: "npx",
        args: ["-y", "server", ""],
        env: { A: "1" },
        cwd: "sub",
        include: "search",
        tools: { read: { include: "always", timeoutMs: 5, idempotent: true, enabled: false } },
        allow: ["read_*"],
        deny: ["*_all"],
        timeouts: { connectMs: 1, callMs: 2, maxCallMs: 3 },
        limits: { callsPerMinute: 4, callsAtOnce: 5 },
        required: true,
        sandbox: "workspace",
        account: "work",
        disabled: false,
        lazy: true,
      },
      web: { type: "http", url: "https://example.com", headers: { A: "b" }, auth: { type: "bearer", token: "t" } },
      old: { transport: "sse", url: "https://example.com/sse" },
    };
    const { servers, texts } = readServers(entries);
    expect(texts).toEqual([]);
    expect(servers.map(({ name, definition }) => [name, definition])).toEqual(
      Object.entries(entries).map(([name, entry]) => [
        name,
        expect.objectContaining({ kind: "entry", entry, written: entry }),
      ]),
    );
  });

  it("knows where each entry and each value stands", () => {
    const { servers } = read('{\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}');
    const [server] = servers;
    expect(server?.place).toEqual({ layer: "user", file: "config.json", line: 3, column: 5 });
    expect(server?.definition.kind === "entry" && server.definition.placeOf(["command"])).toMatchObject({
      line: 4,
      column: 18,
    });
  });

  it("uses the valid entry beside a misspelt and a broken one, and says where and what was meant", () => {
    const text = `{
  "mcpServers": {
    "misspelt": { "comand": "npx" },
    "broken": { "command": "npx" "args": [] },
    "valid": { "command": "npx" }
  }
}`;
    const { names, texts, invalid } = read(text, SHARED);
    expect(names).toEqual(["valid"]);
    expect(invalid.map(({ name }) => name)).toEqual(["misspelt", "broken"]);
    expect(texts).toEqual([
      '.mcp.json:4:34: expected ","',
      '.mcp.json:3:19: server "misspelt": unknown key "comand"; did you mean "command"?',
      '.mcp.json:4:5: server "broken": left out: there is a syntax error in its entry',
    ]);
  });

  it.each([
    [7, "expected an object, got a number"],
    [null, "expected an object, got null"],
    [{}, "expected a command, or a url"],
    [{ command: "a", url: "https://b" }, "expected either a command or a url, got both"],
    [{ command: "" }, "command must be a text that is not empty"],
    [{ command: ["a"] }, "command must be a text, got a list"],
    [{ command: "a", args: "b" }, "args must be a list, got a text"],
    [{ command: "a", args: ["b", 1] }, "args[1] must be a text, got a number"],
    [{ command: "a\0b" }, "it holds a NUL character"],
    [{ command: "a", env: ["A=1"] }, "env must be an object, got a list"],
    [{ command: "a", env: { PORT: 1 } }, "env.PORT must be a text, got a number"],
    [{ command: "a", env: { "A=B": "1" } }, 'env: "A…" is no variable\'s name'],
    [{ type: "stdio" }, "command must be a text, got nothing"],
    [{ type: "http" }, "url must be a text, got nothing"],
    [{ type: 5, url: "https://a" }, 'type must be "stdio", "http" or "sse", got a number'],
    [{ type: "htpp", url: "https://a" }, 'got "htpp"; did you mean "http"?'],
    [{ url: "example.com/mcp" }, "url must be a full http:// or https:// address"],
    [{ url: "file:///etc/passwd" }, "url must be a full http:// or https:// address"],
    [{ url: "https://a", headers: { "A B": "x" } }, 'headers: "A…" is no header\'s name'],
    [{ url: "https://a", headers: { A: "x\r\nB: y" } }, "headers.A must not hold line breaks"],
    [{ url: "https://a", auth: "t" }, "auth must be an object, got a text"],
    [{ url: "https://a", auth: { type: "basic", token: "t" } }, 'auth.type must be "bearer", got "basic"'],
    [
      { command: "a", include: "allways" },
      'must be "always", "search", "manual" or "agent", got "allways"; did you mean "always"?',
    ],
    [{ command: "a", sandbox: "readonly" }, 'did you mean "read-only"?'],
    [{ command: "a", timeouts: { callMs: 0 } }, "timeouts.callMs must be at least 1, got 0"],
    [{ command: "a", timeouts: { calMs: 1 } }, 'unknown key "calMs"; did you mean "callMs"?'],
    [{ command: "a", limits: { callsAtOnce: 1.5 } }, "limits.callsAtOnce must be a whole number, got a number"],
    [{ command: "a", tools: { x: { timeoutMs: "1" } } }, "tools.x.timeoutMs must be a number, got a text"],
    [{ command: "a", Deny: ["*"] }, 'unknown key "Deny"; did you mean "deny"?'],
    [{ uri: "https://a" }, 'unknown key "uri"; did you mean "url"?'],
  ])("leaves out %j, and keeps its neighbours", (entry, message) => {
    const { names, texts, invalid } = readServers({ before: { command: "a" }, bad: entry, after: { command: "b" } });
    expect(names).toEqual(["before", "after"]);
    expect(invalid).toMatchObject([{ name: "bad", place: { line: 1 } }]);
    expect(texts).toEqual([expect.stringMatching(/^config\.json:1:\d+: server "bad": /u)]);
    expect(texts[0]).toContain(message);
  });

  it("ignores keys of other clients, but not without a word", () => {
    const { names, texts, problems } = readServers({ a: { command: "a", icon: "star", timeout: 60 } });
    expect(names).toEqual(["a"]);
    expect(texts[0]).toContain('unknown key "icon" is ignored');
    expect(texts[1]).toContain('unknown key "timeout" is ignored; did you mean "timeouts"?');
    expect(problems.every(({ severity }) => severity === "warning")).toBe(true);
  });

  it("says what another client's key for the address is called here", () => {
    const { names, texts } = readServers({ a: { serverUrl: "https://example.com" } });
    expect(names).toEqual([]);
    expect(texts).toEqual([
      expect.stringContaining("url must be a text, got nothing"),
      expect.stringContaining('unknown key "serverUrl" is ignored; did you mean "url"?'),
    ]);
  });

  it.each(["", "  ", "a\u202eb", "x".repeat(200)])("refuses the name %j", (name) => {
    expect(readServers({ [name]: { command: "a" } })).toMatchObject({ names: [], invalid: [{ name }] });
  });

  it("refuses the name __proto__ without touching any prototype", () => {
    const { names, texts } = read('{"mcpServers": {"__proto__": {"command": "a"}, "b": {"command": "b"}}}');
    expect(names).toEqual(["b"]);
    expect(texts).toEqual([expect.stringContaining('the key "__proto__" is not used')]);
  });

  it.each([
    ["[]", "expected an object, got a list"],
    ['{"mcpServers": []}', "mcpServers must be an object of entries by name, got a list"],
    ['{"MCPServers": {"a": {"command": "x"}}}', 'unknown key "MCPServers" is ignored; did you mean "mcpServers"?'],
  ])("reads no server from %s, and says why", (text, message) => {
    const { names, texts } = read(text);
    expect(names).toEqual([]);
    expect(texts[0]).toContain(message);
  });

  it("gives every entry of any file exactly one server or one invalid entry, and never throws", () => {
    const entry = fc.oneof(
      fc.jsonValue(),
      fc.record({ command: fc.jsonValue(), args: fc.jsonValue(), tools: fc.jsonValue() }, { requiredKeys: [] }),
      fc.record({ command: fc.string(), args: fc.array(fc.string()) }),
      fc.record({ url: fc.webUrl(), headers: fc.dictionary(fc.string(), fc.string()) }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), entry), fc.constantFrom(USER, PROJECT, SHARED), (entries, file) => {
        const json = JSON.stringify({ mcpServers: entries });
        const { names, invalid } = read(json, file);
        const expected = Object.keys(entries).filter((name) => name !== "__proto__");
        expect([...names, ...invalid.map(({ name }) => name)].sort()).toEqual(expected.sort());
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(read(text).servers).toEqual([]);
      }),
    );
  });
});

describe("values beside the servers", () => {
  it("are read leaf by leaf, each with its place", () => {
    const { values, texts } = read(
      '{\n"model": "a/b",\n"providers": {"openai": {"apiKey": "${K}"}},\n"allowHosts": ["x"]}',
    );
    expect(texts).toEqual([]);
    expect(values).toEqual([
      { path: ["model"], value: "a/b", place: { layer: "user", file: "config.json", line: 2, column: 10 } },
      { path: ["providers", "openai", "apiKey"], value: "${K}", place: expect.objectContaining({ line: 3 }) },
      { path: ["allowHosts"], value: ["x"], place: expect.objectContaining({ line: 4 }) },
    ]);
  });

  it("cost only themselves when they are wrong", () => {
    const { values, texts } = read(
      '{"model": 5, "permisions": {}, "permissions": {"allowBypass": "yes"}, "allowHosts": []}',
    );
    expect(values.map(({ path }) => path)).toEqual([["allowHosts"]]);
    expect(texts).toEqual([
      "config.json:1:11: model must be a text, got a number",
      'config.json:1:14: unknown key "permisions" is ignored; did you mean "permissions"?',
      "config.json:1:63: permissions.allowBypass must be true or false, got a text",
    ]);
  });

  it("without a known meaning are not among them", () => {
    expect(read('{"permissions": {"allowBypass": true, "zzz": 1}}').values.map(({ path }) => path)).toEqual([
      ["permissions", "allowBypass"],
    ]);
  });
});

describe("a project's file", () => {
  it.each(Object.keys(USER_ONLY_KEYS))("can never say %s", (key) => {
    for (const file of [PROJECT, SHARED]) {
      const { values, texts } = read(JSON.stringify({ [key]: { any: true }, mcpServers: {} }), file);
      expect(values).toEqual([]);
      expect(texts).toEqual([expect.stringContaining("a project can never change")]);
    }
  });

  it("holds no values when it is shared with other clients", () => {
    expect(read('{"model": "a/b", "inputs": []}', SHARED)).toMatchObject({ values: [], texts: [] });
    expect(read('{"model": "a/b"}', PROJECT).values).toHaveLength(1);
  });

  const names = REFUSED_VARIABLES.flatMap((group) => group.names.map((name) => name.replace("*", "ANYTHING")));
  it.each([...names, "ld_preload", "Node_Options", "npm_config_script_shell"])("cannot set %s", (name) => {
    const entries = { bad: { command: "node", env: { [name]: "x" } }, good: { command: "node", env: { PORT: "1" } } };
    expect(readServers(entries, SHARED)).toMatchObject({
      names: ["good"],
      texts: [expect.stringContaining(`a project cannot set ${name}: it `)],
    });
    expect(readServers(entries, USER).names).toEqual(["bad", "good"]);
  });

  it.each([
    [{ command: "a", env: { T: "!cat ~/.ssh/id_rsa" } }, "a project cannot run a command for a value"],
    [{ command: "a", env: { T: "keyring:github" } }, "a project cannot read the user's keyring"],
    [{ url: "https://a", headers: { T: "!x" } }, "a project cannot run a command for a value"],
    [{ url: "https://a", auth: { type: "bearer", token: "keyring:x" } }, "a project cannot read the user's keyring"],
    [{ command: "{file:cmd}" }, "a project's command must be written out"],
    [{ command: "sh", args: ["-c", "{file:run.sh}"] }, "a project's args must be written out"],
    [{ url: "https://{file:host}" }, "a project's url must be written out"],
  ])("cannot say %j", (entry, message) => {
    expect(readServers({ bad: entry }, SHARED)).toMatchObject({
      names: [],
      texts: [expect.stringContaining(message)],
    });
    expect(readServers({ bad: entry }, USER).names).toEqual(["bad"]);
  });

  it("cannot choose an account or promise that calls may be repeated: the entry works without", () => {
    const { servers, texts } = readServers(
      { a: { command: "a", account: "work", tools: { x: { idempotent: true, enabled: false } } } },
      PROJECT,
    );
    expect(servers).toMatchObject([{ definition: { entry: { tools: { x: { enabled: false } } } } }]);
    expect(JSON.stringify(servers[0]?.definition.kind === "entry" && servers[0].definition.entry)).not.toMatch(
      /account|idempotent/u,
    );
    expect(texts).toEqual([
      expect.stringContaining("a project cannot say that calls may be repeated"),
      expect.stringContaining("a project cannot choose an account"),
    ]);
  });
});

describe("readLayer", () => {
  const shared = { kind: "project", path: "/project/.mcp.json", isShared: true, within: "/project" } as const;

  it("finds nothing wrong with a file that is not there, unless somebody named it", async () => {
    const world = fakeWorld();
    expect((await readLayer(world, shared)).problems).toEqual([]);
    expect((await readLayer(world, { ...shared, isRequired: true })).problems).toMatchObject([
      { message: "there is no such file" },
    ]);
  });

  it("does not follow a link out of the project, and does one within it", async () => {
    const text = '{"mcpServers": {"a": {"command": "a"}}}';
    const world = fakeWorld({ files: { "/elsewhere/mcp.json": text, "/project/config/mcp.json": text } });
    world.files.link("/project/.mcp.json", "/elsewhere/mcp.json");
    expect(await readLayer(world, shared)).toMatchObject({
      servers: [],
      problems: [{ message: expect.stringContaining("leads out of the project, to /elsewhere/mcp.json") }],
    });
    world.files.link("/project/.mcp.json", "config/mcp.json");
    expect(await readLayer(world, shared)).toMatchObject({ servers: [{ name: "a" }], problems: [] });
  });

  it("does not follow a folder that is a link out of the project", async () => {
    const world = fakeWorld({ files: { "/elsewhere/config.json": '{"mcpServers": {}}', "/project/x": "" } });
    world.files.link("/project/.tenon", "/elsewhere");
    const own = { ...shared, path: "/project/.tenon/config.json", isShared: false };
    expect((await readLayer(world, own)).problems).toMatchObject([{ message: expect.stringContaining("leads out") }]);
  });

  it("does not read a folder, or a file of endless size", async () => {
    const world = fakeWorld({
      files: { "/project/.mcp.json/x": "", "/big": "x".repeat(CONFIG_LIMITS.configMaxBytes + 1) },
    });
    expect((await readLayer(world, shared)).problems).toMatchObject([{ message: "this is a folder, not a file" }]);
    expect((await readLayer(world, { ...USER, path: "/big" })).problems).toMatchObject([
      { message: expect.stringContaining("larger than") },
    ]);
  });
});

describe("a project file with thousands of servers", () => {
  it("is read as far as its first 20, the names of some others, and its other keys", () => {
    const many = Array.from({ length: 3_000 }, (_, at) => `"s${at}": { "command": "x", "env": { "A": "{" } }`);
    const text = `{ "mcpServers": { ${many.join(", ")} }, "model": "offline/operator" }`;
    const layer = layerOf(text, { kind: "project", path: "/p/.tenon/config.json", isShared: false }, schemas);
    expect(layer.servers).toHaveLength(20);
    expect(layer.servers.at(-1)).toMatchObject({ name: "s19", definition: { entry: { env: { A: "{" } } } });
    expect(layer.values).toMatchObject([{ path: ["model"], value: "offline/operator" }]);
    expect(layer.problems).toHaveLength(1);
    expect(layer.problems[0]?.message).toMatch(/the 2980 after these are not loaded: "s20", .* and 2975 more$/u);
  });
});
