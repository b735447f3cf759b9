// Layers of configuration as a person meets them: who wins, what is told, what is filled in, what follows an edit.
import { expect } from "vitest";
import { type AcpClient, scriptedAcpServer } from "../../src/testing/index.js";
import { answerText, fakeProvider } from "../../src/testing/lab/index.js";
import { ConfigBench } from "./config-bench.js";
import { scenario } from "./scenario.js";

function noticesOf(client: AcpClient, sessionId: string): string {
  return client
    .updates(sessionId)
    .flatMap((update) => (update.sessionUpdate === "notice" ? [`${update.severity}: ${update.title}`] : []))
    .join("\n");
}

interface Listed {
  readonly servers: readonly {
    readonly name: string;
    readonly status: string;
    readonly reason?: string;
    readonly source: { readonly layer: string; readonly file?: string; readonly line?: number };
  }[];
}

async function list(bench: ConfigBench, env: Readonly<Record<string, string>> = {}): Promise<Listed["servers"]> {
  const listed: Listed = JSON.parse((await bench.tenon(["mcp", "list", "--no-connect", "--json"], env)).stdout);
  return listed.servers;
}

scenario(
  ["A5", "B1", "G1"],
  "the client's server wins over the project's and the user's of that name, with a notice",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put(
      "home/config.json",
      bench.servers({ greeter: bench.greeter("of the user"), mine: bench.greeter("mine") }),
    );
    bench.put("project/.mcp.json", bench.servers({ greeter: bench.greeter("of the project") }));
    await bench.tenon(["trust", "approve", "greeter"]);
    expect((await list(bench)).map(({ name, status, source }) => [name, status, source.layer, source.line])).toEqual([
      ["greeter", "ready", "project", 3],
      ["greeter", "shadowed", "user", 3],
      ["mine", "ready", "user", 11],
    ]);
    await using client = await bench.editor();
    await client.initialize();
    const greet = { name: "greet", description: "Greets", reply: { kind: "text", text: "of the client" } } as const;
    const { sessionId } = await client.newSession({
      cwd: bench.project,
      mcpServers: [scriptedAcpServer("greeter", { tools: [greet] })],
    });
    await client.prompt(sessionId, "use mcp__greeter__greet");
    expect(client.text(sessionId)).toContain("of the client");
    const notices = noticesOf(client, sessionId);
    expect(notices).toMatch(
      /warning: the server "greeter" of the client replaces the one of the user configuration \(/u,
    );
    expect(await client.request("_tenon/mcp/status", { sessionId })).toMatchObject({
      servers: expect.arrayContaining([
        expect.objectContaining({ name: "greeter", origin: "client" }),
        expect.objectContaining({ name: "mine", origin: "user" }),
      ]),
    });
  },
);

scenario(
  ["G10", "B5"],
  "a valid, a misspelt and a broken entry: the valid one works, the others are told with place and suggestion",
  async () => {
    await using bench = await ConfigBench.open();
    const text = [
      "{",
      '  "mcpServers": {',
      `    "valid": ${JSON.stringify(bench.canary())},`,
      '    "misspelt": { "comand": "node", "args": [] },',
      '    "broken": { "command": 7 }, // and a comment',
      "  }",
      "}",
    ].join("\n");
    const file = bench.put("project/.tenon/config.json", text);
    const expected = [`${file}:4:19: server "misspelt"`, 'did you mean "command"?', `${file}:5:28: server "broken"`];
    const onCommandLine = await bench.tenon(["mcp", "list"]);
    const inChat = await bench.headless("greet me");
    for (const part of expected) {
      expect(onCommandLine.stdout).toContain(part);
      expect(inChat.stderr).toContain(part);
    }
    expect(bench.deeds).toEqual([]);
    await using client = await bench.editor({
      permissions: ({ toolCall }) => (toolCall.title?.startsWith("Trust") ? "always" : "allow"),
    });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "greet me");
    expect(client.text(sessionId)).toContain("good morning");
    for (const part of expected) expect(noticesOf(client, sessionId)).toContain(part);
  },
);

scenario(
  ["G5"],
  "a server that is added to the user's file is there in the next turn, and gone when it is removed",
  async () => {
    await using bench = await ConfigBench.open();
    await using client = await bench.editor();
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    await client.prompt(sessionId, "greet me");
    const { command, args } = bench.canary();
    expect((await bench.tenon(["mcp", "add", "late", "--", command, ...args])).code).toBe(0);
    await client.waitForUpdate(
      sessionId,
      (update) => update.sessionUpdate === "notice" && update.title.includes('"late" is ready'),
    );
    expect(noticesOf(client, sessionId)).toContain("the configuration changed");
    await client.prompt(sessionId, "greet me");
    expect(client.text(sessionId)).toContain("good morning");
    await bench.tenon(["mcp", "disable", "late"]);
    await client.waitForUpdate(
      sessionId,
      (update) => update.sessionUpdate === "notice" && update.title.includes('"late" is no longer used'),
    );
    expect(await client.request("_tenon/mcp/status", { sessionId })).toEqual({ servers: [] });
  },
);

scenario(
  ["G3", "G2"],
  "values are filled in from the environment, files and commands; what is missing disables its server",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/token", "from the file\n");
    const env = { A: "${SET}", B: "${UNSET:-fallback}", C: "{file:token}", D: "!printf '%s' from-the-command" };
    // Backwards: what is filled in counts as secret, and would not be shown as it is.
    const show =
      "const back = (n) => [...process.env[n]].reverse().join(''); console.error(['A','B','C','D'].map(back).join('|')); process.exit(7)";
    bench.put(
      "home/config.json",
      bench.servers({
        shows: { command: process.execPath, args: ["-e", show], env },
        lacks: bench.canary({ env: { X: "${NOBODY_SET_THIS}" } }),
        keyring: bench.canary({ env: { X: "keyring:github" } }),
        fails: bench.canary({ env: { X: "!echo 'vault is locked' >&2; exit 3" } }),
        off: bench.canary({ disabled: true }),
      }),
    );
    const { stderr } = await bench.headless("greet me", { SET: "from-the-environment" });
    const filledIn = ["from-the-environment", "fallback", "from the file", "from-the-command"];
    expect(stderr).toContain(filledIn.map((value) => [...value].reverse().join("")).join("|"));
    expect(stderr).toContain("NOBODY_SET_THIS");
    expect(stderr).toMatch(/the keyring (?:failed: |has no entry)/u);
    expect(stderr).toContain("vault is locked");
    expect(bench.deeds).toEqual([]);
    const standing = Object.fromEntries((await list(bench, { SET: "x" })).map(({ name, status }) => [name, status]));
    expect(standing).toEqual({
      shows: "ready",
      lacks: "disabled",
      keyring: "ready",
      fails: "ready",
      off: "disabled",
    });
  },
);

scenario(["G2"], "allow and deny decide which tools of a server are there", async () => {
  await using bench = await ConfigBench.open();
  const { command, args } = bench.greeter();
  bench.put("home/config.json", bench.servers({ shut: { command, args, deny: ["gr*"] }, open: { command, args } }));
  await using client = await bench.editor();
  await client.initialize();
  const { sessionId } = await client.newSession({ cwd: bench.project });
  await client.prompt(sessionId, "greet me");
  expect(await client.request("_tenon/mcp/status", { sessionId })).toMatchObject({
    servers: [
      { name: "shut", state: "ready", tools: [] },
      { name: "open", state: "ready", tools: [{ name: "mcp__open__greet" }] },
    ],
  });
});

scenario(
  ["G1", "G3"],
  "the model and its provider come from the user's file, unless environment or flag say otherwise",
  async () => {
    await using bench = await ConfigBench.open();
    await using provider = await fakeProvider();
    const providers = { "openai-compatible": { baseUrl: provider.url, apiKey: "!printf the-key" } };
    bench.put("home/config.json", { model: "openai-compatible/of-the-file", providers });
    provider.reply(answerText("Hello from the file's model."));
    expect((await bench.headless("hi")).stdout).toContain("Hello from the file's model.");
    expect(provider.requests.at(-1)?.body).toMatchObject({ model: "of-the-file" });
    expect(JSON.stringify(provider.requests.at(-1)?.headers)).toContain("the-key");
    provider.reply(answerText("And from the other."));
    await bench.headless("hi", { TENON_MODEL: "openai-compatible/of-the-environment" });
    expect(provider.requests.at(-1)?.body).toMatchObject({ model: "of-the-environment" });
    const flagged = await bench.tenon(["chat", "-p", "hi", "--model", "offline/operator"]);
    expect(flagged.stdout).toContain("offline model");
  },
);

scenario(
  ["G9"],
  "whatever a configuration file holds, it is told with its place and the other layers work",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("home/config.json", bench.servers({ mine: bench.greeter("still here") }));
    const deep = `${'{"mcpServers":'.repeat(5_000)}`;
    for (const text of [
      "",
      "{",
      "\u0000\u0001",
      "[]",
      '{"mcpServers": [1]}',
      '{"mcpServers": {"a": null}}',
      "{'a': 1}",
      deep,
    ]) {
      bench.put("project/.mcp.json", text);
      const { code, stdout, stderr } = await bench.headless("greet me");
      expect(code).toBe(0);
      expect(stdout).toContain("still here");
      if (text !== "") expect(stderr).toContain(`${bench.project}/.mcp.json:1:`);
    }
  },
);
