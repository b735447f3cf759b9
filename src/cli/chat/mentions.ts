// What a typed prompt is sent as: its words, files named by @path as links that the agent reads, and pictures with their data.
import { execFile } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { withoutFinal } from "../../base/text/ends.js";
import { CLI_LIMITS } from "../limits.js";

const PICTURES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};
/** Words of a prompt that may be paths: behind an @, in quotes as terminals paste dragged files, or with escaped blanks. */
const WORDS = /(?:^|\s)(?:@([^\s@]+)|'([^'\n]+)'|((?:[~/.]|[A-Za-z]:\\)(?:\\ |[^\s'"])*))/gu;
const MOST = 20;

export interface PreparedPrompt {
  readonly blocks: readonly ContentBlock[];
  /** What could not be attached, each in a sentence. */
  readonly problems: readonly string[];
}

/** The first block is the text as it was typed. */
export async function preparePrompt(text: string, cwd: string, home: string | undefined): Promise<PreparedPrompt> {
  const blocks: ContentBlock[] = [{ type: "text", text }];
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const [, mention, quoted, bare] of text.matchAll(WORDS)) {
    const word = withoutFinal((mention ?? quoted ?? bare ?? "").replaceAll("\\ ", " "), ",.;:!?)");
    const path = pathOf(word, cwd, home);
    const mimeType = PICTURES[extname(path).toLowerCase()];
    // Without an @ only pictures are taken: a path in a sentence is a path.
    if (seen.has(path) || seen.size >= MOST || (mention === undefined && mimeType === undefined)) continue;
    const found = await stat(path).catch(() => undefined);
    if (!found) continue;
    seen.add(path);
    if (mimeType === undefined) {
      const uri = pathToFileURL(path).href;
      blocks.push({ type: "resource_link", uri, name: relative(cwd, path) || basename(path) });
    } else if (!found.isFile()) {
      problems.push(`${word} is no file`); // a pipe would be waited for
    } else if (found.size > CLI_LIMITS.pictureBytes) {
      problems.push(`${word} is too large for a prompt (${found.size} bytes, at most ${CLI_LIMITS.pictureBytes})`);
    } else {
      const data = await readFile(path).catch(() => undefined);
      if (data) blocks.push({ type: "image", mimeType, data: data.toString("base64"), uri: pathToFileURL(path).href });
      else problems.push(`${word} cannot be read`);
    }
  }
  return { blocks, problems };
}

function pathOf(word: string, cwd: string, home: string | undefined): string {
  if (home !== undefined && word.startsWith("~/")) return join(home, word.slice(2));
  return isAbsolute(word) ? word : resolve(cwd, word);
}

/** The files of a folder for completion: what git knows and what it would not ignore, else all but hidden ones. Looked for once a while. */
export class MentionableFiles {
  readonly #cwd: string;
  readonly #onFound: () => void;
  readonly #now: () => number;
  #files: readonly string[] = [];
  #lookedMs = Number.NEGATIVE_INFINITY;
  #isLooking = false;

  constructor(cwd: string, now: () => number, onFound: () => void) {
    this.#cwd = cwd;
    this.#now = now;
    this.#onFound = onFound;
  }

  /** Those known now; the next look begins if the last one is some time ago. */
  get files(): readonly string[] {
    if (!this.#isLooking && this.#now() - this.#lookedMs > FRESH_MS) {
      this.#isLooking = true;
      this.#look()
        .catch(() => [])
        .then((files) => {
          this.#files = files;
          this.#lookedMs = this.#now();
          this.#isLooking = false;
          this.#onFound();
        })
        .catch(() => {});
    }
    return this.#files;
  }

  async #look(): Promise<readonly string[]> {
    const listed = await this.#byGit();
    return (listed ?? (await this.#byWalking())).slice(0, CLI_LIMITS.mentions.files);
  }

  #byGit(): Promise<readonly string[] | undefined> {
    const words = ["-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const options = { cwd: this.#cwd, timeout: CLI_LIMITS.mentions.lookMs, maxBuffer: MAX_LIST_BYTES };
    return new Promise((done) => {
      execFile("git", words, options, (error, stdout) => {
        done(error ? undefined : [...new Set(stdout.split("\0"))].filter((path) => path !== ""));
      });
    });
  }

  async #byWalking(): Promise<readonly string[]> {
    const found: string[] = [];
    const folders = [this.#cwd];
    const endMs = this.#now() + CLI_LIMITS.mentions.lookMs;
    for (let folder = folders.shift(); folder !== undefined && this.#now() < endMs; folder = folders.shift()) {
      for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
        if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
        const path = join(folder, entry.name);
        if (entry.isDirectory()) folders.push(path);
        else found.push(relative(this.#cwd, path).split(sep).join("/"));
        if (found.length >= CLI_LIMITS.mentions.files) return found;
      }
    }
    return found;
  }
}

const FRESH_MS = 5_000;
const MAX_LIST_BYTES = 16_777_216;
