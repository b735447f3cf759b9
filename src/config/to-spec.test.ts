// An entry becomes the spec and the settings of a connection, under the user's rules for its layer.
import { describe, expect, it } from "vitest";
import { isGlobMatch } from "../base/text/glob.js";
import { fakeWorld } from "../testing/index.js";
import { tenonPaths } from "./layers/paths.js";
import { isWritten, type LayerFile, layerOf } from "./layers/read-layer.js";
import * as schemas from "./layers/schema.js";
import { maskEntry } from "./secrets/mask.js";
import { givenSettings, type LayerRules, sourceSettings, toSpec } from "./servers/spec.js";

const paths = tenonPaths({ TENON_HOME: "/tenon" });
const RULES: LayerRules = { allowHosts: [], sandbox: { paths } };

async function spec(entry: unknown, layer: LayerFile["kind"] = "user", rules: LayerRules = RULES, command?: string) {
  const file: LayerFile = { kind: layer, path: "/c/config.json", isShared: false };
  const { servers, problems } = layerOf(JSON.stringify({ mcpServers: { it: entry } }), file, schemas);
  const [server] = servers.filter(isWritten);
  if (!server) throw new Error(JSON.stringify(problems));
  const world = fakeWorld({ env: { TOKEN: "s3cret", HOST: "localhost" } });
  const source = { world, env: world.env, folder: "/c", patience: new AbortController().signal };
  return await toSpec(server, rules, source, command === undefined ? undefined : { command, files: [] });
}

describe("toSpec", () => {
  it("fills every value of a stdio server, and no key", async () => {
    const entry = { command: "${A:-run}", args: ["${B:-x}", ""], env: { "${C:-k}": "${TOKEN}" }, cwd: "${D:-sub}" };
    expect(await spec(entry)).toMatchObject({
      kind: "ready",
      spec: { kind: "stdio", name: "it", command: "run", args: ["x", ""], env: { "${C:-k}": "s3cret" }, cwd: "sub" },
      settings: {
        secrets: ["s3cret"],
        origin: "user",
        urlSource: "typed",
        sandbox: { mode: "off", network: false },
        isRequired: false,
      },
    });
  });

  it("starts the path that was approved instead of what the entry says", async () => {
    expect(await spec({ command: "npx" }, "project", RULES, "/usr/bin/npx")).toMatchObject({
      spec: { command: "/usr/bin/npx" },
      settings: { origin: "project", urlSource: "project" },
    });
  });

  it.each([
    ["http", "http"],
    ["streamable_http", "http"],
    ["websocket", "http"],
    ["sse", "sse"],
    [undefined, "http"],
  ])("takes type %s as %s", async (type, kind) => {
    const entry = {
      type,
      url: "https://a.example/${TOKEN}",
      headers: { A: "x" },
      auth: { type: "bearer", token: "${TOKEN}" },
    };
    expect(await spec(entry)).toMatchObject({
      spec: { kind, url: "https://a.example/s3cret", headers: { A: "x" }, auth: { type: "bearer", token: "s3cret" } },
    });
  });

  it("names the value that is missing", async () => {
    expect(await spec({ command: "a", env: { X: "${GONE}" } })).toEqual({
      kind: "missing",
      reason: expect.stringMatching(/GONE is not set \(env\.X in \/c\/config\.json:1:\d+\)/u),
    });
  });

  it("passes on what is changed about its tools", async () => {
    const shape = {
      name: "n",
      description: "d",
      arguments: { a: [1] },
      defaults: {},
      providerOptions: { openai: { x: 1 } },
    };
    const result = await spec({
      command: "a",
      prefix: "p_",
      tools: { one: { ...shape, include: "manual" } },
      deny: ["x"],
    });
    if (result.kind !== "ready") throw new Error(result.reason);
    expect(sourceSettings(result.settings)).toEqual({
      prefix: "p_",
      deny: ["x"],
      includeByTool: { one: "manual" },
      tools: { one: shape },
    });
  });

  it("passes limits, tool settings and include modes on", async () => {
    const entry = {
      command: "a",
      include: "search",
      timeouts: { connectMs: 1, callMs: 2, maxCallMs: 3 },
      limits: { callsPerMinute: 4, callsAtOnce: 5 },
      tools: {
        one: { timeoutMs: 6, idempotent: true, include: "always" },
        "t*o": { enabled: false },
        constructor: { include: "manual" },
      },
      allow: ["*"],
      deny: ["x"],
      required: true,
      lazy: true,
      account: "work",
      sandbox: "workspace",
    };
    const result = await spec(entry);
    expect(result).toMatchObject({
      settings: {
        include: "search",
        limits: { connectTimeoutMs: 1, callTimeoutMs: 2, callMaxMs: 3, callsPerMinute: 4, callsAtOnce: 5 },
        tools: { one: { timeoutMs: 6, isIdempotent: true } },
        includeByTool: { one: "always", constructor: "manual" },
        allow: ["*"],
        deny: ["x", "t\\*o"],
        isRequired: true,
        isLazy: true,
        account: "work",
        sandbox: { mode: "workspace", network: false, read: [], write: [], refused: [] },
      },
    });
    if (result.kind !== "ready") throw new Error(result.reason);
    expect(result.settings.tools["toString"]).toBeUndefined();
    expect(result.settings.shapes).toEqual({});
    const isDenied = (tool: string) => result.settings.deny.some((glob) => isGlobMatch(glob, tool));
    expect(isDenied("t*o")).toBe(true);
    expect(isDenied("two")).toBe(false);
  });

  it("never loosens the user's sandbox for a layer", async () => {
    const rules: LayerRules = {
      allowHosts: [],
      sandbox: { paths, project: { mode: "workspace" }, client: { mode: "read-only" } },
    };
    const sandboxOf = async (sandbox?: string) => {
      const result = await spec({ command: "a", ...(sandbox ? { sandbox } : {}) }, "project", rules);
      return result.kind === "ready" ? result.settings.sandbox.mode : result.reason;
    };
    expect(await sandboxOf()).toBe("workspace");
    expect(await sandboxOf("off")).toBe("workspace");
    expect(await sandboxOf("read-only")).toBe("read-only");
    expect(givenSettings(rules)).toMatchObject({ origin: "client", sandbox: { mode: "read-only" } });
  });

  it.each([
    ["http://127.0.0.1:3000/mcp", "is not a public address and a project's file may not lead there"],
    ["https://169.254.169.254/latest", "is not a public address"],
    ["https://${HOST}/", "is not a public address"],
    ["http://mcp.example/", "use https"],
    ["https://user:pw@mcp.example/", "must not carry a user name"],
  ])("refuses a project's url %s", async (url, reason) => {
    expect(await spec({ url }, "project")).toEqual({ kind: "refused", reason: expect.stringContaining(reason) });
  });

  it("lets a project reach what the user allows, and the user this machine", async () => {
    const rules = { ...RULES, allowHosts: ["127.0.0.1:3000"] };
    expect(await spec({ url: "http://127.0.0.1:3000/" }, "project", rules)).toMatchObject({ kind: "ready" });
    expect(await spec({ url: "http://127.0.0.1:3000/" }, "user")).toMatchObject({ kind: "ready" });
  });

  it("looks at a url again once it is filled", async () => {
    expect(await spec({ url: "${TOKEN}" })).toMatchObject({ kind: "refused" });
  });
});

describe("maskEntry", () => {
  it("masks what looks like a secret, and leaves references and the rest", () => {
    expect(
      maskEntry({
        command: "npx",
        args: ["--api-key", "abc", "--token=abc", "--token=${T}", "--port", "80", "ghp_0123456789abcdefghij"],
        env: {
          API_KEY: "abc",
          TOKEN: "${T}",
          PORT: "80",
          X: "sk-abcdefghijklmnopqrst",
          EMPTY_TOKEN: "",
          S_TOKEN: "!op",
        },
        include: "always",
      }),
    ).toEqual({
      command: "npx",
      args: ["--api-key", "********", "--token=********", "--token=${T}", "--port", "80", "********"],
      env: { API_KEY: "********", TOKEN: "${T}", PORT: "80", X: "********", EMPTY_TOKEN: "", S_TOKEN: "!op" },
      include: "always",
    });
    expect(
      maskEntry({
        url: "https://me:pw@a.example/p?key=abc&q=1&token=${T}",
        headers: { Authorization: "Bearer abc", Accept: "x" },
        auth: { type: "bearer", token: "abc" },
      }),
    ).toEqual({
      url: "https://********@a.example/p?key=********&q=1&token=${T}",
      headers: { Authorization: "********", Accept: "x" },
      auth: { type: "bearer", token: "********" },
    });
  });
});
