// Decisions: the first rule about a call, then the defaults, under the mode; for any input there is one, with a reason.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../base/json/json.js";
import type { ToolOrigin } from "../tool.js";
import {
  type ArgumentCondition,
  decide,
  type PermissionMode,
  type PolicyEffect,
  type PolicyQuestion,
  type PolicyRule,
} from "./decide.js";
import { NO_PATHS } from "./protection.js";

function question(given: Partial<PolicyQuestion> = {}): PolicyQuestion {
  return {
    origin: "user",
    server: "github",
    tool: "get_issue",
    trustsAnnotations: false,
    arguments: {},
    paths: NO_PATHS,
    mode: "ask",
    mayBypass: false,
    ...given,
  };
}

const effectOf = (given: Partial<PolicyQuestion>, ...rules: readonly PolicyRule[]): PolicyEffect =>
  decide(question(given), rules).effect;

describe("rules", () => {
  it("are tried in their order, and the first about the call decides", () => {
    const rules: readonly PolicyRule[] = [
      { effect: "deny", server: "gitlab" },
      { effect: "allow", server: "git*", tool: "get_*", place: "config.json:3:5" },
      { effect: "deny" },
    ];
    expect(decide(question(), rules)).toEqual({
      effect: "allow",
      rule: rules[1],
      reason: "the rule at config.json:3:5 allows it",
    });
    expect(effectOf({ tool: "create_issue" }, ...rules)).toBe("deny");
    expect(effectOf({ server: "gitlab" }, ...rules)).toBe("deny");
  });

  it("say why, in their own words where they have some", () => {
    const { reason } = decide(question(), [{ effect: "deny", reason: "production only by hand" }]);
    expect(reason).toBe("a rule denies it: production only by hand");
  });

  it("that allow are not for a project's server of the same name, unless they say so", () => {
    const allow: PolicyRule = { effect: "allow", server: "github" };
    expect(effectOf({ origin: "project" }, allow)).toBe("ask");
    expect(effectOf({ origin: "client" }, allow)).toBe("allow");
    expect(effectOf({ origin: "project" }, { ...allow, origin: ["project"] })).toBe("allow");
    expect(effectOf({ origin: "user" }, { ...allow, origin: ["project"] })).toBe("ask");
    expect(effectOf({ origin: "project" }, { effect: "deny", server: "github" })).toBe("deny");
  });

  it("see hints of trusted servers only; all other tools are as bad as the protocol's defaults", () => {
    const allow: PolicyRule = { effect: "allow", annotations: { readOnly: true } };
    const deny: PolicyRule = { effect: "deny", annotations: { destructive: true } };
    const annotations = { readOnlyHint: true, destructiveHint: false };
    expect(effectOf({ annotations, trustsAnnotations: true }, allow)).toBe("allow");
    expect(effectOf({ annotations }, allow)).toBe("ask");
    expect(effectOf({ annotations, trustsAnnotations: true }, deny)).toBe("ask");
    expect(effectOf({ annotations }, deny)).toBe("deny");
    expect(effectOf({ origin: "builtin", annotations: { ...annotations, openWorldHint: false } }, deny)).toBe("allow");
  });
});

describe("conditions on arguments", () => {
  const match = (condition: ArgumentCondition, given: JsonValue, effect: PolicyEffect = "allow") =>
    decide(question({ arguments: { a: given } }), [{ effect, arguments: [condition] }]).rule !== undefined;

  it.each<[ArgumentCondition, JsonValue, boolean]>([
    [{ pointer: "/a", equals: 1 }, 1, true],
    [{ pointer: "/a", equals: 1 }, "1", false],
    [{ pointer: "/a", equals: { x: [1], y: null } }, { y: null, x: [1] }, true],
    [{ pointer: "/a/x", equals: null }, { x: null }, true],
    [{ pointer: "/a", oneOf: ["dev", "test"] }, "test", true],
    [{ pointer: "/a", oneOf: ["dev", "test"] }, "production", false],
    [{ pointer: "/a", oneOf: [] }, "x", false],
    [{ pointer: "/a", glob: "feature/*" }, "feature/x/y", true],
    [{ pointer: "/a", glob: "feature/?" }, "feature/xy", false],
    [{ pointer: "/a", prefix: "SELECT " }, "SELECT 1", true],
    [{ pointer: "/a", prefix: "SELECT " }, "DROP 1", false],
    [{ pointer: "/a", glob: "s*" }, ["s1", "s2"], true],
    [{ pointer: "/a", glob: "s*" }, ["s1", "t"], false],
    [{ pointer: "/a", glob: "*" }, [], false],
    [{ pointer: "/a", glob: "*" }, 5, false],
    [{ pointer: "/a", glob: "*" }, { $result: "r1" }, false],
    [{ pointer: "/b", glob: "*" }, "x", false],
    [{ pointer: "/a/__proto__", equals: {} }, {}, false],
    [{ pointer: "no pointer", equals: 1 }, 1, false],
    [{ pointer: "/a", prefix: "/work/" }, "/work/../etc/passwd", false],
    [{ pointer: "/a", glob: "/work/*" }, "/work/..", false],
    [{ pointer: "/a", glob: "*" }, "main..dev", true],
  ])("%j allows %j: %s", (condition, given, expected) => {
    expect(match(condition, given)).toBe(expected);
  });

  it("of a rule that denies are met by one element of a list", () => {
    expect(match({ pointer: "/a", glob: "*.pem" }, ["readme", "key.pem"], "deny")).toBe(true);
    expect(match({ pointer: "/a", glob: "*.pem" }, ["readme"], "deny")).toBe(false);
  });

  it("must all be met", () => {
    const rule: PolicyRule = {
      effect: "allow",
      arguments: [
        { pointer: "/a", equals: 1 },
        { pointer: "/b", equals: 2 },
      ],
    };
    expect(effectOf({ arguments: { a: 1, b: 2 } }, rule)).toBe("allow");
    expect(effectOf({ arguments: { a: 1 } }, rule)).toBe("ask");
  });

  it("that cannot be told never allow, and are asked about where they would deny; where nobody is asked, they deny", () => {
    const under: ArgumentCondition = { pointer: "/path", under: "/etc" };
    const given = { arguments: { path: "~/x" } };
    expect(effectOf(given, { effect: "allow", arguments: [under] }, { effect: "deny" })).toBe("deny");
    expect(decide(question(given), [{ effect: "deny", arguments: [under] }, { effect: "allow" }])).toMatchObject({
      effect: "ask",
      reason: "whether a rule is about these arguments cannot be decided",
    });
    const bypass = { ...given, mode: "bypass", mayBypass: true } as const;
    expect(effectOf(bypass, { effect: "deny", arguments: [under] })).toBe("deny");
    expect(effectOf(bypass, { effect: "ask", arguments: [under] })).toBe("allow");
    expect(effectOf(bypass, { effect: "ask", isBroken: true })).toBe("deny");
  });
});

describe("without a rule", () => {
  const own = { origin: "builtin" } as const;
  const read = { ...own, annotations: { readOnlyHint: true, openWorldHint: false } };
  const fetch = { ...own, annotations: { readOnlyHint: true, openWorldHint: true } };
  const edit = { ...own, annotations: { openWorldHint: false } };
  const run = { ...own, annotations: { openWorldHint: true } };
  const served = { annotations: { readOnlyHint: true, openWorldHint: false }, trustsAnnotations: true };

  it.each<[string, PermissionMode, Partial<PolicyQuestion>, PolicyEffect]>([
    ["Tenon's own reading", "ask", read, "allow"],
    ["Tenon's own fetching", "ask", fetch, "ask"],
    ["Tenon's own fetching", "plan", fetch, "ask"],
    ["Tenon's own edits", "ask", edit, "ask"],
    ["Tenon's own edits", "auto-edit", edit, "allow"],
    ["Tenon's own commands", "auto-edit", run, "ask"],
    ["a server that calls itself an edit", "auto-edit", { annotations: { openWorldHint: false } }, "ask"],
    ["reading of a trusted server", "ask", served, "ask"],
    ["Tenon's own reading", "plan", read, "allow"],
    ["Tenon's own edits", "plan", edit, "deny"],
    ["reading of a trusted server", "plan", served, "ask"],
    ["reading of any server", "plan", { annotations: { readOnlyHint: true } }, "deny"],
    ["anything", "bypass", { mayBypass: true }, "allow"],
    ["anything the user did not free", "bypass", {}, "ask"],
  ])("%s in the mode %s", (_, mode, given, effect) => {
    expect(effectOf({ ...given, mode })).toBe(effect);
  });

  it("and with one, plan lets nothing through that writes, and bypass nothing that is denied", () => {
    expect(effectOf({ mode: "plan" }, { effect: "allow" })).toBe("deny");
    expect(effectOf({ mode: "plan" }, { effect: "ask" })).toBe("deny");
    expect(effectOf({ mode: "bypass", mayBypass: true }, { effect: "deny" })).toBe("deny");
    expect(effectOf({ mode: "bypass", mayBypass: true }, { effect: "ask" })).toBe("allow");
    expect(effectOf({ ...edit, mode: "auto-edit" }, { effect: "ask" })).toBe("ask");
  });
});

const anyJson = fc.jsonValue({ maxDepth: 3 }).map((value): JsonValue => JSON.parse(JSON.stringify(value)));
const anyName = fc.oneof(fc.string(), fc.constantFrom("*", "a", "a*", "\\", "?"));
const anyPointer = fc.oneof(fc.string(), fc.constantFrom("", "/", "/a", "/a/0", "/a~", "/__proto__"));
const anyOrigin = fc.constantFrom<ToolOrigin>("client", "project", "user", "builtin", "extra");
const anyCondition: fc.Arbitrary<ArgumentCondition> = fc.oneof(
  fc.record({ pointer: anyPointer, equals: anyJson }),
  fc.record({ pointer: anyPointer, glob: anyName }),
  fc.record({ pointer: anyPointer, prefix: anyName }),
  fc.record({ pointer: anyPointer, under: anyName }),
  fc.record({ pointer: anyPointer, oneOf: fc.array(anyJson, { maxLength: 3 }) }),
);
const anyHints = fc.record({ readOnly: fc.boolean(), destructive: fc.boolean() }, { requiredKeys: [] });
const anyRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    effect: fc.constantFrom<PolicyEffect>("allow", "ask", "deny"),
    server: anyName,
    tool: anyName,
    origin: fc.array(anyOrigin),
    annotations: anyHints,
    arguments: fc.array(anyCondition, { maxLength: 3 }),
    reason: fc.string(),
    place: fc.string(),
    isBroken: fc.boolean(),
  },
  { requiredKeys: ["effect"] },
);
const anyQuestion: fc.Arbitrary<PolicyQuestion> = fc.record({
  origin: anyOrigin,
  server: anyName,
  tool: anyName,
  annotations: fc.record({ readOnlyHint: fc.boolean(), openWorldHint: fc.boolean() }, { requiredKeys: [] }),
  trustsAnnotations: fc.boolean(),
  arguments: fc.dictionary(anyName, anyJson),
  paths: fc.record({
    folders: fc.dictionary(anyName, fc.string()).map((paths) => new Map(Object.entries(paths))),
    values: fc.dictionary(anyName, fc.string()).map((paths) => new Map(Object.entries(paths))),
  }),
  mode: fc.constantFrom<PermissionMode>("ask", "plan", "auto-edit", "bypass"),
  mayBypass: fc.boolean(),
});
const anyRules = fc.array(anyRule, { maxLength: 6 });

describe("for any call and any rules", () => {
  it("there is one decision, the same every time, with a reason", () => {
    fc.assert(
      fc.property(anyQuestion, anyRules, (asked, rules) => {
        const decision = decide(asked, rules);
        expect(["allow", "ask", "deny"]).toContain(decision.effect);
        expect(decision.reason).not.toBe("");
        expect(decide(asked, rules)).toEqual(decision);
      }),
    );
  });

  it("rules after all others, that only ask or deny, never allow more", () => {
    const order: readonly PolicyEffect[] = ["allow", "ask", "deny"];
    const tight = anyRules.map((rules) => rules.filter(({ effect }) => effect !== "allow"));
    fc.assert(
      fc.property(anyQuestion, anyRules, tight, (asked, rules, project) => {
        const before = decide(asked, rules).effect;
        const after = decide(asked, [...rules, ...project]).effect;
        expect(order.indexOf(after)).toBeGreaterThanOrEqual(order.indexOf(before));
      }),
    );
  });
});
