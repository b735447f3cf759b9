// Trust: shown in full, decided by the person, bound to exactly what was shown.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ConfigBench, type Entry } from "./config-bench.js";
import { scenario } from "./scenario.js";

interface TrustList {
  readonly questions: readonly { readonly server?: string; readonly hash: string; readonly isChanged: boolean }[];
  readonly decisions: readonly { readonly decision: string; readonly server?: string }[];
}

async function trustList(bench: ConfigBench): Promise<TrustList> {
  return JSON.parse((await bench.tenon(["trust", "--json"])).stdout);
}

scenario(["G4", "G6"], "tenon trust shows everything, approves what is named, and takes it back", async () => {
  await using bench = await ConfigBench.open();
  const entry = bench.canary({ env: { API_TOKEN: "literal-secret", HOME_OF: "${HOME}" }, cwd: "." });
  bench.put("project/.mcp.json", bench.servers({ canary: entry, other: bench.canary() }));

  const shown = await bench.tenon(["trust"]);
  for (const word of [...entry.args, "literal-secret", "${HOME}", entry.command]) {
    expect(shown.stdout).toContain(JSON.stringify(word).slice(1, -1));
  }
  for (const words of [["approve"], ["approve", "--yes"], ["approve", "canary", "--yes"], ["bless", "canary"]]) {
    expect((await bench.tenon(["trust", ...words])).code).toBe(2);
  }
  for (const words of [
    ["approve", "--all"],
    ["approve", "nobody"],
    ["revoke", "canary"],
  ]) {
    expect((await bench.tenon(["trust", ...words])).code).toBe(3);
  }
  const headless = await bench.headless("greet me");
  expect(headless.stderr).toContain("tenon trust approve canary");
  expect(bench.deeds).toEqual([]);

  const approved = await bench.tenon(["trust", "approve", "canary", "--json"]);
  expect(approved.code).toBe(0);
  expect(JSON.parse(approved.stdout)).toMatchObject({ change: "approved", questions: [{ server: "canary" }] });
  expect((await bench.headless("greet me")).stdout).toContain("good morning");
  expect(bench.deeds.filter((deed) => deed === "started")).toHaveLength(1);
  const after = await trustList(bench);
  expect(after.questions.map(({ server }) => server)).toEqual(["other"]);
  expect(after.decisions).toMatchObject([{ decision: "approved", server: "canary" }]);

  expect((await bench.tenon(["trust", "deny", "other"])).code).toBe(0);
  expect((await trustList(bench)).questions).toEqual([]);
  expect((await bench.tenon(["trust", "revoke", "canary"])).code).toBe(0);
  expect((await bench.headless("greet me")).stdout).not.toContain("good morning");
  expect(bench.deeds.filter((deed) => deed === "started")).toHaveLength(1);
});

/** One change of each field an entry can have, whether it is there before or not. */
function mutations(entry: Entry): Readonly<Record<string, unknown>> {
  const [first = "", ...rest] = entry.args;
  return {
    command: { ...entry, command: "true" },
    "an argument": { ...entry, args: [`${first} `, ...rest] },
    "the order of arguments": { ...entry, args: [...rest, first] },
    "an argument more": { ...entry, args: [...entry.args, ""] },
    "a value of env": { ...entry, env: { A: "2" } },
    "a name of env": { ...entry, env: { B: "1" } },
    "a variable more": { ...entry, env: { A: "1", B: "" } },
    cwd: { ...entry, cwd: ".." },
    type: { ...entry, type: "stdio" },
    include: { ...entry, include: "always" },
    tools: { ...entry, tools: { greet: { timeoutMs: 5 } } },
    allow: { ...entry, allow: ["*"] },
    deny: { ...entry, deny: [] },
    timeouts: { ...entry, timeouts: { callMs: 1_000 } },
    limits: { ...entry, limits: { callsAtOnce: 1 } },
    required: { ...entry, required: true },
    sandbox: { ...entry, sandbox: "off" },
    account: { ...entry, account: "work" },
    lazy: { ...entry, lazy: true },
    "another kind": { url: "https://example.com/mcp" },
  };
}

scenario(["G8", "G4"], "a change of any field of an approved entry asks again; nothing else does", async () => {
  await using bench = await ConfigBench.open();
  const entry: Entry = { ...bench.greeter(), env: { A: "1" } };
  bench.put("project/.mcp.json", bench.servers({ build: entry }));
  expect((await bench.tenon(["trust", "approve", "build"])).code).toBe(0);
  for (const [what, changed] of Object.entries(mutations(entry))) {
    bench.put("project/.mcp.json", bench.servers({ build: changed }));
    const { questions } = await trustList(bench);
    expect(questions, what).toMatchObject([{ server: "build", isChanged: true }]);
  }
  // The same words in another form, at another place, beside others, and with a comment, are the same words.
  const { command, args } = entry;
  const same = { env: { A: "1" }, args, command };
  const text = `// a comment\n\n{"mcpServers": {"other": {"command": "true"},\n\t"build": ${JSON.stringify(same)},},}`;
  bench.put("project/.mcp.json", text);
  expect((await trustList(bench)).questions.map(({ server }) => server)).toEqual(["other"]);
  expect((await bench.headless("greet me")).stdout).toContain("good morning");
});

scenario(
  ["G4"],
  "an editor is asked through session/request_permission, and what it approves works in the same turn",
  async () => {
    await using bench = await ConfigBench.open();
    const entry = bench.canary({ env: { A: "literal" } });
    bench.put("project/.mcp.json", bench.servers({ canary: entry, other: bench.canary() }));
    await using client = await bench.editor({
      permissions: ({ toolCall }) => (toolCall.title?.startsWith("Trust") ? "always" : "allow"),
    });
    await client.initialize();
    const { sessionId } = await client.newSession({ cwd: bench.project });
    expect(bench.deeds).toEqual([]);
    await client.prompt(sessionId, "greet me");
    expect(client.text(sessionId)).toContain("good morning");
    const [question] = client.permissionRequests.filter(({ toolCall }) => toolCall.title?.startsWith("Trust"));
    expect(question?.toolCall.title).toContain("Trust 2 entries");
    expect(question?._meta).toMatchObject({ tenon: { trust: true, servers: ["canary", "other"] } });
    expect(question?.toolCall.rawInput).toMatchObject({ canary: JSON.parse(JSON.stringify(entry)) });
    const text = JSON.stringify(question?.toolCall.content);
    for (const word of ["literal", bench.url, "canary.mjs"]) expect(text).toContain(word);
    expect(bench.deeds.filter((deed) => deed === "started")).toHaveLength(2);
    // The answer is kept for both: the next session asks nothing.
    const asked = client.permissionRequests.filter(({ toolCall }) => toolCall.title?.startsWith("Trust")).length;
    expect(asked).toBe(1);
    const next = await client.newSession({ cwd: bench.project });
    await client.prompt(next.sessionId, "greet me");
    expect(client.permissionRequests.filter(({ toolCall }) => toolCall.title?.startsWith("Trust"))).toHaveLength(asked);
    expect((await trustList(bench)).decisions.map(({ decision }) => decision)).toEqual(["approved", "approved"]);
  },
);

scenario(["G4", "G6"], "the settings of a project are decided on and forgotten apart from its servers", async () => {
  await using bench = await ConfigBench.open();
  bench.put("project/.mcp.json", bench.servers({ canary: bench.canary() }));
  bench.put("project/.tenon/config.json", { model: "offline/operator" });
  const decided = async () => (await trustList(bench)).decisions.map(({ server, decision }) => [server, decision]);
  expect((await bench.tenon(["trust", "deny", "canary"])).code).toBe(0);
  expect((await bench.tenon(["trust", "approve", "--settings"])).code).toBe(0);
  expect((await bench.tenon(["trust", "deny", "--settings"])).code).toBe(0);
  expect(new Map((await decided()).map(([server, decision]) => [server, decision]))).toEqual(
    new Map([
      ["canary", "denied"],
      [undefined, "denied"],
    ]),
  );
  expect((await bench.tenon(["trust", "revoke", "--settings"])).code).toBe(0);
  expect(await decided()).toEqual([["canary", "denied"]]);
  expect((await trustList(bench)).questions.map(({ server }) => server)).toEqual([undefined]);
  for (const verb of ["approve", "deny", "revoke"]) {
    const { code, stdout } = await bench.tenon(["trust", verb, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: tenon trust ${verb} [SERVER] [options]`);
    expect(stdout).toContain("--settings");
  }
  expect(bench.deeds).toEqual([]);
});

scenario(["G4", "G6"], "mcp add --project writes a project's entry that still has to be approved", async () => {
  await using bench = await ConfigBench.open();
  const { command, args } = bench.canary();
  const added = await bench.tenon(["mcp", "add", "canary", "--project", "--", command, ...args]);
  expect(added.code).toBe(0);
  expect(added.stdout).toContain("tenon trust approve canary");
  expect(JSON.parse(readFileSync(join(bench.project, ".tenon/config.json"), "utf8"))).toEqual({
    $schema: expect.stringContaining("/schema/config.schema.json"),
    mcpServers: { canary: { command, args } },
  });
  await bench.headless("greet me");
  expect(bench.deeds).toEqual([]);
  await bench.tenon(["trust", "approve", "canary"]);
  expect((await bench.headless("greet me")).stdout).toContain("good morning");
  expect((await bench.tenon(["mcp", "remove", "canary"])).code).toBe(3);
  expect((await bench.tenon(["mcp", "remove", "canary", "--project"])).code).toBe(0);
});
