// The product under test, as an editor would start it, in a home of its own.
import { type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gatewaySocketPath } from "../../src/gateway/index.js";
import {
  type AcpClient,
  type AcpClientOptions,
  acpSchemaValidator,
  type MessageValidator,
  startAgent,
} from "../../src/testing/index.js";
import { isOnPostgres, storeVariables } from "../test-store.js";
import { agentNode, TENON } from "./peers.js";

/** A directory that is gone when the scenario is over. */
export class TemporaryFolder implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), "tenon-scenario-"));

  [Symbol.dispose](): void {
    // A process that was just killed may have written a file meanwhile; what is left running is the leak check's to find.
    rmSync(this.path, { recursive: true, force: true, maxRetries: 20, retryDelay: 25 });
  }
}

/** No key of whoever runs the tests may choose a model, and no variable of theirs a home. */
export function cleanEnv(home: string, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const keep = ["PATH", "HOME", "TMPDIR", "LANG"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(keep), TENON_HOME: home, ...storeVariables(home), ...extra };
}

/** What is in the stable protocol must fit that; the rest, and what the unstable one says more, must fit the unstable one. */
async function bothSchemas(): Promise<MessageValidator> {
  const [stable, unstable] = await Promise.all([acpSchemaValidator(), acpSchemaValidator({ unstable: true })]);
  return (message) => {
    const problem = unstable(message);
    const strict = stable(message);
    return problem ?? (strict?.startsWith("the protocol has no ") ? undefined : strict);
  };
}

const nodes = new Map<string, Promise<unknown>>();

/** The gateway of a home whose store is a database, unless it has one: a translator would start one on files. */
export async function startNode(home: string, env?: Readonly<Record<string, string>>): Promise<void> {
  if (!isOnPostgres || existsSync(gatewaySocketPath({ env: {} }, join(home, "state")))) return;
  if (!nodes.has(home)) {
    const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
    const words = [TENON, "gateway", "run"];
    const variables = cleanEnv(home, { TENON_LOG: "error", ...env });
    const child = spawn(agentNode(), words, { env: variables, cwd: home, stdio });
    nodes.set(home, once(child.stdout ?? child, "data"));
  }
  await nodes.get(home);
}

/** `tenon acp`, every message of which is checked against the protocol's published schemas. */
export async function startTenon(
  home: TemporaryFolder,
  options: AcpClientOptions & {
    readonly env?: Readonly<Record<string, string>>;
    /** What Node gets before the program. */
    readonly nodeArgs?: readonly string[];
    /** What follows `tenon acp`. */
    readonly words?: readonly string[];
  } = {},
): Promise<AcpClient> {
  if (options.words?.at(-1) === "--gateway") await startNode(home.path, options.env); // not of an address
  const args = [...(options.nodeArgs ?? []), TENON, "acp", ...(options.words ?? [])];
  const command = { command: agentNode(), args, env: cleanEnv(home.path, options.env), cwd: home.path };
  return startAgent(command, { validate: await bothSchemas(), ...options });
}
