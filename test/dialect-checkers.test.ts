// The checkers themselves: each refuses what its provider is known to refuse, and lets its provider's own examples through.
import { describe, expect, test } from "vitest";
import { ACCEPTED } from "./dialect-checkers/accepted.js";
import { anthropicFaults } from "./dialect-checkers/anthropic.js";
import type { Case } from "./dialect-checkers/cases.js";
import { geminiFaults } from "./dialect-checkers/gemini.js";
import { openaiFaults } from "./dialect-checkers/openai.js";
import { openaiCompatibleFaults } from "./dialect-checkers/openai-compatible.js";
import { ANTHROPIC_REFUSALS } from "./dialect-checkers/refusals-anthropic.js";
import { GEMINI_REFUSALS } from "./dialect-checkers/refusals-gemini.js";
import { OPENAI_REFUSALS } from "./dialect-checkers/refusals-openai.js";
import { OPENAI_COMPATIBLE_REFUSALS } from "./dialect-checkers/refusals-openai-compatible.js";
import { lostRequired } from "./dialect-checkers/required.js";

const CHECKERS = {
  anthropic: anthropicFaults,
  openai: openaiFaults,
  gemini: geminiFaults,
  "openai-compatible": openaiCompatibleFaults,
} as const;

const REFUSALS = [...ANTHROPIC_REFUSALS, ...OPENAI_REFUSALS, ...GEMINI_REFUSALS, ...OPENAI_COMPATIBLE_REFUSALS];

function faultsOf({ provider, strict, schema }: Case): string[] {
  return CHECKERS[provider](schema, { strict: strict ?? false });
}

describe("a checker", () => {
  test.each(REFUSALS)("of $provider (strict: $strict) refuses: $says", (refusal) => {
    expect(faultsOf(refusal)).not.toEqual([]);
  });

  test.each(ACCEPTED)("of $provider (strict: $strict) takes: $says", (example) => {
    expect(faultsOf(example)).toEqual([]);
  });
});

describe("the comparison of required fields", () => {
  const raw = {
    type: "object",
    properties: { a: { $ref: "#/$defs/A" }, list: { type: "array", items: { type: "object", required: ["x"] } } },
    required: ["a"],
    $defs: { A: { type: "object", properties: { id: { type: "string" } }, required: ["id"] } },
  };

  test("finds what is missing at the root, behind references and inside lists", () => {
    const compiled = { properties: { a: { properties: { id: {} } }, list: { items: {} } } };
    expect(lostRequired(raw, compiled)).toEqual(["/a", "/a/id", "/list/*/x"]);
  });

  test("is content when all are there, inside forms too", () => {
    const inner = { anyOf: [{ properties: { id: {} }, required: ["id"] }, { type: "null" }] };
    const compiled = { properties: { a: inner, list: { items: { required: ["x"] } } }, required: ["a"] };
    expect(lostRequired(raw, compiled)).toEqual([]);
  });
});
