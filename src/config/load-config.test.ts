// All layers together: who wins, who is shadowed, who is not used, and why.
import { describe, expect, it } from "vitest";
import type { ServerSpec } from "../mcp/index.js";
import { type FakeWorld, fakeWorld } from "../testing/index.js";
import { providerEnvironment } from "./collect-layers.js";
import { readyServers, whyNotReady } from "./effective.js";
import { problemText } from "./layers/read-layer.js";
import { type EffectiveConfig, type EffectiveServer, type LoadRequest, loadConfig } from "./load-config.js";
import { TrustStore } from "./trust/store.js";

const USER = "/home/me/.config/tenon/config.json";
const SHARED = "/project/.mcp.json";
const OWN = "/project/.tenon/config.json";
const ENV = { HOME: "/home/me", PATH: "/usr/bin" };

function worldWith(files: Readonly<Record<string, unknown>>, env: Record<string, string> = {}): FakeWorld {
  const texts = Object.entries(files).map(([path, value]) => [
    path,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return fakeWorld({ env: { ...ENV, ...env }, files: { "/usr/bin/run": "", ...Object.fromEntries(texts) } });
}

function servers(...names: readonly string[]): unknown {
  return { mcpServers: Object.fromEntries(names.map((name) => [name, { command: "run", args: [name] }])) };
}

async function load(world: FakeWorld, more: Partial<LoadRequest> = {}): Promise<EffectiveConfig> {
  return await loadConfig({ world, cwd: "/project", ...more });
}

async function approveAll(world: FakeWorld): Promise<void> {
  const store = new TrustStore(world, "/home/me/.local/state/tenon/trust");
  for (const question of (await load(world)).questions) await store.approve(question);
}

function standing(config: EffectiveConfig): string[] {
  return config.servers.map(({ name, status, place }) => `${name} ${status} ${place.file ?? place.layer}`);
}

function client(name: string, command = "client"): ServerSpec {
  return { kind: "stdio", name, command, args: [], env: {} };
}

describe("servers of all layers", () => {
  it("are none where there is nothing, and nothing is wrong with that", async () => {
    expect(await load(worldWith({}))).toMatchObject({
      servers: [],
      notices: [],
      problems: [],
      questions: [],
      values: [],
    });
  });

  it("win by the strength of their layer, each shadowing the others with a notice", async () => {
    const world = worldWith({
      [USER]: servers("it"),
      [SHARED]: servers("it"),
      [OWN]: servers("it"),
      "/c.json": servers("it"),
    });
    await approveAll(world);
    const file = await load(world);
    expect(standing(file)).toEqual(
      [`it shadowed ${SHARED}`, `it ready ${OWN}`, `it shadowed ${USER}`].sort(byStatus(file)),
    );
    expect(file.notices.map(({ text }) => text)).toEqual([
      `the server "it" of the project configuration (${OWN}:1:16) replaces the one of the user configuration (${USER}:1:16)`,
    ]);
    const named = await load(world, { commandLine: { mcpConfig: "/c.json" } });
    expect(readyServers(named)).toMatchObject([{ place: { layer: "command-line", file: "/c.json" } }]);
    const given = await load(world, { commandLine: { mcpConfig: "/c.json" }, clientServers: [client("it")] });
    expect(readyServers(given)).toMatchObject([{ place: { layer: "client" }, spec: { command: "client" } }]);
    expect(given.servers.filter(({ status }) => status === "shadowed")).toHaveLength(4);
    expect(given.questions).toEqual([]);
  });

  function byStatus(config: EffectiveConfig) {
    const order = standing(config);
    return (one: string, other: string) => order.indexOf(one) - order.indexOf(other);
  }

  it("of the client count as they are, the last of two with one name", async () => {
    const config = await load(worldWith({}), { clientServers: [client("a", "one"), client("a", "two"), client("b")] });
    expect(readyServers(config).map(({ spec }) => spec)).toEqual([client("a", "two"), client("b")]);
    expect(config.notices).toEqual([
      { server: "a", text: 'the client sent two servers named "a"; the last one counts' },
    ]);
  });

  it("of an untrusted project touch nothing: the user's own server of the name stays", async () => {
    const world = worldWith({ [USER]: servers("it"), [SHARED]: servers("it", "new") });
    const config = await load(world);
    expect(readyServers(config)).toMatchObject([{ name: "it", place: { layer: "user" } }]);
    expect(config.questions).toMatchObject([{ server: "it", replaces: { file: USER } }, { server: "new" }]);
    expect(config.notices).toHaveLength(1); // one for the file
    expect(config.notices[0]?.text).toMatch(/2 entries .* "it", "new"; see tenon trust/u);
  });

  it("inherit nothing from what they shadow", async () => {
    const world = worldWith({
      [USER]: {
        mcpServers: { it: { url: "https://user.example", headers: { A: "secret" }, account: "me", deny: ["x"] } },
      },
      [SHARED]: { mcpServers: { it: { url: "https://project.example" } } },
    });
    await approveAll(world);
    const [server] = readyServers(await load(world));
    expect(server?.spec).toEqual({ kind: "http", name: "it", url: "https://project.example", headers: {} });
    expect(server?.settings).toMatchObject({ deny: [], secrets: [], origin: "project" });
    expect(server?.settings.account).toBeUndefined();
  });

  it("that a project disables are only its own", async () => {
    const world = worldWith({
      [USER]: servers("it"),
      [OWN]: { mcpServers: { it: { command: "run", disabled: true } } },
    });
    const config = await load(world);
    expect(config.questions).toEqual([]);
    expect(readyServers(config)).toMatchObject([{ name: "it", place: { layer: "user" } }]);
    expect(config.servers.find(({ status }) => status === "disabled")).toMatchObject({ place: { file: OWN } });
  });

  it("are disabled by their entry, by a missing value, by a refused url, each with its reason", async () => {
    const world = worldWith({
      [USER]: {
        mcpServers: {
          off: { command: "run", disabled: true },
          token: { command: "run", env: { T: "${NOT_SET}" } },
          plain: { url: "http://mcp.example" },
          good: { command: "run" },
        },
      },
    });
    const config = await load(world);
    const reasons = Object.fromEntries(config.servers.map((server) => [server.name, whyNotReady(server)]));
    expect(reasons).toEqual({
      off: `disabled in ${USER}:1:16`,
      token: expect.stringMatching(/the environment variable NOT_SET is not set \(env\.T in .*config\.json:1:\d+\)/u),
      plain: expect.stringContaining("use https"),
      good: undefined,
    });
    expect(config.problems).toEqual([]);
  });

  it("of a project are not started by a command that was not there when they were approved", async () => {
    const world = worldWith({ [SHARED]: { mcpServers: { it: { command: "absent" } } } });
    await approveAll(world);
    const [server] = (await load(world)).servers;
    expect(server && whyNotReady(server)).toContain('its command "absent" is not found');
    world.files.write("/usr/bin/absent", "");
    expect((await load(world)).servers).toMatchObject([{ status: "untrusted", question: { isChanged: true } }]);
  });

  it("that are malformed are reported, and shadow nothing", async () => {
    const world = worldWith({
      [USER]: servers("it"),
      "/c.json": '{"mcpServers": {"it": {"comand": "x"}, "b": {"command": "b"}}}',
    });
    const config = await load(world, { commandLine: { mcpConfig: "../c.json" } });
    expect(standing(config)).toEqual(["b ready /c.json", `it ready ${USER}`, "it invalid /c.json"]);
    const invalid = config.servers.find(({ status }) => status === "invalid");
    expect(invalid && whyNotReady(invalid)).toBe(
      '/c.json:1:24: server "it": unknown key "comand"; did you mean "command"?',
    );
    expect(config.problems.map(problemText)).toEqual([invalid && whyNotReady(invalid)]);
  });

  it("in a file that was named and is not there are a problem", async () => {
    const { problems } = await load(worldWith({}), { commandLine: { mcpConfig: "none.json" } });
    expect(problems.map(problemText)).toEqual(["/project/none.json: there is no such file"]);
  });

  it("keep what they were written as, for showing", async () => {
    const world = worldWith({ [USER]: servers("it") });
    expect((await load(world)).servers).toMatchObject([{ written: { command: "run", args: ["it"] } }]);
  });
});

describe("values", () => {
  it("come from the strongest layer that says them, with where it was", async () => {
    const world = worldWith({ [USER]: '{\n "model": "user/m"}' });
    expect((await load(world)).model).toEqual({
      value: "user/m",
      place: { layer: "user", file: USER, line: 2, column: 11 },
    });
    const env = { ...ENV, TENON_MODEL: "env/m" };
    expect((await load(world, { env })).model).toEqual({
      value: "env/m",
      place: { layer: "environment", name: "TENON_MODEL" },
    });
    expect((await load(world, { env, commandLine: { model: "flag/m" } })).model?.value).toBe("flag/m");
  });

  it("give the user's word on permissions, hosts and sandboxes", async () => {
    const world = worldWith({
      [USER]: {
        permissions: { mode: "plan", allowBypass: true },
        allowHosts: ["intranet:8080"],
        sandbox: { client: "read-only", user: "workspace" },
        mcpServers: { it: { url: "http://intranet:8080/mcp" } },
      },
    });
    const config = await load(world, { clientServers: [client("c")] });
    expect(config).toMatchObject({ permissionMode: { value: "plan" }, mayBypass: true, allowHosts: ["intranet:8080"] });
    expect(
      readyServers(config).map(({ name, settings }) => [name, settings.sandbox.mode, settings.allowHosts]),
    ).toEqual([
      ["c", "read-only", ["intranet:8080"]],
      ["it", "workspace", ["intranet:8080"]],
    ]);
    expect((await load(worldWith({}))).mayBypass).toBe(false);
  });

  it("say how many tools come before the model, the rest by default", async () => {
    const world = worldWith({ [USER]: { tools: { maxAlwaysTools: 40, headStart: 0, memory: false } } });
    expect((await load(world)).tools).toEqual({ limits: { maxAlwaysTools: 40, headStart: 0 }, hasMemory: false });
    expect((await load(worldWith({}))).tools).toEqual({ limits: {}, hasMemory: true });
    const wrong = await load(worldWith({ [USER]: { tools: { maxAlwaysTools: -1 } } }));
    expect(wrong.tools.limits).toEqual({});
    expect(wrong.problems).toMatchObject([{ severity: "error", message: expect.stringContaining("maxAlwaysTools") }]);
  });

  it("let the user leave projects' files unread", async () => {
    const world = worldWith({ [USER]: { trust: { projects: "ignore" } }, [SHARED]: servers("it"), [OWN]: "{{{" });
    expect(await load(world)).toMatchObject({ servers: [], questions: [], problems: [] });
  });
});

describe("places", () => {
  it("that variables name relatively are ignored, with a warning: they would lie in the project", async () => {
    const world = worldWith({
      "/project/x/config.json": servers("evil"),
      "/project/x/tenon/config.json": servers("evil"),
      [USER]: servers("mine"),
    });
    const env = { ...ENV, TENON_HOME: "x", XDG_CONFIG_HOME: "./x" };
    const config = await load(world, { env });
    expect(readyServers(config).map(({ name }) => name)).toEqual(["mine"]);
    expect(config.problems.map(problemText)).toEqual([
      "TENON_HOME: this is no full path, so it is ignored",
      "XDG_CONFIG_HOME: this is no full path, so it is ignored",
    ]);
  });

  it("moved by TENON_HOME are read there", async () => {
    const world = worldWith({ "/moved/config.json": servers("it"), [USER]: servers("not") });
    expect(standing(await load(world, { env: { ...ENV, TENON_HOME: "/moved" } }))).toEqual([
      "it ready /moved/config.json",
    ]);
  });

  it("where the user's own file lies in the project are the user's", async () => {
    const world = worldWith({ "/home/me/.tenon/config.json": servers("it") });
    const config = await load(world, { cwd: "/home/me", env: { ...ENV, TENON_HOME: "/home/me/.tenon" } });
    expect(standing(config)).toEqual(["it ready /home/me/.tenon/config.json"]);
    expect(config.questions).toEqual([]);
  });
});

describe("secrets", () => {
  it("are fetched for servers that would be used, and for no others", async () => {
    const asked: string[] = [];
    const world = worldWith({
      [USER]: {
        mcpServers: {
          used: { command: "run", env: { T: "!used" } },
          off: { command: "run", env: { T: "!off" }, disabled: true },
          shadowed: { command: "run", env: { T: "!shadowed" } },
        },
      },
      "/c.json": { mcpServers: { shadowed: { command: "run" }, named: { command: "run", env: { T: "!named" } } } },
    });
    const config = await load(world, {
      commandLine: { mcpConfig: "/c.json" },
      resolveSecret: async (request) => {
        asked.push(request.kind === "command" ? request.command : request.name);
        return "value";
      },
    });
    expect(asked).toEqual(["used"]);
    expect(readyServers(config)).toMatchObject([{ name: "shadowed" }, { name: "used", spec: { env: { T: "value" } } }]);
    const named = config.servers.find((server): server is EffectiveServer => server.name === "named");
    expect(named && whyNotReady(named)).toContain("user's own configuration only");
  });

  it("of providers become the variables the models room reads, below the environment", async () => {
    const world = worldWith(
      {
        [USER]: {
          providers: {
            anthropic: { apiKey: "!op read key", baseUrl: "https://gateway.example" },
            openai: { apiKey: "${MY_KEY}" },
            google: { apiKey: "file" },
          },
        },
      },
      { MY_KEY: "k", GEMINI_API_KEY: "from the environment" },
    );
    const config = await load(world);
    expect(config.providers.anthropic?.apiKey).toMatchObject({ value: "!op read key", place: { file: USER } });
    const asked: unknown[] = [];
    const resolveSecret = async (request: unknown) => {
      asked.push(request);
      return "s3cret";
    };
    const result = await providerEnvironment(config, { world, resolveSecret });
    expect(result.env).toMatchObject({
      ANTHROPIC_API_KEY: "s3cret",
      ANTHROPIC_BASE_URL: "https://gateway.example",
      OPENAI_API_KEY: "k",
      GEMINI_API_KEY: "from the environment",
      HOME: "/home/me",
    });
    expect(result.secrets).toEqual(["s3cret", "k"]);
    expect(await providerEnvironment(config, { world, resolveSecret }, ["openai"])).toMatchObject({ problems: [] });
    expect(asked).toHaveLength(1);
    const without = await providerEnvironment(config, { world });
    expect(without.problems).toMatchObject([{ message: expect.stringContaining("cannot be asked here") }]);
    expect(without.env["ANTHROPIC_API_KEY"]).toBeUndefined();
  });
});

describe("what is said about models", () => {
  it("comes together by model and key, the stronger layer's word above the weaker's", async () => {
    const world = worldWith({
      [USER]: {
        thinking: "high",
        models: {
          "openai-compatible/mine": {
            contextTokens: 8_000,
            thinking: ["off", "low"],
            price: { inputPerMTok: 1, outputPerMTok: 2 },
          },
          "anthropic/x": { images: false },
        },
      },
    });
    const config = await load(world);
    expect(config.problems).toEqual([]);
    expect(config.thinking).toMatchObject({ value: "high", place: { file: USER } });
    expect(config.models).toEqual({
      "openai-compatible/mine": {
        contextTokens: 8_000,
        thinking: ["off", "low"],
        price: { inputPerMTok: 1, outputPerMTok: 2 },
      },
      "anthropic/x": { images: false },
    });
  });

  it("is refused with its place where it is wrong", async () => {
    const world = worldWith({ [USER]: { thinking: "hard", models: { a: { contextTokens: -1, imagse: true } } } });
    const { problems, models } = await load(world);
    expect(models).toEqual({});
    const words = problems.map(({ message }) => message).join("\n");
    expect(words).toContain("thinking must be");
    expect(words).toContain("contextTokens must be at least 1");
    expect(words).toContain('unknown key "imagse"');
  });
});

describe("keys that have no effect", () => {
  it("are said with their place instead of found out", async () => {
    const world = worldWith({
      [USER]: {
        mcpServers: {
          s: { command: "node", include: "search", lazy: true, account: "work" },
          remote: { url: "https://mcp.example", account: "work" },
        },
      },
    });
    const { problems } = await load(world);
    expect(problems.map(({ severity, message }) => [severity, message])).toEqual([
      ["warning", 'server "s": account has no effect on a server that is started here, only on one with a url'],
    ]);
  });
});
