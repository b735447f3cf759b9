// The words of `tenon acp-check`.
import { expect, test } from "vitest";
import { parseAcpCheckArguments } from "./arguments.js";
import { CHECKS } from "./checks/index.js";

function run(...words: string[]) {
  const parsed = parseAcpCheckArguments(words);
  if (!parsed.ok || parsed.options.verb !== "run") throw new Error(`not a run: ${JSON.stringify(parsed)}`);
  return parsed.options;
}

function refusal(...words: string[]): string {
  const parsed = parseAcpCheckArguments(words);
  if (parsed.ok) throw new Error("it was taken");
  return parsed.reason;
}

test("what follows -- is the agent's command as it stands, and all checks are run", () => {
  const options = run("--json", "--", "agent", "--json", "--only");
  expect(options).toMatchObject({ command: "agent", args: ["--json", "--only"], json: true, answerMs: 30_000 });
  expect(options.ids).toEqual(CHECKS.map(({ id }) => id));
});

test("checks are chosen by id or by group, and left out likewise", () => {
  expect(run("--only", "connect.stdio,exit", "--", "a").ids).toEqual(["connect.stdio", "exit.eof", "exit.sigterm"]);
  const rest = run("--skip", "leak", "--skip", "wire.valid", "--", "a").ids;
  expect(rest.filter((id) => id.startsWith("leak") || id === "wire.valid")).toEqual([]);
  expect(refusal("--only", "leak", "--skip", "leak", "--", "a")).toContain("no check is left");
  expect(refusal("--only", "conn", "--", "a")).toContain('no check "conn"');
});

test("the way to the model is told by variables and words", () => {
  const options = run("--model-env", "MY_URL", "--env", "KEY=a=b", "--model-flag=--model={model}", "--", "a", "acp");
  expect(options.env).toEqual([
    ["MY_URL", "{url}"],
    ["KEY", "a=b"],
  ]);
  expect(options.args).toEqual(["acp", "--model={model}"]);
});

test("wrong words say what is wrong, without repeating a value that may be a secret", () => {
  expect(refusal("--timeout", "soon", "--", "a")).toContain("--timeout");
  expect(refusal("--timeout", "0", "--", "a")).toContain("--timeout");
  expect(refusal("--env", "sk-secret", "--", "a")).not.toContain("sk-secret");
  expect(refusal("agent")).not.toBe("");
  expect(refusal("--")).toContain("say which agent");
});

test("every check has an id of its own, in a group, and says why it matters", () => {
  expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  for (const { id, title, why } of CHECKS) {
    expect(id).toMatch(/^[a-z]+\.[a-z-]+$/);
    expect(title.length, id).toBeGreaterThan(10);
    expect(why.length, id).toBeGreaterThan(20);
  }
});
