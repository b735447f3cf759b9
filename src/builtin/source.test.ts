// The source as a whole: names, definitions, plan and questions, and every call ends as one outcome.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { testSessions } from "../../test/builtin-session.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import { fakeWorld } from "../testing/index.js";
import {
  type AskAnswer,
  BUILTIN_NAMES,
  type BuiltinPorts,
  builtinSource,
  type PlanEntry,
  presentationOf,
} from "./index.js";

const open = testSessions();
const WHOLE: BuiltinPorts = { plan: () => {}, ask: async () => ({ kind: "declined" }) };

test("every name is offered once, and none could be taken for somebody else's", () => {
  const names = open({ ports: WHOLE }).source.tools.value.map(({ name }) => name);
  expect(names).toEqual(BUILTIN_NAMES);
  expect(names.every((name) => /^[a-z_]{1,64}$/u.test(name) && !/^(mcp__|tenon_)/u.test(name))).toBe(true);
});

test("definitions are plain: described, closed objects, each with its hints", () => {
  for (const { name, description, inputSchema, annotations } of open({ ports: WHOLE }).source.tools.value) {
    expect(description.length).toBeGreaterThan(30);
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    const properties = isJsonObject(inputSchema["properties"]) ? Object.values(inputSchema["properties"]) : [];
    expect([
      name,
      properties.every((property) => isJsonObject(property) && typeof property["description"] === "string"),
    ]).toEqual([name, true]);
    expect(typeof annotations?.readOnlyHint).toBe("boolean");
  }
});

test("only what reads counts as reading", () => {
  const reading = open({ ports: WHOLE }).source.tools.value.filter(({ annotations }) => annotations?.readOnlyHint);
  expect(reading.map(({ name }) => name)).toEqual(
    BUILTIN_NAMES.filter((name) => !["write_file", "edit_file", "run_command", "stop_command"].includes(name)),
  );
});

test("without somebody to show a plan to or to ask, those tools are not there", async () => {
  const session = open({ only: ["read_file", "ask_person", "update_plan"] });
  expect(session.source.tools.value.map(({ name }) => name)).toEqual(["read_file"]);
  for (const tool of ["ask_person", "grep", "toString"]) {
    expect(await session.say(tool, {})).toBe(`failed: There is no built-in tool named "${tool}".`);
  }
});

test("a plan goes to the person as a whole, and the answer counts", async () => {
  const plans: (readonly PlanEntry[])[] = [];
  const session = open({ ports: { plan: (entries) => plans.push(entries) } });
  const entries = [
    { content: "look", status: "completed", priority: "high" },
    { content: "do", status: "in_progress" },
  ];
  expect(await session.say("update_plan", { entries })).toBe("done: The plan is shown: 1 of 2 done.");
  expect(plans).toEqual([
    [
      { content: "look", status: "completed", priority: "high" },
      { content: "do", status: "in_progress", priority: "medium" },
    ],
  ]);
  expect(await session.say("update_plan", { entries: [{ content: "x", status: "later" }] })).toMatch(
    /"entries\[0\].status" must be one of pending, in_progress, completed/,
  );
  expect(session.source.describe("update_plan", {})).toEqual({
    kind: "think",
    title: "Update the plan",
    locations: [],
  });
});

test.each<[AskAnswer, string]>([
  [{ kind: "chosen", label: "a" }, "done: The person chose: a"],
  [{ kind: "typed", text: "neither" }, "done: The person answered: neither"],
  [{ kind: "declined" }, "done: The person does not want to answer: go on as you think best, or say why you cannot."],
  [{ kind: "unavailable", reason: "no client" }, "failed: The person cannot be asked: no client"],
])("the answer %j reaches the model", async (answer, words) => {
  const asked: unknown[] = [];
  const session = open({
    ports: {
      ask: async (question, options) => {
        asked.push(question, options);
        return answer;
      },
    },
  });
  const options = [{ label: "a", description: "first" }, { label: "b" }];
  expect(await session.say("ask_person", { question: "Which?", options })).toBe(words);
  expect(asked).toEqual(["Which?", options]);
});

test("a question with two equal answers is not asked, and one that is cancelled is cancelled", async () => {
  const controller = new AbortController();
  const session = open({
    ports: {
      ask: async () => {
        controller.abort();
        return { kind: "declined" };
      },
    },
  });
  const options = [{ label: "a" }, { label: "a" }];
  expect(await session.say("ask_person", { question: "?", options })).toMatch(/the same label/);
  expect(await session.call("ask_person", { question: "?" }, controller.signal)).toEqual({ kind: "cancelled" });
});

test("only a built-in tool's progress can change how a call looks", () => {
  const presentation = { kind: "edit", title: "x", locations: [] } as const;
  const notice = { progress: 1, presentation };
  expect(presentationOf({ origin: "builtin" }, notice)).toBe(presentation);
  expect(presentationOf({ origin: "client" }, notice)).toBeUndefined();
  expect(presentationOf({ origin: "builtin" }, { progress: 1 })).toBeUndefined();
});

test("titles are one short line", () => {
  const title = open().source.describe("run_command", { command: `echo "\n\t${"x".repeat(500)}` })?.title ?? "";
  expect(title).toMatch(/^echo " x+…$/u);
  expect(title.length).toBeLessThan(200);
});

test("whatever the arguments, a call ends as one outcome and never throws", async () => {
  const source = builtinSource({ world: fakeWorld(), cwd: "/project", ports: WHOLE });
  const key = fc.constantFrom(
    "path",
    "pattern",
    "edits",
    "entries",
    "content",
    "limit",
    "id",
    "question",
    "__proto__",
    "x",
  );
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom("", "..", "\0", 0, -1, 1e99));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...BUILTIN_NAMES), fc.dictionary(key, value), async (tool, given) => {
      fc.pre(tool !== "run_command");
      const args: JsonObject = JSON.parse(JSON.stringify(given));
      const signal = new AbortController().signal;
      const outcome = await source.call({ tool, arguments: args, signal, onProgress: () => {} });
      expect(["done", "failed"]).toContain(outcome.kind);
      source.describe(tool, args);
    }),
    { numRuns: 500 },
  );
  await source[Symbol.asyncDispose]();
});

test.each([
  ["write_file", { path: "../outside.txt", content: "x" }, "lies outside of the session's directories"],
  ["edit_file", { path: "/etc/hosts", edits: [{ old_text: "a", new_text: "b" }] }, "lies outside of the session's"],
  ["run_command", { command: "ls", path: ".." }, "lies outside of the session's directories"],
  ["write_file", { path: "a\0b", content: "x" }, "must not contain a NUL"],
  ["write_file", { path: 5 }, 'the argument "path"'],
])("what no answer of a person could make possible is known before: %s", async (tool, args, reason) => {
  const { source } = open();
  expect(await source.impossible(tool, args)).toContain(reason);
});

test.each([
  ["write_file", { path: "new/place.txt", content: "x" }],
  ["run_command", { command: "cat /etc/hosts" }],
  ["fetch_url", { url: "https://example.com/" }],
  ["stop_command", { id: "c1" }],
  ["somebody_elses", {}],
])("all else is left to whoever is asked: %s", async (tool, args) => {
  const { source } = open();
  expect(await source.impossible(tool, args)).toBeUndefined();
});
