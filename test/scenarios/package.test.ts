// The packed tarball in an empty project, as an embedder meets it: what is in it, types, ESM, every subpath, the command.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { API_REPORT, apiReport, exportedNames } from "../../scripts/docs/api-report.js";
import { echoTool, scriptedHttpServer } from "../../src/testing/index.js";
import { answerText, answerToolCall, fakeProvider } from "../../src/testing/lab/index.js";
import { blocksIn } from "../docs/blocks.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, peerFile } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const ROOT = join(import.meta.dirname, "../..");

const CLOSES = "await runtime.close();\n";

/** The program of the README, as it is written there, without its last line. */
const [EXAMPLE = ""] = blocksIn("README.md")
  .filter(({ language }) => language === "ts")
  .map(({ text }) => `${text}\n`.replace(CLOSES, ""));

/** What the test adds to look at it, and so that the program ends. */
const LOOKED_AT = `console.log(JSON.stringify({ text, stopReason, tokens: usage.inputTokens > 0, servers: session.servers().map(({ state }) => state) }));
${CLOSES}`;

const OFFLINE = `import { createRuntime, type SessionEvent, tool } from "tenon";

const runtime = await createRuntime({ model: "offline/operator" });
const session = await runtime.createSession({ cwd: process.cwd() });
const types: SessionEvent["type"][] = [];
session.onEvent(({ type }) => types.push(type));
session.register(tool({ name: "ping", description: "Answers", input: { type: "object" }, run: () => "pong" }));
const { text } = await session.tools.call("ping", {});
const { stopReason } = await session.prompt("hello");
await runtime.close();
console.log(JSON.stringify({ text, stopReason, heard: types.length > 0 }));
`;

const BELONGS = /^(dist\/.*|schema\/config\.schema\.json|[A-Z-]+(\.md)?|package\.json)$/;
const FOR_US_ONLY = /\.test\.|\.map$/;

const COMPILER_OPTIONS = { strict: true, target: "es2023", module: "nodenext", types: ["node"], skipLibCheck: true };

async function npm(args: readonly string[], cwd: string): Promise<CommandResult> {
  const result = await runCommand("npm", [...args, "--loglevel=error"], { cwd, env: npmEnv() });
  expect(result.code, result.stderr).toBe(0);
  return result;
}

/** npm's own settings stay (registry, proxy, cache); what npm hands to its scripts does not belong to the new project. */
function npmEnv(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => !/^(npm_(package|lifecycle)_|INIT_CWD)/.test(name));
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

async function packInto(folder: string): Promise<{ readonly filename: string; readonly files: readonly string[] }> {
  const { stdout } = await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], ROOT);
  const [packed]: { filename: string; files: { path: string }[] }[] = JSON.parse(stdout);
  if (!packed) throw new Error(`npm pack said: ${stdout}`);
  return { filename: packed.filename, files: packed.files.map(({ path }) => path) };
}

async function installInto(project: string): Promise<readonly string[]> {
  const { filename, files } = await packInto(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "embedder", private: true, type: "module" }));
  await npm(["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", `./${filename}`], project);
  return files;
}

/** As `du` counts, without what this test itself puts there. */
async function installedMb(project: string): Promise<number> {
  const { stdout } = await runCommand("du", ["-sk", "--exclude=@types", join(project, "node_modules")], {
    cwd: project,
    env: npmEnv(),
  });
  return Number.parseInt(stdout, 10) / 1024;
}

/** In plain JavaScript, with a fake provider, a dummy key, a notes server on port 3000's place and a `npx` that finds the server here. */
async function runsExample(project: string): Promise<void> {
  await using provider = await fakeProvider();
  await using notes = await scriptedHttpServer({ tools: [echoTool("list_notes")] });
  provider.reply(
    answerToolCall("mcp__files__list_allowed_directories", {}),
    answerText("This one."),
    answerToolCall("mcp__notes__list_notes", { text: "all" }),
    answerText("No notes."),
  );
  using outside = new TemporaryFolder(); // no program of the session's own folder is found by its name
  const bin = outside.path;
  const files = peerFile("@modelcontextprotocol/server-filesystem", "dist/index.js");
  // Stands for a registry: the last word is what the server may read.
  writeFileSync(join(bin, "npx"), `#!/bin/sh\nfor last; do :; done\nexec "${agentNode()}" "${files}" "$last"\n`, {
    mode: 0o755,
  });
  const program = (EXAMPLE + LOOKED_AT).replace("http://localhost:3000/mcp", notes.url);
  writeFileSync(join(project, "readme.mjs"), program);
  const env = {
    ...cleanEnv(join(project, "home")),
    PATH: `${bin}:${process.env["PATH"] ?? ""}`,
    ANTHROPIC_API_KEY: "dummy",
    ANTHROPIC_BASE_URL: provider.origin,
  };
  const ran = await runCommand(agentNode(), ["readme.mjs"], { cwd: project, env });
  expect(ran.stderr).toBe("");
  expect(ran.stdout.trimEnd().split("\n").at(-1)).toBe(
    '{"text":"This one.","stopReason":"end_turn","tokens":true,"servers":["ready","ready"]}',
  );
  expect(ran.stdout).toContain("tool_result");
  expect(ran.code).toBe(0);
}

scenario(
  ["S14", "V113"],
  "the packed tarball works in an empty project: types, ESM, every subpath, the command",
  async () => {
    using folder = new TemporaryFolder();
    const project = folder.path;
    const files = await installInto(project);
    // Of these npm warns, at every install and link, that the package wants to run something.
    const { scripts }: { scripts: object } = JSON.parse(
      readFileSync(join(project, "node_modules/tenon/package.json"), "utf8"),
    );
    expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?(?:install|prepare)$/u.test(name))).toEqual([]);

    const options = { cwd: project, env: cleanEnv(join(project, "home")) };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ["program.ts", "readme.ts"] }),
    );
    writeFileSync(join(project, "program.ts"), OFFLINE);
    writeFileSync(join(project, "readme.ts"), EXAMPLE);
    mkdirSync(join(project, "node_modules/@types"), { recursive: true });
    symlinkSync(join(ROOT, "node_modules/@types/node"), join(project, "node_modules/@types/node"));
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const types = await runCommand(tsc, ["-p", "."], options);
    expect(types).toMatchObject({ code: 0, stdout: "" });
    const bundled = { ...COMPILER_OPTIONS, module: "esnext", moduleResolution: "bundler", noEmit: true };
    writeFileSync(
      join(project, "tsconfig.bundler.json"),
      JSON.stringify({ compilerOptions: bundled, files: ["program.ts", "readme.ts"] }),
    );
    expect(await runCommand(tsc, ["-p", "tsconfig.bundler.json"], options)).toMatchObject({ code: 0, stdout: "" });
    // Our own declarations must hold under the strictest setting; those of dependencies are not ours to judge.
    const strict = await runCommand(tsc, ["-p", ".", "--noEmit", "--skipLibCheck", "false"], options);
    expect(
      strict.stdout.split("\n").filter((line) => /^(program\.ts|readme\.ts|node_modules\/tenon\/)/.test(line)),
    ).toEqual([]);

    const ran = await runCommand(agentNode(), ["program.js"], options);
    expect(ran).toMatchObject({ code: 0, stdout: '{"text":"pong","stopReason":"end_turn","heard":true}\n' });
    await runsExample(project);

    const manifest: { version: string; exports: Record<string, unknown> } = JSON.parse(
      readFileSync(join(ROOT, "package.json"), "utf8"),
    );
    const subpaths = Object.keys(manifest.exports).filter((path) => !path.endsWith(".json"));
    const lines = subpaths.map(
      (path) => `if (Object.keys(await import("${path.replace(".", "tenon")}")).length === 0) process.exit(9);`,
    );
    writeFileSync(join(project, "subpaths.js"), lines.join("\n"));
    expect(await runCommand(agentNode(), ["subpaths.js"], options)).toMatchObject({ code: 0, stderr: "" });

    const command = await runCommand("npx", ["--no-install", "tenon", "--version"], { ...options, env: npmEnv() });
    expect(command).toMatchObject({ code: 0 });
    expect(command.stdout).toContain(manifest.version);
    const other = await runCommand(agentNode(), ["node_modules/.bin/tenon", "--version"], options);
    expect(other).toMatchObject({ code: 0, stdout: command.stdout });

    expect(await installedMb(project)).toBeLessThan(15);
    const installed = readdirSync(join(project, "node_modules"), { recursive: true, encoding: "utf8" });
    const packages = installed.filter((path) => /(^|node_modules\/)(@[^/]+\/)?[^/@.]+\/package\.json$/.test(path));
    expect(packages.filter((path) => !path.startsWith("@types/")).length, packages.join("\n")).toBeLessThanOrEqual(4);

    const alone = join(project, "alone");
    cpSync(join(project, "node_modules/tenon/dist"), join(alone, "dist"), { recursive: true });
    const outside = await runCommand(agentNode(), [join(alone, "dist/cli/main.js"), "doctor", "--json"], options);
    expect(outside.stderr).not.toContain("ERR_MODULE_NOT_FOUND");

    const expected = [
      "LICENSE",
      "README.md",
      "CHANGELOG.md",
      "dist/index.d.ts",
      "dist/cli/main.js",
      "dist/THIRD-PARTY-LICENSES.txt",
      "schema/config.schema.json",
    ];
    expect(expected.filter((path) => !files.includes(path))).toEqual([]);
    expect(files.filter((path) => !BELONGS.test(path) || FOR_US_ONLY.test(path))).toEqual([]);
  },
);

scenario(["V114"], "the library exports at most 120 names, all documented, as the API report has them", async () => {
  const names = exportedNames();
  expect(names.length).toBeLessThanOrEqual(120);
  expect(new Set(names.map(({ name }) => name)).size).toBe(names.length);
  const undocumented = names.filter(({ comment }) => !comment.includes("@example"));
  expect(undocumented.map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
  expect(readFileSync(join(ROOT, API_REPORT), "utf8"), "npm run build && npm run docs writes it anew").toBe(
    apiReport(),
  );
});
