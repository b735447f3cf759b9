// How to start the scripted server as a child: command, arguments and environment for whoever spawns it.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Behaviour } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";

/** The environment variable that every process of a scripted tree carries, so that a leak check finds what is left. */
export const MARKER_VARIABLE = "TENON_TEST_MARKER";

/** Linux takes no single argument above 128 KiB. */
const MAX_ARGUMENT_BYTES = 120_000;

export interface ScriptedServerOptions {
  /** Value of TENON_TEST_MARKER in the server and all its children. */
  readonly marker?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ScriptedServerSpec {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

/** The same as an entry of ACP's `mcpServers`. */
export interface AcpServerEntry {
  readonly name: string;
  readonly command: string;
  readonly args: string[];
  readonly env: { readonly name: string; readonly value: string }[];
}

export function scriptedServer(behaviour: Behaviour, options: ScriptedServerOptions = {}): ScriptedServerSpec {
  const json = JSON.stringify(parseBehaviour(behaviour));
  if (Buffer.byteLength(json) > MAX_ARGUMENT_BYTES) {
    throw new Error(
      `the behaviour has ${json.length} characters, too many for an argument: use fillerTools or --behaviour-file`,
    );
  }
  const env = { ...options.env, ...(options.marker !== undefined && { [MARKER_VARIABLE]: options.marker }) };
  return { command: process.execPath, args: [programPath(), "--behaviour", json], env };
}

export function scriptedAcpServer(
  name: string,
  behaviour: Behaviour,
  options: ScriptedServerOptions = {},
): AcpServerEntry {
  const { command, args, env } = scriptedServer(behaviour, options);
  return { name, command, args, env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })) };
}

let cachedPath: string | undefined;

/** The program to run with plain `node`. */
function programPath(): string {
  cachedPath ??= import.meta.url.endsWith(".ts")
    ? builtFromSource()
    : fileURLToPath(new URL("./program.js", import.meta.url));
  return cachedPath;
}

/**
 * Tests of this repository run from TypeScript, and a loader in the child would cost 300 ms a start. So the program is
 * bundled once per content of its sources; esbuild is a development dependency, which no embedder ever needs.
 */
function builtFromSource(): string {
  const folder = fileURLToPath(new URL("../../../../node_modules/.cache/tenon-testing/", import.meta.url));
  const outfile = `${folder}program-${sourceHash()}.mjs`;
  if (existsSync(outfile)) return outfile;
  mkdirSync(folder, { recursive: true });
  const unfinished = `${outfile}.${process.pid}`;
  const entry = fileURLToPath(new URL("./program.ts", import.meta.url));
  const build = {
    entryPoints: [entry],
    outfile: unfinished,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
  };
  const script = "require(process.argv[1]).buildSync(JSON.parse(process.argv[2]))";
  const esbuild = createRequire(import.meta.url).resolve("esbuild");
  execFileSync(process.execPath, ["-e", script, esbuild, JSON.stringify({ ...build, logLevel: "error" })]);
  renameSync(unfinished, outfile); // other test workers may be building the same
  return outfile;
}

function sourceHash(): string {
  const hash = createHash("sha256");
  for (const folder of [new URL("./", import.meta.url), new URL("../../../base/", import.meta.url)]) {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const sources = names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
    for (const name of sources.sort()) hash.update(name).update(readFileSync(new URL(name, folder)));
  }
  return hash.digest("hex").slice(0, 16);
}
