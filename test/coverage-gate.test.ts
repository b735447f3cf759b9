// The coverage gate: every requirement that is not deferred is cited by a scenario, and nothing else is cited.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { citationsIn } from "./citations.js";
import { REQUIREMENTS } from "./requirements.js";

const files = ["scenarios", "integration"].flatMap((folder) =>
  readdirSync(join(import.meta.dirname, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join(folder, name)),
);
const citations = files.map((name) =>
  citationsIn(`test/${name}`, readFileSync(join(import.meta.dirname, name), "utf8")),
);
const cited = new Set(citations.flatMap(({ ids }) => ids));
const known = new Set<string>(REQUIREMENTS.map(({ id }) => id));

describe("the reader", () => {
  test("sees the scenarios and their citations", () => {
    expect(files.length).toBeGreaterThan(0);
    for (const [index, { ids }] of citations.entries()) expect(ids, `citations in ${files[index]}`).not.toEqual([]);
  });

  test("takes ids from scenario() only, and reports every way around the gate", () => {
    const { ids, faults } = citationsIn(
      "sample.test.ts",
      `// scenario(["Z9"], "in a comment", run);
      scenario(["A2", "S3"], "two", async () => {});
      other(["Z8"], "not a scenario");
      scenario(list, "unreadable", run);
      scenario.skip(["A6"], "skipped", run);
      test("bare", () => {});`,
    );
    expect(ids).toEqual(["A2", "S3", "A6"]);
    expect(faults).toHaveLength(3);
  });
});

describe("the requirements", () => {
  test("have unique ids, a text, and a reason wherever they are deferred", () => {
    expect(known.size).toBe(REQUIREMENTS.length);
    for (const requirement of REQUIREMENTS) {
      expect(requirement.text.length, requirement.id).toBeGreaterThan(10);
      if ("deferred" in requirement) expect(requirement.deferred.why, requirement.id).not.toBe("");
    }
  });

  test("are cited by a scenario unless deferred", () => {
    const due = REQUIREMENTS.filter((requirement) => !("deferred" in requirement));
    expect(due.length).toBeGreaterThan(0);
    expect(
      due.filter(({ id }) => !cited.has(id)).map(({ id, text }) => `${id} is cited by no scenario: ${text}`),
    ).toEqual([]);
  });

  test("are the only thing scenarios cite", () => {
    expect([...cited].filter((id) => !known.has(id))).toEqual([]);
    expect(citations.flatMap(({ faults }) => faults)).toEqual([]);
  });
});
