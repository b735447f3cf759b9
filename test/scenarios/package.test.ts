// The packed tarball in an empty project, as an embedder meets it: what is in it, types, ESM, every subpath, the command.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode } from "./peers.js";
import { type CommandResult, runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const ROOT = join(import.meta.dirname, "../..");

const PROGRAM = `import { createRuntime, type SessionEvent } from "tenon";

const runtime = createRuntime({ model: "offline/operator" });
const session = await runtime.createSession({ cwd: process.cwd(), servers: [] });
const kinds: SessionEvent["kind"][] = [];
const reading = (async () => {
  for await (const event of session.events()) kinds.push(event.kind);
})();
const { stopReason } = await session.prompt("hello");
await session.close();
await reading;
await runtime.close();
console.log(JSON.stringify({ stopReason, heard: kinds.length > 0 }));
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

scenario(["S14"], "the packed tarball works in an empty project: types, ESM, every subpath, the command", async () => {
  using folder = new TemporaryFolder();
  const project = folder.path;
  const files = await installInto(project);

  const options = { cwd: project, env: cleanEnv(join(project, "home")) };
  writeFileSync(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ["program.ts"] }),
  );
  writeFileSync(join(project, "program.ts"), PROGRAM);
  mkdirSync(join(project, "node_modules/@types"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules/@types/node"), join(project, "node_modules/@types/node"));
  const tsc = join(ROOT, "node_modules/.bin/tsc");
  const types = await runCommand(tsc, ["-p", "."], options);
  expect(types).toMatchObject({ code: 0, stdout: "" });
  // Our own declarations must hold under the strictest setting; those of dependencies are not ours to judge.
  const strict = await runCommand(tsc, ["-p", ".", "--noEmit", "--skipLibCheck", "false"], options);
  expect(strict.stdout.split("\n").filter((line) => /^(program\.ts|node_modules\/tenon\/)/.test(line))).toEqual([]);

  const ran = await runCommand(agentNode(), ["program.js"], options);
  expect(ran).toMatchObject({ code: 0, stdout: '{"stopReason":"end_turn","heard":true}\n' });

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
});
