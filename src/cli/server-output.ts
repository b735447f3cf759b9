// Keeps what servers write to their stderr or log: one bounded private file a server, secrets taken out before they are written.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import { KeyLines } from "../base/text/secrets.js";
import { tenonPaths } from "../config/index.js";
import type { OutputOwner, OutputSink, ServerOutput } from "../session/index.js";
import { Redactor } from "../world/index.js";
import { CLI_LIMITS } from "./limits.js";

/** What tells two servers of the same name apart. */
export type OutputName = Pick<OutputOwner, "origin" | "project"> & { readonly name: string };

/** As much as fits an error message. */
const TAIL_CHARS = 1_000;
/** What is looked at for it: a private key begins within. */
const TAIL_READ_CHARS = 32_000;

/** A project's server has its own, whatever the user's server of that name says. */
export function outputFile(world: World, { name, origin, project = "" }: OutputName): string {
  const key = createHash("sha256").update([origin, project, name].join("\0")).digest("hex").slice(0, 12);
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/gu, "_").slice(0, 40);
  return join(tenonPaths(world.env).stateDir, "server-logs", `${plain}-${key}.log`);
}

export function outputFiles(world: World): ServerOutput {
  return {
    open: (owner) => {
      const { spec, origin, project } = owner;
      const name: OutputName = { name: spec.name, origin, ...defined({ project }) };
      return new OutputFile(world, outputFile(world, name), redactorFor(owner, world));
    },
  };
}

/** Keeps it, and has the end of it at hand. */
export function heardOutput(world: World): { readonly output: ServerOutput; tail(): string } {
  const kept = outputFiles(world);
  let tail = "";
  let redact = (text: string): string => text;
  return {
    tail: () => redact(tail).slice(-TAIL_CHARS).trim(),
    output: {
      open: (owner) => {
        const sink = kept.open(owner);
        const redactor = redactorFor(owner, world);
        redact = (text) => redactor.text(text);
        return {
          log: (entry) => sink.log(entry),
          stderr: (chunk) => {
            sink.stderr(chunk);
            tail = (tail + Buffer.from(chunk).toString("utf8")).slice(-TAIL_READ_CHARS);
          },
        };
      },
    },
  };
}

/** Takes the secrets of a server, and of this environment, out of what it says. */
export function redactorFor({ spec }: Pick<OutputOwner, "spec">, world: World): Redactor {
  const redactor = new Redactor();
  redactor.hideEnvironment(world.env);
  redactor.clean(spec); // learns the values of env, headers, tokens and options
  return redactor;
}

class OutputFile implements OutputSink {
  readonly #world: World;
  readonly #path: string;
  readonly #redactor: Redactor;
  readonly #decoder = new StringDecoder("utf8");
  readonly #keys = { stderr: new KeyLines(), log: new KeyLines() };
  /** The beginning of a line whose end has not come. */
  #open = "";
  #waiting = "";
  #isScheduled = false;
  #lastMs = Number.NEGATIVE_INFINITY;
  #unchecked: number = CLI_LIMITS.logFileBytes;

  constructor(world: World, path: string, redactor: Redactor) {
    this.#world = world;
    this.#path = path;
    this.#redactor = redactor;
  }

  stderr(chunk: Uint8Array): void {
    const lines = (this.#open + this.#decoder.write(Buffer.from(chunk))).split("\n");
    this.#open = (lines.pop() ?? "").slice(0, 2 * CLI_LIMITS.logLineChars);
    for (const line of lines) this.#add("stderr", this.#keys.stderr.pass(line.trimEnd()));
  }

  log({ level, logger, text }: Parameters<OutputSink["log"]>[0]): void {
    const lines = text.split("\n").map((line) => this.#keys.log.pass(line));
    this.#add(logger === undefined ? level : `${level} ${logger}`, lines.join("\n  "));
  }

  #add(kind: string, text: string): void {
    if (text === "") return;
    const clean = this.#redactor.text(text).slice(0, CLI_LIMITS.logLineChars);
    this.#waiting += `${new Date(this.#world.now()).toISOString()} ${kind}: ${clean}\n`;
    if (this.#isScheduled) return;
    // The first words are written at once: a server that fails is often followed by the end of this process.
    const sinceMs = this.#world.monotonicMs() - this.#lastMs;
    if (sinceMs >= CLI_LIMITS.logFlushMs) return this.#flush();
    this.#isScheduled = true;
    this.#world.after(CLI_LIMITS.logFlushMs - sinceMs, () => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    this.#lastMs = this.#world.monotonicMs();
    const text = this.#waiting;
    this.#waiting = "";
    try {
      const file = this.#world.files.openAppend(this.#path);
      file.write(text);
      file.close();
    } catch (error) {
      this.#world.log.debug("server.output_unkept", { path: this.#path, error: String(error) });
      return;
    }
    this.#unchecked += text.length;
    if (this.#unchecked < CLI_LIMITS.logFileBytes / 8) return;
    this.#unchecked = 0;
    this.#trim().catch((error: unknown) => {
      this.#world.log.debug("server.output_untrimmed", { path: this.#path, error: String(error) });
    });
  }

  /** Once it is too long, its newer half stays. Another process that writes meanwhile may lose a line. */
  async #trim(): Promise<void> {
    const { files } = this.#world;
    const bytes = (await files.find(this.#path))?.bytes ?? 0;
    if (bytes <= CLI_LIMITS.logFileBytes) return;
    const length = Math.floor(CLI_LIMITS.logFileBytes / 2);
    const tail = Buffer.from(await files.readBytes(this.#path, { start: bytes - length, length })).toString("utf8");
    await files.writeAtomic(this.#path, tail.slice(tail.indexOf("\n") + 1));
  }
}
