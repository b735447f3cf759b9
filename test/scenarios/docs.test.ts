// The documents as people use them: every command typed, every program run, the README followed word by word.
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Block, blocksIn, documents, ROOT, type ShellLine, shellLines } from "../docs/blocks.js";
import { TemporaryFolder } from "./agent.js";
import { type DocsPlace, docsPlace } from "./docs-place.js";
import { WireClient } from "./gateway/wire-client.js";
import { runCommand } from "./run-command.js";
import { postgresOfFile, scenario } from "./scenario.js";

/** What is not typed here, and why. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [/^npm run (?:demo|verify)\b/u, "CI and a scenario of its own run these"],
  [/^npm run (?:build|soak|chaos|bench|conformance|docs)\b/u, "they work on the repository itself"],
  [/^tenon acp-check\b/u, "a scenario of its own runs it against agents"],
  [/^tenon wrap -- opencode/u, "a script of its own installs it; a scenario wraps another agent"],
  [/^NODE_OPTIONS=/u, "a scenario of its own brings the program it names"],
  [/Out-String/u, "there is no PowerShell here"],
  [/^tenon mcp serve(?! .*--(?:http|listen))/u, "it serves until its input ends; scenarios of its own do that"],
  [/^tenon attach .*--watch/u, "it looks on until it is interrupted; a scenario of its own does that"],
];

/** Where an example cannot end well by itself: what it exits with, and why. */
const EXITS: readonly (readonly [RegExp, number, string])[] = [
  [/^tenon secret /u, 3, "there is no keyring here; a scenario of its own brings one"],
  [/--secrets keyring/u, 3, "there is no such server in that client"],
  [/^tenon (?:login|acp --setup)$/u, 3, "nobody is there to be asked"],
  [/--no-browser/u, 4, "nobody opens the page"],
  [/^tenon mcp lock --all/u, 1, "one of the servers wants a log-in"],
  [/^tenon doctor$/u, 1, "one of the servers wants a log-in"],
  [/^tenon chat(?: --continue| --resume)?$/u, 2, "nobody sits here to type a prompt"],
  [/^tenon chat -p "list the files here"$/u, 5, "without --yes, and with nobody to ask, the answer is no"],
  [/^tenon mcp why weather/u, 1, "there is no such server here"],
  [/^tenon trust forget/u, 3, "nothing was decided about it"],
  [/^tenon trust grant/u, 3, "nobody is there to be asked"],
];

const lines = documents().flatMap((file) => blocksIn(file).filter(isShell).flatMap(shellLines));

function isShell({ language }: Block): boolean {
  return language === "sh";
}

/** Stands for the database of the examples. */
const database = postgresOfFile();
const DATABASE = "postgres://tenon@db.example/tenon";

/** What needs a database is typed where there is one. */
function isTyped({ command }: ShellLine): boolean {
  if (command.includes(DATABASE) && database.lacks !== undefined) return false;
  return !ELSEWHERE.some(([pattern]) => pattern.test(command));
}

const EVERYTHING = "tenon mcp add everything -- npx -y @modelcontextprotocol/server-everything";

/** What is to be added is not there yet, what is to be taken back was decided, and the server of others is ours. */
async function prepared(place: DocsPlace, line: ShellLine): Promise<string> {
  const store = line.command.includes(DATABASE) ? `'${database.get().url}'` : DATABASE;
  const command = line.command
    .replaceAll("https://mcp.linear.app/mcp", place.linearUrl ?? "")
    .replaceAll(DATABASE, store)
    .replaceAll("/srv/work", "~/src");
  const added = /^tenon mcp add(?:-json)? (\S+)/u.exec(command)?.[1];
  if (added !== undefined) await place.run(`tenon mcp remove ${added === "claude" ? "docs" : added}`);
  if (/^tenon mcp \w+ everything\b/u.test(command)) await place.run(EVERYTHING);
  const revoked = /^tenon trust revoke (\S+)/u.exec(command)?.[1];
  if (revoked !== undefined) await place.run(`tenon trust approve ${revoked}`);
  if (/^tenon mcp (?:lock$|diff)/u.test(command)) await place.run("tenon mcp lock github"); // so that there is a lock
  const token = /^tenon gateway token revoke (\S+)/u.exec(command)?.[1];
  if (token !== undefined) await place.run(`tenon gateway token create ${token}`);
  const isOfGateway = /^tenon gateway (?:status$|pair)/u.test(command);
  const isMissing = isOfGateway && (await place.run("tenon gateway status")).code !== 0;
  if (isMissing) await place.serve("tenon gateway run"); // so that there is one
  // Nobody opens the page: waiting for somebody is what it is for.
  return await withRecords(place, command.includes("--no-browser") ? `${command} --timeout 1` : command);
}

/** Sessions and recordings that examples name are made first; their ids are of the day. */
async function withRecords(place: DocsPlace, command: string): Promise<string> {
  const recording = /\b([\w.-]+\.ndjson)\b/u.exec(command)?.[1];
  if (/^tenon (?:replay|trace)\b/u.test(command) && recording !== undefined) {
    await place.run(`tenon chat -p "/help" --trace ${recording}`);
    return command;
  }
  if (!/^tenon (?:sessions (?:show|export|delete)|attach|inspect)/u.test(command)) return command;
  await place.run('tenon chat -p "what tools are there?"');
  const listed = await place.run("tenon sessions list --all --json");
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/u.exec(listed.stdout)?.[0] ?? "none";
  return command.replace(/\b0199[0-9a-f]*\b/u, id);
}

/** What a document says by itself is stronger. */
function exitOf({ command, exit }: ShellLine): number {
  return exit === 0 ? (EXITS.find(([pattern]) => pattern.test(command))?.[1] ?? 0) : exit;
}

/** In bash, where zsh's list of folders is a variable like any other. */
const ZSH = "fpath=(. .); ";

/** With a certificate for the example, and at a port that is free. */
async function served(place: DocsPlace, command: string): Promise<void> {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout box.key -out box.pem";
  await place.run(`mkdir -p ~/src && openssl req -x509 ${key} -days 1 -subj /CN=box`);
  if (command.includes("box.pem") && !existsSync(join(place.project, "box.pem"))) return; // there is no openssl
  const anyPort = command.replace(":4711", ":0").replace("--http", "--listen 0");
  expect(await place.serve(anyPort)).toMatch(/^tenon (?:gateway|mcp serve): listens at /u);
}

async function typed(place: DocsPlace, line: ShellLine): Promise<void> {
  const command = await prepared(place, line);
  const isServing = command.startsWith("tenon gateway run") || /^tenon mcp serve .*--(?:http|listen)/u.test(command);
  if (isServing) return await served(place, command);
  const { code, stdout, stderr } = await place.run(`${command.includes("fpath") ? ZSH : ""}${command}`, "");
  const told = `${line.file}:${line.line} ${command}\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`;
  expect(code, told).toBe(exitOf(line));
  expect(stderr, told).not.toMatch(/^\s+at .*:\d+:\d+\)?$/mu);
}

const pages = documents().filter((file) => lines.some((line) => line.file === file));

for (const file of pages.filter((page) => page !== "README.md" && page !== "docs/reference/commands.md")) {
  scenario(["W2"], `the commands of ${file} run and end as it says`, async () => {
    await using place = await docsPlace({ isEmpty: file.startsWith("docs/tutorial") });
    for (const line of lines.filter((one) => one.file === file)) {
      if (isTyped(line)) await typed(place, line);
    }
  });
}

/** Each for itself: one removes what the next one names. */
const examples = lines.filter(({ file }) => file === "docs/reference/commands.md");
const SHARES = 4;

for (let share = 0; share < SHARES; share++) {
  scenario(["W2"], `the examples of all commands run and end well, part ${share + 1} of ${SHARES}`, async () => {
    for (const line of examples.filter((_, index) => index % SHARES === share)) {
      if (!isTyped(line)) continue;
      await using place = await docsPlace({ isUntrusted: line.command.startsWith("tenon trust") });
      await typed(place, line);
    }
  });
}

/** What stands in the README in one place, in the order of the text. */
function readmeSteps(readme: string, from: string, to: string): readonly ShellLine[] {
  const start = readme.indexOf(from);
  const part = readme.slice(start, readme.indexOf(to, start));
  return blocksIn("README.md")
    .filter((block) => isShell(block) && part.includes(block.text))
    .flatMap(shellLines);
}

/** What is downloaded is linked: whoever runs this has it already. */
async function cloneOf(folder: string): Promise<string> {
  const clone = join(folder, "clone");
  const { code, stderr } = await runCommand("git", ["clone", "-q", ROOT, clone], { cwd: folder, env: ownEnv() });
  expect(code, stderr).toBe(0);
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
  return clone;
}

function ownEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...extra };
}

scenario(
  ["W1"],
  "a newcomer clones it and follows the README word by word",
  async () => {
    using folder = new TemporaryFolder();
    const clone = await cloneOf(folder.path);
    const readme = readFileSync(join(clone, "README.md"), "utf8");
    const prefix = join(folder.path, "prefix");
    const inClone = { cwd: clone, env: ownEnv({ npm_config_prefix: prefix }) };
    const [first] = readmeSteps(readme, "## Two commands", "## Start");
    expect(first?.command).toBe("npm run demo");
    const shown = await runCommand("bash", ["-c", "npm run demo"], inClone);
    expect(shown.stdout, shown.stderr).toMatch(/All \d+ prompts were answered/u);
    const [build, ...steps] = readmeSteps(readme, "<!-- newcomer -->", "<!-- /newcomer -->");
    expect(build?.command).toMatch(/^npm run build && npm link$/u);
    const linked = await runCommand("bash", ["-c", build?.command ?? ""], inClone);
    expect(linked.code, linked.stdout + linked.stderr).toBe(0);

    await using place = await docsPlace({ isEmpty: true, programs: join(prefix, "bin") });
    const said = new Map<string, string>();
    for (const step of steps) {
      const { code, stdout, stderr } = await place.run(step.command, "");
      said.set(step.command, stdout + stderr);
      expect(code, `${step.command}\n${stdout}\n${stderr}`).toBe(step.exit);
    }
    const answer = (words: string) => [...said].find(([command]) => command.includes(words))?.[1] ?? "";
    expect(answer("test files")).toMatch(/14 tools/u);
    expect(answer("chat -p")).toMatch(/✓ files \/ List allowed directories/iu);
    expect(answer("chat -p")).toContain(place.project);
    expect(readFileSync(join(place.home, ".config/zed/settings.json"), "utf8")).toMatch(/"tenon"[\s\S]*"acp"/iu);
    expect(answer("test broken")).toMatch(/cannot start "no-such-program"/u);
    expect(answer("doctor")).toMatch(/✗ server broken/u);
  },
  existsSync(join(ROOT, ".git")) ? {} : { lacks: "a git repository to clone" },
);

/** What an example shows of a message is so; what it leaves out may be anything, and figures of the day are of the day. */
function shows(shown: unknown, real: unknown, path = ""): void {
  if (Array.isArray(shown) && typeof shown[0] !== "string") {
    expect(Array.isArray(real), path).toBe(true);
    if (Array.isArray(real) && shown.length > 0) shows(shown[0], real[0], `${path}[0]`);
  } else if (typeof shown === "object" && shown !== null && !Array.isArray(shown)) {
    const fields = new Map(Object.entries(Object(real)));
    for (const [name, value] of Object.entries(shown)) shows(value, fields.get(name), `${path}.${name}`);
  } else if (isOfTheDay(shown, path)) expect(typeof real, path).toBe(typeof shown);
  else expect(real, path).toEqual(shown);
}

const EXACT_NUMBERS = new Set(["id", "code", "protocolVersion", "protocol", "gateway", "turn"]);

function isOfTheDay(shown: unknown, path: string): boolean {
  const name = path.split(".").at(-1) ?? "";
  if (typeof shown === "number") return !EXACT_NUMBERS.has(name);
  return (
    Array.isArray(shown) ||
    (typeof shown === "string" && (shown.includes("…") || /^(?:box|\d+\.\d+\.\d+)$/u.test(shown)))
  );
}

scenario(["G530", "G531"], "the example of docs/reference/gateway.md is answered by a gateway as it says", async () => {
  const [block] = blocksIn("docs/reference/gateway.md").filter(({ language }) => language === "ndjson");
  const messages = (block?.text ?? "").split("\n");
  expect(messages.length).toBeGreaterThan(20);
  await using place = await docsPlace({ isEmpty: true });
  await place.serve("tenon gateway run");
  const wire = await WireClient.open(`ws+unix:${join(place.home, "tenon/state/gateway/gateway.sock")}:/acp`);
  let session = "SESSION";
  for (let at = 0; at < messages.length; at += 2) {
    const [request, answer] = [messages[at] ?? "", messages[at + 1] ?? ""].map((text) => {
      return JSON.parse(text.replaceAll("DIRECTORY", place.project));
    });
    const sent = JSON.parse(JSON.stringify(request.params).replaceAll("SESSION", session));
    const got = await wire.request(request.method, sent);
    if (request.method === "session/new") session = String(got.result?.["sessionId"]);
    shows(JSON.parse(JSON.stringify(answer).replaceAll("SESSION", session)), got, request.method);
  }
  const told = await place.run("tenon doctor --no-connect");
  expect(told.stdout).toMatch(/✓ gateway +process \d+; sessions: 1 idle/u);
  await wire.close();
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
    // The program of the README needs a provider: the scenario of the package brings one.
    if (file === "README.md" || !/from "tenon(?:\/(?:tools|mcp))?"/u.test(text)) continue;
    const ran = await place.run(
      `node --import "${join(ROOT, "node_modules/tsx/dist/loader.mjs")}" ${names[index] ?? ""}`,
    );
    expect(ran.code, `${file}:${line}\n${ran.stdout}\n${ran.stderr}`).toBe(0);
  }
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
