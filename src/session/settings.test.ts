// The settings of a session: what can be chosen, what the configuration has to say, and what outlives a restart.
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import type { JsonValue } from "../base/json/json.js";
import type { AvailableModels, Model, ThinkingLevel } from "../models/index.js";
import type { PermissionMode } from "../tools/index.js";
import { SessionSettings, type SettingName } from "./settings.js";

function model(id: string, thinking: readonly ThinkingLevel[] = []): Model {
  const abilities = { contextTokens: 1_000, images: false, audio: false, pdf: false, thinking };
  // oxlint-disable-next-line require-yield -- a model nobody asks
  return { id, abilities, async *stream() {} };
}

const available: AvailableModels = {
  first: model("a/one"),
  ids: ["a/one", "b/two", "offline/operator"],
  ask: async () => ({ ids: [], problems: [] }),
  problemOf: () => undefined,
  open: (id) => {
    if (!id.includes("/")) throw new TenonError("model.unknown", `There is no model "${id}".`);
    return model(id, id === "b/two" ? ["low", "high"] : []);
  },
};

interface Given {
  readonly restored?: ReadonlyMap<string, JsonValue>;
  readonly available?: AvailableModels;
  readonly hasSandbox?: boolean;
}

function settings(given: Given = { available }) {
  const chosen: [SettingName, string][] = [];
  let changes = 0;
  const made = new SessionSettings({
    model: model("a/one", ["off", "low"]),
    observe: (one) => one,
    ...given,
    onChosen: (name, value) => chosen.push([name, value]),
    onChange: () => (changes += 1),
  });
  return { made, chosen, changes: () => changes };
}

const CONFIG = { mode: "ask", mayBypass: false, rules: [] } as const;

describe("modes", () => {
  test("bypass is there only for whoever allows it", () => {
    const { made } = settings();
    made.configure({ ...CONFIG, mode: "bypass", mayBypass: false });
    expect(made.view.modes).toEqual(["ask", "plan", "auto-edit"]);
    expect(made.mode).toBe("ask");
    made.configure({ ...CONFIG, mode: "bypass", mayBypass: true });
    expect(made.view.modes).toContain("bypass");
    expect(made.mode).toBe("bypass");
  });

  test("the configuration's mode holds until another one is chosen, and again when what was chosen is forbidden", () => {
    const { made } = settings();
    made.configure({ ...CONFIG, mode: "auto-edit", mayBypass: true });
    expect(made.mode).toBe("auto-edit");
    made.set("mode", "bypass");
    expect(made.policy).toEqual({ mode: "bypass", mayBypass: true, rules: [] });
    made.configure({ ...CONFIG, mayBypass: false });
    expect(made.policy.mode).toBe("ask");
  });

  test("an unknown mode, and bypass without the user's word, are refused by name", () => {
    const { made, chosen, changes } = settings();
    expect(() => made.set("mode", "yolo")).toThrow(/"yolo" is no mode.*ask, plan, auto-edit/u);
    expect(() => made.set("mode", "bypass")).toThrow(/own configuration allows it/u);
    expect(chosen).toEqual([]);
    expect(changes()).toBe(0);
  });
});

describe("the model", () => {
  test("can be any the available opens; what is chosen is told once", () => {
    const { made, chosen, changes } = settings();
    made.set("model", "b/two");
    expect(made.model.id).toBe("b/two");
    expect(made.view).toMatchObject({ model: "b/two", thinkingLevels: ["low", "high"] });
    made.set("model", "b/of-my-own");
    expect(made.view.models).toEqual([...available.ids, "b/of-my-own"]);
    expect(chosen).toEqual([
      ["model", "b/two"],
      ["model", "b/of-my-own"],
    ]);
    expect(changes()).toBe(2);
  });

  test("stays when another cannot be had", () => {
    const { made } = settings();
    expect(() => made.set("model", "nonsense")).toThrow(/no model "nonsense"/u);
    expect(made.model.id).toBe("a/one");
  });

  test("of an embedder's own is the only one", () => {
    const { made } = settings({});
    expect(made.view.models).toEqual(["a/one"]);
    expect(() => made.set("model", "b/two")).toThrow(/there are: a\/one/u);
  });
});

test("thinking has the levels of the model in use, and a way back", () => {
  const { made } = settings();
  expect(() => made.set("thinking", "high")).toThrow(/default, off, low/u);
  made.set("thinking", "low");
  expect(made.thinking).toBe("low");
  made.set("thinking", "default");
  expect(made.thinking).toBeUndefined();
});

test("what was chosen is there again, except for what cannot be had any more", () => {
  const restored = new Map<string, JsonValue>([
    ["mode", "bypass"],
    ["model", "gone"],
    ["thinking", "low"],
    ["include", 7],
  ]);
  const { made, chosen } = settings({ available, restored });
  expect(made.mode).toBe<PermissionMode>("ask");
  made.configure({ ...CONFIG, mayBypass: true });
  expect(made.mode).toBe<PermissionMode>("bypass");
  expect(made.model.id).toBe("a/one");
  expect(made.thinking).toBe("low");
  expect(made.include).toBe("always");
  expect(chosen).toEqual([]);
});

describe("the sandbox", () => {
  test("is as configured until another is chosen, and never below the configuration's least", () => {
    const { made, chosen } = settings();
    expect(made.view).toMatchObject({ sandbox: "off", sandboxes: ["off", "workspace", "read-only"] });
    made.configure({ ...CONFIG, leastSandbox: "workspace" });
    expect(made.view).toMatchObject({ sandbox: "workspace", sandboxes: ["workspace", "read-only"] });
    expect(() => made.set("sandbox", "off")).toThrow("there are: workspace, read-only");
    made.set("sandbox", "read-only");
    expect(made.sandbox).toBe("read-only");
    made.configure(CONFIG);
    expect(made.sandbox).toBe("read-only");
    expect(chosen).toEqual([["sandbox", "read-only"]]);
  });

  test("is taken up again with the session, and cannot be chosen where the system has none", () => {
    expect(settings({ restored: new Map([["sandbox", "workspace"]]) }).made.sandbox).toBe("workspace");
    expect(settings({ restored: new Map([["sandbox", "strange"]]) }).made.sandbox).toBe("off");
    const { made } = settings({ hasSandbox: false });
    expect(made.view.sandboxes).toEqual(["off"]);
    expect(() => made.set("sandbox", "workspace")).toThrow('"workspace" is no sandbox of this session');
  });
});
