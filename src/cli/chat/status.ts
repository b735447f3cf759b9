// What the status line of the chat says: model, mode, folder and branch, context, tokens, cost, servers.
import { readFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { clipToWidth, displayWidth, visibleLine } from "../terminal/text.js";
import type { ServerReport, SessionChoices } from "./session.js";

export interface ModeChoice {
  readonly id: string;
  readonly name: string;
}

const PERCENT = 100;
const THOUSAND = 1_000;
const MILLION = 1_000_000;

export class ChatStatus {
  readonly #cwd: string;
  readonly #home: string | undefined;
  model = "";
  mode = "";
  modes: readonly ModeChoice[] = [];
  thinking = "";
  thinkingLevels: readonly string[] = [];
  context: { readonly used: number; readonly size: number } | undefined;
  tokens = 0;
  costUsd: number | undefined;
  /** In place of the rest while there is no session yet. */
  starting: string | undefined;
  readonly #servers = new Map<string, ServerReport["state"]>();
  #branch: { readonly text: string; readonly untilMs: number } | undefined;

  constructor(cwd: string, home: string | undefined) {
    this.#cwd = cwd;
    this.#home = home;
  }

  choose({ modes, configOptions }: SessionChoices): void {
    if (modes) {
      this.mode = modes.currentModeId;
      this.modes = modes.availableModes.map(({ id, name }) => ({ id, name }));
    }
    for (const option of configOptions ?? []) {
      if (option.type !== "select") continue;
      const values = option.options.flatMap((one) =>
        "value" in one ? [one.value] : one.options.map(({ value }) => value),
      );
      if (option.id === "model") this.model = option.currentValue;
      if (option.id === "mode") this.mode = option.currentValue;
      if (option.id === "thinking") [this.thinking, this.thinkingLevels] = [option.currentValue, values];
    }
  }

  server(name: string, state: ServerReport["state"]): void {
    if (state === "closed") this.#servers.delete(name);
    else this.#servers.set(name, state);
  }

  /** All there are: of those that are still starting nothing is told by notices. */
  servers(all: readonly Pick<ServerReport, "name" | "state">[]): void {
    this.#servers.clear();
    for (const { name, state } of all) this.server(name, state);
  }

  /** Another session: what was counted is of the old one. */
  reset(): void {
    this.#servers.clear();
    [this.context, this.tokens, this.costUsd] = [undefined, 0, undefined];
  }

  /** As many parts as there is room for. */
  line(columns: number, nowMs: number): string {
    if (this.starting !== undefined) return this.starting;
    const parts = [this.model, this.mode === "" ? "" : `mode ${this.mode}`, this.#place(nowMs), ...this.#figures()];
    let line = "";
    for (const part of parts.filter((one) => one !== "").map(visibleLine)) {
      const longer = line === "" ? part : `${line} · ${part}`;
      if (displayWidth(longer) > columns) continue;
      line = longer;
    }
    return line === "" ? clipToWidth(visibleLine(this.model), columns) : line;
  }

  #figures(): string[] {
    const ready = [...this.#servers.values()].filter((state) => state === "ready" || state === "idle").length;
    return [
      this.context && this.context.size > 0
        ? `context ${Math.round((PERCENT * this.context.used) / this.context.size)}%`
        : "",
      this.tokens > 0 ? `${short(this.tokens)} tokens` : "",
      this.costUsd === undefined ? "" : `$${this.costUsd.toFixed(this.costUsd < 1 ? 4 : 2)}`,
      this.#servers.size === 0 ? "" : `servers ${ready}/${this.#servers.size}`,
    ];
  }

  #place(nowMs: number): string {
    if (!this.#branch || this.#branch.untilMs < nowMs) {
      this.#branch = { text: branchOf(this.#cwd) ?? "", untilMs: nowMs + BRANCH_MS };
    }
    const { text } = this.#branch;
    return text === "" ? shortPath(this.#cwd, this.#home) : `${shortPath(this.#cwd, this.#home)} (${text})`;
  }
}

/** How long a branch is believed. */
const BRANCH_MS = 3_000;
const PATH_COLUMNS = 30;

function shortPath(path: string, home: string | undefined): string {
  const short =
    home !== undefined && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : path;
  return short.length > PATH_COLUMNS ? `…/${basename(short)}` : short;
}

/** Read from the files of git, without starting it. Undefined outside of a repository. */
function branchOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const head = readText(join(at, ".git", "HEAD")) ?? readText(join(linkedGit(at), "HEAD"));
    if (head !== undefined) {
      const [, name] = /^ref: refs\/heads\/(.+)/u.exec(head) ?? [];
      return name?.trim() ?? head.slice(0, 7);
    }
    if (dirname(at) === at) return undefined;
  }
}

/** Of a work tree whose `.git` is a file that leads elsewhere. */
function linkedGit(folder: string): string {
  const [, path = ""] = /^gitdir: (.+)/u.exec(readText(join(folder, ".git")) ?? "") ?? [];
  return path === "" || isAbsolute(path) ? path.trim() : resolve(folder, path.trim());
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function short(count: number): string {
  if (count < THOUSAND) return String(count);
  return count < MILLION ? `${(count / THOUSAND).toFixed(1)}k` : `${(count / MILLION).toFixed(1)}M`;
}
