// Behaviours come from command lines: what is wrong with one must be said, not guessed.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../../base/json/json.js";
import { BAD_TOOLS, type Behaviour, echoTool, STAGES, type Step, type ToolReply } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";
import { assertPossible } from "./host.js";

const json: fc.Arbitrary<JsonValue> = fc.jsonValue().map((value) => {
  const clean: JsonValue = JSON.parse(JSON.stringify(value)); // without the -0 that JSON has not
  return clean;
});

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("delay" as const), ms: fc.nat() }),
  fc.constantFrom<Step>({ do: "never" }, { do: "await_cancel" }, { do: "list_changed" }, { do: "crash", exitCode: 3 }),
  fc.record({ do: fc.constant("garbage" as const), text: fc.string() }),
  fc.record({ do: fc.constant("stray_reply" as const), id: fc.oneof(fc.string(), fc.integer()) }),
  fc.record({ do: fc.constant("spawn_children" as const), count: fc.integer({ min: 1 }), ownSession: fc.boolean() }),
);

const reply: fc.Arbitrary<ToolReply> = fc.oneof(
  fc.constantFrom<ToolReply>({ kind: "echo" }, { kind: "image" }, { kind: "env" }, { kind: "held" }),
  fc.record({ kind: fc.constant("text" as const), text: fc.string() }),
  fc.record({ kind: fc.constant("content" as const), content: fc.array(json), isError: fc.boolean() }),
  fc.record({ kind: fc.constant("protocol_error" as const), code: fc.integer(), message: fc.string() }),
);

const behaviour: fc.Arbitrary<Behaviour> = fc.record(
  {
    serverName: fc.string({ minLength: 1 }),
    tools: fc.array(fc.record({ name: fc.string({ minLength: 1 }), steps: fc.array(step), reply })),
    rawTools: fc.array(json),
    pageSize: fc.integer({ min: 1 }),
    steps: fc.dictionary(fc.constantFrom(...STAGES), fc.array(step)),
    ignoresEof: fc.boolean(),
  },
  { requiredKeys: [] },
);

test("every well-formed behaviour survives the way over a command line unchanged", () => {
  fc.assert(
    fc.property(behaviour, (given) => {
      const text = JSON.stringify(given);
      expect(JSON.stringify(parseBehaviour(JSON.parse(text)))).toBe(text);
    }),
  );
});

test("any other JSON is refused with an error that names the place", () => {
  fc.assert(
    fc.property(json, (value) => {
      fc.pre(
        !(typeof value === "object" && value !== null && Object.keys(value).length === 0 && !Array.isArray(value)),
      );
      expect(() => parseBehaviour(value)).toThrow(/not a behaviour of a scripted server:\n {2}behaviour/);
    }),
  );
});

test.each<[string, unknown, string]>([
  ["a misspelt field", { tool: [] }, "behaviour.tool: no such field; there are serverName"],
  ["a tool without a reply", { tools: [{ name: "a" }] }, "behaviour.tools[0].reply: expected an object, got nothing"],
  [
    "an unknown reply",
    { tools: [{ name: "a", reply: { kind: "ecko" } }] },
    "behaviour.tools[0].reply.kind: expected one of",
  ],
  ["an unknown stage", { steps: { strat: [] } }, "behaviour.steps.strat: no such field; there are start, initialize"],
  ["an unknown step", { steps: { start: [{ do: "toString" }] } }, "behaviour.steps.start[0].do: expected one of"],
  [
    "a wrong number",
    { steps: { start: [{ do: "delay", ms: -1 }] } },
    "start[0].ms: expected an integer of 0 or more, got -1",
  ],
  [
    "a fault in a nested tool",
    { steps: { start: [{ do: "set_tools", tools: [{ name: "", reply: { kind: "echo" } }] }] } },
    "behaviour.steps.start[0].tools[0].name: expected a non-empty string",
  ],
])("%s is named", (_, value, message) => {
  expect(() => parseBehaviour(value)).toThrow(message);
});

test("all problems are listed, not only the first", () => {
  const problems = () => parseBehaviour({ pageSize: 0, ignoresEof: "yes" });
  expect(problems).toThrow("behaviour.pageSize");
  expect(problems).toThrow("behaviour.ignoresEof");
});

test("what a host cannot do is refused before it runs, however deep it stands", () => {
  const limits = {
    place: "here",
    steps: ["stderr" as const],
    replies: ["held" as const],
    fields: ["ignoresEof" as const],
  };
  const deep: Behaviour = {
    steps: { start: [{ do: "set_tools", tools: [{ ...echoTool(), steps: [{ do: "stderr", text: "x" }] }] }] },
  };
  expect(() => assertPossible(deep, limits)).toThrow('the step "stderr" cannot be done by a server here');
  expect(() => assertPossible({ tools: [{ name: "a", reply: { kind: "held" } }] }, limits)).toThrow('tool "a"');
  expect(() => assertPossible({ ignoresEof: true }, limits)).toThrow('"ignoresEof"');
  expect(() => assertPossible({ tools: [echoTool()], rawTools: [BAD_TOOLS.missingName] }, limits)).not.toThrow("@@@");
});
