// The product under test, as an editor would start it, in a home of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AcpClient, type AcpClientOptions, acpSchemaValidator, startAgent } from "../../src/testing/index.js";
import { agentNode, TENON } from "./peers.js";

/** A directory that is gone when the scenario is over. */
export class TemporaryFolder implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), "tenon-scenario-"));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** No key of whoever runs the tests may choose a model, and no variable of theirs a home. */
export function cleanEnv(home: string, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const keep = ["PATH", "HOME", "TMPDIR", "LANG"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(keep), TENON_HOME: home, ...extra };
}

/** `tenon acp`, every message of which is checked against the protocol's published schema. */
export async function startTenon(
  home: TemporaryFolder,
  options: AcpClientOptions & { readonly env?: Readonly<Record<string, string>> } = {},
): Promise<AcpClient> {
  const command = { command: agentNode(), args: [TENON, "acp"], env: cleanEnv(home.path, options.env), cwd: home.path };
  return startAgent(command, { validate: await acpSchemaValidator(), ...options });
}
