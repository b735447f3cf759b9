// Which prompts led to which tool, remembered per project on this machine only: stems of words, never the prompt itself.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { messageOf } from "../../base/errors.js";
import { parseObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { termsOf } from "../../base/text/terms.js";
import { TOOL_LIMITS } from "../limits.js";
import type { UsageScores } from "./scorer.js";

interface Memory {
  readonly tool: string;
  readonly terms: readonly string[];
  /** As it stands in the file. */
  readonly line: string;
  readonly bytes: number;
}

export interface UsageMemoryPlace {
  readonly world: World;
  /** Where memories are kept; each project has a file of its own in it. */
  readonly folder: string;
  /** The project's real path. */
  readonly project: string;
}

/** Words with digits in them and very long ones are numbers, keys and passwords as often as words. */
const UNFIT = /\p{N}/u;
/** Several processes may have added to one file; beyond this it is not ours. */
const TOLERATED_GROWTH = 4;

/**
 * One line of JSON a memory, added in one synchronous write: a crash costs at most the line that was being written, and
 * broken lines are skipped. What cannot be written is remembered until the process ends. No failure reaches the caller.
 */
export class UsageMemory {
  readonly #world: World;
  readonly #path: string;
  /** Oldest first. */
  #memories: readonly Memory[];
  #scores: UsageScores | undefined;
  /** Bytes this process may still add to the file: it is made smaller only when it is opened. */
  #writableBytes: number = TOOL_LIMITS.toolUsage.bytes / 2;

  private constructor(world: World, path: string, memories: readonly Memory[]) {
    this.#world = world;
    this.#path = path;
    this.#memories = memories;
  }

  /** An unreadable file is an empty memory. */
  static async open({ world, folder, project }: UsageMemoryPlace): Promise<UsageMemory> {
    const name = createHash("sha256").update(project).digest("hex").slice(0, 32);
    const path = join(folder, `${name}.ndjson`);
    const memories = await load(world, path).catch((error: unknown) => {
      world.log.warn("usage.unreadable", { path, reason: messageOf(error) });
      return [];
    });
    return new UsageMemory(world, path, memories);
  }

  /** Remembered prompts. */
  get size(): number {
    return this.#memories.length;
  }

  add(prompt: string, toolId: string): void {
    const { headChars, headTerms } = TOOL_LIMITS.toolSearchQuery;
    const all = termsOf(prompt, { maxChars: headChars, maxWords: headTerms * 4 }).filter(isFit);
    const terms = [...new Set(all)].slice(0, TOOL_LIMITS.toolUsage.termsPerPrompt);
    if (terms.length === 0) return;
    const memory = memoryOf(toolId, terms);
    if (this.#memories.some(({ line }) => line === memory.line)) return;
    this.#memories = newest([...this.#memories, memory]);
    this.#scores = undefined;
    this.#write(memory);
  }

  /** For `ToolIndex.search`. */
  scores(): UsageScores {
    this.#scores ??= count(this.#memories);
    return this.#scores;
  }

  /** Deletes the memory and its file. Rejects when the file cannot be deleted. */
  async forget(): Promise<void> {
    this.#memories = [];
    this.#scores = undefined;
    await this.#world.files.remove(this.#path);
  }

  #write(memory: Memory): void {
    // The first newline ends a line that a crash left open.
    const line = `\n${memory.line}`;
    this.#writableBytes -= memory.bytes + 1;
    if (this.#writableBytes < 0) return;
    try {
      const file = this.#world.files.openAppend(this.#path);
      try {
        file.write(line);
      } finally {
        file.close();
      }
    } catch (error) {
      this.#writableBytes = 0; // once is enough: a full disk stays full
      this.#world.log.warn("usage.not_written", { path: this.#path, reason: messageOf(error) });
    }
  }
}

async function load(world: World, path: string): Promise<Memory[]> {
  const found = await world.files.find(path);
  if (found === undefined) return [];
  if (found.kind !== "file" || found.bytes > TOOL_LIMITS.toolUsage.bytes * TOLERATED_GROWTH) {
    world.log.warn("usage.too_large", { path, bytes: found.bytes });
    await world.files.remove(path);
    return [];
  }
  const lines = (await world.files.readText(path)).split("\n").filter((line) => line !== "");
  const read = lines.flatMap((line) => readLine(line) ?? []);
  const kept = newest(read);
  if (kept.length < lines.length) await world.files.writeAtomic(path, kept.map(({ line }) => line).join(""));
  return kept;
}

function memoryOf(tool: string, terms: readonly string[]): Memory {
  const line = `${JSON.stringify({ v: 1, tool, terms })}\n`;
  return { tool, terms, line, bytes: Buffer.byteLength(line) };
}

function readLine(line: string): Memory | undefined {
  const parsed = parseObject(line);
  if (!parsed) return undefined;
  const { v, tool, terms } = parsed;
  if (v !== 1 || typeof tool !== "string" || !Array.isArray(terms)) return undefined;
  const words = terms.flatMap((term) => (typeof term === "string" && isFit(term) ? [term] : []));
  return tool === "" || tool.length > LIMITS.nameMaxChars || words.length === 0
    ? undefined
    : memoryOf(tool, words.slice(0, TOOL_LIMITS.toolUsage.termsPerPrompt));
}

/** At most so many a tool, in all, and in bytes. Oldest first. */
function newest(memories: readonly Memory[]): Memory[] {
  const { promptsPerTool, prompts, bytes } = TOOL_LIMITS.toolUsage;
  const perTool = new Map<string, number>();
  const kept: Memory[] = [];
  let room = bytes / 2;
  for (const memory of memories.toReversed()) {
    const count = perTool.get(memory.tool) ?? 0;
    if (count >= promptsPerTool) continue;
    room -= memory.bytes;
    if (room < 0 || kept.length >= prompts) break;
    perTool.set(memory.tool, count + 1);
    kept.push(memory);
  }
  return kept.reverse();
}

function isFit(term: string): boolean {
  return term !== "" && term.length <= TOOL_LIMITS.toolUsage.termChars && !UNFIT.test(term);
}

function count(memories: readonly Memory[]): UsageScores {
  const counts = new Map<string, Map<string, number>>();
  const lengths = new Map<string, number>();
  for (const { tool, terms } of memories) {
    lengths.set(tool, (lengths.get(tool) ?? 0) + terms.length);
    for (const term of terms) {
      const tools = counts.get(term) ?? new Map<string, number>();
      tools.set(tool, (tools.get(tool) ?? 0) + 1);
      counts.set(term, tools);
    }
  }
  return { counts, lengths };
}
