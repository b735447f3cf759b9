// Modes, config options, log-in, system prompts, titles: what a client sets about a session of the built `tenon acp`.
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type AcpClient, echoTool, scriptedAcpServer } from "../../src/testing/index.js";
import { answerText, answerToolCall, fakeProvider, gate } from "../../src/testing/lab/index.js";
import { startTenon, TemporaryFolder } from "./agent.js";
import { conversationIn, KEY } from "./providers/target.js";
import { scenario } from "./scenario.js";

type Update = ReturnType<AcpClient["updates"]>[number];

const SERVER = () => scriptedAcpServer("s", { tools: [echoTool()] });
const ANTHROPIC = "anthropic/claude-sonnet-5-5";

function configure(home: TemporaryFolder, config: object): void {
  writeFileSync(join(home.path, "config.json"), JSON.stringify(config));
}

interface Option {
  readonly id: string;
  readonly currentValue: string;
  readonly options: readonly { readonly value: string }[];
}

function optionsOf(given: unknown): readonly Option[] {
  return JSON.parse(JSON.stringify(given ?? []));
}

/** The options as the client knows them after everything it has been told. */
function optionsNow(client: AcpClient, sessionId: string, opened: unknown): readonly Option[] {
  const told = client.updates(sessionId).flatMap((update) => {
    return update.sessionUpdate === "config_option_update" ? [update.configOptions] : [];
  });
  return optionsOf(told.at(-1) ?? opened);
}

function valueOf(options: readonly Option[], id: string): string | undefined {
  return options.find((option) => option.id === id)?.currentValue;
}

function choicesOf(options: readonly Option[], id: string): readonly string[] {
  return options.find((option) => option.id === id)?.options.map(({ value }) => value) ?? [];
}

const isModeUpdate = (mode: string) => (update: Update) =>
  update.sessionUpdate === "current_mode_update" && update.currentModeId === mode;

scenario(
  ["P20"],
  "plan refuses what may change something, ask asks again, and bypass is not there unasked",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    await client.initialize();
    const { sessionId, modes } = await client.newSession({ cwd: home.path, mcpServers: [SERVER()] });
    expect(modes).toMatchObject({ currentModeId: "ask" });
    expect(modes?.availableModes.map(({ id }) => id)).toEqual(["ask", "plan", "auto-edit"]);
    await client.request("session/set_mode", { sessionId, modeId: "plan" });
    await client.waitForUpdate(sessionId, isModeUpdate("plan"));
    await client.prompt(sessionId, "please echo in plan mode");
    expect(client.permissionRequests).toHaveLength(0);
    expect(JSON.stringify(client.updates(sessionId))).toContain("the mode plan runs read-only tools");
    await client.request("session/set_mode", { sessionId, modeId: "ask" });
    await client.prompt(sessionId, "please echo when asked");
    expect(client.permissionRequests).toHaveLength(1);
    expect(client.text(sessionId)).toContain("when asked");
    for (const modeId of ["bypass", "yolo"]) {
      await expect(client.request("session/set_mode", { sessionId, modeId })).rejects.toMatchObject({ code: -32602 });
    }
  },
);

scenario(["P20"], "the user's own configuration sets the mode and allows bypass; what was chosen stays", async () => {
  using home = new TemporaryFolder();
  configure(home, { permissions: { mode: "auto-edit", allowBypass: true } });
  let id = "";
  {
    await using client = await startTenon(home);
    await client.initialize();
    const { sessionId, configOptions } = await client.newSession({ cwd: home.path, mcpServers: [SERVER()] });
    id = sessionId;
    await client.waitForUpdate(sessionId, isModeUpdate("auto-edit"));
    await client.request("session/set_config_option", { sessionId, configId: "mode", value: "bypass" });
    await client.waitForUpdate(sessionId, isModeUpdate("bypass"));
    expect(choicesOf(optionsNow(client, sessionId, configOptions), "mode")).toContain("bypass");
    await client.prompt(sessionId, "please echo unasked");
    expect(client.text(sessionId)).toContain("unasked");
    expect(client.permissionRequests).toHaveLength(0);
  }
  {
    await using client = await startTenon(home);
    await client.initialize();
    await client.request("session/resume", { sessionId: id, cwd: home.path, mcpServers: [SERVER()] });
    await client.waitForUpdate(id, isModeUpdate("bypass"));
  }
  configure(home, {});
  await using client = await startTenon(home);
  await client.initialize();
  await client.request("session/resume", { sessionId: id, cwd: home.path, mcpServers: [SERVER()] });
  await client.prompt(id, "please echo what is no longer allowed unasked");
  expect(client.permissionRequests).toHaveLength(1);
});

scenario(["P21"], "the model and how much it thinks can be changed in the middle of a turn", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider();
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: provider.origin };
  await using client = await startTenon(home, { env, permissions: "always" });
  await client.initialize();
  const opened = await client.newSession({ cwd: home.path, mcpServers: [SERVER()] });
  const { sessionId } = opened;
  await client.waitForUpdate(sessionId, (update) => update.sessionUpdate === "config_option_update");
  const options = optionsNow(client, sessionId, opened.configOptions);
  expect(valueOf(options, "model")).toBe(ANTHROPIC);
  expect(choicesOf(options, "model")).toEqual(expect.arrayContaining([ANTHROPIC, "anthropic/claude-opus-5-5"]));
  expect(choicesOf(options, "model").some((model) => model.startsWith("openai/"))).toBe(false);
  expect(choicesOf(options, "thinking")).toEqual(["default", "low", "medium", "high"]);

  const held = gate();
  provider.reply(
    {
      kind: "answer",
      parts: [{ kind: "pause", until: held.opened }, ...answerToolCall("mcp__s__echo", { text: "x" }).parts],
    },
    answerText("Done."),
  );
  const prompting = client.prompt(sessionId, "echo x");
  await provider.awaitRequest(0);
  const set = (configId: string, value: unknown) =>
    client.request("session/set_config_option", { sessionId, configId, value });
  const answer = await set("model", "anthropic/claude-opus-5-5");
  expect(answer).toMatchObject({ configOptions: expect.any(Array) });
  await set("thinking", "high");
  held.open();
  await prompting;
  expect(provider.requests.map(({ body }) => body["model"])).toEqual(["claude-sonnet-5-5", "claude-opus-5-5"]);
  expect(JSON.stringify((await provider.awaitRequest(1)).body)).toContain('"effort":"high"');
  expect(valueOf(optionsNow(client, sessionId, []), "model")).toBe("anthropic/claude-opus-5-5");

  await expect(set("model", "claude")).rejects.toMatchObject({ code: -32602 });
  await expect(set("model", "openai/gpt-6.1-sol")).rejects.toMatchObject({ code: -32000 });
  await expect(set("thinking", "lots")).rejects.toMatchObject({ code: -32602 });
  await expect(set("colour", "off")).rejects.toThrow(
    /no option "colour"; there are: mode, model, thinking, include, sandbox/u,
  );
  expect(valueOf(optionsNow(client, sessionId, []), "model")).toBe("anthropic/claude-opus-5-5");
});

scenario(["P21"], "with include set to search, tools of servers are found, not offered", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider();
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: provider.origin };
  await using client = await startTenon(home, { env });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path, mcpServers: [SERVER()] });
  await client.request("session/set_config_option", { sessionId, configId: "include", value: "manual" });
  provider.reply(answerText("Nothing to echo with."));
  await client.prompt(sessionId, "echo x");
  expect(JSON.stringify((await provider.awaitRequest(0)).body["tools"])).not.toContain("mcp__s__echo");
});

scenario(
  ["P25"],
  "logging in is harmless with a model, plain without; a terminal method where there is one",
  async () => {
    using home = new TemporaryFolder();
    {
      await using client = await startTenon(home);
      const { authMethods } = await client.initialize({ clientCapabilities: { auth: { terminal: true } } });
      expect(authMethods).toMatchObject([{ id: "environment" }, { type: "terminal", args: ["--setup"] }]);
      expect(await client.request("authenticate", { methodId: "environment" })).toEqual({});
      const { sessionId } = await client.newSession({ cwd: home.path });
      await client.request("logout", {});
      await expect(client.prompt(sessionId, "hello")).rejects.toMatchObject({ code: -32000 });
      await expect(client.newSession({ cwd: home.path })).rejects.toMatchObject({ code: -32000 });
      await client.request("authenticate", { methodId: "environment" });
      expect((await client.prompt(sessionId, "hello")).stopReason).toBe("end_turn");
    }
    await using client = await startTenon(home, { env: { TENON_MODEL: "openai/gpt-6.1-sol" } });
    const { authMethods } = await client.initialize();
    expect(authMethods).toMatchObject([{ id: "environment" }]);
    await expect(client.request("authenticate", { methodId: "environment" })).rejects.toThrow(/OPENAI_API_KEY/u);
  },
);

scenario(["P26"], "a client's system prompt is appended, or takes the place of Tenon's own words", async () => {
  using home = new TemporaryFolder();
  using other = new TemporaryFolder();
  await using provider = await fakeProvider();
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: provider.origin };
  await using client = await startTenon(home, { env });
  await client.initialize();
  const systemOf = async (params: object): Promise<string> => {
    const answer: { sessionId: string } = JSON.parse(
      JSON.stringify(await client.request("session/new", { cwd: home.path, mcpServers: [], ...params })),
    );
    provider.reply(answerText("Aye."));
    const before = provider.requests.length;
    await client.prompt(answer.sessionId, "hello");
    return JSON.stringify((await provider.awaitRequest(before)).body["system"]);
  };
  const content = [{ type: "text", text: "You are a pirate." }];
  const appended = await systemOf({
    systemPrompt: { mode: "append", content },
    additionalDirectories: [other.path],
  });
  expect(appended).toMatch(/You are Tenon.*You are a pirate\./su);
  expect(appended).toContain(other.path);
  const overridden = await systemOf({ systemPrompt: { mode: "override", content } });
  expect(overridden).toContain("You are a pirate.");
  expect(overridden).not.toContain("You are Tenon");
  for (const systemPrompt of [
    { mode: "prepend", content },
    { mode: "append", content: [] },
    { mode: "append", content: [{ type: "image", data: "", mimeType: "image/png" }] },
  ]) {
    const asked = client.request("session/new", { cwd: home.path, mcpServers: [], systemPrompt });
    await expect(asked).rejects.toMatchObject({ code: -32602 });
  }
});

scenario(["P26"], "a session has a title, a status and a cost", async () => {
  using home = new TemporaryFolder();
  await using provider = await fakeProvider();
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: provider.origin };
  await using client = await startTenon(home, { env });
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: home.path });
  const usage = { inputTokens: 1_000, outputTokens: 100 };
  provider.reply({ ...answerText("One."), usage }, { ...answerText("Two."), usage });
  const first = await client.prompt(sessionId, "Count\nto two");
  expect(first).toMatchObject({ usage: { totalTokens: 1_100, inputTokens: 1_000, outputTokens: 100 } });
  expect(await client.prompt(sessionId, "go on")).toMatchObject({ usage: { totalTokens: 2_200 } });
  const costs = client.updates(sessionId).flatMap((update) => {
    return update.sessionUpdate === "usage_update" && update.cost ? [update.cost.amount] : [];
  });
  expect(costs).toHaveLength(2);
  expect(costs[1]).toBeCloseTo((costs[0] ?? 0) * 2);
  const titles = () =>
    client
      .updates(sessionId)
      .flatMap((update) => (update.sessionUpdate === "session_info_update" ? [update.title] : []));
  expect(titles()).toEqual(["Count to two"]);
  expect(await client.request("session/set_title", { sessionId, title: "  My   title " })).toEqual({
    title: "My title",
  });
  await client.waitForUpdate(sessionId, (update) => "title" in update && update.title === "My title");
  expect(await client.request("session/status", { sessionId })).toEqual({ status: "open" });
  await client.closeSession(sessionId);
  expect(await client.request("session/status", { sessionId })).toEqual({ status: "saved" });
  expect(await client.request("session/set_title", { sessionId, title: "Another" })).toEqual({ title: "Another" });
  expect(await client.request("session/list", {})).toMatchObject({ sessions: [{ sessionId, title: "Another" }] });
  await expect(client.request("session/set_title", { sessionId, title: " \n" })).rejects.toMatchObject({
    code: -32602,
  });
  await expect(client.request("session/status", { sessionId: "nobody" })).rejects.toMatchObject({ code: -32002 });
});

scenario(
  ["P27"],
  "a burst of requests behind initialize is answered whole, and no update comes before its session",
  async () => {
    using home = new TemporaryFolder();
    await using client = await startTenon(home);
    const request = (id: number, method: string, params: object) =>
      JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const burst = [
      request(901, "initialize", { protocolVersion: 1, clientCapabilities: { session: { notices: {} } } }),
      request(902, "authenticate", { methodId: "environment" }),
      request(903, "session/new", { cwd: home.path, mcpServers: [SERVER()] }),
      request(904, "session/list", {}),
      request(905, "session/new", { cwd: home.path, mcpServers: [] }),
      request(906, "session/prompt", { sessionId: "not there", prompt: [] }),
    ];
    for (const line of burst) client.sendLine(line);
    const answers = new Map<number, string>();
    while (answers.size < burst.length) {
      const line = await client.nextLine((text) => /"id":90\d/u.test(text));
      answers.set(Number(/"id":(90\d)/u.exec(line)?.[1]), line);
    }
    expect(answers.get(906)).toContain("-32002");
    for (const id of [901, 902, 903, 904, 905]) expect(answers.get(id)).toContain('"result"');
    const created = /"sessionId":"([^"]+)"/u.exec(answers.get(903) ?? "")?.[1] ?? "";
    await client.waitForUpdate(created, ({ sessionUpdate }) => sessionUpdate === "available_commands_update");
    const received = client.lines.filter(({ direction }) => direction === "received").map(({ text }) => text);
    const answered = received.findIndex((text) => text.includes('"id":903'));
    const updated = received.findIndex((text) => text.includes("session/update") && text.includes(created));
    expect(answered).toBeGreaterThanOrEqual(0);
    expect(updated).toBeGreaterThan(answered);
  },
);

scenario(["P24"], "files of the session's directories are attached; others stay links", async () => {
  using home = new TemporaryFolder();
  using project = new TemporaryFolder();
  await using provider = await fakeProvider();
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: provider.origin };
  await using client = await startTenon(home, { env });
  await client.initialize();
  const root = realpathSync(project.path);
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src", "note.txt"), "the word is heron");
  writeFileSync(join(home.path, "private.txt"), "the word is egret");
  const { sessionId } = await client.newSession({ cwd: root });
  provider.reply(answerText("I see."));
  const link = (path: string) => ({ type: "resource_link" as const, uri: `file://${path}`, name: path });
  await client.prompt(sessionId, [
    { type: "text", text: "what is the word?" },
    link(join(root, "src", "note.txt")),
    link(join(realpathSync(home.path), "private.txt")),
    link(join(root, "gone.txt")),
    link(join(root, "src")),
  ]);
  const sent = JSON.stringify(conversationIn(await provider.awaitRequest(0)));
  expect(sent).toContain("the word is heron");
  expect(sent).not.toContain("egret");
  const notices = client.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "notice");
  expect(JSON.stringify(notices)).toMatch(/gone\.txt was mentioned and is not attached: there is no such file/u);
});
