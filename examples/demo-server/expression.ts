// Arithmetic as people type it, computed by a small recursive-descent parser: nothing is ever evaluated as code.

const MAX_LENGTH = 1_000;
/** Deep enough for anything typed by hand, far below what would overflow the stack. */
const MAX_DEPTH = 100;

const CONSTANTS: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);

interface MathFunction {
  readonly arity: number | "any";
  readonly apply: (values: readonly number[]) => number;
}

const FUNCTIONS: ReadonlyMap<string, MathFunction> = new Map([
  unary("sqrt", Math.sqrt),
  unary("abs", Math.abs),
  unary("round", Math.round),
  unary("floor", Math.floor),
  unary("ceil", Math.ceil),
  unary("sin", Math.sin),
  unary("cos", Math.cos),
  unary("tan", Math.tan),
  unary("ln", Math.log),
  unary("log", Math.log10),
  ["min", { arity: "any", apply: (values) => Math.min(...values) }],
  ["max", { arity: "any", apply: (values) => Math.max(...values) }],
]);

type Token = { readonly kind: "number"; readonly value: number; readonly at: number } | SymbolToken;
interface SymbolToken {
  readonly kind: "word" | "symbol" | "end";
  readonly text: string;
  readonly at: number;
}

/** Computes `expression`. Throws an Error that names the place when it is not arithmetic. */
export function calculate(expression: string): number {
  if (expression.length > MAX_LENGTH) throw new Error(`The expression is longer than ${MAX_LENGTH} characters.`);
  const value = new Parser(tokenize(expression)).parse();
  if (!Number.isFinite(value)) throw new Error("The result is not a finite number.");
  return value;
}

function unary(name: string, compute: (value: number) => number): [string, MathFunction] {
  return [name, { arity: 1, apply: ([value = Number.NaN]) => compute(value) }];
}

const TOKEN =
  /\s*(?:(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<word>[a-zA-Z]+)|(?<symbol>\*\*|[-+*/%^(),×÷−]))/y;
const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ["×", "*"],
  ["÷", "/"],
  ["−", "-"],
  ["**", "^"],
]);

function tokenize(expression: string): Token[] {
  const tokens: Token[] = [];
  const end = expression.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex;
    const groups = TOKEN.exec(expression)?.groups;
    if (!groups) throw unexpected(expression.slice(from).trim().slice(0, 1), from);
    if (groups.number !== undefined) tokens.push({ kind: "number", value: Number(groups.number), at: from });
    else if (groups.word !== undefined) tokens.push({ kind: "word", text: groups.word.toLowerCase(), at: from });
    else if (groups.symbol !== undefined) {
      tokens.push({ kind: "symbol", text: SPELLINGS.get(groups.symbol) ?? groups.symbol, at: from });
    }
  }
  tokens.push({ kind: "end", text: "the end", at: end });
  return tokens;
}

class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): number {
    const value = this.#sum();
    const rest = this.#peek();
    if (rest.kind !== "end") throw unexpected(describe(rest), rest.at);
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value += this.#product();
      else if (this.#take("-")) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take("*")) value *= this.#signed();
      else if (this.#take("/")) value /= this.#divisor();
      else if (this.#take("%")) value %= this.#divisor();
      else return value;
    }
  }

  #divisor(): number {
    const value = this.#signed();
    if (value === 0) throw new Error("Division by zero.");
    return value;
  }

  /** A sign binds looser than a power: -2^2 is -4, as in mathematics. */
  #signed(): number {
    if (this.#take("-")) return -this.#deeper(() => this.#signed());
    if (this.#take("+")) return this.#deeper(() => this.#signed());
    return this.#power();
  }

  /** Powers group to the right, and the exponent may carry a sign: 2^-1, 2^3^2. */
  #power(): number {
    const base = this.#atom();
    return this.#take("^") ? base ** this.#deeper(() => this.#signed()) : base;
  }

  #atom(): number {
    const token = this.#next();
    if (token.kind === "number") return token.value;
    if (token.kind === "word") return this.#word(token);
    if (token.text !== "(") throw unexpected(describe(token), token.at);
    const value = this.#deeper(() => this.#sum());
    this.#expect(")");
    return value;
  }

  #word(word: SymbolToken): number {
    const constant = CONSTANTS.get(word.text);
    if (constant !== undefined) return constant;
    const called = FUNCTIONS.get(word.text);
    if (!called) {
      const known = [...FUNCTIONS.keys(), ...CONSTANTS.keys()].join(", ");
      throw new Error(`"${word.text}" is not known here. Known: ${known}.`);
    }
    this.#expect("(");
    const values = [this.#deeper(() => this.#sum())];
    while (this.#take(",")) values.push(this.#deeper(() => this.#sum()));
    this.#expect(")");
    if (called.arity !== "any" && values.length !== called.arity) {
      throw new Error(`${word.text} takes ${called.arity} value, got ${values.length}.`);
    }
    return called.apply(values);
  }

  #deeper(parse: () => number): number {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new Error(`The expression is nested deeper than ${MAX_DEPTH} levels.`);
    const value = parse();
    this.#depth -= 1;
    return value;
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? { kind: "end", text: "the end", at: 0 };
  }

  #next(): Token {
    const token = this.#peek();
    this.#position += 1;
    return token;
  }

  #take(symbol: string): boolean {
    const token = this.#peek();
    const isMatch = token.kind === "symbol" && token.text === symbol;
    if (isMatch) this.#position += 1;
    return isMatch;
  }

  #expect(symbol: string): void {
    const token = this.#next();
    if (token.kind !== "symbol" || token.text !== symbol) {
      throw new Error(`Expected "${symbol}" but found ${describe(token)} at position ${token.at + 1}.`);
    }
  }
}

function describe(token: Token): string {
  return token.kind === "end" ? token.text : token.kind === "number" ? String(token.value) : `"${token.text}"`;
}

function unexpected(found: string, at: number): Error {
  return new Error(`This is not arithmetic: unexpected ${found} at position ${at + 1}.`);
}
