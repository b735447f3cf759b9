// What a keyboard sends in raw mode, as keys: plain characters, control keys, the sequences of function keys, and pasted text in one piece.

export type Key =
  | { readonly kind: "text"; readonly text: string }
  /** `isCut`: it was longer than is taken. */
  | { readonly kind: "paste"; readonly text: string; readonly isCut: boolean }
  /** The window got or lost the keyboard. */
  | { readonly kind: "focus"; readonly isFocused: boolean }
  | {
      readonly kind: "key";
      readonly name: KeyName;
      readonly ctrl: boolean;
      readonly alt: boolean;
      readonly shift: boolean;
    };

/** A letter stands for itself, with Ctrl or Alt. */
export type KeyName = string;

const PASTE_BEGIN = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** What is pasted is bounded: the rest is dropped, and the person is told. */
const MAX_PASTE = 4_194_304;
const LONE_CTRL_C: ReadonlySet<string> = new Set(["\u0003", "\u001b[99;5u", "\u001b[27;5;99~"]);
/** No key sends more. */
const MAX_SEQUENCE = 64;

const FINALS: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  P: "f1",
  Q: "f2",
  R: "f3",
  S: "f4",
  Z: "backtab",
};
const TILDES: Readonly<Record<string, KeyName>> = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "pageup",
  6: "pagedown",
  7: "home",
  8: "end",
};
const CODES: Readonly<Record<number, KeyName>> = {
  8: "backspace",
  9: "tab",
  13: "enter",
  27: "escape",
  127: "backspace",
  57414: "enter",
};

/** Pieces of input may end anywhere: what is incomplete waits for more, or for `flush`. */
export class KeyDecoder {
  #rest = "";
  #paste: string | undefined;
  #isCut = false;

  /** An escape character came that may be a key of its own: call `flush` if nothing follows within a moment. */
  get isWaiting(): boolean {
    return this.#paste === undefined && this.#rest !== "";
  }

  /** A paste has begun and is not over: call `flush` if nothing follows for long. */
  get isPasting(): boolean {
    return this.#paste !== undefined;
  }

  push(chunk: string): Key[] {
    // Alone it was pressed, not pasted: whoever is in a paste that never ends must be able to stop.
    if (this.isPasting && LONE_CTRL_C.has(chunk)) return [...this.#endPaste(), key("c", { ctrl: true })];
    const keys: Key[] = [];
    this.#rest += chunk;
    while (this.#rest !== "") {
      if (this.#paste !== undefined) {
        if (!this.#takePaste(keys)) return keys;
        continue;
      }
      const length = this.#take(keys);
      if (length === 0) return keys;
      this.#rest = this.#rest.slice(length);
    }
    return keys;
  }

  /** Nothing followed: what is there is all there is. */
  flush(): Key[] {
    if (this.isPasting) return this.#endPaste();
    if (!this.isWaiting) return [];
    const rest = this.#rest;
    this.#rest = "";
    const more = rest.slice(1);
    return [key("escape"), ...(more === "" ? [] : this.push(more))];
  }

  /** Forgets what is not whole. */
  reset(): void {
    this.#rest = "";
    this.#paste = undefined;
    this.#isCut = false;
  }

  #endPaste(): Key[] {
    const text = (this.#paste ?? "") + this.#rest;
    const isCut = this.#isCut;
    this.reset();
    return text === "" ? [] : [pasted(text, isCut)];
  }

  /** False when more must come. */
  #takePaste(keys: Key[]): boolean {
    const end = this.#rest.indexOf(PASTE_END);
    const isOver = end >= 0;
    // The end may be cut in two: its beginning stays.
    const upTo = isOver ? end : Math.max(0, this.#rest.length - PASTE_END.length + 1);
    const room = MAX_PASTE - (this.#paste?.length ?? 0);
    this.#isCut ||= upTo > room;
    this.#paste = (this.#paste ?? "") + this.#rest.slice(0, Math.min(upTo, room));
    this.#rest = this.#rest.slice(isOver ? end + PASTE_END.length : upTo);
    if (!isOver) return false;
    keys.push(pasted(this.#paste, this.#isCut));
    [this.#paste, this.#isCut] = [undefined, false];
    return true;
  }

  /** Takes one key from the beginning; returns its length, 0 when it is not whole. */
  #take(keys: Key[]): number {
    const rest = this.#rest;
    if (rest.startsWith(PASTE_BEGIN)) {
      this.#paste = "";
      return PASTE_BEGIN.length;
    }
    if (rest.startsWith("\u001b")) return this.#takeEscape(keys);
    const code = rest.charCodeAt(0);
    if (code < 0x20 || code === 0x7f) {
      keys.push(controlKey(code));
      return 1;
    }
    const [text = ""] = /^[^\u0000-\u001f\u007f]+/u.exec(rest) ?? [];
    keys.push({ kind: "text", text });
    return Math.max(1, text.length);
  }

  #takeEscape(keys: Key[]): number {
    const rest = this.#rest;
    const second = rest.charAt(1);
    if (second === "") return 0;
    if (second === "[") {
      const [whole, body = "", final = ""] = /^\u001b\[([0-9:;<=>?]*)([\x20-\x2f]*[\x40-\x7e])/u.exec(rest) ?? [];
      if (whole === undefined)
        return rest.length > MAX_SEQUENCE || /^\u001b\[[0-9:;<=>?]*[^\x20-\x7e]/u.test(rest) ? 1 : 0;
      const found = sequenceKey(body, final);
      if (found) keys.push(found);
      return whole.length;
    }
    if (second === "O") {
      const third = rest.charAt(2);
      if (third === "") return 0;
      const name = FINALS[third];
      if (name !== undefined) keys.push(key(name));
      return 3;
    }
    if (second === "]" || second === "P" || second === "_" || second === "^") {
      const end = /\u0007|\u001b\\/u.exec(rest.slice(2));
      if (!end) return rest.length > MAX_SEQUENCE ? 1 : 0;
      return 2 + end.index + end[0].length; // an answer of the terminal to a question nobody asked
    }
    if (second === "\u001b") {
      keys.push(key("escape"));
      return 1;
    }
    const code = second.charCodeAt(0);
    if (code < 0x20 || code === 0x7f) keys.push({ ...controlKey(code), alt: true });
    else keys.push(key(second.toLowerCase(), { alt: true, shift: second !== second.toLowerCase() }));
    return 2;
  }
}

interface Modifiers {
  readonly ctrl?: boolean;
  readonly alt?: boolean;
  readonly shift?: boolean;
}

function key(
  name: KeyName,
  { ctrl = false, alt = false, shift = false }: Modifiers = {},
): Extract<Key, { kind: "key" }> {
  return { kind: "key", name, ctrl, alt, shift };
}

function pasted(text: string, isCut: boolean): Key {
  return { kind: "paste", text: text.replaceAll(/\r\n?/gu, "\n"), isCut };
}

function controlKey(code: number): Extract<Key, { kind: "key" }> {
  if (code === 0x0d) return key("enter");
  if (code === 0x0a) return key("j", { ctrl: true });
  if (code === 0x09) return key("tab");
  if (code === 0x7f || code === 0x08) return key("backspace");
  if (code === 0x1f) return key("_", { ctrl: true });
  return key(String.fromCharCode(code + 0x60), { ctrl: true });
}

function sequenceKey(body: string, final: string): Key | undefined {
  if (body === "" && (final === "I" || final === "O")) return { kind: "focus", isFocused: final === "I" };
  const [first = "", second = ""] = body.split(";");
  const modifiers = modifiersOf(second);
  if (final === "u") return codeKey(Number(first.split(":")[0]), modifiers);
  if (final === "~") {
    // xterm's modifyOtherKeys: 27;modifiers;code
    if (first === "27") return codeKey(Number(body.split(";")[2]), modifiers);
    const name = TILDES[first];
    return name === undefined ? undefined : key(name, modifiers);
  }
  const name = FINALS[final];
  return name === undefined ? undefined : key(name, modifiers);
}

function codeKey(code: number, modifiers: Modifiers): Key | undefined {
  const name = CODES[code];
  if (name !== undefined) return name === "tab" && modifiers.shift ? key("backtab") : key(name, modifiers);
  if (!Number.isInteger(code) || code < 0x20 || code > 0x10ffff || (code >= 0xe000 && code < 0xf900)) return undefined;
  const character = String.fromCodePoint(code);
  if (modifiers.ctrl || modifiers.alt) return key(character.toLowerCase(), modifiers);
  return { kind: "text", text: modifiers.shift ? character.toUpperCase() : character };
}

/** 1 and a bit each: shift, alt, ctrl. */
function modifiersOf(text: string): Modifiers {
  const bits = Math.max(0, Number(text.split(":")[0] || "1") - 1);
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 };
}
