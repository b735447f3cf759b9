// `npm run demo`: installs and builds what is missing, then opens the chat with the demo server and the offline model.
// Plain JavaScript without dependencies: it runs before anything is installed. Leaves nothing behind but node_modules and dist.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInstalled } from "./lib/installed.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const CLI = join(ROOT, "dist", "cli", "main.js");
const SERVER = join(ROOT, "dist", "demo-server", "main.js");
/** Far above what the script takes; a demo that hangs must not hang whoever runs it. */
const SCRIPT_TIMEOUT_MS = 120_000;
/** Leaving by Ctrl-C is a way to end a demo, not a failure of it. */
const INTERRUPTED = 130;

/** What is said when nobody is there to type, the tool that must answer (of the demo server, or Tenon's own), and what it must show. */
const SCRIPT = [
  {
    say: "add a note: buy oak for the tenon joint",
    tool: "demo / Add a note",
    shows: "Saved note 1: buy oak for the tenon joint",
  },
  { say: "search the notes for oak", tool: "demo / Search notes", shows: "1. buy oak for the tenon joint" },
  { say: "calculate (2 + 3) * 4 ^ 2", tool: "demo / Calculate", shows: "= 80" },
  {
    say: 'write_file path=plan.txt content="Measure twice."',
    tool: "Write plan.txt",
    shows: "Created plan.txt: 14 bytes.",
  },
  { say: "read the file plan.txt", tool: "Read plan.txt", shows: "Measure twice." },
  { say: "list the files", tool: "demo / List files", shows: "plan.txt (14 bytes)" },
  { say: "run the slow job with 3 steps", tool: "demo / Run a slow job", shows: "3 of 3 steps" },
  { say: "draw a red triangle", tool: "demo / Draw a picture", shows: "[image image/png, " },
];

async function main() {
  if (!isInstalled(ROOT)) await install();
  await npm("Building", ["run", "build", "--", "--if-needed"]);
  const scratch = mkdtempSync(join(tmpdir(), "tenon-demo-run-"));
  // Also when the demo is ended by a signal or an error.
  process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
  const chat = prepare(scratch);
  return process.stdin.isTTY ? await talk(chat) : await playScript(chat);
}

/**
 * `npm ci` refuses a lockfile without the optional packages of every other platform, which is what npm writes where a
 * registry lacks them. `npm install` takes the same locked versions and leaves the lockfile alone.
 */
async function install() {
  const flags = ["--include=dev", "--no-audit", "--no-fund"];
  try {
    await npm("Installing (npm ci)", ["ci", ...flags]);
  } catch {
    await npm("Installing (npm install)", ["install", "--no-save", ...flags]);
  }
}

/** Runs npm and keeps its output to itself unless it fails. */
async function npm(title, words) {
  const started = Date.now();
  const npmCli = process.env.npm_execpath?.endsWith(".js") ? process.env.npm_execpath : undefined;
  const [command, args] = npmCli ? [process.execPath, [npmCli, ...words]] : ["npm", words];
  const notice = setTimeout(() => process.stderr.write(`${title}…\n`), 1_000);
  const child = spawn(command, args, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    shell: !npmCli && process.platform === "win32",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  const { code, reason } = await ended(child);
  clearTimeout(notice);
  if (code !== 0) throw new Error(`${output}\n${title} failed: ${reason}`);
  const seconds = (Date.now() - started) / 1_000;
  if (seconds > 1) process.stderr.write(`${title} took ${seconds.toFixed(0)} s.\n`);
}

/** Settings of its own: the person's configuration, keys and sessions are neither used nor touched. */
function prepare(scratch) {
  const files = join(scratch, "files");
  mkdirSync(files);
  writeFileSync(join(files, "welcome.txt"), "Welcome. This folder is gone when the demo ends.\n");
  const demo = { command: process.execPath, args: [SERVER, files] };
  writeFileSync(join(scratch, "mcp.json"), JSON.stringify({ mcpServers: { demo } }));
  const env = { ...process.env, TENON_HOME: join(scratch, "home"), TENON_MODEL: "offline/operator" };
  return { scratch, files, env };
}

async function talk({ scratch, files, env }) {
  process.stdout.write(`A chat with the bundled demo server and the offline model: no key, no network. For example:\n`);
  for (const { say } of SCRIPT.slice(0, 3)) process.stdout.write(`  ${say}\n`);
  const child = spawn(process.execPath, [CLI, "chat", "--mcp-config", join(scratch, "mcp.json")], {
    cwd: files,
    env,
    stdio: "inherit",
  });
  // Ctrl-C belongs to the chat: it stops an answer there, and the demo ends when the chat does.
  process.on("SIGINT", () => {});
  passOn(child);
  const { code } = await ended(child);
  return code === INTERRUPTED ? 0 : (code ?? 1);
}

/** Answers and the lines around them come through one stream, so that they are shown in the order they were written. */
async function playScript({ files, env }) {
  const exec = process.platform === "win32" ? "" : "exec ";
  const command = `${exec}"${process.execPath}" "${CLI}" chat --lines --mcp-config ../mcp.json --yes 2>&1`;
  const child = spawn(command, { cwd: files, env, shell: true, stdio: ["pipe", "pipe", "inherit"] });
  passOn(child);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    output += chunk;
    process.stdout.write(chunk);
  });
  // A chat that ends before it has read everything is reported by its exit code.
  child.stdin.on("error", () => {});
  child.stdin.end(`${SCRIPT.map(({ say }) => say).join("\n")}\n`);
  const watchdog = setTimeout(() => child.kill("SIGKILL"), SCRIPT_TIMEOUT_MS);
  const { code, reason } = await ended(child);
  clearTimeout(watchdog);
  if (code !== 0) throw new Error(`The chat ended early: ${reason}`);
  const unanswered = findUnanswered(output);
  if (unanswered.length > 0) throw new Error(`Not answered as expected:\n${unanswered.join("\n")}`);
  process.stdout.write(
    `\nAll ${SCRIPT.length} prompts were answered. In a terminal, \`npm run demo\` lets you type your own.\n`,
  );
  return 0;
}

function findUnanswered(output) {
  const turns = output.split(/^› /m).slice(1);
  return SCRIPT.flatMap(({ say, tool, shows }, at) => {
    const [echo, ...answer] = (turns[at] ?? "").split("\n");
    const text = answer.join("\n");
    const isAnswered = echo.trim() === say && text.includes(`✓ ${tool}`) && text.includes(shows);
    return isAnswered ? [] : [`  ${say}`];
  });
}

function passOn(child) {
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
}

function ended(child) {
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ code: 1, reason: error.message }));
    child.on("close", (code, signal) =>
      resolve({ code, reason: signal === null ? `exit code ${code}` : `signal ${signal}` }),
    );
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message.trim() : error}\n`);
  process.exitCode = 1;
}
