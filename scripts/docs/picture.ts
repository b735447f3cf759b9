// docs/picture.svg: what a terminal shows of a real run of the built product, with one server that works and one that does not.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../lib/run.js";

const CLI = join(ROOT, "dist/cli/main.js");
const SERVER = join(ROOT, "dist/demo-server/main.js");

/** Typed one after the other. */
const PROMPTS = ["calculate (2 + 3) * 4 ^ 2", "run the slow job with 3 steps", "/mcp"] as const;

const COLUMNS = 98;
const LINE_HEIGHT = 20;
const CHAR_WIDTH = 8.43;
const MARGIN = 18;
const TITLE_HEIGHT = 34;

/** The lines of the run; places and times of this machine taken out of them. */
export async function pictureLines(): Promise<readonly string[]> {
  const scratch = mkdtempSync(join(tmpdir(), "tenon-picture-"));
  try {
    const files = join(scratch, "files");
    mkdirSync(files);
    const demo = { command: process.execPath, args: [SERVER, files] };
    const config = { mcpServers: { demo, tickets: { command: "tickets-mcp" } } };
    writeFileSync(join(scratch, "mcp.json"), JSON.stringify(config));
    const said = await run(["chat", "--mcp-config", join(scratch, "mcp.json"), "--yes"], files, join(scratch, "home"));
    return plain(said, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function run(args: readonly string[], cwd: string, home: string): Promise<string> {
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", TENON_HOME: home, HOME: home, TENON_MODEL: "offline/operator" };
  // Through a shell, so that both streams come in the order in which they were written.
  const words = [process.execPath, CLI, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn(`exec ${words} 2>&1`, { cwd, env, shell: true, stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  child.stdin.end(`${PROMPTS.join("\n")}\n`);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`the run for the picture ended with ${code}:\n${output}`);
  return output;
}

function plain(text: string, scratch: string): readonly string[] {
  return text
    .replaceAll(scratch, "~")
    .replaceAll(/\d+(?:\.\d+)? ms/gu, "… ms")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("This is Tenon's offline model"))
    .flatMap(wrapped);
}

function wrapped(line: string): readonly string[] {
  if (line.length <= COLUMNS) return [line];
  const at = line.lastIndexOf(" ", COLUMNS);
  const cut = at > COLUMNS / 2 ? at : COLUMNS;
  return [line.slice(0, cut), ...wrapped(`      ${line.slice(cut).trimStart()}`)];
}

export function pictureSvg(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CHAR_WIDTH + 2 * MARGIN);
  const height = TITLE_HEIGHT + lines.length * LINE_HEIGHT + MARGIN;
  const rows = lines.map((line, index) => {
    const y = TITLE_HEIGHT + (index + 1) * LINE_HEIGHT - 4;
    return `  <text x="${MARGIN}" y="${y}" class="${classOf(line)}">${escaped(line)}</text>`;
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t">`,
    '  <title id="t">tenon chat: two tools of a server answer, and a server that cannot start is named with its cause</title>',
    "  <style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#d7dae0}.said{fill:#7fd1ff;font-weight:600}.done{fill:#8bd49c}.bad{fill:#ff9d8a}.title{fill:#9aa0ab}</style>",
    `  <rect width="${width}" height="${height}" rx="9" fill="#1c1f26"/>`,
    '  <circle cx="20" cy="17" r="5.5" fill="#ff6b5f"/><circle cx="38" cy="17" r="5.5" fill="#f6c350"/><circle cx="56" cy="17" r="5.5" fill="#63c466"/>',
    `  <text x="${width / 2}" y="22" text-anchor="middle" class="title">tenon chat</text>`,
    ...rows,
    "</svg>",
  ].join("\n")}\n`;
}

function classOf(line: string): string {
  if (line.startsWith("› ")) return "said";
  if (line.startsWith("✓")) return "done";
  return /^[✗!]|failed|not found/u.test(line) ? "bad" : "plain";
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
