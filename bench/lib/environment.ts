// What a measured process gets to see: a home of its own and nothing that makes Node or an agent do extra work.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory that is gone when the bench is over. */
export class TemporaryFolder implements Disposable {
  readonly path: string = mkdtempSync(join(tmpdir(), "tenon-bench-"));

  /** A folder in it, made if need be. */
  folder(name: string): string {
    const path = join(this.path, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/**
 * Only PATH and the locale come from outside. In particular no NODE_OPTIONS and no NODE_EXTRA_CA_CERTS, which costs
 * every Node 20 process some 40 ms of CPU before its first line, and no key that would choose a model.
 */
export function measuredEnv(home: string): Record<string, string> {
  const env: Record<string, string> = { HOME: home, TENON_HOME: join(home, "tenon") };
  for (const name of ["PATH", "LANG", "TMPDIR"]) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}
