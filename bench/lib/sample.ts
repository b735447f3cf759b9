// One sample: a fresh process that is given a job, and its figures.
import { type ChildProcess, spawn } from "node:child_process";
import { isJsonObject, parseJson } from "../../src/base/json/json.js";
import type { ServerSettings, Target } from "./mcp-target.js";

/** Figures by name; every one is a number, so that all of them can be put in relation. */
export type Figures = Readonly<Record<string, number>>;

export interface Program {
  readonly node: string;
  readonly nodeArgs?: readonly string[];
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const SAMPLE_WITHIN_MS = 120_000;

/** Rejects with what the process said on stderr when it printed no figures. */
export async function takeSample(program: Program, job: object): Promise<Figures> {
  const { node, nodeArgs = [], file, env, cwd } = program;
  const child = spawn(node, [...nodeArgs, file, JSON.stringify(job)], {
    env,
    cwd,
    detached: true, // with its servers in reach, should it have to be killed
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = setTimeout(() => killGroup(child), SAMPLE_WITHIN_MS);
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  clearTimeout(timer);
  // Some toolkits write their own lines to stdout before.
  const parsed = parseJson(stdout().trim().split("\n").at(-1) ?? "");
  if (code === 0 && parsed.ok && isJsonObject(parsed.value)) return numbersIn(parsed.value);
  throw new Error(`exit code ${code}: ${lastWords(stderr())}`);
}

/** The line that names an error, if there is one: Node prints the source around it first. */
function lastWords(stderr: string): string {
  const lines = stderr.trim().split("\n");
  return (
    lines.find((line) => /^\s*(?:error: '|\w*(?:Error|Exception)\b)/.test(line))?.trim() ??
    lines.slice(0, 3).join(" | ")
  );
}

function numbersIn(value: object): Figures {
  const entries: [string, unknown][] = Object.entries(value);
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => typeof entry[1] === "number"));
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (piece: string) => {
    text += piece;
  });
  return () => text;
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // it has ended meanwhile
  }
}

export function stdioTarget(node: string, server: string, settings: ServerSettings): Target {
  return { kind: "stdio", command: node, args: [server, JSON.stringify(settings)] };
}

/** The HTTP server of a bench: its own process, so that its work is not the client's. */
export class HttpServerProcess implements Disposable {
  readonly #child: ChildProcess;
  readonly origin: string;

  private constructor(child: ChildProcess, port: string) {
    this.#child = child;
    this.origin = `http://127.0.0.1:${port}`;
  }

  static async start(node: string, server: string, settings: ServerSettings): Promise<HttpServerProcess> {
    const args = [server, JSON.stringify({ ...settings, transport: "http" })];
    const child = spawn(node, args, { stdio: ["pipe", "pipe", "inherit"] });
    const port = await new Promise<string>((resolve, reject) => {
      child.stdout.setEncoding("utf8").once("data", (text: string) => resolve(text.trim()));
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the HTTP server ended with exit code ${code}`)));
    });
    return new HttpServerProcess(child, port);
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}
