// The settings a session begins with: its model watched, and what was chosen before it was closed.
import { defined } from "../base/json/defined.js";
import { observedModel } from "./observed-model.js";
import type { SessionOptions } from "./options.js";
import { SessionSettings, type SettingsOptions } from "./settings.js";

export function startSettings(
  options: SessionOptions,
  hooks: Pick<SettingsOptions, "onChosen" | "onChange">,
): SessionSettings {
  return new SessionSettings({
    model: options.model,
    ...defined({ available: options.models, restored: options.history?.restored.settings }),
    hasSandbox: options.world.platform === "linux",
    observe: (model) => observedModel(model, options.world, options.id),
    ...hooks,
  });
}
