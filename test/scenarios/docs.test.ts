// The documents as people use them: every command typed, every program run, the README followed word by word.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { pictureLines, pictureSvg } from "../../scripts/docs/picture.js";
import { type Block, blocksIn, documents, ROOT, type ShellLine, shellLines } from "../docs/blocks.js";
import { type DocsPlace, docsPlace } from "./docs-place.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** What is not typed here, and why. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [/^npm run (?:demo|verify)\b/u, "CI and a scenario of its own run these"],
  [/^npm run (?:build|soak|bench|conformance|docs)\b/u, "they work on the repository itself"],
  [/^tenon acp-check\b/u, "a scenario of its own runs it against agents"],
  [/^NODE_OPTIONS=/u, "a scenario of its own brings the program it names"],
];

/** Where an example cannot end well by itself: what it exits with, and why. */
const EXITS: readonly (readonly [RegExp, readonly number[], string])[] = [
  [/^tenon secret /u, [0, 3], "there need not be a keyring"],
  [/--secrets keyring/u, [0, 1, 3], "there need not be a keyring, nor such a server"],
  [/^tenon acp --setup$/u, [3], "nobody is there to be asked"],
  [/--no-browser/u, [4], "nobody opens the page"],
  [/^tenon mcp lock --all/u, [1], "one of the servers wants a log-in"],
  [/^tenon doctor$/u, [0, 1], "it may find something"],
  [/^tenon mcp list$/u, [0, 1], "one of the servers wants a log-in"],
  [/^tenon chat -p "[^"]*"$/u, [0, 5], "without --yes, and with nobody to ask, the answer is no"],
  [/^tenon trust forget/u, [3], "nothing was decided about it"],
];

const lines = documents().flatMap((file) => blocksIn(file).filter(isShell).flatMap(shellLines));

function isShell({ language }: Block): boolean {
  return language === "sh";
}

/** What is to be added is not there yet, what is to be taken back was decided, and the server of others is ours. */
async function prepared(place: DocsPlace, line: ShellLine): Promise<string> {
  const command = line.command.replaceAll("https://mcp.linear.app/mcp", place.linearUrl ?? "");
  const added = /^tenon mcp add (\S+)/u.exec(command)?.[1];
  if (added !== undefined) await place.run(`tenon mcp remove ${added}`);
  const revoked = /^tenon trust revoke (\S+)/u.exec(command)?.[1];
  if (revoked !== undefined) await place.run(`tenon trust approve ${revoked}`);
  if (/^tenon mcp (?:lock$|diff)/u.test(command)) await place.run("tenon mcp lock github"); // so that there is a lock
  // Nobody opens the page: waiting for somebody is what it is for.
  return await withRecords(place, command.includes("--no-browser") ? `${command} --timeout 1` : command);
}

/** Sessions and recordings that examples name are made first; their ids are of the day. */
async function withRecords(place: DocsPlace, command: string): Promise<string> {
  const recording = /\b([\w.-]+\.ndjson)\b/u.exec(command)?.[1];
  if (command.startsWith("tenon replay") && recording !== undefined) {
    await place.run(`tenon chat -p "/help" --trace ${recording}`);
    return command;
  }
  if (!/^tenon sessions (?:show|export|delete)/u.test(command)) return command;
  await place.run('tenon chat -p "what tools are there?"');
  const listed = await place.run("tenon sessions list --all --json");
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/u.exec(listed.stdout)?.[0] ?? "none";
  return command.replace(/\b0199[0-9a-f]*\b/u, id);
}

function exitsOf({ command, exit }: ShellLine): readonly number[] {
  return EXITS.find(([pattern]) => pattern.test(command))?.[1] ?? [exit];
}

/** In bash, where zsh's list of folders is a variable like any other. */
const ZSH = "fpath=(. .); ";

async function typed(place: DocsPlace, line: ShellLine): Promise<void> {
  const command = await prepared(place, line);
  const { code, stdout, stderr } = await place.run(`${command.includes("fpath") ? ZSH : ""}${command}`, "");
  const told = `${line.file}:${line.line} ${command}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`;
  expect(exitsOf(line), told).toContain(code);
  expect(stderr, told).not.toMatch(/^\s+at .*:\d+:\d+\)?$/mu);
}

const pages = documents().filter((file) => lines.some((line) => line.file === file));

for (const file of pages.filter((page) => page !== "README.md" && page !== "docs/reference/commands.md")) {
  scenario(["W2"], `the commands of ${file} run and end as it says`, async () => {
    await using place = await docsPlace({ isEmpty: file.startsWith("docs/tutorial") });
    for (const line of lines.filter((one) => one.file === file)) {
      if (!ELSEWHERE.some(([pattern]) => pattern.test(line.command))) await typed(place, line);
    }
  });
}

/** Each for itself: one removes what the next one names. */
const examples = lines.filter(({ file }) => file === "docs/reference/commands.md");
const SHARES = 4;

for (let share = 0; share < SHARES; share++) {
  scenario(["W2"], `the examples of all commands run and end well, part ${share + 1} of ${SHARES}`, async () => {
    for (const line of examples.filter((_, index) => index % SHARES === share)) {
      if (ELSEWHERE.some(([pattern]) => pattern.test(line.command))) continue;
      await using place = await docsPlace({ isUntrusted: line.command.startsWith("tenon trust") });
      await typed(place, line);
    }
  });
}

scenario(["W1"], "a newcomer follows the README word by word", async () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const part = /<!-- newcomer -->([\s\S]*?)<!-- \/newcomer -->/u.exec(readme)?.[1] ?? "";
  const steps = blocksIn("README.md")
    .filter((block) => isShell(block) && part.includes(block.text))
    .flatMap(shellLines);
  await using place = await docsPlace({ isEmpty: true });
  const said = new Map<string, string>();
  for (const step of steps) {
    if (step.command.startsWith("npm run build")) continue; // how the command came to be: `tenon` is here already
    const { code, stdout, stderr } = await place.run(step.command, "");
    said.set(step.command, stdout + stderr);
    expect(code, `${step.command}\n${stdout}\n${stderr}`).toBe(step.exit);
  }
  const answer = (words: string) => [...said].find(([command]) => command.includes(words))?.[1] ?? "";
  expect(answer("test files")).toMatch(/14 tools/u);
  expect(answer("chat -p")).toMatch(/✓ files \/ .*list_allowed_directories|✓ files \/ List allowed directories/iu);
  expect(answer("chat -p")).toContain(place.project);
  expect(readFileSync(join(place.home, ".config/zed/settings.json"), "utf8")).toMatch(/"tenon"[\s\S]*"acp"/iu);
  expect(answer("test broken")).toMatch(/no-such-program/u);
  expect(answer("doctor")).toMatch(/broken/u);
});

scenario(["W3"], "the programs of the documents compile against what is published, and run", async () => {
  const programs = documents().flatMap((file) => blocksIn(file).filter(({ language }) => language === "ts"));
  expect(programs.length).toBeGreaterThan(0);
  await using place = await docsPlace({ isEmpty: true });
  const names = programs.map((_, index) => `example-${index}.ts`);
  for (const [index, { text }] of programs.entries()) writeFileSync(join(place.project, names[index] ?? ""), text);
  const compilerOptions = {
    module: "nodenext",
    target: "es2024",
    lib: ["esnext"],
    strict: true,
    noEmit: true,
    types: ["node"],
    skipLibCheck: true,
  };
  const typeRoots = [join(ROOT, "node_modules/@types")];
  writeFileSync(join(place.project, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(place.project, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...compilerOptions, typeRoots }, files: names }),
  );
  const checked = await place.run(`node "${join(ROOT, "node_modules/typescript/bin/tsc")}" -p .`);
  expect(checked.stdout).toBe("");
  for (const [index, { file, line, text }] of programs.entries()) {
    if (!text.includes("createRuntime")) continue;
    const ran = await place.run(
      `node --import "${join(ROOT, "node_modules/tsx/dist/loader.mjs")}" ${names[index] ?? ""}`,
    );
    expect(ran.code, `${file}:${line}\n${ran.stdout}\n${ran.stderr}`).toBe(0);
  }
});

scenario(["W4"], "the picture of the README is what the same run prints now", async () => {
  const now = pictureSvg(await pictureLines());
  expect(readFileSync(join(ROOT, "docs/picture.svg"), "utf8"), "npm run docs -- --picture makes it anew").toBe(now);
});

scenario(["W2"], "the completion scripts are taken by their shells", async () => {
  await using place = await docsPlace({ isEmpty: true });
  const bash = await place.run('eval "$(tenon completion bash)" && complete -p tenon');
  expect(bash.stdout).toContain("tenon");
  const { code } = await runCommand("bash", ["-nc", (await place.run("tenon completion bash")).stdout], {
    cwd: place.project,
    env: {},
  });
  expect(code).toBe(0);
});
