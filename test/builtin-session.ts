// A session's own tools over a real folder, for the unit tests of the builtin room.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { JsonObject } from "../src/base/json/json.js";
import { createLog } from "../src/base/ports/world.js";
import { plainText } from "../src/base/text/content.js";
import {
  type BuiltinOptions,
  type BuiltinPresentation,
  type BuiltinSource,
  builtinSource,
  presentationOf,
} from "../src/builtin/index.js";
import { type LeakCheck, leakCheck } from "../src/testing/index.js";
import type { ToolOutcome, ToolProgress } from "../src/tools/index.js";
import { nodeWorld } from "../src/world/index.js";

export const QUIET_LOG: ReturnType<typeof createLog> = createLog({ level: "error", now: () => 0, write: () => {} });

export class TestSession implements AsyncDisposable {
  /** Has `project`, the session's directory, and `outside`, which is none of its business. */
  readonly folder: string;
  readonly project: string;
  readonly source: BuiltinSource;
  readonly progress: ToolProgress[] = [];

  constructor(options: Partial<BuiltinOptions> = {}) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), "tenon-builtin-")));
    this.project = join(this.folder, "project");
    for (const name of ["project", "outside", "more"]) mkdirSync(join(this.folder, name));
    const world = nodeWorld({ env: { PATH: "/usr/bin:/bin", HOME: this.folder }, log: QUIET_LOG });
    const additionalDirectories = [join(this.folder, "more")];
    this.source = builtinSource({ world, cwd: this.project, additionalDirectories, ...options });
  }

  /** Presentations carried so far, oldest first. */
  get presentations(): readonly BuiltinPresentation[] {
    return this.progress.flatMap((notice) => presentationOf({ origin: "builtin" }, notice) ?? []);
  }

  write(path: string, content: string | Uint8Array): void {
    const full = join(this.project, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
  }

  read(path: string): string {
    return readFileSync(join(this.project, path), "utf8");
  }

  async call(tool: string, args: JsonObject = {}, signal: AbortSignal = NEVER): Promise<ToolOutcome> {
    return await this.source.call({
      tool,
      arguments: args,
      signal,
      onProgress: (notice) => this.progress.push(notice),
    });
  }

  /** `done: …` or `failed: …`, for outcomes that have words. */
  async say(tool: string, args: JsonObject = {}, signal: AbortSignal = NEVER): Promise<string> {
    const outcome = await this.call(tool, args, signal);
    const words = outcome.kind === "done" || outcome.kind === "failed" ? plainText(outcome.content) : "";
    return `${outcome.kind}: ${words}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.source[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const NEVER = new AbortController().signal;

/** Opens sessions in a test file: each is closed after its test, which must leave nothing behind. */
export function testSessions(): (options?: Partial<BuiltinOptions>) => TestSession {
  const open: TestSession[] = [];
  let leaks: LeakCheck;
  beforeEach(async () => {
    leaks = await leakCheck();
  });
  afterEach(async () => {
    for (const session of open.splice(0)) await session[Symbol.asyncDispose]();
    await leaks.verify();
  });
  return (options) => {
    const session = new TestSession(options);
    open.push(session);
    return session;
  };
}
