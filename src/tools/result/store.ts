// The results a session keeps: whole texts, values and files behind handles, found again after a restart.

import { Pace } from "../../base/async/pace.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue, measure, parseObject } from "../../base/json/json.js";
import type { AppendFile, Files, World } from "../../base/ports/world.js";
import type { SpilledBlock } from "../../base/text/content.js";
import { TOOL_LIMITS } from "../limits.js";

export interface ResultStoreOptions {
  readonly world: World;
  /** `<state>/sessions/<id>.results`, made when the first result is kept. Without one results are kept in memory. */
  readonly folder?: string;
  /** In place of the folder. */
  readonly kept?: KeptResults;
  readonly maxBytes?: number;
  readonly maxMemoryBytes?: number;
}

export type KeepFacts = Pick<KeptResult, "origin" | "mimeType" | "uri">;

export type Kept =
  | { readonly ok: true; readonly result: KeptResult }
  /** In words that go on after "it could not be kept:". */
  | { readonly ok: false; readonly reason: string };

/**
 * What it promises: a handle never means another result, also after a restart; what was kept reads back as it came, byte
 * for byte of its UTF-8. What it does not: to keep for ever. Beyond its bounds the oldest go, and their handles say so.
 */
export class ResultStore implements AsyncDisposable {
  readonly world: World;
  readonly #maxBytes: number;
  readonly #kept: KeptResults | undefined;
  readonly #memory: ResultStorage;
  readonly #entries = new Map<string, { readonly result: KeptResult; readonly storage: ResultStorage }>();
  readonly #gone = new Set<string>();
  #keptBytes = 0;
  #count = 0;
  #loading: Promise<void> | undefined;
  #isClosed = false;

  constructor({ world, folder, kept, maxBytes, maxMemoryBytes }: ResultStoreOptions) {
    this.world = world;
    this.#maxBytes = maxBytes ?? TOOL_LIMITS.resultStore.maxBytes;
    this.#kept = kept ?? (folder === undefined ? undefined : resultsInFolder(world.files, folder));
    this.#memory = memoryStorage(world, maxMemoryBytes ?? TOOL_LIMITS.resultStore.maxMemoryBytes);
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
    return await this.#keepPieces("text", facts, () => parted(texts));
  }

  async keepJson(value: JsonValue, facts: KeepFacts): Promise<Kept> {
    return await this.#keepPieces("json", facts, () => jsonTokens(value));
  }

  async keepBase64(data: string, facts: KeepFacts): Promise<Kept> {
    return await this.#keepPieces("base64", facts, () => parted([data]));
  }

  /** Takes over what a server sent that was too long for memory: the file itself goes with the connection. */
  async keepSpilled(block: SpilledBlock, facts: KeepFacts): Promise<Kept> {
    const { bytes, path, kind } = block;
    const form = kind === "structured" ? "json" : block.preview === "" ? "bytes" : "text";
    if (bytes > this.#maxBytes) return { ok: false, reason: tooLarge(this.#maxBytes) };
    return await this.#keep(form, facts, (storage, name) => storage.adopt(name, path).then(() => ({ bytes })));
  }

  /** Rejects when the result is not there (any more): `find` says so before. */
  async read(handle: string, range: ByteRange): Promise<Uint8Array> {
    await this.#load();
    const entry = this.#entries.get(handle);
    if (!entry) throw new Error(`there is no result ${handle}`);
    return await entry.storage.read(fileName(entry.result), range);
  }

  /** Lets go of what is open and in memory. What outlives the process stays: the session may be loaded again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#kept?.close();
    for (const { result, storage } of this.#entries.values()) {
      if (storage === this.#memory) await storage.remove(fileName(result));
    }
  }

  async #keepPieces(form: KeptForm, facts: KeepFacts, pieces: () => Iterable<string>): Promise<Kept> {
    return await this.#keep(form, facts, async (storage, name) => {
      const size = { bytes: 0, lines: 1 };
      const chars = form === "json" ? TOOL_LIMITS.resultJsonPieceChars : TOOL_LIMITS.resultPieceBytes;
      await storage.write(name, counted(encoded(pieces(), chars), size, this.#maxBytes));
      return form === "base64" ? { bytes: size.bytes } : size;
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
    for (const storage of this.#kept ? [this.#kept, this.#memory] : [this.#memory]) {
      try {
        const size = await put(storage, fileName({ handle, form }));
        const result: KeptResult = { handle, form, ...size, origin, ...defined({ mimeType, uri }) };
        this.#entries.set(handle, { result, storage });
        const isLasting = storage === this.#kept;
        if (isLasting) this.#keptBytes += result.bytes;
        await this.#note(isLasting ? result : { handle, gone: true }); // in memory: after a restart it is
        await this.#makeRoom(handle);
        return { ok: true, result };
      } catch (error) {
        reasons.push(messageOf(error));
        this.world.log.warn("result.not_kept", { handle, error: messageOf(error) });
      }
    }
    return { ok: false, reason: reasons.join("; ") };
  }

  /** The oldest make room for the newest, which will be read next. */
  async #makeRoom(newest: string): Promise<void> {
    for (const [handle, { result, storage }] of this.#entries) {
      const isFull = this.#keptBytes > this.#maxBytes || this.#entries.size > TOOL_LIMITS.resultStore.maxResults;
      if (!isFull || handle === newest) return;
      this.#entries.delete(handle);
      this.#gone.add(handle);
      if (storage === this.#kept) {
        this.#keptBytes -= result.bytes;
        await this.#note({ handle, gone: true });
      }
      await storage.remove(fileName(result));
    }
  }

  /** An index that cannot be written costs finding the result after a restart, not the result. */
  async #note(line: IndexLine): Promise<void> {
    if (!this.#kept) return;
    try {
      await this.#kept.note(JSON.stringify(line));
      if (this.#isClosed) this.#kept.close(); // what was being kept when the session ended
    } catch (error) {
      this.world.log.error("result.index_lost", { place: this.#kept.place, error: messageOf(error) });
    }
  }

  #load(): Promise<void> {
    return (this.#loading ??= this.#readIndex());
  }

  async #readIndex(): Promise<void> {
    const kept = this.#kept;
    if (!kept) return;
    try {
      const lines = await kept.index();
      for (const line of lines.flatMap((one) => readLine(one) ?? [])) this.#remember(line, kept);
    } catch (error) {
      this.world.log.error("result.index_unreadable", { place: kept.place, error: messageOf(error) });
    }
  }

  #remember(line: IndexLine, storage: ResultStorage): void {
    const { handle } = line;
    this.#count = Math.max(this.#count, Number(handle.slice(1)));
    if ("gone" in line) {
      this.#keptBytes -= this.#entries.get(handle)?.result.bytes ?? 0;
      this.#entries.delete(handle);
      this.#gone.add(handle);
    } else {
      this.#entries.set(handle, { result: line, storage });
      this.#keptBytes += line.bytes;
    }
  }
}

export type ByteRange = Readonly<Record<"start" | "length", number>>;

/** Rejects when something cannot be written or is not there. */
interface ResultStorage {
  write(name: string, parts: Iterable<Uint8Array>): Promise<void>;
  /** Takes over a file that may vanish afterwards. */
  adopt(name: string, path: string): Promise<void>;
  /** Fewer bytes than asked for only at the end. */
  read(name: string, range: ByteRange): Promise<Uint8Array>;
  remove(name: string): Promise<void>;
}

/** Results of one session that outlive the process, with an index: one line for each that was kept or had to go. */
export interface KeptResults extends ResultStorage {
  /** For logs. */
  readonly place: string;
  /** The lines so far, the oldest first; one that a crash tore may be among them. */
  index(): Promise<readonly string[]>;
  /** Adds a line to the index. */
  note(line: string): Promise<void>;
  /** Lets go of what is open. Another line opens it again. */
  close(): void;
}

function resultsInFolder(files: Files, folder: string): KeptResults {
  const pathOf = (name: string) => `${folder}/${name}`;
  const indexPath = pathOf("index.ndjson");
  let open: AppendFile | undefined;
  const append = (text: string) => {
    open ??= files.openAppend(indexPath);
    open.write(text);
  };
  return {
    place: folder,
    index: async () => {
      if (!files.isFile(indexPath)) return [];
      const text = await files.readText(indexPath);
      // After a torn line the next one must not be glued to it.
      if (text !== "" && !text.endsWith("\n")) append("\n");
      return text.split("\n");
    },
    note: async (line) => append(`${line}\n`),
    close: () => {
      open?.close();
      open = undefined;
    },
    write: (name, parts) => files.writeParts(pathOf(name), parts),
    adopt: (name, path) => files.adopt(path, pathOf(name)),
    read: (name, range) => files.readBytes(pathOf(name), range),
    remove: (name) => files.remove(pathOf(name)),
  };
}

/** For embedders without a state folder, and for disks that are full: it holds no more than `maxBytes`. */
function memoryStorage(world: World, maxBytes: number): ResultStorage {
  const { files } = world;
  const pace = Pace.of(world);
  const held = new Map<string, Uint8Array>();
  let total = 0;
  const drop = (name: string) => {
    total -= held.get(name)?.length ?? 0;
    held.delete(name);
  };
  const tooMuch = () => new TenonError("internal", `it is over the ${maxBytes} bytes that are kept in memory`);
  const write = async (name: string, parts: Iterable<Uint8Array>) => {
    const kept: Uint8Array[] = [];
    let bytes = 0;
    const iterator = parts[Symbol.iterator]();
    const next = () => pace.run(() => iterator.next());
    for (let step = await next(); !step.done; step = await next()) {
      bytes += step.value.length;
      if (bytes > maxBytes) throw tooMuch();
      kept.push(step.value);
    }
    drop(name);
    // The oldest go first: reading one of them says that it is gone.
    for (const oldest of held.keys()) if (total + bytes > maxBytes) drop(oldest);
    held.set(name, kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept));
    total += bytes;
  };
  return {
    write,
    adopt: async (name, path) => {
      const found = await files.find(path);
      if (!found || found.bytes > maxBytes) throw tooMuch();
      await write(name, [await files.readBytes(path, { start: 0, length: found.bytes })]);
    },
    read: async (name, { start, length }) => {
      const bytes = held.get(name);
      if (!bytes) throw new TenonError("internal", `${name} is not kept any more`);
      return bytes.subarray(start, start + length);
    },
    remove: async (name) => drop(name),
  };
}

function tooLarge(maxBytes: number): string {
  return `it is over the ${maxBytes} bytes that a session keeps`;
}

const NEWLINE = 0x0a;

/** Counts bytes and lines in passing. */
function* counted(
  parts: Iterable<Uint8Array>,
  size: { bytes: number; lines: number },
  maxBytes: number,
): Generator<Uint8Array, void, void> {
  for (const part of parts) {
    size.bytes += part.length;
    if (size.bytes > maxBytes) throw new Error(tooLarge(maxBytes));
    for (const byte of part) if (byte === NEWLINE) size.lines += 1;
    yield part;
  }
}

/** Texts one below the other. */
function* parted(texts: readonly string[]): Generator<string, void, void> {
  for (const [index, text] of texts.entries()) {
    if (index > 0) yield "\n";
    yield* textParts(text, TOOL_LIMITS.resultPieceBytes);
  }
}

/** Short pieces go together: a thousand small blocks are no thousand writes. */
function* encoded(pieces: Iterable<string>, pieceChars: number): Generator<Uint8Array, void, void> {
  let held = "";
  for (const piece of pieces) {
    held += piece;
    if (held.length < pieceChars) continue;
    yield Buffer.from(held);
    held = "";
  }
  if (held !== "") yield Buffer.from(held);
}

/** `json`: the text is JSON. `base64`: the text stands for bytes. `bytes`: the bytes themselves. */
type KeptForm = "text" | "json" | "base64" | "bytes";

export interface KeptResult {
  /** `r<n>`, counted in its session. */
  readonly handle: string;
  readonly form: KeptForm;
  /** Size of what is kept: of `base64` the text, not what it stands for. */
  readonly bytes: number;
  /** Not counted for files that were taken over. */
  readonly lines?: number;
  /** `server / tool`. */
  readonly origin: string;
  readonly mimeType?: string;
  /** Of a resource. */
  readonly uri?: string;
}

export function isHandle(text: string): boolean {
  return /^r[1-9]\d{0,8}$/.test(text);
}

const ENDINGS = { text: "txt", json: "json", base64: "b64", bytes: "bin" } as const satisfies Record<KeptForm, string>;

/** Made from the handle, never read from the index: nothing that is written there leads out of the folder. */
function fileName({ handle, form }: Pick<KeptResult, "handle" | "form">): string {
  return `${handle}.${ENDINGS[form]}`;
}

/** One line of the index. A result that had to make room gets a second line that says so. */
type IndexLine = KeptResult | { readonly handle: string; readonly gone: true };

/** Undefined for a line that a crash tore, and for anything else that was not written here. */
function readLine(text: string): IndexLine | undefined {
  const parsed = parseObject(text);
  if (!parsed) return undefined;
  const { handle, form, bytes, lines, origin, mimeType, uri, gone } = parsed;
  if (typeof handle !== "string" || !isHandle(handle)) return undefined;
  if (gone === true) return { handle, gone };
  const isForm = (value: unknown): value is KeptForm => typeof value === "string" && Object.hasOwn(ENDINGS, value);
  if (!isForm(form) || typeof bytes !== "number" || typeof origin !== "string") return undefined;
  const known = defined({
    lines: typeof lines === "number" ? lines : undefined,
    mimeType: typeof mimeType === "string" ? mimeType : undefined,
    uri: typeof uri === "string" ? uri : undefined,
  });
  return { handle, form, bytes, origin, ...known };
}

interface Frame {
  readonly keys?: readonly string[];
  readonly values: readonly (JsonValue | undefined)[];
  at: number;
}

/** A text inside the value that is longer is cut into parts of this many characters. */
const STRING_CHARS = 65_536;

/** Up to this a value is written down in one go: token by token costs several times as much. */
const SMALL_JSON = { maxNodes: 500, maxBytes: 16_384, maxDepth: 30 } as const;

/** The start of the value's JSON, and whether that is all of it. */
export function jsonStart(value: JsonValue, maxChars: number): { readonly text: string; readonly isWhole: boolean } {
  const small = measure(value, SMALL_JSON).over === undefined ? JSON.stringify(value) : undefined;
  if (small !== undefined) return { text: small.slice(0, maxChars), isWhole: small.length <= maxChars };
  let text = "";
  for (const token of jsonTokens(value)) {
    text += token;
    if (text.length > maxChars) return { text: text.slice(0, maxChars), isWhole: false };
  }
  return { text, isWhole: true };
}

/**
 * The text `JSON.stringify` gives, token by token. Keeps no stack of calls, so no value is too deep; keys without a value are
 * left out.
 */
export function* jsonTokens(value: JsonValue): Generator<string, void, void> {
  const frames: Frame[] = [];
  let current: JsonValue = value;
  for (;;) {
    if (typeof current === "string") yield* stringTokens(current);
    else if (typeof current !== "object" || current === null) yield JSON.stringify(current);
    else {
      const frame = frameOf(current);
      yield frame.keys ? "{" : "[";
      frames.push(frame);
    }
    let frame = frames.at(-1);
    while (frame && frame.at === frame.values.length) {
      yield frame.keys ? "}" : "]";
      frames.pop();
      frame = frames.at(-1);
    }
    if (!frame) return;
    const comma = frame.at > 0 ? "," : "";
    const key = frame.keys?.[frame.at];
    yield key === undefined ? comma : `${comma}${JSON.stringify(key)}:`;
    current = frame.values[frame.at] ?? null;
    frame.at += 1;
  }
}

function frameOf(value: readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined }): Frame {
  if (!isJsonObject(value)) return { values: value, at: 0 };
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return { keys, values: keys.map((key) => value[key]), at: 0 };
}

function* stringTokens(text: string): Generator<string, void, void> {
  if (text.length <= STRING_CHARS) {
    yield JSON.stringify(text);
    return;
  }
  yield '"';
  for (const part of textParts(text, STRING_CHARS)) yield JSON.stringify(part).slice(1, -1);
  yield '"';
}

/** A text in parts of about `chars`, none of which ends within a character. */
export function* textParts(text: string, chars: number): Generator<string, void, void> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + chars);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] ?? "")) end += 1;
    yield text.slice(start, end);
    start = end;
  }
}
