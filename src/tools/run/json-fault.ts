// Where a text stops being JSON, and whether it merely breaks off: what a model needs to write it right the second time.

export interface JsonFault {
  /** Index of the first character that cannot be, or the length of the text when it breaks off. */
  readonly at: number;
  /** The text so far is the beginning of something valid. */
  readonly isCutOff: boolean;
  readonly expected: string;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NUMBER_BEGUN = /^(?:-|\.|[eE][+-]?)$/;
const LITERALS = ["true", "false", "null"] as const;

/**
 * Undefined for valid JSON: it agrees with `JSON.parse`, whose own messages leave the place out now and then. Keeps no stack
 * of calls: models and attackers nest deeper than one.
 */
export function jsonFault(text: string): JsonFault | undefined {
  return new Scanner(text).run();
}

class Scanner {
  readonly #text: string;
  /** Of each open list or object, how it ends. */
  readonly #open: ("]" | "}")[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  run(): JsonFault | undefined {
    let fault = this.#value();
    while (!fault) {
      this.#skipSpace();
      const end = this.#open.at(-1);
      if (end === undefined) return this.#at === this.#text.length ? undefined : this.#fault("the end");
      if (this.#take(end)) this.#open.pop();
      else if (!this.#take(",")) return this.#fault(`a comma or ${end}`);
      else fault = end === "}" ? (this.#key() ?? this.#value()) : this.#value();
    }
    return fault;
  }

  /** A value, and if it is a list or an object, everything up to its first plain value or its end. */
  #value(): JsonFault | undefined {
    for (;;) {
      this.#skipSpace();
      const end = this.#take("[") ? "]" : this.#take("{") ? "}" : undefined;
      if (!end) return this.#text[this.#at] === '"' ? this.#string() : this.#plain();
      this.#skipSpace();
      if (this.#take(end)) return undefined;
      this.#open.push(end);
      const fault = end === "}" ? this.#key("a property name in double quotes or }") : undefined;
      if (fault) return fault;
    }
  }

  #key(expected = "a property name in double quotes"): JsonFault | undefined {
    this.#skipSpace();
    if (this.#text[this.#at] !== '"') return this.#fault(expected);
    const fault = this.#string();
    if (fault) return fault;
    this.#skipSpace();
    return this.#take(":") ? undefined : this.#fault("a colon");
  }

  #string(): JsonFault | undefined {
    for (this.#at += 1; this.#at < this.#text.length; this.#at += 1) {
      if (this.#take('"')) return undefined;
      const code = this.#text.charCodeAt(this.#at);
      if (code < 0x20) return this.#fault("an escape such as \\n instead of a bare control character");
      const fault = code === 0x5c ? this.#escape() : undefined;
      if (fault) return fault;
    }
    return this.#fault("the rest of a text in double quotes");
  }

  /** From the backslash to the last character of the escape. */
  #escape(): JsonFault | undefined {
    this.#at += 1;
    const letter = this.#text[this.#at];
    if (letter === undefined || !'"\\/bfnrtu'.includes(letter))
      return this.#fault('one of "\\/bfnrtu after a backslash');
    if (letter !== "u") return undefined;
    for (let digit = 0; digit < 4; digit++) {
      this.#at += 1;
      if (!/^[0-9a-fA-F]$/.test(this.#text[this.#at] ?? "")) return this.#fault("four hexadecimal digits after \\u");
    }
    return undefined;
  }

  #plain(): JsonFault | undefined {
    NUMBER.lastIndex = this.#at;
    const length = NUMBER.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    const rest = this.#text.slice(this.#at, this.#at + 5);
    if (NUMBER_BEGUN.test(rest) && length > 0 === (rest !== "-")) {
      this.#at = this.#text.length;
      return this.#fault("the rest of a number");
    }
    if (length > 0) return undefined;
    const literal = LITERALS.find((word) => rest !== "" && (rest.startsWith(word) || word.startsWith(rest)));
    if (literal === undefined) return this.#fault("a value");
    this.#at += Math.min(literal.length, rest.length);
    return rest.length < literal.length ? this.#fault(`the rest of ${literal}`) : undefined;
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && " \n\r\t".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #fault(expected: string): JsonFault {
    return { at: this.#at, isCutOff: this.#at >= this.#text.length, expected };
  }
}
