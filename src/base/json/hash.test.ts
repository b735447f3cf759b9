// The one hash: sha256 of the canonical form.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { hashJson } from "./json.js";

test("the hash is the sha256 of the sorted-key text as UTF-8, in hex", () => {
  const expected = createHash("sha256").update('{"a":1,"b":"é"}', "utf8").digest("hex");
  expect(hashJson({ b: "é", a: 1 })).toBe(expected);
  expect(hashJson({ a: 1, b: "é" })).toBe(expected);
  expect(hashJson({ a: 1, b: "e" })).not.toBe(expected);
});
