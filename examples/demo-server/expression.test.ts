// The calculator computes what mathematics says, and refuses everything else with a reason.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { calculate } from "./expression.js";

interface Sample {
  readonly text: string;
  readonly value: number;
}

/** Expressions with the value computed beside them; brackets are written everywhere, so no precedence is involved. */
const bracketed: fc.Arbitrary<Sample> = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 6 },
    fc.integer({ min: 0, max: 1_000 }).map((value) => ({ text: String(value), value })),
    fc.tuple(tie("sample"), fc.constantFrom("+", "-", "*"), tie("sample")).map(([left, operator, right]) => ({
      text: `(${left.text} ${operator} ${right.text})`,
      value:
        operator === "+"
          ? left.value + right.value
          : operator === "-"
            ? left.value - right.value
            : left.value * right.value,
    })),
    tie("sample").map((inner) => ({ text: `-(${inner.text})`, value: -inner.value })),
  ),
})).sample;

describe("calculate", () => {
  it.each([
    ["2+3*4", 14],
    ["(2+3)*4", 20],
    ["2 - 3 - 4", -5],
    ["100/10/5", 2],
    ["-2^2", -4],
    ["2^3^2", 512],
    ["2**-1", 0.5],
    ["7 % 4", 3],
    ["6 × 7 ÷ 2 − 1", 20],
    [".5 + 1.", 1.5],
    ["1.5e3", 1500],
    ["sqrt(16) + abs(-3)", 7],
    ["max(1, 5, 3) - min(4, 2)", 3],
    ["round(2 * PI)", 6],
    ["  42  ", 42],
  ])("computes %s", (expression, expected) => {
    expect(calculate(expression)).toBe(expected);
  });

  it.each([
    ["", /unexpected the end/],
    ["2 +", /unexpected the end/],
    ["(1", /Expected "\)" but found the end/],
    ["1 2", /unexpected 2 at position 2/],
    ["1 / 0", /Division by zero/],
    ["1 % (2-2)", /Division by zero/],
    ["10^400", /not a finite number/],
    ["sqrt(-1)", /not a finite number/],
    ["process.exit(1)", /unexpected \./],
    ["constructor(1)", /"constructor" is not known here/],
    ["sqrt(1, 2)", /sqrt takes 1 value, got 2/],
    ["sqrt 4", /Expected "\("/],
    ["1; 2", /unexpected ;/],
    [`${"(".repeat(200)}1${")".repeat(200)}`, /nested deeper/],
    [`${"-".repeat(500)}1`, /nested deeper/],
    ["1+".repeat(600), /longer than 1000/],
  ])("refuses %s", (expression, reason) => {
    expect(() => calculate(expression)).toThrow(reason);
  });

  it("agrees with the value of any bracketed expression", () => {
    fc.assert(
      fc.property(bracketed, ({ text, value }) => {
        fc.pre(text.length <= 1_000);
        expect(calculate(text)).toBeCloseTo(value, 6);
      }),
    );
  });

  it("answers any text with a finite number or an Error, and never hangs", () => {
    const arithmeticSoup = fc.string({ unit: fc.constantFrom(..."0123456789.+-*/%^(), episqrt"), maxLength: 60 });
    fc.assert(
      fc.property(fc.oneof(fc.string(), arithmeticSoup), (text) => {
        const outcome = attempt(text);
        if (typeof outcome === "number") expect(outcome).toSatisfy(Number.isFinite);
        else expect(outcome).toMatchObject({ name: "Error", message: expect.stringMatching(/\.$/) });
      }),
    );
  });
});

function attempt(text: string): unknown {
  try {
    return calculate(text);
  } catch (error) {
    return error;
  }
}
