// The words of `tenon acp-check`.
import { expect, test } from "vitest";
import { messageOf } from "../../base/errors.js";
import { CHECKS } from "../acp-check/checks/index.js";
import { runOptions } from "./acp-check.js";

const of = (...after: string[]) => ({ after });

function refusal(values: Parameters<typeof runOptions>[0]["values"], ...after: string[]): string {
  try {
    runOptions({ values, after });
  } catch (error) {
    return messageOf(error);
  }
  throw new Error("it was taken");
}

test("what follows -- is the agent's command as it stands, and all checks are run", () => {
  const options = runOptions({ values: {}, ...of("agent", "--json", "--only") });
  expect(options).toMatchObject({ command: "agent", args: ["--json", "--only"], answerMs: 30_000 });
  expect(options.ids).toEqual(CHECKS.map(({ id }) => id));
});

test("checks are chosen by id or by group, and left out likewise", () => {
  expect(runOptions({ values: { only: ["connect.stdio,exit"] }, ...of("a") }).ids).toEqual([
    "connect.stdio",
    "exit.eof",
    "exit.sigterm",
  ]);
  const rest = runOptions({ values: { skip: ["leak", "wire.valid"] }, ...of("a") }).ids;
  expect(rest.filter((id) => id.startsWith("leak") || id === "wire.valid")).toEqual([]);
  expect(refusal({ only: ["leak"], skip: ["leak"] }, "a")).toContain("no check is left");
  expect(refusal({ only: ["conn"] }, "a")).toContain('no check "conn"');
});

test("the way to the model is told by variables and words", () => {
  const values = { "model-env": ["MY_URL"], env: ["KEY=a=b"], "model-flag": ["--model={model}"] };
  const options = runOptions({ values, ...of("a", "acp") });
  expect(options.env).toEqual([
    ["MY_URL", "{url}"],
    ["KEY", "a=b"],
  ]);
  expect(options.args).toEqual(["acp", "--model={model}"]);
});

test("wrong words say what is wrong, without repeating a value that may be a secret", () => {
  expect(refusal({ timeout: "soon" }, "a")).toContain("--timeout");
  expect(refusal({ timeout: "0" }, "a")).toContain("--timeout");
  expect(refusal({ env: ["sk-secret"] }, "a")).not.toContain("sk-secret");
  expect(refusal({})).toContain("say which agent");
});

test("every check has an id of its own, in a group, and says why it matters", () => {
  expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  for (const { id, title, why } of CHECKS) {
    expect(id).toMatch(/^[a-z]+\.[a-z-]+$/);
    expect(title.length, id).toBeGreaterThan(10);
    expect(why.length, id).toBeGreaterThan(20);
  }
});
