// The results a session keeps: whole texts, values and files behind handles, found again after a restart.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonValue } from "../../base/json/json.js";
import type { AppendFile, World } from "../../base/ports/world.js";
import type { SpilledBlock } from "../../base/text/content.js";
import { TOOL_LIMITS } from "../limits.js";
import { ByteCount, encoded, LineCount, parted, tooLarge } from "./encode.js";
import { jsonPieces } from "./json-pieces.js";
import { fileName, handleNumber, type IndexLine, type KeptForm, type KeptResult, readLine, writeLine } from "./kept.js";
import { type ByteRange, folderStorage, MemoryStorage, type ResultStorage } from "./storage.js";

export interface ResultStoreOptions {
  readonly world: World;
  /** `<state>/sessions/<id>.results`, made when the first result is kept. Without one results are kept in memory. */
  readonly folder?: string;
  readonly maxBytes?: number;
  readonly maxMemoryBytes?: number;
}

export interface KeepFacts {
  /** `server / tool`. */
  readonly origin: string;
  readonly mimeType?: string;
  readonly uri?: string;
}

export type Kept =
  | { readonly ok: true; readonly result: KeptResult }
  /** In words that go on after "it could not be kept:". */
  | { readonly ok: false; readonly reason: string };

interface Entry {
  readonly result: KeptResult;
  readonly storage: ResultStorage;
}

const INDEX = "index.ndjson";

/**
 * What it promises: a handle never means another result, also after a restart; what was kept reads back as it came, byte
 * for byte of its UTF-8. What it does not: to keep for ever. Beyond its bounds the oldest go, and their handles say so.
 */
export class ResultStore implements AsyncDisposable {
  readonly #world: World;
  readonly #folder: string | undefined;
  readonly #maxBytes: number;
  readonly #disk: ResultStorage | undefined;
  readonly #memory: ResultStorage;
  readonly #entries = new Map<string, Entry>();
  readonly #gone = new Set<string>();
  #diskBytes = 0;
  #count = 0;
  #loading: Promise<void> | undefined;
  #index: AppendFile | undefined;
  #isClosed = false;

  constructor({ world, folder, maxBytes, maxMemoryBytes }: ResultStoreOptions) {
    this.#world = world;
    this.#folder = folder;
    this.#maxBytes = maxBytes ?? TOOL_LIMITS.resultStore.maxBytes;
    this.#disk = folder === undefined ? undefined : folderStorage(world.files, folder);
    this.#memory = new MemoryStorage(world, maxMemoryBytes ?? TOOL_LIMITS.resultStore.maxMemoryBytes);
  }

  get world(): World {
    return this.#world;
  }

  /** Every result that can be read, the oldest first. */
  async list(): Promise<readonly KeptResult[]> {
    await this.#load();
    return [...this.#entries.values()].map(({ result }) => result);
  }

  async find(handle: string): Promise<KeptResult | undefined> {
    await this.#load();
    return this.#entries.get(handle)?.result;
  }

  /** Whether there was such a result, and it had to make room. */
  async isGone(handle: string): Promise<boolean> {
    await this.#load();
    return this.#gone.has(handle);
  }

  /** Texts are kept one below the other. */
  async keepText(texts: readonly string[], facts: KeepFacts): Promise<Kept> {
    const lines = new LineCount();
    return await this.#keepParts("text", facts, () => lines.watch(encoded(parted(texts))), lines);
  }

  async keepJson(value: JsonValue, facts: KeepFacts): Promise<Kept> {
    const lines = new LineCount();
    const pieces = () => encoded(jsonPieces(value, TOOL_LIMITS.resultPieceBytes));
    return await this.#keepParts("json", facts, () => lines.watch(pieces()), lines);
  }

  async keepBase64(data: string, facts: KeepFacts): Promise<Kept> {
    return await this.#keepParts("base64", facts, () => encoded(parted([data])), undefined);
  }

  /** Takes over what a server sent that was too long for memory: the file itself goes with the connection. */
  async keepSpilled(block: SpilledBlock, facts: KeepFacts): Promise<Kept> {
    const { bytes, path, kind } = block;
    const form = kind === "structured" ? "json" : block.preview === "" ? "bytes" : "text";
    if (bytes > this.#maxBytes) return { ok: false, reason: tooLarge(this.#maxBytes) };
    return await this.#keep(form, facts, async (storage, name) => {
      await storage.adopt(name, path);
      return { bytes };
    });
  }

  /** Rejects when the result is not there (any more): `find` says so before. */
  async read(handle: string, range: ByteRange): Promise<Uint8Array> {
    await this.#load();
    const entry = this.#entries.get(handle);
    if (!entry) throw new Error(`there is no result ${handle}`);
    return await entry.storage.read(fileName(entry.result), range);
  }

  /** Removes everything that was kept, for a session that is deleted. */
  async remove(): Promise<void> {
    this.#close();
    this.#entries.clear();
    if (this.#folder !== undefined) await this.#world.files.remove(this.#folder);
  }

  /** Lets go of what is open and in memory. Files stay: the session may be loaded again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    for (const { result, storage } of this.#entries.values()) {
      if (storage === this.#memory) await storage.remove(fileName(result));
    }
  }

  async #keepParts(
    form: KeptForm,
    facts: KeepFacts,
    parts: () => Iterable<Uint8Array>,
    lines: LineCount | undefined,
  ): Promise<Kept> {
    return await this.#keep(form, facts, async (storage, name) => {
      const size = new ByteCount(this.#maxBytes);
      await storage.write(name, size.watch(parts()));
      return { bytes: size.bytes, ...defined({ lines: lines?.lines }) };
    });
  }

  async #keep(
    form: KeptForm,
    { origin, mimeType, uri }: KeepFacts,
    put: (storage: ResultStorage, name: string) => Promise<{ bytes: number; lines?: number }>,
  ): Promise<Kept> {
    await this.#load();
    if (this.#isClosed) return { ok: false, reason: "the session is closed" };
    this.#count += 1;
    const handle = `r${this.#count}`;
    const reasons: string[] = [];
    for (const storage of this.#disk ? [this.#disk, this.#memory] : [this.#memory]) {
      try {
        const size = await put(storage, fileName({ handle, form }));
        const known = defined({ mimeType, uri });
        const result: KeptResult = { handle, form, ...size, origin, ...known };
        await this.#add({ result, storage });
        return { ok: true, result };
      } catch (error) {
        reasons.push(messageOf(error));
        this.#world.log.warn("result.not_kept", { handle, error: messageOf(error) });
      }
    }
    return { ok: false, reason: reasons.join("; ") };
  }

  async #add(entry: Entry): Promise<void> {
    const { result, storage } = entry;
    this.#entries.set(result.handle, entry);
    if (storage === this.#disk) {
      this.#diskBytes += result.bytes;
      this.#note({ kind: "kept", result });
    } else this.#note({ kind: "gone", handle: result.handle }); // in memory: after a restart it is
    await this.#makeRoom(result.handle);
  }

  /** The oldest make room for the newest, which is what somebody is about to ask for. */
  async #makeRoom(newest: string): Promise<void> {
    for (const [handle, { result, storage }] of this.#entries) {
      const isFull = this.#diskBytes > this.#maxBytes || this.#entries.size > TOOL_LIMITS.resultStore.maxResults;
      if (!isFull || handle === newest) return;
      this.#entries.delete(handle);
      this.#gone.add(handle);
      if (storage === this.#disk) {
        this.#diskBytes -= result.bytes;
        this.#note({ kind: "gone", handle });
      }
      await storage.remove(fileName(result));
    }
  }

  /** An index that cannot be written costs finding the result after a restart, not the result. */
  #note(line: IndexLine): void {
    if (this.#folder === undefined) return;
    try {
      this.#index ??= this.#world.files.openAppend(`${this.#folder}/${INDEX}`);
      this.#index.write(writeLine(line));
      if (this.#isClosed) this.#close(); // what was being kept when the session ended
    } catch (error) {
      this.#world.log.error("result.index_lost", { folder: this.#folder, error: messageOf(error) });
    }
  }

  #close(): void {
    this.#isClosed = true;
    this.#index?.close();
    this.#index = undefined;
  }

  #load(): Promise<void> {
    this.#loading ??= this.#readIndex();
    return this.#loading;
  }

  async #readIndex(): Promise<void> {
    const { files, log } = this.#world;
    if (this.#folder === undefined || !this.#disk) return;
    const path = `${this.#folder}/${INDEX}`;
    if (!files.isFile(path)) return;
    try {
      const text = await files.readText(path);
      // After a torn line the next one must not be glued to it.
      if (text !== "" && !text.endsWith("\n")) {
        this.#index = files.openAppend(path);
        this.#index.write("\n");
      }
      for (const line of text.split("\n")) this.#remember(readLine(line), this.#disk);
    } catch (error) {
      log.error("result.index_unreadable", { folder: this.#folder, error: messageOf(error) });
    }
  }

  #remember(line: IndexLine | undefined, storage: ResultStorage): void {
    if (!line) return;
    const handle = line.kind === "kept" ? line.result.handle : line.handle;
    this.#count = Math.max(this.#count, handleNumber(handle));
    if (line.kind === "kept") {
      this.#entries.set(handle, { result: line.result, storage });
      this.#diskBytes += line.result.bytes;
    } else {
      this.#diskBytes -= this.#entries.get(handle)?.result.bytes ?? 0;
      this.#entries.delete(handle);
      this.#gone.add(handle);
    }
  }
}
