// An approval means what its label says: what questions offer, what is kept, what cannot be read, and content from outside.
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { runGrant } from "../../src/cli/commands/trust/trust.js";
import { systemKeyring } from "../../src/cli/secrets.js";
import { createPalette } from "../../src/cli/terminal/stream.js";
import type { PermissionAnswer, PermissionQuestion } from "../../src/session/index.js";
import { echoTool } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv } from "./agent.js";
import { hostileServer } from "./marking/hostile-server.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";
import { calls, inTurn, RecordedModel } from "./tools/recorded-model.js";
import { entry, ToolBench } from "./tools/tool-session.js";

/** One session with these calls, one after the other. */
async function session(
  bench: ToolBench,
  answer: PermissionAnswer | "nobody" | ((question: PermissionQuestion) => PermissionAnswer),
  ...all: readonly (readonly [tool: string, given: JsonObject])[]
): Promise<void> {
  const model = new RecordedModel(inTurn(...all.map(([tool, given]) => calls(tool, given))));
  const one = bench.open({ model, answer });
  await one.prompt("go");
  await one.close();
}

const decisions = (bench: ToolBench): string => join(bench.home, "state/decisions");
const command = (text: string) => ["run_command", { command: text }] as const;

scenario(["H401"], "a question has one option of each kind, and each label says exactly what it grants", async () => {
  await using bench = new ToolBench();
  bench.configure({ mcpServers: { s: entry({ tools: [echoTool()] }) } });
  await session(
    bench,
    "once",
    command("git status"),
    command("git log --oneline"),
    command("git status; true"),
    ["write_file", { path: "a", content: "a" }],
    ["fetch_url", { url: "https://example.invalid/x" }],
    ["mcp__s__echo", { text: "a" }],
  );
  const offered = bench.asked.map(({ choices }) => choices);
  for (const choices of offered) expect(new Set(choices.map(({ answer }) => answer)).size).toBe(choices.length);
  expect(offered.map((choices) => choices.find(({ answer }) => answer === "always")?.label)).toEqual([
    'Always allow "git status" in this project, with any names or relative paths and without options',
    'Always allow exactly "git log --oneline" in this project',
    undefined,
    "Allow file edits for the rest of this session, except of protected files",
    "Always allow fetching any page of https://example.invalid in this project",
    "Always allow s / echo in this project, as it is defined now",
  ]);
  expect(offered[0]?.at(-1)?.label).toBe("Never allow run_command, in any project");
});

scenario(["H402"], "a grant covers what its label says, in the next session and with nobody to ask", async () => {
  await using bench = new ToolBench();
  await session(bench, "always", command("ls"), ["write_file", { path: "a", content: "1" }]);
  await session(bench, "nobody", command("ls a"), command("rm a"));
  expect(bench.asked).toHaveLength(2);
  expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "done", "refused"]);
});

scenario(["H402"], "one session's edits are granted once, for both tools that edit", async () => {
  await using bench = new ToolBench();
  const edit = { path: "a", edits: [{ old_text: "1", new_text: "2" }] };
  await session(
    bench,
    "always",
    ["write_file", { path: "a", content: "1" }],
    ["edit_file", edit],
    ["write_file", { path: "b", content: "1" }],
  );
  expect(bench.asked).toHaveLength(1);
});

scenario(
  ["H403"],
  "a decision that cannot be read is not taken for none: asked about, and refused headless",
  async () => {
    await using bench = new ToolBench();
    bench.configure({ permissions: { allowBypass: true, mode: "bypass", rules: [{ effect: "allow" }] } });
    await session(bench, "never", command("true"));
    expect(bench.outcomes).toMatchObject([{ kind: "done" }]); // nobody is asked in the mode bypass
    bench.configure({});
    await session(bench, "never", command("true"));
    const [file = ""] = readdirSync(decisions(bench)).filter((name) => name.startsWith("never-"));
    const path = join(decisions(bench), file);
    bench.configure({ permissions: { allowBypass: true, mode: "bypass", rules: [{ effect: "allow" }] } });
    const attempt = async () => {
      await session(bench, "nobody", command("true"), ["write_file", { path: "a", content: "1" }]);
      return bench.outcomes.slice(-2);
    };
    const readable = await attempt();
    expect(readable.map(({ kind }) => kind)).toEqual(["refused", "done"]);
    writeFileSync(path, "damaged");
    const [damaged, other] = await attempt();
    expect(damaged).toMatchObject({ kind: "refused", reason: expect.stringContaining(path) });
    expect(other).toMatchObject({ kind: "done" });
    rmSync(path);
    mkdirSync(path);
    expect((await attempt())[0]).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("make it readable"),
    });
    rmSync(decisions(bench), { recursive: true });
    symlinkSync(decisions(bench), decisions(bench));
    const blind = await attempt();
    expect(blind.map(({ kind }) => kind)).toEqual(["refused", "refused"]);
    await session(bench, "once", command("true"));
    expect(bench.asked.at(-1)?.reason).toContain(decisions(bench));
    expect(bench.asked.at(-1)?.choices.map(({ answer }) => answer)).toEqual(["once", "no", "never"]);
  },
);

scenario(
  ["H404"],
  "approvals of before: never stays, a tool's always is confirmed once, the rest lapses, told once",
  async () => {
    await using bench = new ToolBench();
    bench.configure({ mcpServers: { s: entry({ tools: [echoTool(), echoTool("other"), echoTool("third")] }) } });
    const old = join(bench.home, "state/approvals");
    mkdirSync(old, { recursive: true });
    const record = (digit: string, about: object, tool = "b".repeat(32)) =>
      writeFileSync(
        join(old, `${digit.repeat(32)}-${tool}.json`),
        JSON.stringify({ version: 1, origin: "user", server: "s", scope: "tool", decidedAt: "2026-01-01", ...about }),
      );
    record("1", { decision: "never", tools: [{ name: "other", hash: "x" }] });
    record("2", { decision: "always", tools: [{ name: "echo", hash: "x" }] });
    record("3", {
      decision: "always",
      origin: "builtin",
      server: "tenon",
      tools: [{ name: "run_command", hash: "x" }],
    });
    record("4", { decision: "always", scope: "server", tools: [{ name: "third", hash: "x" }] }, "server");
    const before = readdirSync(old);
    await session(bench, "always", ["mcp__s__echo", { text: "a" }], ["mcp__s__other", { text: "a" }]);
    expect(bench.asked).toMatchObject([{ isFormer: true }]);
    expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["done", "refused"]);
    expect(bench.notices.filter((text) => text.includes(old))).toHaveLength(1);
    await session(bench, "no", ["mcp__s__echo", { text: "a" }], ["mcp__s__third", { text: "a" }], command("true"));
    expect(bench.asked.slice(1).map(({ tool }) => tool.definition.name)).toEqual(["third", "run_command"]);
    expect(bench.notices.filter((text) => text.includes(old))).toHaveLength(1);
    expect(readdirSync(old)).toEqual(before);
  },
);

scenario(
  ["H404", "H403"],
  "an approval of before that cannot be read may have been a never: everything is asked about",
  async () => {
    await using bench = new ToolBench();
    bench.configure({ permissions: { rules: [{ effect: "allow" }] } });
    const old = join(bench.home, "state/approvals");
    mkdirSync(old, { recursive: true });
    writeFileSync(join(old, `${"1".repeat(32)}-${"2".repeat(32)}.json`), "{");
    await session(bench, "nobody", command("true"));
    expect(bench.outcomes).toMatchObject([{ kind: "refused", reason: expect.stringContaining(old) }]);
    rmSync(old, { recursive: true });
    await session(bench, "nobody", command("true"));
    expect(bench.outcomes.at(-1)).toMatchObject({ kind: "done" });
  },
);

scenario(["H405"], "tenon trust lists what was granted and refused, and takes it back", async () => {
  await using bench = new ToolBench();
  const answers: PermissionAnswer[] = ["always", "always", "never"];
  bench.configure({ mcpServers: { s: entry({ tools: [echoTool()] }) } });
  await session(
    bench,
    () => answers.shift() ?? "no",
    command("ls"),
    ["mcp__s__echo", { text: "a" }],
    ["fetch_url", { url: "https://a.invalid" }],
  );
  const env = cleanEnv(bench.home, { HOME: bench.home });
  const json = async (...words: readonly string[]) => {
    const done = await runCommand(agentNode(), [TENON, ...words, "--json"], { cwd: bench.project, env });
    expect(done.code).toBe(0);
    return JSON.parse(done.stdout);
  };
  const listed = await json("trust");
  const kinds = listed.approvals.map((one: { kind: string }) => one.kind).sort();
  expect(kinds).toEqual(["command", "never", "tool"]);
  await json("trust", "forget", "s/echo");
  const grant = listed.approvals.find((one: { kind: string }) => one.kind === "command");
  await json("trust", "forget", grant.id);
  expect((await json("trust", "approvals")).approvals).toMatchObject([{ decision: "never", tool: "fetch_url" }]);
  await session(bench, "no", command("ls"), ["mcp__s__echo", { text: "a" }]);
  expect(bench.asked).toHaveLength(5);
});

scenario(
  ["H405"],
  "/permissions lists, takes back, and alone grants all tools of a server in this project",
  async () => {
    await using bench = new ToolBench();
    bench.configure({ mcpServers: { s: entry({ tools: [echoTool(), echoTool("other")] }) } });
    const both = [calls("mcp__s__echo", { text: "a" }), calls("mcp__s__other", { text: "a" })] as const;
    const one = bench.open({ model: new RecordedModel(inTurn(...both, "done", ...both)), answer: "no" });
    const said = async (text: string) => {
      const from = bench.events.length;
      await one.prompt(text);
      await bench.until((event) => event.kind === "turn_ended" && bench.events.indexOf(event) >= from);
      return bench.events
        .slice(from)
        .flatMap((event) => (event.kind === "turn" && event.event.kind === "text" ? [event.event.text] : []))
        .join("");
    };
    expect(await said("/permissions")).toContain("Nothing is granted");
    expect(await said("/permissions allow s")).toContain("`echo`, `other`");
    await one.prompt("both");
    expect(bench.asked).toEqual([]);
    expect(await said("/permissions")).toContain("Always allow s / echo in this project, as it is defined now");
    expect(await said("/permissions revoke s")).toContain("Taken back");
    await one.prompt("both");
    expect(bench.asked).toHaveLength(2);
  },
);

scenario(
  ["H406"],
  "after content from outside, what sends or writes is asked about whatever is granted, also after a load",
  async () => {
    await using bench = new ToolBench();
    const servers = { s: entry({ tools: [echoTool()] }), mine: entry({ tools: [echoTool()] }, { trustResults: true }) };
    bench.configure({ mcpServers: servers, permissions: { afterUntrusted: "ask" } });
    const id = "outside";
    const model = (...all: readonly (readonly [string, JsonObject])[]) =>
      new RecordedModel(inTurn(...all.map(([tool, given]) => calls(tool, given))));
    const ls = command("ls");
    const first = bench.open({
      model: model(ls, ["mcp__mine__echo", { text: "a" }], ls, ["mcp__s__echo", { text: "a" }], ls, [
        "read_file",
        { path: "a" },
      ]),
      answer: (question) => (question.reason === undefined ? "always" : "once"),
      id,
    });
    writeFileSync(join(bench.project, "a"), "a\n");
    await first.prompt("go");
    expect(bench.asked.map(({ tool }) => tool.id)).toEqual([
      "run_command",
      "mcp__mine__echo",
      "mcp__s__echo",
      "run_command",
    ]);
    expect(bench.asked.at(-1)?.reason).toBe(
      'this session has read what the server s answered, and permissions.afterUntrusted is "ask"',
    );
    expect(bench.asked.at(-1)?.choices.map(({ answer }) => answer)).toEqual(["once", "no", "never"]);
    await first.close();
    await (await bench.load({ model: model(ls), answer: "no", id })).prompt("again");
    expect(bench.asked.at(-1)?.reason).toContain("the server s answered");
    expect(bench.outcomes.at(-1)).toMatchObject({ kind: "refused" });
    bench.configure({ mcpServers: servers });
    await session(bench, "no", ["mcp__s__echo", { text: "a" }], ls);
    expect(bench.outcomes.at(-1)).toMatchObject({ kind: "done" });
  },
);

for (const [what, typed] of [
  ["a server's prompt", "/s:ask x"],
  ["a mentioned resource of a server", "look at @s:note://x"],
] as const) {
  scenario(["H406"], `${what} is content from outside too, also after a load`, async () => {
    await using bench = new ToolBench();
    const { kind: _kind, name: _name, ...server } = hostileServer(bench.home);
    const rules = [{ effect: "allow", tool: "run_command" }];
    const configure = (trustResults: boolean) =>
      bench.configure({
        mcpServers: { s: { ...server, trustResults } },
        permissions: { afterUntrusted: "ask", rules },
      });
    const model = () => new RecordedModel(inTurn(calls(...command("ls"))));
    configure(false);
    const id = "prompted";
    const first = bench.open({ model: model(), answer: "no", id });
    await first.prompt(typed);
    expect(bench.asked.map(({ reason }) => reason)).toEqual([expect.stringContaining("the server s answered")]);
    await first.close();
    await (await bench.load({ model: model(), answer: "no", id })).prompt("again");
    expect(bench.asked).toHaveLength(2);
    configure(true);
    await bench.open({ model: model(), answer: "no" }).prompt(typed);
    expect(bench.asked).toHaveLength(2);
    expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["refused", "refused", "done"]);
  });
}

scenario(["H407"], "an allow rule with a prefix is for whole words of one simple command", async () => {
  await using bench = new ToolBench();
  const allow = { effect: "allow", tool: "run_command", arguments: [{ pointer: "/command", prefix: "git --version" }] };
  const deny = { effect: "deny", tool: "run_command", arguments: [{ pointer: "/command", prefix: "rm" }] };
  bench.configure({ permissions: { rules: [deny, allow] } });
  const texts = [
    "git --version",
    "git --version --build-options",
    "git --versions",
    "git --version | cat",
    "cd /; sudo rm x",
  ];
  await session(bench, "nobody", ...texts.map(command));
  expect(bench.outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "refused", "refused", "refused"]);
  expect(bench.outcomes.at(-1)).toMatchObject({ reason: expect.stringContaining("denies it") });
});

scenario(["H401"], "what is kept of a grant is plain data: project, program, definition and command", async () => {
  await using bench = new ToolBench();
  await session(bench, "always", command("ls"));
  const [file = ""] = readdirSync(decisions(bench)).filter((name) => name.startsWith("grant-"));
  expect(JSON.parse(readFileSync(join(decisions(bench), file), "utf8"))).toMatchObject({
    version: 2,
    decision: { kind: "command", project: bench.project, folder: bench.project, words: ["ls"], isExact: false },
  });
});

scenario(
  ["H405"],
  "tenon trust grant shows a server's tools, and grants them here by a person's word only",
  async () => {
    await using bench = new ToolBench();
    bench.configure({ mcpServers: { s: entry({ tools: [echoTool(), echoTool("other")] }) } });
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const output = new PassThrough();
    const world = nodeWorld({ env: cleanEnv(bench.home, { HOME: bench.home }), log });
    const context = {
      world,
      keyring: systemKeyring(world),
      cwd: bench.project,
      output,
      errorOutput: new PassThrough(),
      columns: 80,
      palette: createPalette(false),
    };
    const given = { values: {}, words: ["s"] };
    await expect(runGrant(given, context)).rejects.toThrow("only by a person");
    await expect(runGrant(given, { ...context, ask: async () => "no" })).rejects.toThrow("nothing was granted");
    await session(bench, "nobody", ["mcp__s__echo", { text: "a" }]);
    expect(bench.outcomes.at(-1)).toMatchObject({ kind: "refused" });
    await runGrant(given, { ...context, ask: async () => "yes" });
    expect(String(output.read())).toContain("granted: s/other");
    await session(bench, "nobody", ["mcp__s__echo", { text: "a" }], ["mcp__s__other", { text: "a" }], command("true"));
    expect(bench.outcomes.slice(-3).map(({ kind }) => kind)).toEqual(["done", "done", "refused"]);
  },
);
