// One key press never grants more than its label says: each answer is given, then something wider is tried, and is asked about again.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { type Behaviour, scriptedServer } from "../../src/testing/index.js";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { TemporaryFolder } from "./agent.js";
import { scenario } from "./scenario.js";
import { IN_TMUX, TmuxTerminal } from "./tmux.js";

type Call = readonly [name: string, args: JsonObject];

const run = (command: string): Call => ["run_command", { command }];
const write = (path: string): Call => ["write_file", { path, content: "x\n" }];

/** The answer by its label, what it is given to, and what is wider. */
const CASES: readonly { readonly label: RegExp; readonly to: Call; readonly wider: readonly Call[] }[] = [
  { label: /Allow once/u, to: run("ls"), wider: [run("ls")] },
  {
    label: /Always allow|Allow "?`?ls|Allow ls/u,
    to: run("ls"),
    wider: [run("ls; touch made"), run("ls -R"), write("a.txt")],
  },
  { label: /Allow file edits/u, to: write("a.txt"), wider: [run("ls"), write(".npmrc")] },
  { label: /mcp|notes \/ add|s \/ add/u, to: ["mcp__s__add", {}], wider: [["mcp__s__other", {}], run("ls")] },
  { label: /^No$/u, to: run("ls"), wider: [run("ls")] },
  { label: /Never allow/u, to: ["mcp__s__add", {}], wider: [["mcp__s__other", {}], run("ls")] },
];

const SERVER: Behaviour = {
  tools: ["add", "other"].map((name) => ({ name, description: name, reply: { kind: "text", text: `${name} ran` } })),
};

/** The number of the answer whose label fits. */
function numberOf(screen: string, label: RegExp): string {
  const lines = [...screen.matchAll(/^\s*❯?\s*(\d)\. (.+)$/gmu)];
  const found = lines.find(([, , words = ""]) => label.test(words.trim()));
  if (!found) throw new Error(`no answer is labelled ${String(label)}:\n${screen}`);
  return found[1] ?? "";
}

for (const { label, to, wider } of CASES) {
  scenario(
    ["Z114"],
    `"${label.source}" for ${to[0]} lets nothing wider through`,
    async () => {
      using home = new TemporaryFolder();
      await using provider = await fakeProvider();
      const cwd = join(home.path, "project");
      mkdirSync(cwd);
      const { command, args, env } = scriptedServer(SERVER);
      writeFileSync(join(home.path, "config.json"), JSON.stringify({ mcpServers: { s: { command, args, env } } }));
      provider.reply(...[to, ...wider].map(([name, given]) => answerToolCall(name, given)), answerText("Done."));
      const variables = { TENON_MODEL: "openai-compatible/m", TENON_BASE_URL: provider.url };
      const options = { cwd, rows: 60, columns: 100, env: variables };
      await using terminal = await TmuxTerminal.start(home, options);
      await terminal.until("servers 1/1");
      await terminal.send("go");
      await terminal.press(numberOf(await terminal.asked(), label));
      for (let count = 2; count <= wider.length + 1; count += 1) {
        const asked = await terminal.until(
          (screen) => screen.split("? Allow").length > count && screen.includes("❯ 1."),
        );
        await terminal.press(numberOf(asked, /^No$/u));
      }
      await terminal.until("Done.");
      // Another project, with what was granted here: asked again, unless it was refused for good.
      if (/Never/u.test(label.source)) return;
      const other = join(home.path, "other");
      mkdirSync(other);
      provider.reply(answerToolCall(...to), answerText("Done."));
      await using elsewhere = await TmuxTerminal.start(home, { ...options, cwd: other });
      await elsewhere.until("servers 1/1");
      await elsewhere.send("go");
      expect(await elsewhere.asked()).toContain("? Allow");
      await elsewhere.press("Escape");
    },
    { ...IN_TMUX, timeoutMs: 60_000 },
  );
}
