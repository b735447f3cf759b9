// UUIDv7 as RFC 9562 draws it.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { uuidV7 } from "./id.js";

const LAST_MS = 2 ** 48 - 1;
const sixteen = fc.uint8Array({ minLength: 16, maxLength: 16 });
const time = fc.integer({ min: 0, max: LAST_MS });

describe("uuidV7", () => {
  test("matches the example of RFC 9562", () => {
    const random = Uint8Array.from([0, 0, 0, 0, 0, 0, 0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f]);
    expect(uuidV7(0x017f22e279b0, () => random)).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  });

  test("carries the time, the version, the variant and the random bits", () => {
    fc.assert(
      fc.property(time, sixteen, (nowMs, bytes) => {
        const given = Uint8Array.from(bytes);
        const id = uuidV7(nowMs, (count) => given.slice(0, count));
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(nowMs);
        const hex = id.replaceAll("-", "");
        for (const [index, mask] of [
          [6, 0x0f],
          [7, 0xff],
          [8, 0x3f],
          ...[9, 10, 11, 12, 13, 14, 15].map((at) => [at, 0xff] as const),
        ] as const) {
          expect(Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16) & mask).toBe((bytes[index] ?? 0) & mask);
        }
      }),
    );
  });

  test("sorts by age as text", () => {
    fc.assert(
      fc.property(time, time, sixteen, sixteen, (one, other, bytes, otherBytes) => {
        fc.pre(one !== other);
        const first = uuidV7(one, () => bytes);
        const second = uuidV7(other, () => otherBytes);
        expect(first < second).toBe(one < other);
      }),
    );
  });

  test("takes the whole milliseconds of a clock that has fractions", () => {
    const zeros = () => new Uint8Array(16);
    expect(uuidV7(1_700_000_000_000.75, zeros)).toBe(uuidV7(1_700_000_000_000, zeros));
  });
});
