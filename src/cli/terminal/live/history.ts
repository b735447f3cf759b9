// What was typed in earlier chats, newest last: kept in a private file, bounded, and shared by all chats of the account.
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseJson } from "../../../base/json/json.js";
import { CLI_LIMITS } from "../../limits.js";

export class InputHistory {
  readonly #path: string | undefined;
  #entries: string[] | undefined;

  /** Without a path it lasts as long as this chat. */
  constructor(path?: string) {
    this.#path = path;
  }

  get entries(): readonly string[] {
    this.#entries ??= this.#read();
    return this.#entries;
  }

  /** A file that cannot be written costs the memory of later chats, and nothing else. */
  add(text: string): void {
    const { entries, entryChars } = CLI_LIMITS.chatHistory;
    if (text.trim() === "" || text.length > entryChars || this.entries.at(-1) === text) return;
    this.#entries = [...this.entries, text].slice(-entries);
    if (this.#path === undefined) return;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      appendFileSync(this.#path, `${JSON.stringify(text)}\n`, { mode: 0o600 });
    } catch {
      // A full or read-only disk.
    }
  }

  /** The newest entry before `from` that has the words; the index of it. */
  search(words: string, from: number): number {
    return this.entries.slice(0, from).findLastIndex((entry) => entry.toLowerCase().includes(words.toLowerCase()));
  }

  #read(): string[] {
    if (this.#path === undefined) return [];
    try {
      const lines = readFileSync(this.#path, "utf8").split("\n");
      const { entries } = CLI_LIMITS.chatHistory;
      const kept = lines.slice(-2 * entries).flatMap((line) => {
        const read = parseJson(line);
        return read.ok && typeof read.value === "string" ? [read.value] : [];
      });
      if (lines.length > 2 * entries) this.#rewrite(kept.slice(-entries));
      return kept.slice(-entries);
    } catch {
      return [];
    }
  }

  #rewrite(entries: readonly string[]): void {
    if (this.#path === undefined) return;
    const next = `${this.#path}.${process.pid}`;
    writeFileSync(next, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""), { mode: 0o600 });
    renameSync(next, this.#path);
  }
}
