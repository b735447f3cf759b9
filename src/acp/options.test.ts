// Settings as config options and modes: every one of them, and only changes are told.
import { expect, test } from "vitest";
import type { SettingsView } from "../session/index.js";
import { acpSchemaValidator } from "../testing/index.js";
import { configOptions, EARLY_SETTINGS, EmittedSettings, settingsAnswer } from "./options.js";

const FULL: SettingsView = {
  ...EARLY_SETTINGS,
  modes: ["ask", "plan", "auto-edit", "bypass"],
  model: "a/one",
  models: ["a/one", "b/two"],
  thinking: "high",
  thinkingLevels: ["off", "low"],
};

test.each([
  ["early", EARLY_SETTINGS],
  ["full", FULL],
])("the %s answer is one the protocol has, and every current value is among its options", async (_, view) => {
  const validate = await acpSchemaValidator();
  const payload = JSON.parse(JSON.stringify({ sessionId: "s", ...settingsAnswer(view) }));
  expect(validate({ kind: "response", method: "session/new", payload })).toBeUndefined();
  for (const option of configOptions(view)) {
    expect(JSON.stringify(option)).toContain(`"value":${JSON.stringify(option.currentValue)}`);
  }
});

test("what is not known or not to be had is not offered", () => {
  expect(configOptions(EARLY_SETTINGS).map(({ id }) => id)).toEqual(["mode", "include", "sandbox"]);
  expect(JSON.stringify(configOptions(EARLY_SETTINGS))).not.toContain("bypass");
  expect(configOptions(FULL).map(({ id, category }) => [id, category])).toEqual([
    ["mode", "mode"],
    ["model", "model"],
    ["thinking", "thought_level"],
    ["include", undefined],
    ["sandbox", undefined],
  ]);
});

test("values have names that make sense alone", () => {
  const written = JSON.stringify(configOptions(FULL));
  for (const name of ["Thinking: high", "Tools: always", "Tools: manual", "Sandbox: off"])
    expect(written).toContain(`"name":"${name}"`);
});

test("a client hears of changes only, and of the mode in both ways", () => {
  const told = new EmittedSettings(EARLY_SETTINGS);
  expect(told.updates(EARLY_SETTINGS)).toEqual([]);
  expect(told.updates(FULL)).toEqual([{ sessionUpdate: "config_option_update", configOptions: configOptions(FULL) }]);
  const planned: SettingsView = { ...FULL, mode: "plan" };
  expect(told.updates(planned)).toEqual([
    { sessionUpdate: "current_mode_update", currentModeId: "plan" },
    { sessionUpdate: "config_option_update", configOptions: configOptions(planned) },
  ]);
  expect(told.updates(planned)).toEqual([]);
});
