// Starts the scripted server as a child: its command, arguments and environment.
import { fileURLToPath } from "node:url";
import type { Behaviour } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";

/** The environment variable that every process of a scripted tree carries, so that a leak check finds what is left. */
export const MARKER_VARIABLE = "TENON_TEST_MARKER";

/** The program to run with plain `node`: made by `npm run build`, and before tests, from `server-program.ts`. */
const PROGRAM = fileURLToPath(new URL("./server-program.mjs", import.meta.url));

/** Linux takes no single argument above 128 KiB. */
const MAX_ARGUMENT_BYTES = 120_000;

export interface ScriptedServerOptions {
  /** Value of TENON_TEST_MARKER in the server and all its children. */
  readonly marker?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * How a scripted server is started: it fits into `mcpServers`.
 *
 * @example
 * const spec: ScriptedServerSpec = scriptedServer({ tools: [echoTool()] });
 */
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

/**
 * The command that runs a scripted server as a process of its own.
 *
 * @example
 * const mcpServers = { s: scriptedServer({ tools: [echoTool()] }) };
 */
export function scriptedServer(behaviour: Behaviour, options: ScriptedServerOptions = {}): ScriptedServerSpec {
  const json = JSON.stringify(parseBehaviour(behaviour));
  if (Buffer.byteLength(json) > MAX_ARGUMENT_BYTES) {
    throw new Error(
      `the behaviour has ${json.length} characters, too many for an argument: use fillerTools or --behaviour-file`,
    );
  }
  const env = { ...options.env, ...(options.marker !== undefined && { [MARKER_VARIABLE]: options.marker }) };
  return { command: process.execPath, args: [PROGRAM, "--behaviour", json], env };
}

export function scriptedAcpServer(
  name: string,
  behaviour: Behaviour,
  options: ScriptedServerOptions = {},
): AcpServerEntry {
  const { command, args, env } = scriptedServer(behaviour, options);
  return { name, command, args, env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })) };
}
