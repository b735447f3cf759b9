// The long parts of a message while it is taken apart: in memory up to a limit, in private files beyond it.
import type * as fs from "node:fs";

export type PartForm = "text" | "base64" | "json";

/** Bytes that grow, and can be cut back. */
export class Bytes {
  #held: Uint8Array = new Uint8Array(1_024);
  length = 0;

  append(bytes: Uint8Array): void {
    const needed = this.length + bytes.length;
    if (needed > this.#held.length) {
      const grown = new Uint8Array(Math.max(needed, this.#held.length * 2));
      grown.set(this.#held.subarray(0, this.length));
      this.#held = grown;
    }
    this.#held.set(bytes, this.length);
    this.length = needed;
  }

  /** Valid until the next `append`. */
  from(start: number): Uint8Array {
    return this.#held.subarray(start, this.length);
  }

  cut(length: number): void {
    this.length = length;
  }
}

/** Turns the inside of a JSON string, cut anywhere, into text. Throws when it is not one. */
class Unescaper {
  readonly #decoder: InstanceType<typeof TextDecoder> = new TextDecoder("utf-8", { ignoreBOM: true });
  #held = "";
  /** Whether the next bytes belong to what came before them. */
  isHolding = false;

  write(bytes: Uint8Array, isLast: boolean): string {
    const last = bytes.at(-1) ?? 0;
    const raw = this.#held + this.#decoder.decode(bytes, { stream: !isLast });
    const cut = isLast ? raw.length : this.#safeEnd(raw);
    this.#held = raw.slice(cut);
    this.isHolding = this.#held !== "" || last > 0x7f;
    const text: unknown = JSON.parse(`"${raw.slice(0, cut)}"`);
    return String(text);
  }

  /** Before an escape that is not complete, and before the first half of a pair of escapes that make one character. */
  #safeEnd(raw: string): number {
    const last = raw.slice(-12);
    const start = raw.length - last.length;
    for (const pattern of [
      /\\(?:u[0-9a-fA-F]{0,3})?$/,
      /\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$/,
    ]) {
      const at = last.search(pattern);
      if (at !== -1 && this.#isEscape(raw, start + at)) return this.#safeEnd(raw.slice(0, start + at));
    }
    return raw.length;
  }

  /** A backslash begins an escape unless it is the second of a pair; what is held always begins outside of one. */
  #isEscape(raw: string, at: number): boolean {
    let first = at;
    while (first > 0 && raw[first - 1] === "\\") first--;
    return (at - first) % 2 === 0;
  }
}

interface Part {
  readonly form: PartForm;
  readonly unescaper: Unescaper;
  /** Text not in a file yet. */
  texts: string[];
  /** base64 characters that do not make whole bytes yet. */
  odd: string;
  file: number;
  isClosed: boolean;
  path: string;
  bytes: number;
  /** Copies of its first bytes. */
  readonly preview: Uint8Array[];
}

const NEW_PART = { odd: "", file: -1, isClosed: false, path: "", bytes: 0 };

/** The result of a part: its text, or the file it is in. */
export type PartFacts =
  | { readonly text: string }
  | { readonly path: string; readonly bytes: number; readonly form: PartForm; readonly preview: string };

export type SplitterFiles = Pick<typeof fs, "openSync" | "writeSync" | "closeSync" | "mkdirSync">;

export interface PartSettings {
  /** Created with the first file in it. */
  readonly folder: string;
  readonly previewBytes: number;
}

/** `text` and `base64` are written as they stand in the JSON text, escapes and all, cut anywhere. */
export class PartStore {
  readonly #settings: PartSettings;
  readonly #files: SplitterFiles;
  readonly #parts: Part[] = [];
  #isSpilling = false;

  constructor(settings: PartSettings, files: SplitterFiles) {
    this.#settings = settings;
    this.#files = files;
  }

  /** From now on everything goes to files, also what was kept in memory so far. */
  spill(): void {
    if (this.#isSpilling) return;
    this.#isSpilling = true;
    for (const part of this.#parts) this.#toFile(part);
  }

  open(form: PartForm): number {
    const unescaper = new Unescaper();
    return this.#parts.push({ ...NEW_PART, form, unescaper, texts: [], preview: [] }) - 1;
  }

  write(index: number, bytes: Uint8Array): void {
    const part = this.#parts[index];
    if (!part) return;
    // Text without escapes is in the file what it is in the message: nothing to decode.
    const isPlain = part.form === "text" && this.#isSpilling && !part.unescaper.isHolding && !bytes.includes(0x5c);
    if (part.form === "json" || isPlain) this.#storeBytes(part, bytes);
    else this.#keep(part, part.unescaper.write(bytes, false));
  }

  close(index: number): void {
    const part = this.#parts[index];
    if (!part) return;
    if (part.form !== "json") this.#keep(part, part.unescaper.write(new Uint8Array(0), true));
    part.isClosed = true;
    this.#closeFile(part);
  }

  /** Puts a closed part into a file, if it is not in one. */
  pathOf(index: number): string {
    const part = this.#parts[index];
    if (part) this.#toFile(part);
    return part?.path ?? "";
  }

  /** After everything is closed. */
  facts(): PartFacts[] {
    return this.#parts.map(({ texts, path, bytes, form, preview }) =>
      path === "" ? { text: texts.join("") } : { path, bytes, form, preview: startOf(preview) },
    );
  }

  #toFile(part: Part): void {
    const { texts } = part;
    part.texts = [];
    for (const text of texts) this.#store(part, text);
    if (part.isClosed) this.#closeFile(part);
  }

  #keep(part: Part, text: string): void {
    if (text === "") return;
    if (this.#isSpilling) this.#store(part, text);
    else part.texts.push(text);
  }

  #store(part: Part, text: string): void {
    if (part.form === "text") return this.#storeBytes(part, Buffer.from(text));
    const all = part.odd + text;
    const whole = all.length - (all.length % 4);
    part.odd = all.slice(whole);
    this.#storeBytes(part, Buffer.from(all.slice(0, whole), "base64"));
  }

  #closeFile(part: Part): void {
    if (part.odd !== "") this.#storeBytes(part, Buffer.from(part.odd, "base64"));
    part.odd = "";
    if (part.file !== -1) this.#files.closeSync(part.file);
    part.file = -1;
  }

  #storeBytes(part: Part, bytes: Uint8Array): void {
    const { folder, previewBytes } = this.#settings;
    if (part.path === "") {
      this.#files.mkdirSync(folder, { recursive: true, mode: 0o700 });
      part.path = `${folder}/${this.#parts.indexOf(part)}`;
      part.file = this.#files.openSync(part.path, "wx", 0o600);
    }
    if (part.form !== "base64" && part.bytes < previewBytes) {
      part.preview.push(bytes.slice(0, previewBytes - part.bytes));
    }
    part.bytes += bytes.length;
    for (let done = 0; done < bytes.length; ) done += this.#files.writeSync(part.file, bytes, done);
  }
}

/** Without the last character where only a part of it is there. */
function startOf(preview: readonly Uint8Array[]): string {
  return new TextDecoder().decode(Buffer.concat(preview), { stream: true });
}
